//! Servers that are no queue of endless room: some refuse at once, some pause every so often, some
//! have requests of two kinds; and a start that is ten times too high.
//!
//! Of these a search need not always find the capacity: what is counted is how often it does, how
//! well that is then, and whether the truth lies in the bracket where it does not.

use crate::{Searched, many, per_cent, searched};
use plimsoll_capacity::adaptive::{self, Adaptive};
use plimsoll_capacity::conduct::{Ended, Limits, Site};
use plimsoll_capacity::simulated::Simulated;
use plimsoll_capacity::simulated::admission::Admission;
use plimsoll_capacity::window::{Offer, Phase};
use plimsoll_workload::distribution::Distribution;
use plimsoll_workload::random::Stream;
use plimsoll_workload::service_model::{Quantiles, ServiceModel, ServiceTime};
use std::num::NonZeroU32;
use std::ops::Range;

const SLO_QUANTILE: f64 = 0.9;
/// Bounds of all rows: the mean error and the coverage of what was found, the share of brackets
/// that hold the truth, and how wide these are.
const MOST_ERROR: f64 = 0.05;
const LEAST_COVERED: f64 = 0.9;
const LEAST_INSIDE: f64 = 0.9;
const MOST_WIDE: f64 = 1.3;

/// What a request costs.
#[derive(Clone, Copy)]
enum Service {
    Law(&'static str),
    /// Two constants, nanoseconds, and the share of the second.
    Two(u64, u64, f64),
}

/// A server, an SLO, and how often it is to be found.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    service: Service,
    workers: u32,
    admission: Admission,
    /// How often it pauses, and for how long, seconds.
    pauses_s: Option<(f64, f64)>,
    bound_ns: u64,
    start_per_s: f64,
    /// The true capacity: of M/M/1 and M/M/c/K exact, of the others simulated (`truth`).
    capacity_per_s: f64,
    least_found: f64,
}

const USUAL: Case = Case {
    name: "",
    service: Service::Law("exp:4ms"),
    workers: 1,
    admission: Admission::All,
    pauses_s: None,
    bound_ns: 150_000_000,
    start_per_s: 1.0,
    capacity_per_s: 0.0,
    least_found: 0.9,
};

/// All of them.
pub(crate) fn cases() -> Vec<Case> {
    let mut cases = refusing();
    cases.extend(uneven());
    cases
}

/// Servers that refuse what they have no room for.
fn refusing() -> Vec<Case> {
    let tokens = Admission::Tokens { per_s: 100.0, burst: 10.0 };
    vec![
        Case {
            name: "odd: M/M/1/6",
            service: Service::Law("exp:10ms"),
            admission: Admission::UpTo { most: 6 },
            bound_ns: 200_000_000,
            capacity_per_s: full(1, 6, 100.0),
            ..USUAL
        },
        Case {
            name: "odd: M/M/4/12",
            workers: 4,
            admission: Admission::UpTo { most: 12 },
            capacity_per_s: full(4, 12, 250.0),
            ..USUAL
        },
        Case {
            name: "odd: token bucket",
            service: Service::Law("const:2ms"),
            workers: 64,
            admission: tokens,
            bound_ns: 50_000_000,
            capacity_per_s: 108.87,
            least_found: 0.5,
            ..USUAL
        },
        Case {
            name: "odd: window limiter",
            service: Service::Law("const:2ms"),
            workers: 64,
            admission: Admission::EachSecond { most: 100 },
            bound_ns: 50_000_000,
            capacity_per_s: 110.13,
            least_found: 0.5,
            ..USUAL
        },
    ]
}

