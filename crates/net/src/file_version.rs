//! Whether a file is another one than it was.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Two files of one name differ in one of these: whole seconds of change alone would miss a
/// second change within one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileVersion {
    changed_s: i64,
    changed_ns: i64,
    bytes: u64,
    inode: u64,
}

impl FileVersion {
    /// Of the file that is there now.
    pub fn of(path: &Path) -> io::Result<Self> {
        let facts = std::fs::metadata(path)?;
        Ok(Self {
            changed_s: facts.mtime(),
            changed_ns: facts.mtime_nsec(),
            bytes: facts.len(),
            inode: facts.ino(),
        })
    }
}
