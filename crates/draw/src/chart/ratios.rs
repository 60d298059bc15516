//! Ratios with their intervals, lying: a row each, its name above, on one logarithmic axis with a
//! line at 1. Doubling and halving are equally far from that line.

use super::Chart;
use super::frame::{self, percent};
use super::label::shortened;
use super::plot::Table;
use super::sheet::Sheet;
use super::symbol::Symbol;
use crate::{Attribute, Markup};

/// Height of a row: the name above, the value below.
const ROW: f64 = 38.0;
/// The middle of the value in its row.
const MIDDLE: f64 = 26.0;
/// Half the height of an interval's end.
const END: f64 = 5.0;
/// The most characters of a name in the picture; the table has all of it.
const MOST_NAME: usize = 56;
/// The least ratio of the axis' ends to 1: small effects do not fill the chart.
const LEAST: f64 = 1.25;
/// About so many ticks.
const TICKS: f64 = 6.0;

/// A ratio.
#[derive(Debug, Clone)]
pub struct Row {
    /// What it is of.
    pub name: String,
    /// What stands at its right end; may be empty.
    pub says: String,
    /// Its shape and its colour.
    pub mark: (Symbol, &'static str),
    /// The ratio, above zero.
    pub value: f64,
    /// Its interval, where it has one.
    pub interval: Option<(f64, f64)>,
}

/// A figure of ratios.
#[derive(Debug, Clone)]
pub struct Ratios {
    /// Unique in the page; a letter first.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// How to read it.
    pub note: String,
    /// What the axis counts.
    pub measure: String,
    /// The ratios, from above.
    pub rows: Vec<Row>,
    /// Its values.
    pub table: Table,
}

/// The axis: the powers of a base that lie between its ends.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Powers {
    base: f64,
    first: i32,
    last: i32,
}

impl Powers {
    /// An axis that holds all values and 1.
    fn over(values: impl Iterator<Item = f64>) -> Self {
        let usable = values.filter(|value| value.is_finite() && *value > 0.0);
        let (low, high) =
            usable.fold((1.0 / LEAST, LEAST), |(low, high), v| (low.min(v), high.max(v)));
        let base = [1.05, 1.1, 1.25, 1.5, 2.0, 4.0, 10.0, 100.0, 1e4, 1e8]
            .into_iter()
            .find(|base: &f64| (high / low).ln() / base.ln() <= TICKS)
            .unwrap_or(1e16);
        #[expect(clippy::cast_possible_truncation, reason = "a few powers")]
        let power = |value: f64, round: fn(f64) -> f64| round(value.ln() / base.ln()) as i32;
        let (first, last) = (power(low, f64::floor), power(high, f64::ceil));
        Self { base, first, last }
    }

    fn at(self, value: f64) -> f64 {
        let place = (value.ln() / self.base.ln() - f64::from(self.first))
            / f64::from(self.last - self.first);
        if place.is_nan() { 0.0 } else { place.clamp(0.0, 1.0) }
    }

    fn ticks(self) -> impl Iterator<Item = f64> {
        (self.first..=self.last).map(move |power| self.base.powi(power))
    }
}

/// A ratio as a tick has it: `× 0.5`, `× 1.1`, `× 100`.
fn tick(value: f64) -> String {
    let digits = if value >= 100.0 { 0 } else { 2 };
    let text = match value {
        value if value < 0.01 => format!("{value:.0e}"),
        value => format!("{value:.digits$}"),
    };
    let text = if text.contains('.') && !text.contains('e') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    };
    format!("× {text}")
}

impl Chart for Ratios {
    fn caption(&self) -> (&str, &str) {
        (&self.title, &self.note)
    }

    fn is_quiet(&self) -> bool {
        self.rows.is_empty()
    }

    fn write(&self, m: &mut Markup) {
        m.tag("figure", &[("class", &"fig wide"), ("id", &self.id)], |m| {
            frame::write_caption(m, self.caption());
            m.tag("div", &[("class", &"panel")], |m| {
                m.tag("div", &[("class", &"plot boxes ratios")], |m| self.write_chart(m));
                m.leaf("p", &[("class", &"axis across")], &self.measure);
                self.table.write(m);
            });
        });
    }

    fn draw(&self, sheet: &mut Sheet) {
        let around = frame::around_rows(&self.measure, self.height());
        sheet.panel(&around, |m| self.write_layers(m));
    }
}

impl Ratios {
    fn write_chart(&self, m: &mut Markup) {
        let label = format!("{}. The values are in the table.", self.title);
        let attributes: &[Attribute<'_>] = &[
            ("class", &"chart"),
            ("role", &"img"),
            ("aria-label", &label),
            ("width", &"100%"),
            ("height", &self.height()),
        ];
        m.tag("svg", attributes, |m| self.write_layers(m));
    }

    fn height(&self) -> f64 {
        self.rows.len() as f64 * ROW
    }

