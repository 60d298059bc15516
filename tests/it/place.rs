//! Where a test takes place: a folder of its own, a turn on the machine, servers of known
//! behaviour.

use crate::program::{Done, Going, PLIMSOLL, wait_for};
use plimsoll_runs::Run;
use plimsoll_runs::experiment::{CellRow, Experiment};
use plimsoll_testing::{Turn, Weight};
use rustix::process::Signal;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// How long a load goes on at most that a test ends.
pub(crate) const SOAK: &str = "20m";

/// A test's folder and its turn.
pub(crate) struct Place {
    folder: tempfile::TempDir,
    started: AtomicU32,
    /// `None` where it is that of the test's other place.
    _turn: Option<Turn>,
}

impl Place {
    /// Of a test that starts servers and loads them, as most do.
    pub(crate) fn new() -> Self {
        Self::weighing(Weight::LOADS)
    }

    /// Of a test that measures what a server can do, or keeps it busy: beside few others.
    pub(crate) fn measuring() -> Self {
        Self::weighing(Weight::COMPUTES)
    }

    /// Of a test that takes so much of the machine.
    pub(crate) fn weighing(weight: Weight) -> Self {
        Self::at(Some(Turn::take(weight)))
    }

    /// Another folder of the same test. A turn of its own would wait for whoever waits for this
    /// one.
    pub(crate) fn another(&self) -> Self {
        Self::at(None)
    }

    fn at(turn: Option<Turn>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { folder, started: AtomicU32::new(0), _turn: turn }
    }

    /// A path in the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file into the folder.
    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// A command that runs in the folder.
    pub(crate) fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.folder.path());
        // Locks of its own: no search waits for one of another test.
        command.env("XDG_RUNTIME_DIR", self.folder.path());
        command
    }

    /// Starts a command.
    pub(crate) fn start(&self, command: Command) -> Going {
        let number = self.started.fetch_add(1, Ordering::Relaxed);
        let files = self.path(".output");
        std::fs::create_dir_all(&files).unwrap();
        Going::start(command, &files, &number.to_string())
    }

    /// Runs the program.
    pub(crate) fn plimsoll(&self, arguments: &[&str]) -> Done {
        self.start(self.command(PLIMSOLL, arguments)).wait()
    }

    /// Runs `plimsoll load` quietly.
    pub(crate) fn load(&self, arguments: &[&str]) -> Done {
        self.plimsoll(&[&["load", "--quiet"], arguments].concat())
    }

    /// Begins `plimsoll load` for ever, and waits until a second of its run is there.
    pub(crate) fn soak(&self, arguments: &[&str]) -> Going {
        let load = [&["load", "--for", "ever", "--at-most", SOAK], arguments].concat();
        let mut going = self.start(self.command(PLIMSOLL, &load));
        self.loads(&mut going);
        going
    }

    /// Begins `plimsoll run plan.toml` of a load for ever, and waits until a second of it is there.
    pub(crate) fn run_for_ever(&self, flags: &[&str]) -> Going {
        let run = [&["run", "plan.toml"], flags].concat();
        let mut going = self.start(self.command(PLIMSOLL, &run));
        self.loads(&mut going);
        going
    }

    /// Waits until a second of a load is there that a process puts on something.
    pub(crate) fn loads(&self, going: &mut Going) -> PathBuf {
        wait_for("a second of the load", || {
            assert!(!going.has_ended(), "{}{}", going.out(), going.err());
            loaded_by(self.folder.path(), going.id()).pop()
        })
    }

    /// How many loads a process has put on something for a second.
    pub(crate) fn loads_of(&self, going: &Going) -> usize {
        loaded_by(self.folder.path(), going.id()).len()
    }

    /// Asks a load or an experiment that goes on to end; returns what came of it.
    pub(crate) fn stopped(&self, mut going: Going) -> Done {
        let run = self.loads(&mut going);
        let of = match run.parent().filter(|cells| cells.ends_with("cells")) {
            Some(cells) => cells.parent().unwrap().to_owned(),
            None => run,
        };
        self.plimsoll(&["stop", of.to_str().unwrap()]).ended_with(0);
        going.wait()
    }

    /// The only run folder in `runs`.
    pub(crate) fn run(&self) -> PathBuf {
        let runs = self.runs("runs");
        assert!(!runs.is_empty(), "no run");
        runs.last().unwrap().clone()
    }

    /// The run folders in a folder for runs, the oldest first.
    pub(crate) fn runs(&self, name: &str) -> Vec<PathBuf> {
        run_folders(&self.path(name))
    }

    /// A server of known behaviour.
    pub(crate) fn target(&self, arguments: &[&str]) -> Target {
        Target::start(self, "127.0.0.1:0", arguments)
    }

    /// One that answers after 20 ms, whatever the load.
    pub(crate) fn calm(&self) -> Target {
        self.target(&["--service-time", "const:20ms", "--workers", "1000"])
    }
}

/// The runs of a second at least that a process writes, below a folder: `out/RUN`, and the cells
/// there, `out/E/cells/0007.part`.
fn loaded_by(place: &Path, process: i32) -> Vec<PathBuf> {
    let outs = run_folders(place);
    let runs: Vec<PathBuf> = outs.iter().flat_map(|out| run_folders(out)).collect();
    let cells = runs.iter().flat_map(|run| run_folders(&run.join("cells")));
    let is_its = |folder: &PathBuf| {
        let Ok(run) = Run::open(folder) else { return false };
        let is_its = run.writer().ok().flatten() == u32::try_from(process).ok();
        is_its && run.intervals().is_ok_and(|all| !all.is_empty())
    };
    cells.chain(runs.iter().cloned()).filter(is_its).collect()
}

/// The name of the test that runs: libtest names threads after their tests.
pub(crate) fn test_name() -> String {
    std::thread::current().name().unwrap_or("a test").to_owned()
}

/// What the events of a kind say in a run.
pub(crate) fn events(run: &Path, kind: &str) -> Vec<String> {
    let events = Run::open(run).unwrap().events().unwrap();
    events.into_iter().filter(|of| of.kind == kind).map(|of| of.text).collect()
}

/// A cell of an experiment, as its journal has it.
pub(crate) fn cell(experiment: &Path, number: u32) -> CellRow {
    let cells = Experiment::open(experiment).unwrap().cells().unwrap();
    cells.into_iter().find(|row| row.cell.number == number).unwrap()
}

/// The run folders in a folder for runs, the oldest first.
pub(crate) fn run_folders(root: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    let mut runs: Vec<PathBuf> = entries.map(|e| e.path()).filter(|path| path.is_dir()).collect();
    runs.sort();
    runs
}

/// A `plimsoll target` child; told to end when dropped.
pub(crate) struct Target {
    going: Going,
    address: String,
}

impl Target {
    /// Listens at an address, or at a port that the system chooses.
    pub(crate) fn start(place: &Place, listen: &str, arguments: &[&str]) -> Self {
        let mut command = place.command(PLIMSOLL, &["target", "--listen", listen]);
        command.args(arguments);
        let mut going = place.start(command);
        let address = wait_for("the target to listen", || {
            let out = going.out();
            assert!(!going.has_ended(), "{}", going.err());
            Some(out.strip_prefix("listening on ")?.strip_suffix('\n')?.to_owned())
        });
        Self { going, address }
    }

    /// Host and port, or the socket's path.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// The URL of its root.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Ends it; returns what it said.
    pub(crate) fn end(self) -> Done {
        self.going.signal(Signal::TERM);
        self.going.wait()
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        self.going.signal(signal);
    }
}
