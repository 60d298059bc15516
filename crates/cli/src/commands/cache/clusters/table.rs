//! Clusters as a table on the terminal.

use super::super::table::align;
use super::Done;
use crate::terminal::paint::Paint;
use plimsoll_cache::cluster::{Counts, Source, Totals};
use plimsoll_experiment::caches::{Cell, Estimated, Figures, Simulated};
use plimsoll_units::{show_count, show_duration, show_share};
use std::fmt::Write as _;

/// A column: its head, and what stands in it.
type Column = (&'static str, fn(&Counts) -> String);
/// A count, without any of which a column is left out.
type Count = fn(&Counts) -> u64;

/// What the trace is, a row a cluster, and what a reader has to know.
pub(super) fn render(done: &Done) -> String {
    let mut out = done.asked.about.clone();
    let columns = columns(done);
    let heads = std::iter::once("cluster").chain(columns.iter().map(|(head, _)| *head));
    let mut rows = vec![heads.map(str::to_owned).collect::<Vec<_>>()];
    let row = |(cell, of): (&Cell, &Simulated)| {
        let mut row = vec![cell.name()];
        row.extend(columns.iter().map(|(_, show)| show(&of.counts)));
        row
    };
    rows.extend(done.cells.iter().zip(&done.simulated).map(row));
    out.push('\n');
    align(&mut out, &rows, Paint::stdout());
    if done.plan.repeat > 1 {
        out.push_str(&intervals(done));
    }
    for warning in &done.asked.warnings {
        let _ = writeln!(out, "note: {warning}");
    }
    out
}

/// Means of the replications, half as wide as their 95% intervals are around them.
fn intervals(done: &Done) -> String {
    let shown = ["miss_ratio", "byte_miss_ratio", "response_mean_ms"];
    let mut heads = vec![format!("mean of {} replications", done.simulated[0].replications.len())];
    heads.extend(["miss ratio", "byte miss ratio", "mean response"].map(str::to_owned));
    heads.push("misses, less the first's".to_owned());
    let mut rows = vec![heads];
    for (cell, of) in done.cells.iter().zip(&done.simulated) {
        let all = Figures::estimated(&of.replications);
        let mut row = vec![cell.name()];
        row.extend(shown.map(|name| shown_as(name, &all)));
        let differences = Figures::differences(&of.replications, &done.simulated[0].replications);
        row.push(points(&differences));
        rows.push(row);
    }
    let mut out = "\n".to_owned();
    align(&mut out, &rows, Paint::stdout());
    out
}

/// `19.30% ± 0.12%`, `8.06 ± 0.11 ms`.
fn shown_as(name: &str, all: &[Estimated]) -> String {
    let Some(of) = all.iter().find(|of| of.name == name) else { return "–".to_owned() };
    let half = (of.ci95.1 - of.ci95.0) / 2.0;
    if name.ends_with("_ms") {
        format!("{:.2} ± {half:.2} ms", of.mean)
    } else {
        format!("{:.2}% ± {:.2}%", of.mean * 100.0, half * 100.0)
    }
}

/// How much more of the requests miss, `-17.96 ± 0.19 points`.
fn points(differences: &[Estimated]) -> String {
    let of = differences.iter().find(|of| of.name == "miss_ratio");
    of.map_or_else(
        || "–".to_owned(),
        |of| {
            let half = (of.ci95.1 - of.ci95.0) / 2.0;
            format!("{:+.2} ± {:.2} points", of.mean * 100.0, half * 100.0)
        },
    )
}

/// Those that say something here: a column of nothing but zeros is left out.
fn columns(done: &Done) -> Vec<Column> {
    let any = |count: Count| done.simulated.iter().any(|of| count(&of.counts) > 0);
    let mut columns: Vec<Column> = vec![("miss ratio", |of| show_share(of.miss_ratio()))];
    if done.asked.trace.sizes().is_some() {
        columns.push(("byte miss ratio", |of| show_share(of.byte_miss_ratio())));
    }
    let steady = |of: &Counts| of.steady.map(|steady| steady.requests).unwrap_or(0);
    if done.simulated.iter().any(|of| steady(&of.counts) > 0) {
        columns.push(("steady", |of| of.steady.as_ref().map_or_else(|| "–".to_owned(), missed)));
    }
    let optional: [(Count, Column); 6] = [
        (
            |of| of.answers[Source::Sibling as usize],
            ("siblings", |of| answered(of, Source::Sibling)),
        ),
        (|of| of.answers[Source::Parent as usize], ("parents", |of| answered(of, Source::Parent))),
        (|of| of.messages.bytes, ("messages", |of| format!("{:.2}", of.messages_per_request()))),
        (|of| of.duplicates, ("held twice", |of| show_count(of.duplicates))),
        (|of| of.false_hits, ("false hits", |of| show_count(of.false_hits))),
        (|of| of.stale_hits, ("stale hits", |of| show_count(of.stale_hits))),
    ];
    columns.extend(optional.into_iter().filter(|(count, _)| any(*count)).map(|(_, column)| column));
    columns.push(("mean", |of| time(of.response_ns.mean())));
    columns.push(("p99", |of| time(of.response_percentile(0.99).map(|ns| ns as f64))));
    columns
}

/// The share of requests that came from there.
fn answered(of: &Counts, source: Source) -> String {
    show_share(of.answers[source as usize] as f64 / of.requests.max(1) as f64)
}

/// The miss ratio since all spools were full; a dash where nothing was asked for since.
fn missed(of: &Totals) -> String {
    if of.requests == 0 {
        return "–".to_owned();
    }
    show_share(of.answers[Source::Origin as usize] as f64 / of.requests as f64)
}

fn time(ns: Option<f64>) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "shown")]
    ns.map_or_else(|| "–".to_owned(), |ns| show_duration(ns as u64))
}