    fn write_layers(&self, m: &mut Markup) {
        let ends = self.rows.iter().flat_map(|row| {
            let (low, high) = row.interval.unwrap_or((row.value, row.value));
            [low, row.value, high]
        });
        let axis = Powers::over(ends);
        write_axis(m, axis, self.height());
        for (index, row) in self.rows.iter().enumerate() {
            write_row(m, axis, row, index as f64 * ROW);
        }
    }
}

fn write_axis(m: &mut Markup, axis: Powers, height: f64) {
    for (index, value) in axis.ticks().enumerate() {
        let x = percent(axis.at(value));
        let is_one = (value - 1.0).abs() < 1e-9;
        let class = if is_one { "base" } else { "grid" };
        let attributes: &[Attribute<'_>] =
            &[("class", &class), ("x1", &x), ("x2", &x), ("y2", &height)];
        m.shape("line", attributes);
        // The tick at 1 stands in every width; of the others every second gives way.
        let is_odd = (index as i64 + i64::from(axis.first)) % 2 != 0;
        let class = if is_odd { "x odd" } else { "x" };
        let attributes: &[Attribute<'_>] = &[("class", &class), ("x", &x), ("y", &(height + 18.0))];
        m.leaf("text", attributes, tick(value));
    }
}

fn write_row(m: &mut Markup, axis: Powers, row: &Row, top: f64) {
    let (name, y) = (shortened(&row.name, MOST_NAME), top + 12.0);
    m.leaf("text", &[("class", &"box-name"), ("y", &y)], name);
    if !row.says.is_empty() {
        // In a narrow chart the name needs the width; the table has the value.
        let attributes: &[Attribute<'_>] = &[("class", &"y long"), ("x", &"100%"), ("y", &y)];
        m.leaf("text", attributes, &row.says);
    }
    let (middle, x) = (top + MIDDLE, |value: f64| percent(axis.at(value)));
    let (symbol, tone) = row.mark;
    if let Some((low, high)) = row.interval {
        let class = format!("whisker {tone}");
        let mut line = |(from, y1): (f64, f64), (to, y2): (f64, f64)| {
            let (from, to) = (x(from), x(to));
            let attributes: &[Attribute<'_>] =
                &[("class", &class), ("x1", &from), ("x2", &to), ("y1", &y1), ("y2", &y2)];
            m.shape("line", attributes);
        };
        line((low, middle), (high, middle));
        for end in [low, high] {
            line((end, middle - END), (end, middle + END));
        }
    }
    symbol.write(m, tone, &x(row.value), &format!("{middle}"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn row(name: &str, value: f64, interval: Option<(f64, f64)>) -> Row {
        Row {
            name: name.to_owned(),
            says: String::new(),
            mark: (Symbol::Disc, "c0"),
            value,
            interval,
        }
    }

    #[test]
    fn doubling_and_halving_stand_equally_far_from_the_line_at_1() {
        let ratios = Ratios {
            id: "r".to_owned(),
            title: String::new(),
            note: String::new(),
            measure: String::new(),
            rows: vec![
                row("<a>", 2.0, Some((1.0, 4.0))),
                row("b", 0.5, None),
                row("c", 0.25, None),
            ],
            table: Table::default(),
        };
        let mut m = Markup::default();
        ratios.write(&mut m);
        let page = m.finish();
        // The axis goes from 1/4 to 4: 2 stands at three quarters, 0.5 at one.
        for found in [
            "<line class=\"base\" x1=\"50%\" x2=\"50%\"",
            "<line class=\"whisker c0\" x1=\"50%\" x2=\"100%\" y1=\"26\" y2=\"26\"/>",
            "<svg class=\"at\" x=\"75%\" y=\"26\">",
            "<svg class=\"at\" x=\"25%\" y=\"64\">",
            "× 0.25",
            "&lt;a&gt;",
        ] {
            assert!(page.contains(found), "{found} in {page}");
        }
    }

    #[test]
    fn ticks_are_short() {
        let found = [0.0005, 0.5, 1.0, 1.1025, 4.0, 100.0, 10_000.0].map(tick);
        assert_eq!(found, ["× 5e-4", "× 0.5", "× 1", "× 1.1", "× 4", "× 100", "× 10000"]);
    }

    proptest! {
        /// Whatever the values, the axis holds them and 1, has few ticks, and rises.
        #[test]
        fn an_axis_holds_its_values(values in prop::collection::vec(1e-6_f64..1e6, 0..20)) {
            let axis = Powers::over(values.iter().copied());
            let ticks: Vec<f64> = axis.ticks().collect();
            prop_assert!((2..=9).contains(&ticks.len()), "{axis:?}");
            prop_assert!(ticks.is_sorted() && ticks.iter().any(|of| (of - 1.0).abs() < 1e-9));
            for value in values {
                prop_assert!(value >= ticks[0] * (1.0 - 1e-9), "{axis:?} {value}");
                prop_assert!(value <= ticks[ticks.len() - 1] * (1.0 + 1e-9), "{axis:?} {value}");
            }
        }
    }
}
