//! The load of others on a server that was probed, over time: what is told of it, between its
//! bounds, below the capacity of the server.

use super::content::Content;
use crate::columns::mean;
use crate::document::{Block, Section, chart, words};
use crate::others::Others;
use crate::stored::{Stored, Value};
use plimsoll_draw::chart::axis::Axis;
use plimsoll_draw::chart::figure::{Figure, Series};
use plimsoll_draw::chart::unit::Unit;

/// The series that each stretch has a sample of.
const CAPACITY: &str = "plimsoll_inferred_capacity_per_s";
const LOAD: &str = "plimsoll_inferred_load_per_s";
const BOUND: &str = "plimsoll_inferred_load_bound_per_s";

/// A line of the chart: name, series, the value of its label `bound`, tone.
type Line = (&'static str, &'static str, Option<&'static str>, &'static str);

const LINES: [Line; 4] = [
    ("load of others", LOAD, None, "c1"),
    ("95%: at least", BOUND, Some("low"), "c3"),
    ("95%: at most", BOUND, Some("high"), "c3"),
    ("capacity", CAPACITY, None, "c8 dash"),
];

/// The section of the load that was told; none where no run has one.
pub(crate) fn section(content: &Content) -> Option<Section> {
    let mut figure = Figure::lines("inferred", "Load of others", content.axis, Unit::PerSecond);
    "requests per second".clone_into(&mut figure.measure);
    figure.note = content.column_note("means");
    figure.wide = true;
    let step_ns = match content.axis {
        Axis::Time { column_s, .. } => nanoseconds(column_s),
        _ => u64::MAX,
    };
    figure.panels = content.panels(|view| {
        let others = &view.sampled.others;
        let ends = ends(others);
        let line = |(name, series, bound, tone): &Line| {
            let is_it = |of: &&Stored| of.labels.get("bound").map(String::as_str) == *bound;
            let stored = others.stored(series).iter().find(is_it)?;
            let values = stretches(&stored.samples, &ends);
            let values: Vec<Value> =
                values.flat_map(|of| pieces(of, step_ns)).map(Value::of).collect();
            Some(Series::new(name, tone, mean(content.axis, &values, |of| Some(of.value))))
        };
        LINES.iter().filter_map(line).collect()
    });
    if figure.panels.iter().all(|panel| panel.series.is_empty()) {
        return None;
    }
    let text = words(
        "How many requests a second others sent to the server meanwhile, told from the response \
         times of the probes and an earlier search for its capacity. A gap in the load is a \
         stretch of which it was not told; the bounds are what is known of it all the same.",
    );
    Some(Section::new("inferred", "Load of others", vec![text, Block::Charts(vec![chart(figure)])]))
}

/// When each stretch ended, nanoseconds, with the beginning of the first.
fn ends(others: &Others) -> Vec<u64> {
    let all = others.stored(CAPACITY).iter().flat_map(|of| &of.samples).map(|(at, _)| *at);
    std::iter::once(0).chain(all).collect()
}

/// Each sample with the stretch that ends at it.
fn stretches<'a>(
    samples: &'a [(u64, f64)],
    ends: &'a [u64],
) -> impl Iterator<Item = (u64, u64, f64)> + 'a {
    samples.iter().filter_map(|(at, value)| {
        let end = ends.binary_search(at).ok()?;
        Some((ends[end.checked_sub(1)?], *at, *value))
    })
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a day's columns")]
fn nanoseconds(seconds: f64) -> u64 {
    (seconds.max(0.001) * 1e9) as u64
}

/// A stretch in pieces of this length, so that each column has one.
fn pieces(
    (from, to, value): (u64, u64, f64),
    step_ns: u64,
) -> impl Iterator<Item = (u64, u64, f64)> {
    let step = usize::try_from(step_ns).unwrap_or(usize::MAX);
    (from..to).step_by(step).map(move |at| (at, to.min(at.saturating_add(step_ns)), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_of_which_nothing_is_told_is_a_gap() {
        let samples = [(10, 1.0), (30, 3.0), (35, 4.0)];
        let all: Vec<_> = stretches(&samples, &[0, 10, 20, 30]).collect();
        assert_eq!(all, [(0, 10, 1.0), (20, 30, 3.0)]);
        let all: Vec<_> = pieces((20, 30, 3.0), 4).collect();
        assert_eq!(all, [(20, 24, 3.0), (24, 28, 3.0), (28, 30, 3.0)]);
    }
}
