//! A plot on which every value stands at its own place, not in one of equal columns: steps of
//! uneven length, curves over a rate. Frame, colours and read-outs are those of the other charts.

use std::fmt::{Display, Write};

use super::Chart;
use super::axis::Axis;
use super::contour::Contour;
use super::frame::{self, HEIGHT, WIDTH};
use super::label::{self, Label};
use super::scale::Scale;
use super::sheet::{Mark, Sheet};
use super::symbol::Symbol;
use super::unit::Unit;
use crate::{Attribute, Markup};

/// One entry of the legend.
#[derive(Debug, Clone)]
pub enum Key {
    /// A line or a block: its classes, its name.
    Line(String, String),
    /// A symbol, its colour, its name.
    Symbol(Symbol, &'static str, &'static str),
    /// What stands beside a symbol in the plot, and what it is short for.
    Letter(String, String),
}

/// A line of pieces; each piece is a row of points, horizontal value first.
#[derive(Debug, Clone)]
pub struct Line {
    /// Its classes: tone and stroke.
    pub class: String,
    /// Its pieces.
    pub pieces: Vec<Vec<(f64, f64)>>,
}

/// A value with its interval, across the plot or upright in it.
#[derive(Debug, Clone)]
pub struct Level {
    /// What it is called, beside its line.
    pub name: String,
    /// Its classes.
    pub class: &'static str,
    /// The value.
    pub value: f64,
    /// Its interval, shaded.
    pub interval: Option<(f64, f64)>,
}

/// The table behind a plot.
#[derive(Debug, Clone, Default)]
pub struct Table {
    /// Its id, by which a plot finds it.
    pub id: String,
    /// What opens it.
    pub summary: &'static str,
    /// The heads: text, and the classes of the line they belong to.
    pub heads: Vec<(String, String)>,
    /// The cells, row by row.
    pub rows: Vec<Vec<String>>,
}

/// A plot.
#[derive(Debug, Clone)]
pub struct Plot {
    /// Unique in the page; a letter first.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// How to read it.
    pub note: String,
    /// What the vertical axis counts.
    pub measure: String,
    /// The horizontal axis, for its ticks.
    pub axis: Axis,
    /// The horizontal value at the left end.
    pub start: f64,
    /// The horizontal value at the right end.
    pub end: f64,
    /// The vertical axis.
    pub scale: Scale,
    /// What the vertical values are.
    pub unit: Unit,
    /// The legend.
    pub keys: Vec<Key>,
    /// Levels across the plot.
    pub across: Vec<Level>,
    /// Levels upright in the plot.
    pub upright: Vec<Level>,
    /// Filled cells behind the lines.
    pub contour: Option<Contour>,
    /// Lines, the last at the back.
    pub lines: Vec<Line>,
    /// Symbols with their colours, at their places.
    pub symbols: Vec<(Symbol, &'static str, (f64, f64))>,
    /// Names beside places.
    pub labels: Vec<Label>,
    /// For the read-out: the table, and which of its columns.
    pub readout: (String, Vec<usize>),
    /// Its tables, in order.
    pub tables: Vec<Table>,
    /// For the read-out: where each row of the table begins, stands and ends.
    pub rows: Vec<(f64, f64, f64)>,
}

impl Plot {
    /// A plot from one horizontal value to another, without anything in it.
    pub fn empty(axis: Axis, (start, end): (f64, f64), scale: Scale, unit: Unit) -> Self {
        Self {
            id: String::new(),
            title: String::new(),
            note: String::new(),
            measure: String::new(),
            axis,
            start,
            end,
            scale,
            unit,
            keys: Vec::new(),
            across: Vec::new(),
            upright: Vec::new(),
            contour: None,
            lines: Vec::new(),
            symbols: Vec::new(),
            labels: Vec::new(),
            readout: (String::new(), Vec::new()),
            tables: Vec::new(),
            rows: Vec::new(),
        }
    }

    /// Puts a table below the plot, all of whose columns the read-out shows.
    pub fn put(&mut self, table: Table) {
        self.readout = (table.id.clone(), (1..table.heads.len()).collect());
        self.tables.push(table);
    }

    /// The share of the width at which a value stands.
    fn at(&self, value: f64) -> f64 {
        let share = (value - self.start) / (self.end - self.start);
        if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 }
    }

