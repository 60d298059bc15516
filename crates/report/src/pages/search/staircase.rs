//! The course of a search: the staircase of its rates, and beneath it the response times of each
//! window on the same axis.

use plimsoll_runs::WindowRow;
use plimsoll_stats::percentiles::MIN_BEYOND;

use super::windows::{OF_RATES, at, look, of_times, percentiles};
use crate::searched::Searched;
use plimsoll_draw::chart::axis::Axis;
use plimsoll_draw::chart::plot::{Key, Level, Line, Plot, Table};
use plimsoll_draw::chart::scale::Scale;
use plimsoll_draw::chart::symbol::Symbol;
use plimsoll_draw::chart::unit::{Unit, significant};

/// A bound further above everything than this is told, not drawn.
const FAR: f64 = 100.0;

/// The end of the last window, at least a second.
fn end_s(windows: &[WindowRow]) -> f64 {
    windows.iter().map(|window| window.start_s + window.seconds).fold(1.0, f64::max)
}

/// The estimate and its interval as a level of a chart.
pub(crate) fn estimate(searched: &Searched) -> Option<Level> {
    let value = searched.estimate()?;
    let name = format!("capacity {}/s", significant(value));
    Some(Level { name, class: "capacity", value, interval: searched.interval() })
}

/// What is shaded, as a sentence with a space before it; empty where nothing is.
pub(crate) fn shaded(searched: &Searched) -> &'static str {
    match searched.estimate().and(searched.interval()) {
        Some(_) => " Shaded: the 95% interval of the capacity.",
        None => "",
    }
}

/// The SLO's bound as a level of a chart.
pub(crate) fn bound(searched: &Searched) -> Option<Level> {
    let (_, value) = searched.bound?;
    Some(Level { name: searched.slo.clone(), class: "", value, interval: None })
}

/// A step for each window that has a value; broken where one has none.
fn steps(windows: &[WindowRow], of: impl Fn(&WindowRow) -> Option<f64>) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = vec![Vec::new()];
    for window in windows {
        match (of(window), pieces.last_mut()) {
            (Some(value), Some(piece)) => {
                piece.push((window.start_s, value));
                piece.push((window.start_s + window.seconds, value));
            }
            _ => pieces.push(Vec::new()),
        }
    }
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

type Piece = Vec<(f64, f64)>;

/// A chart over the time of the search, without its lines.
pub(crate) fn over_time(searched: &Searched, scale: Scale, unit: Unit) -> Plot {
    let end = end_s(&searched.windows);
    let place = |w: &WindowRow| (w.start_s, w.start_s + w.seconds / 2.0, w.start_s + w.seconds);
    let axis = Axis::Time { columns: 1, column_s: end, clock_s: None };
    let rows = searched.windows.iter().map(place).collect();
    Plot { rows, ..Plot::empty(axis, (0.0, end), scale, unit) }
}

/// The staircase: the rate offered in each window, by verdict, and the rate achieved.
pub(crate) fn rates(searched: &Searched, table: &Table, index: usize) -> Plot {
    let windows = &searched.windows;
    let ends = searched.estimate().into_iter().chain(searched.interval().map(|(_, high)| high));
    let rates = windows.iter().flat_map(|w| [w.offered_per_s, w.achieved_per_s]);
    let scale = Scale::linear(rates.chain(ends).fold(0.0, f64::max), 0.0);
    let mut plot = over_time(searched, scale, Unit::PerSecond);
    plot.id = format!("staircase-{index}");
    "Staircase of the search".clone_into(&mut plot.title);
    plot.note = format!(
        "Each step is a window of constant rate; its colour and symbol are the verdict on it. A \
         window that was cut or discarded is broken.{}",
        shaded(searched)
    );
    "requests per second".clone_into(&mut plot.measure);
    plot.across.extend(estimate(searched));
    plot.lines.push(Line {
        class: "c0".to_owned(),
        pieces: steps(windows, |window| Some(window.achieved_per_s)),
    });
    plot.keys.push(Key::Line("line c0".to_owned(), "achieved".to_owned()));
    plot.keys.push(Key::Line("line c7 broad".to_owned(), "offered:".to_owned()));
    write_verdicts(&mut plot, windows);
    plot.readout = (table.id.clone(), OF_RATES.to_vec());
    plot
}

