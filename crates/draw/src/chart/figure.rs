//! A figure: one question, one panel a run, all panels on the same axes, so that heights and
//! colours compare. `panels` draws it.

use super::axis::Axis;
use super::unit::Unit;

/// How the values of a panel are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Draw {
    /// A line a series, broken where there is no value.
    Lines,
    /// A block a column, series upon series.
    Stack,
    /// A cell a column and series, its count as colour; the series are log buckets, lowest first.
    Heat,
}

/// Which scale the vertical axis has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// Linear, from zero.
    Linear,
    /// Logarithmic at first; the reader may switch to linear.
    LogFirst,
}

/// How a line is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stroke {
    /// As lines are.
    Plain,
    /// Broken: not to be relied upon.
    Dashed,
    /// Broad and pale, behind the others: what was asked, against what came.
    Broad,
    /// No line but a dot a value: too few answers, or none that belong together.
    Dots,
    /// In steps, from edge to edge of each column.
    Step,
    /// No line but blocks that hang from the panel's first step line.
    Below,
    /// Blocks that stand upon it.
    Above,
}

impl Stroke {
    /// What the style sheet calls it, with a space before it.
    pub fn class(self) -> &'static str {
        match self {
            Self::Plain | Self::Step => "",
            Self::Dashed => " dash",
            Self::Broad => " broad",
            Self::Dots => " dots fine",
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
pub struct Series {
    /// What it is, in the legend and in the table's head.
    pub name: String,
    /// Its colour: a class of the style sheet (`c0` … `c7`, `ok`, `bad`, …).
    pub tone: &'static str,
    /// How its line is drawn.
    pub stroke: Stroke,
    /// Values; `None` where there is none, which is not zero.
    pub values: Vec<Option<f64>>,
}

impl Series {
    /// A series with an unbroken line.
    pub fn new(name: &str, tone: &'static str, values: Vec<Option<f64>>) -> Self {
        Self { name: name.to_owned(), tone, stroke: Stroke::Plain, values }
    }

    /// The same with another line.
    pub fn with(self, stroke: Stroke) -> Self {
        Self { stroke, ..self }
    }

    /// Whether no column has a value above zero.
    pub fn is_flat(&self) -> bool {
        self.values.iter().flatten().all(|&value| value <= 0.0)
    }
}

/// A shaded stretch of time.
#[derive(Debug, Clone)]
pub struct Band {
    /// Its name, written above it.
    pub name: &'static str,
    /// Start in seconds.
    pub from_s: f64,
    /// End in seconds.
    pub to_s: f64,
}

/// A bound, as a line across.
#[derive(Debug, Clone)]
pub struct Mark {
    /// Its text, `p99<200ms`.
    pub name: String,
    /// Its value on the vertical axis.
    pub value: f64,
}

/// One run in a figure.
#[derive(Debug, Clone, Default)]
pub struct Panel {
    /// The run's name, where there are several.
    pub heading: Option<String>,
    /// What is drawn.
    pub series: Vec<Series>,
    /// Shaded stretches.
    pub bands: Vec<Band>,
}

/// One chart of the report.
#[derive(Debug, Clone)]
pub struct Figure {
    /// Unique in the page; a letter first.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// How to read it, and what was done to the numbers.
    pub note: String,
    /// The horizontal axis, of all panels.
    pub axis: Axis,
    /// What the values are.
    pub unit: Unit,
    /// What the vertical axis counts.
    pub measure: String,
    /// How it is drawn.
    pub draw: Draw,
    /// The vertical scale.
    pub choice: Choice,
    /// Bounds to draw.
    pub marks: Vec<Mark>,
    /// One a run.
    pub panels: Vec<Panel>,
    /// Whether it takes the whole width of the page, where there is one panel.
    pub wide: bool,
    /// For [`Draw::Heat`]: the edges of the buckets, one more than there are series.
    pub edges: Vec<f64>,
}

impl Figure {
    /// A figure of lines on a linear scale, to be filled.
    pub fn lines(id: impl Into<String>, title: impl Into<String>, axis: Axis, unit: Unit) -> Self {
        Self {
            id: id.into(),
            title: title.into(),
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

    /// All values, of every panel.
    pub(super) fn values(&self) -> impl Iterator<Item = f64> + '_ {
        self.panels.iter().flat_map(|p| &p.series).flat_map(|s| &s.values).flatten().copied()
    }
}
