//! Box plots: a row a group, boxes lying, so that long names stand above them and all boxes share
//! one axis. Whiskers are Tukey's (`plimsoll_stats::box_plot`); what lies beyond is a dot.

use super::Chart;
use super::frame::{self, percent};
use super::label::shortened;
use super::plot::Table;
use super::range::Range;
use super::sheet::Sheet;
use super::symbol::Symbol;
use super::unit::Unit;
use crate::{Attribute, Markup};

/// Height of a row: the name above, the box below.
const ROW: f64 = 50.0;
/// The middle of the box in its row.
const MIDDLE: f64 = 33.0;
/// Half the height of a box, and of a whisker's end.
const HALF: f64 = 9.0;
const END: f64 = 5.0;
/// The most characters of a name in the picture; the table has all of it.
const MOST_NAME: usize = 44;

/// What is drawn of a sample: its quartiles, how far its whiskers reach, and what lies beyond them.
#[derive(Debug, Clone, PartialEq)]
pub struct Spread {
    /// Where the lower whisker ends.
    pub whisker_low: f64,
    /// The lower quartile.
    pub q1: f64,
    /// The median.
    pub median: f64,
    /// The upper quartile.
    pub q3: f64,
    /// Where the upper whisker ends.
    pub whisker_high: f64,
    /// The values beyond the whiskers.
    pub outliers: Vec<f64>,
}

/// One box.
#[derive(Debug, Clone)]
pub struct Row {
    /// What it is of.
    pub name: String,
    /// Its colour.
    pub tone: &'static str,
    /// Its figures; `None` where there is nothing to draw.
    pub plot: Option<Spread>,
}

/// A figure of boxes.
#[derive(Debug, Clone)]
pub struct Boxes {
    /// Unique in the page; a letter first.
    pub id: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// How to read it.
    pub note: String,
    /// What the axis counts.
    pub measure: &'static str,
    /// The axis.
    pub range: Range,
    /// What the values are.
    pub unit: Unit,
    /// The boxes, from above.
    pub rows: Vec<Row>,
    /// Its values.
    pub table: Table,
}

impl Chart for Boxes {
    fn caption(&self) -> (&str, &str) {
        (self.title, &self.note)
    }

    fn is_quiet(&self) -> bool {
        self.rows.is_empty()
    }

    fn write(&self, m: &mut Markup) {
        m.tag("figure", &[("class", &"fig wide"), ("id", &self.id)], |m| {
            frame::write_caption(m, self.caption());
            m.tag("div", &[("class", &"panel")], |m| {
                m.tag("div", &[("class", &"plot boxes")], |m| self.write_chart(m));
                m.leaf("p", &[("class", &"axis across")], self.measure);
                self.table.write(m);
            });
        });
    }

    fn draw(&self, sheet: &mut Sheet) {
        let around = frame::around_rows(self.measure, self.height());
        sheet.panel(&around, |m| self.write_layers(m));
    }
}

impl Boxes {
    fn height(&self) -> f64 {
        self.rows.len() as f64 * ROW
    }

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

    fn write_layers(&self, m: &mut Markup) {
        self.write_axis(m);
        for (index, row) in self.rows.iter().enumerate() {
            self.write_row(m, row, index as f64 * ROW);
        }
    }

    fn write_axis(&self, m: &mut Markup) {
        let height = self.height();
        for (index, value) in self.range.ticks().into_iter().enumerate() {
            let x = percent(self.range.at(value));
            let attributes: &[Attribute<'_>] =
                &[("class", &"grid"), ("x1", &x), ("x2", &x), ("y2", &height)];
            m.shape("line", attributes);
            let class = if index % 2 == 0 { "x" } else { "x odd" };
            let label = self.unit.tick(value, self.range.high);
            m.leaf("text", &[("class", &class), ("x", &x), ("y", &(height + 18.0))], label);
        }
        let y = format!("{height}");
        m.shape("line", &[("class", &"base"), ("x2", &"100%"), ("y1", &y), ("y2", &y)]);
    }

    fn write_row(&self, m: &mut Markup, row: &Row, top: f64) {
        let name = shortened(&row.name, MOST_NAME);
        m.leaf("text", &[("class", &"box-name"), ("y", &(top + 15.0))], name);
        let Some(plot) = &row.plot else {
            let text = "no estimate";
            m.leaf("text", &[("class", &"none"), ("y", &(top + MIDDLE + 4.0))], text);
            return;
        };
        let middle = top + MIDDLE;
        let x = |value: f64| percent(self.range.at(value));
        let line = |m: &mut Markup, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)| {
            let class = format!("{class} {}", row.tone);
            let (x1, x2) = (x(x1), x(x2));
            let attributes: &[Attribute<'_>] =
                &[("class", &class), ("x1", &x1), ("x2", &x2), ("y1", &y1), ("y2", &y2)];
            m.shape("line", attributes);
        };
        for (end, edge) in [(plot.whisker_low, plot.q1), (plot.whisker_high, plot.q3)] {
            line(m, "whisker", (end, middle), (edge, middle));
            line(m, "whisker", (end, middle - END), (end, middle + END));
        }
        let width = self.range.at(plot.q3) - self.range.at(plot.q1);
        let attributes: &[Attribute<'_>] = &[
            ("class", &format!("box {}", row.tone)),
            ("x", &x(plot.q1)),
            ("width", &percent(width)),
            ("y", &(middle - HALF)),
            ("height", &(2.0 * HALF)),
        ];
        m.shape("rect", attributes);
        let (above, below) = ((plot.median, middle - HALF), (plot.median, middle + HALF));
        line(m, "median", above, below);
        for value in &plot.outliers {
            Symbol::Disc.write(m, row.tone, &x(*value), &format!("{middle}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_stands_where_its_figures_say() {
        let plot = Some(Spread {
            whisker_low: 10.0,
            q1: 22.5,
            median: 35.0,
            q3: 47.5,
            whisker_high: 50.0,
            outliers: vec![100.0],
        });
        let range = Range { low: 0.0, high: 100.0, step: 20.0 };
        let rows = vec![
            Row { name: "a".to_owned(), tone: "c0", plot },
            Row { name: "<b>".repeat(30), tone: "c1", plot: None },
        ];
        let (note, unit, table) = (String::new(), Unit::PerSecond, Table::default());
        let boxes = Boxes { id: "x", title: "", note, measure: "", range, unit, rows, table };
        let mut m = Markup::default();
        boxes.write(&mut m);
        let page = m.finish();
        // Quartiles at 22.5 and 47.5, the whisker to 50, and 100 beyond it.
        assert!(
            page.contains("<rect class=\"box c0\" x=\"22.5%\" width=\"25%\" y=\"24\""),
            "{page}"
        );
        assert!(page.contains("<line class=\"median c0\" x1=\"35%\" x2=\"35%\""), "{page}");
        assert!(page.contains("<svg class=\"at\" x=\"100%\" y=\"33\">"), "{page}");
        assert!(page.contains("no estimate") && !page.contains("<b>") && page.contains('…'));
    }
}
