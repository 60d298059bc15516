//! Days of a registry with 10,000 agents, a seed a day, as tests/it/simulation has them.
//!
//!     simulate_registry [SEEDS 1000] [FIRST_SEED 0] [AGENTS 10000] [SECONDS 86400]
//!
//! Ends at the first thing that must not be, with the seed that shows it.
#![expect(clippy::unwrap_used, reason = "a run that cannot go on fails")]
#![expect(clippy::cast_possible_truncation, reason = "figures of a simulated day are small")]
#![expect(clippy::print_stdout, reason = "says what it found")]
#![expect(clippy::disallowed_methods, reason = "says how long it takes")]

#[path = "../tests/it/simulation/mod.rs"]
mod simulation;

use simulation::{Scenario, run};

fn main() {
    let mut given = std::env::args().skip(1).map(|text| text.parse::<u64>().unwrap());
    let mut next = |default| given.next().unwrap_or(default);
    let (seeds, first, agents, seconds) = (next(1000), next(0), next(10_000), next(86_400));
    let agents = u32::try_from(agents).unwrap();
    let start = std::time::Instant::now();
    let (mut delivered, mut joined, mut expired) = (0, 0, 0);
    for seed in first..first + seeds {
        let day = run(&Scenario { agents, seconds, seed });
        delivered += day.delivered;
        joined += day.joined;
        expired += day.expired;
        let took = start.elapsed().as_secs_f64();
        println!(
            "seed {seed}: {} delivered, digest {:016x}, {took:.0} s",
            day.delivered, day.digest
        );
    }
    println!(
        "{seeds} seeds: {delivered} delivered, {joined} joined, {expired} expired, none amiss"
    );
}
