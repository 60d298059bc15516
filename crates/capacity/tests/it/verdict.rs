//! What may be called found: whatever a search has seen, it is not contradicted by what is said.

use plimsoll_capacity::adaptive::{Adaptive, Settings};
use plimsoll_capacity::conduct::{Ended, Limits, Outcome, Site, conduct};
use plimsoll_capacity::hold::{CONFIRMS, Hold};
use plimsoll_capacity::result::CapacityResult;
use plimsoll_capacity::search::{Check, SearchEstimate};
use plimsoll_capacity::simulated::Simulated;
use plimsoll_capacity::simulated::admission::Admission;
use plimsoll_capacity::verdict::{ending, settle};
use plimsoll_capacity::window::{Offer, Phase, Window};
use plimsoll_workload::distribution::Distribution;
use plimsoll_workload::service_model::{ServiceModel, ServiceTime};
use proptest::collection::vec;
use proptest::prelude::*;
use std::convert::Infallible;

fn holds() -> impl Strategy<Value = Vec<Hold>> {
    let hold = (1.0..200.0_f64, any::<bool>()).prop_map(|(rate_per_s, held)| {
        let check = if held { Check::Held } else { Check::Broken };
        Hold { rate_per_s, check }
    });
    vec(hold, 0..5)
}

fn found() -> impl Strategy<Value = SearchEstimate> {
    let rate = || proptest::option::of(1.0..200.0_f64);
    (rate(), rate(), rate(), holds(), any::<bool>()).prop_map(
        |(estimate_per_s, held_per_s, broken_per_s, holds, disagrees)| SearchEstimate {
            estimate_per_s,
            ci95: estimate_per_s.map(|rate| (0.95 * rate, 1.05 * rate)),
            held_per_s,
            broken_per_s,
            holds,
            disagrees,
            ..SearchEstimate::default()
        },
    )
}

proptest! {
    #[test]
    fn only_what_held_is_found(found in found()) {
        let ended = ending(&found);
        let held = |of: &&Hold| of.check == Check::Held;
        if ended == Ended::Found {
            let estimate = found.estimate_per_s.unwrap();
            let highest = found.holds.iter().filter(held).map(|hold| hold.rate_per_s);
            prop_assert!(highest.fold(0.0, f64::max) >= 0.999 * CONFIRMS * estimate);
            let mut broken = found.holds.iter().filter(|hold| !held(hold));
            prop_assert!(broken.all(|hold| hold.rate_per_s > estimate));
            prop_assert!(!found.disagrees);
        }
        let is_nothing = found.estimate_per_s.is_none() && found.held_per_s.is_none();
        prop_assert_eq!(ended == Ended::SloUnreachable, is_nothing);
    }

    #[test]
    fn nothing_said_is_contradicted_by_a_hold(found in found(), early in 0..4_usize) {
        let early = [Ended::Budget, Ended::TargetLost, Ended::UnstableNetwork][early.min(2)];
        for ended in [ending(&found), early, Ended::GeneratorLimited] {
            let mut found = found.clone();
            settle(&mut found, ended);
            let broke = found.holds.iter().filter(|hold| hold.check == Check::Broken);
            let lowest = broke.map(|hold| hold.rate_per_s).fold(f64::INFINITY, f64::min);
            prop_assert!(found.estimate_per_s.is_none_or(|estimate| estimate < lowest));
            prop_assert_eq!(found.estimate_per_s.is_none(), found.ci95.is_none());
            if matches!(ended, Ended::Bracketed | Ended::GeneratorLimited) {
                prop_assert!(found.estimate_per_s.is_none());
            }
            prop_assert_eq!(ended == Ended::Bracketed, found.notes.len() == 1);
            let (held, broken) = (found.held_per_s, found.broken_per_s);
            prop_assert!(broken.is_none_or(|broken| held.is_none_or(|held| held < broken)));
        }
    }
}

const BOUND_NS: u64 = 200_000_000;

fn server(service: &str, seed: u64) -> Simulated {
    let law = ServiceTime::Law(Distribution::parse(service).unwrap());
    Simulated::new(ServiceModel::new(law), BOUND_NS, seed)
}

fn search(
    start_per_s: f64,
    most_errors: Option<f64>,
    world: &mut impl Site<Error = Infallible>,
) -> Outcome {
    let slo = (0.9, BOUND_NS);
    let settings =
        Settings { slo, start_per_s, precision: 0.05, most_errors, max_rate_per_s: None };
    let Ok(outcome) = conduct(&mut Adaptive::new(settings), world, Limits::default(), &mut |_| {});
    outcome
}

/// What every outcome must be.
fn check(outcome: &Outcome) {
    let result = CapacityResult::of(outcome, "adaptive", "p90<200ms");
    let last = outcome.found.holds.last().map(|hold| hold.check);
    if outcome.ended == Ended::Found {
        assert_eq!(last, Some(Check::Held));
        assert_eq!(result.check.below.as_deref(), Some("held"));
        assert!(result.estimate_per_s.is_some());
    } else {
        assert!(result.estimate_per_s.is_none() && result.ci95.is_none(), "{:?}", outcome.ended);
    }
    let held = outcome.windows.iter().filter(|judged| judged.window.phase == Phase::Hold);
    assert!(held.clone().all(|judged| !judged.window.was_cut && judged.window.settle_s == 0.0));
    assert_eq!(held.count(), outcome.found.holds.len());
}

