//! Methods of search against queues whose capacity is known: the table of
//! `benches/capacity/RESULTS.md`.
//!
//! `bench_capacity [REPETITIONS [CASE [FIRST_SEED]]]`, or `make bench-capacity`, which takes one
//! case after the other and can be gone on with. Seeds are fixed: the same program prints the same
//! table; others show whether it was tuned to them. A case is named by the beginning of its name,
//! or as `=NAME`, and all are listed by `bench_capacity 0 list`. Of a case that is an [`odd`]
//! server, half as many repetitions are made. Bisection is given the load time that the adaptive
//! method took without its hold. `bench_capacity REPETITIONS stalls [FIRST_SEED]` prints the table
//! of [`stalls`] instead, and `bench_capacity SECONDS truth` the capacities of odd servers, as
//! simulated for so long.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a tool that cannot go on stops")]

mod bisection;
mod cases;
mod odd;
mod stalls;

use bisection::Bisection;
use cases::{Case, SLO_QUANTILE};
use plimsoll_capacity::adaptive::{self, Adaptive};
use plimsoll_capacity::conduct::{Ended, Limits, conduct};
use plimsoll_capacity::ladder::{self, Ladder, StepOf};
use plimsoll_capacity::search::{Check, Search};
use plimsoll_capacity::simulated::Simulated;
use plimsoll_capacity::window::Phase;
use plimsoll_stats::slo::Comparison;
use std::ops::Range;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};

const START_PER_S: f64 = 1.0;

/// What many searches of one kind came to.
#[derive(Debug, Default)]
struct Summary {
    bias: f64,
    rmse: f64,
    covered: f64,
    /// Load time without that of the hold, which is told beside it.
    load_s: f64,
    hold_s: f64,
    above_s: f64,
    /// The share that was found, and how many of these had a hold that broke.
    found: f64,
    broken: u32,
    /// Seeds of searches that were far off, and by how much; and of those that took very long.
    far: Vec<(u64, f64)>,
    long: Vec<(u64, f64)>,
    /// Those that found nothing, and why.
    open: Vec<(u64, String)>,
}

/// What one search came to. Its windows are not kept: those of 1,000 searches fill a machine.
pub(crate) struct Searched {
    seed: u64,
    estimate_per_s: Option<f64>,
    ci95: Option<(f64, f64)>,
    /// The highest rate that held, and the lowest above it that broke.
    bracket: (Option<f64>, Option<f64>),
    /// Load time without that of holds, and that of holds.
    seconds: f64,
    hold_s: f64,
    seconds_above: f64,
    ended: Ended,
    /// Whether the last hold broke.
    is_broken: bool,
    /// The first thing that was said.
    note: String,
}

/// An error beyond this is far off.
const FAR: f64 = 0.15;
/// So many times the mean time is very long.
const LONG: f64 = 5.0;

fn ladder(case: &Case) -> Box<dyn Search> {
    Box::new(Ladder::new(ladder::Settings {
        slo: (SLO_QUANTILE, case.bound_ns),
        comparison: Comparison::Below,
        start_per_s: START_PER_S,
        window_s: 10.0,
        tuning: 0.2,
        near_rtt_ns: Some(10_000_000),
        step_of: StepOf::Gap,
        max_rate_per_s: None,
    }))
}

fn adaptive(case: &Case) -> Box<dyn Search> {
    Box::new(Adaptive::new(adaptive::Settings {
        slo: (SLO_QUANTILE, case.bound_ns),
        start_per_s: START_PER_S,
        precision: 0.05,
        most_errors: None,
        max_rate_per_s: None,
    }))
}

/// Conducts one search.
fn searched(
    seed: u64,
    search: &mut dyn Search,
    world: &mut Simulated,
    limits: Limits,
    capacity_per_s: f64,
) -> Searched {
    let Ok(outcome) = conduct(search, world, limits, &mut |_| {});
    let windows = || outcome.windows.iter().map(|judged| &judged.window);
    let held = windows().filter(|window| window.phase == Phase::Hold);
    let hold_s = held.map(|window| window.seconds).sum::<f64>();
    let found = &outcome.found;
    Searched {
        seed,
        estimate_per_s: found.estimate_per_s,
        ci95: found.ci95,
        bracket: (found.held_per_s, found.broken_per_s),
        seconds: outcome.seconds() - hold_s,
        hold_s,
        seconds_above: outcome.seconds_above(capacity_per_s),
        ended: outcome.ended,
        is_broken: found.holds.last().is_some_and(|hold| hold.check == Check::Broken),
        note: found.notes.first().cloned().unwrap_or_default(),
    }
}