/// Servers that pause, or whose requests are of two kinds; and a start that is far too high.
fn uneven() -> Vec<Case> {
    vec![
        Case {
            name: "odd: pauses, 300 ms every 5 s",
            service: Service::Law("exp:2ms"),
            pauses_s: Some((5.0, 0.3)),
            bound_ns: 50_000_000,
            capacity_per_s: 239.7,
            least_found: 0.5,
            ..USUAL
        },
        Case {
            name: "odd: pauses, 60 ms every 1 s",
            service: Service::Law("exp:2ms"),
            pauses_s: Some((1.0, 0.06)),
            bound_ns: 20_000_000,
            capacity_per_s: 247.3,
            least_found: 0.5,
            ..USUAL
        },
        Case {
            name: "odd: mixture, 95% of 1 ms and 5% of 20 ms",
            service: Service::Two(1_000_000, 20_000_000, 0.05),
            workers: 4,
            bound_ns: 10_000_000,
            capacity_per_s: 1408.3,
            ..USUAL
        },
        Case {
            name: "odd: bimodal, 2 ms and 10 ms",
            service: Service::Two(2_000_000, 10_000_000, 0.5),
            workers: 2,
            bound_ns: 40_000_000,
            capacity_per_s: 289.0,
            ..USUAL
        },
        Case {
            name: "odd: start ten times too high",
            bound_ns: 30_000_000,
            start_per_s: 1732.0,
            capacity_per_s: crate::cases::capacity(1, 0.03),
            ..USUAL
        },
    ]
}

/// The rate at which a tenth is refused by M/M/c/K whose workers serve `speed` a second each
/// (L. Kleinrock, *Queueing Systems* 1, 1975, 3.6).
fn full(workers: u32, most: u32, speed: f64) -> f64 {
    let refused = |rate: f64| {
        let (mut weight, mut sum) = (1.0, 1.0);
        for n in 1..=most {
            weight *= rate / (speed * f64::from(n.min(workers)));
            sum += weight;
        }
        weight / sum
    };
    let (mut low, mut high) = (0.0, 2.0 * f64::from(workers) * speed);
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if refused(middle) > 1.0 - SLO_QUANTILE { high = middle } else { low = middle }
    }
    low
}

impl Case {
    /// Its world; pauses begin somewhere by the seed.
    fn world(&self, seed: u64) -> Simulated {
        let service = match self.service {
            Service::Law(law) => ServiceTime::Law(Distribution::parse(law).unwrap()),
            Service::Two(one, other, share) => {
                let at = 1.0 - share;
                let points = vec![(0.0, one), (at, one), (at + 1e-9, other), (1.0, other)];
                ServiceTime::Table(Quantiles::new(points).unwrap())
            }
        };
        let mut model = ServiceModel::new(service);
        model.cores = NonZeroU32::new(self.workers).unwrap();
        let world = Simulated::new(model, self.bound_ns, seed).with_admission(self.admission);
        let Some((every_s, length_s)) = self.pauses_s else { return world };
        let first_s = every_s * Stream::named(seed, "bench/pauses").uniform();
        world.with_pauses(first_s, every_s, length_s)
    }

    fn adaptive(&self) -> Adaptive {
        let settings = adaptive::Settings {
            slo: (SLO_QUANTILE, self.bound_ns),
            start_per_s: self.start_per_s,
            precision: 0.05,
            most_errors: None,
            max_rate_per_s: None,
        };
        Adaptive::new(settings)
    }

    fn search(&self, seed: u64) -> Searched {
        let mut search = self.adaptive();
        searched(seed, &mut search, &mut self.world(seed), Limits::default(), self.capacity_per_s)
    }

    /// The capacity, simulated for so many seconds at each rate.
    fn truth(&self, seconds: u64) -> f64 {
        let share = |rate_per_s: f64| {
            let mut world = self.world(1);
            let (mut n, mut beyond) = (0, 0);
            for _ in 0..seconds.div_ceil(100) {
                let offer = Offer {
                    rate_per_s,
                    seconds: 100.0,
                    settle_s: 1.0,
                    phase: Phase::Search,
                    may_cut: false,
                    fresh: false,
                };
                let Ok(window) = world.window(&offer);
                (n, beyond) = (n + window.counted(), beyond + window.beyond);
            }
            beyond as f64 / n as f64
        };
        let (mut low, mut high) = (0.5 * self.capacity_per_s, 1.5 * self.capacity_per_s);
        for _ in 0..16 {
            let middle = f64::midpoint(low, high);
            if share(middle) > 1.0 - SLO_QUANTILE { high = middle } else { low = middle }
        }
        f64::midpoint(low, high)
    }
}