    fn write_legend(&self, m: &mut Markup) {
        m.tag("div", &[("class", &"legend")], |m| {
            for key in &self.keys {
                m.tag("span", &[], |m| match key {
                    Key::Line(class, name) => {
                        m.leaf("i", &[("class", &format!("key {class}"))], "");
                        m.text(name);
                    }
                    Key::Symbol(symbol, tone, name) => {
                        symbol.write_key(m, tone);
                        m.text(name);
                    }
                    Key::Letter(letter, name) => {
                        m.leaf("b", &[], letter);
                        m.text(name);
                    }
                });
            }
            if let Some(contour) = &self.contour {
                contour.write_legend(m);
            }
        });
    }

    /// The box of the chart, with what the read-out needs to know.
    fn write_box(&self, m: &mut Markup) {
        let shares = |of: fn(&(f64, f64, f64)) -> f64| {
            let shares = self.rows.iter().map(|row| format!("{:.4}", self.at(of(row))));
            shares.collect::<Vec<_>>().join(" ")
        };
        let (from, at, to) = (shares(|row| row.0), shares(|row| row.1), shares(|row| row.2));
        let shown: Vec<String> = self.readout.1.iter().map(ToString::to_string).collect();
        let shown = shown.join(" ");
        let heat = self.contour.as_ref().map_or(0, Contour::rows);
        let (columns, span) = (self.rows.len(), self.axis.span_s().map(|_| self.end - self.start));
        let mut attributes: Vec<Attribute<'_>> = vec![
            ("class", &"plot"),
            ("data-table", &self.readout.0),
            ("data-columns", &columns),
            ("data-heat", &heat),
            ("data-from", &from),
            ("data-at", &at),
            ("data-to", &to),
            ("data-show", &shown),
        ];
        attributes.extend(span.iter().map(|span| ("data-span", span as &dyn Display)));
        m.tag("div", &attributes, |m| {
            let label = format!("{}. The values are in the table.", self.title);
            let attributes: &[Attribute<'_>] = &[
                ("class", &"chart"),
                ("role", &"img"),
                ("aria-label", &label),
                ("width", &"100%"),
                ("height", &HEIGHT),
            ];
            m.tag("svg", attributes, |m| self.write_layers(m));
        });
    }

    fn write_layers(&self, m: &mut Markup) {
        self.write_intervals(m);
        if self.contour.is_none() {
            frame::write_grid(m, self.scale);
        }
        let view = format!("0 0 {WIDTH} {HEIGHT}");
        let inner: &[Attribute<'_>] = &[
            ("class", &"data"),
            ("viewBox", &view),
            ("preserveAspectRatio", &"none"),
            ("width", &"100%"),
            ("height", &HEIGHT),
        ];
        m.tag("svg", inner, |m| {
            if let Some(contour) = &self.contour {
                contour.write(m, self.end);
            }
            for line in self.lines.iter().rev() {
                let path = self.path(line);
                if !path.is_empty() {
                    let class = format!("l {}", line.class);
                    m.shape("path", &[("class", &class), ("d", &path)]);
                }
            }
        });
        frame::write_ticks(m, self.axis, self.unit, self.scale);
        self.write_levels(m);
        for (symbol, tone, (x, y)) in &self.symbols {
            let (x, y) = (frame::percent(self.at(*x)), frame::from_top(self.scale.at(*y)));
            symbol.write(m, tone, &x, &y);
        }
        let place = |label: &Label| (self.at(label.at.0), 1.0 - self.scale.at(label.at.1));
        label::write(m, &self.labels, place);
    }

    fn path(&self, line: &Line) -> String {
        let mut path = String::new();
        for piece in &line.pieces {
            for (index, &(x, y)) in piece.iter().enumerate() {
                let x = self.at(x) * WIDTH;
                let y = (1.0 - self.scale.at(y)) * HEIGHT;
                let _ = write!(path, "{}{x:.1} {y:.1}", if index == 0 { 'M' } else { 'L' });
            }
            if piece.len() == 1 {
                // The round line caps make a dot of it.
                path.push_str("h.01");
            }
        }
        path
    }

    fn write_intervals(&self, m: &mut Markup) {
        for level in &self.across {
            let Some((low, high)) = level.interval else { continue };
            let (low, high) = (self.scale.at(low), self.scale.at(high));
            let (y, height) = (frame::from_top(high), format!("{:.1}", (high - low) * HEIGHT));
            let class = format!("interval {}", level.class);
            m.shape(
                "rect",
                &[("class", &class), ("width", &"100%"), ("y", &y), ("height", &height)],
            );
        }
        for level in &self.upright {
            let Some((low, high)) = level.interval else { continue };
            let (low, high) = (self.at(low), self.at(high));
            let (x, width) = (frame::percent(low), frame::percent(high - low));
            let class = format!("interval {}", level.class);
            m.shape(
                "rect",
                &[("class", &class), ("x", &x), ("width", &width), ("height", &HEIGHT)],
            );
        }
    }

    fn write_levels(&self, m: &mut Markup) {
        for level in &self.across {
            if !self.scale.holds(level.value) {
                continue;
            }
            let share = self.scale.at(level.value);
            let y = frame::from_top(share);
            let class = format!("mark {}", level.class);
            m.shape("line", &[("class", &class), ("x2", &"100%"), ("y1", &y), ("y2", &y)]);
            let shift = if share > 0.92 { "14" } else { "-5" };
            let class = format!("mark-name {}", level.class);
            let attributes: &[Attribute<'_>] =
                &[("class", &class), ("y", &y), ("dx", &"4"), ("dy", &shift)];
            m.leaf("text", attributes, &level.name);
        }
        for level in &self.upright {
            let share = self.at(level.value);
            let x = frame::percent(share);
            let class = format!("mark {}", level.class);
            m.shape("line", &[("class", &class), ("x1", &x), ("x2", &x), ("y2", &HEIGHT)]);
            let anchor = if share < 0.5 { "start" } else { "end" };
            let class = format!("mark-name {}", level.class);
            let attributes: &[Attribute<'_>] =
                &[("class", &class), ("x", &x), ("y", &"-6"), ("text-anchor", &anchor)];
            m.leaf("text", attributes, &level.name);
        }
    }
}

impl Chart for Plot {
    fn caption(&self) -> (&str, &str) {
        (&self.title, &self.note)
    }

    fn is_quiet(&self) -> bool {
        self.contour.is_none()
            && self.symbols.is_empty()
            && self.lines.iter().all(|line| line.pieces.iter().all(Vec::is_empty))
    }

    fn write(&self, m: &mut Markup) {
        m.tag("figure", &[("class", &"fig wide"), ("id", &self.id)], |m| {
            frame::write_caption(m, self.caption());
            self.write_legend(m);
            m.tag("div", &[("class", &"panels n1")], |m| {
                m.tag("div", &[("class", &"panel")], |m| {
                    frame::write_upright_title(m, &self.measure, self.axis);
                    self.write_box(m);
                    frame::write_across_title(m, &self.measure, self.axis);
                    for table in &self.tables {
                        table.write(m);
                    }
                });
            });
        });
    }

    fn draw(&self, sheet: &mut Sheet) {
        for key in &self.keys {
            match key {
                Key::Line(class, name) => sheet.key(&Mark::Class(class), name),
                Key::Symbol(symbol, tone, name) => sheet.key(&Mark::Symbol(*symbol, tone), name),
                Key::Letter(letter, name) => sheet.key(&Mark::Letter(letter), name),
            }
        }
        if let Some(contour) = &self.contour {
            let (first, last) = contour.ends();
            sheet.key(&Mark::Strip(&first), &last);
        }
        let around = frame::around("", frame::titles(&self.measure, self.axis));
        sheet.panel(&around, |m| self.write_layers(m));
    }
}

/// Heads of columns that belong to no line.
pub fn plain_heads<'a>(texts: impl IntoIterator<Item = &'a str>) -> Vec<(String, String)> {
    texts.into_iter().map(|text| (text.to_owned(), String::new())).collect()
}

