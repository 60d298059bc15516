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
//! At the end everything is synced.
//!
//! # Memory
//!
//! Constant, however long the run: a page cache of 256 KiB, one line buffer, one histogram, and
//! with samples one block.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use plimsoll_stats::Histogram;
use rusqlite::{Connection, ErrorCode};

use crate::error::RunError;
use crate::facts;
use crate::failures::Failures;
use crate::hlog;
use crate::index;
use crate::meta::{End, HostSample, RunMeta};
use crate::run::Run;
use crate::samples;
use crate::schema::{self, Place, Statements};
use crate::{Counters, Event, Interval, Phase, Sample, Sink, SinkError, Tag, World};

/// The plan's file in a run folder.
pub(crate) const PLAN: &str = "plan.toml";
/// The folder for everything else a run makes.
pub(crate) const ARTIFACTS: &str = "artifacts";

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
        let made = OpenOptions::new().create_new(true).append(true).open(&path);
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

    fn close(mut self) -> Result<(), RunError> {
        self.write(&[], true).map_err(RunError::Unfinished)?;
        self.file.sync()
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
        self.transaction(rows).map_err(|source| {
            self.log.len = before;
            self.log.undo();
            SinkError { what: what.to_owned(), path: self.path.clone(), source: cause(source) }
        })
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
        // Rolled back when dropped uncommitted.
        let transaction = self.database.unchecked_transaction()?;
        rows(&transaction, &self.statements)?;
        schema::set_meta(&transaction, facts::HLOG_BYTES, &schema::int(self.log.len))?;
        transaction.commit()
    }

    /// The end's facts; then the database out of WAL, closed.
    fn end(self, end: &End) -> Result<(), RunError> {
        let Self { database, path, .. } = self;
        write_facts(&database, &facts::of_end(end))
            .and_then(|()| leave_wal(&database))
            .map_err(RunError::database("finish", &path))?;
        database.close().map_err(|(_, source)| RunError::database("close", &path)(source))
    }
}

