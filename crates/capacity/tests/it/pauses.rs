//! A server that stands still every so often: what is said of it agrees with what it does, or
//! nothing is said.

use plimsoll_capacity::adaptive::{Adaptive, Settings};
use plimsoll_capacity::conduct::{Limits, Outcome, conduct};
use plimsoll_capacity::simulated::Simulated;
use plimsoll_workload::distribution::Distribution;
use plimsoll_workload::service_model::{ServiceModel, ServiceTime};
use std::num::NonZeroU32;

/// Searches for p95 < 200 ms of four workers of 20 ms that stand still for 400 ms every 7 s, from
/// 10/s on, each from another moment between two pauses.
fn searched(seed: u64, seconds: f64) -> Outcome {
    let law = ServiceTime::Law(Distribution::parse("exp:20ms").unwrap());
    let mut model = ServiceModel::new(law);
    model.cores = NonZeroU32::new(4).unwrap();
    let slo = (0.95, 200_000_000);
    let first_s = 7.0 * ((seed % 16) as f64 + 0.5) / 16.0;
    let mut world = Simulated::new(model, slo.1, seed).with_pauses(first_s, 7.0, 0.4);
    let settings = Settings {
        slo,
        start_per_s: 10.0,
        precision: 0.05,
        most_errors: None,
        max_rate_per_s: None,
    };
    let limits = Limits { seconds, ..Limits::default() };
    let Ok(outcome) = conduct(&mut Adaptive::new(settings), &mut world, limits, &mut |_| {});
    outcome
}

/// By a simulation of 4,200 s it keeps the SLO up to 70/s.
#[test]
fn estimates_have_what_it_can_do_in_their_intervals() {
    for (seconds, most_wrong) in [(90.0, 2), (300.0, 1)] {
        let (mut wrong, mut above) = (0, 0);
        for seed in 0..16 {
            let found = searched(seed, seconds).found;
            let is_off = |(low, high): (f64, f64)| low > 72.0 || high < 66.0;
            wrong += u32::from(found.ci95.is_some_and(is_off));
            above += u32::from(found.held_per_s.is_some_and(|held| held > 80.0));
        }
        assert!(wrong <= most_wrong, "{wrong} of 16 searches of {seconds} s");
        assert_eq!(above, 0, "of 16 searches of {seconds} s");
    }
}

#[test]
fn pauses_are_told() {
    let is_told = |seed: &u64| {
        let notes = searched(*seed, 300.0).found.notes.join("\n");
        notes.contains("the server stands still about every")
    };
    let told = (0..8).filter(is_told).count();
    assert!(told >= 5, "{told} of 8");
}
