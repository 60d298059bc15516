//! The ladder, step by step, against sequences worked out by hand from the published description.

use crate::hand::window;
use plimsoll_capacity::ladder::{Ladder, Settings, StepOf};
use plimsoll_capacity::search::{Search, SearchEstimate, Step};
use plimsoll_capacity::window::{Phase, Verdict};
use plimsoll_stats::slo::Comparison;

fn settings() -> Settings {
    Settings {
        slo: (0.9, 150_000_000),
        comparison: Comparison::AtMost,
        start_per_s: 800.0,
        window_s: 10.0,
        tuning: 0.2,
        near_rtt_ns: Some(10_000_000),
        step_of: StepOf::Gap,
        max_rate_per_s: None,
    }
}

/// What it offers, where responses take `ms(rate)` milliseconds over a round trip of 5 ms.
fn climb(
    settings: Settings,
    ms: impl Fn(f64) -> f64,
) -> (Vec<(u64, Phase, Verdict)>, SearchEstimate) {
    let mut ladder = Ladder::new(settings);
    let (mut steps, mut step) = (Vec::new(), ladder.next(None));
    loop {
        match step {
            Step::Done(found) => return (steps, found),
            Step::Offer(offer) => {
                assert!((offer.seconds - 10.0).abs() < 1e-9 && !offer.may_cut && offer.fresh);
                let seen = window(&offer, ms(offer.rate_per_s), 5);
                step = ladder.next(Some(&seen));
                steps.push((offer.rate_per_s.round() as u64, offer.phase, ladder.verdict()));
                assert!(steps.len() < 100, "it does not end: {steps:?}");
            }
        }
    }
}

/// Near the round trip up to 5,200/s, within the SLO up to 9,500/s.
fn published(rate: f64) -> f64 {
    match rate {
        rate if rate <= 6400.0 => 8.0,
        rate if rate <= 9500.0 => 80.0,
        _ => 400.0,
    }
}

#[test]
fn it_doubles_goes_back_and_climbs_by_steps_of_the_gap() {
    use Phase::{Ramp, Tune};
    use Verdict::{Accepted, Beyond, Refused, Within};
    let (steps, found) = climb(settings(), published);
    assert_eq!(
        steps,
        [
            (800, Ramp, Accepted),
            (1600, Ramp, Accepted),
            (3200, Ramp, Accepted),
            (6400, Ramp, Accepted),
            (12_800, Ramp, Refused),
            (6400, Tune, Within),
            // The gap between the last two is 6,400; a fifth of it is 1,280.
            (7680, Tune, Within),
            (8960, Tune, Within),
            (10_240, Tune, Beyond),
        ]
    );
    assert_eq!(found.estimate_per_s, Some(8960.0));
    assert_eq!(found.lower_bound_per_s, Some(8960.0));
    assert!(!found.is_bound);
}

#[test]
fn steps_of_half_the_last_rate_are_half_as_long() {
    let (steps, _) = climb(Settings { step_of: StepOf::Half, ..settings() }, published);
    let tuned: Vec<u64> = steps.iter().filter(|s| s.1 == Phase::Tune).map(|s| s.0).collect();
    assert_eq!(tuned, [6400, 7040, 7680, 8320, 8960, 9600]);
}

#[test]
fn the_last_accepted_rate_that_then_breaks_the_slo_is_an_upper_bound() {
    let calls = std::cell::Cell::new(0);
    let (steps, found) = climb(settings(), |_| {
        calls.set(calls.get() + 1);
        if calls.get() <= 2 { 8.0 } else { 400.0 }
    });
    assert_eq!(steps.last(), Some(&(1600, Phase::Tune, Verdict::Beyond)));
    assert_eq!((found.estimate_per_s, found.lower_bound_per_s), (Some(1600.0), None));
    assert!(found.is_bound && !found.notes.is_empty());
}

/// Every page is slower than the allowance, and yet within the SLO: the published method returns
/// nothing.
#[test]
fn a_refused_first_window_sends_it_down_ten_times_then_to_fine_tuning() {
    let (steps, found) = climb(settings(), |rate| if rate > 2.0 { 400.0 } else { 60.0 });
    let ramp: Vec<u64> = steps.iter().filter(|s| s.1 == Phase::Ramp).map(|s| s.0).collect();
    assert_eq!(ramp, [800, 400, 200, 100, 50, 25, 13, 6, 3, 2, 1]);
    let estimate = found.estimate_per_s.unwrap();
    assert!((1.5..=2.0).contains(&estimate), "{estimate}");
    assert!(!found.notes.is_empty());
}

#[test]
fn an_slo_that_holds_nowhere_has_no_estimate() {
    let (_, found) = climb(settings(), |_| 400.0);
    assert_eq!(found.estimate_per_s, None);
}

#[test]
fn it_stays_at_or_below_the_highest_rate_allowed() {
    let most = Settings { max_rate_per_s: Some(5000.0), ..settings() };
    let (steps, found) = climb(most, |_| 8.0);
    assert!(steps.iter().all(|step| step.0 <= 5000), "{steps:?}");
    assert!(found.is_bound);
    assert!(found.estimate_per_s.unwrap() > 4000.0);
}
