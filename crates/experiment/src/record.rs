//! Writes what a simulation finds, cell by cell, while it goes on: an experiment with its journal,
//! or, of a single cell, one run.
//!
//! Nothing is made before the first cell is done, so that what cannot be simulated leaves nothing.
//! Cells that keep a run are written one by one. The figures of others are gathered, and go into
//! the journal several cells a transaction: a cell of a millisecond would spend more on its own.

use std::cell::Cell as Local;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use plimsoll_runs::event::Class;
use plimsoll_runs::experiment::{Cell, ExperimentMeta, Finished, Journal, State};
use plimsoll_runs::{
    End, Ended, Event, FigureRow, Kind, RunError, RunMeta, RunWriter, SinkError, World,
};
use plimsoll_stats::figure::Figure;
use sha2::{Digest, Sha256};

use crate::error::ExperimentError;

/// The most cells of an experiment that keep their runs where nothing else is said.
pub const MAX_RUNS: u64 = 100;
/// Figures of cells wait for others no longer than this, nanoseconds.
const MAX_WAIT_NS: u64 = 100_000_000;
/// The most cells whose figures are gathered.
const MAX_GATHERED: usize = 512;

thread_local! {
    /// When this thread had done its last cell, nanoseconds since 1970: then it began the next.
    static LAST_NS: Local<u64> = const { Local::new(0) };
}

/// What is recorded, as it is known before the first cell.
pub struct Opening<'a> {
    /// The folder for runs.
    pub root: &'a Path,
    /// The name of the new folder in it.
    pub id: String,
    /// The plan's name; may be empty.
    pub name: String,
    /// The kind of run that each cell is.
    pub kind: Kind,
    /// What is simulated, in a few words, for lists.
    pub subject: String,
    /// The plan, complete.
    pub plan_text: String,
    /// The plan's SLO, as it states it.
    pub slo: Option<String>,
    /// How long the simulated load is; 0 where that is not known.
    pub duration_ns: u64,
    /// The version of this program.
    pub version: &'a str,
    /// Tells nanoseconds since 1970.
    pub now_ns: fn() -> u64,
    /// Whether there is one cell in all: it becomes a single run.
    pub is_single: bool,
    /// Whether every cell keeps a run: usually where there are no more than [`MAX_RUNS`].
    pub keeps_runs: bool,
}

/// What a cell is, before its number in the experiment is known to matter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellPlan {
    /// Its number, from 1.
    pub number: u32,
    /// The level of each factor.
    pub factors: BTreeMap<String, String>,
    /// Which replication it is, from 0.
    pub replication: u32,
    /// Its block.
    pub block: u32,
    /// Its seed.
    pub seed: u64,
}

/// A figure of a cell, with its value.
pub type Valued = (&'static Figure, f64);

/// Writes what is only in a cell's run: series, events, histograms.
pub type Contents<'a> = &'a dyn Fn(&mut RunWriter) -> Result<(), SinkError>;

/// Takes cells as they are done, from any thread.
pub struct Record<'a> {
    opening: Opening<'a>,
    /// Digest of what all cells depend on.
    plan_digest: Sha256,
    started_ns: u64,
    inner: Mutex<Inner>,
}

/// The part of a record that threads share, behind its lock.
struct Inner {
    /// Cells that are to be entered when there is a journal.
    planned: Vec<Cell>,
    place: Place,
    /// Cells whose figures are to be written.
    gathered: Vec<Finished>,
    gathered_ns: u64,
    /// The first thing that could not be written.
    fault: Option<ExperimentError>,
}

/// Where cells go.
enum Place {
    /// Nothing is done yet.
    Nowhere,
    /// A single run, open until the end.
    Run(Box<RunWriter>),
    /// An experiment.
    Experiment(Box<Journal>),
}

