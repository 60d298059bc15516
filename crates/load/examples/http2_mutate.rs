//! Feeds HTTP/2 bytes of a server, changed at random, to the driver: `http2_mutate SECONDS SEED`.
//!
//! A failure says in which round it came; that number as the seed leads there again at once.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::disallowed_methods, missing_docs)]

use std::sync::atomic::{AtomicU64, Ordering};

#[path = "../tests/it/http2/mutate.rs"]
mod mutate;

static ROUND: AtomicU64 = AtomicU64::new(0);

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let seconds = args[1].parse().unwrap();
    let first: u64 = args[2].parse().unwrap();
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        println!("round {} failed", ROUND.load(Ordering::Relaxed));
        hook(panic);
    }));
    let began = std::time::Instant::now();
    let mut rounds = 0;
    while began.elapsed() < std::time::Duration::from_secs(seconds) {
        ROUND.store(first.wrapping_add(rounds), Ordering::Relaxed);
        mutate::round(first.wrapping_add(rounds));
        rounds += 1;
    }
    println!("{rounds} rounds from {first} on, none failed");
}
