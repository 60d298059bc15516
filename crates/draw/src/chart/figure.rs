//! A figure: one question, one panel a run, all panels on the same axes, so that heights and
//! colours compare; under each panel its figures as a table.

use super::around;
use super::axis::Axis;
use super::frame;
use super::scale::Scale;
use super::table;
use super::unit::Unit;
use crate::markup::Markup;

/// How the values of a panel are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Draw {
    /// A line a series, broken where there is no value.
    Lines,
    /// A block a column, series upon series.
    Stack,
    /// A cell a column and series, its count as colour; the series are log buckets, lowest first.
    Heat,
}

/// Which scale the vertical axis has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    /// Linear, from zero.
    Linear,
    /// Logarithmic at first; the reader may switch to linear.
    LogFirst,
}

/// How a line is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stroke {
    /// As lines are.
    Plain,
    /// Broken: not to be relied upon.
    Dashed,
    /// Broad and pale, behind the others: what was asked, against what came.
    Broad,
    /// In steps, from edge to edge of each column.
    Step,
    /// No line but blocks that hang from the panel's first step line.
    Below,
    /// Blocks that stand upon it.
    Above,
}

impl Stroke {
    /// What the style sheet calls it, with a space before it.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Plain | Self::Step => "",
            Self::Dashed => " dash",
            Self::Broad => " broad",
            Self::Below | Self::Above => " pale",
        }
    }

    /// Whether it is no line.
    pub(super) fn is_block(self) -> bool {
        matches!(self, Self::Below | Self::Above)
    }
}

/// One series of values, one a column.
#[derive(Debug, Clone)]
pub(crate) struct Series {
    /// What it is, in the legend and in the table's head.
    pub(crate) name: String,
    /// Its colour: a class of the style sheet (`c0` … `c7`, `ok`, `bad`, …).
    pub(crate) tone: &'static str,
    /// How its line is drawn.
    pub(crate) stroke: Stroke,
    /// Values; `None` where there is none, which is not zero.
    pub(crate) values: Vec<Option<f64>>,
}

impl Series {
    /// A series with an unbroken line.
    pub(crate) fn new(name: &str, tone: &'static str, values: Vec<Option<f64>>) -> Self {
        Self { name: name.to_owned(), tone, stroke: Stroke::Plain, values }
    }

    /// The same with another line.
    pub(crate) fn with(self, stroke: Stroke) -> Self {
        Self { stroke, ..self }
    }

    /// Whether no column has a value above zero.
    pub(crate) fn is_flat(&self) -> bool {
        self.values.iter().flatten().all(|&value| value <= 0.0)
    }
}

/// A shaded stretch of time.
#[derive(Debug, Clone)]
pub(crate) struct Band {
    /// Its name, written above it.
    pub(crate) name: &'static str,
    /// Start in seconds.
    pub(crate) from_s: f64,
    /// End in seconds.
    pub(crate) to_s: f64,
}

/// A bound, as a line across.
#[derive(Debug, Clone)]
pub(crate) struct Mark {
    /// Its text, `p99<200ms`.
    pub(crate) name: String,
    /// Its value on the vertical axis.
    pub(crate) value: f64,
}

/// One run in a figure.
#[derive(Debug, Clone, Default)]
pub(crate) struct Panel {
    /// The run's name, where there are several.
    pub(crate) heading: Option<String>,
    /// What is drawn.
    pub(crate) series: Vec<Series>,
    /// Shaded stretches.
    pub(crate) bands: Vec<Band>,
}

/// One chart of the report.
#[derive(Debug, Clone)]
pub(crate) struct Figure {
    /// Unique in the page; a letter first.
    pub(crate) id: &'static str,
    /// What it shows.
    pub(crate) title: &'static str,
    /// How to read it, and what was done to the numbers.
    pub(crate) note: String,
    /// The horizontal axis, of all panels.
    pub(crate) axis: Axis,
    /// What the values are.
    pub(crate) unit: Unit,
    /// What the vertical axis counts.
    pub(crate) measure: String,
    /// How it is drawn.
    pub(crate) draw: Draw,
    /// The vertical scale.
    pub(crate) choice: Choice,
    /// Bounds to draw.
    pub(crate) marks: Vec<Mark>,
    /// One a run.
    pub(crate) panels: Vec<Panel>,
    /// Whether it takes the whole width of the page, where there is one panel.
    pub(crate) wide: bool,
    /// For [`Draw::Heat`]: the edges of the buckets, one more than there are series.
    pub(crate) edges: Vec<f64>,
}

impl Figure {
    /// A figure of lines on a linear scale, to be filled.
    pub(crate) fn lines(id: &'static str, title: &'static str, axis: Axis, unit: Unit) -> Self {
        Self {
            id,
            title,
            note: String::new(),
            axis,
            unit,
            measure: String::new(),
            draw: Draw::Lines,
            choice: Choice::Linear,
            marks: Vec::new(),
            panels: Vec::new(),
            wide: false,
            edges: Vec::new(),
        }
    }

