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
    /// Where the plan was when it began, where that is elsewhere.
    pub moved_from: Option<String>,
}

/// The newest unfinished experiment of a plan's file and name below a folder for runs, opened to go
/// on with; `None` where there is none. What cannot be read is none.
///
/// A plan whose folder was moved or copied together with that of the runs is the same plan.
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
        let is_moved = meta.plan_file != plan_file;
        let is_of_plan = !is_moved || was_moved(&meta.plan_file, plan_file, (root, &entry.id));
        if !is_of_plan || meta.name != name || experiment.layout() != Layout::Within {
            continue;
        }
        let progress = experiment.progress()?;
        // Where replications follow from those before, all that are planned may be done.
        let is_whole = experiment.ended().is_some_and(Ended::is_whole);
        if progress.done < progress.of || !is_whole {
            let (left, of) = (progress.of - progress.done, progress.of);
            let moved_from = is_moved.then(|| meta.plan_file.clone());
            drop(experiment);
            let journal = Journal::open(&folder)?;
            return Ok(Some(Unfinished { journal, left, of, moved_from }));
        }
    }
    Ok(None)
}

/// Whether a plan of the same file name is one that was moved or copied, as `now`, together with
/// the folder for runs: it is gone where it was, or the experiment is there as well.
fn was_moved(before: &str, now: &str, (root, id): (&Path, &str)) -> bool {
    let (before, now) = (Path::new(before), Path::new(now));
    if before.file_name() != now.file_name() {
        return false;
    }
    let is_copied = || {
        let root = std::path::absolute(root).ok()?;
        let beside = root.strip_prefix(now.parent()?).ok()?;
        Some(before.parent()?.join(beside).join(id).is_dir())
    };
    !before.exists() || is_copied().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_moved_where_it_is_gone_and_copied_where_its_runs_are_too() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).display().to_string();
        for project in ["a", "b", "c"] {
            std::fs::create_dir_all(folder.path().join(project).join("runs")).unwrap();
            std::fs::write(at(&format!("{project}/p.toml")), "").unwrap();
        }
        std::fs::create_dir_all(at("a/runs/1")).unwrap();
        let (root, now) = (at("b/runs"), at("b/p.toml"));
        let moved = |before: &str| was_moved(&at(before), &now, (Path::new(&root), "1"));
        assert!(moved("gone/p.toml"), "moved");
        assert!(moved("a/p.toml"), "copied with its runs");
        assert!(!moved("c/p.toml"), "another plan");
        assert!(!moved("gone/q.toml"), "of another name");
    }
}
