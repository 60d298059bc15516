//! A file that is read again when it changes.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use plimsoll_net::FileVersion;

/// A file, and which of its states was read last.
#[derive(Debug)]
pub(super) struct Watched {
    path: PathBuf,
    most_bytes: u64,
    seen: Option<FileVersion>,
}

impl Watched {
    /// One that was not read yet; more than `most_bytes` of it are never read.
    pub(super) fn new(path: PathBuf, most_bytes: u64) -> Self {
        Self { path, most_bytes, seen: None }
    }

    /// One whose present state was read already.
    pub(super) fn read_already(path: PathBuf, most_bytes: u64) -> Self {
        let seen = FileVersion::of(&path).ok();
        Self { path, most_bytes, seen }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// It is read with the next look, whatever it is.
    pub(super) fn forget(&mut self) {
        self.seen = None;
    }

    /// What it holds, if it is another one than it was. One that is broken is read once; one that
    /// was away is read when it is back.
    pub(super) fn changed(&mut self) -> io::Result<Option<Vec<u8>>> {
        let stamp = FileVersion::of(&self.path).inspect_err(|_| self.seen = None)?;
        if self.seen == Some(stamp) {
            return Ok(None);
        }
        self.seen = Some(stamp);
        let mut text = Vec::new();
        std::fs::File::open(&self.path)?.take(self.most_bytes + 1).read_to_end(&mut text)?;
        Ok(Some(text))
    }
}
