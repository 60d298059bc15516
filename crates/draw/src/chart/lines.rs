//! Lines: through the middle of each column, broken where a column has no value, a dot where a
//! value stands alone. A step line and its blocks (`around`) may stand among them.

use std::fmt::Write;

use super::around;
use super::axis::Axis;
use super::figure::{Series, Stroke};
use super::frame::{HEIGHT, WIDTH};
use super::scale::Scale;
use crate::Markup;

/// Writes the lines of a panel, the last series at the back: the first are the ones to be seen.
pub(super) fn write(m: &mut Markup, axis: Axis, series: &[Series], scale: Scale) {
    for one in series.iter().rev() {
        let kind = if one.stroke.is_block() { "b" } else { "l" };
        let class = format!("{kind} {}{}", one.tone, one.stroke.class());
        let path = match one.stroke {
            Stroke::Plain | Stroke::Dashed | Stroke::Broad => path(axis, &one.values, scale),
            Stroke::Dots => dots(axis, &one.values, scale),
            Stroke::Step => around::steps(axis, &one.values, scale),
            Stroke::Above | Stroke::Below => around::blocks(axis, around::line(series), one, scale),
        };
        if !path.is_empty() {
            m.shape("path", &[("class", &class), ("d", &path)]);
        }
    }
}

fn path(axis: Axis, values: &[Option<f64>], scale: Scale) -> String {
    let mut path = String::new();
    let mut drawn = 0;
    let columns = axis.columns().min(values.len());
    for (column, value) in values.iter().take(columns).enumerate() {
        let Some(value) = value.filter(|v| v.is_finite()) else {
            end_piece(&mut path, drawn);
            drawn = 0;
            continue;
        };
        let x = axis.middle(column) * WIDTH;
        let y = (1.0 - scale.at(value)) * HEIGHT;
        let _ = write!(path, "{}{x:.1} {y:.1}", if drawn == 0 { 'M' } else { 'L' });
        drawn += 1;
    }
    end_piece(&mut path, drawn);
    path
}

/// A dot for each value.
fn dots(axis: Axis, values: &[Option<f64>], scale: Scale) -> String {
    let mut path = String::new();
    for (column, value) in values.iter().take(axis.columns()).enumerate() {
        if let Some(value) = value.filter(|v| v.is_finite()) {
            let (x, y) = (axis.middle(column) * WIDTH, (1.0 - scale.at(value)) * HEIGHT);
            let _ = write!(path, "M{x:.1} {y:.1}h.01");
        }
    }
    path
}

/// A piece of one point gets a hair's length, which the round line caps make a dot.
fn end_piece(path: &mut String, drawn: usize) {
    if drawn == 1 {
        path.push_str("h.01");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AXIS: Axis = Axis::Time { columns: 4, column_s: 1.0, clock_s: None };
    const SCALE: Scale = Scale::Linear { top: 10.0, step: 5.0 };

    #[test]
    fn a_gap_is_not_a_zero() {
        let values = [Some(10.0), Some(5.0), None, Some(0.0)];
        assert_eq!(path(AXIS, &values, SCALE), "M125.0 0.0L375.0 110.0M875.0 220.0h.01");
    }

    #[test]
    fn what_is_no_number_is_a_gap() {
        assert_eq!(path(AXIS, &[Some(f64::NAN), None, Some(f64::INFINITY)], SCALE), "");
    }

    #[test]
    fn more_values_than_columns_are_not_drawn_outside() {
        let path = path(AXIS, &[Some(1.0); 9], SCALE);
        assert_eq!(path.matches('L').count(), 3);
    }
}
