//! Mutates messages of a protocol between caches for a given time, and says how to replay what it
//! finds. Run with
//! `cargo run --release -p plimsoll-cache --example mutate_protocols PROTOCOL SECONDS SEED`,
//! PROTOCOL being `icp`, `htcp` or `digest`.
//!
//! Seeds count upwards from SEED; with 0 seconds that one seed is run.
#![expect(clippy::disallowed_methods, reason = "it runs for a given time")]
#![expect(clippy::print_stdout, reason = "its result goes to the terminal")]
#![expect(clippy::unwrap_used, reason = "of messages that are mutated")]
#![expect(clippy::cast_possible_truncation, reason = "small numbers, and random bytes")]

use std::process::ExitCode;
use std::time::{Duration, Instant};

#[path = "../tests/it/protocol_mutants.rs"]
mod protocol_mutants;

use protocol_mutants::{Protocol, check, mutant};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((name, protocol, seconds, first)) = read(&arguments) else {
        println!("wanted PROTOCOL (icp, htcp or digest) and two numbers: SECONDS SEED");
        return ExitCode::from(2);
    };
    let (start, length) = (Instant::now(), Duration::from_secs(seconds));
    let (mut seed, mut believed) = (first, 0_u64);
    loop {
        // Release builds abort on a panic; so the seed is known before it runs.
        std::panic::set_hook(Box::new(move |panic| {
            println!("seed {seed}: {panic}");
            replay(name, seed);
        }));
        match check(protocol, seed) {
            Ok(yes) => believed += u64::from(yes),
            Err(fault) => {
                println!("seed {seed}: {fault:.500}\n{:02x?}", mutant(protocol, seed));
                replay(name, seed);
                return ExitCode::FAILURE;
            }
        }
        seed += 1;
        if start.elapsed() >= length {
            let count = seed - first;
            println!("{name}: {count} seeds from {first}, {believed} believed, nothing found");
            return ExitCode::SUCCESS;
        }
    }
}

fn read(arguments: &[String]) -> Option<(&'static str, Protocol, u64, u64)> {
    let [protocol, seconds, seed] = arguments else { return None };
    let (name, protocol) = Protocol::ALL.into_iter().find(|(name, _)| name == protocol)?;
    Some((name, protocol, seconds.parse().ok()?, seed.parse().ok()?))
}

fn replay(name: &str, seed: u64) {
    println!(
        "replay: cargo run --release -p plimsoll-cache --example mutate_protocols {name} 0 {seed}"
    );
}