/// One search for each seed, on both cores.
fn many(seeds: &Range<u64>, one: &(dyn Fn(u64) -> Searched + Sync)) -> Vec<Searched> {
    let next = AtomicU64::new(seeds.start);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let some = || {
        let mut all = Vec::new();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                return all;
            }
            all.push(one(seed));
        }
    };
    let mut all: Vec<Searched> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(some)).collect();
        running.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    all.sort_by_key(|one| one.seed);
    all
}

/// Runs a search so many times.
fn repeat(
    case: &Case,
    seeds: &Range<u64>,
    method: &(dyn Fn(&Case) -> Box<dyn Search> + Sync),
) -> Summary {
    let truth = case.capacity_per_s;
    let all = many(seeds, &|seed| {
        let mut world = Simulated::new(case.model(), case.bound_ns, seed);
        searched(seed, method(case).as_mut(), &mut world, Limits::default(), truth)
    });
    summarise(truth, &all)
}

fn summarise(truth: f64, all: &[Searched]) -> Summary {
    let (mut sum, mut n) = (Summary::default(), 0.0_f64);
    for one in all {
        let is_found = one.ended == Ended::Found;
        sum.found += f64::from(u8::from(is_found));
        sum.broken += u32::from(is_found && one.is_broken);
        sum.hold_s += one.hold_s;
        if one.estimate_per_s.is_none() {
            // What was not found is counted as that, and is no error.
            sum.load_s += one.seconds;
            sum.above_s += one.seconds_above;
            continue;
        }
        let off = one.estimate_per_s.unwrap_or(0.0) / truth - 1.0;
        n += 1.0;
        if off.abs() > FAR {
            sum.far.push((one.seed, off));
        }
        sum.bias += off;
        sum.rmse += off * off;
        let covers = |(low, high): (f64, f64)| low <= truth && truth <= high;
        sum.covered += f64::from(u8::from(one.ci95.is_some_and(covers)));
        sum.load_s += one.seconds;
        sum.above_s += one.seconds_above;
    }
    let searches = all.len() as f64;
    let n = n.max(1.0);
    let mean_s = sum.load_s / searches;
    let open = all.iter().filter(|one| one.ended != Ended::Found);
    sum.open = open.map(|one| (one.seed, format!("{}: {}", one.ended.name(), one.note))).collect();
    let times = all.iter().map(|one| (one.seed, one.seconds));
    sum.long = times.filter(|(_, seconds)| *seconds > LONG * mean_s).collect();
    Summary {
        bias: sum.bias / n,
        rmse: (sum.rmse / n).sqrt(),
        covered: sum.covered / n,
        load_s: mean_s,
        hold_s: sum.hold_s / searches,
        above_s: sum.above_s / searches,
        found: sum.found / searches,
        broken: sum.broken,
        far: sum.far,
        long: sum.long,
        open: sum.open,
    }
}

/// So many of all searches find an estimate.
const LEAST_FOUND: f64 = 0.95;

fn per_cent(share: f64) -> String {
    format!("{:.1}%", 100.0 * share)
}

/// Whether a case is asked for: by how its name begins, or after `=` by its whole name.
fn is_asked(name: &str, asked: &str) -> bool {
    asked.strip_prefix('=').map_or(name.starts_with(asked), |whole| name == whole)
}

