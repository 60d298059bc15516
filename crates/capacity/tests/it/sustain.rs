//! Holding an estimate: on servers with processor credits, and on steady ones.

use plimsoll_capacity::adaptive::Settings;
use plimsoll_capacity::conduct::{Ended, Limits, Outcome, conduct};
use plimsoll_capacity::simulated::{Credits, Simulated};
use plimsoll_capacity::sustain::Sustain;
use plimsoll_capacity::window::{Phase, Window};
use plimsoll_workload::distribution::Distribution;
use plimsoll_workload::service_model::{ServiceModel, ServiceTime};
use std::num::NonZeroU32;

const BOUND_NS: u64 = 150_000_000;

fn four_workers(seed: u64) -> Simulated {
    let law = Distribution::parse("exp:4ms").unwrap();
    let mut model = ServiceModel::new(ServiceTime::Law(law));
    model.cores = NonZeroU32::new(4).unwrap();
    Simulated::new(model, BOUND_NS, seed)
}

fn hold(mut world: Simulated, hold_s: f64) -> Outcome {
    let slo = (0.9, BOUND_NS);
    let settings = Settings {
        slo,
        start_per_s: 1.0,
        precision: 0.05,
        most_errors: None,
        max_rate_per_s: None,
    };
    let mut search = Sustain::new(settings, hold_s);
    let Ok(outcome) = conduct(&mut search, &mut world, Limits::default(), &mut |_| {});
    outcome
}

/// Four cores of which two are earned, and savings of 200 core seconds: at 3.8 cores' load they
/// last about 110 s. Afterwards it is M/M/4 of 8 ms, which sustains 484/s under 150 ms.
#[test]
fn credits_that_run_out_are_found_out() {
    for seed in 0..5 {
        let credits = Credits { core_s: 200.0, baseline: 2.0 };
        let outcome = hold(four_workers(seed).with_credits(credits), 600.0);
        let notes = (&outcome.found.notes, &outcome.found.holds);
        assert_eq!(outcome.ended, Ended::Found, "seed {seed}: {notes:?}");
        let held = outcome.found.sustained.unwrap();
        let burst = held.burst_per_s.unwrap();
        assert!((burst / 984.5 - 1.0).abs() < 0.08, "seed {seed}: burst {burst}");
        let sustained = held.sustained_per_s.unwrap();
        assert!((sustained / 484.0 - 1.0).abs() < 0.08, "seed {seed}: sustained {sustained}");
        assert_eq!(outcome.found.estimate_per_s, Some(sustained));
        let after = held.exhausted_after_s.unwrap();
        assert!((40.0..130.0).contains(&after), "seed {seed}: exhausted after {after} s");
        assert!(held.held_s >= 600.0 && held.falls >= 1, "{held:?}");
    }
}

/// A steady server is held at the estimate for just as long as asked.
#[test]
fn a_steady_server_sustains_what_was_found() {
    for seed in 0..5 {
        let outcome = hold(four_workers(seed), 300.0);
        let held = outcome.found.sustained.unwrap();
        assert_eq!((held.falls, held.exhausted_after_s), (0, None), "seed {seed}: {held:?}");
        assert_eq!(held.sustained_per_s, outcome.found.estimate_per_s);
        let windows = outcome.windows.iter().map(|judged| &judged.window);
        // The search's own hold is one long window.
        let is_hold = |window: &&Window| window.phase == Phase::Hold && window.seconds < 10.0;
        let hold: Vec<_> = windows.filter(is_hold).collect();
        let seconds: f64 = hold.iter().map(|window| window.seconds).sum();
        assert!((300.0..304.0).contains(&seconds), "{seconds}");
        let estimate = outcome.found.estimate_per_s.unwrap();
        assert!(hold.iter().all(|window| window.rate_per_s <= 0.95 * estimate));
    }
}
