//! What every page of the project is written and drawn with.
//!
//! [`Markup`] writes HTML and SVG so that it cannot come out wrong. [`chart`] draws values as
//! inline SVG, each with its values as a table. Neither knows what it shows: labels, units and
//! notes come from the caller.

pub mod chart;
mod markup;
mod page;

pub use markup::{Attribute, Markup};
pub use page::{page, styled};

/// The style of pages with charts, in light and dark.
pub const STYLE: &str = concat!(include_str!("chart.css"), include_str!("style.css"));
/// The script of the charts' read-outs; without it nothing is missing.
pub const READOUT: &str = include_str!("readout.js");
/// The script by which charts are looked at closer, and series are taken out of them and put back;
/// without it nothing is missing.
pub const EXPLORE: &str = include_str!("explore.js");
