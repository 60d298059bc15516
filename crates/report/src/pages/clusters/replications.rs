//! The figures over replications, where requests were made up several times: means with their
//! intervals, so that a difference can be told from chance.

use super::shown::Shown;
use crate::document::{Block, Column, Table, note};

/// The table; nothing where there is one replication.
pub(super) fn blocks(shown: &Shown<'_>) -> Vec<Block> {
    let heads = shown.all.first().map_or(&[][..], |(_, cell)| &cell.estimates);
    let replications = shown.all.first().map_or(0, |(_, cell)| cell.replications);
    if heads.is_empty() {
        return Vec::new();
    }
    let mut columns = vec![Column::plain("cluster", |number: &usize| shown.cell(*number))];
    for (index, head) in heads.iter().enumerate() {
        let of = move |number: &usize| shown.all[*number].1.estimates.get(index);
        let (least, greatest) = head.figure.unit.range();
        let column = Column::figure(head.figure, move |number| Some(of(number)?.mean));
        columns.push(column.with_interval(move |number| {
            let (low, high) = of(number)?.ci95;
            Some((low.max(least), high.min(greatest)))
        }));
    }
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
