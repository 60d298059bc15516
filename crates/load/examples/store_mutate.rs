//! Looks for bytes that the drivers of Redis and memcached cannot stand: `store_mutate SECONDS
//! SEED`. A finding prints the seed that leads there again: `store_mutate 0 SEED` plays it alone.
#![allow(clippy::print_stdout, missing_docs, dead_code)]

#[path = "../tests/it/store/mutate.rs"]
mod mutate;
#[path = "../tests/it/mutation.rs"]
mod mutation;

use plimsoll_load::clock::Clock;

fn main() -> std::process::ExitCode {
    let numbers: Vec<u64> = std::env::args().skip(1).filter_map(|arg| arg.parse().ok()).collect();
    let [seconds, first] = numbers[..] else {
        println!("usage: store_mutate SECONDS SEED");
        return std::process::ExitCode::from(2);
    };
    let clock = Clock::start();
    let mut seed = first;
    loop {
        let played = std::panic::catch_unwind(|| {
            mutate::case(seed);
            mutate::round(seed);
        });
        if played.is_err() {
            println!("found; replay: store_mutate 0 {seed}");
            return std::process::ExitCode::FAILURE;
        }
        seed = seed.wrapping_add(1);
        if clock.now() >= seconds * 1_000_000_000 {
            break;
        }
    }
    println!("{} seeds from {first} on: nothing found", seed.wrapping_sub(first));
    std::process::ExitCode::SUCCESS
}
