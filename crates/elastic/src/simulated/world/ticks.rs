//! What is seen of a pool, tick by tick: what was counted, and what cores have worked.

use super::World;
use crate::books::{OfTick, Terms};
use crate::observation::{Metric, Point};
use crate::outcome::{Outcome, Tick};
use crate::pool::Instance;
use crate::simulated::engine::TICK_NS;

impl World<'_> {
    /// The work that an instance has done in this tick, ticks of cores.
    pub(super) fn work_of(&self, of: &Instance) -> u64 {
        if !self.has_begun[of.number] {
            return 0;
        }
        self.engine.worked(of.slot, self.now_ns / TICK_NS) - self.worked[of.number]
    }

    /// The work that the instances of the pool have done in this tick, ticks of cores. What drains
    /// is no longer of the pool: a policy cannot give it anything to do.
    fn work(&mut self) -> u64 {
        let mut work = std::mem::take(&mut self.failed_work);
        for of in self.pool.wanted() {
            let done = self.work_of(of);
            self.worked[of.number] += done;
            work += done;
        }
        work
    }

    /// Ends a tick: collects its metrics.
    pub(super) fn tick(&mut self) {
        let seconds = (self.now_ns - self.of_tick.began_ns) as f64 / 1e9;
        self.engine.settle(self.now_ns / TICK_NS, &mut self.tally);
        self.take_in();
        let work = self.work();
        let of = std::mem::take(&mut self.of_tick);
        let cores_ns = of.ready_ns() as f64 * f64::from(self.setup.rules.cores);
        // A core that works is busy with a processor for a share of the time.
        let busy_ns = (work * TICK_NS) as f64 * self.setup.cpu_s / self.setup.service.mean();
        let cpu = 100.0 * (busy_ns / cores_ns.max(1.0)).min(1.0);
        let mut books = std::mem::take(&mut self.books);
        let worked = (work * TICK_NS, cpu);
        let tick = books.tick(&self.terms(), self.now_ns, &of, worked, || self.waited());
        self.books = books;
        self.collect(&tick, seconds);
        self.of_tick = OfTick { began_ns: self.now_ns, response: of.response, ..OfTick::default() };
        self.of_tick.response.clear();
    }

    fn terms(&self) -> Terms<'_> {
        Terms {
            demand: self.demand,
            slo: self.setup.slo.as_ref(),
            cores: self.setup.rules.cores,
            prices: &self.setup.prices,
        }
    }

    /// How long those in flight have waited, nanoseconds, ascending.
    fn waited(&self) -> Vec<u64> {
        let (now, mut waited) = (self.now_ns / TICK_NS, Vec::new());
        let mut each = |due: u64| waited.push(now.saturating_sub(due) * TICK_NS);
        self.engine.in_flight(&self.tally, &mut each);
        waited.sort_unstable();
        waited
    }

    /// Takes what the engine counted into the tick.
    pub(super) fn take_in(&mut self) {
        let (tally, of) = (&mut self.tally, &mut self.of_tick);
        of.offered += tally.offered;
        of.served += tally.served;
        for (all, more) in of.lost.iter_mut().zip(tally.lost) {
            *all += more;
        }
        of.sum_ns += tally.sum * TICK_NS;
        tally.drain_into(&mut of.response);
    }

    /// Sends the metrics of a tick on their way.
    fn collect(&mut self, tick: &Tick, seconds: f64) {
        let presence = self.engine.presence(self.now_ns / TICK_NS);
        let since = presence.wrapping_sub(std::mem::replace(&mut self.presence, presence));
        let present = since as f64 * TICK_NS as f64 / 1e9 / seconds;
        let queued = self.engine.queued() as f64;
        let (response, none) = (tick.quantile_s, f64::NAN);
        let mut values =
            [tick.cpu, tick.rate, tick.lost, response, present, queued, none, none, none];
        // Without an instance there is no processor to be busy.
        if tick.ready <= 0.0 {
            values[Metric::Cpu as usize] = f64::NAN;
        }
        if self.setup.noise > 0.0 {
            // Of what stands behind these the simulator has nothing of its own.
            for value in &mut values[..Metric::Watched as usize] {
                // What is not a number stays so.
                *value *= (1.0 + self.setup.noise * self.streams.noise.normal()).max(0.0);
            }
            let cpu = &mut values[Metric::Cpu as usize];
            *cpu = if cpu.is_nan() { *cpu } else { cpu.min(100.0) };
        }
        if self.setup.has_connections {
            let of = |metric: Metric| values[metric as usize];
            values[Metric::Connections as usize] = of(Metric::Concurrency) + of(Metric::Queue);
        }
        self.controller.collect(&self.setup.terms(), Point { at_s: tick.at_s, seconds, values });
    }

    /// Makes the bill, and counts what is in flight.
    pub(super) fn finish(mut self) -> Outcome {
        let (waited, books) = (self.waited(), std::mem::take(&mut self.books));
        let at_places = self.at_places();
        Outcome { at_places, ..books.close(&self.terms(), &self.pool, self.now_ns, &waited) }
    }
}
