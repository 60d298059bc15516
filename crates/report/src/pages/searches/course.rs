//! The course of each group over time: its estimates with their intervals, the levels between its
//! changes, its gaps.

use plimsoll_capacity::compared::{Compared, Group};
use plimsoll_capacity::search::Bound;
use plimsoll_capacity::series::SeriesRun;

use super::toned;
use crate::document::{Block, chart, nothing};
use plimsoll_draw::chart::Chart;
use plimsoll_draw::chart::axis::Axis;
use plimsoll_draw::chart::plot::{Key, Level, Line, Plot, Table, plain_heads};
use plimsoll_draw::chart::scale::Scale;
use plimsoll_draw::chart::symbol::Symbol;
use plimsoll_draw::chart::unit::{Unit, moment, per_cent, significant};

/// Groups with fewer searches have no course.
const FEWEST: usize = 2;

/// A chart a group, all with the same vertical axis.
pub(super) fn block(compared: &Compared) -> Block {
    let runs = || compared.groups.iter().flat_map(|group| &group.runs);
    let tops = runs().flat_map(|run| [run.estimate_per_s, run.ci95.map(|(_, high)| high)]);
    let scale = Scale::linear(tops.flatten().fold(0.0, f64::max), 0.0);
    let long = toned(compared).enumerate().filter(|(_, (_, group))| group.runs.len() >= FEWEST);
    let drawn: Vec<Box<dyn Chart>> =
        long.map(|(index, (tone, group))| chart(course(group, tone, scale, index))).collect();
    if drawn.is_empty() {
        return nothing("Nothing to draw: no group has two searches.");
    }
    Block::Charts(drawn)
}

/// When a search began, since the first of its group, seconds.
fn at(group: &Group, run: &SeriesRun) -> f64 {
    let first = group.runs.first().map_or(0, |first| first.started_unix_us);
    run.started_unix_us.saturating_sub(first) as f64 / 1e6
}

fn course(group: &Group, tone: &'static str, scale: Scale, index: usize) -> Plot {
    let table = table(group, index);
    let last = group.runs.last().map_or(0.0, |run| at(group, run));
    // A little room behind the last one, for its symbol.
    let end = (last * 1.02).max(1.0);
    let points = group.runs.iter().filter_map(|run| {
        let symbol = if run.bound.is_some() { Symbol::Triangle } else { Symbol::Disc };
        Some((symbol, tone, (at(group, run), run.estimate_per_s?)))
    });
    let bars = group.runs.iter().filter(|run| run.estimate_per_s.is_some()).filter_map(|run| {
        let (low, high) = run.ci95?;
        Some(vec![(at(group, run), low), (at(group, run), high)])
    });
    let gaps = group.runs.iter().filter(|run| run.estimate_per_s.is_none());
    let mut symbols: Vec<_> = points.collect();
    let found = symbols.len();
    symbols.extend(gaps.map(|run| (Symbol::Cross, "c3", (at(group, run), 0.0))));
    let mut keys = vec![
        Key::Symbol(Symbol::Disc, tone, "estimate, with its 95% interval"),
        Key::Line("line c7 broad".to_owned(), "level".to_owned()),
    ];
    if group.summary.bounds > 0 {
        keys.push(Key::Symbol(Symbol::Triangle, tone, "no more than a bound"));
    }
    if symbols.len() > found {
        keys.push(Key::Symbol(Symbol::Cross, "c3", "no estimate"));
    }
    Plot {
        id: format!("course-{index}"),
        title: group.group.clone(),
        note: format!(
            "Since {}. A level is the mean of the estimates between two changes; a change is one \
             that a permutation test tells from chance at 1%.",
            group.runs.first().map_or("–", |run| run.started.as_str())
        ),
        measure: "requests per second".to_owned(),
        axis: Axis::Time { columns: 1, column_s: end, clock_s: None },
        start: 0.0,
        end,
        scale,
        unit: Unit::PerSecond,
        keys,
        across: Vec::new(),
        upright: falls(group),
        contour: None,
        lines: vec![
            Line { class: format!("{tone} thin"), pieces: bars.collect() },
            Line { class: "c7 broad".to_owned(), pieces: levels(group, end) },
        ],
        symbols,
        labels: Vec::new(),
        readout: (table.id.clone(), (1..table.heads.len()).collect()),
        tables: vec![table],
        rows: places(group, end),
    }
}

/// The levels between changes: a piece each.
fn levels(group: &Group, end: f64) -> Vec<Vec<(f64, f64)>> {
    let first = group.runs.first().map_or(0, |run| run.started_unix_us);
    let changes = &group.summary.changes;
    let mean = group.summary.estimate_per_s.as_ref().map(|described| described.mean);
    let mut level = changes.first().map(|change| change.before_per_s).or(mean);
    let (mut pieces, mut from) = (Vec::new(), 0.0);
    for change in changes {
        let at = change.started_unix_us.saturating_sub(first) as f64 / 1e6;
        pieces.extend(level.map(|level| vec![(from, level), (at, level)]));
        (from, level) = (at, Some(change.after_per_s));
    }
    pieces.extend(level.map(|level| vec![(from, level), (end, level)]));
    pieces
}

/// The falls, named above the chart.
fn falls(group: &Group) -> Vec<Level> {
    let first = group.runs.first().map_or(0, |run| run.started_unix_us);
    let falls = group.summary.dips.iter().filter_map(|dip| {
        let change = group.summary.changes.iter().find(|change| change.number == dip.number)?;
        let value = change.started_unix_us.saturating_sub(first) as f64 / 1e6;
        let name = format!("−{} for {}", per_cent(dip.depth), moment(dip.length_s));
        Some(Level { name, class: "", value, interval: None })
    });
    falls.collect()
}

/// Where the read-out finds each search: half way to its neighbours.
fn places(group: &Group, end: f64) -> Vec<(f64, f64, f64)> {
    let times: Vec<f64> = group.runs.iter().map(|run| at(group, run)).collect();
    let place = |(index, &time): (usize, &f64)| {
        let from = if index == 0 { 0.0 } else { f64::midpoint(times[index - 1], time) };
        let to = times.get(index + 1).map_or(end, |&next| f64::midpoint(time, next));
        (from, time, to)
    };
    times.iter().enumerate().map(place).collect()
}

/// A rate, and whether it is no more than a bound.
fn bounded(rate: String, bound: Option<Bound>) -> String {
    match bound {
        None => rate,
        Some(Bound::AtLeast) => format!("at least {rate}"),
        Some(Bound::AtMost) => format!("at most {rate}"),
    }
}

fn table(group: &Group, index: usize) -> Table {
    let heads = ["began", "estimate", "95%", "ended", "run", "why"];
    let row = |run: &SeriesRun| {
        let rate = |value: f64| format!("{}/s", significant(value));
        let interval = run.ci95.map(|(low, high)| format!("{} to {}", rate(low), rate(high)));
        vec![
            run.started.clone(),
            run.estimate_per_s
                .map_or_else(|| "–".to_owned(), |value| bounded(rate(value), run.bound)),
            interval.unwrap_or_else(|| "–".to_owned()),
            run.ended.replace('_', " "),
            run.run.clone().unwrap_or_default(),
            run.why.clone().unwrap_or_default(),
        ]
    };
    let heads = plain_heads(heads);
    let rows = group.runs.iter().map(row).collect();
    Table::new(format!("course-table-{index}"), heads, rows)
}
