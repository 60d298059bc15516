//! The distribution of response time: a linear histogram, and percentiles by number of nines.

use plimsoll_stats::Histogram;
use plimsoll_stats::percentiles::MIN_BEYOND;

use super::content::Content;
use crate::view::View;
use plimsoll_draw::chart::axis::Axis;
use plimsoll_draw::chart::figure::{Choice, Draw, Figure, Panel, Series, Stroke};
use plimsoll_draw::chart::scale::Scale;
use plimsoll_draw::chart::unit::{Unit, micros, per_cent, whole};

/// Bars of the linear histogram.
const BARS: usize = 60;
/// Columns of the percentile curve, for each nine.
const COLUMNS_A_NINE: usize = 24;
/// Fewer values than this beyond a percentile: it is not to be relied upon.
const TO_RELY_ON: f64 = MIN_BEYOND as f64;

/// How far the bars reach for a run, µs: to its p99, but no further than thrice its p90, so that a
/// stall does not press everything else into the first bar.
fn reach(view: &View) -> f64 {
    let at = |quantile| view.response.value_at_quantile(quantile).unwrap_or(0) as f64 / 1e3;
    at(0.99).min(at(0.9) * 3.0)
}

/// The linear histogram.
pub(crate) fn linear(content: &Content) -> Figure {
    let most = content.views.iter().map(reach).fold(0.0, f64::max);
    let axis = Axis::Value { columns: BARS, top: end_of_bars(most), unit: Unit::Micros };
    let mut figure = Figure::lines("distribution", "Distribution", axis, Unit::Count);
    figure.measure = "answers per bar".to_owned();
    figure.draw = Draw::Stack;
    figure.note = beyond(content, axis);
    figure.panels = content
        .views
        .iter()
        .map(|view| {
            let all = bars(&view.response, axis);
            let failed = bars(&view.failed, axis);
            let mut series = if failed.iter().all(|n| *n <= 0.0) {
                vec![Series::new("answers", "c0", Vec::new())]
            } else {
                vec![
                    Series::new("succeeded", "c1", Vec::new()),
                    Series::new("failed", "c3", failed.iter().map(|n| Some(*n)).collect()),
                ]
            };
            let rest = all.iter().zip(&failed).map(|(n, failed)| Some((n - failed).max(0.0)));
            series[0].values = if view.response.is_empty() { Vec::new() } else { rest.collect() };
            Panel {
                heading: content.several().then(|| view.heading.clone()),
                series,
                bands: Vec::new(),
            }
        })
        .collect();
    figure
}

/// The right end of the bars: a round number not far above `most`.
fn end_of_bars(most: f64) -> f64 {
    Scale::linear(most * 1.05, 0.0).top()
}

fn bars(histogram: &Histogram, axis: Axis) -> Vec<f64> {
    let Axis::Value { columns, top, .. } = axis else { return Vec::new() };
    let mut bars = vec![0.0; columns];
    for bucket in histogram.buckets() {
        let place = bucket.middle() as f64 / 1e3 / top * columns as f64;
        #[expect(clippy::cast_possible_truncation, reason = "saturates, and is checked by get_mut")]
        let bar = place as usize;
        if let Some(bar) = bars.get_mut(bar) {
            *bar += bucket.count as f64;
        }
    }
    bars
}

/// How many answers lie beyond the right end, in words.
fn beyond(content: &Content, axis: Axis) -> String {
    let Axis::Value { top, .. } = axis else { return String::new() };
    let mut text = String::from("Response time of the measured phase, on a linear scale.");
    for view in &content.views {
        let shown: f64 = bars(&view.response, axis).iter().sum();
        let rest = view.response.count() as f64 - shown;
        if rest > 0.5 {
            let whose =
                if content.several() { format!(" of {}", view.letter) } else { String::new() };
            text.push_str(&format!(
                " {} answers{whose} ({}) are slower than {} and not drawn.",
                whole(rest),
                per_cent(rest / view.response.count() as f64),
                micros(top)
            ));
        }
    }
    text
}

