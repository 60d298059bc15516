// M/M/21 at a load of 0.9 in SSJ (P. L'Ecuyer et al.), by events as its guide shows a queue.
//
// Prints requests, processor seconds, and the mean response in mean service times. The first tenth of
// the requests is not timed: a virtual machine compiles what it runs.

import java.lang.management.ManagementFactory;
import java.util.ArrayDeque;
import umontreal.ssj.rng.MRG32k3a;
import umontreal.ssj.rng.RandomStream;
import umontreal.ssj.simevents.Event;
import umontreal.ssj.simevents.Sim;

public class Mm21 {
    static final int SERVERS = 21;
    static final double SERVICE_S = 0.01;
    static final double RATE = 0.9 * SERVERS / SERVICE_S;

    static final RandomStream gaps = new MRG32k3a();
    static final RandomStream services = new MRG32k3a();
    static final ArrayDeque<Double> waiting = new ArrayDeque<>();
    static int busy;
    static long left;
    static double totalS;

    static double exponential(RandomStream stream, double mean) {
        return -mean * Math.log(1.0 - stream.nextDouble());
    }

    static class Arrival extends Event {
        public void actions() {
            if (--left > 0) {
                new Arrival().schedule(exponential(gaps, 1.0 / RATE));
            }
            if (busy < SERVERS) {
                busy++;
                new Departure(Sim.time()).schedule(exponential(services, SERVICE_S));
            } else {
                waiting.add(Sim.time());
            }
        }
    }

    static class Departure extends Event {
        final double due;

        Departure(double due) {
            this.due = due;
        }

        public void actions() {
            totalS += Sim.time() - due;
            if (waiting.isEmpty()) {
                busy--;
            } else {
                new Departure(waiting.poll()).schedule(exponential(services, SERVICE_S));
            }
        }
    }

    static void run(long count) {
        Sim.init();
        left = count;
        totalS = 0.0;
        new Arrival().schedule(exponential(gaps, 1.0 / RATE));
        Sim.start();
    }

    public static void main(String[] args) {
        long count = Long.parseLong(args[0]);
        run(count / 10);
        var threads = ManagementFactory.getThreadMXBean();
        long start = threads.getCurrentThreadCpuTime();
        run(count);
        double seconds = (threads.getCurrentThreadCpuTime() - start) / 1e9;
        System.out.println(count + " " + seconds + " " + totalS / count / SERVICE_S);
    }
}
