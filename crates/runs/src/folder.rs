//! Writing a run: the folder is made before the first request, and every second of the run is on
//! disk when the next one begins.
//!
//! # What a crash leaves
//!
//! Each second is one transaction of `run.sqlite`, made after the second's lines were appended to
//! `latency.hlog` in one write. The transaction also states how long the log was, so a reader cuts
//! the log there and both tell of the same seconds.
//!
//! A killed process loses nothing but the second it was in (and of the samples, what had not
//! filled a block). A power cut or a crash of the kernel may lose what the kernel had not yet
//! written: the database is in WAL mode with `synchronous=NORMAL` and stays consistent, but its
//! last transactions, back to the last checkpoint at worst, and the log's last lines may be gone.
//! At the end everything is synced. What was simulated is never synced: it can be simulated again.
//!
//! # Memory
//!
//! Constant, however long the run: a page cache of 256 KiB, one line buffer, one histogram, and
//! with samples one block.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use plimsoll_stats::Histogram;
use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior};

use crate::by_label::LabelBooks;
use crate::by_name::NameBooks;
use crate::database::{self, Syncs};
use crate::decision::{self, DecisionRow};
use crate::error::RunError;
use crate::experiment;
use crate::facts;
use crate::failures::Failures;
use crate::hlog;
use crate::index;
use crate::meta::{End, HostSample, Kind, RunMeta};
use crate::opened::PLAN;
use crate::own::{self, FILES};
use crate::run::Run;
use crate::samples;
use crate::schema::{self, Place, Statements};
use crate::series::{self, Pending};
use crate::slowest::{self, Slowest};
use crate::tag::Tagged;
use crate::users::UserCounts;
use crate::websocket::WebSocketCounts;
use crate::window::{self, WindowRow};
use crate::writing;
use crate::{
    Counters, Event, FigureRow, Interval, Phase, Sample, Sink, SinkError, Summary, Tag, World,
    figures, summarise, summary_file,
};

mod books;

/// The folder for everything else a run makes.
pub(crate) const ARTIFACTS: &str = "artifacts";

/// So many samples of series gather in memory at most.
const MAX_PENDING: usize = 1024;

/// Why a second cannot be stored, where there is no file any more.
const REMOVED: &str = "it is not there any more: somebody has removed or moved the run's folder";

/// A file that is only ever appended to. A write that fails is undone, so that what follows it
/// does not stand behind half of it.
struct Appended {
    file: File,
    path: PathBuf,
    len: u64,
}

impl Appended {
    fn create(path: PathBuf, start: &[u8]) -> Result<Self, RunError> {
        let made = OpenOptions::new().create_new(true).append(true).mode(FILES).open(&path);
        let mut file = made.map_err(RunError::file("make", &path))?;
        file.write_all(start).map_err(RunError::file("write", &path))?;
        Ok(Self { file, path, len: start.len() as u64 })
    }

    fn undo(&self) {
        // Best effort: where it fails, readers still ignore a torn end.
        let _ = self.file.set_len(self.len);
    }

    fn error(&self, what: &str, source: std::io::Error) -> SinkError {
        SinkError { what: what.to_owned(), path: self.path.clone(), source: source.into() }
    }

    fn append(&mut self, what: &str, bytes: &[u8]) -> Result<(), SinkError> {
        if let Err(source) = self.file.write_all(bytes) {
            self.undo();
            return Err(self.error(what, source));
        }
        self.len += bytes.len() as u64;
        Ok(())
    }

    fn sync(&self) -> Result<(), RunError> {
        self.file.sync_all().map_err(RunError::file("sync", &self.path))
    }
}

/// The samples' file and what waits to fill a block.
struct Samples {
    file: Appended,
    encoder: samples::Encoder,
    encoded: Vec<u8>,
}

impl Samples {
    fn create(folder: &Path) -> Result<Self, RunError> {
        let header = samples::Encoder::header();
        let file = Appended::create(folder.join(samples::FILE), &header)?;
        Ok(Self { file, encoder: samples::Encoder::new(), encoded: Vec::new() })
    }

    /// Writes what waits. Returns how long the file is.
    fn close(mut self) -> Result<u64, RunError> {
        self.write(&[], true).map_err(RunError::Unfinished)?;
        self.file.sync()?;
        Ok(self.file.len)
    }

