//! Looks for bytes that the HTTP/1 driver cannot stand: `http1_mutate SECONDS SEED`. Prints what
//! replays a finding: `http1_mutate 0 SEED CASE`.
#![allow(clippy::print_stdout, missing_docs, dead_code)]

#[path = "../tests/it/mutation.rs"]
mod mutation;
#[path = "../tests/it/play.rs"]
mod play;

use plimsoll_load::clock::Clock;

fn main() -> std::process::ExitCode {
    let numbers: Vec<u64> = std::env::args().skip(1).filter_map(|arg| arg.parse().ok()).collect();
    let (seconds, seed, first) = match numbers[..] {
        [seconds, seed] => (seconds, seed, None),
        [_, seed, case] => (0, seed, Some(case)),
        _ => {
            println!("usage: http1_mutate SECONDS SEED [CASE]");
            return std::process::ExitCode::from(2);
        }
    };
    if let Some(case) = first {
        play::case(seed, case);
        println!("case {case} of seed {seed}: nothing found");
        return std::process::ExitCode::SUCCESS;
    }
    let clock = Clock::start();
    let mut case = 0;
    while clock.now() < seconds * 1_000_000_000 {
        if std::panic::catch_unwind(|| play::case(seed, case)).is_err() {
            println!("found; replay: http1_mutate 0 {seed} {case}");
            return std::process::ExitCode::FAILURE;
        }
        case += 1;
    }
    println!("{case} cases of seed {seed}: nothing found");
    std::process::ExitCode::SUCCESS
}
