//! What stands around and behind the data of a panel: grid, ticks, shaded stretches, bounds.
//!
//! The outer SVG is as wide as its box and [`HEIGHT`] pixels high, without a view box, so text
//! keeps its size on every screen; places on the horizontal axis are percentages. The data stand
//! in an inner SVG whose view box is stretched to that box. Labels hang over the edge of the outer
//! SVG, into the padding that the style sheet gives the box.

use std::ops::Range;

use super::axis::Axis;
use super::figure::{Figure, Panel};
use super::scale::Scale;
use super::sheet::{Around, SIDE};
use super::unit::Unit;
use crate::Markup;

/// Height of the plot in pixels.
pub(super) const HEIGHT: f64 = 220.0;
/// Width of the inner view box: a thousandth of the plot's width is one unit.
pub(super) const WIDTH: f64 = 1000.0;

/// What the axes of a chart count: `measure` is of the upright one, or of both, as `share of the
/// answers, over response time`.
pub(super) fn titles(measure: &str, axis: Axis) -> (&str, &str) {
    measure.split_once(", over ").unwrap_or((measure, axis.heading()))
}

/// What a plot has around it upon a sheet of its own: of what, and the titles of its axes.
pub(super) fn around<'a>(heading: &'a str, (above, below): (&'a str, &'a str)) -> Around<'a> {
    Around { heading, above, below, free: (62.0, 20.0, 24.0), height: HEIGHT, view: None }
}

/// What rows of this height in all have around them upon a sheet of their own.
pub(super) fn around_rows(below: &str, height: f64) -> Around<'_> {
    Around { heading: "", above: "", below, free: (SIDE, 8.0, 24.0), height, view: None }
}

/// Writes the caption of a chart: its title, and how to read it.
pub(super) fn write_caption(m: &mut Markup, (title, note): (&str, &str)) {
    m.tag("figcaption", &[], |m| {
        m.leaf("h3", &[], title);
        if !note.is_empty() {
            m.leaf("p", &[("class", &"note")], note);
        }
    });
}

/// Writes the title of the upright axis, to stand above a chart.
pub(super) fn write_upright_title(m: &mut Markup, measure: &str, axis: Axis) {
    m.leaf("p", &[("class", &"axis")], titles(measure, axis).0);
}

/// Writes the title of the axis across, to stand below a chart.
pub(super) fn write_across_title(m: &mut Markup, measure: &str, axis: Axis) {
    m.leaf("p", &[("class", &"axis across")], titles(measure, axis).1);
}

/// A share of the width, as SVG takes it.
pub(super) fn percent(share: f64) -> String {
    let text = format!("{:.2}", share * 100.0);
    format!("{}%", text.trim_end_matches('0').trim_end_matches('.'))
}

/// The distance from the plot's upper edge, in pixels.
pub(super) fn from_top(share: f64) -> String {
    format!("{:.1}", (1.0 - share) * HEIGHT)
}

pub(super) fn write_bands(m: &mut Markup, figure: &Figure, panel: &Panel) {
    for band in &panel.bands {
        let (from, to) = (figure.axis.at_second(band.from_s), figure.axis.at_second(band.to_s));
        if to <= from {
            continue;
        }
        m.shape(
            "rect",
            &[
                ("class", &"band"),
                ("x", &percent(from)),
                ("width", &percent(to - from)),
                ("height", &HEIGHT),
            ],
        );
        // Towards the middle of the plot, where there is room for the text.
        let (at, anchor) = if from < 0.5 { (from, "start") } else { (to, "end") };
        m.leaf(
            "text",
            &[("class", &"band-name"), ("x", &percent(at)), ("y", &"-5"), ("text-anchor", &anchor)],
            band.name,
        );
    }
}

pub(super) fn write_grid(m: &mut Markup, scale: Scale) {
    for value in scale.ticks() {
        let y = from_top(scale.at(value));
        let class = if scale.is_base(value) { "base" } else { "grid" };
        m.shape("line", &[("class", &class), ("x2", &"100%"), ("y1", &y), ("y2", &y)]);
    }
}

