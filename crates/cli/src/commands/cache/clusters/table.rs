//! Clusters as a table on the terminal.

use super::Done;
use crate::terminal::align::align;
use crate::terminal::paint::Paint;
use plimsoll_cache::cluster::{Counts, Source, Totals};
use plimsoll_experiment::world::caches::{Cell, Estimated, Figures, Simulated};
use plimsoll_stats::figure::{self, Figure};
use plimsoll_units::show_share;
use std::fmt::Write as _;

/// A column of the table.
enum Column {
    /// A figure by its label.
    Of(&'static Figure),
    /// The miss ratio since all spools were full.
    Steady,
}

impl Column {
    fn head(&self) -> &'static str {
        match self {
            Self::Of(figure) => figure.label,
            Self::Steady => "steady",
        }
    }

    fn show(&self, of: &Counts) -> String {
        match self {
            Self::Of(figure) => figure.unit.show(of.value(figure).unwrap_or(f64::NAN)),
            Self::Steady => of.steady.as_ref().map_or_else(|| "–".to_owned(), missed),
        }
    }
}

/// What the trace is, a row a cluster, and what a reader has to know.
pub(super) fn render(done: &Done<'_>) -> String {
    let mut out = done.about.clone();
    let columns = columns(done);
    let heads = std::iter::once("cluster").chain(columns.iter().map(Column::head));
    let mut rows = vec![heads.map(str::to_owned).collect::<Vec<_>>()];
    let row = |(cell, of): (&Cell, &Simulated)| {
        let mut row = vec![cell.name()];
        row.extend(columns.iter().map(|column| column.show(&of.counts)));
        row
    };
    rows.extend(done.cells.iter().zip(&done.simulated).map(row));
    out.push('\n');
    align(&mut out, &rows, 1, Paint::stdout());
    if done.plan.repeat > 1 {
        out.push_str(&intervals(done));
    }
    for warning in done.notes {
        let _ = writeln!(out, "note: {warning}");
    }
    out
}

/// Means of the replications, half as wide as their 95% intervals are around them.
fn intervals(done: &Done<'_>) -> String {
    let shown = [figure::MISS_RATIO, figure::BYTE_MISS_RATIO, figure::RESPONSE_MEAN_MS];
    let mut heads = vec![format!("mean of {} replications", done.simulated[0].replications.len())];
    heads.extend(shown.map(|figure| figure.label.to_owned()));
    heads.push("misses, less the first's".to_owned());
    let mut rows = vec![heads];
    for (cell, of) in done.cells.iter().zip(&done.simulated) {
        let all = Figures::estimated(&of.replications);
        let mut row = vec![cell.name()];
        row.extend(shown.map(|figure| estimate(figure, &all)));
        let differences = Figures::differences(&of.replications, &done.simulated[0].replications);
        row.push(points(&differences));
        rows.push(row);
    }
    let mut out = "\n".to_owned();
    align(&mut out, &rows, 1, Paint::stdout());
    out
}

/// `19.3% ±0.12%`, `8.06 ms ±110 µs`.
fn estimate(figure: &Figure, all: &[Estimated]) -> String {
    let Some(of) = all.iter().find(|of| of.figure == figure) else { return "–".to_owned() };
    let half = (of.ci95.1 - of.ci95.0) / 2.0;
    figure.unit.show_estimate(of.mean, Some(half), "", false)
}

/// How much more of the requests miss, `-17.96 ± 0.19 points`.
fn points(differences: &[Estimated]) -> String {
    let of = differences.iter().find(|of| of.figure == figure::MISS_RATIO);
    of.map_or_else(
        || "–".to_owned(),
        |of| {
            let half = (of.ci95.1 - of.ci95.0) / 2.0;
            format!("{:+.2} ± {:.2} points", of.mean * 100.0, half * 100.0)
        },
    )
}

/// Those that say something here: a column of nothing but zeros is left out.
fn columns(done: &Done<'_>) -> Vec<Column> {
    let any =
        |count: &dyn Fn(&Counts) -> f64| done.simulated.iter().any(|of| count(&of.counts) > 0.0);
    let mut columns = vec![Column::Of(figure::MISS_RATIO)];
    if done.trace.sizes().is_some() {
        columns.push(Column::Of(figure::BYTE_MISS_RATIO));
    }
    if any(&|of| of.steady.map_or(0.0, |steady| steady.requests as f64)) {
        columns.push(Column::Steady);
    }
    let optional = [
        figure::SIBLING_SHARE,
        figure::PARENT_SHARE,
        figure::MESSAGES_PER_REQUEST,
        figure::DUPLICATES,
        figure::FALSE_HITS,
        figure::STALE_HITS,
    ];
    let told = |figure: &&Figure| any(&|of| of.value(figure).unwrap_or(0.0));
    columns.extend(optional.into_iter().filter(told).map(Column::Of));
    columns.extend([figure::RESPONSE_MEAN_MS, figure::RESPONSE_P99_MS].map(Column::Of));
    columns
}

/// The miss ratio since all spools were full; a dash where nothing was asked for since.
fn missed(of: &Totals) -> String {
    if of.requests == 0 {
        return "–".to_owned();
    }
    show_share(of.answers[Source::Origin as usize] as f64 / of.requests as f64)
}
