//! Prints what this program reads in a run's `latency.hlog`, for `tests/python/hlog.py` to compare:
//! a line for each bucket that holds something, `TAG LOWEST COUNT`.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a tool that cannot go on stops")]

use plimsoll_runs::{Phase, Run, Tag};
use std::path::Path;

fn main() {
    let folder = std::env::args().nth(1).unwrap();
    let run = Run::open(Path::new(&folder)).unwrap();
    for (phase, prefix) in [(Phase::WarmUp, "warm-up."), (Phase::Measured, "")] {
        for tag in Tag::ALL {
            for bucket in run.histogram(phase, tag).unwrap().buckets() {
                println!("{prefix}{} {} {}", tag.name(), bucket.lowest, bucket.count);
            }
        }
    }
}
