//! How fast traces are read and written, in CPU seconds of one thread. Run with
//! `cargo run --release -p plimsoll-cache --example trace_speed [OBJECTS REQUESTS [RUNS]]`.
//!
//! It makes the reference trace of that size, writes it as oracleGeneral and compiled to a temporary
//! folder, and reads both. CPU time is that of `/proc/self/schedstat`, to the nanosecond.
#![expect(clippy::print_stdout, reason = "its result goes to the terminal")]

use std::path::Path;

use plimsoll_cache::trace::read::{ReadOptions, read};
use plimsoll_cache::trace::reference::Reference;
use plimsoll_cache::trace::{Trace, compiled, oracle_general};

/// CPU time of this thread so far.
fn cpu_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let ns = stat.split(' ').next().and_then(|ns| ns.parse::<u64>().ok()).unwrap_or(0);
    ns as f64 / 1e9
}

/// The most memory that this process had so far, MiB.
fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0 kB");
    line.trim().trim_end_matches("kB").trim().parse::<u64>().unwrap_or(0) / 1024
}

fn timed<T>(what: &str, requests: usize, work: impl FnOnce() -> T) -> T {
    let start = cpu_s();
    let result = work();
    let spent = cpu_s() - start;
    let rate = requests as f64 / spent / 1e6;
    println!("{what:<24} {spent:8.3} s {rate:8.1} M requests/CPU s, peak {} MiB", peak_mib());
    result
}

fn read_back(path: &Path) -> Trace {
    read(path, &ReadOptions::default()).expect("what was just written").0
}

fn main() {
    let numbers: Vec<u32> = std::env::args().skip(1).filter_map(|arg| arg.parse().ok()).collect();
    let objects = numbers.first().copied().unwrap_or(1_000_000);
    let requests = numbers.get(1).copied().unwrap_or(10_000_000) as usize;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let oracle = folder.path().join("t.oracleGeneral.bin");
    let plt = folder.path().join("t.plt");
    let reference = Reference { objects, requests, seed: 42 };
    let trace = timed("generate", requests, || reference.trace().expect("a trace"));
    timed("write oracleGeneral", requests, || {
        oracle_general::write_file(&trace, &oracle).expect("room on the disk");
    });
    timed("write plt", requests, || {
        compiled::write_file(&trace, &plt).expect("room on the disk");
    });
    drop(trace);
    for _ in 0..numbers.get(2).copied().unwrap_or(3) {
        let trace = timed("read oracleGeneral", requests, || read_back(&oracle));
        drop(trace);
        let trace = timed("read plt", requests, || read_back(&plt));
        drop(trace);
    }
}
