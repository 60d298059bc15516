//! Experiments through the crate's front door.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod engine;
mod simulated_keys;

use plimsoll_experiment::control::{Control, News, Wish};
use plimsoll_experiment::record::{Keeps, Opening, Record, Subject};
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
        version: "0.0.0",
        now_ns: || 1_800_000_000_000_000_000,
    }
}

/// A record in a folder, of so many cells.
fn record(root: &Path, of: Subject, cells: u64) -> Record<'_> {
    Record::new(opening(root, of, cells))
}
