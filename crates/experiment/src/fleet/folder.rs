//! A worker's folder for a while: gone with the worker, and with the next one where that was
//! killed.

use std::fs::File;
use std::path::Path;

use plimsoll_units::erase;
use plimsoll_units::own::{OwnError, OwnFolder};
use rustix::fs::{FlockOperation, OFlags, flock};

/// How such folders are called, before what tells them apart.
const NAME: &str = "plimsoll-worker-";
/// The file in each by whose lock it is known whether its worker lives.
const LOCK: &str = "lock";
/// How that is called until it is locked.
const NEW: &str = "new";

/// A folder that is ours alone.
pub struct WorkerFolder {
    folder: OwnFolder,
    /// Held as long as the folder is there.
    _lock: File,
}

impl WorkerFolder {
    /// Makes one in the folder for what is temporary, and removes those of our own workers that
    /// were killed. `word` tells it from others. `is_alone`: nobody else writes there, whoever may.
    ///
    /// # Errors
    /// Where it cannot be made.
    pub fn new(word: u64, is_alone: bool) -> Result<Self, OwnError> {
        Self::make(&std::env::temp_dir(), word, is_alone)
    }

    fn make(within: &Path, word: u64, is_alone: bool) -> Result<Self, OwnError> {
        remove_left(within);
        let path = within.join(format!("{NAME}{word:016x}"));
        let folder = match is_alone {
            true => OwnFolder::make_new_alone(&path),
            false => OwnFolder::make_new(&path),
        }?;
        let lock = folder.file(NEW.as_ref(), OFlags::RDWR | OFlags::CREATE | OFlags::EXCL)?;
        // Nobody else has it yet. Where it cannot be locked or called so, the folder is only never
        // removed for us.
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok() {
            let path = |name: &str| folder.path().join(name);
            let _ = std::fs::rename(path(NEW), path(LOCK));
        }
        Ok(Self { folder, _lock: lock })
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Makes a folder in it.
    ///
    /// # Errors
    /// Where it cannot be made.
    pub(super) fn make_inner(&self, name: &str) -> Result<OwnFolder, OwnError> {
        self.folder.make_inner(name.as_ref())
    }
}

impl Drop for WorkerFolder {
    fn drop(&mut self) {
        let _ = erase::tree(self.path());
    }
}

/// Removes folders whose workers do not live any more; those of others, and those that are just
/// being made, stay.
fn remove_left(within: &Path) {
    for entry in std::fs::read_dir(within).into_iter().flatten().flatten() {
        if !entry.file_name().to_string_lossy().starts_with(NAME) {
            continue;
        }
        let Ok(Some(folder)) = OwnFolder::open(&entry.path()) else { continue };
        let Ok(lock) = folder.file(LOCK.as_ref(), OFlags::RDWR) else { continue };
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok() {
            let _ = erase::tree(folder.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_a_worker_that_was_killed_goes_with_the_next_one() {
        let place = tempfile::tempdir().unwrap();
        let lives = WorkerFolder::make(place.path(), 1, false).unwrap();
        lives.make_inner("cells").unwrap();
        // Killed: its lock is free, and all it had is there.
        let killed = place.path().join(format!("{NAME}2"));
        let folder = OwnFolder::make_new(&killed).unwrap();
        folder.make_inner("cells".as_ref()).unwrap();
        folder.file(LOCK.as_ref(), OFlags::RDWR | OFlags::CREATE).unwrap();
        // Not told to be a worker's yet, and nobody's business.
        let new = place.path().join(format!("{NAME}3"));
        OwnFolder::make_new(&new).unwrap();
        std::fs::create_dir(place.path().join("other")).unwrap();
        let next = WorkerFolder::make(place.path(), 4, true).unwrap();
        assert!(!killed.exists() && lives.path().exists() && new.exists());
        assert!(place.path().join("other").exists());
        let path = next.path().to_owned();
        drop(next);
        assert!(!path.exists() && lives.path().join("cells").exists());
    }
}