    fn write(&mut self, samples: &[Sample], close_block: bool) -> Result<(), SinkError> {
        self.encoded.clear();
        // Writing to a vector does not fail.
        let _ = self.encoder.push(samples, &mut self.encoded);
        if close_block {
            let _ = self.encoder.flush(&mut self.encoded);
        }
        if self.encoded.is_empty() { Ok(()) } else { self.file.append("samples", &self.encoded) }
    }
}

/// The database and the log, which always move together.
struct Store {
    database: Connection,
    path: PathBuf,
    statements: Statements,
    log: Appended,
    cell: u32,
    /// Samples of series that the next transaction writes.
    series: Vec<Pending>,
}

impl Store {
    /// Appends `lines` to the log and makes one transaction of `rows` and the log's length.
    fn store(
        &mut self,
        what: &str,
        lines: &str,
        rows: impl FnOnce(&Connection, &Statements) -> rusqlite::Result<()>,
    ) -> Result<(), SinkError> {
        self.are_there(what)?;
        let before = self.log.len;
        self.log.append(what, lines.as_bytes())?;
        if let Err(source) = self.transaction(rows) {
            self.log.len = before;
            self.log.undo();
            return Err(self.refused(what, cause(source)));
        }
        self.series.clear();
        Ok(())
    }

    fn refused(&self, what: &str, source: Box<dyn std::error::Error + Send + Sync>) -> SinkError {
        SinkError { what: what.to_owned(), path: self.path.clone(), source }
    }

    /// Writing goes on without an error where the files have been removed: into nothing.
    fn are_there(&self, what: &str) -> Result<(), SinkError> {
        for path in [&self.path, &self.log.path] {
            if let Err(error) = fs::metadata(path) {
                let gone = error.kind() == std::io::ErrorKind::NotFound;
                let source = if gone { REMOVED.into() } else { error.into() };
                return Err(SinkError { what: what.to_owned(), path: path.clone(), source });
            }
        }
        Ok(())
    }

    fn transaction(
        &self,
        rows: impl FnOnce(&Connection, &Statements) -> rusqlite::Result<()>,
    ) -> rusqlite::Result<()> {
        // Rolled back when dropped uncommitted. Somebody else may write too, to ask for an end:
        // what is read within it is not overtaken.
        let transaction =
            Transaction::new_unchecked(&self.database, TransactionBehavior::Immediate)?;
        series::write(&transaction, self.cell, &self.series)?;
        rows(&transaction, &self.statements)?;
        schema::set_meta(&transaction, facts::HLOG_BYTES, &crate::database::int(self.log.len))?;
        transaction.commit()
    }

    /// Writes the facts of the end, with how long the file of samples is.
    fn end(&self, end: &End, samples: Option<u64>) -> Result<(), RunError> {
        let mut of_end = facts::of_end(end);
        of_end.extend(samples.map(|bytes| (facts::SAMPLES_BYTES, bytes.to_string())));
        let written = self.database.unchecked_transaction().and_then(|transaction| {
            write_facts(&transaction, &of_end)?;
            transaction.commit()
        });
        written.map_err(RunError::database("finish", &self.path))
    }

    /// Takes the database out of WAL and closes it.
    fn close(self) -> Result<(), RunError> {
        let Self { database, path, .. } = self;
        database::leave_wal(&database).map_err(RunError::database("finish", &path))?;
        database.close().map_err(|(_, source)| RunError::database("close", &path)(source))
    }
}

/// Writes one run's folder. Dropped without [`RunWriter::finish`] it leaves a run that reads as
/// incomplete.
pub struct RunWriter {
    /// The folder with the index that lists the run; `None` of a cell, which its experiment lists.
    root: Option<PathBuf>,
    path: PathBuf,
    cell: u32,
    kind: Kind,
    warmup_ns: u64,
    world: World,
    store: Store,
    lines: String,
    samples: Option<Samples>,
    totals: [Counters; Phase::ALL.len()],
    failures: Failures,
    names: NameBooks,
    labels: LabelBooks,
    users: UserCounts,
    websocket: WebSocketCounts,
    slowest: Slowest,
    scratch: Histogram,
    /// End of the host's last second.
    host_ns: u64,
}

impl RunWriter {
    /// Makes the folder `root/id`, with `plan.toml` and the files of a run without a second.
    ///
    /// # Errors
    /// Where the folder exists already or cannot be made or written; no half of one is left.
    pub fn create(root: &Path, meta: &RunMeta) -> Result<Self, RunError> {
        fs::create_dir_all(root).map_err(RunError::file("make", root))?;
        Self::create_at(&root.join(&meta.id), Some(root.to_path_buf()), meta)
    }

