//! What one due time costs, for each arrivals and shape of schedule. Run with
//! `cargo run --release -p plimsoll-workload --example cost_of_due_times`.
#![expect(clippy::disallowed_methods, reason = "measuring is the purpose of this program")]
#![expect(clippy::print_stdout, reason = "its result goes to the terminal")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use plimsoll_workload::arrivals::{Arrivals, DueTimes, Share};
use plimsoll_workload::random::Stream;
use plimsoll_workload::schedule::Schedule;

type Draw = fn(&mut Stream) -> f64;

const ROUNDS: usize = 40;

fn main() {
    let levels: Vec<String> =
        (0..1440).map(|n| format!("{}/s for 3s", 35 + n * 7919 % 565)).collect();
    let schedules = [
        ("constant 200/s", "200/s for 5000s".to_owned()),
        ("constant 20000/s", "20000/s for 50s".to_owned()),
        ("constant 2000000/s", "2M/s for 1s".to_owned()),
        ("1440 levels", levels.join(",")),
        ("rising line", "0/s..40k/s in 50s".to_owned()),
        ("falling line", "40k/s..0/s in 50s".to_owned()),
        ("exponential", "10/s..100k/s in 90s exp".to_owned()),
    ];
    println!("{:<20}{:>12}{:>12}{:>12}   ns per due time", "", "even", "random", "poisson");
    for (name, text) in schedules {
        let Ok(schedule) = Schedule::parse(&text).map(Arc::new) else { continue };
        let cost = Arrivals::ALL.map(|arrivals| cost(&schedule, arrivals));
        println!("{name:<20}{:>12.2}{:>12.2}{:>12.2}", cost[0], cost[1], cost[2]);
    }
    let draws: [(&str, Draw); 3] = [
        ("uniform", Stream::uniform),
        ("exponential", Stream::exponential),
        ("normal", Stream::normal),
    ];
    for (name, draw) in draws {
        let mut stream = Stream::named(1, "cost");
        let sum = || (0..1_000_000).map(|_| draw(&mut stream)).sum::<f64>();
        println!("{name:<20}{:>12.2}", best(1_000_000, sum));
    }
}

fn cost(schedule: &Arc<Schedule>, arrivals: Arrivals) -> f64 {
    let mut block = vec![0; 1024];
    best(schedule.total(), || {
        let mut due = DueTimes::new(Arc::clone(schedule), arrivals, 1, Share::WHOLE);
        while due.fill(&mut block) > 0 {
            black_box(&block);
        }
    })
}

/// The best of a few rounds, in nanoseconds for each of `n`.
fn best<T>(n: u64, mut round: impl FnMut() -> T) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        black_box(round());
        best = best.min(start.elapsed().as_secs_f64() * 1e9 / n as f64);
    }
    best
}
