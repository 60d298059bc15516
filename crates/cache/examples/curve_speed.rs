//! How fast exact miss-ratio curves are, in requests per second of processor time, on the lab's
//! reference trace; and whether they have the misses of single runs there.
//!
//! `cargo run --release -p plimsoll-cache --example curve_speed -- [runs]`

#![expect(clippy::print_stdout, reason = "a program")]

use std::fs;

use plimsoll_cache::capacity::{Capacity, Unit};
use plimsoll_cache::curve::{exact, exact_in_requests, in_bytes, largest_difference, spaced};
use plimsoll_cache::eviction::{Kind, Settings};
use plimsoll_cache::replay::{Job, replay};
use plimsoll_cache::trace::Trace;
use plimsoll_cache::trace::reference::Reference;

/// Misses of LRU by libcachesim 0.3.5, by capacity in objects.
const REFERENCE: [(u64, u64); 3] = [(962, 9_014_638), (9_620, 7_710_473), (96_205, 5_202_123)];

/// Nanoseconds of processor time of this thread so far.
fn processor_ns() -> u64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or(0)
}

fn timed<T>(what: &str, requests: usize, work: impl FnOnce() -> T) -> T {
    let before = processor_ns();
    let result = work();
    let seconds = (processor_ns() - before) as f64 / 1e9;
    println!("{what:32} {seconds:7.3} s {:7.1} M requests/s", requests as f64 / seconds / 1e6);
    result
}

fn main() {
    let runs = std::env::args().nth(1).and_then(|runs| runs.parse().ok()).unwrap_or(3);
    let reference = Reference { objects: 1_000_000, requests: 10_000_000, seed: 42 };
    let sized = reference.trace().expect("a million objects");
    let plain = Trace::new(sized.requests().to_vec(), sized.names().clone()).expect("in order");
    let count = plain.len();
    let footprint = sized.footprint_bytes().unwrap_or(0);
    for _ in 0..runs {
        let curve = timed("objects", count, || exact_in_requests(&plain));
        for (capacity, misses) in REFERENCE {
            assert_eq!(curve.at(capacity).misses, misses, "at {capacity}");
        }
        timed("objects, with missed bytes", count, || exact(&sized));
        let capacities = spaced(1 << 20, footprint, 100);
        timed("bytes, 100 capacities", count, || in_bytes(&sized, &capacities).map(drop)).ok();
        let lru = Kind::named("lru").expect("lru");
        let capacity = Capacity { amount: 96_205, unit: Unit::Objects };
        let settings = Settings::default();
        let job = Job {
            trace: &plain,
            next: &[],
            capacity,
            settings: &settings,
            admission: None,
            size_classes: None,
            marks: &[],
        };
        timed("a replay of lru, 96205 objects", count, || replay(lru, &job)).ok();
    }
    for (what, from) in [("also below", 64 << 10), ("at and above", 8 << 20)] {
        let found = largest_difference(&sized, &spaced(from, footprint, 8)).expect("sizes");
        println!("in bytes, capacities {what} the largest object: {found:?}");
    }
}
