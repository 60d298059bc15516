//! Reading an experiment: finished, killed, or still going on.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use crate::error::RunError;
use crate::experiment::{CellRow, ExperimentMeta, FILE, Layout, Progress, State, place, tables};
use crate::meta::Ended;
use crate::opened::{self, Opened};
use crate::{Event, FigureRow, Run, figures};

/// An experiment's folder, open for reading. What it tells of one that is still going on grows.
pub struct Experiment {
    folder: PathBuf,
    file: PathBuf,
    layout: Layout,
    opened: Opened,
    meta: ExperimentMeta,
    ended: Option<(Ended, u64)>,
}

impl Experiment {
    /// Opens an experiment's folder. Nothing in it is changed.
    ///
    /// # Errors
    /// Where there is no experiment, or it cannot be read, or a later version wrote it.
    pub fn open(folder: &Path) -> Result<Self, RunError> {
        let (file, layout) = place_of(folder)?;
        let opened = opened::open(&file, tables::FORMAT)?;
        let (meta, ended) = facts(&opened.database, &file)?;
        Ok(Self { folder: folder.to_path_buf(), file, layout, opened, meta, ended })
    }

    /// The path of the experiment: of its folder, where it has one.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where its cells have their runs.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// What was known before the first cell.
    #[must_use]
    pub fn meta(&self) -> &ExperimentMeta {
        &self.meta
    }

    /// How it ended; `None` where it was killed or is still going on.
    #[must_use]
    pub fn ended(&self) -> Option<&Ended> {
        self.ended.as_ref().map(|(ended, _)| ended)
    }

    /// When it ended, nanoseconds since its start; `None` where it was killed or is still going on.
    #[must_use]
    pub fn ended_ns(&self) -> Option<u64> {
        self.ended.as_ref().map(|(_, ns)| *ns)
    }

    /// All cells, by number.
    ///
    /// # Errors
    /// Where the journal cannot be read.
    pub fn cells(&self) -> Result<Vec<CellRow>, RunError> {
        tables::cells(&self.opened.database).map_err(self.unreadable())
    }

    /// How many cells there are, and how many are done.
    ///
    /// # Errors
    /// Where the journal cannot be read.
    pub fn progress(&self) -> Result<Progress, RunError> {
        tables::progress(&self.opened.database).map_err(self.unreadable())
    }

    /// The figures of a cell, in the order in which they were given; none where it is not done.
    ///
    /// # Errors
    /// Where the journal cannot be read.
    pub fn figures_of(&self, cell: u32) -> Result<Vec<FigureRow>, RunError> {
        figures::read(&self.opened.database, cell).map_err(self.unreadable())
    }

    /// The names of the figures that any done cell has, in the order in which they were first
    /// given, and whether any cell has an interval of it.
    pub(crate) fn figure_columns(&self) -> Result<Vec<(String, bool)>, RunError> {
        figures::columns(&self.opened.database).map_err(self.unreadable())
    }

    /// The least and the greatest value of a figure over the done cells; `None` where none has it.
    ///
    /// # Errors
    /// Where the journal cannot be read.
    pub fn range_of(&self, figure: &str) -> Result<Option<(f64, f64)>, RunError> {
        figures::range(&self.opened.database, figure).map_err(self.unreadable())
    }

    /// The names of the figures that any cell has, sorted.
    ///
    /// # Errors
    /// Where the journal cannot be read.
    pub fn figure_names(&self) -> Result<Vec<String>, RunError> {
        figures::names(&self.opened.database).map_err(self.unreadable())
    }

    /// All that happened, in the order in which it was told, each with the cell it concerns.
    ///
    /// # Errors
    /// Where the journal cannot be read.
    pub fn events(&self) -> Result<Vec<(Option<u32>, Event)>, RunError> {
        tables::events(&self.opened.database).map_err(self.unreadable())
    }

    /// What happened after an event, by its place in their order (0: from the beginning); each with
    /// its own place, and the cell it concerns.
    ///
    /// # Errors
    /// Where the journal cannot be read.
    pub fn events_after(&self, place: i64) -> Result<Vec<(i64, Option<u32>, Event)>, RunError> {
        tables::events_after(&self.opened.database, place).map_err(self.unreadable())
    }

    /// A fact that was noted under a key; `None` where it was not.
    ///
    /// # Errors
    /// Where the journal cannot be read.
    pub fn fact(&self, key: &str) -> Result<Option<String>, RunError> {
        tables::fact(&self.opened.database, key).map_err(self.unreadable())
    }

    /// The process that holds the experiment, or held it last, as it named itself: whether it still
    /// does is for [`super::is_held`] to say.
    ///
    /// # Errors
    /// Where the journal cannot be read.
    pub fn holder(&self) -> Result<Option<u32>, RunError> {
        Ok(self.fact(tables::HOLDER)?.and_then(|pid| pid.parse().ok()))
    }

    /// The run of a done cell; `None` where the cell is not done, or has figures only.
    ///
    /// # Errors
    /// Where the run, or the journal, cannot be read.
    pub fn run(&self, cell: u32) -> Result<Option<Run>, RunError> {
        let state = tables::state_of(&self.opened.database, cell).map_err(self.unreadable())?;
        let folder = self.layout.run(&self.folder, cell);
        let is_there = state.is_some_and(State::is_kept) && folder.exists();
        is_there.then(|| Run::open(&folder)).transpose()
    }

    fn unreadable(&self) -> impl FnOnce(rusqlite::Error) -> RunError + use<> {
        let file = self.file.clone();
        move |source| RunError::database("read", &file)(source)
    }
}

impl std::fmt::Debug for Experiment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Experiment").field("folder", &self.folder).finish_non_exhaustive()
    }
}

/// The journal of the experiment of a path that has one, and its layout.
pub(super) fn place_of(path: &Path) -> Result<(PathBuf, Layout), RunError> {
    let missing = || RunError::NotAnExperiment { path: path.to_path_buf(), missing: FILE };
    place(path).ok_or_else(missing)
}

/// The process that a journal names as its holder; `None` where it cannot be read.
pub(super) fn holder_of(journal: &Path) -> Option<u32> {
    let opened = opened::open(journal, tables::FORMAT).ok()?;
    tables::fact(&opened.database, tables::HOLDER).ok()??.parse().ok()
}

/// Reads the facts of an experiment.
pub(super) fn facts(
    database: &Connection,
    file: &Path,
) -> Result<(ExperimentMeta, Option<(Ended, u64)>), RunError> {
    let read = || -> rusqlite::Result<BTreeMap<String, String>> {
        let mut statement = database.prepare("SELECT key, value FROM meta")?;
        statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
    };
    let facts = read().map_err(RunError::database("read", file))?;
    tables::read_meta(&facts).map_err(|problem| RunError::Damaged {
        path: file.to_path_buf(),
        at: "table meta".to_owned(),
        problem,
    })
}
