//! The folder of a server, and what ends with it.

use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;

/// Waits for the end of its input, which this process holds, then ends every process that works in
/// the folder `$1` or right below it by the signal `$2`, and by KILL what does not heed that, and
/// removes the folder. Nothing that a terminal sends ends it before.
const KEEPER: &str = r#"
trap '' HUP INT QUIT TERM
folder=$1 signal=$2
read -r _
tell() {
    found=1
    for process in /proc/[0-9]*; do
        for at in "$folder" "$folder"/*/; do
            if [ "$process/cwd" -ef "$at" ]; then
                kill -s "$1" "${process#/proc/}" && found=0
                break
            fi
        done
    done
    return $found
}
rounds=0
while tell "$signal"; do
    sleep 0.05
    rounds=$((rounds + 1))
    [ $rounds -lt 400 ] || signal=KILL
done
rm -rf "$folder"
"#;

/// A folder that a server keeps everything in, and works in. With it end all processes that do so,
/// whoever started them. The same happens when this process ends, however it ends: a shell beside
/// it waits for that.
pub struct Folder {
    path: PathBuf,
    keeper: Child,
}

impl Folder {
    /// A new folder, whose processes end by KILL.
    #[must_use]
    pub fn new() -> Self {
        Self::ending_by(Signal::KILL)
    }

    /// A new folder, whose processes end by a signal.
    pub(super) fn ending_by(signal: Signal) -> Self {
        let path = tempfile::Builder::new().prefix("server-").tempdir().unwrap().keep();
        let signal = if signal == Signal::QUIT { "QUIT" } else { "KILL" };
        let keeper = Command::new("sh")
            .args(["-c", KEEPER, "keeper"])
            .arg(&path)
            .arg(signal)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // What ends a group of processes ends those of the test, not this one.
            .process_group(0)
            .spawn()
            .unwrap();
        Self { path, keeper }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Default for Folder {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait_until;

    /// Where what is to be killed says what it has started.
    const KILLED: &str = "PLIMSOLL_TEST_KILLED";

    fn sleeper(folder: &Path) -> Child {
        Command::new("sleep").arg("3600").current_dir(folder).spawn().unwrap()
    }

    #[test]
    fn what_works_in_a_folder_ends_with_it_and_nothing_else() {
        let (folder, other) = (Folder::new(), Folder::new());
        std::fs::create_dir_all(folder.path().join("data/deep")).unwrap();
        let mut within = [sleeper(folder.path()), sleeper(&folder.path().join("data"))];
        let mut beside = sleeper(other.path());
        let path = folder.path().to_owned();
        drop(folder);
        assert!(!path.exists());
        assert!(within.each_mut().map(|child| child.wait().unwrap().success()) == [false; 2]);
        assert!(beside.try_wait().unwrap().is_none());
        drop(other);
        beside.wait().unwrap();
    }

    #[test]
    fn what_does_not_heed_its_signal_is_killed() {
        let folder = Folder::ending_by(Signal::QUIT);
        let mut deaf = Command::new("sh");
        deaf.args(["-c", "trap '' QUIT; touch deaf; while :; do sleep 1; done"]);
        let mut deaf = deaf.current_dir(folder.path()).process_group(0).spawn().unwrap();
        wait_until("it is deaf", || folder.path().join("deaf").exists());
        drop(folder);
        assert!(!deaf.wait().unwrap().success());
    }

    /// This test starts itself, and kills that.
    #[test]
    fn a_killed_process_leaves_no_folder_and_nothing_that_works_there() {
        if let Some(told) = crate::variable(KILLED) {
            let folder = Folder::new();
            let mut sleeper = sleeper(folder.path());
            let text = format!("{}\n{}\n", folder.path().display(), sleeper.id());
            std::fs::write(told, text).unwrap();
            sleeper.wait().unwrap();
        }
        let told = tempfile::NamedTempFile::new().unwrap();
        let mut itself = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", std::thread::current().name().unwrap()])
            .env(KILLED, told.path())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let text = || std::fs::read_to_string(told.path()).unwrap();
        wait_until("the folder", || text().ends_with('\n') && text().lines().count() == 2);
        itself.kill().unwrap();
        itself.wait().unwrap();
        let text = text();
        let (path, process) = text.trim_end().split_once('\n').unwrap();
        wait_until("the folder to be removed", || !Path::new(path).exists());
        let works = std::fs::read_link(format!("/proc/{process}/cwd"));
        assert!(works.is_err(), "{process} works in {works:?}");
    }
}
