//! The surface of latency over percentile and rate, as a drawing: parallel projection, the far end
//! first, so that what is nearer covers what is behind it. Colours are those of the contour.
//!
//! The rate rises to the right and the percentile to the left, both away from the reader: the high
//! latencies stand behind and hide nothing.

use std::fmt::Write;

use super::Chart;
use super::contour::level;
use super::frame;
use super::heat::CLASSES;
use super::scale::Scale;
use super::sheet::{self, Around, Sheet};
use super::unit::Unit;
use crate::{Attribute, Markup};

/// Rates, and percentiles, of the grid.
pub const SIDE: usize = 30;
/// The drawing's size, and where its nearest corner stands.
const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 400.0;
const FRONT: (f64, f64) = (380.0, 372.0);
/// How far an axis reaches to the side and to the back, and how high the surface rises.
const ASIDE: f64 = 300.0;
const BACK: f64 = 92.0;
const RISE: f64 = 172.0;
/// Ticks of the percentiles.
const PERCENTILES: [usize; 5] = [1, 25, 50, 75, 99];

/// The surface.
#[derive(Debug, Clone)]
pub struct Surface {
    /// Unique in the page.
    pub id: String,
    /// What it shows.
    pub title: &'static str,
    /// How to read it.
    pub note: String,
    /// The least and the greatest rate.
    pub rates: (f64, f64),
    /// Latencies in µs, by rate, then by percentile; `None` where there is none.
    pub columns: Vec<Vec<Option<f64>>>,
    /// The SLO's bound in µs; 0 where there is none.
    pub bound: f64,
    /// Where the latency is the bound: rates and percentiles, in pieces.
    pub isoline: Vec<Vec<(f64, f64)>>,
}

/// The percentile of a row.
pub fn percentile(row: usize) -> usize {
    (98 * row + (SIDE - 1) / 2) / (SIDE - 1) + 1
}

/// Where a point of the box stands: rate, percentile and height as shares of their axes.
fn place(rate: f64, percentile: f64, height: f64) -> (f64, f64) {
    let (x, y) = FRONT;
    (x + ASIDE * (rate - percentile), y - BACK * (rate + percentile) - RISE * height)
}

impl Surface {
    fn extent(&self) -> Option<(f64, f64)> {
        let values = self.columns.iter().flatten().flatten().copied().filter(|&us| us > 0.0);
        let of = values.fold((f64::INFINITY, 0.0), |(low, high), us| (us.min(low), us.max(high)));
        (of.1 > 0.0).then_some(of)
    }

    /// The cells of a diagonal stand beside each other; those of one colour are one path.
    fn write_cells(&self, m: &mut Markup, scale: Scale, extent: (f64, f64)) {
        for diagonal in (0..2 * (SIDE - 1)).rev() {
            let mut paths = vec![String::new(); CLASSES.len()];
            for column in diagonal.saturating_sub(SIDE - 2)..=diagonal.min(SIDE - 2) {
                if let Some((level, path)) = self.cell(column, diagonal - column, scale, extent) {
                    paths[level].push_str(&path);
                }
            }
            for (path, class) in paths.iter().zip(CLASSES).filter(|(path, _)| !path.is_empty()) {
                m.shape("path", &[("class", &format!("cell3 {class}")), ("d", path)]);
            }
        }
    }

    /// The colour and the outline of the cell beyond a point of the grid.
    fn cell(
        &self,
        column: usize,
        row: usize,
        scale: Scale,
        extent: (f64, f64),
    ) -> Option<(usize, String)> {
        let share = |n: usize| n as f64 / (SIDE - 1) as f64;
        let (mut path, mut sum) = (String::new(), 0.0);
        for (n, (right, left)) in [(0, 0), (1, 0), (1, 1), (0, 1)].into_iter().enumerate() {
            let (column, row) = (column + right, row + left);
            let us =
                self.columns.get(column)?.get(row).copied().flatten().filter(|&us| us > 0.0)?;
            sum += us.ln();
            let (x, y) = place(share(column), share(row), scale.at(us));
            let _ = write!(path, "{}{x:.0} {y:.1}", if n == 0 { 'M' } else { 'L' });
        }
        path.push('z');
        Some((level((sum / 4.0).exp(), extent), path))
    }

    fn write_layers(&self, m: &mut Markup, scale: Scale, extent: (f64, f64)) {
        write_box(m, scale);
        self.write_cells(m, scale, extent);
        self.write_bound(m, scale);
        self.write_ticks(m, scale);
    }

    fn write_bound(&self, m: &mut Markup, scale: Scale) {
        let (from, to) = self.rates;
        let mut path = String::new();
        for piece in &self.isoline {
            for (n, (rate, percentile)) in piece.iter().enumerate() {
                let (x, y) = place(
                    (rate - from) / (to - from),
                    (percentile - 1.0) / 98.0,
                    scale.at(self.bound),
                );
                let _ = write!(path, "{}{x:.1} {y:.1}", if n == 0 { 'M' } else { 'L' });
            }
        }
        if !path.is_empty() {
            m.shape("path", &[("class", &"l bound"), ("d", &path)]);
        }
    }

