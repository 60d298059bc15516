//! Stacked bars, lying: a row a group, each as long as its whole, so that parts compare as shares.
//! All rows have the same parts in the same order, with a gap between them: a reader who does not
//! tell two colours apart goes by the order, which is that of the legend. One part may be hollow:
//! what is missing, beside what is there.

use super::Chart;
use super::frame::{self, percent};
use super::label::shortened;
use super::plot::Table;
use super::range::Range;
use super::sheet::{Mark, Sheet};
use super::unit::Unit;
use crate::{Attribute, Markup};

/// Height of a row: the name above, the bar below.
const ROW: f64 = 36.0;
/// Where the bar begins in its row, and its height.
const TOP: f64 = 18.0;
const HEIGHT: f64 = 12.0;
/// The most characters of a name in the picture; the table has all of it.
const MOST_NAME: usize = 48;
/// Parts of less than this share have no gap beside them: it would hide them.
const LEAST_WITH_GAP: f64 = 0.01;

/// A part that every bar has.
#[derive(Debug, Clone)]
pub struct Part {
    /// What it is.
    pub name: &'static str,
    /// Its classes: a tone, and `hollow` where it is not filled.
    pub class: &'static str,
}

/// One bar.
#[derive(Debug, Clone)]
pub struct Row {
    /// What it is of.
    pub name: String,
    /// What stands at its right end; may be empty.
    pub says: String,
    /// The share of each part, in order.
    pub shares: Vec<f64>,
}

/// A figure of bars.
#[derive(Debug, Clone)]
pub struct Bars {
    /// Unique in the page; a letter first.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// How to read it.
    pub note: String,
    /// What the axis counts.
    pub measure: &'static str,
    /// The parts, from the left.
    pub parts: Vec<Part>,
    /// The bars, from above.
    pub rows: Vec<Row>,
    /// Its values.
    pub table: Table,
}

impl Chart for Bars {
    fn caption(&self) -> (&str, &str) {
        (&self.title, &self.note)
    }

    fn is_quiet(&self) -> bool {
        self.rows.is_empty()
    }

    fn write(&self, m: &mut Markup) {
        m.tag("figure", &[("class", &"fig"), ("id", &self.id)], |m| {
            frame::write_caption(m, self.caption());
            m.tag("div", &[("class", &"legend")], |m| {
                for part in &self.parts {
                    m.tag("span", &[], |m| {
                        m.leaf("i", &[("class", &format!("key block {}", part.class))], "");
                        m.text(part.name);
                    });
                }
            });
            m.tag("div", &[("class", &"panel")], |m| {
                m.tag("div", &[("class", &"plot boxes bars")], |m| self.write_chart(m));
                m.leaf("p", &[("class", &"axis across")], self.measure);
                self.table.write(m);
            });
        });
    }

    fn draw(&self, sheet: &mut Sheet) {
        for part in &self.parts {
            sheet.key(&Mark::Class(&format!("block {}", part.class)), part.name);
        }
        let height = self.rows.len() as f64 * ROW;
        sheet.panel(&frame::around_rows(self.measure, height), |m| self.write_layers(m, height));
    }
}

impl Bars {
    fn write_chart(&self, m: &mut Markup) {
        let label = format!("{}. The values are in the table.", self.title);
        let height = self.rows.len() as f64 * ROW;
        let attributes: &[Attribute<'_>] = &[
            ("class", &"chart"),
            ("role", &"img"),
            ("aria-label", &label),
            ("width", &"100%"),
            ("height", &height),
        ];
        m.tag("svg", attributes, |m| self.write_layers(m, height));
    }

    fn write_layers(&self, m: &mut Markup, height: f64) {
        write_axis(m, height);
        for (index, row) in self.rows.iter().enumerate() {
            self.write_row(m, row, index as f64 * ROW);
        }
    }

    fn write_row(&self, m: &mut Markup, row: &Row, top: f64) {
        let name = shortened(&row.name, MOST_NAME);
        let y = top + TOP - 5.0;
        m.leaf("text", &[("class", &"box-name"), ("y", &y)], name);
        if !row.says.is_empty() {
            let attributes: &[Attribute<'_>] = &[("class", &"y"), ("x", &"100%"), ("y", &y)];
            m.leaf("text", attributes, &row.says);
        }
        let mut left = 0.0;
        for (part, share) in self.parts.iter().zip(row.shares.iter().map(|&share| sane(share))) {
            if share <= 0.0 {
                continue;
            }
            let (class, x) = (format!("part {}", part.class), percent(left));
            let attributes: &[Attribute<'_>] = &[
                ("class", &class),
                ("x", &x),
                ("width", &percent(share)),
                ("y", &(top + TOP)),
                ("height", &HEIGHT),
            ];
            m.shape("rect", attributes);
            if left > 0.0 && share >= LEAST_WITH_GAP {
                let attributes: &[Attribute<'_>] = &[
                    ("class", &"gap"),
                    ("x1", &x),
                    ("x2", &x),
                    ("y1", &(top + TOP)),
                    ("y2", &(top + TOP + HEIGHT)),
                ];
                m.shape("line", attributes);
            }
            left += share;
        }
    }
}

fn sane(share: f64) -> f64 {
    if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 }
}

/// The axis: shares from none to all.
fn write_axis(m: &mut Markup, height: f64) {
    let range = Range { low: 0.0, high: 1.0, step: 0.25 };
    for (index, value) in range.ticks().into_iter().enumerate() {
        let x = percent(value);
        let attributes: &[Attribute<'_>] =
            &[("class", &"grid"), ("x1", &x), ("x2", &x), ("y2", &height)];
        m.shape("line", attributes);
        let class = if index % 2 == 0 { "x" } else { "x odd" };
        let attributes: &[Attribute<'_>] = &[("class", &class), ("x", &x), ("y", &(height + 18.0))];
        m.leaf("text", attributes, Unit::Share.tick(value, range.high));
    }
    let y = format!("{height}");
    m.shape("line", &[("class", &"base"), ("x2", &"100%"), ("y1", &y), ("y2", &y)]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_stand_beside_each_other_as_wide_as_their_shares() {
        let part = |name, class| Part { name, class };
        let row = |name: &str, shares: &[f64]| Row {
            name: name.to_owned(),
            says: "x".to_owned(),
            shares: shares.to_vec(),
        };
        let bars = Bars {
            id: "b".to_owned(),
            title: String::new(),
            note: String::new(),
            measure: "",
            parts: vec![part("memory", "c5"), part("disk", "c0"), part("origin", "c7 hollow")],
            table: Table::default(),
            rows: vec![row("<a>", &[0.25, 0.0, 0.75]), row("b", &[0.2, 0.001, f64::NAN])],
        };
        let mut m = Markup::default();
        bars.write(&mut m);
        let page = m.finish();
        for found in [
            "<rect class=\"part c5\" x=\"0%\" width=\"25%\" y=\"18\" height=\"12\"/>",
            "<rect class=\"part c7 hollow\" x=\"25%\" width=\"75%\" y=\"18\" height=\"12\"/>",
            "<line class=\"gap\" x1=\"25%\" x2=\"25%\" y1=\"18\" y2=\"30\"/>",
            "<rect class=\"part c0\" x=\"20%\" width=\"0.1%\" y=\"54\" height=\"12\"/>",
            "&lt;a&gt;",
        ] {
            assert!(page.contains(found), "{found} in {page}");
        }
        // None where a part is nothing, and no gap beside a part that it would hide.
        assert_eq!((page.matches("<rect").count(), page.matches("\"gap\"").count()), (4, 1));
    }
}