impl<'a> Record<'a> {
    /// A record without a cell; nothing is written yet.
    #[must_use]
    pub fn new(opening: Opening<'a>) -> Self {
        let started_ns = (opening.now_ns)();
        let plan_digest = Sha256::new_with_prefix(opening.plan_text.as_bytes());
        let inner = Inner {
            planned: Vec::new(),
            place: Place::Nowhere,
            gathered: Vec::new(),
            gathered_ns: started_ns,
            fault: None,
        };
        Self { opening, plan_digest, started_ns, inner: Mutex::new(inner) }
    }

    /// Enters cells that are going to be done.
    ///
    /// # Errors
    /// Where the journal cannot be written.
    pub fn plan(&self, cells: impl Iterator<Item = CellPlan>) -> Result<(), ExperimentError> {
        let cells: Vec<Cell> = cells.map(|cell| self.cell(cell)).collect();
        let mut inner = self.inner();
        match &mut inner.place {
            Place::Experiment(journal) => journal.plan(&cells)?,
            _ => inner.planned.extend(cells),
        }
        Ok(())
    }

    /// Takes a cell that is done. Returns whether it makes sense to go on: not where something
    /// could not be written, which [`Record::finish`] tells.
    pub fn done(&self, cell: CellPlan, figures: &[Valued], contents: Contents<'_>) -> bool {
        let written = self.write(self.cell(cell), figures, contents);
        let mut inner = self.inner();
        if let Err(error) = written {
            inner.fault.get_or_insert(error);
        }
        inner.fault.is_none()
    }