/// Prints the capacities, as simulated and as the table has them.
pub(crate) fn print_truths(seconds: u64) {
    for case in cases() {
        println!("{}: {:.2}/s, {:.2}/s", case.name, case.truth(seconds), case.capacity_per_s);
    }
}

/// Prints the table.
pub(crate) fn print(only: &str, seeds: &Range<u64>, misses: &mut Vec<String>) {
    println!(
        "| odd server, {} seeds | capacity | found | least | mean error | bias | covered \
         | bracketed | inside | broken / held | load | hold |",
        seeds.end - seeds.start
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for case in cases().iter().filter(|case| crate::is_asked(case.name, only)) {
        let all = many(seeds, &|seed| case.search(seed));
        row(case, &all, misses);
        for one in all.iter().filter(|one| one.ended != Ended::Found) {
            let (held, broken) = one.bracket;
            let kind = if case.holds(one) { "not found" } else { "bracket aside" };
            let (name, seed, ended, why) = (case.name, one.seed, one.ended.name(), &one.note);
            println!("{kind}: {name}, seed {seed}: {ended}, {held:?} to {broken:?}; {why}");
        }
    }
}

impl Case {
    /// Whether the bracket of a search holds the truth.
    fn holds(&self, one: &Searched) -> bool {
        let (held, broken) = one.bracket;
        held.is_some_and(|held| held <= self.capacity_per_s)
            && broken.is_some_and(|broken| self.capacity_per_s <= broken)
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn row(case: &Case, all: &[Searched], misses: &mut Vec<String>) {
    let (name, truth) = (case.name, case.capacity_per_s);
    let mut cell = |text: String, within: bool, what: &str| {
        crate::judged(text, within, misses, &format!("{name} {what}"))
    };
    let found: Vec<&Searched> = all.iter().filter(|one| one.ended == Ended::Found).collect();
    let others: Vec<&Searched> = all.iter().filter(|one| one.ended != Ended::Found).collect();
    let share = found.len() as f64 / all.len() as f64;
    let offs: Vec<f64> =
        found.iter().filter_map(|one| Some(one.estimate_per_s? / truth - 1.0)).collect();
    let error = mean(&offs.iter().map(|off| off.abs()).collect::<Vec<_>>());
    let covers = |one: &&&Searched| one.ci95.is_some_and(|(l, h)| l <= truth && truth <= h);
    let covered = found.iter().filter(covers).count() as f64 / found.len().max(1) as f64;
    let broken = found.iter().filter(|one| one.is_broken).count();
    let inside = others.iter().filter(|one| case.holds(one)).count() as f64;
    let inside = inside / others.len().max(1) as f64;
    let wide = |one: &&Searched| Some(one.bracket.1? / one.bracket.0?);
    let widths: Vec<f64> = others.iter().filter_map(wide).collect();
    let mut text = cell(per_cent(share), share >= case.least_found, "found");
    if broken > 0 {
        text = cell(format!("{text}, {broken} broken"), false, "broken holds");
    }
    let error = cell(per_cent(error), error <= MOST_ERROR, "mean error");
    let covered = cell(per_cent(covered), covered >= LEAST_COVERED, "coverage");
    let (inside, width) = if others.is_empty() {
        ("–".to_owned(), "–".to_owned())
    } else {
        let width = mean(&widths);
        (
            cell(per_cent(inside), inside >= LEAST_INSIDE, "inside"),
            match widths.is_empty() {
                true => cell("–".to_owned(), false, "bracket"),
                false => cell(format!("{width:.2}"), width <= MOST_WIDE, "bracket"),
            },
        )
    };
    let times = |of: fn(&Searched) -> f64| mean(&all.iter().map(of).collect::<Vec<_>>());
    println!(
        "| {name} | {truth:.1}/s | {text} | {} | {error} | {:+.1}% | {covered} | {} | {inside} \
         | {width} | {:.1} s | {:.1} s |",
        per_cent(case.least_found),
        100.0 * mean(&offs),
        others.len(),
        times(|one| one.seconds),
        times(|one| one.hold_s),
    );
}
