//! Charts: a figure of panels, drawn as inline SVG, each with its figures as a table.

mod around;
pub(crate) mod axis;
pub(crate) mod bars;
pub(crate) mod boxes;
pub(crate) mod contour;
pub(crate) mod cumulative;
pub(crate) mod figure;
mod frame;
pub(crate) mod front;
pub(crate) mod heat;
pub(crate) mod label;
mod lines;
pub(crate) mod plot;
pub(crate) mod range;
pub(crate) mod scale;
mod stack;
pub(crate) mod surface;
pub(crate) mod symbol;
mod table;
pub(crate) mod unit;
