//! Charts, drawn as inline SVG, each with its values as a table, or upon a sheet of its own.

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
pub mod ratios;
mod round;
pub mod scale;
pub mod sheet;
mod stack;
pub mod surface;
pub mod symbol;
mod table;
pub mod unit;

use crate::Markup;
use sheet::Sheet;

/// What can stand in a page as a figure: its title, how to read it, its drawing, and its values as
/// a table.
pub trait Chart {
    /// What it shows; then how to read it, and what was done to the numbers, which may be empty.
    fn caption(&self) -> (&str, &str);

    /// Whether there is nothing of note in it: no value, or none but zero.
    fn is_quiet(&self) -> bool;

    /// Writes it as a `figure` element.
    fn write(&self, m: &mut Markup);

    /// Draws its legend and its panels upon a sheet of its own.
    fn draw(&self, sheet: &mut Sheet);

    /// It as an SVG file that needs nothing else; a remark stands before how to read it.
    fn svg(&self, remark: &str) -> String {
        let (title, note) = self.caption();
        let mut sheet = Sheet::new((title, format!("{remark} {note}").trim()));
        self.draw(&mut sheet);
        sheet.finish()
    }
}
