//! Every cluster as a row: its misses, where else it finds objects, what that costs in messages,
//! and its response times. The lowest of what clusters are chosen by stands out.

use plimsoll_cache::cluster::Counts;
use plimsoll_stats::figure::{self, Figure};

use super::shown::Shown;
use super::{messages, ratio};
use crate::document::{self, Block, Cell, Column, Table, nothing, words};
use crate::figure_text;
use plimsoll_draw::chart::unit::{per_cent, significant};

/// What clusters are chosen by, lower is better.
pub(super) struct Measure {
    /// The figure that the column shows.
    pub(super) figure: &'static Figure,
    /// What its lowest value is called.
    pub(super) lowest: &'static str,
    /// Whether it says nothing of a trace without sizes.
    pub(super) needs_sizes: bool,
}

/// All of them.
pub(super) const MEASURES: [Measure; 3] = [
    Measure { figure: figure::MISS_RATIO, lowest: "Lowest miss ratio", needs_sizes: false },
    Measure {
        figure: figure::BYTE_MISS_RATIO,
        lowest: "Lowest byte miss ratio",
        needs_sizes: true,
    },
    Measure {
        figure: figure::RESPONSE_MEAN_MS,
        lowest: "Lowest mean response time",
        needs_sizes: false,
    },
];

impl Measure {
    /// The value of a cluster; 0 where it answered nothing.
    pub(super) fn value(&self, of: &Counts) -> f64 {
        of.value(self.figure).unwrap_or(0.0)
    }

    /// A value as the column shows it.
    pub(super) fn text(&self, value: f64) -> String {
        figure_text::text(self.figure, value, "")
    }
}

/// The table.
pub(super) fn blocks(shown: &Shown<'_>) -> Vec<Block> {
    if shown.all.is_empty() {
        return vec![nothing("There is no cluster.")];
    }
    let mut blocks = Vec::new();
    let left_out = shown.of.saturating_sub(shown.all.len());
    if left_out > 0 {
        blocks.push(words(format!(
            "These are the {} with the lowest miss ratios of {}; `plimsoll export` has all.",
            shown.all.len(),
            shown.of
        )));
    }
    let (class, id) = ("policies", "cells-table".to_owned());
    let table = Table { class, id, currency: "", columns: columns(shown) };
    blocks.extend([Block::Table(table.of(&shown.numbers())), document::note(note(shown))]);
    blocks
}

fn note(shown: &Shown<'_>) -> String {
    let marked = if shown.all.len() > 1 {
        "The lowest of what clusters are chosen by is marked. "
    } else {
        ""
    };
    let duplicates = if shown.any(|of| of.duplicates) {
        " Duplicates are copies beyond the first, as a share of what the nodes hold at the end."
    } else {
        ""
    };
    format!(
        "{marked}A miss is an answer that came from the origin, whoever fetched it. Response times \
         are those of the latency model.{duplicates}"
    )
}

/// Those that say something here: a column of nothing but zeros is left out.
fn columns<'a>(shown: &'a Shown<'a>) -> Vec<Column<'a, usize>> {
    let of = |figure: &'static Figure| {
        Column::figure(figure, |number: &usize| shown.counts(*number).value(figure))
    };
    let plain = |head: &'static str, show: fn(&Counts) -> String| {
        Column::plain(head, move |number: &usize| Cell::of(show(shown.counts(*number))))
    };
    let is_any = |figure: &&'static Figure| {
        shown.all.iter().any(|(_, cell)| cell.file.counts.value(figure).unwrap_or(0.0) > 0.0)
    };
    let [misses, bytes, response] = MEASURES.map(|measure| measure.figure);
    let mut columns = vec![
        Column::plain("cluster", |number: &usize| shown.cell(*number)),
        of(misses).marking_best(),
    ];
    if shown.is_sized() {
        columns.push(of(bytes).marking_best());
        columns.push(plain("bandwidth saved", |of| per_cent(1.0 - of.byte_miss_ratio())));
    }
    let told = [figure::SIBLING_SHARE, figure::PARENT_SHARE, figure::MESSAGES_PER_REQUEST];
    columns.extend(told.into_iter().filter(is_any).map(of));
    if shown.any(messages) {
        columns.push(plain("their bytes a request", |of| {
            format!("{} B", significant(ratio(of.messages.bytes, of.requests)))
        }));
    }
    if shown.any(|of| of.duplicates) {
        columns.push(plain(figure::DUPLICATES.label, |of| {
            per_cent(ratio(of.duplicates, of.nodes.iter().map(|node| node.held).sum()))
        }));
    }
    let others = [figure::FALSE_HITS, figure::MISSED_CHANCES, figure::STALE_HITS];
    columns.extend(others.into_iter().filter(is_any).map(of));
    columns.push(of(response).marking_best());
    columns.extend([figure::RESPONSE_P50_MS, figure::RESPONSE_P99_MS].map(of));
    columns
}
