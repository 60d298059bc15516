//! A contour of latency over percentile and rate: cells filled by level, levels equal on a
//! logarithmic scale, and the line on which the latency is the bound of the SLO.

use std::fmt::Write;

use super::frame::{HEIGHT, WIDTH};
use super::heat::{CLASSES, LEVELS};
use super::unit::micros;
use crate::Markup;

/// The greatest percentile; the vertical axis goes from 0 to 100.
pub const PERCENTILES: usize = 99;

/// The latencies of a plane: by column of rates, then by percentile from 1 to 99.
#[derive(Debug, Clone)]
pub struct Contour {
    /// The rate at the left edge.
    pub from: f64,
    /// The rate at the right edge.
    pub to: f64,
    /// Latencies in µs; `None` where there is none.
    pub columns: Vec<Vec<Option<f64>>>,
    /// How many rows the table has, for the read-out.
    pub rows: usize,
}

impl Contour {
    /// How many rows the table has.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The least and the greatest latency above zero.
    fn extent(&self) -> (f64, f64) {
        let values = self.columns.iter().flatten().flatten().copied().filter(|&v| v > 0.0);
        values.fold((f64::INFINITY, 0.0), |(low, high), v| (v.min(low), v.max(high)))
    }

    /// Writes the cells, in a plot whose right edge is the rate `end`.
    pub fn write(&self, m: &mut Markup, end: f64) {
        let extent = self.extent();
        for (wanted, class) in CLASSES.iter().enumerate() {
            let path = self.path(wanted, extent, end);
            if !path.is_empty() {
                m.shape("path", &[("class", &format!("b {class}")), ("d", &path)]);
            }
        }
    }

    /// All cells of a level: those of a column that stand upon each other are one rectangle.
    fn path(&self, wanted: usize, extent: (f64, f64), end: f64) -> String {
        let mut path = String::new();
        let width = (self.to - self.from) / self.columns.len().max(1) as f64 / end * WIDTH;
        // Rounded at the edges, so that no gap opens between two columns.
        let edge = |n: usize| ((self.from / end * WIDTH + n as f64 * width) * 10.0).round() / 10.0;
        let row = HEIGHT / 100.0;
        for (column, values) in self.columns.iter().enumerate() {
            let x = edge(column);
            let width = edge(column + 1) - x;
            let has = |index: usize| {
                let value = values.get(index).copied().flatten();
                value.is_some_and(|value| level(value, extent) == wanted)
            };
            let mut index = 0;
            while index < PERCENTILES {
                let first = index;
                while index < PERCENTILES && has(index) {
                    index += 1;
                }
                if index > first {
                    // The cell of percentile p reaches from p − 0.5 to p + 0.5.
                    let top = HEIGHT - (index as f64 + 0.5) * row;
                    let height = (index - first) as f64 * row;
                    let _ = write!(path, "M{x:.1} {top:.1}h{width:.1}v{height:.1}h-{width:.1}z");
                } else {
                    index += 1;
                }
            }
        }
        path
    }

    /// The line on which the latency is `bound`, µs: rates and percentiles, in pieces.
    pub fn isoline(&self, bound: f64) -> Vec<Vec<(f64, f64)>> {
        let width = (self.to - self.from) / self.columns.len().max(1) as f64;
        let mut pieces = vec![Vec::new()];
        for (column, values) in self.columns.iter().enumerate() {
            let rate = self.from + (column as f64 + 0.5) * width;
            match crossing(values, bound) {
                Some(percentile) => {
                    if let Some(piece) = pieces.last_mut() {
                        piece.push((rate, percentile));
                    }
                }
                None => pieces.push(Vec::new()),
            }
        }
        pieces.retain(|piece| !piece.is_empty());
        pieces
    }

    /// What the first colour begins with, and the last reaches up to.
    pub(super) fn ends(&self) -> (String, String) {
        let (low, high) = self.extent();
        (micros(low), micros(high))
    }

    /// Writes the strip of colours with the latencies they stand for.
    pub fn write_legend(&self, m: &mut Markup) {
        let (low, high) = self.extent();
        m.tag("span", &[("class", &"strip")], |m| {
            m.leaf("span", &[], micros(low));
            for (level, class) in CLASSES.iter().enumerate() {
                let from = low * (high / low).powf(level as f64 / LEVELS as f64);
                let title = format!("from {}", micros(from));
                m.leaf("i", &[("class", &format!("key cell {class}")), ("title", &title)], "");
            }
            m.leaf("span", &[], micros(high));
        });
    }
}

/// The percentile at which a column passes the bound, between two neighbours by their logarithms.
fn crossing(values: &[Option<f64>], bound: f64) -> Option<f64> {
    values.windows(2).enumerate().find_map(|(index, two)| {
        let (below, above) = (two[0]?, two[1]?);
        if !(below > 0.0 && below < bound && above >= bound) {
            return None;
        }
        Some(index as f64 + 1.0 + (bound / below).ln() / (above / below).ln())
    })
}

/// The level of a latency between the least and the greatest.
pub(super) fn level(value: f64, (low, high): (f64, f64)) -> usize {
    if high <= low || value <= low {
        return 0;
    }
    #[expect(clippy::cast_possible_truncation, reason = "below LEVELS")]
    let level = ((value / low).ln() / (high / low).ln() * LEVELS as f64) as usize;
    level.min(LEVELS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plane(columns: Vec<Vec<Option<f64>>>) -> Contour {
        Contour { from: 10.0, to: 20.0, columns, rows: 33 }
    }

    #[test]
    fn the_isoline_stands_between_the_neighbours_by_logarithm() {
        let column: Vec<Option<f64>> = vec![Some(10.0), Some(100.0), Some(10_000.0)];
        assert_eq!(crossing(&column, 1000.0), Some(2.5));
        assert_eq!(crossing(&column, 5.0), None);
        assert_eq!(crossing(&[Some(1.0), None, Some(9.0)], 3.0), None, "not over a gap");
    }

    #[test]
    fn the_isoline_is_broken_where_the_bound_is_not_passed() {
        let passes = vec![Some(1.0), Some(100.0)];
        let contour = plane(vec![passes.clone(), vec![Some(1.0), Some(2.0)], passes]);
        let pieces = contour.isoline(10.0);
        assert_eq!(pieces.len(), 2);
        assert!((pieces[1][0].0 - 18.333).abs() < 1e-3);
    }

    #[test]
    fn cells_of_a_level_are_one_rectangle() {
        let contour = plane(vec![vec![Some(5.0); PERCENTILES], vec![None; PERCENTILES]]);
        let path = contour.path(0, contour.extent(), 20.0);
        assert_eq!(path, "M500.0 1.1h250.0v217.8h-250.0z");
    }

    #[test]
    fn levels_are_equal_by_logarithm() {
        let extent = (1.0, 1e12);
        assert_eq!(level(1.0, extent), 0);
        assert_eq!(level(9.0, extent), 0);
        assert_eq!(level(11.0, extent), 1);
        assert_eq!(level(1e12, extent), LEVELS - 1);
        assert_eq!(level(3.0, (3.0, 3.0)), 0);
    }
}
