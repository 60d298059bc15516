//! Cells that workers execute, as the controller keeps what comes of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use plimsoll_fleet::cells::{CellFleet, CellTerms, Done, Taken, Takes};
use plimsoll_fleet::message::CellsJob;
use plimsoll_plan::Fleet as FleetPlan;
use plimsoll_runs::experiment::Cell;
use plimsoll_runs::{Class, figures, own};
use plimsoll_stats::figure;
use plimsoll_units::hash::hex;
use sha2::{Digest, Sha256};

use crate::broker::Waiting;
use crate::control::{Control, News, Wish};
use crate::engine::{Execution, with_execution};
use crate::error::ExperimentError;
use crate::prepare::Place;
use crate::record::Record;
use crate::starts::{WorkersFor, given, starts};

/// So much of a file is told at once, bytes.
pub(crate) const PIECE: usize = 256 << 10;
/// The most bytes that the run of a cell has.
const MOST_OF_RUN: u64 = 1 << 30;
/// The longest path of a file of a run, and how many folders it may lead through.
const LONGEST_PATH: usize = 200;
const DEEPEST: usize = 3;
/// So much of a name that nobody knows is shown, characters.
const SHOWN: usize = 60;
/// How many threads a worker of this host has, where several share it.
const SHARED: u32 = 1;

/// Workers that execute cells.
pub struct CellWorkers {
    fleet: Mutex<CellFleet>,
}

/// Starts the workers of a fleet for the cells of a record; waits until all are there.
///
/// # Errors
/// A file that cannot be given to them; a worker that does not come, or cannot do it.
pub fn cell_workers(
    fleet: &FleetPlan,
    record: &Record<'_>,
    place: &Place<'_>,
    control: &dyn Control,
) -> Result<CellWorkers, ExperimentError> {
    let inputs = if fleet.is_here() { Vec::new() } else { given(record.files())? };
    let cores = place.cores.allowed;
    let threads = fleet.is_here().then(|| (cores / fleet.count()).max(SHARED));
    let lost_after = fleet.cells_lost_after();
    let mut interrupted = || control.wish() != Wish::Continue;
    let tell = &mut |text: &str| control.tell(News::Warns(text));
    let waiting = Waiting { interrupted: &mut interrupted, tell };
    let terms = CellTerms {
        workers: starts(fleet, WorkersFor::Cells, place, waiting)?,
        job: CellsJob { threads, ..record.job() },
        inputs,
        version: place.version,
        system: place.system,
        lost_after_ns: u64::try_from(lost_after.as_nanos()).unwrap_or(u64::MAX),
    };
    let fleet = CellFleet::start(terms, interrupted)?;
    Ok(CellWorkers { fleet: Mutex::new(fleet) })
}

impl CellWorkers {
    /// Has cells executed, as long as `control` wishes so, and keeps what comes of each.
    ///
    /// # Errors
    /// Where no worker is left, or something cannot be kept.
    pub(crate) fn execute(
        &self,
        cells: &[Cell],
        record: &Record<'_>,
        control: &dyn Control,
    ) -> Result<(), ExperimentError> {
        let mut fleet = self.fleet.lock().unwrap_or_else(PoisonError::into_inner);
        let before = fleet.fenced();
        let executed = with_execution(cells, record, control, |to| {
            fleet.execute(cells, &mut Taking { to, runs: BTreeMap::new() })
        });
        let fenced = fleet.fenced() - before;
        if fenced > 0 {
            let results =
                if fenced == 1 { "1 result was" } else { &format!("{fenced} results were") };
            record.note(&format!(
                "{results} refused that came late: the cells had been given to others"
            ));
        }
        executed
    }
}

/// The digest of the files of a run, in their order.
#[derive(Default)]
pub(crate) struct RunDigest {
    all: Sha256,
    file: Option<Sha256>,
    bytes: u64,
}

impl RunDigest {
    /// Another file begins.
    pub(crate) fn begin(&mut self, name: &str) {
        self.end_file();
        self.all.update(name);
        self.all.update([0]);
        self.file = Some(Sha256::new());
    }

    /// The file goes on with these bytes.
    pub(crate) fn add(&mut self, piece: &[u8]) {
        self.bytes = self.bytes.saturating_add(piece.len() as u64);
        self.file.iter_mut().for_each(|of| of.update(piece));
    }

    fn end_file(&mut self) {
        if let Some(file) = self.file.take() {
            self.all.update(file.finalize());
        }
    }

    /// How many bytes there were, and the digest of all.
    pub(crate) fn end(mut self) -> (u64, String) {
        self.end_file();
        (self.bytes, hex(&self.all.finalize()))
    }
}

