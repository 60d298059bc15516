//! Tables of text.

use crate::terminal::paint::Paint;
use std::fmt::Write as _;

/// Writes rows with their columns below each other: the first to the left, figures to the right.
pub(crate) fn align(out: &mut String, rows: &[Vec<String>], paint: Paint) {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    for (number, row) in rows.iter().enumerate() {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let gap = " ".repeat(width - cell.chars().count());
            let _ = match column {
                0 => write!(line, "{cell}{gap}"),
                _ => write!(line, "  {gap}{cell}"),
            };
        }
        let line = line.trim_end();
        let _ = writeln!(out, "{}", if number == 0 { paint.bold(line) } else { line.to_owned() });
    }
}
