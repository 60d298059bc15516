//! A comparison of caches as a person reads it.

use super::simulate::Done;
use super::{Opened, by_size};
use crate::terminal::align::align;
use crate::terminal::paint::Paint;
use plimsoll_cache::bound::Bound;
use plimsoll_cache::capacity::{Capacity, Unit};
use plimsoll_cache::simulate::{Cell, Comparison};
use plimsoll_cache::trace::Trace;
use plimsoll_stats::figure::{self, Figure};
use plimsoll_units::{show_count, show_duration, show_rate, show_share, show_size};
use std::fmt::Write as _;

/// What the trace is, a row a cell, and what a reader has to know.
pub(super) fn render(done: &Done<'_>) -> String {
    let Done { trace, about, comparison, cells, bounds, warnings } = done;
    let paint = Paint::stdout();
    let mut out = about.clone();
    let sized = trace.sizes().is_some();
    let mut heads = vec!["policy", "size", "", figure::MISS_RATIO.label];
    if sized {
        heads.push(figure::BYTE_MISS_RATIO.label);
    }
    if comparison.skip > 0 {
        heads.push("after skip");
        if sized {
            heads.push("bytes");
        }
    }
    heads.extend([figure::MISSES.label, figure::EVICTIONS.label, "speed"]);
    let mut rows = vec![heads.iter().map(|head| (*head).to_owned()).collect::<Vec<_>>()];
    rows.extend(cells.iter().map(|cell| row(cell, comparison, sized)));
    out.push('\n');
    align(&mut out, &rows, 3, paint);
    by_size::render(&mut out, cells, paint);
    for bound in *bounds {
        let _ = writeln!(out, "{}", paint.dim(&bound_line(bound, cells)));
    }
    for warning in warnings {
        let _ = writeln!(out, "note: {warning}");
    }
    out
}

/// What no policy undercuts, in a line.
fn bound_line(bound: &Bound, cells: &[Cell]) -> String {
    let of = cells.iter().find(|cell| cell.capacity == bound.capacity).map(|cell| cell.all);
    let Some(all) = of else { return String::new() };
    let share = |part: u64, whole: u64| show_share(part as f64 / whole.max(1) as f64);
    let (words, of_bytes) = (bound.kind.words(), bound.missed_bytes_kind.words());
    let misses = share(bound.misses, all.requests);
    let bytes = bound.missed_bytes.map(|missed| share(missed, all.requested_bytes));
    let rest = match bytes {
        None => format!(", {words}"),
        Some(bytes) if words == of_bytes => format!(", or {bytes} of bytes, {words}"),
        Some(bytes) => format!(", {words}; or {bytes} of bytes, {of_bytes}"),
    };
    format!("{}: no policy misses less than {misses}{rest}", capacity(&bound.capacity))
}

/// What the trace is, in a line or two.
pub(super) fn about(opened: &Opened) -> String {
    describe(&opened.trace, &format!("read as {}", opened.told.format), opened.cpu_s)
}

/// How much a trace has, and what it cost to come by.
pub(super) fn describe(trace: &Trace, how: &str, cpu_s: f64) -> String {
    let mut out = format!(
        "{} requests of {} objects",
        show_count(trace.len() as u64),
        show_count(u64::from(trace.distinct()))
    );
    if let Some(bytes) = trace.footprint_bytes() {
        let _ = write!(out, " with {}", show_size(bytes));
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "shown")]
    let cpu = show_duration((cpu_s * 1e9) as u64);
    let _ = writeln!(out, ", {how} in {cpu} of processor time");
    out
}

fn row(cell: &Cell, comparison: &Comparison, sized: bool) -> Vec<String> {
    let text = |figure: &Figure| figure.unit.show(cell.value(figure).unwrap_or(f64::NAN));
    let mut row = vec![
        cell.policy.clone(),
        cell.size.clone(),
        capacity(&cell.capacity),
        text(figure::MISS_RATIO),
    ];
    if sized {
        row.push(text(figure::BYTE_MISS_RATIO));
    }
    if comparison.skip > 0 {
        row.push(show_share(cell.after_skip.miss_ratio()));
        if sized {
            row.push(show_share(cell.after_skip.byte_miss_ratio()));
        }
    }
    row.extend([figure::MISSES, figure::EVICTIONS].map(text));
    row.push(show_rate(cell.all.requests as f64 / cell.cpu_s.max(1e-9)));
    row
}

/// `962 objects`, `10.5 MB`.
pub(super) fn capacity(of: &Capacity) -> String {
    match of.unit {
        Unit::Bytes => show_size(of.amount),
        Unit::Objects => format!("{} objects", show_count(of.amount)),
    }
}
