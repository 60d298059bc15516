//! How fast traces are read and written, in CPU seconds of one thread. Run with
//! `cargo run --release -p plimsoll-cache --example trace_speed [OBJECTS REQUESTS [RUNS]]`.
//!
//! `trace_speed FILE` reads that file once, and says what memory it took.
//!
//! It makes a synthetic web workload's trace and the reference trace of that size, writes the
//! latter as oracleGeneral and compiled to a temporary folder, and reads both. CPU time is that of
//! `/proc/self/schedstat`, to the kernel's tick, 1 to 10 ms; the peak of memory is that of each
//! step with what was there before it.
#![expect(clippy::print_stdout, reason = "its result goes to the terminal")]

use std::path::Path;

use plimsoll_cache::trace::read::{Limits, ReadOptions, read};
use plimsoll_cache::trace::reference::Reference;
use plimsoll_cache::trace::synthetic::Synthetic;
use plimsoll_cache::trace::{Trace, compiled, oracle_general};
use plimsoll_workload::objects::{Population, Workload};

/// CPU time of this thread so far.
fn cpu_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let ns = stat.split(' ').next().and_then(|ns| ns.parse::<u64>().ok()).unwrap_or(0);
    ns as f64 / 1e9
}

/// The most memory that this process had since [`forget_peak`], MiB.
fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0 kB");
    line.trim().trim_end_matches("kB").trim().parse::<u64>().unwrap_or(0) / 1024
}

fn forget_peak() {
    // Where the kernel does not know it, the peak is that of all steps so far.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

fn timed<T>(what: &str, requests: usize, work: impl FnOnce() -> T) -> T {
    forget_peak();
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

/// Reads a file that is there.
fn read_given(path: &Path) {
    let start = cpu_s();
    let (trace, told) = match read(path, &ReadOptions::default()) {
        Ok(read) => read,
        Err(error) => {
            println!("{error}");
            return;
        }
    };
    let (spent, requests) = (cpu_s() - start, trace.len());
    let rate = requests as f64 / spent / 1e6;
    println!(
        "{}, {requests} requests of {} objects: {spent:.3} s, {rate:.1} M requests/CPU s, \
         peak {} MiB",
        told.format,
        trace.distinct(),
        peak_mib()
    );
}

/// Makes the trace of a workload with as many objects, Zipf-like with exponent 0.8.
fn make_synthetic(objects: u32, requests: usize) {
    let population = Population::Closed { objects, drift: None };
    let workload = Workload { population, ..Workload::default() };
    let (limits, origin) = (Limits::default(), "http://origin");
    let synthetic = Synthetic { workload: &workload, seed: 42, requests, origin, limits };
    let due = (0..).map(|n| n * 1_000_000);
    timed("synthetic", requests, || synthetic.trace(due).expect("a trace"));
}

fn main() {
    if let Some(path) = std::env::args().nth(1).filter(|word| Path::new(word).is_file()) {
        return read_given(Path::new(&path));
    }
    let numbers: Vec<u32> = std::env::args().skip(1).filter_map(|arg| arg.parse().ok()).collect();
    let objects = numbers.first().copied().unwrap_or(1_000_000);
    let requests = numbers.get(1).copied().unwrap_or(10_000_000) as usize;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let oracle = folder.path().join("t.oracleGeneral.bin");
    let plt = folder.path().join("t.plt");
    make_synthetic(objects, requests);
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
