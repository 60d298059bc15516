//! An experiment: a folder that holds the cells of one plan, and a journal of how far they are.
//!
//! # The folder
//!
//! `runs/E/`
//!
//! | file | what |
//! | --- | --- |
//! | `plan.toml` | the plan, complete |
//! | `inputs/` | what the plan reads: traces, models, lists |
//! | `experiment.sqlite` | the journal: tables `meta`, `cell`, `figure`, `event` |
//! | `cells/0007/` | the run of cell 7, a folder of the form of any single run |
//! | `cells/0007.part/` | that run while it goes on |
//! | `cells/0007.cut-1/` | what a kill or a failure left of an attempt at it; it is in no figure |
//!
//! Cells of a simulated world may have figures only, and no run.
//!
//! Where the cells are runs of their own, `runs/E-1`, `runs/E-2`, …, there is no folder: the
//! journal stands beside them as `runs/E.experiment.sqlite`. The experiment is called `runs/E` all
//! the same.
//!
//! # What a crash leaves
//!
//! A cell's figures are written in the transaction that says that it is done, so the table
//! `figure` has those of done cells and no other. A run folder is renamed after that transaction.
//! [`Journal::open`] brings the two together again: a cell that was running is `cut`, and a folder
//! whose cell is not done is set aside.
//!
//! [`Journal`] writes, [`Experiment`] reads, also while it is written.

mod combinations;
mod folders;
mod holder;
mod journal;
mod read;
mod standing;
mod tables;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub use combinations::{Aside, Combination, Mean, Replication, combinations};
pub use holder::{Stop, ask_to_stop, is_held};
pub use journal::Journal;
pub use read::Experiment;
pub use standing::{Gate, LIMITED, LeftOut, SERVER_ENDED, Standing, all_held};

use crate::FigureRow;
use crate::meta::{Kind, World};

/// The journal's file name.
pub const FILE: &str = "experiment.sqlite";
/// The folder of what the plan reads.
pub const INPUTS: &str = "inputs";
/// The folder of the cells' runs.
pub const CELLS: &str = "cells";
/// The kind of the event that says why no more replications were added.
pub const UNTIL: &str = "until";
/// The kind of the event that says why an attempt at a cell failed.
pub const FAILED: &str = "failed";

/// The kind of the event that says that a cell is executed once more, and why: its figures were the
/// generator's.
pub const AGAIN: &str = "again";

/// The fact that holds what was predicted of live cells before them: a list of
/// [`Predicted`] as JSON.
pub const PREDICTED: &str = "predicted";

/// The fact that holds the figure that effects are computed of where the plan names none: the
/// highest percentile of which every cell has requests enough, by the plan.
pub const RESPONDS: &str = "responds";

/// What a simulation predicted of a cell.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Predicted {
    /// The levels of the cell.
    pub factors: std::collections::BTreeMap<String, String>,
    /// Its replication.
    pub replication: u32,
    /// Figures by their names.
    pub figures: std::collections::BTreeMap<String, f64>,
}

/// What is known of an experiment before its first cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExperimentMeta {
    /// The folder's name below the root.
    pub id: String,
    /// The plan's name; may be empty.
    pub name: String,
    /// The kind of run that each cell is.
    pub kind: Kind,
    /// What is put to the test, for lists: a URL, or a few words.
    pub subject: String,
    /// What its world tells of it beforehand, as JSON, for pages; empty where that is nothing.
    pub about: String,
    /// Start by the wall clock, nanoseconds since 1970 UTC. Other times of the experiment are
    /// offsets from it.
    pub started_unix_ns: u64,
    /// The version of this program.
    pub version: String,
    /// The plan, complete: what `plan.toml` holds.
    pub plan_text: String,
    /// The path of the file that the plan was read from; empty where there was none.
    pub plan_file: String,
    /// What it was tagged with when it was started.
    pub tags: BTreeMap<String, String>,
}

/// Where the cells of an experiment have their runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// In the folder of the experiment: `E/cells/0007`.
    Within,
    /// Beside its journal, as runs of their own: `E-7`.
    Beside,
}

