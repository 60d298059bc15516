//! Blocks: one a column, series upon series from zero; also the bars of a histogram.

use std::fmt::Write;

use super::axis::Axis;
use super::figure::Series;
use super::frame::{HEIGHT, WIDTH};
use super::scale::Scale;
use crate::Markup;

/// Writes the blocks of a panel, the first series at the bottom.
pub(super) fn write(m: &mut Markup, axis: Axis, series: &[Series], scale: Scale) {
    let columns = axis.columns();
    let mut below = vec![0.0; columns];
    for one in series {
        let path = path(&one.values, &mut below, scale);
        if !path.is_empty() {
            let class = format!("b {}", one.tone);
            m.shape("path", &[("class", &class), ("d", &path)]);
        }
    }
}

/// The blocks of one series upon what is `below`, which they are added to.
fn path(values: &[Option<f64>], below: &mut [f64], scale: Scale) -> String {
    let mut path = String::new();
    let width = WIDTH / below.len().max(1) as f64;
    for (column, (value, base)) in values.iter().zip(below.iter_mut()).enumerate() {
        let Some(value) = value.filter(|v| v.is_finite() && *v > 0.0) else { continue };
        let bottom = (1.0 - scale.at(*base)) * HEIGHT;
        *base += value;
        let top = (1.0 - scale.at(*base)) * HEIGHT;
        // What happened at all is seen: at least half a pixel.
        let height = (bottom - top).max(0.5);
        let x = column as f64 * width;
        let _ = write!(path, "M{x:.2} {bottom:.1}h{width:.2}v-{height:.1}h-{width:.2}z");
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_stand_upon_each_other() {
        let scale = Scale::Linear { top: 10.0, step: 5.0 };
        let mut below = vec![0.0; 2];
        let first = path(&[Some(5.0), Some(10.0)], &mut below, scale);
        assert_eq!(first, "M0.00 220.0h500.00v-110.0h-500.00zM500.00 220.0h500.00v-220.0h-500.00z");
        let second = path(&[Some(5.0), None], &mut below, scale);
        assert_eq!(second, "M0.00 110.0h500.00v-110.0h-500.00z");
    }

    #[test]
    fn one_in_a_million_is_seen() {
        let scale = Scale::Linear { top: 1e6, step: 1e5 };
        assert!(path(&[Some(1.0)], &mut [0.0], scale).contains("v-0.5"));
    }
}