/// A figure and whether it is within its bound.
fn judged(text: String, within: bool, misses: &mut Vec<String>, what: &str) -> String {
    if within {
        return text;
    }
    misses.push(what.to_owned());
    format!("**{text}**")
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let times: u64 = arguments.first().map_or(200, |text| text.parse().unwrap());
    let only = arguments.get(1).map_or("", String::as_str);
    let first: u64 = arguments.get(2).map_or(0, |text| text.parse().unwrap());
    let seeds = first..first + times;
    if only == "stalls" {
        println!("{times} repetitions a server");
        println!();
        stalls::print(&seeds);
        return ExitCode::SUCCESS;
    }
    if only == "truth" {
        odd::print_truths(times);
        return ExitCode::SUCCESS;
    }
    if only == "list" {
        cases::all().iter().for_each(|case| println!("{}", case.name));
        odd::cases().iter().for_each(|case| println!("{}", case.name));
        return ExitCode::SUCCESS;
    }
    println!("{times} repetitions a case; bold: beyond its bound");
    println!();
    println!(
        "| case | capacity | method | found | bias | rmse | covered | load | most | hold | above \
         | most |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    let (mut misses, mut far, mut long, mut open) = (vec![], vec![], vec![], vec![]);
    for case in cases::all().iter().filter(|case| is_asked(case.name, only)) {
        let published = repeat(case, &seeds, &ladder);
        let ours = repeat(case, &seeds, &adaptive);
        let until_s = ours.load_s;
        let bisecting = repeat(case, &seeds, &|case| {
            Box::new(Bisection::new((SLO_QUANTILE, case.bound_ns), START_PER_S, until_s))
        });
        far.extend(ours.far.iter().map(|&(seed, off)| (case.name, seed, off)));
        long.extend(ours.long.iter().map(|&(seed, seconds)| (case.name, seed, seconds)));
        open.extend(ours.open.iter().map(|(seed, why)| (case.name, *seed, why.clone())));
        row(case, &published, "ladder");
        mark(case, &ours, &published, &bisecting, &mut misses);
        row(case, &bisecting, "bisection");
    }
    println!();
    odd::print(only, &(first..first + times.div_ceil(2)), &mut misses);
    println!();
    for (name, seed, off) in far {
        println!("far off: {name}, seed {seed}: {:+.1}%", off * 100.0);
    }
    for (name, seed, seconds) in long {
        println!("very long: {name}, seed {seed}: {seconds:.0} s");
    }
    for (name, seed, why) in open {
        println!("not found: {name}, seed {seed}: {why}");
    }
    println!(
        "beyond their bounds: {}",
        if misses.is_empty() { "none".into() } else { misses.join(", ") }
    );
    ExitCode::from(u8::from(!misses.is_empty()))
}

fn row(case: &Case, one: &Summary, method: &str) {
    println!(
        "| {} | {:.1}/s | {method} | – | {:+.2}% | {:.2}% | – | {:.1} s | – | – | {:.1} s | – |",
        case.name,
        case.capacity_per_s,
        one.bias * 100.0,
        one.rmse * 100.0,
        one.load_s,
        one.above_s,
    );
}

/// The adaptive method's row, with its bounds.
fn mark(
    case: &Case,
    ours: &Summary,
    published: &Summary,
    bisecting: &Summary,
    misses: &mut Vec<String>,
) {
    let most_load = (0.5 * published.load_s).max(3.0 * case.ideal_s);
    let most_above = 0.3 * published.above_s;
    let name = case.name;
    let mut cell = |text: String, within: bool, what: &str| {
        judged(text, within, misses, &format!("{name} {what}"))
    };
    let found = cell(per_cent(ours.found), ours.found >= LEAST_FOUND, "found");
    let found = match ours.broken {
        0 => found,
        broken => cell(format!("{found}, {broken} broken"), false, "broken holds"),
    };
    let bias =
        cell(format!("{:+.2}%", ours.bias * 100.0), ours.bias.abs() <= case.most_bias, "bias");
    let better = ours.rmse <= case.most_rmse && ours.rmse <= bisecting.rmse;
    let rmse = cell(format!("{:.2}%", ours.rmse * 100.0), better, "rmse");
    let in_band = (0.92..=0.98).contains(&ours.covered);
    let covered = cell(format!("{:.1}%", ours.covered * 100.0), in_band, "coverage");
    let load = cell(format!("{:.1} s", ours.load_s), ours.load_s <= most_load, "load time");
    let above = cell(format!("{:.1} s", ours.above_s), ours.above_s <= most_above, "time above");
    let most_load =
        if most_load.is_finite() { format!("{most_load:.0} s") } else { "–".to_owned() };
    println!(
        "| {name} | {:.1}/s | adaptive | {found} | {bias} | {rmse} | {covered} | {load} \
         | {most_load} | {:.1} s | {above} | {most_above:.1} s |",
        case.capacity_per_s, ours.hold_s,
    );
}
