//! Small and read-only file systems for tests, where the machine lets us mount some.

use std::path::{Path, PathBuf};
use std::process::Command;

use plimsoll_testing::skip;

/// A file system of its own, gone when dropped.
pub(crate) struct Mounted {
    at: tempfile::TempDir,
}

impl Mounted {
    /// A file system in memory of so many KiB; `None`, said by name, where none may be mounted.
    pub(crate) fn tmpfs(test: &str, kib: u32) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            skip(test, "root: a tmpfs is mounted");
            return None;
        }
        let at = tempfile::tempdir().unwrap();
        let size = format!("size={kib}k");
        let Err(why) = mount(&["-t", "tmpfs", "-o", &size, "tmpfs"], at.path()) else {
            return Some(Self { at });
        };
        // A root whose rights were taken, as in a container.
        let may_not = ["permission denied", "not permitted"].iter().any(|of| why.contains(of));
        assert!(may_not, "mount a tmpfs: {why}");
        skip(test, &format!("namespaces: no tmpfs: {why}"));
        None
    }

    pub(crate) fn path(&self) -> &Path {
        self.at.path()
    }

    /// From now on nothing in it can be changed.
    pub(crate) fn make_read_only(&self) {
        mount(&["-o", "remount,ro", "tmpfs"], self.path()).unwrap();
        let probe: PathBuf = self.path().join("probe");
        assert!(std::fs::write(probe, "").is_err(), "still writable");
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = run("umount", &[], self.path());
    }
}

fn mount(arguments: &[&str], at: &Path) -> Result<(), String> {
    run("mount", arguments, at)
}

#[expect(clippy::disallowed_methods, reason = "no other way to a full or read-only disk")]
fn run(program: &str, arguments: &[&str], at: &Path) -> Result<(), String> {
    let done = Command::new(program).args(arguments).arg(at).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr).trim().to_owned();
    if done.status.success() { Ok(()) } else { Err(said) }
}