/// The percentile curve: one panel, where runs can be laid upon each other.
pub(crate) fn nines(content: &Content) -> Figure {
    let most = content.views.iter().map(|view| view.response.count()).max().unwrap_or(0);
    let nines = (most.max(10) as f64).log10().ceil().clamp(1.0, 8.0);
    #[expect(clippy::cast_possible_truncation, reason = "at most 8 nines")]
    let columns = COLUMNS_A_NINE * nines as usize;
    let axis = Axis::Nines { columns, nines };
    let mut figure = Figure::lines("nines", "Percentiles by number of nines", axis, Unit::Micros);
    figure.measure = "response time at the percentile".to_owned();
    figure.choice = Choice::LogFirst;
    "Each step to the right is ten times rarer. Broken where fewer than ten answers lie beyond: \
     not to be relied upon."
        .clone_into(&mut figure.note);
    let tones = ["c0", "c2", "c1", "c3", "c4", "c5", "c6", "c8", "c9", "c7"];
    let mut series = Vec::new();
    for (index, view) in content.views.iter().enumerate() {
        let tone = tones[index % tones.len()];
        let name = if content.several() { view.heading.as_str() } else { "response" };
        series.extend(curve(name, tone, &view.response, axis));
    }
    if let [view] = &content.views[..] {
        series.extend(curve("service (from sent)", "c1", &view.service, axis));
    }
    figure.panels = vec![Panel { heading: None, series, bands: Vec::new() }];
    figure
}

/// The curve of one histogram: as far as it can be relied upon, and the rest of it.
fn curve(name: &str, tone: &'static str, histogram: &Histogram, axis: Axis) -> Vec<Series> {
    let count = histogram.count() as f64;
    let mut sure = Vec::new();
    let mut rest = Vec::new();
    for column in 0..axis.columns() {
        let quantile = axis.quantile(column);
        let beyond = count * (1.0 - quantile);
        // Beyond the last answer there is nothing to tell.
        let value = if beyond < 0.5 { None } else { histogram.value_at_quantile(quantile) };
        let value = value.map(|ns| ns as f64 / 1e3);
        let relied = beyond >= TO_RELY_ON;
        sure.push(value.filter(|_| relied));
        rest.push(value.filter(|_| !relied));
    }
    // The broken piece begins where the unbroken one ends.
    if let Some(last) = sure.iter().rposition(Option::is_some)
        && rest.iter().any(Option::is_some)
    {
        rest[last] = sure[last];
    }
    let mut series = vec![Series::new(name, tone, sure)];
    if rest.iter().any(Option::is_some) {
        series.push(Series::new(&format!("{name}, few answers"), tone, rest).with(Stroke::Dashed));
    }
    series
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_answer_up_to_the_end_has_its_bar() {
        let mut histogram = Histogram::new();
        for ms in 0..100 {
            histogram.record(ms * 1_000_000 + 500_000);
        }
        let axis = Axis::Value { columns: 10, top: 50_000.0, unit: Unit::Micros };
        let bars = bars(&histogram, axis);
        assert!(bars.iter().all(|n| (n - 5.0).abs() < 1e-9), "{bars:?}");
    }

    #[test]
    fn the_curve_is_broken_where_few_answers_lie_beyond() {
        let mut histogram = Histogram::new();
        for n in 1..=1000u64 {
            histogram.record(n * 1000);
        }
        let axis = Axis::Nines { columns: 30, nines: 3.0 };
        let series = curve("x", "c0", &histogram, axis);
        assert_eq!(series.len(), 2);
        // Ten of a thousand lie beyond p99, which is two of three nines: column 20.
        assert_eq!(series[0].values.iter().flatten().count(), 20);
        assert!(series[1].values[20].is_some() && series[1].stroke == Stroke::Dashed);
        let p50 = series[0].values[3].expect("a value");
        assert!((p50 - 1000.0 * axis.quantile(3)).abs() < 2.0);
    }

    #[test]
    fn a_curve_of_nothing_has_no_value() {
        let axis = Axis::Nines { columns: 30, nines: 1.0 };
        let series = curve("x", "c0", &Histogram::new(), axis);
        assert!(series.iter().all(|s| s.values.iter().all(Option::is_none)));
    }
}