/// M/M/1/6 of 100/s: a tenth is refused at 89.5/s (Kleinrock 1975, 3.6).
#[test]
fn a_server_that_refuses_what_it_cannot_do_is_found() {
    for seed in 0..3 {
        let full = Admission::UpTo { most: 6 };
        let outcome = search(20.0, None, &mut server("exp:10ms", seed).with_admission(full));
        check(&outcome);
        assert_eq!(outcome.ended, Ended::Found, "seed {seed}");
        let estimate = outcome.found.estimate_per_s.unwrap();
        assert!((estimate / 89.5 - 1.0).abs() < 0.1, "{estimate}, seed {seed}");
    }
}

/// A hundredth of the requests of M/M/1/6 is refused at 49.1/s.
#[test]
fn a_limit_of_errors_is_what_breaks_first() {
    let full = Admission::UpTo { most: 6 };
    let outcome = search(5.0, Some(0.01), &mut server("exp:10ms", 4).with_admission(full));
    check(&outcome);
    let (held, estimate) = (outcome.found.held_per_s.unwrap(), outcome.found.estimate_per_s);
    assert!(held < 58.0, "{held}");
    assert!(estimate.is_none_or(|of| (of / 49.1 - 1.0).abs() < 0.15), "{estimate:?}");
}

/// A pause of 300 ms every 5 s: by the windows between pauses a server of 500/s has room for twice
/// of what it has. That comes again, and is no disturbance.
#[test]
fn pauses_are_the_servers_own() {
    for seed in 0..2 {
        let mut world = server("exp:2ms", seed).with_pauses(2.0, 5.0, 0.45);
        let outcome = search(50.0, None, &mut world);
        check(&outcome);
        // At 300/s its share beyond is 14%.
        let estimate = outcome.found.estimate_per_s;
        assert!(estimate.is_none_or(|of| of < 340.0), "{estimate:?}, seed {seed}");
    }
}

/// A server of 10/s that is asked for 100/s at first.
#[test]
fn a_start_that_is_too_high_drains_before_the_next_window() {
    let outcome = search(100.0, None, &mut server("const:100ms", 3));
    check(&outcome);
    assert_ne!(outcome.ended, Ended::SloUnreachable);
    let windows: Vec<&Window> = outcome.windows.iter().map(|judged| &judged.window).collect();
    let lower = windows.iter().find(|window| window.rate_per_s < 10.0).unwrap();
    assert!(lower.beyond_share().is_none_or(|share| share <= 0.5), "{lower:?}");
}

/// A server that keeps up in every window, but not where it is held.
struct Tired(Simulated);

impl Site for Tired {
    type Error = Infallible;

    fn window(&mut self, offer: &Offer) -> Result<Window, Infallible> {
        let mut window = self.0.window(offer)?;
        if offer.phase == Phase::Hold {
            window.beyond = window.counted() / 2;
            window.each_second.iter_mut().for_each(|second| second.beyond = second.due / 2);
        }
        Ok(window)
    }

    fn settle(&mut self) -> Result<Vec<(u64, u64)>, Infallible> {
        self.0.settle()
    }
}

#[test]
fn what_breaks_whenever_it_is_held_is_never_found() {
    let outcome = search(50.0, None, &mut Tired(server("exp:4ms", 5)));
    check(&outcome);
    assert_eq!(outcome.ended, Ended::Bracketed);
    assert_eq!(outcome.found.holds.len(), 3);
    let rates: Vec<f64> = outcome.found.holds.iter().map(|hold| hold.rate_per_s).collect();
    assert!(rates.is_sorted_by(|a, b| a > b), "the search goes on below: {rates:?}");
    let note = &outcome.found.notes[0];
    assert!(note.contains("broke 3 times"), "{note}");
    let result = CapacityResult::of(&outcome, "adaptive", "p90<200ms");
    assert_eq!((result.ended.as_str(), result.warnings.first()), ("bracketed", Some(note)));
}

#[test]
fn the_last_window_ends_when_the_time_does() {
    let settings = Settings {
        slo: (0.9, 60_000_000_000),
        start_per_s: 1.0 / 60.0,
        precision: 0.05,
        most_errors: None,
        max_rate_per_s: None,
    };
    let law = ServiceTime::Law(Distribution::parse("const:30s").unwrap());
    let mut world = Simulated::new(ServiceModel::new(law), settings.slo.1, 1);
    let limits = Limits { seconds: 30.0, ..Limits::default() };
    let Ok(outcome) = conduct(&mut Adaptive::new(settings), &mut world, limits, &mut |_| {});
    assert_eq!((outcome.ended, outcome.windows.len()), (Ended::Budget, 1));
    assert!((outcome.seconds() - 30.0).abs() < 0.3, "{} s", outcome.seconds());
    assert_eq!(outcome.windows[0].verdict.name(), "discarded", "nothing was counted");
}
