//! The figures over replications, where requests were made up several times: means with their
//! intervals, so that a difference can be told from chance.

use plimsoll_stats::figure::{self, Figure};

use super::shown::Shown;
use crate::document::{Block, Column, Table, note};

/// The figures that have intervals.
const FIGURES: [&Figure; 7] = [
    figure::MISS_RATIO,
    figure::BYTE_MISS_RATIO,
    figure::SIBLING_SHARE,
    figure::PARENT_SHARE,
    figure::MESSAGES_PER_REQUEST,
    figure::RESPONSE_US_MEAN,
    figure::RESPONSE_US_P99,
];

/// The table; nothing where there is one replication.
pub(super) fn blocks(shown: &Shown<'_>) -> Vec<Block> {
    let replications = shown.all.iter().map(|(_, cell)| cell.row.of.done.len()).max().unwrap_or(0);
    if replications < 2 {
        return Vec::new();
    }
    let row = |number: &usize| shown.all[*number].1.row;
    let mut columns = vec![Column::plain("cluster", |number: &usize| shown.cell(*number))];
    columns.extend(FIGURES.map(|figure| {
        Column::figure(figure, move |number: &usize| row(number).value(figure))
            .with_interval(move |number| row(number).interval(figure))
    }));
    let id = "replications-table".to_owned();
    let table = Table { class: "policies", id, currency: "", columns };
    vec![
        Block::Heading(format!("Means over {replications} replications")),
        Block::Table(table.of(&shown.numbers())),
        note(
            "Below each mean is its 95% interval over the replications (Student). All else on \
             this page is of the first replication. Clusters saw the same requests, so their \
             differences are surer than their intervals say: --json has those from the first.",
        ),
    ]
}
