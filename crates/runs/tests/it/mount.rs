//! Small and read-only file systems for tests, where the machine lets us mount some.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A file system of its own, gone when dropped.
pub(crate) struct Mounted {
    at: tempfile::TempDir,
}

impl Mounted {
    /// A file system in memory of so many KiB; `None`, and said so, where none can be mounted.
    #[expect(clippy::print_stdout, reason = "a test that is skipped says so")]
    pub(crate) fn tmpfs(test: &str, kib: u32) -> Option<Self> {
        let at = tempfile::tempdir().unwrap();
        let size = format!("size={kib}k");
        if mount(&["-t", "tmpfs", "-o", &size, "tmpfs"], at.path()) {
            return Some(Self { at });
        }
        println!("skipped: {test} needs the right to mount a tmpfs");
        None
    }

    pub(crate) fn path(&self) -> &Path {
        self.at.path()
    }

    /// From now on nothing in it can be changed.
    pub(crate) fn make_read_only(&self) {
        assert!(mount(&["-o", "remount,ro", "tmpfs"], self.path()));
        let probe: PathBuf = self.path().join("probe");
        assert!(std::fs::write(probe, "").is_err(), "still writable");
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        run("umount", &[], self.path());
    }
}

fn mount(arguments: &[&str], at: &Path) -> bool {
    run("mount", arguments, at)
}

#[expect(clippy::disallowed_methods, reason = "no other way to a full or read-only disk")]
fn run(program: &str, arguments: &[&str], at: &Path) -> bool {
    let done = Command::new(program).args(arguments).arg(at).output();
    done.is_ok_and(|done| done.status.success())
}