    fn write_ticks(&self, m: &mut Markup, scale: Scale) {
        let text = |m: &mut Markup, (x, y): (f64, f64), anchor: &str, label: String| {
            let (x, y) = (format!("{x:.0}"), format!("{y:.0}"));
            m.leaf("text", &[("x", &x), ("y", &y), ("text-anchor", &anchor)], label);
        };
        let (from, to) = self.rates;
        let rates = Scale::linear(to, 0.0).ticks();
        for rate in rates.into_iter().filter(|rate| (from..=to).contains(rate)) {
            let (x, y) = place((rate - from) / (to - from), 0.0, 0.0);
            let label = Unit::PerSecond.tick(rate, to);
            text(m, (x + 8.0, y + 16.0), "start", label);
        }
        for percentile in PERCENTILES {
            let (x, y) = place(0.0, (percentile as f64 - 1.0) / 98.0, 0.0);
            text(m, (x - 8.0, y + 16.0), "end", format!("p{percentile}"));
        }
        // At the floor stands the greatest rate already.
        for value in scale.ticks().into_iter().filter(|&value| scale.at(value) > 0.05) {
            let (x, y) = place(1.0, 0.0, scale.at(value));
            text(m, (x + 8.0, y + 4.0), "start", Unit::Micros.tick(value, value));
        }
    }
}

/// The floor and the two walls behind the surface, with lines at the ticks of its height.
fn write_box(m: &mut Markup, scale: Scale) {
    let line = |m: &mut Markup, points: &[(f64, f64)]| {
        let mut path = String::new();
        for (n, (x, y)) in points.iter().enumerate() {
            let _ = write!(path, "{}{x:.1} {y:.1}", if n == 0 { 'M' } else { 'L' });
        }
        m.shape("path", &[("class", &"wall"), ("d", &path)]);
    };
    let floor = [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0), (0.0, 0.0)];
    line(m, &floor.map(|(rate, percentile)| place(rate, percentile, 0.0)));
    for value in scale.ticks() {
        let height = scale.at(value);
        line(m, &[(1.0, 0.0), (1.0, 1.0), (0.0, 1.0)].map(|(r, p)| place(r, p, height)));
    }
    for (rate, percentile) in [(1.0, 0.0), (1.0, 1.0), (0.0, 1.0)] {
        line(m, &[place(rate, percentile, 0.0), place(rate, percentile, 1.0)]);
    }
}

impl Chart for Surface {
    fn caption(&self) -> (&str, &str) {
        (self.title, &self.note)
    }

    fn is_quiet(&self) -> bool {
        self.extent().is_none()
    }

    fn write(&self, m: &mut Markup) {
        let Some(extent) = self.extent() else { return };
        let scale = Scale::log(extent.0, extent.1);
        m.tag("figure", &[("class", &"fig wide"), ("id", &self.id)], |m| {
            frame::write_caption(m, self.caption());
            let view = format!("0 0 {WIDTH} {HEIGHT}");
            let label = format!("{}. The values are in the contour's table.", self.title);
            let attributes: &[Attribute<'_>] = &[
                ("class", &"chart surface"),
                ("role", &"img"),
                ("aria-label", &label),
                ("viewBox", &view),
            ];
            m.tag("svg", attributes, |m| self.write_layers(m, scale, extent));
        });
    }

    fn draw(&self, sheet: &mut Sheet) {
        let Some(extent) = self.extent() else { return };
        let scale = Scale::log(extent.0, extent.1);
        // As much as the sheet is narrower, the drawing is smaller.
        let height = HEIGHT * (sheet::WIDTH - 2.0 * sheet::SIDE) / WIDTH;
        let view = Some((WIDTH, HEIGHT));
        let around = Around {
            heading: "",
            above: "",
            below: "",
            free: (sheet::SIDE, 0.0, 0.0),
            height,
            view,
        };
        sheet.panel(&around, |m| self.write_layers(m, scale, extent));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_go_from_the_first_percentile_to_the_last() {
        assert_eq!((percentile(0), percentile(SIDE - 1)), (1, 99));
        assert!((1..SIDE).all(|row| percentile(row) > percentile(row - 1)));
    }

    #[test]
    fn the_drawing_stays_in_its_box() {
        for corner in 0..8 {
            let share = |bit: u32| f64::from(corner >> bit & 1);
            let (x, y) = place(share(0), share(1), share(2));
            assert!((60.0..=WIDTH - 60.0).contains(&x) && (10.0..HEIGHT).contains(&y), "{x} {y}");
        }
    }

    #[test]
    fn what_was_not_answered_leaves_a_hole() {
        let mut columns = vec![vec![Some(100.0); SIDE]; SIDE];
        columns[3][4] = None;
        let surface = Surface {
            id: "surface-0".to_owned(),
            title: "",
            note: String::new(),
            rates: (1.0, 2.0),
            columns,
            bound: 0.0,
            isoline: Vec::new(),
        };
        let scale = Scale::log(10.0, 1000.0);
        let cells = (0..SIDE - 1).flat_map(|c| (0..SIDE - 1).map(move |r| (c, r)));
        let holes = cells.filter(|&(c, r)| surface.cell(c, r, scale, (10.0, 1000.0)).is_none());
        assert_eq!(holes.collect::<Vec<_>>(), [(2, 3), (2, 4), (3, 3), (3, 4)]);
    }
}
