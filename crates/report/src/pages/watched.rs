//! What was watched beside the load, on the time axis of the response times. What a run has no
//! series of has no chart.

use std::collections::BTreeSet;

use super::content::Content;
use super::tones::TONES;
use crate::columns::mean;
use crate::document::{Block, Section, chart, note, words};
use crate::others::{Others, unit};
use crate::stored::Value;
use crate::watched::{CHARTS, Watched};
use plimsoll_draw::chart::Chart;
use plimsoll_draw::chart::figure::{Figure, Series};
use plimsoll_draw::chart::unit::Unit;

/// The most lines of a chart: of more instances the first are drawn.
const MAX_LINES: usize = 8;

/// The section of what was watched; none where no run has a series of a chart.
pub(crate) fn section(content: &Content) -> Option<Section> {
    let drawn = CHARTS.iter().filter_map(|of| draw(content, of)).map(|of| chart(of));
    let charts: Vec<Box<dyn Chart>> = drawn.collect();
    if charts.is_empty() {
        return None;
    }
    let text = words(
        "What the collectors of the plan saw meanwhile, on the time axis of the response times. A \
         value stands for the time since the sample before it.",
    );
    Some(Section::new("watched", "Host and servers", vec![text, Block::Charts(charts)]))
}

/// What the workers of a load did, by the names of series: what each chart shows and counts.
const WORKERS: [(&str, &str, Unit, &str); 5] = [
    ("plimsoll_worker_sent_per_s", "Requests sent", Unit::PerSecond, "requests per second"),
    ("plimsoll_worker_lateness_p99_us", "Lateness, p99", Unit::Micros, "time"),
    ("plimsoll_worker_busy_share", "Busy threads", Unit::Share, "share of thread time"),
    ("plimsoll_worker_denied_share", "Denied threads", Unit::Share, "share of thread time"),
    ("plimsoll_worker_cores", "Processors used", Unit::Number, "processors"),
];

/// The section of the workers that offered the load; none where this process did.
pub(crate) fn workers(content: &Content) -> Option<Section> {
    let names: BTreeSet<&str> =
        content.views.iter().flat_map(|view| view.sampled.others.names()).collect();
    let drawn = WORKERS.iter().filter(|(name, ..)| names.contains(name)).enumerate();
    let charts: Vec<Box<dyn Chart>> = drawn
        .map(|(number, (name, title, unit, measure))| {
            let figure = draw_other(content, (number, name));
            let (id, title, measure) =
                (format!("worker-{number}"), (*title).to_owned(), (*measure).to_owned());
            chart(Figure { id, title, unit: *unit, measure, ..figure })
        })
        .collect();
    let text = words(
        "What each of the processes did that offered the load together. Busy is the time of a \
         worker's threads that went into events, denied that in which they wanted to run and were \
         not let.",
    );
    let is_any = !charts.is_empty();
    is_any.then(|| Section::new("workers", "Workers", vec![text, Block::Charts(charts)]))
}

/// The section of the application's own series; none where no run has one that moves.
pub(crate) fn others(content: &Content) -> Option<Section> {
    let names: BTreeSet<&str> =
        content.views.iter().flat_map(|view| view.sampled.others.names()).collect();
    let is_other = |name: &&str| WORKERS.iter().all(|(of, ..)| of != name);
    let names = names.into_iter().filter(is_other).enumerate();
    let charts: Vec<Box<dyn Chart>> = names.map(|of| chart(draw_other(content, of))).collect();
    if charts.is_empty() {
        return None;
    }
    let text = words(
        "What the application told of itself, by a page for Prometheus or by lines of StatsD: \
         counters by what they rose by a second, all else as it stood.",
    );
    let most = |count: fn(&Others) -> usize| {
        content.views.iter().map(|view| count(&view.sampled.others)).max().unwrap_or(0)
    };
    let (still, beyond) = (most(|of| of.still), most(|of| of.beyond));
    let mut blocks = vec![text, Block::Charts(charts)];
    if still + beyond > 0 {
        blocks.push(note(format!(
            "Without a chart are {still} series that stood still, and {beyond} beyond the first; \
             plimsoll export has them all."
        )));
    }
    Some(Section::new("series", "The application's own series", blocks))
}

/// The chart of a name, by its number.
fn draw_other(content: &Content, (number, name): (usize, &str)) -> Figure {
    let (unit, measure, _) = unit(name);
    let mut figure = Figure::lines(format!("series-{number}"), name, content.axis, unit);
    measure.clone_into(&mut figure.measure);
    figure.note = content.column_note("means");
    figure.panels = content.panels(|view| {
        let drawn = view.sampled.others.lines(name).into_iter().take(MAX_LINES).enumerate();
        let line = |(place, (called, values)): (usize, (String, Vec<Value>))| {
            let column = mean(content.axis, &values, |of| Some(of.value));
            let called = if called.is_empty() { name } else { &called };
            Series::new(called, TONES[place % TONES.len()], column)
        };
        drawn.map(line).collect()
    });
    figure
}

/// A chart; none where no run has a series of it.
fn draw(content: &Content, of: &Watched) -> Option<Figure> {
    let mut figure = Figure::lines(of.id, of.title, content.axis, of.unit);
    of.measure.clone_into(&mut figure.measure);
    figure.note = content.column_note("means");
    figure.panels = content.panels(|view| {
        let mut lines = Vec::new();
        for line in of.lines {
            let first = line.of.names()[0];
            for instance in view.sampled.instances(first) {
                let values = view.sampled.values(&line.of, instance);
                let column = mean(content.axis, &values, |of| Some(of.value));
                // Where nothing tells a line from others, it is what the chart shows.
                let name = match [instance, line.name].join(" ").trim() {
                    "" => of.title.to_owned(),
                    name => name.to_owned(),
                };
                if lines.len() < MAX_LINES && column.iter().any(Option::is_some) {
                    let tone = TONES[lines.len() % TONES.len()];
                    lines.push(Series::new(&name, tone, column));
                }
            }
        }
        lines
    });
    let has_any = figure.panels.iter().any(|panel| !panel.series.is_empty());
    has_any.then_some(figure)
}
