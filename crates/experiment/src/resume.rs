//! Which experiment a plan goes on with: the newest one of its file and name that has cells left.

use std::path::Path;

use plimsoll_runs::experiment::{Experiment, Journal, Layout};
use plimsoll_runs::index::list;
use plimsoll_runs::{Ended, RunError};

/// An experiment that is not finished.
#[derive(Debug)]
pub struct Unfinished {
    /// Its journal, held for this process.
    pub journal: Journal,
    /// How many cells are left.
    pub left: u64,
    /// How many cells there are.
    pub of: u64,
}

/// The newest unfinished experiment of a plan's file and name below a folder for runs, opened to go
/// on with; `None` where there is none. What cannot be read is none.
///
/// # Errors
/// Where another process is at it, or it cannot be opened.
pub fn unfinished(
    root: &Path,
    plan_file: &str,
    name: &str,
) -> Result<Option<Unfinished>, RunError> {
    if plan_file.is_empty() {
        return Ok(None);
    }
    // The oldest comes first.
    for entry in list(root)?.runs.iter().rev().filter(|entry| entry.cells.is_some()) {
        let folder = root.join(&entry.id);
        let Ok(experiment) = Experiment::open(&folder) else { continue };
        let meta = experiment.meta();
        let is_of_plan = meta.plan_file == plan_file && meta.name == name;
        if !is_of_plan || experiment.layout() != Layout::Within {
            continue;
        }
        let progress = experiment.progress()?;
        // Where replications follow from those before, all that are planned may be done.
        let is_whole = experiment.ended().is_some_and(Ended::is_whole);
        if progress.done < progress.of || !is_whole {
            drop(experiment);
            let (left, of) = (progress.of - progress.done, progress.of);
            return Ok(Some(Unfinished { journal: Journal::open(&folder)?, left, of }));
        }
    }
    Ok(None)
}