/// The paths of the files of a run in its folder, in the order in which they are told.
///
/// # Errors
/// A folder that cannot be read.
pub(crate) fn files_of_run(run: &Path) -> io::Result<Vec<String>> {
    let mut files = Vec::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(run.join(&folder))? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
            let about = entry.file_type()?;
            if about.is_dir() {
                folders.push(path);
            } else if about.is_file() {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Whether a file of a run may be called so: names below its folder, and nothing that leads out.
fn is_name(file: &str) -> bool {
    let path = Path::new(file);
    let is_plain = |of: Component<'_>| matches!(of, Component::Normal(_));
    file.len() <= LONGEST_PATH
        && !file.is_empty()
        && path.components().all(is_plain)
        && path.components().count() <= DEEPEST
        // What a path of a file leaves out when it is read as one.
        && path.components().map(|of| of.as_os_str().len() + 1).sum::<usize>() == file.len() + 1
        && !file.contains(['\0', '\\'])
}

/// What has come of a run, in a folder beside those of runs that are done.
struct Arriving {
    folder: PathBuf,
    digest: RunDigest,
    bytes: u64,
    /// The file of which pieces come.
    file: String,
}

impl Arriving {
    /// A run of which nothing has come yet.
    fn begin(folder: PathBuf) -> io::Result<Self> {
        // What came of an attempt before; nothing mostly.
        let _ = plimsoll_units::erase::tree(&folder);
        own::folder(&folder)?;
        Ok(Self { folder, digest: RunDigest::default(), bytes: 0, file: String::new() })
    }

    /// Takes a piece of a file; why not, where it is none.
    fn take(&mut self, file: &str, piece: &[u8]) -> io::Result<Result<(), String>> {
        self.bytes = self.bytes.saturating_add(piece.len() as u64);
        if !is_name(file) {
            return Ok(Err("a file of a run that leads out of its folder".to_owned()));
        }
        if self.bytes > MOST_OF_RUN {
            return Ok(Err("a run of more than 1 GiB".to_owned()));
        }
        let path = self.folder.join(file);
        let is_new = self.file != file;
        if is_new {
            // In their order, so that none comes twice.
            if *file <= *self.file {
                return Ok(Err("files of a run out of their order".to_owned()));
            }
            let above = path.parent().unwrap_or(&self.folder);
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(above)?;
            file.clone_into(&mut self.file);
            self.digest.begin(file);
        }
        self.digest.add(piece);
        let mut options = OpenOptions::new();
        options.append(true).create_new(is_new).mode(0o600);
        options.open(path)?.write_all(piece)?;
        Ok(Ok(()))
    }
}

/// Takes what workers tell of cells.
struct Taking<'a> {
    to: &'a Execution<'a>,
    runs: BTreeMap<u32, Arriving>,
}

impl Taking<'_> {
    fn record(&self) -> &Record<'_> {
        self.to.record
    }

    /// What of a cell's figures nobody may tell; `None` where all is well.
    fn fault(done: &Done) -> Option<String> {
        let unknown = done.figures.iter().find(|row| figure::named(&row.name).is_none());
        if let Some(row) = unknown {
            let name: String = row.name.chars().take(SHOWN).collect();
            return Some(format!("a figure that there is not: `{name}`"));
        }
        let names: BTreeSet<&str> = done.figures.iter().map(|row| row.name.as_str()).collect();
        if names.len() < done.figures.len() {
            return Some("a figure twice".to_owned());
        }
        figures::fault(&done.figures)
    }

    /// The folder of the run that has come of a cell; why it is not taken, where it is not.
    fn run_of(&mut self, cell: &Cell, done: &Done) -> Result<Option<PathBuf>, String> {
        let came = self.runs.remove(&cell.number);
        match (came, &done.run) {
            (None, None) => Ok(None),
            (Some(Arriving { folder, digest, .. }), Some((bytes, sha256))) => {
                match digest.end() == (*bytes, sha256.clone()) {
                    true => Ok(Some(folder)),
                    false => Err("a run whose digest is not that of what came".to_owned()),
                }
            }
            _ => Err("a run without its pieces, or pieces without a run".to_owned()),
        }
    }
}

impl Takes for Taking<'_> {
    type Error = ExperimentError;

    fn begins_another(&mut self) -> bool {
        self.to.begins_another()
    }

    fn aborts(&mut self) -> bool {
        self.to.control.wish() == Wish::Abort
    }

    fn piece(
        &mut self,
        cell: &Cell,
        is_first: bool,
        file: &str,
        piece: &[u8],
    ) -> Result<Taken, ExperimentError> {
        if !self.record().keeps_run(cell) {
            return Ok(Taken::Refused("the run of a cell that keeps none".to_owned()));
        }
        let folder = self.record().arriving(cell)?;
        let failed = |source| ExperimentError::Artifact { path: folder.clone(), source };
        if is_first {
            let run = Arriving::begin(folder.clone()).map_err(failed)?;
            self.runs.insert(cell.number, run);
        }
        let Some(run) = self.runs.get_mut(&cell.number) else {
            return Ok(Taken::Refused("a piece of no run".to_owned()));
        };
        Ok(match run.take(file, piece).map_err(failed)? {
            Ok(()) => Taken::Kept,
            Err(why) => Taken::Refused(why),
        })
    }

    fn done(&mut self, cell: &Cell, done: Done) -> Result<Taken, ExperimentError> {
        if let Some(why) = &done.failed {
            let text = format!("cell {} failed: {why}", cell.number);
            self.to.control.tell(News::Warns(&text));
            self.record().failed(cell, why)?;
            return Ok(Taken::Kept);
        }
        if let Some(why) = Self::fault(&done) {
            return Ok(Taken::Refused(why));
        }
        let run = match self.run_of(cell, &done) {
            Ok(run) if run.is_some() == self.record().keeps_run(cell) => run,
            Ok(_) => return Ok(Taken::Refused("a cell without its run".to_owned())),
            Err(why) => return Ok(Taken::Refused(why)),
        };
        self.to.took(cell, done.figures, done.took_ns, run.as_deref())?;
        Ok(Taken::Kept)
    }

    fn note(&mut self, text: &str) {
        self.record().note(text);
    }

    fn warn(&mut self, text: String) {
        self.to.control.tell(News::Warns(&text));
        // Where the journal cannot be written, the next cell tells it.
        let _ = self.record().happened(None, Class::Run, ("worker", &text));
    }
}

impl Drop for Taking<'_> {
    /// What has come of runs that nobody will close.
    fn drop(&mut self) {
        for run in self.runs.values() {
            let _ = plimsoll_units::erase::tree(&run.folder);
        }
    }
}
