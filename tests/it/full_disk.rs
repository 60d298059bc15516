//! A disk that fills up while a run is written.

use crate::json::assert_sums;
use crate::place::{Place, SOAK, run_folders, test_name};
use plimsoll_testing::{Weight, skip};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A small file system of its own, gone when dropped.
pub(crate) struct Mounted(PathBuf);

impl Mounted {
    /// Mounts so many KiB of memory; `None`, and reported, where that is not allowed.
    pub(crate) fn tmpfs(at: &Path, kib: u32) -> Option<Self> {
        std::fs::create_dir(at).unwrap();
        let size = format!("size={kib}k");
        if run("mount", &["-t", "tmpfs", "-o", &size, "tmpfs"], at) {
            return Some(Self(at.to_owned()));
        }
        skip(&test_name(), "root: a tmpfs may not be mounted");
        None
    }

    /// From now on nothing in it can be changed.
    pub(crate) fn make_read_only(&self) {
        assert!(run("mount", &["-o", "remount,ro", "tmpfs"], &self.0));
        assert!(std::fs::write(self.0.join("probe"), "").is_err(), "still writable");
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        run("umount", &[], &self.0);
    }
}

fn run(program: &str, arguments: &[&str], at: &Path) -> bool {
    let done = Command::new(program).args(arguments).arg(at).output();
    done.is_ok_and(|done| done.status.success())
}

#[test]
fn what_was_written_before_the_disk_was_full_is_readable() {
    let place = Place::new();
    let disk = place.path("disk");
    let Some(_mounted) = Mounted::tmpfs(&disk, 220) else { return };
    let target = place.calm();
    let url = target.url();
    let done =
        place.load(&[&url, "--rate", "200/s", "--for", SOAK, "--samples", "--out", "disk/runs"]);
    let done = done.ended_with(4);
    done.says(&[
        "error: failed to write ",
        "disk/runs/",
        "No space left on ",
        "hint: free some space",
    ]);

    let runs = run_folders(&disk.join("runs"));
    assert_eq!(runs.len(), 1);
    let run = runs[0].to_str().unwrap();
    let shown = place.plimsoll(&["runs", "show", run, "--json"]).ended_with(0).json();
    assert!(shown["completed"].as_u64().unwrap() >= 100, "{shown}");
    // Whether there was room to write down that it failed is a matter of bytes.
    let ended = shown["run"]["ended"].as_str().unwrap();
    assert!(["failed", "incomplete"].contains(&ended), "{shown}");
    assert_sums(&shown);
    assert!(!shown["warnings"].to_string().contains("fault of this program"), "{shown}");
    place.plimsoll(&["report", run, "-o", "report.html"]).ended_with(0);
    place.plimsoll(&["export", run, "-o", "run.csv"]).ended_with(0);
}

#[test]
fn a_folder_for_runs_that_cannot_be_made() {
    let place = Place::weighing(Weight::WAITS);
    let target = place.calm();
    place.write("file", "");
    let arguments = [&target.url(), "--rate", "5/s", "--for", "1s", "--out", "file/runs"];
    place.load(&arguments).ended_with(4).says(&["error: failed to make file/runs: "]);
}
