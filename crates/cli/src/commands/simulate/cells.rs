//! The record of what is simulated.

use crate::place::{VERSION, run_id, unix_ns};
use plimsoll_experiment::record::{Keeps, Opening, Record, Subject};
use plimsoll_runs::experiment::Layout;
use std::path::Path;

/// A record of so many cells at most, in the folder for runs.
pub(crate) fn record<'a>(
    root: &'a Path,
    plan_file: &str,
    of: Subject,
    (cells, keeps): (u64, Keeps),
) -> Record<'a> {
    Record::new(Opening {
        root,
        id: run_id(unix_ns()),
        layout: Layout::Within,
        of,
        plan_file: crate::files::plan_file(Some(plan_file)),
        cells,
        keeps,
        adopts: false,
        version: VERSION,
        now_ns: unix_ns,
    })
}

/// All cells keep their runs where that is said, else few do.
pub(crate) fn keeps(all: bool) -> Keeps {
    if all { Keeps::All } else { Keeps::Few }
}
