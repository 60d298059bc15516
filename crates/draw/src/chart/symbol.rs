//! Symbols: a shape a kind, so that what a colour says can be read without it.

use crate::Markup;

/// A shape, drawn around its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Symbol {
    /// A filled disc.
    Disc,
    /// A cross.
    Cross,
    /// An empty square.
    Square,
    /// An empty triangle.
    Triangle,
}

impl Symbol {
    /// Its outline, within five units of the origin.
    fn path(self) -> &'static str {
        match self {
            Self::Disc => "M-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0z",
            Self::Cross => "M-3.8-3.8L3.8 3.8M-3.8 3.8L3.8-3.8",
            Self::Square => "M-3.6-3.6h7.2v7.2h-7.2z",
            Self::Triangle => "M0-4.6L4.6 3.6H-4.6z",
        }
    }

    /// What the style sheet calls it.
    fn class(self) -> &'static str {
        match self {
            Self::Disc => "sym full",
            Self::Cross | Self::Square | Self::Triangle => "sym",
        }
    }

    /// Writes it at a place of a chart: a share of the width, and pixels from the upper edge.
    pub fn write(self, m: &mut Markup, tone: &str, x: &str, y: &str) {
        let class = format!("{} {tone}", self.class());
        // An SVG of its own, because its place is a share and its size is not.
        m.tag("svg", &[("class", &"at"), ("x", &x), ("y", &y)], |m| {
            m.shape("path", &[("class", &class), ("d", &self.path())]);
        });
    }

    /// Writes it into a legend.
    pub fn write_key(self, m: &mut Markup, tone: &str) {
        let class = format!("{} {tone}", self.class());
        let attributes: &[(&str, &dyn std::fmt::Display)] = &[
            ("width", &"12"),
            ("height", &"12"),
            ("viewBox", &"-6 -6 12 12"),
            ("aria-hidden", &"true"),
        ];
        m.tag("svg", attributes, |m| {
            m.shape("path", &[("class", &class), ("d", &self.path())]);
        });
    }
}