/// One combination of factor levels in one replication.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// Its number in the experiment, by which its folder is called.
    pub number: u32,
    /// Its place in the plan that is executed, from 1, by which its world knows it: its number,
    /// but where an experiment goes on with another plan than it began with.
    pub place: u32,
    /// The level of each factor.
    pub factors: BTreeMap<String, String>,
    /// Which replication of this combination it is.
    pub replication: u32,
    /// The block it is executed in.
    pub block: u32,
    /// The seed of its random streams.
    pub seed: u64,
    /// Where it takes place.
    pub world: World,
    /// What tells whether a cell of another plan is the same: a digest of all that its result
    /// depends on.
    pub hash: String,
}

/// A cell that is done and keeps no run.
#[derive(Debug, Clone, PartialEq)]
pub struct Finished {
    /// The cell.
    pub cell: Cell,
    /// Its figures.
    pub figures: Vec<FigureRow>,
    /// When it began, nanoseconds since the experiment's start.
    pub started_ns: u64,
    /// When it was done.
    pub ended_ns: u64,
}

/// How far a cell is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// It has not been begun.
    Planned,
    /// It goes on.
    Running,
    /// It is done, and its figures count.
    Done,
    /// It could not be done; the reason says why.
    Failed,
    /// It was ended before it was done, by a kill or by the user; the reason says which.
    Stopped,
    /// It was ended by a rule, as it was lost already. It is kept as one that is done, and counts
    /// as one whose availability did not hold.
    EndedEarly,
}

impl State {
    /// Every state.
    pub const ALL: [Self; 6] =
        [Self::Planned, Self::Running, Self::Done, Self::Failed, Self::Stopped, Self::EndedEarly];

    /// The name in the journal.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Stopped => "stopped",
            Self::EndedEarly => "ended_early",
        }
    }

    /// Whether its figures and its run are kept, and it is not executed again.
    #[must_use]
    pub fn is_kept(self) -> bool {
        matches!(self, Self::Done | Self::EndedEarly)
    }

    /// The state of that name. Journals of earlier versions call a stopped cell `cut`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let name = if name == "cut" { "stopped" } else { name };
        Self::ALL.into_iter().find(|state| state.name() == name)
    }
}

/// A cell and how far it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellRow {
    /// The cell.
    pub cell: Cell,
    /// Whether it is planned, running, done, failed or cut.
    pub state: State,
    /// Why it failed or was stopped; empty otherwise.
    pub reason: String,
    /// When its last attempt began, nanoseconds since the experiment's start.
    pub started_ns: Option<u64>,
    /// When that ended.
    pub ended_ns: Option<u64>,
}

/// How many cells there are, and how many of them are done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Cells that are done.
    pub done: u64,
    /// The number of cells that are planned, done or not.
    pub of: u64,
}

/// The folder of a done cell's run: `E/cells/0007`.
#[must_use]
pub fn cell_folder(experiment: &Path, number: u32) -> PathBuf {
    experiment.join(CELLS).join(format!("{number:04}"))
}

/// The folder of a cell's run while it goes on: `E/cells/0007.part`.
#[must_use]
pub fn part_folder(experiment: &Path, number: u32) -> PathBuf {
    experiment.join(CELLS).join(format!("{number:04}{}", folders::PART))
}

/// Whether a folder is one of an experiment.
#[must_use]
pub fn is_experiment(folder: &Path) -> bool {
    Layout::Within.journal(folder).is_file()
}

/// Where the journal of an experiment is, in its folder or beside its runs, and which of both;
/// `None` where there is none.
#[must_use]
pub fn place(path: &Path) -> Option<(PathBuf, Layout)> {
    [Layout::Within, Layout::Beside]
        .map(|layout| (layout.journal(path), layout))
        .into_iter()
        .find(|(journal, _)| journal.is_file())
}

impl Layout {
    /// The journal of the experiment of a path.
    #[must_use]
    pub fn journal(self, path: &Path) -> PathBuf {
        match self {
            Self::Within => path.join(FILE),
            Self::Beside => beside(path, &format!(".{FILE}")),
        }
    }

    /// The folder of a done cell's run.
    #[must_use]
    pub fn run(self, path: &Path, number: u32) -> PathBuf {
        match self {
            Self::Within => cell_folder(path, number),
            Self::Beside => beside(path, &format!("-{number}")),
        }
    }
}

/// A path whose name ends in something more.
fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(end);
    path.with_file_name(name)
}
