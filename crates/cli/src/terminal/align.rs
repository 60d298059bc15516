//! Tables of text.

use crate::terminal::paint::Paint;
use std::fmt::Write as _;

/// The most columns of a terminal that a table takes, as far as its names leave room.
const MAX_WIDTH: usize = 100;

/// Writes rows with their columns below each other: the first to the left, figures to the right.
/// Columns that do not fit beside the others stand in a block below, each row with its names again,
/// which are the cells of the first `names` columns.
pub(crate) fn align(out: &mut String, rows: &[Vec<String>], names: usize, paint: Paint) {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    for (number, block) in blocks(&widths, names).iter().enumerate() {
        if number > 0 {
            out.push('\n');
        }
        for (number, row) in rows.iter().enumerate() {
            let mut line = String::new();
            for &column in block {
                let (cell, width) = (&row[column], widths[column]);
                let _ = match column {
                    0 => write!(line, "{cell:<width$}"),
                    _ => write!(line, "  {cell:>width$}"),
                };
            }
            let line = line.trim_end();
            let line = if number == 0 { paint.bold(line) } else { line.to_owned() };
            let _ = writeln!(out, "{line}");
        }
    }
}

/// Which columns stand beside each other, the names in every block.
fn blocks(widths: &[usize], names: usize) -> Vec<Vec<usize>> {
    let names = names.min(widths.len());
    let fresh = || (0..names).collect::<Vec<usize>>();
    let of_names: usize = widths[..names].iter().map(|width| width + 2).sum();
    let (mut blocks, mut taken) = (vec![fresh()], of_names);
    for (column, width) in widths.iter().enumerate().skip(names) {
        if taken + width > MAX_WIDTH && blocks.last().is_some_and(|block| block.len() > names) {
            blocks.push(fresh());
            taken = of_names;
        }
        blocks.last_mut().into_iter().for_each(|block| block.push(column));
        taken += width + 2;
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_that_do_not_fit_stand_in_a_block_below() {
        let row = |name: &str| vec![name.to_owned(), "1".repeat(40), "2".repeat(40), "3".repeat(9)];
        let mut text = String::new();
        align(&mut text, &[row("policy"), row("a"), row("auto-scale")], 1, Paint::stdout());
        assert!(text.lines().all(|line| line.chars().count() <= MAX_WIDTH), "{text}");
        assert_eq!(text.lines().filter(|line| line.starts_with("auto-scale")).count(), 2);
        assert_eq!(blocks(&[10, 40, 40, 9], 1), [vec![0, 1, 2], vec![0, 3]]);
        let wide = blocks(&[200, 40, 40], 1);
        assert_eq!(wide, [vec![0, 1], vec![0, 2]], "a name of any length has a column");
        assert_eq!(blocks(&[10], 1), [vec![0]]);
        assert_eq!(blocks(&[30, 30, 30, 30], 2), [vec![0, 1, 2], vec![0, 1, 3]]);
    }
}
