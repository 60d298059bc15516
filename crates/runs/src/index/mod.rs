//! `runs/index.sqlite`: what `runs list` shows, without opening every run.
//!
//! The index is only ever a copy of what the folders say. A row carries a stamp of its folder's
//! files; where the stamp differs, the row is made anew, where the folder is gone, dropped. So a
//! lost, stale or damaged index costs time and nothing else, and one that cannot be written (a
//! read-only root) is done without. So is what has its name and is none of ours: a link, another
//! database. Several programs may use it at once.
//!
//! A stamp holds what a received archive cannot set, when the system last wrote of a file: rows
//! that came with an archive are not believed.

mod entry;
mod store;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

pub use entry::{Entry, Headline, LoadEntry};

use crate::error::RunError;
use crate::experiment::{self, is_experiment};
use crate::opened::wal_of;
use crate::{schema, summary_file};

/// What lies below a root.
#[derive(Debug, Default)]
pub struct Listing {
    /// The runs and experiments, the oldest first.
    pub runs: Vec<Entry>,
    /// Folders that hold a run which cannot be read, and why.
    pub unreadable: Vec<(PathBuf, RunError)>,
}

/// Every run and every experiment below `root`; cells are part of their experiment's entry. Costs a
/// look at each folder, and a reading of those that are new or have changed.
///
/// # Errors
/// Where the root itself cannot be read. A root that does not exist holds no runs.
pub fn list(root: &Path) -> Result<Listing, RunError> {
    let folders = folders(root)?;
    let index = if folders.is_empty() { None } else { store::open(root) };
    let mut known = index.as_ref().map(store::rows).unwrap_or_default();
    let mut listing = Listing::default();
    let mut changed = Vec::new();
    for (id, path) in folders {
        // Taken before reading: what is written meanwhile makes it stale, never fresh.
        let stamp = stamp(&path);
        match known.remove(&id) {
            Some((old, entry)) if old == stamp => listing.runs.push(entry),
            _ => match Entry::of_folder(&path, id) {
                Ok(entry) => {
                    changed.push((stamp, entry.clone()));
                    listing.runs.push(entry);
                }
                Err(error) => listing.unreadable.push((path, error)),
            },
        }
    }
    if let Some(mut index) = index
        && !(changed.is_empty() && known.is_empty())
    {
        // An index that cannot be written is done without.
        let _ = store::renew(&mut index, &changed, known.keys());
    }
    listing.runs.sort_by(|a, b| (&a.started, &a.id).cmp(&(&b.started, &b.id)));
    Ok(listing)
}

/// Enters a run or an experiment that has ended, where the index can be written; else it is found
/// when they are listed.
pub fn enter(root: &Path, folder: &Path) {
    let Some(id) = folder.file_name() else { return };
    let stamp = stamp(folder);
    if let Ok(entry) = Entry::of_folder(folder, id.to_string_lossy().into_owned())
        && let Some(mut index) = store::open(root)
    {
        let _ = store::renew(&mut index, &[(stamp, entry)], std::iter::empty());
    }
}

/// Folders below the root that hold a run or an experiment, by name.
fn folders(root: &Path) -> Result<BTreeMap<String, PathBuf>, RunError> {
    let entries = match fs::read_dir(root) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        entries => entries.map_err(RunError::file("list", root))?,
    };
    let mut folders = BTreeMap::new();
    for entry in entries {
        let path = entry.map_err(RunError::file("list", root))?.path();
        if let Some(name) = path.file_name()
            && (path.join(schema::FILE).is_file() || is_experiment(&path))
        {
            folders.insert(name.to_string_lossy().into_owned(), path);
        }
    }
    Ok(folders)
}

/// When and how long the files are that a folder's entry is made of.
fn stamp(folder: &Path) -> String {
    let is_experiment = is_experiment(folder);
    let database = folder.join(if is_experiment { experiment::FILE } else { schema::FILE });
    let of = |file: &Path| {
        let Ok(found) = fs::metadata(file) else { return "-".to_owned() };
        format!("{}.{:09}:{}:{}", found.ctime(), found.ctime_nsec(), found.ino(), found.len())
    };
    [of(&database), of(&wal_of(&database)), of(&folder.join(summary_file::FILE))].join(" ")
}
