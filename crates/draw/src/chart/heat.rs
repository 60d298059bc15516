//! The heat map: columns of time, log buckets of response time, counts as colour.
//!
//! The colour of a count n is its level on a logarithmic scale from 1 to the greatest count of all
//! panels. A level is one path, so a map costs a few bytes a cell, and cells of a level that stand
//! upon each other are one rectangle.

use std::fmt::Write;

use super::figure::{Figure, Panel};
use super::unit::whole;
use crate::Markup;

/// How many colours there are; the style sheet has as many, `h0` … `h11`.
pub const LEVELS: usize = 12;

/// The classes of the levels, least first.
pub(super) const CLASSES: [&str; LEVELS] =
    ["h0", "h1", "h2", "h3", "h4", "h5", "h6", "h7", "h8", "h9", "h10", "h11"];

/// The level of a count, where `greatest` has the last.
fn level(count: f64, greatest: f64) -> usize {
    if greatest <= 1.0 {
        return LEVELS - 1;
    }
    let share = count.max(1.0).ln() / greatest.ln();
    #[expect(clippy::cast_possible_truncation, reason = "below LEVELS")]
    let level = (share * LEVELS as f64) as usize;
    level.min(LEVELS - 1)
}

/// The least count that has a level.
fn least_of(level: usize, greatest: f64) -> f64 {
    greatest.max(1.0).powf(level as f64 / LEVELS as f64).ceil()
}

/// Writes the cells of a panel, in a view box of one unit a column and a bucket.
pub fn write(m: &mut Markup, figure: &Figure, panel: &Panel) {
    let greatest = greatest(figure);
    for (wanted, class) in CLASSES.iter().enumerate() {
        let path = path(panel, figure.axis.columns(), wanted, greatest);
        if !path.is_empty() {
            m.shape("path", &[("class", &format!("b {class}")), ("d", &path)]);
        }
    }
}

fn greatest(figure: &Figure) -> f64 {
    let values = figure.panels.iter().flat_map(|p| &p.series).flat_map(|s| &s.values);
    values.flatten().copied().fold(0.0, f64::max)
}

fn path(panel: &Panel, columns: usize, wanted: usize, greatest: f64) -> String {
    let mut path = String::new();
    let buckets = panel.series.len();
    let has = |bucket: usize, column: usize| {
        let value = panel.series[bucket].values.get(column).copied().flatten();
        value.is_some_and(|count| count > 0.0 && level(count, greatest) == wanted)
    };
    for column in 0..columns {
        let mut bucket = 0;
        while bucket < buckets {
            let first = bucket;
            while bucket < buckets && has(bucket, column) {
                bucket += 1;
            }
            if bucket > first {
                let (top, height) = (buckets - bucket, bucket - first);
                let _ = write!(path, "M{column} {top}h1v{height}h-1z");
            } else {
                bucket += 1;
            }
        }
    }
    path
}

/// Writes the strip of colours with the counts they stand for.
pub fn write_legend(m: &mut Markup, greatest: f64) {
    m.tag("span", &[("class", &"strip")], |m| {
        m.leaf("span", &[], "1");
        for (level, class) in CLASSES.iter().enumerate() {
            let title = format!("from {}", whole(least_of(level, greatest)));
            m.leaf("i", &[("class", &format!("key cell {class}")), ("title", &title)], "");
        }
        m.leaf("span", &[], most(greatest));
    });
}

/// What the last colour reaches up to.
pub(super) fn most(greatest: f64) -> String {
    whole(greatest)
}

/// The edges of log buckets that hold everything from `least` to `most` (both above zero): as many
/// a decade as keeps them below `limit`.
pub fn edges(least: f64, most: f64, limit: usize) -> Vec<f64> {
    for per_decade in [20.0, 16.0, 12.0, 10.0, 8.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0] {
        let first = (least.log10() * per_decade + 1e-9).floor();
        let last = ((most.log10() * per_decade - 1e-9).floor() + 1.0).max(first + 1.0);
        let count = last - first;
        if count <= limit as f64 {
            let mut edges = Vec::new();
            let mut k = first;
            while k <= last {
                edges.push(10f64.powf(k / per_decade));
                k += 1.0;
            }
            return edges;
        }
    }
    vec![least, most]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::figure::Series;
    use proptest::prelude::*;

    #[test]
    fn equal_neighbours_become_one_rectangle() {
        let column = |n: f64| vec![Some(n)];
        let panel = Panel {
            series: [100.0, 100.0, 1.0, 100.0]
                .into_iter()
                .map(|n| Series::new("", "", column(n)))
                .collect(),
            ..Panel::default()
        };
        assert_eq!(path(&panel, 1, LEVELS - 1, 100.0), "M0 2h1v2h-1zM0 0h1v1h-1z");
        assert_eq!(path(&panel, 1, 0, 100.0), "M0 1h1v1h-1z");
    }

    #[test]
    fn one_count_everywhere_is_the_last_level() {
        assert_eq!(level(1.0, 1.0), LEVELS - 1);
        assert_eq!(level(1.0, 1000.0), 0);
        assert_eq!(level(1000.0, 1000.0), LEVELS - 1);
    }

    proptest! {
        #[test]
        fn buckets_hold_what_they_were_made_for(least in 1e-3f64..1e6, ratio in 1.0f64..1e9) {
            let most = least * ratio;
            let edges = edges(least, most, 48);
            prop_assert!(edges.len() >= 2 && edges.len() <= 49);
            prop_assert!(edges.is_sorted());
            prop_assert!(edges[0] <= least * (1.0 + 1e-6));
            prop_assert!(edges[edges.len() - 1] >= most * (1.0 - 1e-6));
        }

        #[test]
        fn levels_rise_with_counts(a in 1.0f64..1e6, b in 1.0f64..1e6) {
            let (a, b) = if a < b { (a, b) } else { (b, a) };
            prop_assert!(level(a, b) <= level(b, b));
            prop_assert_eq!(level(b, b), LEVELS - 1);
        }
    }
}
