//! A server that stands still once while the ramp goes on: what a search makes of the window that
//! this cuts. The table "A stall in the ramp" of `benches/capacity/RESULTS.md`.
//!
//! Rates double in windows of a second, as the bounds of these cases are short. A stall of 0.3 to
//! 1 s begins in one of the last three windows below the capacity, both uniform by the seed: what
//! is due while it lasts exceeds the bound, and at these rates the backlog is clearly too much.

use crate::cases::capacity;
use crate::{Searched, many, searched};
use plimsoll_capacity::adaptive::{self, Adaptive};
use plimsoll_capacity::conduct::{Ended, Limits};
use plimsoll_capacity::simulated::{Credits, Simulated};
use plimsoll_workload::distribution::Distribution;
use plimsoll_workload::random::Stream;
use plimsoll_workload::service_model::{ServiceModel, ServiceTime};
use std::num::NonZeroU32;
use std::ops::Range;

/// An estimate is far off from so much on.
const FAR: f64 = 0.1;

/// A server, an SLO, and the first rate of a search.
struct Case {
    name: &'static str,
    service: &'static str,
    workers: u32,
    credits: Option<Credits>,
    slo: (f64, u64),
    start_per_s: f64,
    /// A search ends after so many seconds of load with what it knows.
    most_s: f64,
    capacity_per_s: f64,
}

/// The servers. Lines at a 99th percentile below 20 ms are steep: a few per cent below the
/// saturation, responses take a fraction of the bound. Capacities of M/M/c are exact, those of the
/// others come from simulations of 1,600 s.
fn cases() -> Vec<Case> {
    // What a control group's quota does: 30% of a core, of which 3 ms may be used at once.
    let quota = Credits { core_s: 0.003, baseline: 0.3 };
    let steep = |name, service, capacity_per_s| Case {
        name,
        service,
        workers: 1,
        credits: None,
        slo: (0.99, 20_000_000),
        start_per_s: 100.0,
        most_s: 60.0,
        capacity_per_s,
    };
    let mild = |name, workers, bound_ms: u32| Case {
        name,
        service: "exp:4ms",
        workers,
        credits: None,
        slo: (0.9, u64::from(bound_ms) * 1_000_000),
        start_per_s: 1.0,
        most_s: 180.0,
        capacity_per_s: capacity(workers, f64::from(bound_ms) / 1e3),
    };
    vec![
        steep("M/D/1, 250 µs", "const:250us", 3884.0),
        steep("M/LN(0.5)/1, 250 µs", "lognormal:250us,0.5", 3845.0),
        steep("M/LN(0.5)/1, 50 µs", "lognormal:50us,0.5", 19_860.0),
        Case {
            credits: Some(quota),
            ..steep("M/LN(0.5)/1, 75 µs, a quota of 30%", "lognormal:75us,0.5", 3893.0)
        },
        mild("M/M/8, 4 ms", 8, 20),
        mild("M/M/2, 4 ms", 2, 30),
    ]
}

impl Case {
    fn world(&self, seed: u64) -> Simulated {
        let law = ServiceTime::Law(Distribution::parse(self.service).unwrap());
        let mut model = ServiceModel::new(law);
        model.cores = NonZeroU32::new(self.workers).unwrap();
        let world = Simulated::new(model, self.slo.1, seed);
        match self.credits {
            Some(credits) => world.with_credits(credits),
            None => world,
        }
    }

    /// When the server stands still: in the last three windows of the ramp that it could serve.
    fn stall_s(&self, seed: u64) -> Range<f64> {
        let mut stream = Stream::named(seed, "bench/stall");
        let (mut end_s, mut rate) = (0.0, self.start_per_s);
        while rate < self.capacity_per_s {
            // As `Adaptive` has it: two requests at least, and four seconds at most.
            end_s += (2.0 / rate).clamp(1.0, 4.0);
            rate *= 2.0;
        }
        let from_s = end_s - 3.0 + 3.0 * stream.uniform();
        from_s..from_s + 0.3 + 0.7 * stream.uniform()
    }

    fn search(&self, seed: u64, stalls: bool) -> Searched {
        let mut world = self.world(seed);
        if stalls {
            world = world.with_stall(self.stall_s(seed));
        }
        let settings = adaptive::Settings {
            slo: self.slo,
            start_per_s: self.start_per_s,
            precision: 0.05,
            most_errors: None,
            max_rate_per_s: None,
        };
        let limits = Limits { seconds: self.most_s, ..Limits::default() };
        searched(seed, &mut Adaptive::new(settings), &mut world, limits, self.capacity_per_s)
    }
}

/// Prints the table.
pub(crate) fn print(seeds: &Range<u64>) {
    println!(
        "| server | SLO | capacity | at most | stall | far below | far off | ended | rmse \
         | covered | load | above |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for case in cases() {
        for stalls in [false, true] {
            let all = many(seeds, &|seed| case.search(seed, stalls));
            row(&case, stalls, &all);
        }
    }
}

fn row(case: &Case, stalls: bool, all: &[Searched]) {
    let truth = case.capacity_per_s;
    let n = all.len() as f64;
    let share = |is: &dyn Fn(&Searched) -> bool| {
        let count = all.iter().filter(|one| is(one)).count();
        format!("{:.1}%", 100.0 * count as f64 / n)
    };
    let off = |one: &Searched| one.estimate_per_s.unwrap_or(0.0) / truth - 1.0;
    let squares: f64 = all.iter().map(|one| off(one).powi(2)).sum();
    let mut seconds: Vec<f64> = all.iter().map(|one| one.seconds).collect();
    seconds.sort_by(f64::total_cmp);
    let above: f64 = all.iter().map(|one| one.seconds_above).sum();
    println!(
        "| {} | p{:.0} < {} ms | {truth:.0}/s | {:.0} s | {} | {} | {} | {} | {:.1}% | {} \
         | {:.1} s | {:.1} s |",
        case.name,
        100.0 * case.slo.0,
        case.slo.1 / 1_000_000,
        case.most_s,
        if stalls { "yes" } else { "no" },
        share(&|one| off(one) < -FAR),
        share(&|one| off(one).abs() > FAR),
        share(&|one| one.ended == Ended::Found),
        100.0 * (squares / n).sqrt(),
        share(&|one| one.ci95.is_some_and(|(low, high)| low <= truth && truth <= high)),
        seconds[seconds.len() / 2],
        above / n,
    );
}
