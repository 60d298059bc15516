//! A step line, and beside it what lies between it and another course: what is too much hangs from
//! it, what is missing stands upon it.
//!
//! Where a column covers several stretches of time, both sides are means over it, each of its own,
//! so that neither hides the other: an area is the sum over time, however wide the columns are.

use std::fmt::Write;

use super::axis::Axis;
use super::figure::{Series, Stroke};
use super::frame::{HEIGHT, WIDTH};
use super::scale::Scale;

/// The values that a panel's blocks hang from or stand upon: its first step line; none without one.
pub(super) fn line(series: &[Series]) -> &[Option<f64>] {
    series.iter().find(|one| one.stroke == Stroke::Step).map_or(&[], |one| &one.values)
}

/// How high the blocks reach that stand upon a panel's step line.
pub(super) fn heights(series: &[Series]) -> impl Iterator<Item = f64> + '_ {
    let above = series.iter().filter(|one| one.stroke == Stroke::Above);
    above.flat_map(move |one| line(series).iter().zip(&one.values)).filter_map(|(line, beside)| {
        let (line, beside) = ((*line)?, (*beside)?);
        Some(line + beside)
    })
}

/// Pixels from the upper edge, to a tenth.
fn height(scale: Scale, value: f64) -> f64 {
    ((1.0 - scale.at(value)) * HEIGHT * 10.0).round() / 10.0
}

/// The step line, broken where there is no value.
pub(super) fn steps(axis: Axis, values: &[Option<f64>], scale: Scale) -> String {
    let width = WIDTH / axis.columns().max(1) as f64;
    let columns = axis.columns().min(values.len());
    let mut path = String::new();
    let mut before: Option<String> = None;
    for (column, value) in values.iter().take(columns).enumerate() {
        let x = column as f64 * width;
        let y = value.filter(|v| v.is_finite()).map(|value| format!("{}", height(scale, value)));
        match (&before, &y) {
            (None, Some(y)) => _ = write!(path, "M{x:.1} {y}"),
            (Some(before), Some(y)) if before != y => _ = write!(path, "H{x:.1}V{y}"),
            (Some(_), None) => _ = write!(path, "H{x:.1}"),
            _ => {}
        }
        before = y;
    }
    if before.is_some() {
        let _ = write!(path, "H{:.1}", columns as f64 * width);
    }
    path
}

/// The blocks beside a step line, upon it or beneath it; neighbours of one height are one block.
pub(super) fn blocks(axis: Axis, line: &[Option<f64>], one: &Series, scale: Scale) -> String {
    let block = |(line, beside): (&Option<f64>, &Option<f64>)| {
        let line = line.filter(|v| v.is_finite())?;
        let beside = beside.filter(|v| v.is_finite() && *v > 0.0)?;
        let is_above = one.stroke == Stroke::Above;
        let (top, bottom) = if is_above { (line + beside, line) } else { (line, line - beside) };
        let (top, bottom) = (height(scale, top), height(scale, bottom));
        (bottom > top).then(|| (format!("{top}"), format!("{:.1}", bottom - top)))
    };
    let blocks: Vec<_> = line.iter().zip(&one.values).take(axis.columns()).map(block).collect();
    // Neighbours share an edge to the last digit, so that no gap shows between them.
    let edge = |column: usize| {
        (column as f64 * WIDTH / axis.columns().max(1) as f64 * 10.0).round() / 10.0
    };
    let (mut path, mut column) = (String::new(), 0);
    for run in blocks.chunk_by(|a, b| a == b) {
        if let Some((top, tall)) = &run[0] {
            let (x, wide) = (edge(column), edge(column + run.len()) - edge(column));
            let _ = write!(path, "M{x:.1} {top}h{wide:.1}v{tall}h-{wide:.1}z");
        }
        column += run.len();
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    const AXIS: Axis = Axis::Time { columns: 4, column_s: 1.0, clock_s: None };
    const SCALE: Scale = Scale::Linear { top: 10.0, step: 5.0 };

    fn some(values: [f64; 4]) -> Vec<Option<f64>> {
        values.into_iter().map(Some).collect()
    }

    #[test]
    fn a_step_line_goes_from_edge_to_edge_of_its_columns() {
        let path = steps(AXIS, &some([10.0, 10.0, 5.0, 5.0]), SCALE);
        assert_eq!(path, "M0.0 0H500.0V110H1000.0");
        let gap = [Some(10.0), None, Some(f64::NAN), Some(5.0)];
        assert_eq!(steps(AXIS, &gap, SCALE), "M0.0 0H250.0M750.0 110H1000.0");
        assert_eq!(steps(AXIS, &[Some(1.0); 9], SCALE), "M0.0 198H1000.0", "never outside");
    }

    #[test]
    fn blocks_hang_from_the_line_or_stand_upon_it() {
        let line = some([5.0; 4]);
        let of = |values, stroke| Series::new("", "c0", values).with(stroke);
        let above = of(some([2.0, 2.0, 0.0, 5.0]), Stroke::Above);
        let path = blocks(AXIS, &line, &above, SCALE);
        assert_eq!(path, "M0.0 66h500.0v44.0h-500.0zM750.0 0h250.0v110.0h-250.0z");
        let below = of(vec![None, Some(2.0)], Stroke::Below);
        assert_eq!(blocks(AXIS, &line, &below, SCALE), "M250.0 110h250.0v44.0h-250.0z");
        let panel = [of(line, Stroke::Step), above, below];
        assert_eq!(heights(&panel).fold(0.0, f64::max).to_string(), "10");
        assert_eq!(blocks(AXIS, super::line(&panel[1..]), &panel[1], SCALE), "");
    }
}
