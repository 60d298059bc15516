//! The simulated cells of a plan, executed and kept.

use crate::place::{VERSION, environment, place, run_id, unix_ns};
use crate::terminal::error::Result;
use crate::terminal::screen::Screen;
use plimsoll_experiment::conduct::run_plan;
use plimsoll_experiment::locks::Locks;
use plimsoll_experiment::ready::{Ready, Takes, With};
use plimsoll_experiment::record::{Keeps, Opening, Record, Subject};
use plimsoll_runs::experiment::Layout;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// Where simulated cells are kept, and how.
pub(crate) struct Keeping<'a> {
    /// The folder for runs.
    pub(crate) out: &'a Path,
    /// The file of the plan; empty where there is none.
    pub(crate) plan: &'a str,
    /// Whether all cells keep their runs; else few do.
    pub(crate) all: bool,
    /// What they are tagged with.
    pub(crate) tags: BTreeMap<String, String>,
}

impl<'a> Keeping<'a> {
    /// The record of a plan's cells.
    pub(crate) fn record(&self, ready: &Ready) -> Record<'a> {
        let cells = (ready.most_cells(), keeps(self.all));
        record((self.out, self.plan), ready.subject.clone(), cells, self.tags.clone())
    }
}

/// A record of so many cells at most, in the folder for runs.
pub(crate) fn record<'a>(
    (root, plan_file): (&'a Path, &str),
    of: Subject,
    (cells, keeps): (u64, Keeps),
    tags: BTreeMap<String, String>,
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
        tags,
        version: VERSION,
        now_ns: unix_ns,
    })
}

/// All cells keep their runs where that is said, else few do.
pub(crate) fn keeps(all: bool) -> Keeps {
    if all { Keeps::All } else { Keeps::Few }
}

/// Simulates a plan; what comes of its cells goes to `takes` too. Returns where it is kept; `None`
/// where no cell came to anything.
pub(crate) fn simulate(
    ready: &Ready,
    keeping: &Keeping<'_>,
    with: (&Screen<'_>, NonZeroUsize),
    takes: Takes<'_>,
) -> Result<Option<PathBuf>> {
    into(ready, &keeping.record(ready), with, takes)
}

/// The same into a record that is there.
pub(crate) fn into(
    ready: &Ready,
    record: &Record<'_>,
    (screen, threads): (&Screen<'_>, NonZeroUsize),
    takes: Takes<'_>,
) -> Result<Option<PathBuf>> {
    let here = std::env::current_dir()?;
    let with = With {
        record,
        path: &record.path(),
        control: screen,
        // tidy: allow(shared-folder, `Locks` opens it)
        locks: &Locks::new(environment("XDG_RUNTIME_DIR")),
        threads,
        place: place(&here),
        is_fail_fast: false,
        cpu_ns: plimsoll_load::clock::thread_cpu_ns,
        takes,
        workers: None,
    };
    let conducted = run_plan(ready, &with)?;
    conducted.executed?;
    Ok(conducted.path)
}