/// Writes one run's folder. Dropped without [`RunWriter::finish`] it leaves a run that reads as
/// incomplete.
pub struct RunWriter {
    root: PathBuf,
    path: PathBuf,
    warmup_ns: u64,
    world: World,
    store: Store,
    lines: String,
    samples: Option<Samples>,
    totals: [Counters; Phase::ALL.len()],
    failures: Failures,
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
        let path = root.join(&meta.id);
        fs::create_dir_all(root).map_err(RunError::file("make", root))?;
        fs::create_dir(&path).map_err(|source| match source.kind() {
            std::io::ErrorKind::AlreadyExists => RunError::Exists { path: path.clone() },
            _ => RunError::file("make", &path)(source),
        })?;
        Self::begin(root, &path, meta).inspect_err(|_| {
            // Best effort: the folder is ours and holds nothing yet.
            let _ = fs::remove_dir_all(&path);
        })
    }

    /// Fills the new folder.
    fn begin(root: &Path, path: &Path, meta: &RunMeta) -> Result<Self, RunError> {
        let artifacts = path.join(ARTIFACTS);
        fs::create_dir(&artifacts).map_err(RunError::file("make", &artifacts))?;
        let plan = path.join(PLAN);
        fs::write(&plan, &meta.plan_text).map_err(RunError::file("write", &plan))?;
        let header = hlog::header(meta.started_unix_ns);
        let log = Appended::create(path.join(hlog::FILE), header.as_bytes())?;
        let samples = meta.samples.then(|| Samples::create(path)).transpose()?;
        let file = path.join(schema::FILE);
        let database = open_new(&file)
            .and_then(|database| {
                let mut facts = facts::of_meta(meta);
                facts.push((facts::HLOG_BYTES, log.len.to_string()));
                write_facts(&database, &facts).map(|()| database)
            })
            .map_err(RunError::database("make", &file))?;
        Ok(Self {
            root: root.to_path_buf(),
            path: path.to_path_buf(),
            warmup_ns: meta.warmup_ns,
            world: meta.world,
            store: Store { database, path: file, statements: Statements::new(), log },
            lines: String::new(),
            samples,
            totals: Default::default(),
            failures: Failures::default(),
            scratch: Histogram::new(),
            host_ns: 0,
        })
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
        let place = self.place(start_ns);
        self.store.store("a second of the host", &self.lines, |database, _| {
            schema::insert_host(database, place, at_ns, sample)
        })?;
        self.host_ns = at_ns;
        Ok(())
    }

    /// Ends the run: the database out of WAL, everything synced, `summary.json` written, the index
    /// brought up to date.
    ///
    /// # Errors
    /// Where something could not be written. All else is still done, and the run reads as far as
    /// it was written.
    #[expect(clippy::needless_pass_by_value, reason = "a run ends once: its end goes with it")]
    pub fn finish(self, end: End) -> Result<Run, RunError> {
        let Self { root, path, store, samples, .. } = self;
        let kept = samples.map_or(Ok(()), Samples::close);
        let synced = store.log.sync();
        let ended = store.end(&end);
        let run = Run::open(&path)?;
        let summed = run.write_summary();
        index::enter(&root, &path);
        kept.and(synced).and(ended).and(summed).map(|()| run)
    }

    /// The phase whose schedule is offered at a moment.
    fn place(&self, at_ns: u64) -> Place {
        let phase = if at_ns < self.warmup_ns { Phase::WarmUp } else { Phase::Measured };
        Place { phase, world: self.world }
    }

    fn push_lines(&mut self, interval: &Interval) {
        self.lines.clear();
        let (start_ns, len_ns) = (interval.start_ns, interval.len_ns);
        for phase in Phase::ALL {
            for tag in Tag::ALL {
                let histogram = interval.phases[phase as usize].histogram(tag);
                let name = hlog::tag_name(phase, tag);
                hlog::push_line(&mut self.lines, name, start_ns, len_ns, histogram);
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
        let place = self.place(interval.start_ns);
        let failed = self.failures.add(interval);
        let (scratch, totals, failures) = (&mut self.scratch, &self.totals, &self.failures);
        self.store.store("a second of the run", &self.lines, |database, statements| {
            statements.insert_interval(database, place, interval, scratch)?;
            for phase in Phase::ALL {
                let place = Place { phase, world: place.world };
                statements.replace_total(database, place, &totals[phase as usize])?;
            }
            failures.write(database, place, &failed)
        })?;
        self.samples.as_mut().map_or(Ok(()), |samples| samples.write(&[], true))
    }

    fn samples(&mut self, samples: &[Sample]) -> Result<(), SinkError> {
        self.samples.as_mut().map_or(Ok(()), |kept| kept.write(samples, false))
    }

    fn event(&mut self, event: &Event) -> Result<(), SinkError> {
        let place = self.place(event.at_ns);
        self.store.store("an event", "", |database, _| schema::insert_event(database, place, event))
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

/// A new database with its tables, in WAL mode.
fn open_new(file: &Path) -> rusqlite::Result<Connection> {
    let database = Connection::open(file)?;
    database.busy_timeout(std::time::Duration::from_secs(5))?;
    database.execute_batch(
        "PRAGMA page_size = 4096; PRAGMA cache_size = -256; PRAGMA mmap_size = 0;
         PRAGMA temp_store = MEMORY;",
    )?;
    schema::create(&database)?;
    // The tables are made before WAL, so that even a folder without its WAL has them.
    database.pragma_update(None, "journal_mode", "WAL")?;
    database.pragma_update(None, "synchronous", "NORMAL")?;
    Ok(database)
}

fn write_facts(database: &Connection, facts: &[(&str, String)]) -> rusqlite::Result<()> {
    let transaction = database.unchecked_transaction()?;
    for (key, value) in facts {
        schema::set_meta(&transaction, key, value)?;
    }
    transaction.commit()
}

/// Brings everything into the one file. Where another program reads the run just now, the
/// database stays in WAL mode: complete, and every reader but one of a read-only copy fine.
fn leave_wal(database: &Connection) -> rusqlite::Result<()> {
    let left =
        database.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).and_then(|()| {
            database.query_row("PRAGMA journal_mode = DELETE", [], |row| row.get::<_, String>(0))
        });
    match left {
        Err(rusqlite::Error::SqliteFailure(cause, _))
            if matches!(cause.code, ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) =>
        {
            Ok(())
        }
        Err(error) => Err(error),
        Ok(_) => Ok(()),
    }
}
