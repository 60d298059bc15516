//! The network guard: a risen round trip discards windows, and does not move the estimate.

use crate::hand::window;
use plimsoll_capacity::adaptive::{Adaptive, Settings};
use plimsoll_capacity::conduct::{Ended, Limits, Outcome, Site, conduct};
use plimsoll_capacity::guard::{Guard, Ruling};
use plimsoll_capacity::simulated::Simulated;
use plimsoll_capacity::window::{Offer, Phase, Verdict, Window};
use plimsoll_workload::distribution::Distribution;
use plimsoll_workload::service_model::{ServiceModel, ServiceTime};
use std::convert::Infallible;
use std::num::NonZeroU32;

const OFFER: Offer = Offer {
    rate_per_s: 100.0,
    seconds: 10.0,
    settle_s: 0.0,
    phase: Phase::Ramp,
    may_cut: false,
    fresh: false,
};

#[test]
fn half_of_the_seconds_risen_by_more_than_20_ms_discard_a_window() {
    let seen = |risen: usize| {
        let mut window = window(&OFFER, 8.0, 5);
        window.each_second[..risen].iter_mut().for_each(|second| second.rtt_ns = 26_000_000);
        window
    };
    let mut guard = Guard::default();
    assert_eq!(guard.rule(&seen(0)), Ruling::Steady);
    assert_eq!(guard.baseline_ns(), Some(5_000_000));
    assert_eq!(guard.rule(&seen(4)), Ruling::Steady);
    assert_eq!(guard.rule(&seen(5)), Ruling::Repeat);
    assert_eq!(guard.rule(&seen(0)), Ruling::Steady, "five in a row are counted anew");
    for _ in 0..4 {
        assert_eq!(guard.rule(&seen(10)), Ruling::Repeat);
    }
    assert_eq!(guard.rule(&seen(10)), Ruling::Unstable);
}

/// A simulated server behind a network whose round trip rises during some windows.
struct Behind {
    server: Simulated,
    windows: usize,
    risen: std::ops::Range<usize>,
}

impl Site for Behind {
    type Error = Infallible;

    fn window(&mut self, offer: &Offer) -> Result<Window, Infallible> {
        let mut window = self.server.window(offer)?;
        let risen = self.risen.contains(&self.windows);
        self.windows += 1;
        let rtt_ns = if risen { 35_000_000 } else { 5_000_000 };
        window.each_second.iter_mut().for_each(|second| second.rtt_ns = rtt_ns);
        Ok(window)
    }

    fn settle(&mut self) -> Result<Vec<(u64, u64)>, Infallible> {
        self.server.settle()
    }
}

fn search(risen: std::ops::Range<usize>) -> Outcome {
    let mut model = ServiceModel::new(ServiceTime::Law(Distribution::parse("exp:4ms").unwrap()));
    model.cores = NonZeroU32::new(8).unwrap();
    let bound_ns = 30_000_000;
    let server = Simulated::new(model, bound_ns, 3);
    let mut world = Behind { server, windows: 0, risen };
    let slo = (0.9, bound_ns);
    let settings = Settings {
        slo,
        start_per_s: 100.0,
        precision: 0.05,
        most_errors: None,
        max_rate_per_s: None,
    };
    let Ok(outcome) =
        conduct(&mut Adaptive::new(settings), &mut world, Limits::default(), &mut |_| {});
    outcome
}

#[test]
fn three_risen_windows_are_repeated_and_do_not_move_the_estimate() {
    let (steady, disturbed) = (search(0..0), search(7..10));
    let discarded =
        disturbed.windows.iter().filter(|judged| judged.verdict == Verdict::Discarded).count();
    assert_eq!(discarded, 3);
    assert_eq!(disturbed.ended, Ended::Found);
    let estimate = |outcome: &Outcome| outcome.found.estimate_per_s.unwrap();
    let ratio = estimate(&disturbed) / estimate(&steady);
    assert!((0.97..=1.03).contains(&ratio), "{ratio}");
}

#[test]
fn a_round_trip_that_has_risen_for_good_ends_the_search() {
    let outcome = search(7..usize::MAX);
    assert_eq!(outcome.ended, Ended::UnstableNetwork);
    assert_eq!(outcome.windows.len(), 12, "seven, and five that were discarded");
}
