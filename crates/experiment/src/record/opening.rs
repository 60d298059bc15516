//! What a record is opened with: what is executed, its cells, and where they are kept.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use plimsoll_runs::experiment::Layout;
use plimsoll_runs::{Kind, World};

use super::Own;

/// What is executed, as it is known before the first cell.
#[derive(Debug, Clone)]
pub struct Subject {
    /// The plan's name; may be empty.
    pub name: String,
    /// The kind of run that each cell is.
    pub kind: Kind,
    /// Where the cells take place.
    pub world: World,
    /// What is put to the test, in a few words, for lists.
    pub what: String,
    /// What the world tells of it beforehand, as JSON, for pages; may be empty.
    pub about: String,
    /// The plan, complete.
    pub plan_text: String,
    /// All that the figures of cells depend on, beside their levels and seeds: the plan without its
    /// name, and without how often it is run. Nothing where each combination of levels has its own.
    pub identity: String,
    /// Of an experiment, what the figures of each combination depend on, by its levels.
    pub own: BTreeMap<BTreeMap<String, String>, Own>,
    /// The files that the plan reads: the figures depend on what they hold.
    pub files: Vec<PathBuf>,
    /// The plan's SLO, as it states it.
    pub slo: Option<String>,
    /// How long the load is, nanoseconds; 0 where that is not known.
    pub duration_ns: u64,
}

/// Where a record is kept, and how.
pub struct Opening<'a> {
    /// The folder for runs.
    pub root: &'a Path,
    /// The name of the new folder in it.
    pub id: String,
    /// Where the cells have their runs.
    pub layout: Layout,
    /// What is executed.
    pub of: Subject,
    /// The file that the plan was read from; empty where there was none.
    pub plan_file: String,
    /// How many cells there are at most: a single one becomes a single run.
    pub cells: u64,
    /// Which simulated cells keep a run.
    pub keeps: Keeps,
    /// Whether an experiment goes on with a plan that has changed, by the cells that are equal.
    pub adopts: bool,
    /// What runs are tagged with.
    pub tags: BTreeMap<String, String>,
    /// The version of this program.
    pub version: &'a str,
    /// Tells nanoseconds since 1970.
    pub now_ns: fn() -> u64,
}

/// Which simulated cells keep a run beside their figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeps {
    /// None.
    Figures,
    /// All of up to [`MAX_RUNS`](super::MAX_RUNS); of more, those among the first that are of the
    /// first replication.
    Few,
    /// Every one.
    All,
}

impl Keeps {
    /// The name in messages to workers.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Figures => "figures",
            Self::Few => "few",
            Self::All => "all",
        }
    }

    /// What a name means; `None` where it means nothing.
    pub(crate) fn named(name: &str) -> Option<Self> {
        [Self::Figures, Self::Few, Self::All].into_iter().find(|of| of.name() == name)
    }
}

/// A cell as a plan has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellPlan {
    /// Its number, from 1.
    pub number: u32,
    /// The level of each factor.
    pub factors: BTreeMap<String, String>,
    /// Which replication it is, from 0.
    pub replication: u32,
    /// Its block.
    pub block: u32,
    /// Its seed.
    pub seed: u64,
}