    /// Makes the folder of cell `meta.cell` in an experiment, `E/cells/0007.part`. The
    /// experiment's journal gives it its name when the cell is done.
    ///
    /// # Errors
    /// Where the folder exists already or cannot be made or written; no half of one is left.
    pub fn create_cell(experiment: &Path, meta: &RunMeta) -> Result<Self, RunError> {
        Self::create_at(&experiment::part_folder(experiment, meta.cell), None, meta)
    }

    fn create_at(path: &Path, root: Option<PathBuf>, meta: &RunMeta) -> Result<Self, RunError> {
        own::folder(path).map_err(|source| match source.kind() {
            std::io::ErrorKind::AlreadyExists => RunError::Exists { path: path.to_path_buf() },
            _ => RunError::file("make", path)(source),
        })?;
        Self::begin(root, path, meta).inspect_err(|_| {
            // Best effort: the folder is ours and holds nothing yet.
            let _ = plimsoll_units::erase::tree(path);
        })
    }

    /// Fills the new folder.
    fn begin(root: Option<PathBuf>, path: &Path, meta: &RunMeta) -> Result<Self, RunError> {
        let artifacts = path.join(ARTIFACTS);
        own::folder(&artifacts).map_err(RunError::file("make", &artifacts))?;
        let plan = path.join(PLAN);
        own::write(&plan, meta.plan_text.as_bytes()).map_err(RunError::file("write", &plan))?;
        let header = hlog::header(meta.started_unix_ns);
        let log = Appended::create(path.join(hlog::FILE), header.as_bytes())?;
        writing::hold(&log.file);
        let keeps_samples = meta.load.as_ref().is_some_and(|load| load.samples);
        let samples = keeps_samples.then(|| Samples::create(path)).transpose()?;
        let file = path.join(schema::FILE);
        let syncs = syncs(meta.world);
        let mut facts = facts::of_meta(meta);
        facts.push((facts::HLOG_BYTES, log.len.to_string()));
        facts.push((writing::WRITER, std::process::id().to_string()));
        // In one transaction: a table each would be synced, or at least written, one by one; and
        // whoever finds tables finds the facts too, whenever we are killed.
        let tables = |database: &Connection| {
            let transaction = database.unchecked_transaction()?;
            schema::create(&transaction)?;
            write_facts(&transaction, &facts)?;
            transaction.commit()
        };
        let database = database::make(&file, syncs, tables)?;
        let (statements, series, cell) = (Statements::new(), Vec::new(), meta.cell);
        Ok(Self {
            root,
            path: path.to_path_buf(),
            cell,
            kind: meta.kind,
            warmup_ns: meta.warmup_ns,
            world: meta.world,
            store: Store { database, path: file, statements, log, cell, series },
            lines: String::new(),
            samples,
            totals: Default::default(),
            failures: Failures::default(),
            names: NameBooks::default(),
            labels: LabelBooks::default(),
            users: UserCounts::default(),
            websocket: WebSocketCounts::default(),
            slowest: Slowest::default(),
            scratch: Histogram::new(),
            host_ns: 0,
        })
    }

    /// Whether somebody has asked, by [`crate::ask_to_end`], that it end.
    #[must_use]
    pub fn is_asked_to_end(&self) -> bool {
        // Where the database cannot be read, the next second that is written tells it.
        writing::is_asked_to_end(&self.store.database).unwrap_or(false)
    }

    /// The run's folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Stores one second of the host, `at_ns` after the run's first due time.
    ///
    /// # Errors
    /// When it could not be stored.
    pub fn host(&mut self, at_ns: u64, sample: &HostSample<'_>) -> Result<(), SinkError> {
        let start_ns = self.host_ns.min(at_ns);
        let (len_ns, late) = (at_ns - start_ns, sample.timer_late);
        self.lines.clear();
        hlog::push_line(&mut self.lines, hlog::TIMER_LATE, start_ns, len_ns, late);
        self.store.series.extend(series::of_host(at_ns, sample));
        self.store.store("a second of the host", &self.lines, |_, _| Ok(()))?;
        self.host_ns = at_ns;
        Ok(())
    }

