//! M/M/21 at a load of 0.9 in NeXosim: one model that schedules its own arrivals and departures.
//!
//! Prints requests, processor seconds, and the mean response in mean service times.

use nexosim::model::{Context, Model, schedulable};
use nexosim::simulation::{Mailbox, SimInit};
use nexosim::time::MonotonicTime;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::time::Duration;

const SERVERS: u32 = 21;
const SERVICE_S: f64 = 0.01;
const RATE: f64 = 0.9 * SERVERS as f64 / SERVICE_S;

// Models are written down and read back, which generators and results need not be.
thread_local! {
    static RNG: RefCell<SmallRng> = RefCell::new(SmallRng::seed_from_u64(1));
    static TOTAL_S: RefCell<f64> = const { RefCell::new(0.0) };
}

fn exponential(mean_s: f64) -> Duration {
    let u: f64 = RNG.with_borrow_mut(|rng| rng.random());
    Duration::from_nanos(((-mean_s * (1.0 - u).ln()) * 1e9) as u64 + 1)
}

#[derive(Serialize, Deserialize)]
struct Queue {
    left: u64,
    busy: u32,
    waiting: VecDeque<MonotonicTime>,
}

#[Model]
impl Queue {
    #[nexosim(init)]
    async fn init(&mut self, cx: &Context<Self>, _: &mut ()) {
        cx.schedule_event(exponential(1.0 / RATE), schedulable!(Self::arrive), ()).unwrap();
    }

    #[nexosim(schedulable)]
    fn arrive(&mut self, _: (), cx: &Context<Self>) {
        self.left -= 1;
        if self.left > 0 {
            cx.schedule_event(exponential(1.0 / RATE), schedulable!(Self::arrive), ()).unwrap();
        }
        if self.busy < SERVERS {
            self.busy += 1;
            self.serve(cx.time(), cx);
        } else {
            self.waiting.push_back(cx.time());
        }
    }

    fn serve(&mut self, due: MonotonicTime, cx: &Context<Self>) {
        cx.schedule_event(exponential(SERVICE_S), schedulable!(Self::depart), due).unwrap();
    }

    #[nexosim(schedulable)]
    fn depart(&mut self, due: MonotonicTime, cx: &Context<Self>) {
        let response_s = cx.time().duration_since(due).as_secs_f64();
        TOTAL_S.with_borrow_mut(|total_s| *total_s += response_s);
        match self.waiting.pop_front() {
            Some(due) => self.serve(due, cx),
            None => self.busy -= 1,
        }
    }
}

fn processor_s() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn main() {
    let count: u64 = std::env::args().nth(1).unwrap().parse().unwrap();
    let queue = Queue { left: count, busy: 0, waiting: VecDeque::new() };
    let bench = SimInit::with_num_threads(1).add_model(queue, Mailbox::new(), "queue");
    let mut simulation = bench.init(MonotonicTime::EPOCH).unwrap();
    let start = processor_s();
    simulation.run().unwrap();
    let seconds = processor_s() - start;
    let total_s = TOTAL_S.with_borrow(|total_s| *total_s);
    println!("{count} {seconds} {}", total_s / count as f64 / SERVICE_S);
}