/// The offered steps of each verdict, with their symbols and their places in the legend.
fn write_verdicts(plot: &mut Plot, windows: &[WindowRow]) {
    const KNOWN: [&str; 6] = ["accepted", "within", "refused", "beyond", "cut", "discarded"];
    let others = |verdict: &str| !KNOWN.contains(&verdict);
    for verdict in KNOWN.into_iter().chain(["other"]) {
        let is_it = |window: &WindowRow| {
            window.verdict == verdict || (verdict == "other" && others(&window.verdict))
        };
        let pieces = steps(windows, |window| is_it(window).then_some(window.offered_per_s));
        if pieces.is_empty() {
            continue;
        }
        let (symbol, tone) = look(verdict);
        let broken = if matches!(verdict, "cut" | "discarded" | "other") { " dash" } else { "" };
        plot.lines.push(Line { class: format!("{tone} broad{broken}"), pieces });
        plot.keys.push(Key::Symbol(symbol, tone, verdict));
        let places = windows.iter().filter(|window| is_it(window));
        plot.symbols.extend(places.map(|window| {
            (symbol, tone, (window.start_s + window.seconds / 2.0, window.offered_per_s))
        }));
    }
}

/// Whether so few answers lie beyond a percentile that it is not to be relied upon.
pub(crate) fn is_few(answers: u64, percentile: usize) -> bool {
    answers as f64 * (1.0 - percentile as f64 / 100.0) < MIN_BEYOND as f64
}

/// The response times of each window, on a logarithmic axis.
pub(crate) fn times(searched: &Searched, table: Table, index: usize) -> Plot {
    let windows = &searched.windows;
    let drawn = percentiles(searched);
    let values = windows.iter().flat_map(|w| drawn.iter().filter_map(|&(p, _)| at(w, p)));
    let mut plot = over_time(searched, log_scale(values, searched), Unit::Micros);
    plot.id = format!("window-times-{index}");
    "Response time of the windows".clone_into(&mut plot.title);
    "Percentiles of each window over all its counted requests; no line where a percentile falls to \
     a request that was not answered. The time is that of the staircase."
        .clone_into(&mut plot.note);
    "response time".clone_into(&mut plot.measure);
    plot.across.extend(bound(searched));
    for (percentile, tone) in drawn {
        plot.lines.push(Line {
            class: tone.to_owned(),
            pieces: steps(windows, |window| at(window, percentile)),
        });
        plot.keys.push(Key::Line(format!("line {tone}"), format!("p{percentile}")));
        let few = windows.iter().filter(|w| is_few(w.response_us.count, percentile as usize));
        plot.symbols.extend(few.filter_map(|w| {
            Some((Symbol::Square, tone, (w.start_s + w.seconds / 2.0, at(w, percentile)?)))
        }));
    }
    if !plot.symbols.is_empty() {
        plot.keys.push(Key::Symbol(Symbol::Square, "c7", "fewer than ten answers beyond"));
    }
    plot.readout = (table.id.clone(), of_times(searched));
    plot.tables = vec![table];
    plot
}

/// A logarithmic scale of times that reaches to the SLO's bound, where that is not far away.
pub(crate) fn log_scale(values: impl Iterator<Item = f64>, searched: &Searched) -> Scale {
    let (low, high) = values
        .filter(|&value| value > 0.0)
        .fold((f64::INFINITY, 0.0_f64), |(low, high), v| (low.min(v), high.max(v)));
    let near = |bound: &f64| *bound <= high * FAR && *bound >= low / FAR;
    match searched.bound.map(|(_, bound)| bound).filter(near) {
        Some(bound) => Scale::log(low.min(bound), high.max(bound)),
        None => Scale::log(low, high),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn window(start_s: f64, p90: Option<f64>) -> WindowRow {
        WindowRow {
            start_s,
            seconds: 1.0,
            phase: "ramp".to_owned(),
            offered_per_s: 100.0,
            achieved_per_s: 99.0,
            rtt_us: None,
            rtt_samples_us: Vec::new(),
            response_us: plimsoll_stats::Percentiles::default(),
            percentiles_us: BTreeMap::from([(90, p90)]),
            errors: 0,
            verdict: "within".to_owned(),
        }
    }

    #[test]
    fn steps_are_broken_where_a_window_has_no_value() {
        let windows = [window(0.0, Some(5.0)), window(1.0, None), window(2.0, Some(7.0))];
        let steps = steps(&windows, |window| at(window, 90));
        assert_eq!(steps, [vec![(0.0, 5.0), (1.0, 5.0)], vec![(2.0, 7.0), (3.0, 7.0)]]);
    }

    #[test]
    fn a_search_has_at_least_a_second() {
        assert!((end_s(&[]) - 1.0).abs() < 1e-12);
        assert!((end_s(&[window(4.0, None)]) - 5.0).abs() < 1e-12);
    }
}
