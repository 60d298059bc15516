//! Keeps what comes of cells, cell by cell, while they are executed: an experiment with its
//! journal, or, of a single cell, one run.
//!
//! Nothing is made before the first cell has come to something, so that what cannot be executed
//! leaves nothing. Cells that keep a run are written one by one. The figures of others are
//! gathered, and go into the journal several cells a transaction: a cell of a millisecond would
//! spend more on its own.

mod failed;
mod identity;
mod leased;
mod opening;
mod steered;

use std::cell::Cell as Local;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use plimsoll_runs::event::Class;
use plimsoll_runs::experiment::{
    Cell, ExperimentMeta, Finished, Journal, Layout, RESPONDS, State, cell_folder,
};
use plimsoll_runs::{
    End, Ended, Event, FigureRow, Kind, Run, RunError, RunMeta, RunWriter, SinkError, World,
};
use plimsoll_stats::figure::Figure;
use plimsoll_units::hash::hex;
use sha2::{Digest, Sha256};

use crate::bounds::{Bounds, Budget};
use crate::error::ExperimentError;
use crate::folders::{close_to_others, set_aside};
use crate::inputs;
use crate::record::identity::Basis;

pub use crate::record::identity::Own;
pub use crate::record::leased::Hears;
pub use crate::record::opening::{CellPlan, Keeps, Opening, Subject};

/// The most cells of an experiment that keep their runs where nothing else is said.
pub const MAX_RUNS: u64 = 100;
/// Figures of cells wait for others no longer than this, nanoseconds.
const MAX_WAIT_NS: u64 = 100_000_000;
/// The most cells whose figures are gathered.
const MAX_GATHERED: usize = 512;

/// The fact that tells when the present session began, nanoseconds since the experiment's start.
pub const SESSION: &str = "session_ns";
/// The fact that tells how long it was executed so far, over all sessions, nanoseconds.
pub const SPENT: &str = "spent_ns";

thread_local! {
    /// When this thread began its present cell, nanoseconds since 1970.
    static BEGAN_NS: Local<u64> = const { Local::new(0) };
}

/// A figure of a cell, with its value.
pub type Valued = (&'static Figure, f64);

/// Figures as they are stored.
#[must_use]
pub fn rows_of(figures: &[Valued]) -> Vec<FigureRow> {
    figures.iter().map(|(of, value)| FigureRow::new(of.name, *value)).collect()
}

/// Writes what is only in a cell's run: series, events, histograms.
pub type Contents<'a> = &'a dyn Fn(&mut RunWriter) -> Result<(), SinkError>;

/// Takes cells as they are done, from any thread.
pub struct Record<'a> {
    opening: Opening<'a>,
    /// What all cells depend on, found out when it is first needed.
    basis: OnceLock<Basis>,
    started_ns: u64,
    /// Whether it goes on with an experiment that was begun before.
    is_resumed: bool,
    bounds: Bounds,
    inner: Mutex<Inner>,
    /// Who hears of cells, where nothing is kept here.
    hears: Option<&'a dyn Hears>,
}

/// The part of a record that threads share, behind its lock.
struct Inner {
    /// Cells that are to be entered when there is a journal.
    planned: Vec<Cell>,
    place: Place,
    /// The figure that effects are computed of, where the plan does not name it.
    responds: Option<&'static str>,
    /// Figures that are kept beside those that every load has.
    wanted: Vec<&'static Figure>,
    /// What a reader should know of what came out.
    notes: Vec<String>,
    /// Cells whose figures are to be written.
    gathered: Vec<Finished>,
    gathered_ns: u64,
    /// Whether there is something that is worth keeping.
    has_some: bool,
    /// Whether nobody else may enter the folders.
    is_private: bool,
}

/// Where cells go.
enum Place {
    /// Nothing has come about yet.
    Nowhere,
    /// A single run, open until the end.
    Open(Box<RunWriter>),
    /// A single run, in its folder.
    Run(PathBuf),
    /// An experiment.
    Experiment(Box<Journal>),
}