    /// Ends it. Returns the folder; `None` where no cell was done, and nothing was written.
    ///
    /// # Errors
    /// What could not be written.
    pub fn finish(
        self,
        ended: Ended,
        warnings: &[String],
    ) -> Result<Option<PathBuf>, ExperimentError> {
        let at_ns = self.since_start_ns();
        let mut inner = self.inner.into_inner().unwrap_or_else(PoisonError::into_inner);
        inner.flush()?;
        if let Some(fault) = inner.fault {
            return Err(fault);
        }
        match inner.place {
            Place::Nowhere => Ok(None),
            Place::Run(writer) => {
                let end = End { warnings: warnings.to_vec(), ..End::new(ended) };
                Ok(Some(writer.finish(end)?.path().to_owned()))
            }
            Place::Experiment(mut journal) => {
                for warning in warnings {
                    journal.event(None, &event(at_ns, "warning", warning))?;
                }
                Ok(Some(journal.finish(&ended, at_ns)?.folder().to_owned()))
            }
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn since_start_ns(&self) -> u64 {
        (self.opening.now_ns)().saturating_sub(self.started_ns)
    }

    fn cell(&self, of: CellPlan) -> Cell {
        let CellPlan { number, factors, replication, block, seed } = of;
        let mut digest = self.plan_digest.clone();
        for (factor, level) in &factors {
            digest.update(format!("\0{factor}={level}"));
        }
        digest.update(seed.to_le_bytes());
        let hash = hex(&digest.finalize());
        Cell { number, factors, replication, block, seed, world: World::Simulated, hash }
    }

    fn write(
        &self,
        cell: Cell,
        figures: &[Valued],
        contents: Contents<'_>,
    ) -> Result<(), ExperimentError> {
        let now_ns = (self.opening.now_ns)();
        let began_ns = LAST_NS.get().clamp(self.started_ns, now_ns);
        let started_ns = began_ns - self.started_ns;
        let ended_ns = now_ns - self.started_ns;
        let figures: Vec<FigureRow> =
            figures.iter().map(|(of, value)| FigureRow::new(of.name, *value)).collect();
        let keeps_run = {
            let mut inner = self.inner();
            inner.open(self)?;
            if let Place::Run(writer) = &mut inner.place {
                contents(writer).map_err(RunError::Unfinished)?;
                writer.figures(&figures).map_err(RunError::Unfinished)?;
                return Ok(());
            }
            self.opening.keeps_runs
        };
        if keeps_run {
            self.write_run(&cell, &figures, contents, (started_ns, ended_ns))?;
        } else {
            let mut inner = self.inner();
            inner.gathered.push(Finished { cell, figures, started_ns, ended_ns });
            if inner.gathered.len() >= MAX_GATHERED || now_ns >= inner.gathered_ns + MAX_WAIT_NS {
                inner.flush()?;
                inner.gathered_ns = now_ns;
            }
        }
        LAST_NS.set((self.opening.now_ns)());
        Ok(())
    }

    /// Writes a cell's run, and then that the cell is done. The run is written without a lock:
    /// other threads go on.
    fn write_run(
        &self,
        cell: &Cell,
        figures: &[FigureRow],
        contents: Contents<'_>,
        (started_ns, ended_ns): (u64, u64),
    ) -> Result<(), ExperimentError> {
        let folder = {
            let mut inner = self.inner();
            let Place::Experiment(journal) = &mut inner.place else { return Ok(()) };
            journal.begin(cell, started_ns)?;
            journal.folder().to_owned()
        };
        let id = format!("{}/{:04}", self.opening.id, cell.number);
        let meta = self.meta(id, cell, self.started_ns + started_ns);
        let mut writer = RunWriter::create_cell(&folder, &meta)?;
        contents(&mut writer).map_err(RunError::Unfinished)?;
        writer.figures(figures).map_err(RunError::Unfinished)?;
        writer.finish(End::new(Ended::Complete))?;
        let mut inner = self.inner();
        let Place::Experiment(journal) = &mut inner.place else { return Ok(()) };
        journal.figures(cell.number, figures)?;
        journal.end(cell.number, State::Done, "", ended_ns)?;
        Ok(())
    }

    fn meta(&self, id: String, cell: &Cell, started_unix_ns: u64) -> RunMeta {
        let of = &self.opening;
        RunMeta {
            id,
            kind: of.kind,
            cell: cell.number,
            name: of.name.clone(),
            subject: subject(&of.subject, &cell.factors),
            started_unix_ns,
            version: of.version.to_owned(),
            seed: cell.seed,
            plan_text: of.plan_text.clone(),
            plan_sha256: hex(&Sha256::digest(of.plan_text.as_bytes())),
            warmup_ns: 0,
            duration_ns: of.duration_ns,
            slo: of.slo.clone(),
            load: None,
            world: World::Simulated,
            host: Vec::new(),
        }
    }
}

impl Inner {
    /// Makes the folder, where there is none yet.
    fn open(&mut self, record: &Record<'_>) -> Result<(), ExperimentError> {
        if !matches!(self.place, Place::Nowhere) {
            return Ok(());
        }
        let of = &record.opening;
        if let ([only], true) = (&self.planned[..], of.is_single) {
            let meta = RunMeta { cell: 0, ..record.meta(of.id.clone(), only, record.started_ns) };
            self.place = Place::Run(Box::new(RunWriter::create(of.root, &meta)?));
            return Ok(());
        }
        let meta = ExperimentMeta {
            id: of.id.clone(),
            name: of.name.clone(),
            kind: of.kind,
            subject: of.subject.clone(),
            started_unix_ns: record.started_ns,
            version: of.version.to_owned(),
            plan_text: of.plan_text.clone(),
        };
        let mut journal = Journal::create(of.root, &meta)?;
        journal.plan(&std::mem::take(&mut self.planned))?;
        self.place = Place::Experiment(Box::new(journal));
        Ok(())
    }

    /// Writes the figures of the cells that were gathered, in one transaction.
    fn flush(&mut self) -> Result<(), ExperimentError> {
        if let (Place::Experiment(journal), false) = (&mut self.place, self.gathered.is_empty()) {
            journal.record(&std::mem::take(&mut self.gathered))?;
        }
        Ok(())
    }
}

/// Something about the whole experiment.
fn event(at_ns: u64, kind: &str, text: &str) -> Event {
    Event { at_ns, class: Class::Run, kind: kind.to_owned(), text: text.to_owned() }
}

/// What a cell is, for lists: the subject of all, and its levels.
fn subject(all: &str, factors: &BTreeMap<String, String>) -> String {
    let levels: Vec<&str> = factors.values().map(String::as_str).collect();
    if levels.is_empty() { all.to_owned() } else { format!("{all}: {}", levels.join(", ")) }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
