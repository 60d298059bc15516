//! The pages of caches: policies at sizes, and miss-ratio curves. Both answer first.

use std::num::NonZeroUsize;

use plimsoll_cache::about::About;
use plimsoll_cache::simulate::{Cell, Comparison, Replays};
use plimsoll_report::Document;
use plimsoll_runs::{FigureRow, Kind, RunWriter};

use crate::kept::{CellDefaults, Kept};
use crate::made_clusters::trace;
use crate::page::{HOSTILE, checked};

/// The course of a cell, as its run keeps it.
fn write(writer: &mut RunWriter, cell: &Cell) {
    for (from, part) in &cell.course {
        let at_ns = 1_000_000_000 * (*from as u64 + part.requests);
        writer.series("cache_requests", &[], at_ns, part.requests as f64).unwrap();
        writer.series("cache_miss_ratio", &[], at_ns, part.miss_ratio()).unwrap();
    }
}

/// Policies at sizes, replayed over a made-up trace.
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
    let all: Vec<Cell> =
        (0..policies.len() * sizes.len()).map(|place| replays.replay(place).unwrap()).collect();
    let writes: Vec<_> =
        all.iter().map(|cell| move |writer: &mut RunWriter| write(writer, cell)).collect();
    let kept = |(cell, write): (&Cell, _)| Kept {
        factors: vec![("policy", cell.policy.clone()), ("size", cell.size.clone())],
        replication: 0,
        figures: vec![
            FigureRow::new("capacity_objects", cell.capacity.amount as f64),
            FigureRow::new("miss_ratio", cell.all.miss_ratio()),
            FigureRow::new("byte_miss_ratio", cell.all.byte_miss_ratio()),
            FigureRow::new("misses", cell.all.misses as f64),
            FigureRow::new("evictions", cell.evictions as f64),
        ],
        run: Some(write),
    };
    let cells: Vec<Kept<'_>> = all
        .iter()
        .zip(&writes)
        .map(|(cell, write)| kept((cell, write as &dyn Fn(&mut _))))
        .collect();
    let about = serde_json::to_string(&About::of(&trace, name)).unwrap();
    CellDefaults { about, ..CellDefaults::kind(Kind::Caches) }.document(&cells)
}

/// The document that its golden is of.
pub(crate) fn golden() -> Document {
    caches(&["lru", "fifo", "sieve"], &["25obj", "10obj"], "day.csv")
}

/// Curves of two policies; the smallest cache has too small a sample.
pub(crate) fn golden_curves() -> Document {
    let cell = |(policy, amount, by): (&str, u32, f64)| {
        let amount_of = f64::from(amount);
        let mut figures = vec![
            FigureRow::new("capacity_objects", amount_of),
            FigureRow::new("miss_ratio", by / amount_of),
        ];
        figures.extend((amount <= 10).then(|| FigureRow::new("reliable", 0.0)));
        let factors = vec![("policy", policy.to_owned()), ("size", format!("{amount}obj"))];
        Kept { factors, replication: 0, figures, run: None }
    };
    let all = [("lru", 6.0), ("sieve", 5.0)]
        .into_iter()
        .flat_map(|(policy, by)| [10, 20, 40].map(|amount| (policy, amount, by)));
    let cells: Vec<Kept<'_>> = all.map(cell).collect();
    let about = About { is_curves: true, ..About::of(&trace(false), "day.csv") };
    let about = serde_json::to_string(&about).unwrap();
    CellDefaults { about, ..CellDefaults::kind(Kind::Caches) }.document(&cells)
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
    assert!(text.contains("At 40 objects, sieve misses least: 12.5% of the requests."), "{text}");
    let page = document.html();
    checked(&page);
    let (_, rest) = page.split_once("id=\"over-1-Count-0\"").unwrap();
    let (figure, _) = rest.split_once("</figure>").unwrap();
    // A square in the legend and at the first point of each curve, discs at the others.
    assert_eq!(figure.matches("<path class=\"sym c").count(), 3, "{figure}");
    assert!(figure.contains("too small a sample"));
}
