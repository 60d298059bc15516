//! Cells that are executed, kept, ended and gone on with.

mod engine;
mod simulated_keys;

use crate::control::{Control, News, Wish};
use crate::record::{Keeps, Opening, Record, Subject};
use plimsoll_runs::experiment::Layout;
use std::path::Path;

/// Watches nothing, and wishes to go on.
struct Nobody;

impl Control for Nobody {
    fn tell(&self, _: News<'_>) {}

    fn wish(&self) -> Wish {
        Wish::Continue
    }
}

/// What there is to know of a record in a folder, of so many cells.
fn opening(root: &Path, of: Subject, cells: u64) -> Opening<'_> {
    Opening {
        root,
        id: "E".to_owned(),
        layout: Layout::Within,
        of,
        plan_file: String::new(),
        cells,
        keeps: Keeps::Few,
        adopts: false,
        tags: [].into(),
        version: "0.0.0",
        now_ns: || 1_800_000_000_000_000_000,
    }
}

/// A record in a folder, of so many cells.
fn record(root: &Path, of: Subject, cells: u64) -> Record<'_> {
    Record::new(opening(root, of, cells))
}
