//! The load inferred from probes, on queues whose load is known: the table of
//! `benches/infer/RESULTS.md`.
//!
//! `bench_infer [REPETITIONS [CASE [with|without]]]`, or `make bench-infer`; with `--calibrate`,
//! without, or both. Each repetition searches for the capacity anew, in simulation, and infers each
//! load from that search. Seeds are fixed: the same program prints the same table.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a tool that cannot go on stops")]

#[path = "../bench_capacity/cases.rs"]
#[expect(dead_code, reason = "bounds of the search, which the other bench judges")]
mod cases;

use cases::{Case, SLO_QUANTILE};
use plimsoll_capacity::adaptive::{self, Adaptive};
use plimsoll_capacity::calibrate::Calibrating;
use plimsoll_capacity::conduct::{Limits, Outcome, conduct};
use plimsoll_capacity::infer::estimate::{Estimate, Probe};
use plimsoll_capacity::infer::probing::{USUAL_SHARE, Why};
use plimsoll_capacity::infer::{Calibration, Probing, Settings, Step};
use plimsoll_capacity::result::CapacityResult;
use plimsoll_capacity::search::Search;
use plimsoll_capacity::simulated::Simulated;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};

/// The cases of the search's bench that are looked at.
const CASES: [&str; 6] = [
    "M/M/1, 30 ms",
    "M/M/1, 150 ms",
    "M/M/4, 30 ms",
    "M/M/8, 30 ms",
    "M/LN(0.8)/16, 25 ms",
    "M/LN(1.5)/2, 30 ms",
];
/// The loads, as shares of the true capacity.
const LOADS: [f64; 5] = [0.2, 0.4, 0.6, 0.8, 0.95];
/// At least so many of the answers cover.
const LEAST_COVERED: f64 = 0.9;
/// The load was there for so long before the first probe, seconds.
const BEFORE_S: f64 = 60.0;

/// What became of one question.
struct Answer {
    known: Option<Estimate>,
    probes: u64,
    declined: Option<Why>,
    capacity: f64,
}

fn search(case: &Case, seed: u64, calibrate: bool) -> (Outcome, CapacityResult) {
    let slo = (SLO_QUANTILE, case.bound_ns);
    let settings = adaptive::Settings {
        slo,
        start_per_s: 1.0,
        precision: 0.05,
        most_errors: None,
        max_rate_per_s: None,
    };
    let mut search: Box<dyn Search> = Box::new(Adaptive::new(settings));
    if calibrate {
        search = Box::new(Calibrating::after(search, slo));
    }
    let mut world = Simulated::new(case.model(), case.bound_ns, seed);
    let Ok(outcome) = conduct(search.as_mut(), &mut world, Limits::default(), &mut |_| {});
    let slo = format!("p90<{}ms", case.bound_ns / 1_000_000);
    let result = CapacityResult::of(&outcome, "adaptive", &slo);
    (outcome, result)
}

fn infer(case: &Case, calibration: &Calibration, load: f64, seed: u64) -> Answer {
    let mut world = Simulated::new(case.model(), case.bound_ns, seed);
    world.load(load, BEFORE_S);
    let rate_per_s = USUAL_SHARE * calibration.capacity_per_s;
    let settings = Settings { probes: 2000, rate_per_s, within: 0.1 };
    let mut probing = Probing::new(calibration, settings).unwrap();
    let mut step = probing.next(None);
    while let Step::Probe(n) = step {
        let responses = world.probe(load, rate_per_s, usize::try_from(n).unwrap());
        let probe = |&(due_s, s): &(f64, f64)| Probe { due_s, response_s: Some(s) };
        let responses: Vec<Probe> = responses.iter().map(probe).collect();
        step = probing.next(Some(&responses));
    }
    let (known, declined) = match step {
        Step::Done(estimate) => (Some(estimate), None),
        Step::Declined(declined) => (declined.known, Some(declined.why)),
        Step::Probe(_) => unreachable!("the loop ends otherwise"),
    };
    Answer { known, probes: probing.probes(), declined, capacity: calibration.capacity_per_s }
}

/// All loads of one repetition, and the search's load time.
fn repetition(case: &Case, seed: u64, calibrate: bool) -> (Vec<Option<Answer>>, f64) {
    let (outcome, result) = search(case, seed, calibrate);
    let calibration = Calibration::of(&result);
    let one = |(number, share): (usize, &f64)| {
        let load = share * case.capacity_per_s;
        let seed = 1_000_000 + 10 * seed + number as u64;
        calibration.as_ref().ok().map(|calibration| infer(case, calibration, load, seed))
    };
    (LOADS.iter().enumerate().map(one).collect(), outcome.seconds())
}