impl<'a> Record<'a> {
    /// A record without a cell; nothing is written yet.
    #[must_use]
    pub fn new(opening: Opening<'a>) -> Self {
        let started_ns = (opening.now_ns)();
        Self::at(opening, Place::Nowhere, started_ns, Bounds::new(0, 0))
    }

    /// A record that goes on with an experiment.
    ///
    /// # Errors
    /// Where the journal cannot be read or written.
    pub fn resume(opening: Opening<'a>, journal: Journal) -> Result<Self, ExperimentError> {
        let started_ns = journal.meta().started_unix_ns;
        let session_ns = (opening.now_ns)().saturating_sub(started_ns);
        let spent_ns = journal.fact_of(SPENT)?.and_then(|text| text.parse().ok()).unwrap_or(0);
        journal.fact(SESSION, &session_ns.to_string())?;
        let opening =
            Opening { layout: journal.layout(), id: journal.meta().id.clone(), ..opening };
        let bounds = Bounds::new(session_ns, spent_ns);
        Ok(Self::at(opening, Place::Experiment(Box::new(journal)), started_ns, bounds))
    }

    /// The record with a budget of time.
    #[must_use]
    pub fn within(mut self, budget: Option<Budget>) -> Self {
        budget.into_iter().for_each(|budget| self.bounds.set_budget(budget));
        self
    }

    fn at(opening: Opening<'a>, place: Place, started_ns: u64, bounds: Bounds) -> Self {
        let is_resumed = matches!(place, Place::Experiment(_));
        let gathered = Vec::new();
        let inner = Inner {
            planned: Vec::new(),
            place,
            responds: None,
            wanted: Vec::new(),
            notes: Vec::new(),
            gathered,
            gathered_ns: started_ns,
            has_some: is_resumed,
            is_private: false,
        };
        Self {
            opening,
            basis: OnceLock::new(),
            started_ns,
            is_resumed,
            bounds,
            inner: Mutex::new(inner),
            hears: None,
        }
    }

