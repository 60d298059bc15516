//! Mutates traces of a format for a given time, and says how to repeat what it finds. Run with
//! `cargo run --release -p plimsoll-cache --example mutate_traces FORMAT SECONDS SEED`.
//!
//! FORMAT is `all` or one of those of `tests/traces/mutation.rs`. Seeds count upwards from SEED;
//! with 0 seconds that one seed is run.
#![expect(clippy::disallowed_methods, reason = "it runs for a given time")]
#![expect(clippy::print_stdout, reason = "its result goes to the terminal")]

use std::process::ExitCode;
use std::time::{Duration, Instant};

#[path = "../tests/traces/mutation.rs"]
mod mutation;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let arguments = match words.as_slice() {
        [format, seconds, seed] => {
            seconds.parse().ok().zip(seed.parse().ok()).map(|(s, n)| (format, s, n))
        }
        _ => None,
    };
    let formats: Vec<&'static str> = mutation::FORMATS
        .into_iter()
        .filter(|known| words.first().is_some_and(|word| word == known || word == "all"))
        .collect();
    let Some((_, seconds, first)) = arguments.filter(|_| !formats.is_empty()) else {
        println!("wanted FORMAT SECONDS SEED, FORMAT being all or of {:?}", mutation::FORMATS);
        return ExitCode::from(2);
    };
    let (start, length) = (Instant::now(), Duration::from_secs(seconds));
    let before = mutation::peak_kib();
    let mut seed: u64 = first;
    loop {
        for &format in &formats {
            // Release builds abort on a panic; so the seed is known before it runs.
            std::panic::set_hook(Box::new(move |panic| {
                println!("{format}, seed {seed}: {panic}");
                repeat(format, seed);
            }));
            if let Err(promise) = mutation::check(format, seed) {
                println!("{format}, seed {seed}: {promise:.500}");
                repeat(format, seed);
                return ExitCode::FAILURE;
            }
            if let (Some(before), Some(now)) = (before, mutation::peak_kib())
                && now > before + mutation::MAX_GROWTH_KIB
            {
                println!("{format}, seed {seed}: memory from {before} to {now} KiB");
                repeat(format, seed);
                return ExitCode::FAILURE;
            }
        }
        seed += 1;
        if start.elapsed() >= length {
            println!("{} seeds from {first} of {formats:?}, nothing found", seed - first);
            return ExitCode::SUCCESS;
        }
    }
}

fn repeat(format: &str, seed: u64) {
    println!(
        "repeat: cargo run --release -p plimsoll-cache --example mutate_traces {format} 0 {seed}"
    );
}
