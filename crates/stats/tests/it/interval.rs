//! Intervals against reference vectors, and against the truth of drawn samples: an interval at 95%
//! must hold it in about 95 of 100 experiments.

use plimsoll_stats::Histogram;
use plimsoll_stats::figure::Better;
use plimsoll_stats::interval::{
    Pairing, QuantileBatches, Verdict, batch_means, compare, difference, mean, p_of_difference,
    ratio, student,
};
use proptest::prelude::*;

use crate::random::Xorshift;
use crate::reference::vectors;

fn numbers(cell: &str) -> Vec<f64> {
    cell.split_whitespace().map(|number| number.parse().unwrap()).collect()
}

fn close(found: f64, wanted: f64) {
    assert!((found - wanted).abs() <= 1e-9 * wanted.abs().max(1e-3), "{found} for {wanted}");
}

#[test]
fn t_quantiles_are_the_references() {
    for row in vectors("t_quantiles_are_the_references", "t_quantiles.csv") {
        let df: f64 = row[0].parse().unwrap();
        for (p, wanted) in [0.90, 0.95, 0.975, 0.99, 0.995, 0.9995].iter().zip(&row[1..]) {
            close(student::quantile(*p, df), wanted.parse().unwrap());
        }
    }
}

#[test]
fn intervals_of_means_are_the_references() {
    for row in vectors("intervals_of_means_are_the_references", "mean_ci.csv") {
        let found = mean(&numbers(&row[7]), row[1].parse().unwrap()).unwrap();
        close(found.value, row[3].parse().unwrap());
        close(found.low, row[5].parse().unwrap());
        close(found.high, row[6].parse().unwrap());
    }
}

#[test]
fn welch_differences_are_the_references() {
    for row in vectors("welch_differences_are_the_references", "welch.csv") {
        // The reference gives the first less the second.
        let found = difference(&numbers(&row[7]), &numbers(&row[6]), 0.95).unwrap();
        close(found.df, row[2].parse().unwrap());
        close(found.low, row[4].parse().unwrap());
        close(found.high, row[5].parse().unwrap());
        close(p_of_difference(&found), row[3].parse().unwrap());
    }
}

/// How often, of 4000 experiments, `holds` is true.
fn coverage(seed: u64, holds: impl FnMut(&mut Xorshift) -> bool) -> f64 {
    coverage_of(4000, seed, holds)
}

fn coverage_of(n: u32, seed: u64, mut holds: impl FnMut(&mut Xorshift) -> bool) -> f64 {
    let mut random = Xorshift(seed);
    f64::from((0..n).map(|_| u32::from(holds(&mut random))).sum::<u32>()) / f64::from(n)
}

fn draw(random: &mut Xorshift, n: usize, mean: f64, sd: f64) -> Vec<f64> {
    (0..n).map(|_| mean + sd * random.normal()).collect()
}

#[test]
fn intervals_hold_the_truth_as_often_as_they_say() {
    for n in [2, 3, 5, 10] {
        let share = coverage(7, |random| {
            let e = mean(&draw(random, n, 10.0, 2.0), 0.95).unwrap();
            e.low <= 10.0 && 10.0 <= e.high
        });
        // Three standard errors of a share of 0.95 over 4000 are 0.0103.
        assert!((share - 0.95).abs() < 0.0103, "mean of {n}: {share}");
    }
    // Satterthwaite errs on the safe side for equal groups, and gives about 93% where a group of
    // three meets one of ten.
    for (n, m, least) in [(2, 2, 0.94), (3, 3, 0.94), (5, 5, 0.94), (10, 10, 0.94), (3, 10, 0.92)] {
        let share = coverage(8, |random| {
            let (a, b) = (draw(random, n, 100.0, 5.0), draw(random, m, 120.0, 6.0));
            let e = ratio(&a, &b, 0.95).unwrap();
            e.low <= 1.2 && 1.2 <= e.high
        });
        assert!((least..0.99).contains(&share), "ratio of {n} and {m}: {share}");
        let share = coverage(8, |random| {
            let (a, b) = (draw(random, n, 100.0, 5.0), draw(random, m, 120.0, 6.0));
            let e = difference(&a, &b, 0.95).unwrap();
            e.low <= 20.0 && 20.0 <= e.high
        });
        assert!((least..0.99).contains(&share), "difference of {n} and {m}: {share}");
    }
}

