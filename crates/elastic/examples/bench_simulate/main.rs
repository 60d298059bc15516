//! How fast a day is simulated: the table of `benches/simulate/RESULTS.md`.
//!
//! | called as | does |
//! | --- | --- |
//! | `bench_simulate` | all of it, in one run: a median of three for each line |
//! | `bench_simulate --engine NAME [--instances N] [--requests N]` | one of them, once: for cachegrind |
//! | `bench_simulate --queue REQUESTS` | M/M/21 at a load of 0.9, as other simulators run it |
//! | `bench_simulate --truth [REPLICATIONS [REQUESTS]]` | queues against their formulas |
//!
//! Times are those of the processor, of one thread; of replications on several threads, of the
//! wall.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a tool that cannot go on stops")]
#![expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "of its own numbers")]

mod day;
mod textbook;
mod truth;

use day::{INSTANCES, Path, Ran};
use plimsoll_elastic::simulated::run;
use plimsoll_workload::distribution::Distribution;
use plimsoll_workload::service_model::ServiceTime;
use std::process::ExitCode;

/// Repetitions of each line; the median counts.
const TIMES: usize = 3;
/// With so many instances a tenth of the day's requests is lost.
const OVERLOADED: usize = 12;

/// Processor time of this thread, seconds.
fn processor_s() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

#[expect(clippy::disallowed_methods, reason = "measuring is the purpose of this program")]
fn wall_s(of: impl FnOnce()) -> f64 {
    let start = std::time::Instant::now();
    of();
    start.elapsed().as_secs_f64()
}

fn median(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    of[of.len() / 2]
}

/// The median time of several runs, with what the last of them came to.
fn timed<T>(mut of: impl FnMut() -> T) -> (f64, T) {
    let mut times = Vec::new();
    let mut last = None;
    for _ in 0..TIMES {
        let start = processor_s();
        last = Some(of());
        times.push(processor_s() - start);
    }
    (median(times), last.unwrap())
}

/// A line of the table: millions of requests a second, against the heap's.
fn line(name: &str, seconds: f64, requests: u64, heap_s: Option<f64>) {
    let millions = requests as f64 / seconds / 1e6;
    let ratio = heap_s.map_or("–".to_owned(), |heap_s| format!("{:.2}", heap_s / seconds));
    println!("| {name} | {seconds:.3} | {millions:.1} | {ratio} |");
}

/// The paths on the day with so many instances; returns the heap's time.
fn paths(instances: usize, of: &[(&str, Path)]) {
    let (heap_s, heap): (f64, Ran) = timed(|| day::run(Path::Heap, instances, u64::MAX));
    let lost = 100.0 * heap.lost as f64 / heap.offered as f64;
    let about = format!("{instances} instances, {lost:.2}% lost");
    line(&format!("textbook heap, {about}"), heap_s, heap.offered, Some(heap_s));
    for &(name, path) in of {
        let (seconds, ran) = timed(|| day::run(path, instances, u64::MAX));
        if path != Path::Sharing {
            assert_eq!(ran.said(), heap.said(), "{name} says something else");
        }
        line(&format!("{name}, {instances} instances"), seconds, ran.offered, Some(heap_s));
    }
}

fn laws() {
    let texts = ["const:70ms", "lognormal:70ms,0.103", "pareto:2.5,42ms..10s"];
    for text in texts {
        let law = ServiceTime::Law(Distribution::parse(text).unwrap());
        let (heap_s, heap) = timed(|| day::run_by(Path::Heap, INSTANCES, u64::MAX, &law));
        let (seconds, ran) = timed(|| day::run_by(Path::Fast, INSTANCES, u64::MAX, &law));
        assert_eq!(ran.said(), heap.said(), "{text}");
        line(&format!("fast path, service {text}"), seconds, ran.offered, Some(heap_s));
    }
}

fn whole_day() {
    let (setup, demand, maker) = day::setup();
    let (seconds, outcome) = timed(|| run(&setup, &demand, maker().as_mut(), 0));
    line("the whole simulation of the day", seconds, outcome.offered, None);
    let days = &|from: u64, threads: u64| {
        let mine = (from..8).step_by(usize::try_from(threads).unwrap_or(1));
        mine.for_each(|day| drop(run(&setup, &demand, maker().as_mut(), day)));
    };
    let wall = |threads: u64| {
        let once = || {
            wall_s(|| {
                std::thread::scope(|scope| {
                    (0..threads).for_each(|from| drop(scope.spawn(move || days(from, threads))));
                });
            })
        };
        median((0..TIMES).map(|_| once()).collect())
    };
    let (one, two) = (wall(1), wall(2));
    println!("\n8 days, wall: {one:.2} s on one thread, {two:.2} s on two: {:.2} ×", one / two);
}

fn all() {
    println!("| | processor s | M requests/s | × heap |");
    println!("| --- | --- | --- | --- |");
    let (seconds, ran) = timed(|| day::run(Path::Requests, INSTANCES, u64::MAX));
    line("requests alone: due times and services", seconds, ran.offered, None);
    let both = [("fast path", Path::Fast), ("without vectors", Path::Portable)];
    let others = [("general path", Path::General), ("processor sharing", Path::Sharing)];
    paths(INSTANCES, &[both, others].concat());
    paths(OVERLOADED, &[both, others].concat());
    laws();
    whole_day();
}

/// The number after a flag.
fn number(args: &[String], flag: &str, otherwise: u64) -> u64 {
    let at = args.iter().position(|arg| arg == flag);
    let found = at.and_then(|at| args.get(at + 1)).map(|text| text.parse().unwrap());
    found.unwrap_or(otherwise)
}

fn one(args: &[String]) {
    let name = &args[1];
    let path = Path::ALL.into_iter().find(|(of, _)| of == name);
    let Some((_, path)) = path else {
        let names: Vec<&str> = Path::ALL.iter().map(|(name, _)| *name).collect();
        println!("expected one of {}, found `{name}`", names.join(", "));
        return;
    };
    let instances = number(args, "--instances", INSTANCES as u64) as usize;
    let ran = day::run(path, instances, number(args, "--requests", u64::MAX));
    println!("{} requests, {} served, {} lost", ran.offered, ran.served, ran.lost);
}

fn queue(requests: u64) {
    let queue = truth::many(21, 0.9);
    let (seconds, (response, _, offered)) = timed(|| queue.run(requests, 1));
    let wanted = queue.response();
    println!("{offered} {seconds} {response} {wanted}");
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.first().map(String::as_str) {
        None => all(),
        Some("--engine") => one(&args),
        Some("--queue") => queue(number(&args, "--queue", 10_000_000)),
        Some("--truth") => {
            let given = |n: usize, otherwise| {
                args.get(n).map_or(otherwise, |text| text.parse::<u64>().unwrap())
            };
            if !truth::print(given(1, 10), given(2, 10_000_000)) {
                return ExitCode::from(3);
            }
        }
        Some(other) => {
            println!("expected --engine, --queue or --truth, found `{other}`");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}
