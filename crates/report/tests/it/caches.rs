//! The pages of caches: policies at sizes, and miss-ratio curves. Both answer first.

use std::num::NonZeroUsize;

use plimsoll_cache::capacity::{Capacity, Unit};
use plimsoll_cache::curve::Point;
use plimsoll_cache::simulate::{Cell, Comparison, Replays};
use plimsoll_report::{Caches, Curves, Document, DrawnCurve, Source, document};

use crate::made_clusters::trace;
use crate::page::{HOSTILE, checked};

/// Policies at sizes, replayed over a made-up trace; the replays take no time.
fn caches(policies: &[&str], sizes: &[&str], name: &str) -> Document {
    let trace = trace(true);
    let comparison = Comparison {
        policies: policies.iter().map(|text| text.parse().unwrap()).collect(),
        sizes: sizes.iter().map(|text| text.parse().unwrap()).collect(),
        admission: None,
        skip: 0,
        parts: NonZeroUsize::new(10).unwrap(),
        by_size: false,
    };
    let replays = Replays::new(&trace, &comparison, || 0).unwrap();
    let cells: Vec<Cell> =
        (0..policies.len() * sizes.len()).map(|place| replays.replay(place).unwrap()).collect();
    let caches = Caches {
        trace: &trace,
        name,
        warnings: &[],
        comparison: &comparison,
        cells: &cells,
        bounds: &[],
    };
    document(Source::Caches(&caches), None).unwrap()
}

/// The document that its golden is of.
pub(crate) fn golden() -> Document {
    caches(&["lru", "fifo", "sieve"], &["25obj", "10obj"], "day.csv")
}

/// Curves of two policies; the smallest cache has too small a sample.
pub(crate) fn golden_curves() -> Document {
    let point = |amount: u64, ratio: f64| Point {
        capacity: Capacity { amount, unit: Unit::Objects },
        miss_ratio: Some(ratio),
        byte_miss_ratio: None,
        reliable: amount > 10,
    };
    let curve = |name: &str, by: f64| DrawnCurve {
        name: name.to_owned(),
        points: [10, 20, 40].map(|amount| point(amount, by / amount as f64)).into(),
    };
    let curves = [curve("lru", 6.0), curve("sieve", 5.0)];
    let curves = Curves { name: "day.csv", curves: &curves, warnings: &[] };
    document(Source::Curves(&curves), None).unwrap()
}

#[test]
fn the_policy_that_misses_least_is_the_answer() {
    let text = golden().text();
    let answer = text.lines().find(|line| line.starts_with("[good]")).unwrap();
    assert!(answer.starts_with("[good] At 10 objects, ") && answer.contains(" misses least: "));
    // The row of the same policy and size is marked, and has the ratio that the answer tells.
    let (_, told) = answer.split_once(" misses least: ").unwrap();
    let (ratio, _) = told.split_once(" of the requests").unwrap();
    let (_, policy) = answer.split_once("objects, ").unwrap();
    let (policy, _) = policy.split_once(' ').unwrap();
    let row = format!("| {policy} [good: lowest] | 10obj | 10 objects | {ratio} |");
    assert!(text.contains(&row), "{row} in {text}");
}

#[test]
fn policies_that_are_equal_are_named_together() {
    let text = caches(&["lru", "fifo"], &["50obj"], "day.csv").text();
    assert!(text.contains("At 50 objects, lru and fifo miss least: "), "{text}");
}

#[test]
fn one_policy_at_one_size_has_a_page_and_names_stay_text() {
    let document = caches(&["lru"], &["10obj"], HOSTILE);
    assert!(document.text().contains("At 10 objects, lru misses: "));
    let page = checked(&document.html());
    assert_eq!((page.count("script"), page.count("img")), (1, 0));
}

#[test]
fn a_curve_marks_the_points_of_too_small_a_sample() {
    let document = golden_curves();
    let text = document.text();
    assert!(text.contains("At 40, sieve misses 12.5% of the requests. lru comes next, with 15%."));
    let page = document.html();
    checked(&page);
    let (_, rest) = page.split_once("id=\"misses-o\"").unwrap();
    let (figure, _) = rest.split_once("</figure>").unwrap();
    // A square in the legend, and one at the first point of each curve.
    assert_eq!(figure.matches("<path class=\"sym ").count(), 3, "{figure}");
    assert!(figure.contains("too small a sample"));
}
