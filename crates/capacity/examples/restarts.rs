//! How often a series of searches says that the server differs from restart to restart: where it
//! does not (the level of the test, which is to be 5%), and where it does by so much.
//!
//! `restarts [SERIES [SEARCHES [WORKERS]]]`, WORKERS of one case. Seeds are fixed: the same program
//! prints the same table, which `docs/capacity-series.md` tells of.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a tool that cannot go on stops")]

use plimsoll_capacity::adaptive::{Adaptive, Settings};
use plimsoll_capacity::conduct::{Limits, conduct};
use plimsoll_capacity::restarts::Restarts;
use plimsoll_capacity::series::SeriesRun;
use plimsoll_capacity::simulated::Simulated;
use plimsoll_workload::distribution::Distribution;
use plimsoll_workload::random::Stream;
use plimsoll_workload::service_model::{ServiceModel, ServiceTime};
use std::num::NonZeroU32;

/// Workers, and the SLO's bound.
const CASES: [(u32, u64); 4] = [(1, 30), (2, 20), (4, 30), (8, 150)];
/// The CV of the server's speed from restart to restart.
const SPREADS: [f64; 4] = [0.0, 0.02, 0.05, 0.1];

/// One search of a server of some speed.
fn search((workers, bound_ms): (u32, u64), speed: f64, seed: u64) -> SeriesRun {
    let law = Distribution::parse("exp:4ms").unwrap();
    let mut model = ServiceModel::new(ServiceTime::Law(law));
    model.cores = NonZeroU32::new(workers).unwrap();
    model.speed = speed;
    let slo = (0.9, bound_ms * 1_000_000);
    let settings = Settings {
        slo,
        start_per_s: 1.0,
        precision: 0.05,
        most_errors: None,
        max_rate_per_s: None,
    };
    let mut world = Simulated::new(model, slo.1, seed);
    let outcome =
        conduct(&mut Adaptive::new(settings), &mut world, Limits::default(), &mut |_| {}).unwrap();
    SeriesRun {
        number: 1,
        run: None,
        started: String::new(),
        started_unix_us: 0,
        late_s: 0.0,
        ended: outcome.ended.name().to_owned(),
        estimate_per_s: outcome.found.estimate_per_s,
        bound: outcome.found.bound(),
        ci95: outcome.found.ci95,
        why: None,
        restarted: true,
    }
}

fn main() {
    let mut numbers = std::env::args().skip(1).map(|text| text.parse::<u64>().unwrap());
    let series = numbers.next().unwrap_or(200);
    let searches = numbers.next().unwrap_or(6);
    let only = numbers.next();
    println!("{series} series of {searches} searches, precision 5%");
    println!("{:<16}{:>8}{:>16}{:>12}{:>12}", "case", "CV", "more, of 100", "CV found", "within");
    let wanted = |case: &(u32, u64)| only.is_none_or(|only| u64::from(case.0) == only);
    for (workers, bound_ms) in CASES.into_iter().filter(wanted) {
        for spread in SPREADS {
            let (mut more, mut squares, mut within) = (0.0, 0.0, 0.0);
            for number in 0..series {
                let mut speeds = Stream::named(number, "restarts/speed");
                let runs: Vec<SeriesRun> = (0..searches)
                    .map(|at| {
                        let speed = (1.0 + spread * speeds.normal()).max(0.1);
                        search((workers, bound_ms), speed, number * 1000 + at)
                    })
                    .collect();
                let of = Restarts::between(&runs).unwrap();
                more += f64::from(u8::from(of.is_more_than_chance == Some(true)));
                squares += of.restart_cv.unwrap_or(0.0).powi(2);
                within += of.within_sd_per_s.unwrap_or(0.0) / of.mean_per_s;
            }
            let n = series as f64;
            println!(
                "{:<16}{:>7.0}%{:>16.1}{:>11.1}%{:>11.1}%",
                format!("M/M/{workers}, {bound_ms} ms"),
                100.0 * spread,
                100.0 * more / n,
                100.0 * (squares / n).sqrt(),
                100.0 * within / n,
            );
        }
    }
}