fn repeat(case: &Case, times: u64, calibrate: bool) -> Vec<(Vec<Option<Answer>>, f64)> {
    let next = AtomicU64::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let one = || {
        let mut all = Vec::new();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= times {
                return all;
            }
            all.push((seed, repetition(case, seed, calibrate)));
        }
    };
    let mut all: Vec<_> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(one)).collect();
        running.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    all.sort_by_key(|(seed, _)| *seed);
    all.into_iter().map(|(_, answers)| answers).collect()
}

/// One line of the table; whether its answers cover.
fn row(name: &str, share: f64, truth: f64, answers: &[Option<Answer>]) -> bool {
    let all: Vec<&Answer> = answers.iter().flatten().collect();
    let answered: Vec<&&Answer> = all.iter().filter(|one| one.declined.is_none()).collect();
    let covers = |one: &Answer| {
        one.known.is_some_and(|known| known.ci95.0 <= truth && truth <= known.ci95.1)
    };
    let n = answered.len() as f64;
    let mean = |of: &dyn Fn(&Answer, &Estimate) -> f64| {
        answered.iter().filter_map(|one| Some(of(one, one.known.as_ref()?))).sum::<f64>() / n
    };
    let half = mean(&|one, known| 50.0 * (known.ci95.1 - known.ci95.0) / one.capacity);
    let bias = mean(&|one, known| 100.0 * (known.load_per_s - truth) / one.capacity);
    let covered = answered.iter().filter(|one| covers(one)).count() as f64;
    let known: Vec<&&Answer> = all.iter().filter(|one| one.known.is_some()).collect();
    let any = known.iter().filter(|one| covers(one)).count() as f64 / known.len().max(1) as f64;
    let probes = all.iter().map(|one| one.probes as f64).sum::<f64>() / all.len().max(1) as f64;
    let why = |why: Why| all.iter().filter(|one| one.declined == Some(why)).count();
    let other =
        answers.len() - answered.len() - [Why::Flat, Why::Coarse].map(why).iter().sum::<usize>();
    let holds = n < 1.0 || covered / n >= LEAST_COVERED;
    let of_answered = |text: String| if n > 0.0 { text } else { "–".to_owned() };
    let mark = if holds { "" } else { "**" };
    println!(
        "| {name} | {:.0}% | {:.1}% | {mark}{}{mark} | {} | {} | {probes:.0} | {} | {} | {other} \
         | {:.1}% |",
        100.0 * share,
        100.0 * n / answers.len() as f64,
        of_answered(format!("{:.1}%", 100.0 * covered / n)),
        of_answered(format!("{half:.1}")),
        of_answered(format!("{bias:+.1}")),
        why(Why::Flat),
        why(Why::Coarse),
        100.0 * any,
    );
    holds
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let times: u64 = arguments.first().map_or(200, |text| text.parse().unwrap());
    let (only, modes) = (arguments.get(1), arguments.get(2));
    let chosen = |case: &&Case| only.map_or(CASES.contains(&case.name), |only| only == case.name);
    let mut holds = true;
    for calibrate in [false, true] {
        let how = if calibrate { "with" } else { "without" };
        if modes.is_some_and(|mode| mode != how) {
            continue;
        }
        println!("\n{times} repetitions, {how} --calibrate\n");
        println!(
            "| case | load | answered | covered | half | bias | probes | flat | coarse | other | \
             all cover |"
        );
        println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
        let mut costs = Vec::new();
        for case in cases::all().iter().filter(chosen) {
            let mut all = repeat(case, times, calibrate);
            let cost = all.iter().map(|(_, seconds)| seconds).sum::<f64>() / times as f64;
            costs.push(format!("{} {cost:.0} s", case.name));
            for (number, share) in LOADS.iter().enumerate() {
                let answers: Vec<Option<Answer>> =
                    all.iter_mut().map(|(answers, _)| answers[number].take()).collect();
                holds &= row(case.name, *share, share * case.capacity_per_s, &answers);
            }
        }
        println!("\nload time of a search, mean: {}", costs.join("; "));
    }
    ExitCode::from(u8::from(!holds))
}
