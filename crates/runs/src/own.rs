//! Folders and files of runs are their owner's alone: a plan, what it reads and what servers have
//! said may hold secrets that nothing tells from other texts.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

/// The permissions of files.
pub(crate) const FILES: u32 = 0o600;
/// The permissions of folders.
const FOLDERS: u32 = 0o700;

/// Makes a folder.
pub fn folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(FOLDERS).create(path)
}

/// Makes a file, in the place of one that is there.
pub fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(FILES).open(path)
}

/// Makes a file of some bytes, in the place of one that is there.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    create(path)?.write_all(bytes)
}

/// Makes an empty file, where there is none.
pub(crate) fn touch(path: &Path) {
    // Whoever opens it tells why it cannot be made.
    let _ = OpenOptions::new().write(true).create_new(true).mode(FILES).open(path);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn nobody_else_may_read_them() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        folder(&path("folder")).unwrap();
        write(&path("file"), b"a longer text").unwrap();
        write(&path("file"), b"text").unwrap();
        touch(&path("empty"));
        touch(&path("file"));
        assert_eq!(std::fs::read(path("file")).unwrap(), b"text");
        for (name, mode) in [("folder", FOLDERS), ("file", FILES), ("empty", FILES)] {
            let found = std::fs::metadata(path(name)).unwrap().permissions().mode();
            assert_eq!(found & 0o777, mode, "{name}");
        }
    }
}
