//! What was done at each place behind the balancer: how evenly it spreads its requests.

use std::collections::BTreeMap;

use plimsoll_draw::chart::unit::{moment, per_cent, significant, whole};
use plimsoll_runs::{Run, RunError};

use super::policies::Pools;
use crate::document::{self, Block, Cell, Grid};

/// The most places of a table.
const MOST: usize = 60;

/// What the instances at a place came to, one after the other.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Place {
    ready_s: f64,
    served: f64,
    cpu_s: f64,
    stayed_s: f64,
}

/// The places of a run, by their numbers; none of a run that tells of none.
pub(super) fn of_run(run: &Run) -> Result<BTreeMap<u32, Place>, RunError> {
    // By the place's number and the end of its stretch.
    let read = |name: &str| -> Result<BTreeMap<(u32, u64), f64>, RunError> {
        let rows = run.series(&format!("pool_instance_{name}"))?;
        let known = rows.into_iter().filter_map(|row| {
            let place = row.labels.get("place")?.parse().ok()?;
            Some(((place, row.at_ns), row.value?))
        });
        Ok(known.collect())
    };
    let (served, cpu) = (read("served_requests_per_second")?, read("cpu_ratio")?);
    let stayed = read("concurrent_requests")?;
    let mut places: BTreeMap<u32, Place> = BTreeMap::new();
    for (at, ready_s) in read("ready_seconds")? {
        let time = |of: &BTreeMap<(u32, u64), f64>| ready_s * of.get(&at).copied().unwrap_or(0.0);
        let place = places.entry(at.0).or_default();
        place.ready_s += ready_s;
        place.served += time(&served);
        place.cpu_s += time(&cpu);
        place.stayed_s += time(&stayed);
    }
    Ok(places)
}

/// A table a policy, closed; nothing where no run tells of places.
pub(super) fn blocks(pools: &Pools<'_>) -> Vec<Block> {
    let mut blocks = Vec::new();
    for (index, (label, places)) in pools.places.iter().enumerate() {
        let title = format!("{label}: {} places", whole(places.len() as f64));
        let mut all = vec![Block::Table(table(places, index))];
        if places.len() > MOST {
            let left = whole((places.len() - MOST) as f64);
            all.push(document::note(format!("The other {left} are series of its run.")));
        }
        blocks.push(Block::Folded(title, all));
    }
    if !blocks.is_empty() {
        let text = "Each place in the balancer's list, over the instances that stood there one \
                    after the other, in the first replication. A balancer that takes the first \
                    of those with the fewest requests leaves the last idle at low load.";
        blocks.insert(0, document::words(text));
    }
    blocks
}

fn table(places: &BTreeMap<u32, Place>, index: usize) -> Grid {
    let heads = ["place", "ready", "served", "served a second", "CPU", "requests at it"];
    let row = |(number, of): (&u32, &Place)| {
        let each = |sum: f64| sum / of.ready_s.max(1e-9);
        let cells = [
            number.to_string(),
            moment(of.ready_s),
            whole(of.served),
            format!("{}/s", significant(each(of.served))),
            per_cent(each(of.cpu_s)),
            significant(each(of.stayed_s)),
        ];
        cells.map(Cell::of).into()
    };
    Grid {
        class: "policies",
        id: format!("places-table-{index}"),
        heads: heads.map(Cell::of).into(),
        rows: places.iter().take(MOST).map(row).collect(),
    }
}
