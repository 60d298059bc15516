//! The transient and the steady state apart: when every spool was full, and the misses before that
//! and after it beside those of the whole trace.

use plimsoll_cache::cluster::{Counts, Full, Source, Totals};
use plimsoll_stats::figure::{self, Figure};

use super::shown::Shown;
use crate::document::{Block, Cell, Column, Table, note};
use plimsoll_draw::chart::unit::{moment, per_cent, whole};

const ORIGIN: usize = Source::Origin as usize;

/// The table.
pub(super) fn blocks(shown: &Shown<'_>) -> Vec<Block> {
    let heading = Block::Heading("Until the spools were full, and after that".to_owned());
    if shown.all.iter().all(|(_, cell)| cell.file.counts.full.is_none()) {
        let text = "No cluster became full: in each a node or a parent never held 95% of its \
                    capacity, so all that is counted is transient. A longer trace or smaller \
                    caches would show the steady state.";
        return vec![heading, note(text)];
    }
    let mut columns = vec![
        Column::plain("cluster", |number: &usize| shown.cell(*number)),
        Column::plain("every spool full after", |number: &usize| {
            let full = shown.counts(*number).full;
            Cell::of(full.map_or_else(|| "never".to_owned(), |of| when(shown, of)))
        }),
    ];
    columns.extend(ratios(shown, figure::MISS_RATIO, |of| (of.answers[ORIGIN], of.requests)));
    if shown.is_sized() {
        let bytes = |of: &Totals| (of.bytes[ORIGIN], of.requested_bytes);
        columns.extend(ratios(shown, figure::BYTE_MISS_RATIO, bytes));
    }
    let id = "steady-table".to_owned();
    let table = Table { class: "policies", id, currency: "", columns };
    let marked =
        if shown.all.len() > 1 { " The lowest of the steady state is marked." } else { "" };
    let text = format!(
        "A spool is full when it holds 95% of its capacity; the steady state begins when that of \
         the last node or parent is.{marked}"
    );
    vec![heading, Block::Table(table.of(&shown.numbers())), note(text)]
}

/// A ratio of the whole, of the transient, and of the steady state.
fn ratios<'a>(
    shown: &'a Shown<'a>,
    figure: &'static Figure,
    of: fn(&Totals) -> (u64, u64),
) -> [Column<'a, usize>; 3] {
    let share = move |totals: &Totals| {
        let (misses, all) = of(totals);
        (all > 0).then(|| super::ratio(misses, all))
    };
    let counts = |number: &usize| shown.counts(*number);
    [
        Column::figure(figure, move |number| share(&totals(counts(number)))),
        Column::figure(figure, move |number| {
            let of = counts(number);
            share(&before(&totals(of), &of.steady?))
        })
        .called("until then"),
        Column::figure(figure, move |number| share(counts(number).steady.as_ref()?))
            .called("after")
            .marking_best(),
    ]
}

fn totals(counts: &Counts) -> Totals {
    let Counts { requests, requested_bytes, answers, bytes, .. } = *counts;
    Totals { requests, requested_bytes, answers, bytes }
}

/// What came before the steady state.
fn before(all: &Totals, steady: &Totals) -> Totals {
    let less = |all: &[u64; 5], steady: &[u64; 5]| {
        std::array::from_fn(|source| all[source].saturating_sub(steady[source]))
    };
    Totals {
        requests: all.requests.saturating_sub(steady.requests),
        requested_bytes: all.requested_bytes.saturating_sub(steady.requested_bytes),
        answers: less(&all.answers, &steady.answers),
        bytes: less(&all.bytes, &steady.bytes),
    }
}

/// When a spool became full: after how many requests, and how long after the first.
pub(super) fn when(shown: &Shown<'_>, full: Full) -> String {
    let requests = full.request as u64 + 1;
    let share = super::ratio(requests, shown.about.requests);
    let time = match (full.second, shown.about.first_second) {
        (Some(second), Some(first)) => {
            format!(", {}", moment(f64::from(second.saturating_sub(first))))
        }
        _ => String::new(),
    };
    format!("{} requests ({}{time})", whole(requests as f64), per_cent(share))
}