impl Table {
    /// A table that stands closed below its chart.
    #[must_use]
    pub fn new(
        id: impl Into<String>,
        heads: Vec<(String, String)>,
        rows: Vec<Vec<String>>,
    ) -> Self {
        Self { id: id.into(), summary: "Table", heads, rows }
    }

    /// Writes the table, closed.
    pub fn write(&self, m: &mut Markup) {
        m.tag("details", &[], |m| {
            m.leaf("summary", &[], self.summary);
            self.write_open(m);
        });
    }

    /// Writes the table, open.
    fn write_open(&self, m: &mut Markup) {
        m.tag("div", &[("class", &"scroll"), ("tabindex", &"0")], |m| {
            m.tag("table", &[("id", &self.id)], |m| {
                m.tag("thead", &[], |m| {
                    m.tag("tr", &[], |m| {
                        for (head, class) in &self.heads {
                            m.leaf("th", &[("scope", &"col"), ("class", class)], head);
                        }
                    });
                });
                m.tag("tbody", &[], |m| {
                    for row in &self.rows {
                        m.tag("tr", &[], |m| {
                            for (column, cell) in row.iter().enumerate() {
                                m.leaf(if column == 0 { "th" } else { "td" }, &[], cell);
                            }
                        });
                    }
                });
            });
        });
    }
}