    /// Takes a sample of a series; NaN where it is not known. It is stored with the next second or
    /// whatever else is stored next, so that samples cost no transaction each.
    ///
    /// # Errors
    /// When what has gathered could not be stored.
    pub fn series(
        &mut self,
        name: &str,
        labels: &[(&str, &str)],
        at_ns: u64,
        value: f64,
    ) -> Result<(), SinkError> {
        let value = Some(value).filter(|value| !value.is_nan());
        self.store.series.push(Pending::new(name, labels, at_ns, value));
        if self.store.series.len() < MAX_PENDING { Ok(()) } else { self.flush() }
    }

    /// Stores the samples of series that have gathered.
    fn flush(&mut self) -> Result<(), SinkError> {
        self.store.store("samples of series", "", |_, _| Ok(()))
    }

    /// Stores what was recorded under a tag in a stretch of the measured phase, where the run has
    /// no seconds that hold histograms.
    ///
    /// # Errors
    /// When it could not be stored.
    #[expect(clippy::needless_pass_by_value, reason = "a tag is a word, given as such")]
    pub fn histogram(
        &mut self,
        tag: impl Tagged,
        (start_ns, len_ns): (u64, u64),
        histogram: &Histogram,
    ) -> Result<(), SinkError> {
        self.lines.clear();
        hlog::push_line(&mut self.lines, tag.as_ref(), start_ns, len_ns, histogram);
        self.store.store("a histogram", &self.lines, |_, _| Ok(()))
    }

    /// Stores figures of the run. One that is there already gets its new value.
    ///
    /// # Errors
    /// When they could not be stored, or a value is no finite number.
    pub fn figures(&mut self, rows: &[FigureRow]) -> Result<(), SinkError> {
        if let Some(fault) = figures::fault(rows) {
            return Err(self.store.refused("figures", fault.into()));
        }
        let cell = self.cell;
        self.store.store("figures", "", |database, _| figures::write(database, cell, rows))
    }

    /// Stores decisions of a policy, behind those that are there.
    ///
    /// # Errors
    /// When they could not be stored.
    pub fn decisions(&mut self, rows: &[DecisionRow]) -> Result<(), SinkError> {
        let cell = self.cell;
        self.store.store("decisions", "", |database, _| decision::write(database, cell, rows))
    }

    /// Stores windows of a search, behind those that are there.
    ///
    /// # Errors
    /// When they could not be stored.
    pub fn windows(&mut self, rows: &[WindowRow]) -> Result<(), SinkError> {
        let cell = self.cell;
        self.store.store("windows", "", |database, _| window::write(database, cell, rows))
    }

    /// Stores the windows of a search in the place of those that are there.
    ///
    /// # Errors
    /// When they could not be stored; then those that were there stay.
    pub fn replace_windows(&mut self, rows: &[WindowRow]) -> Result<(), SinkError> {
        let cell = self.cell;
        self.store.store("windows", "", |database, _| {
            window::clear(database)?;
            window::write(database, cell, rows)
        })
    }

    /// Ends the run: the figures of a load written, the database out of WAL, everything synced,
    /// the summary written to `summary.json`, the index brought up to date.
    ///
    /// # Errors
    /// Where something could not be written. All else is still done, and the run reads as far as
    /// it was written.
    #[expect(clippy::needless_pass_by_value, reason = "a run ends once: its end goes with it")]
    pub fn finish(mut self, end: End) -> Result<Run, RunError> {
        let named = self.store_names().and_then(|()| self.store_users());
        let named = named.map_err(RunError::Unfinished);
        let flushed = if self.store.series.is_empty() { Ok(()) } else { self.flush() };
        let flushed = named.and(flushed.map_err(RunError::Unfinished));
        let kept = self.samples.take().map(Samples::close).transpose();
        let synced = match syncs(self.world) {
            Syncs::WhereNeeded => self.store.log.sync(),
            Syncs::Never => Ok(()),
        };
        let ended = self.store.end(&end, kept.as_ref().ok().copied().flatten());
        let summary = self.sum_up();
        let stored = match &summary {
            Ok(Some((summary, watched))) if self.kind == Kind::Load => {
                let figures = [figures::of_summary(summary), watched.clone()].concat();
                self.figures(&figures).map_err(RunError::Unfinished)
            }
            _ => Ok(()),
        };
        let Self { root, path, store, .. } = self;
        let closed = store.close();
        let run = Run::open(&path)?;
        let write = |(of, _): (Summary, _)| summary_file::write(&path, &of);
        let summed = summary.and_then(|of| of.map_or(Ok(()), write));
        root.iter().for_each(|root| index::enter(root, &path));
        let written = flushed.and(kept.map(drop)).and(synced).and(ended).and(stored).and(closed);
        written.and(summed).map(|()| run)
    }

