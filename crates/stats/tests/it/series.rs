//! What is said of groups of estimates and of series of them: properties, and how often a test
//! raises an alarm where there is nothing.

use plimsoll_stats::change_points::{Segment, segments};
use plimsoll_stats::dips::dips;
use plimsoll_stats::outliers::{modified_z, unusually_low};
use plimsoll_stats::sample::median_interval;
use plimsoll_stats::{BoxPlot, Described};
use proptest::prelude::*;

use crate::random::Xorshift;

/// A value of a distribution: normal, uniform, exponential, or normal with one in ten far out.
fn draw(random: &mut Xorshift, kind: usize) -> f64 {
    match kind {
        0 => random.normal(),
        1 => random.uniform(),
        2 => -random.uniform().ln(),
        _ if random.uniform() < 0.1 => 8.0 * random.normal(),
        _ => random.normal(),
    }
}

/// Whatever the distribution, a change is seen in at most the nominal share of steady series, to
/// the chance of the count: of 400 series at 5%, 32 or more have a probability below 1%.
#[test]
fn steady_series_raise_alarms_as_often_as_said() {
    for kind in 0..4 {
        let mut random = Xorshift(0x1234_5678 + kind as u64);
        let alarms = (0..400).filter(|n| {
            let length = [12, 24, 48][n % 3];
            let series: Vec<f64> =
                (0..length).map(|_| 100.0 + 5.0 * draw(&mut random, kind)).collect();
            segments(&series, 0.05).len() > 1
        });
        let alarms = alarms.count();
        assert!(alarms <= 31, "{alarms} alarms in 400 series of distribution {kind}");
    }
}

/// A day of estimates every quarter of an hour, 28/s give or take 4%, with three hours 30% below.
#[test]
fn a_days_dip_is_found_with_its_start_depth_and_length() {
    let (mut exact, days) = (0, 20);
    for day in 0..days {
        let mut random = Xorshift(0xda4 + day);
        let level = |at: u32| if (40..52).contains(&at) { 0.7 * 28.0 } else { 28.0 };
        let series: Vec<f64> =
            (0..96).map(|at| level(at) * (1.0 + 0.04 * random.normal())).collect();
        let found = dips(&segments(&series, 0.01));
        assert_eq!(found.len(), 1, "day {day}: {found:?}");
        let dip = found[0];
        assert!(dip.from.abs_diff(40) <= 1 && dip.to.unwrap().abs_diff(52) <= 1, "{dip:?}");
        assert!((dip.depth - 0.3).abs() < 0.03, "{dip:?}");
        assert!((dip.recovery.unwrap() - 1.0).abs() < 0.1, "{dip:?}");
        exact += usize::from(dip.from == 40 && dip.to == Some(52));
    }
    assert!(exact >= 17, "{exact} of {days} to the very estimate");
}

/// How often one of several equal targets is called poor: less often the more there are.
#[test]
fn equal_targets_are_rarely_poor() {
    for (n, at_most) in [(5, 0.135), (10, 0.085), (20, 0.065), (40, 0.06)] {
        let mut random = Xorshift(0x2bdc_545d_6b4b_8700 + n as u64);
        let rounds = 5000;
        let alarms = (0..rounds).filter(|_| {
            let values: Vec<f64> = (0..n).map(|_| 100.0 + 5.0 * random.normal()).collect();
            !unusually_low(&values).is_empty()
        });
        let share = alarms.count() as f64 / f64::from(rounds);
        assert!(share <= at_most, "{share} of {rounds} with {n} targets");
    }
}

/// The interval of the median holds it at least as often as it says, whatever the distribution.
#[test]
fn the_interval_of_the_median_covers() {
    for (kind, median) in [(0, 0.0), (1, 0.5), (2, std::f64::consts::LN_2)] {
        let mut random = Xorshift(0x77 + kind as u64);
        let rounds = 2000;
        let held = (0..rounds).filter(|_| {
            let values: Vec<f64> = (0..15).map(|_| draw(&mut random, kind)).collect();
            let (low, high) = median_interval(&values, 0.95).unwrap();
            low <= median && median <= high
        });
        let share = held.count() as f64 / f64::from(rounds);
        assert!(share >= 0.945, "{share} of distribution {kind}");
    }
}

proptest! {
    #[test]
    fn a_box_holds_its_sample(values in prop::collection::vec(-1e9f64..1e9, 1..200)) {
        let plot = BoxPlot::of(&values).unwrap();
        let order = [plot.min, plot.whisker_low, plot.q1, plot.median, plot.q3, plot.whisker_high,
            plot.max];
        prop_assert!(order.is_sorted(), "{:?}", plot);
        let inside = |value: &&f64| (plot.whisker_low..=plot.whisker_high).contains(*value);
        prop_assert_eq!(values.iter().filter(inside).count() + plot.outliers.len(), values.len());
        prop_assert!(plot.outliers.is_sorted());
        let half = values.iter().filter(|value| **value <= plot.median).count();
        prop_assert!(2 * half >= values.len());
        let described = Described::of(&values).unwrap();
        prop_assert!(described.mean >= plot.min - 1e-6 && described.mean <= plot.max + 1e-6);
    }

    #[test]
    fn scores_do_not_depend_on_the_unit(
        values in prop::collection::vec(1f64..1e3, 5..60),
        factor in 0.1f64..100.0,
    ) {
        let (scores, scaled) = (modified_z(&values).unwrap(), {
            let values: Vec<f64> = values.iter().map(|value| 7.0 + value * factor).collect();
            modified_z(&values).unwrap()
        });
        for (a, b) in scores.iter().zip(&scaled) {
            prop_assert!((a - b).abs() <= 1e-6 * a.abs().max(1.0), "{} {}", a, b);
        }
    }

    #[test]
    fn segments_cover_the_series(
        values in prop::collection::vec(0f64..100.0, 0..40),
        step in 0f64..200.0,
    ) {
        let half = values.len() / 2;
        let values =
            values.iter().enumerate().map(|(at, v)| if at < half { *v } else { v + step });
        let values: Vec<f64> = values.collect();
        let found = segments(&values, 0.01);
        let ends: Vec<usize> = found.iter().map(|segment| segment.to).collect();
        let starts: Vec<usize> = found.iter().map(|segment| segment.from).collect();
        prop_assert_eq!(starts.first().copied(), (!values.is_empty()).then_some(0));
        prop_assert_eq!(ends.last().copied(), (!values.is_empty()).then_some(values.len()));
        prop_assert!(starts.iter().skip(1).eq(ends.iter().take(ends.len().saturating_sub(1))));
        prop_assert!(found.iter().all(|segment| segment.to > segment.from));
        // The same series gives the same answer.
        prop_assert_eq!(found, segments(&values, 0.01));
    }

    #[test]
    fn dips_lie_within_and_lose_something(levels in prop::collection::vec(1u32..50, 0..12)) {
        let segments: Vec<Segment> = levels
            .iter()
            .enumerate()
            .map(|(at, &level)| Segment { from: 3 * at, to: 3 * at + 3, level: f64::from(level) })
            .collect();
        let found = dips(&segments);
        for dip in &found {
            prop_assert!(dip.level < dip.before && dip.depth > 0.0 && dip.depth < 1.0);
            prop_assert!(dip.to.is_none_or(|to| to > dip.from && to < 3 * levels.len()));
            prop_assert!(dip.recovery.is_none_or(|share| share >= 0.5));
        }
        prop_assert!(found.windows(2).all(|two| two[0].to.is_some_and(|to| to <= two[1].from)));
    }
}
