//! Writing a file as a whole: whoever reads it finds what was there before, or all of what is new.

use std::io::{self, Write as _};
use std::path::Path;

/// Writes a file as a whole. Behind a link, what the link leads to is written; into what is no file
/// (a device, a pipe) it is written as it stands.
///
/// # Errors
/// Where it cannot be written; a file that was there stays as it was.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // A link that leads nowhere is one all the same: it says where the file is to be.
    let target = match std::fs::read_link(path) {
        Ok(to) => path.parent().unwrap_or(Path::new("")).join(to),
        Err(_) => path.to_owned(),
    };
    let target = target.canonicalize().unwrap_or(target);
    if std::fs::metadata(&target).is_ok_and(|found| !found.is_file()) {
        return std::fs::OpenOptions::new().write(true).open(&target)?.write_all(bytes);
    }
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    let part = target.with_file_name(name);
    let written = std::fs::write(&part, bytes).and_then(|()| std::fs::rename(&part, &target));
    written.inspect_err(|_| drop(std::fs::remove_file(&part)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_and_devices_stay_what_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["file", "there"] {
            std::fs::write(at(name), "old").unwrap();
        }
        symlink("there", at("link")).unwrap();
        symlink("new", at("dangling")).unwrap();
        for name in ["file", "link", "dangling"] {
            replace(&at(name), b"text").unwrap();
            assert_eq!(std::fs::read(at(name)).unwrap(), b"text");
        }
        assert!(at("link").is_symlink() && at("dangling").is_symlink());
        assert_eq!(std::fs::read(at("new")).unwrap(), b"text");
        replace(Path::new("/dev/null"), b"text").unwrap();
        assert!(!Path::new("/dev/null").is_file());
        assert!(replace(&at("none/file"), b"text").is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 5, "nothing is left beside");
    }
}
