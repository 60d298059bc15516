//! How searches end: every way of the contract, in the simulated world.

use plimsoll_capacity::adaptive::{Adaptive, Settings};
use plimsoll_capacity::conduct::{Ended, Limits, Outcome, Site, conduct};
use plimsoll_capacity::simulated::Simulated;
use plimsoll_capacity::window::{Offer, Window};
use plimsoll_workload::distribution::Distribution;
use plimsoll_workload::service_model::{ServiceModel, ServiceTime};
use std::convert::Infallible;

/// A simulated server, with something done to its windows.
struct Spoilt<F> {
    server: Simulated,
    windows: usize,
    spoil: F,
}

impl<F: FnMut(usize, &mut Window)> Site for Spoilt<F> {
    type Error = Infallible;

    fn window(&mut self, offer: &Offer) -> Result<Window, Infallible> {
        let mut window = self.server.window(offer)?;
        (self.spoil)(self.windows, &mut window);
        self.windows += 1;
        Ok(window)
    }

    fn settle(&mut self) -> Result<Vec<(u64, u64)>, Infallible> {
        self.server.settle()
    }
}

fn search(service: &str, limits: Limits, spoil: impl FnMut(usize, &mut Window)) -> Outcome {
    searching(service, limits, None, spoil)
}

fn searching(
    service: &str,
    limits: Limits,
    max_rate_per_s: Option<f64>,
    spoil: impl FnMut(usize, &mut Window),
) -> Outcome {
    let model = ServiceModel::new(ServiceTime::Law(Distribution::parse(service).unwrap()));
    let bound_ns = 150_000_000;
    let server = Simulated::new(model, bound_ns, 11);
    let mut world = Spoilt { server, windows: 0, spoil };
    let slo = (0.9, bound_ns);
    let settings =
        Settings { slo, start_per_s: 1.0, precision: 0.05, most_errors: None, max_rate_per_s };
    let Ok(outcome) = conduct(&mut Adaptive::new(settings), &mut world, limits, &mut |_| {});
    outcome
}

fn nothing(_: usize, _: &mut Window) {}

#[test]
fn with_an_estimate() {
    let outcome = search("exp:4ms", Limits::default(), nothing);
    assert_eq!(outcome.ended, Ended::Found);
    let estimate = outcome.found.estimate_per_s.unwrap();
    assert!((220.0..=250.0).contains(&estimate), "{estimate}: it is 234.6");
}

#[test]
fn without_one_where_a_single_request_is_too_slow() {
    let outcome = search("const:200ms", Limits::default(), nothing);
    assert_eq!(outcome.ended, Ended::SloUnreachable);
    assert_eq!(outcome.found.estimate_per_s, None);
    assert!(outcome.seconds() < 120.0, "{} s", outcome.seconds());
}

#[test]
fn without_one_where_every_answer_is_an_error() {
    let errors = |_: usize, window: &mut Window| {
        let all = window.counted();
        window.response = plimsoll_capacity::ranked::Ranked::default();
        (window.response.unanswered, window.beyond) = (all, all);
    };
    let outcome = search("exp:1ms", Limits::default(), errors);
    assert_eq!(outcome.ended, Ended::SloUnreachable);
}

#[test]
fn when_the_generator_is_the_limit() {
    let limited =
        |_: usize, window: &mut Window| window.generator_limited = window.rate_per_s > 100.0;
    let outcome = search("exp:1ms", Limits::default(), limited);
    assert_eq!(outcome.ended, Ended::GeneratorLimited);
    assert_eq!(outcome.found.lower_bound_per_s, Some(64.0), "what was seen to hold is kept");
    assert_eq!(outcome.found.held_per_s, Some(64.0));
    assert_eq!((outcome.found.estimate_per_s, outcome.found.ci95), (None, None));
}

#[test]
fn when_the_target_is_gone() {
    let gone = |number: usize, window: &mut Window| window.target_lost = number >= 9;
    let outcome = search("exp:4ms", Limits::default(), gone);
    assert_eq!(outcome.ended, Ended::TargetLost);
    assert_eq!(outcome.windows.len(), 13, "nine, and four without an answer");
}

#[test]
fn when_its_time_is_over() {
    let limits = Limits { seconds: 20.0, ..Limits::default() };
    let outcome = search("exp:4ms", limits, nothing);
    assert_eq!(outcome.ended, Ended::Budget);
    assert!((20.0..20.3).contains(&outcome.seconds()), "{} s", outcome.seconds());
}

#[test]
fn when_there_was_enough_overload() {
    let limits = Limits { overload_s: 1.0, ..Limits::default() };
    let outcome = search("exp:4ms", limits, nothing);
    assert_eq!(outcome.ended, Ended::Budget);
}

#[test]
fn at_the_highest_rate_allowed() {
    let outcome = searching("exp:4ms", Limits::default(), Some(100.0), nothing);
    assert_eq!(outcome.ended, Ended::Found);
    assert_eq!(outcome.found.estimate_per_s, Some(100.0));
    assert!(outcome.found.is_bound && !outcome.found.notes.is_empty());
    assert!(outcome.windows.iter().all(|judged| judged.window.rate_per_s <= 100.0));
}

/// The capacity is 234.6/s: just below it nothing may be offered above, and just above it the
/// highest rate is no estimate.
#[test]
fn the_highest_rate_allowed_is_never_exceeded_near_the_capacity() {
    for most in [225.0, 240.0, 260.0] {
        let outcome = searching("exp:4ms", Limits::default(), Some(most), nothing);
        assert_eq!(outcome.ended, Ended::Found);
        assert!(outcome.windows.iter().all(|judged| judged.window.rate_per_s <= most));
        let estimate = outcome.found.estimate_per_s.unwrap();
        assert!((215.0..=252.0).contains(&estimate), "{estimate} with at most {most}");
    }
}