    /// The summary of a run that has a load, and the figures of what was watched beside it.
    fn sum_up(&self) -> Result<Option<(Summary, Vec<FigureRow>)>, RunError> {
        // Closed again before the database leaves WAL, which nobody else may read then.
        let run = Run::open(&self.path)?;
        let sum = || Ok((summarise(&run)?, run.watched_means()?));
        run.meta().load.is_some().then(sum).transpose()
    }

    /// The phase whose schedule is offered at a moment.
    fn place(&self, at_ns: u64) -> Place {
        let phase = if at_ns < self.warmup_ns { Phase::WarmUp } else { Phase::Measured };
        Place { cell: self.cell, phase, world: self.world }
    }

    fn push_lines(&mut self, interval: &Interval) {
        self.lines.clear();
        let (start_ns, len_ns) = (interval.start_ns, interval.len_ns);
        for phase in Phase::ALL {
            let slice = &interval.phases[phase as usize];
            let own = Tag::ALL.iter().map(|tag| (tag.name(), slice.histogram(*tag)));
            let named = slice.named.iter().map(|(tag, histogram)| (tag.as_ref(), histogram));
            for (tag, histogram) in own.chain(named) {
                let tag = hlog::tag_of(phase, tag);
                hlog::push_line(&mut self.lines, &tag, start_ns, len_ns, histogram);
            }
        }
        hlog::push_line(&mut self.lines, hlog::TURN, start_ns, len_ns, &interval.turn);
    }
}

impl Sink for RunWriter {
    fn interval(&mut self, interval: &Interval) -> Result<(), SinkError> {
        self.push_lines(interval);
        for (total, slice) in self.totals.iter_mut().zip(&interval.phases) {
            total.add(&slice.counters);
        }
        self.names.add(&interval.named);
        self.labels.add(&interval.labelled);
        self.users.add(&interval.users);
        self.websocket.add(&interval.websocket);
        let place = self.place(interval.start_ns);
        let failed = self.failures.add(interval);
        let slower = self.slowest.add(&interval.slowest).then_some(&self.slowest);
        let (scratch, totals, failures) = (&mut self.scratch, &self.totals, &self.failures);
        let cell = self.cell;
        self.store.store("a second of the run", &self.lines, |database, statements| {
            statements.insert_interval(database, place, interval, scratch)?;
            for phase in Phase::ALL {
                let place = Place { phase, ..place };
                statements.replace_total(database, place, &totals[phase as usize])?;
            }
            slower.map_or(Ok(()), |slowest| slowest::write(database, cell, slowest))?;
            failures.write(database, place, &failed)
        })?;
        if self.is_time_for_books(interval.start_ns / 1_000_000_000 + 1) {
            self.store_books(interval.start_ns + interval.len_ns)?;
        }
        self.samples.as_mut().map_or(Ok(()), |samples| samples.write(&[], true))
    }

    fn samples(&mut self, samples: &[Sample]) -> Result<(), SinkError> {
        self.samples.as_mut().map_or(Ok(()), |kept| kept.write(samples, false))
    }

    fn measured_from(&mut self, at_ns: u64) -> Result<(), SinkError> {
        self.warmup_ns = at_ns;
        self.store.store("the beginning of the measured phase", "", |database, _| {
            schema::set_meta(database, facts::WARMUP_NS, &crate::database::int(at_ns))
        })
    }

    fn event(&mut self, event: &Event) -> Result<(), SinkError> {
        let place = self.place(event.at_ns);
        self.store.store("an event", "", |database, _| schema::insert_event(database, place, event))
    }
}

/// When the files of a run in a world are synced.
fn syncs(world: World) -> Syncs {
    match world {
        World::Live | World::Shadow => Syncs::WhereNeeded,
        World::Simulated => Syncs::Never,
    }
}

/// What SQLite says of a full disk, as the system would say it; everything else as it is.
fn cause(error: rusqlite::Error) -> Box<dyn std::error::Error + Send + Sync> {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => {
            let full = std::io::ErrorKind::StorageFull;
            std::io::Error::new(full, "No space left on device").into()
        }
        _ => error.into(),
    }
}

fn write_facts(database: &Connection, facts: &[(&str, String)]) -> rusqlite::Result<()> {
    for (key, value) in facts {
        schema::set_meta(database, key, value)?;
    }
    Ok(())
}