    /// Writes the figure.
    pub(crate) fn write(&self, m: &mut Markup) {
        let class = if self.wide { "fig wide" } else { "fig" };
        m.tag("figure", &[("class", &class), ("id", &self.id)], |m| {
            m.tag("figcaption", &[], |m| {
                m.leaf("h3", &[], self.title);
                if !self.note.is_empty() {
                    m.leaf("p", &[("class", &"note")], &self.note);
                }
            });
            if self.is_empty() {
                m.leaf("p", &[("class", &"nothing")], "Nothing to draw: no values were recorded.");
                return;
            }
            self.write_choice(m);
            self.write_legend(m);
            let panels = format!("panels n{}", self.panels.len().min(3));
            m.tag("div", &[("class", &panels)], |m| {
                for (index, panel) in self.panels.iter().enumerate() {
                    self.write_panel(m, panel, index);
                }
            });
        });
    }

    fn is_empty(&self) -> bool {
        !self.values().any(f64::is_finite)
    }

    fn values(&self) -> impl Iterator<Item = f64> + '_ {
        self.panels.iter().flat_map(|p| &p.series).flat_map(|s| &s.values).flatten().copied()
    }

    /// Two radio buttons before the panels: the style sheet shows the panel that is chosen, so
    /// that the choice works without a script.
    fn write_choice(&self, m: &mut Markup) {
        if self.choice == Choice::Linear {
            return;
        }
        let group = format!("{}-scale", self.id);
        for (scale, checked) in [("log", true), ("lin", false)] {
            let id = format!("{group}-{scale}");
            let class = format!("pick pick-{scale}");
            let mut attributes: Vec<(&str, &dyn std::fmt::Display)> =
                vec![("type", &"radio"), ("name", &group), ("id", &id), ("class", &class)];
            if checked {
                attributes.push(("checked", &""));
            }
            m.void("input", &attributes);
            let name = if scale == "log" { "logarithmic" } else { "linear" };
            m.leaf("label", &[("for", &id)], name);
        }
    }

    fn write_legend(&self, m: &mut Markup) {
        m.tag("div", &[("class", &"legend")], |m| {
            m.leaf("span", &[("class", &"measure")], &self.measure);
            if self.draw == Draw::Heat {
                super::heat::write_legend(m, self.greatest());
                return;
            }
            let mut seen: Vec<&str> = Vec::new();
            for series in self.panels.iter().flat_map(|panel| &panel.series) {
                // A broken line goes on with its unbroken one: the note says what it means.
                if series.stroke == Stroke::Dashed || seen.contains(&series.name.as_str()) {
                    continue;
                }
                seen.push(&series.name);
                let stroke = series.stroke.class();
                let is_line = self.draw == Draw::Lines && !series.stroke.is_block();
                let shape = if is_line { "line" } else { "block" };
                m.tag("span", &[], |m| {
                    let class = format!("key {shape} {}{stroke}", series.tone);
                    m.leaf("i", &[("class", &class)], "");
                    m.text(&series.name);
                });
            }
        });
    }

    /// The greatest value, or height of a stack, of all panels.
    fn greatest(&self) -> f64 {
        if self.draw != Draw::Stack {
            let stood = self.panels.iter().flat_map(|panel| around::heights(&panel.series));
            return self.values().chain(stood).filter(|v| v.is_finite()).fold(0.0, f64::max);
        }
        let mut greatest: f64 = 0.0;
        for panel in &self.panels {
            for column in 0..self.axis.columns() {
                let height = panel.series.iter().filter_map(|s| s.values.get(column)).flatten();
                greatest = greatest.max(height.sum());
            }
        }
        greatest
    }

    /// The scales to draw with, each with the class that lets the reader choose.
    fn scales(&self) -> Vec<(&'static str, Scale)> {
        if self.draw == Draw::Heat {
            let low = self.edges.first().copied().unwrap_or(1.0);
            let high = self.edges.last().copied().unwrap_or(10.0);
            return vec![("", Scale::Log { low, high })];
        }
        let greatest = self.greatest();
        // A bound far above everything would press the data flat: then it is told, not drawn.
        let shown = self.marks.iter().map(|mark| mark.value).filter(|&v| v <= greatest * 4.0);
        let top = shown.fold(greatest, f64::max);
        let linear = Scale::linear(top, self.unit.least_step());
        if self.choice == Choice::Linear {
            return vec![("", linear)];
        }
        let least = self.values().filter(|&v| v > 0.0).fold(f64::INFINITY, f64::min);
        let marks = self.marks.iter().map(|mark| mark.value);
        let top = marks.filter(|&v| v <= greatest * 100.0).fold(greatest, f64::max);
        vec![("log", Scale::log(least, top)), ("lin", linear)]
    }

    fn write_panel(&self, m: &mut Markup, panel: &Panel, index: usize) {
        m.tag("div", &[("class", &"panel")], |m| {
            if let Some(heading) = &panel.heading {
                m.leaf("h4", &[], heading);
            }
            let table = format!("{}-table-{index}", self.id);
            let columns = self.axis.columns();
            let heat = if self.draw == Draw::Heat { panel.series.len() } else { 0 };
            m.tag(
                "div",
                &[
                    ("class", &"plot"),
                    ("data-table", &table),
                    ("data-columns", &columns),
                    ("data-heat", &heat),
                ],
                |m| {
                    for (class, scale) in self.scales() {
                        frame::write(m, self, panel, scale, class);
                    }
                },
            );
            table::write(m, self, panel, &table);
        });
    }
}
