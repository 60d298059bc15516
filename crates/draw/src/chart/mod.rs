//! Charts: a figure of panels, drawn as inline SVG, each with its figures as a table.

mod around;
pub mod axis;
pub mod bars;
pub mod boxes;
pub mod contour;
pub mod cumulative;
pub mod figure;
mod frame;
pub mod front;
pub mod heat;
pub mod label;
mod lines;
mod panels;
pub mod plot;
pub mod range;
mod round;
pub mod scale;
mod stack;
pub mod surface;
pub mod symbol;
mod table;
pub mod unit;
