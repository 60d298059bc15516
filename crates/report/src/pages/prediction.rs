//! A run of the live world over one of the simulated world: how far the prediction was off, figure
//! by figure, and both courses in one chart.

use plimsoll_runs::{IntervalRow, World};
use plimsoll_stats::figure::{self, Figure};

use super::content::Content;
use super::difference::{self, Heads, Valued};
use super::{search, sides};
use crate::columns::{highest, mean, per_second};
use crate::document::{Block, Section, Verdict, chart, note};
use crate::figure_text;
use crate::view::View;
use plimsoll_draw::chart::Chart;
use plimsoll_draw::chart::figure::{Choice, Figure as Drawn, Panel, Series, Stroke};
use plimsoll_draw::chart::unit::{Unit, signed_per_cent};

/// The figures that a prediction is held against, in order.
const FIGURES: [&Figure; 15] = [
    figure::ESTIMATE_PER_S,
    figure::KNEE_PER_S,
    figure::SATURATION_PER_S,
    figure::SUSTAINED_PER_S,
    figure::RATE_MEAN,
    figure::RESPONSE_US_MEAN,
    figure::RESPONSE_US_P50,
    figure::RESPONSE_US_P90,
    figure::RESPONSE_US_P95,
    figure::RESPONSE_US_P99,
    figure::RESPONSE_US_P999,
    figure::RESPONSE_US_MAX,
    figure::ERRORS,
    figure::AVAILABILITY_RATIO,
    figure::SUCCEEDED,
];
/// The first of these that both runs have is the answer.
const ANSWERS: [&Figure; 4] = [
    figure::ESTIMATE_PER_S,
    figure::RESPONSE_US_P99,
    figure::RESPONSE_US_P90,
    figure::RESPONSE_US_P50,
];

/// A prediction, and what was measured.
struct Pair<'a> {
    predicted: &'a View,
    measured: &'a View,
}

/// The two of a page of one simulated and one live run; `None` of other pages.
fn pair(content: &Content) -> Option<Pair<'_>> {
    let [a, b] = &content.views[..] else { return None };
    let (predicted, measured) = match (a.meta.world, b.meta.world) {
        (World::Simulated, World::Live) => (a, b),
        (World::Live, World::Simulated) => (b, a),
        _ => return None,
    };
    (a.meta.kind == b.meta.kind).then_some(Pair { predicted, measured })
}

/// How far the prediction was off, in a sentence and figure by figure; `None` of other pages.
pub(crate) fn head(content: &Content) -> Option<Vec<Block>> {
    let pair = pair(content)?;
    let heads =
        Heads { first: "predicted", second: "measured", difference: "predicted − measured" };
    let predicted = |figure: &Figure| pair.predicted.figure(figure);
    let measured = |figure: &Figure| pair.measured.figure(figure);
    let grid = difference::table(&FIGURES, (&predicted, &measured), &heads, "");
    let below = "One plan in two worlds. Where a figure has a 95% interval it stands below it; a \
                 figure of one run has none.";
    Some(answer(&pair).into_iter().chain([Block::Table(grid), note(below)]).collect())
}

fn answer(pair: &Pair<'_>) -> Option<Block> {
    let both = |figure: &&'static Figure| {
        Some((*figure, pair.predicted.figure(figure)?, pair.measured.figure(figure)?))
    };
    let (figure, predicted, measured) = ANSWERS.iter().find_map(both)?;
    let show = |(value, _): Valued| figure_text::text(figure, value, "");
    let off = predicted.0 / measured.0 - 1.0;
    let off =
        if off.is_finite() { format!(", {} off", signed_per_cent(off)) } else { String::new() };
    Some(Block::Verdict(Verdict {
        class: "open",
        says: format!(
            "Predicted {}: {}; measured: {}{off}.",
            figure.label,
            show(predicted),
            show(measured)
        ),
        reasons: Vec::new(),
    }))
}

/// Both courses over each other, and the runs side by side; nothing of other pages.
pub(crate) fn sections(content: &Content) -> Vec<Section> {
    let Some(pair) = pair(content) else { return Vec::new() };
    let mut charts: Vec<Box<dyn Chart>> = Vec::new();
    if let (Some(predicted), Some(measured)) = (&pair.predicted.searched, &pair.measured.searched) {
        charts.extend(search::overlay(predicted, measured).map(chart));
    }
    let has_seconds = content.has_seconds();
    if has_seconds {
        charts.push(chart(rate(content, &pair)));
        charts.push(chart(response(content, &pair)));
    }
    let title = "Prediction against measurement";
    let mut sections = vec![Section::new("prediction", title, vec![Block::Charts(charts)])];
    if has_seconds {
        sections.push(Section::new("runs", "The runs", sides::head(content)));
    }
    sections
}

/// A chart over time of both, the prediction broad and pale behind what was measured.
fn over_time(
    (id, title): (&'static str, &'static str),
    (measure, unit): (&str, Unit),
    content: &Content,
    series: Vec<Series>,
) -> Drawn {
    Drawn {
        measure: measure.to_owned(),
        note: format!(
            "Broad and pale is the prediction. {}",
            content.column_note("rates and p50 are means, p99 is the highest second")
        ),
        panels: vec![Panel { series, ..Panel::default() }],
        wide: true,
        ..Drawn::lines(id, title, content.axis, unit)
    }
}

fn rate(content: &Content, pair: &Pair<'_>) -> Drawn {
    let of = |view: &View| per_second(content.axis, &view.rows, |row| row.events.completed);
    let series = vec![
        Series::new("measured", "c0", of(pair.measured)),
        Series::new("predicted", "c0", of(pair.predicted)).with(Stroke::Broad),
    ];
    let what = ("predicted-rate", "Requests completed");
    over_time(what, ("requests per second", Unit::PerSecond), content, series)
}

fn response(content: &Content, pair: &Pair<'_>) -> Drawn {
    let p50 = |view: &View| mean(content.axis, &view.scheduled(), |row: &&IntervalRow| row.p50_us);
    let p99 = |view: &View| highest(content.axis, &view.scheduled(), |row| row.p99_us);
    let series = vec![
        Series::new("p50 measured", "c0", p50(pair.measured)),
        Series::new("p99 measured", "c2", p99(pair.measured)),
        Series::new("p50 predicted", "c0", p50(pair.predicted)).with(Stroke::Broad),
        Series::new("p99 predicted", "c2", p99(pair.predicted)).with(Stroke::Broad),
    ];
    let what = ("predicted-response", "Response time");
    let mut figure = over_time(what, ("response time", Unit::Micros), content, series);
    figure.choice = Choice::LogFirst;
    figure
}
