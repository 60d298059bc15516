//! How many requests a CPU second a policy replays on the reference trace, compiled, at 0.1%, 1%
//! and 10% of its objects: plain, and with misses by the size of objects. Run with
//! `cargo run --release -p plimsoll-cache --example replay_speed [OBJECTS REQUESTS] [POLICY…]`.
//!
//! Medians of five runs that alternate. CPU time is that of `/proc/self/schedstat`.

#![expect(clippy::print_stdout, reason = "its result goes to the terminal")]

use plimsoll_cache::capacity::{Capacity, Unit};
use plimsoll_cache::eviction::Policy;
use plimsoll_cache::replay::{Job, replay};
use plimsoll_cache::size_class::SizeClasses;
use plimsoll_cache::trace::reference::Reference;

const RUNS: usize = 5;

/// CPU time of this thread so far.
fn cpu_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let ns = stat.split(' ').next().and_then(|ns| ns.parse::<u64>().ok()).unwrap_or(0);
    ns as f64 / 1e9
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let is_number = |arg: &String| arg.parse::<u32>().is_ok();
    let (numbers, named): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(is_number);
    let numbers: Vec<u32> = numbers.iter().filter_map(|arg| arg.parse().ok()).collect();
    let objects = numbers.first().copied().unwrap_or(1_000_000);
    let requests = numbers.get(1).copied().unwrap_or(10_000_000) as usize;
    let usual = ["lru", "sieve", "s3fifo", "gdsf"].map(String::from).to_vec();
    let policies = if named.is_empty() { usual } else { named };
    let trace = Reference { objects, requests, seed: 42 }.trace()?;
    let (next, classes) = (trace.next_uses(), SizeClasses::new(&trace));
    println!(
        "{:16} {:>9} {:>10} {:>10}  M requests/CPU s",
        "policy", "objects", "plain", "by size"
    );
    for text in policies {
        let policy: Policy = text.parse().map_err(|error| format!("{text}: {error:?}"))?;
        for amount in [1_000, 100, 10].map(|part| u64::from(trace.distinct() / part)) {
            let job = Job {
                trace: &trace,
                next: if policy.kind.needs.next { &next } else { &[] },
                capacity: Capacity { amount, unit: Unit::Objects },
                settings: &policy.settings,
                admission: None,
                size_classes: None,
                marks: &[],
            };
            let jobs = [job, Job { size_classes: classes.as_ref(), ..job }];
            let mut spent: [Vec<f64>; 2] = Default::default();
            for _ in 0..RUNS {
                for (job, spent) in jobs.iter().zip(&mut spent) {
                    let start = cpu_s();
                    replay(policy.kind, job)?;
                    spent.push(cpu_s() - start);
                }
            }
            let rate = spent.map(|mut spent| {
                spent.sort_by(f64::total_cmp);
                trace.len() as f64 / spent[RUNS / 2] / 1e6
            });
            println!("{text:16} {amount:>9} {:>10.1} {:>10.1}", rate[0], rate[1]);
        }
    }
    Ok(())
}