pub(super) fn write_ticks(m: &mut Markup, axis: Axis, unit: Unit, scale: Scale) {
    for value in scale.ticks() {
        let y = from_top(scale.at(value));
        // On a logarithmic axis each tick is in the unit that suits it.
        let top = if matches!(scale, Scale::Log { .. }) { value } else { scale.top() };
        let label = unit.tick(value, top);
        m.leaf("text", &[("class", &"y"), ("x", &"-8"), ("y", &y), ("dy", &".32em")], label);
    }
    let base = HEIGHT + 18.0;
    for (index, (at, label)) in axis.ticks().into_iter().enumerate() {
        let x = percent(at);
        // Every second label gives way where the panel is narrow.
        let class = if index % 2 == 0 { "x" } else { "x odd" };
        m.shape(
            "line",
            &[("class", &"tick"), ("x1", &x), ("x2", &x), ("y1", &HEIGHT), ("y2", &(HEIGHT + 5.0))],
        );
        m.leaf("text", &[("class", &class), ("x", &x), ("y", &base)], label);
    }
}

pub(super) fn write_marks(m: &mut Markup, figure: &Figure, panel: &Panel, scale: Scale) {
    for mark in &figure.marks {
        if !scale.holds(mark.value) {
            continue;
        }
        let share = scale.at(mark.value);
        let y = from_top(share);
        m.shape("line", &[("class", &"mark"), ("x2", &"100%"), ("y1", &y), ("y2", &y)]);
        let below = share > 0.92;
        let shift = if below { "14" } else { "-5" };
        let text = if below { share - LABEL..share } else { share..share + LABEL };
        let (x, dx, anchor) = if is_clearer_left(figure.axis, panel, scale, &text) {
            ("0", "4", "start")
        } else {
            ("100%", "-4", "end")
        };
        m.leaf(
            "text",
            &[
                ("class", &"mark-name"),
                ("x", &x),
                ("y", &y),
                ("dx", &dx),
                ("dy", &shift),
                ("text-anchor", &anchor),
            ],
            &mark.name,
        );
    }
}

/// Height of a bound's label, as a share of the plot's.
const LABEL: f64 = 0.09;

/// Whether fewer points lie behind a label at the left end than behind one at the right end, for a
/// label as high as `text`, in shares of the plot's height.
fn is_clearer_left(axis: Axis, panel: &Panel, scale: Scale, text: &Range<f64>) -> bool {
    // As wide as a label is in a narrow panel.
    let columns = axis.columns() / 4;
    let behind = |columns: Range<usize>| {
        let values = panel.series.iter().filter_map(|one| one.values.get(columns.clone()));
        values.flatten().flatten().filter(|&&value| text.contains(&scale.at(value))).count()
    };
    let end = panel.series.iter().map(|one| one.values.len()).max().unwrap_or(0);
    behind(0..columns.min(end)) < behind(end.saturating_sub(columns)..end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::figure::Series;

    #[test]
    fn a_bounds_label_stands_where_the_lines_are_not() {
        let axis = Axis::Time { columns: 8, column_s: 1.0, clock_s: None };
        let scale = Scale::Linear { top: 100.0, step: 10.0 };
        let panel = |values: [f64; 8]| Panel {
            series: vec![Series::new("", "", values.into_iter().map(Some).collect())],
            ..Panel::default()
        };
        let text = 0.5..0.5 + LABEL;
        let (rises, falls) = ([10.0, 10.0, 0.0, 0.0, 0.0, 0.0, 52.0, 55.0], [52.0; 8]);
        assert!(is_clearer_left(axis, &panel(rises), scale, &text));
        assert!(!is_clearer_left(axis, &panel(falls), scale, &text), "right where equal");
        assert!(!is_clearer_left(axis, &Panel::default(), scale, &text));
    }
}