#[test]
fn equal_groups_are_seldom_called_worse() {
    let worse = coverage(9, |random| {
        let (a, b) = (draw(random, 5, 100.0, 5.0), draw(random, 5, 100.0, 5.0));
        let free = Pairing::Independent;
        compare(&a, &b, free, Better::Lower, 0.0).unwrap().verdict == Verdict::Worse
    });
    assert!((0.01..0.035).contains(&worse), "one side of 5% is 2.5%, found {worse}");
}

#[test]
fn batch_means_allow_for_correlation_where_single_values_do_not() {
    // AR(1) with φ = 0.8 and mean 0: neighbours correlate, batches of 100 hardly.
    let mut naive_holds = 0;
    let share = coverage_of(1000, 10, |random| {
        let mut x = 0.0;
        let values: Vec<f64> = (0..2000)
            .map(|_| {
                x = 0.8 * x + random.normal();
                x
            })
            .collect();
        let e = mean(&values, 0.95).unwrap();
        naive_holds += usize::from(e.low <= 0.0 && 0.0 <= e.high);
        let b = batch_means(&values, 0.95).unwrap();
        b.mean.abs() <= b.half_width
    });
    assert!((0.92..0.97).contains(&share), "batch means hold in {share}");
    assert!(naive_holds < 750, "single values hold in {naive_holds} of 1000");
}

#[expect(clippy::cast_possible_truncation, reason = "some milliseconds")]
fn nanos(ms: f64) -> u64 {
    (ms * 1e6) as u64
}

#[test]
fn the_uncertainty_of_a_percentile_holds_the_truth() {
    // Exponential of mean 1 ms: p99 is ln(100) ms. 60 seconds of 500.
    let truth = 100.0_f64.ln() * 1e6;
    let mut random = Xorshift(11);
    let held = (0..100)
        .filter(|_| {
            let mut run = QuantileBatches::new();
            let mut second = Histogram::new();
            for _ in 0..60 {
                second.clear();
                for _ in 0..500 {
                    let value = -random.uniform().ln();
                    second.record(nanos(value));
                }
                run.push(&second);
            }
            let b = run.uncertainty(0.99, 0.95).unwrap();
            assert!(b.batches >= 10);
            (b.mean - truth).abs() <= b.half_width
        })
        .count();
    // The quantile of a batch is biased by its rank, little against its spread.
    assert!(held >= 88, "{held} of 100");
}

proptest! {
    #[test]
    fn scaling_scales_and_a_higher_level_is_wider(
        a in prop::collection::vec(1.0_f64..1000.0, 2..10),
        b in prop::collection::vec(1.0_f64..1000.0, 2..10),
        factor in 0.001_f64..1000.0,
    ) {
        let e = ratio(&a, &b, 0.95).unwrap();
        prop_assert!(e.low <= e.value && e.value <= e.high && e.low >= 0.0);
        let scaled: Vec<f64> = b.iter().map(|value| value * factor).collect();
        let f = ratio(&a, &scaled, 0.95).unwrap();
        prop_assert!((f.value / e.value / factor - 1.0).abs() < 1e-9);
        prop_assert!(e.high > 1e300 || (f.high / e.high / factor - 1.0).abs() < 1e-6);
        let wide = ratio(&a, &b, 0.99).unwrap();
        prop_assert!(wide.low <= e.low && e.high <= wide.high);
        let df = (a.len() + b.len() - 2) as f64;
        prop_assert!(e.df <= df * (1.0 + 1e-12));
        prop_assert!(e.df >= (a.len().min(b.len()) - 1) as f64 * (1.0 - 1e-12));
    }

    #[test]
    fn the_t_quantile_is_odd_and_increases(
        p in 0.0001_f64..0.9999,
        df in 0.2_f64..300.0,
    ) {
        let t = student::quantile(p, df);
        prop_assert!((t + student::quantile(1.0 - p, df)).abs() <= 1e-9 * t.abs().max(1e-3));
        prop_assert!(student::quantile(p + 0.00005, df) > t);
    }
}