    /// The path of the run or experiment.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.opening.root.join(&self.opening.id)
    }

    /// Enters cells that are going to be executed. Returns those that are not done yet.
    ///
    /// # Errors
    /// Where the journal has other cells of these numbers, or cannot be written.
    pub fn plan(
        &self,
        cells: impl Iterator<Item = CellPlan>,
    ) -> Result<Vec<Cell>, ExperimentError> {
        let basis = self.basis()?;
        let mut cells: Vec<Cell> = cells.map(|cell| self.cell(basis, cell)).collect();
        let mut inner = self.inner();
        if let Place::Experiment(journal) = &mut inner.place {
            cells = match self.opening.adopts {
                true => journal.adopt(&cells)?,
                false => {
                    let checked = if self.is_resumed { journal.check(&cells) } else { Ok(()) };
                    let planned = checked.and_then(|()| journal.plan(&cells));
                    planned.map_err(|error| self.changed(error, journal))?
                }
            };
            let Opening { plan_file, of: Subject { plan_text, .. }, .. } = &self.opening;
            if journal.meta().plan_text != *plan_text {
                journal.set_plan(plan_text)?;
            }
            if journal.meta().plan_file != *plan_file && !plan_file.is_empty() {
                journal.set_plan_file(plan_file)?;
            }
            let done: BTreeSet<u32> = journal
                .cells()?
                .into_iter()
                .filter_map(|row| row.state.is_kept().then_some(row.cell.number))
                .collect();
            cells.retain(|cell| !done.contains(&cell.number));
        } else {
            inner.planned.extend(cells.iter().cloned());
        }
        Ok(cells)
    }

    /// Whether it keeps an experiment, in which attempts at a cell are told apart: not of a single
    /// cell, but of a live pool, which has more than a run holds (what was predicted, and what a
    /// killed process has left).
    #[must_use]
    pub fn is_of_several(&self) -> bool {
        let of = &self.opening.of;
        self.opening.cells > 1 || (of.kind == Kind::Pool && of.world != World::Simulated)
    }

    /// Says that this thread begins a cell.
    pub fn begins(&self) {
        BEGAN_NS.set((self.opening.now_ns)());
    }

    /// Takes a simulated cell that is done.
    ///
    /// # Errors
    /// Where it could not be written.
    pub fn done(
        &self,
        cell: &Cell,
        figures: Vec<FigureRow>,
        contents: Contents<'_>,
    ) -> Result<(), ExperimentError> {
        if let Some(hears) = self.hears {
            return self.tell_done(hears, cell, &figures, contents);
        }
        let now_ns = (self.opening.now_ns)();
        let times = (self.since(BEGAN_NS.get(), now_ns), self.since(now_ns, now_ns));
        let mut inner = self.inner();
        inner.open(self, true)?;
        inner.has_some = true;
        if let Place::Open(writer) = &mut inner.place {
            contents(writer).map_err(RunError::Unfinished)?;
            writer.figures(&figures).map_err(RunError::Unfinished)?;
        } else if self.keeps_run(cell) {
            drop(inner);
            self.write_run(cell, &figures, contents, times)?;
        } else {
            let (cell, (started_ns, ended_ns)) = (cell.clone(), times);
            let finished = Finished { cell, figures, started_ns, ended_ns };
            inner.gather(finished, self.bounds.cell_ended(ended_ns), now_ns)?;
        }
        Ok(())
    }

    /// Begins a cell that writes its run as it goes on. `meta` says what it is; what depends on its
    /// place is filled in here.
    ///
    /// # Errors
    /// Where the run cannot be made.
    pub fn begin(&self, cell: &Cell, meta: RunMeta) -> Result<RunWriter, ExperimentError> {
        if let Some(hears) = self.hears {
            return self.begin_told(hears, cell, meta);
        }
        let mut inner = self.inner();
        inner.open(self, false)?;
        let of = &self.opening;
        if let Place::Run(path) = &inner.place {
            // What came of the attempt before.
            set_aside(path)?;
        }
        let is_private = inner.is_private;
        let basis = self.basis()?;
        let inputs_sha256 = inputs::sha256(&basis.inputs);
        let meta = RunMeta { inputs_sha256, tags: of.tags.clone(), ..meta };
        let Place::Experiment(journal) = &mut inner.place else {
            let id = of.id.clone();
            let writer = RunWriter::create(of.root, &RunMeta { id, cell: 0, ..meta })?;
            if is_private {
                close_to_others(writer.path())?;
            }
            inputs::keep(&basis.inputs, writer.path())?;
            return Ok(writer);
        };
        journal.begin(cell, self.since_start_ns())?;
        let number = cell.number;
        Ok(match journal.layout() {
            Layout::Within => {
                let id = format!("{}/{number:04}", of.id);
                RunWriter::create_cell(journal.folder(), &RunMeta { id, cell: number, ..meta })?
            }
            Layout::Beside => {
                let id = format!("{}-{number}", of.id);
                let writer = RunWriter::create(of.root, &RunMeta { id, cell: 0, ..meta })?;
                inputs::keep(&basis.inputs, writer.path())?;
                writer
            }
        })
    }

    /// Ends a cell that was begun, and has a run. Returns the run of a cell that is done, under its
    /// name.
    ///
    /// # Errors
    /// Where that cannot be written.
    pub fn end(
        &self,
        cell: &Cell,
        run: Run,
        state: State,
        reason: &str,
    ) -> Result<Run, ExperimentError> {
        if let Some(hears) = self.hears {
            return self.end_told(hears, cell, run, (state, reason));
        }
        let mut inner = self.inner();
        inner.has_some = true;
        let at_ns = self.since_start_ns();
        let wanted = inner.wanted_of(&run)?;
        let Place::Experiment(journal) = &mut inner.place else {
            inner.place = Place::Run(run.path().to_owned());
            return Ok(run);
        };
        journal.figures(cell.number, &[run.figures()?, wanted].concat())?;
        journal.end(cell.number, state, reason, at_ns)?;
        journal.fact(SPENT, &self.bounds.cell_ended(at_ns).to_string())?;
        match journal.layout() {
            Layout::Within if state.is_kept() => {
                drop(run);
                Ok(Run::open(&cell_folder(journal.folder(), cell.number))?)
            }
            _ => Ok(run),
        }
    }

    /// Keeps what a reader should know of what came out, once.
    pub fn note(&self, text: &str) {
        let mut inner = self.inner();
        if !inner.notes.iter().any(|of| of == text) {
            inner.notes.push(text.to_owned());
        }
    }

    /// Ends it. Returns the path of the run or experiment; `None` where no cell came to anything:
    /// then nothing is left.
    ///
    /// # Errors
    /// What could not be written.
    pub fn finish(
        &self,
        ended: Ended,
        warnings: &[String],
    ) -> Result<Option<PathBuf>, ExperimentError> {
        let at_ns = self.since_start_ns();
        // What ends an experiment early is its end, unless a fault or the user was before it.
        let ended = match (ended, self.bounds.why()) {
            (Ended::Complete, Some(_)) if self.is_spent().is_some() => {
                Ended::Budget(self.is_spent().unwrap_or_default().to_owned())
            }
            (Ended::Complete, Some(why)) => Ended::Stopped(why.to_owned()),
            (ended, _) => ended,
        };
        let mut inner = self.inner();
        inner.flush()?;
        let noted = std::mem::take(&mut inner.notes);
        let noted = noted.iter().filter(|of| !warnings.contains(of));
        let warnings: Vec<String> = warnings.iter().chain(noted).cloned().collect();
        match std::mem::replace(&mut inner.place, Place::Nowhere) {
            Place::Nowhere => Ok(None),
            Place::Run(path) => Ok(Some(path)),
            Place::Open(writer) => {
                let end = End { warnings, ..End::new(ended) };
                Ok(Some(writer.finish(end)?.path().to_owned()))
            }
            Place::Experiment(journal) if !inner.has_some => {
                journal.remove()?;
                Ok(None)
            }
            Place::Experiment(mut journal) => {
                for warning in &warnings {
                    journal.event(None, &event(at_ns, "warning", warning))?;
                }
                let (layout, folder) = (journal.layout(), journal.folder().to_owned());
                journal.finish(&ended, at_ns)?;
                // Runs beside the journal stand in the index by themselves.
                if layout == Layout::Within {
                    plimsoll_runs::index::enter(self.opening.root, &folder);
                }
                Ok(Some(folder))
            }
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A moment, as nanoseconds since the start and until now.
    fn since(&self, at_ns: u64, now_ns: u64) -> u64 {
        at_ns.clamp(self.started_ns, now_ns.max(self.started_ns)) - self.started_ns
    }

    fn since_start_ns(&self) -> u64 {
        (self.opening.now_ns)().saturating_sub(self.started_ns)
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
        journal.fact(SPENT, &self.bounds.cell_ended(ended_ns).to_string())?;
        Ok(())
    }

    /// Whether a cell keeps a run beside its figures.
    pub(crate) fn keeps_run(&self, cell: &Cell) -> bool {
        // Loads and searches write theirs as they go on.
        if matches!(self.opening.of.kind, Kind::Load | Kind::Search) {
            return true;
        }
        let is_first = cell.replication == 0 && u64::from(cell.number) <= MAX_RUNS;
        match self.opening.keeps {
            Keeps::Figures => false,
            // A search for parameters looks at most settings once only.
            Keeps::Few if self.opening.of.kind == Kind::Tune => self.opening.cells <= MAX_RUNS,
            Keeps::Few => self.opening.cells <= MAX_RUNS || is_first,
            Keeps::All => true,
        }
    }

    /// What the run of a cell that has no load of its own is told of itself.
    #[must_use]
    pub fn meta_of(&self, cell: &Cell) -> RunMeta {
        self.meta(String::new(), cell, (self.opening.now_ns)())
    }

    fn meta(&self, id: String, cell: &Cell, started_unix_ns: u64) -> RunMeta {
        let of = &self.opening.of;
        RunMeta {
            id,
            kind: of.kind,
            cell: cell.number,
            name: of.name.clone(),
            subject: subject(&of.what, &cell.factors),
            about: of.about.clone(),
            factors: cell.factors.clone(),
            tags: self.opening.tags.clone(),
            started_unix_ns,
            version: self.opening.version.to_owned(),
            seed: cell.seed,
            plan_text: of.plan_text.clone(),
            plan_sha256: hex(&Sha256::digest(of.plan_text.as_bytes())),
            inputs_sha256: self.basis.get().and_then(|basis| inputs::sha256(&basis.inputs)),
            warmup_ns: 0,
            duration_ns: of.duration_ns,
            slo: of.slo.clone(),
            load: None,
            world: of.world,
            host: Vec::new(),
        }
    }
}

impl Inner {
    /// Makes the experiment, where there is none yet; of a single cell its run, but for a cell that
    /// makes one itself.
    fn open(&mut self, record: &Record<'_>, makes_run: bool) -> Result<(), ExperimentError> {
        if !matches!(self.place, Place::Nowhere) || record.hears.is_some() {
            return Ok(());
        }
        let Opening { root, id, of, version, .. } = &record.opening;
        if !record.is_of_several() {
            if let ([only], true) = (&self.planned[..], makes_run) {
                let meta = record.meta(id.clone(), only, record.started_ns);
                let writer = RunWriter::create(root, &RunMeta { cell: 0, ..meta })?;
                inputs::keep(&record.basis()?.inputs, writer.path())?;
                self.place = Place::Open(Box::new(writer));
            }
            return Ok(());
        }
        let meta = ExperimentMeta {
            id: id.clone(),
            name: of.name.clone(),
            kind: of.kind,
            subject: of.what.clone(),
            about: of.about.clone(),
            started_unix_ns: record.started_ns,
            version: (*version).to_owned(),
            plan_text: of.plan_text.clone(),
            plan_file: record.opening.plan_file.clone(),
            tags: record.opening.tags.clone(),
        };
        let mut journal = match record.opening.layout {
            Layout::Within => {
                let basis = record.basis()?;
                let journal = Journal::create(root, &meta)?;
                if self.is_private {
                    close_to_others(journal.folder())?;
                }
                inputs::keep(&basis.inputs, journal.folder())?;
                journal
            }
            Layout::Beside => Journal::create_beside(root, &meta)?,
        };
        if let Some(figure) = self.responds {
            journal.fact(RESPONDS, figure)?;
        }
        journal.plan(&std::mem::take(&mut self.planned))?;
        self.place = Place::Experiment(Box::new(journal));
        Ok(())
    }

    /// The figures of a run that are kept beside those that every load has.
    fn wanted_of(&self, run: &Run) -> Result<Vec<FigureRow>, RunError> {
        if self.wanted.is_empty() || run.meta().load.is_none() {
            return Ok(Vec::new());
        }
        let summary = run.summary()?;
        let row = |of: &&'static Figure| Some(FigureRow::new(of.name, summary.value(of)?));
        Ok(self.wanted.iter().filter_map(row).collect())
    }

    /// Gathers the figures of a cell; writes them where they are many, or have waited for long.
    fn gather(
        &mut self,
        finished: Finished,
        spent_ns: u64,
        now_ns: u64,
    ) -> Result<(), ExperimentError> {
        self.gathered.push(finished);
        if self.gathered.len() >= MAX_GATHERED || now_ns >= self.gathered_ns + MAX_WAIT_NS {
            self.flush()?;
            if let Place::Experiment(journal) = &self.place {
                journal.fact(SPENT, &spent_ns.to_string())?;
            }
            self.gathered_ns = now_ns;
        }
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
