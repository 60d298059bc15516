//! Mutates heartbeats and goodbyes, counts why they are refused, and says how to replay what is
//! believed though it should not be. Run with
//! `cargo run --release -p plimsoll-shoal --example mutate_heartbeats [COUNT] [SEED]`;
//! COUNT is 10,000,000 and SEED, the first of as many, 0 where nothing is said.
#![expect(clippy::disallowed_methods, reason = "it says how long it took")]
#![expect(clippy::print_stdout, reason = "its result goes to the terminal")]
#![expect(clippy::unwrap_used, reason = "of the texts that are mutated")]

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

#[path = "../tests/it/mutants.rs"]
mod mutants;

fn main() -> ExitCode {
    let numbers: Option<Vec<u64>> = std::env::args().skip(1).map(|arg| arg.parse().ok()).collect();
    let (count, first) = match numbers.as_deref() {
        Some([]) => (10_000_000, 0),
        Some([count]) => (*count, 0),
        Some([count, seed]) => (*count, *seed),
        _ => {
            println!("wanted at most two numbers: COUNT SEED");
            return ExitCode::from(2);
        }
    };
    // Release builds abort on a panic; so the seed is known before it runs.
    static SEED: AtomicU64 = AtomicU64::new(0);
    std::panic::set_hook(Box::new(|panic| {
        println!("{panic}");
        replay(SEED.load(Relaxed));
    }));
    let recorded = mutants::recorded_bodies().len();
    let (corpus, start) = (mutants::corpus(), Instant::now());
    let mut reasons = BTreeMap::new();
    for seed in first..first.saturating_add(count) {
        SEED.store(seed, Relaxed);
        let body = mutants::mutant(&corpus, seed);
        match mutants::judge(&body) {
            Ok(reason) => *reasons.entry(reason).or_insert(0_u64) += 1,
            Err(fault) => {
                println!("{fault}\n{}", String::from_utf8_lossy(&body));
                replay(seed);
                return ExitCode::FAILURE;
            }
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    println!("{count} mutants of {} texts ({recorded} recorded), {seconds:.1} s", corpus.len());
    for (reason, times) in reasons {
        println!("{reason:<12} {times:>10}");
    }
    ExitCode::SUCCESS
}

fn replay(seed: u64) {
    println!("replay: cargo run --release -p plimsoll-shoal --example mutate_heartbeats 1 {seed}");
}
