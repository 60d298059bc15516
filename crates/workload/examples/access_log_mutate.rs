//! Mutates access logs, URLs, headers, templates and lists for a given time, and says how to
//! replay what it finds. Run with
//! `cargo run --release -p plimsoll-workload --example access_log_mutate SECONDS SEED`.
//!
//! Seeds count upwards from SEED; with 0 seconds that one seed is run.
#![expect(clippy::disallowed_methods, reason = "it runs for a given time")]
#![expect(clippy::print_stdout, reason = "its result goes to the terminal")]

use std::process::ExitCode;
use std::time::{Duration, Instant};

#[path = "../tests/it/log_lines.rs"]
mod log_lines;
#[path = "../tests/it/mutation.rs"]
mod mutation;

fn main() -> ExitCode {
    let numbers: Option<Vec<u64>> = std::env::args().skip(1).map(|arg| arg.parse().ok()).collect();
    let Some([seconds, first]) = numbers.as_deref() else {
        println!("wanted two numbers: SECONDS SEED");
        return ExitCode::from(2);
    };
    let (start, length) = (Instant::now(), Duration::from_secs(*seconds));
    let mut seed = *first;
    loop {
        // Release builds abort on a panic; so the seed is known before it runs.
        let replay = move || {
            println!(
                "replay: cargo run --release -p plimsoll-workload \
                 --example access_log_mutate 0 {seed}"
            );
        };
        std::panic::set_hook(Box::new(move |panic| {
            println!("seed {seed}: {panic}");
            replay();
        }));
        if let Err(promise) = mutation::check(seed) {
            println!("seed {seed}: {promise:.500}");
            replay();
            return ExitCode::FAILURE;
        }
        seed += 1;
        if start.elapsed() >= length {
            println!("{} seeds from {first}, nothing found", seed - first);
            return ExitCode::SUCCESS;
        }
    }
}
