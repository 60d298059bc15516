//! Reading a run: finished, killed, or still going on.

use std::collections::BTreeSet;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use plimsoll_stats::Histogram;
use rusqlite::{Row, ToSql};

use crate::by_label::LabelBooks;
use crate::by_name::NameBooks;
use crate::database::{has_table, uint};
use crate::decision::{self, DecisionRow};
use crate::error::RunError;
use crate::facts::{BOOKS_NS, Facts, HLOG_BYTES, SAMPLES_BYTES};
use crate::hlog::{self, LogReader};
use crate::label_table;
use crate::meta::{End, Ended, Kind, RunMeta};
use crate::name_table;
use crate::opened::{self, Opened, PLAN};
use crate::row::{self, HostRow, IntervalRow};
use crate::samples::{self, SampleReader};
use crate::schema;
use crate::series::{self, SeriesRow};
use crate::summary::{Cause, seconds};
use crate::users::{self, UserCounts};
use crate::websocket::{self, WebSocketCounts};
use crate::window::{self, WindowRow};
use crate::{Counters, Event, FigureRow, LoadMeta, Phase, event, failures, figures};

mod traces;

/// Where a search keeps its windows beside the table.
const WINDOWS: &str = "artifacts/windows.jsonl";

/// A stretch of a run and what was recorded in it.
pub type Stretch = (u64, u64, Histogram);

/// A run's folder, open for reading. What it tells of a run that is still going on grows.
pub struct Run {
    path: PathBuf,
    opened: Opened,
    meta: RunMeta,
    end: Option<End>,
    goes_on: bool,
}

impl Run {
    /// Opens a run's folder. Nothing in it is changed.
    ///
    /// # Errors
    /// Where there is no run, or it cannot be read, or a later version wrote it.
    pub fn open(path: &Path) -> Result<Self, RunError> {
        let file = path.join(schema::FILE);
        if let Err(source) = fs::metadata(&file) {
            if source.kind() == std::io::ErrorKind::NotFound {
                let missing = schema::FILE;
                return Err(RunError::NotARun { path: path.to_path_buf(), missing });
            }
            return Err(RunError::file("read", &file)(source));
        }
        let opened = opened::open(&file, schema::FORMAT)?;
        let error = RunError::database("read", &file);
        schema::adapt(&opened.database).map_err(error)?;
        let facts = Facts::read(&opened.database).map_err(RunError::database("read", &file))?;
        if facts.is_empty() {
            // Killed before anything was known.
            return Err(RunError::NotARun { path: path.to_path_buf(), missing: "facts" });
        }
        let damaged = |problem| RunError::Damaged {
            path: file.clone(),
            at: "table meta".to_owned(),
            problem,
        };
        let mut meta = facts.meta().map_err(damaged)?;
        // Version 1 did not say what a run is one of; a search had its windows.
        if !facts.has_kind() && path.join(WINDOWS).is_file() {
            meta.kind = Kind::Search;
        }
        let end = facts.end().map_err(damaged)?;
        Ok(Self { path: path.to_path_buf(), opened, meta, end, goes_on: false })
    }

    /// Opens the folder of a run that the caller knows to go on: it is seen as of this moment,
    /// however much is written, and its summary is one so far. What is under way counts neither as
    /// offered nor as failed, and no summary is kept.
    ///
    /// # Errors
    /// As for [`Run::open`].
    pub fn open_going_on(path: &Path) -> Result<Self, RunError> {
        let run = Self::open(path)?;
        let goes_on = run.end.is_none();
        if goes_on {
            // Ends with the connection. Until then the writer cannot tidy its log up.
            run.opened.database.execute_batch("BEGIN").map_err(run.unreadable())?;
        }
        Ok(Self { goes_on, ..run })
    }

    /// Whether the run was opened as one that goes on, and had not ended by then.
    #[must_use]
    pub fn goes_on(&self) -> bool {
        self.goes_on
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What was known before the first request.
    #[must_use]
    pub fn meta(&self) -> &RunMeta {
        &self.meta
    }

    /// What was learnt at the end; `None` where the run was killed or is still going on.
    #[must_use]
    pub fn end(&self) -> Option<&End> {
        self.end.as_ref()
    }

    /// Whether the run was ended by the program: not killed, not still going on.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.end.is_some()
    }

    /// The load that the run offered.
    pub(crate) fn load(&self) -> Result<&LoadMeta, RunError> {
        let (path, kind) = (&self.path, self.meta.kind.name());
        self.meta.load.as_ref().ok_or_else(|| RunError::NoLoad { path: path.clone(), kind })
    }

    /// The plan as the folder holds it, or, where that file is gone, as the database does.
    #[must_use]
    pub fn plan_text(&self) -> String {
        fs::read_to_string(self.path.join(PLAN)).unwrap_or_else(|_| self.meta.plan_text.clone())
    }

    /// Facts of the generating host.
    #[must_use]
    pub fn host_facts(&self) -> &[(String, String)] {
        &self.meta.host
    }

    /// The caveat of how the run had to be opened.
    pub(crate) fn opening_warning(&self) -> Option<&str> {
        self.opened.warning.as_deref()
    }

    /// Visits every second of the run, in order of time, one in memory at a time.
    ///
    /// # Errors
    /// Where the run cannot be read, or `visit` fails.
    pub fn for_each_interval(
        &self,
        mut visit: impl FnMut(IntervalRow) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        let patience_ns = self.meta.load.as_ref().map_or(0, |load| load.patience_ns);
        let scale = row::Scale { measured: self.measured()?, patience_ns };
        let sql = row::select_intervals(&self.opened.database).map_err(self.unreadable())?;
        self.for_each_row(&sql, &[], |row| {
            visit(row::interval(row, &scale).map_err(self.unreadable())?)
        })
    }

    /// Every second of the run, in order of time.
    ///
    /// # Errors
    /// Where the run cannot be read.
    pub fn intervals(&self) -> Result<Vec<IntervalRow>, RunError> {
        let mut rows = Vec::new();
        self.for_each_interval(|row| {
            rows.push(row);
            Ok(())
        })?;
        Ok(rows)
    }

    /// What was recorded under a tag for the requests due in a phase.
    ///
    /// # Errors
    /// Where the log cannot be read.
    pub fn histogram(&self, phase: Phase, tag: impl AsRef<str>) -> Result<Histogram, RunError> {
        let mut sum = Histogram::new();
        let name = hlog::tag_of(phase, tag.as_ref());
        self.for_each_line(
            |line| line.tag == name,
            |_, histogram| {
                sum.add(histogram);
                Ok(())
            },
        )?;
        Ok(sum)
    }

    /// What was recorded under a tag for the requests due in a phase, second by second. Keeps a
    /// histogram a second: for long runs [`Self::histograms_in_steps`] is the one.
    ///
    /// # Errors
    /// Where the log cannot be read.
    pub fn histograms_over_time(
        &self,
        phase: Phase,
        tag: impl AsRef<str>,
    ) -> Result<Vec<Stretch>, RunError> {
        self.histograms_in_steps(phase, tag, 1)
    }

    /// As [`Self::histograms_over_time`], with the seconds that start in the same multiple of
    /// `step_ns` added up. A stretch reaches from its first second's start to its last one's end;
    /// stretches in which nothing was recorded are left out.
    ///
    /// # Errors
    /// Where the log cannot be read.
    pub fn histograms_in_steps(
        &self,
        phase: Phase,
        tag: impl AsRef<str>,
        step_ns: u64,
    ) -> Result<Vec<Stretch>, RunError> {
        let mut steps: Vec<Stretch> = Vec::new();
        let name = hlog::tag_of(phase, tag.as_ref());
        let step_ns = step_ns.max(1);
        self.for_each_line(
            |line| line.tag == name,
            |line, histogram| {
                match steps.last_mut() {
                    Some((start, len, sum)) if *start / step_ns == line.start_ns / step_ns => {
                        *len = (line.start_ns + line.len_ns).saturating_sub(*start);
                        sum.add(histogram);
                    }
                    _ => steps.push((line.start_ns, line.len_ns, histogram.clone())),
                }
                Ok(())
            },
        )?;
        Ok(steps)
    }

    /// The tags under which something was recorded for the requests due in a phase, sorted: those
    /// of every run ([`crate::Tag`]), those of seconds, and the run's own.
    ///
    /// # Errors
    /// Where the log cannot be read.
    pub fn tags(&self, phase: Phase) -> Result<BTreeSet<String>, RunError> {
        let mut tags = BTreeSet::new();
        let look = |line: &hlog::Line<'_>| {
            let tag = match (phase, line.tag.strip_prefix(hlog::WARM_UP)) {
                (Phase::WarmUp, tag) => tag,
                (Phase::Measured, None) => Some(line.tag),
                (Phase::Measured, Some(_)) => None,
            };
            if let Some(tag) = tag.filter(|tag| !tags.contains(*tag)) {
                tags.insert(tag.to_owned());
            }
            // The name is all that is wanted of a line.
            false
        };
        self.for_each_line(look, |_, _| Ok(()))?;
        Ok(tags)
    }

    /// Everything that happened, in the order in which it was told.
    ///
    /// # Errors
    /// Where the run cannot be read.
    pub fn events(&self) -> Result<Vec<Event>, RunError> {
        let mut events = Vec::new();
        let sql = "SELECT at_ns, class, kind, text FROM event ORDER BY rowid";
        self.for_each_row(sql, &[], |row| {
            events.push(event::read(row, 0).map_err(self.unreadable())?);
            Ok(())
        })?;
        Ok(events)
    }

    /// The figures of the run, in the order in which they were stored. Of a load that has none yet,
    /// as it was killed, is still going on, or was written by an earlier version, they are those
    /// of its summary.
    ///
    /// # Errors
    /// Where the run cannot be read.
    pub fn figures(&self) -> Result<Vec<FigureRow>, RunError> {
        let stored = figures::read(&self.opened.database, self.meta.cell);
        let stored = stored.map_err(self.unreadable())?;
        if stored.is_empty() && self.meta.kind == Kind::Load && self.meta.load.is_some() {
            return Ok([figures::of_summary(&self.summary()?), self.watched_means()?].concat());
        }
        Ok(stored)
    }

    /// The samples of the series of a name, in order of time.
    ///
    /// # Errors
    /// Where the run cannot be read.
    pub fn series(&self, name: &str) -> Result<Vec<SeriesRow>, RunError> {
        let mut rows = Vec::new();
        self.for_each_row(series::SELECT, &[&name], |row| {
            rows.push(series::read(row).map_err(self.unreadable())?);
            Ok(())
        })?;
        Ok(rows)
    }

    /// Visits every sample of every series with the series' name, in the order in which they were
    /// taken, one in memory at a time.
    ///
    /// # Errors
    /// Where the run cannot be read, or `visit` fails.
    pub fn for_each_sample(
        &self,
        mut visit: impl FnMut(&str, SeriesRow) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        self.for_each_row(series::SELECT_ALL, &[], |row| {
            let sample = series::read(row).map_err(self.unreadable())?;
            let name: String = row.get(3).map_err(self.unreadable())?;
            visit(&name, sample)
        })
    }

    /// The names of the series that the run has, sorted.
    ///
    /// # Errors
    /// Where the run cannot be read.
    pub fn series_names(&self) -> Result<Vec<String>, RunError> {
        let mut names = Vec::new();
        let sql = "SELECT DISTINCT name FROM series ORDER BY name";
        self.for_each_row(sql, &[], |row| {
            names.push(row.get(0).map_err(self.unreadable())?);
            Ok(())
        })?;
        Ok(names)
    }

    /// The decisions of a policy, in their order; none of a run without one.
    ///
    /// # Errors
    /// Where the run cannot be read.
    pub fn decisions(&self) -> Result<Vec<DecisionRow>, RunError> {
        let (mut has, mut rows) = (false, Vec::new());
        self.for_each_row(decision::HAS, &[], |_| {
            has = true;
            Ok(())
        })?;
        if has {
            self.for_each_row(decision::SELECT, &[], |row| {
                rows.push(decision::read(row).map_err(self.unreadable())?);
                Ok(())
            })?;
        }
        Ok(rows)
    }

    /// The windows of a search, in their order; none of a run that is no search.
    ///
    /// # Errors
    /// Where the run cannot be read.
    pub fn windows(&self) -> Result<Vec<WindowRow>, RunError> {
        let mut rows = Vec::new();
        self.for_each_row(window::SELECT, &[], |row| {
            rows.push(window::read(row).map_err(self.unreadable())?);
            Ok(())
        })?;
        Ok(rows)
    }

    /// The host, second by second.
    ///
    /// # Errors
    /// Where the run cannot be read.
    pub fn host_series(&self) -> Result<Vec<HostRow>, RunError> {
        let mut rows = Vec::new();
        self.for_each_row(row::SELECT_HOST, &[], |row| {
            rows.push(row::host(row).map_err(self.unreadable())?);
            Ok(())
        })?;
        Ok(rows)
    }

    /// What each phase came to, counted by the phase in which requests were due.
    ///
    /// # Errors
    /// Where the run cannot be read.
    pub fn total(&self, phase: Phase) -> Result<Counters, RunError> {
        let columns = self.counter_columns("total")?;
        let sql = format!("SELECT {columns} FROM total WHERE phase = ?");
        let mut total = Counters::default();
        self.for_each_row(&sql, &[&phase.name()], |row| {
            total = row::counters(row, 0).map_err(self.unreadable())?;
            Ok(())
        })?;
        Ok(total)
    }

    /// The first causes of each kind of failure: of requests due in a phase, in the order in which
    /// kinds are counted. None in a run that an earlier version wrote.
    ///
    /// # Errors
    /// Where the run cannot be read.
    pub fn reasons(&self, phase: Phase) -> Result<Vec<Cause>, RunError> {
        self.causes(phase, failures::OF_REQUESTS)
    }

    /// The same of attempts to connect, in the whole run.
    ///
    /// # Errors
    /// Where the run cannot be read.
    pub fn refusals(&self) -> Result<Vec<Cause>, RunError> {
        self.causes(Phase::Measured, failures::OF_CONNECTIONS)
    }

    fn causes(&self, phase: Phase, of: &str) -> Result<Vec<Cause>, RunError> {
        let mut causes = Vec::new();
        if !has_table(&self.opened.database, "reason").map_err(self.unreadable())? {
            return Ok(causes);
        }
        let sql = "SELECT kind, text, count, first_ns FROM reason
                   WHERE phase = ? AND of = ? ORDER BY rowid";
        self.for_each_row(sql, &[&phase.name(), &of], |row| {
            let read = || {
                let (count, first_ns) = (row.get(2).map(uint)?, row.get(3).map(uint)?);
                let first_s = seconds(first_ns);
                Ok(Cause { kind: row.get(0)?, text: row.get(1)?, count, first_s })
            };
            causes.push(read().map_err(self.unreadable())?);
            Ok(())
        })?;
        Ok(causes)
    }

    /// What the requests of each name have come to; empty where they have none.
    ///
    /// # Errors
    /// Where the run cannot be read.
    pub fn name_books(&self) -> Result<NameBooks, RunError> {
        name_table::read(&self.opened.database).map_err(self.unreadable())
    }

    /// What came of the users of each label; empty where they have none.
    ///
    /// # Errors
    /// Where the run cannot be read.
    pub fn label_books(&self) -> Result<LabelBooks, RunError> {
        label_table::read(&self.opened.database).map_err(self.unreadable())
    }

    /// What became of users; `None` where the run has no scenario.
    ///
    /// # Errors
    /// Where the run cannot be read.
    pub fn users(&self) -> Result<Option<UserCounts>, RunError> {
        users::read(&self.opened.database).map_err(self.unreadable())
    }

    /// What came of WebSockets; `None` where the run had none.
    ///
    /// # Errors
    /// Where the run cannot be read.
    pub fn websocket(&self) -> Result<Option<WebSocketCounts>, RunError> {
        websocket::read(&self.opened.database).map_err(self.unreadable())
    }

    /// Every request, where the run kept them: `None` where it did not.
    ///
    /// # Errors
    /// Where the file cannot be read.
    pub fn samples(&self) -> Result<Option<SampleReader>, RunError> {
        let file = self.path.join(samples::FILE);
        // Runs of earlier versions do not say it.
        let sql = "SELECT CAST(coalesce(max(value), 0) AS INTEGER) FROM meta WHERE key = ?";
        let written = self.query(sql, &[&SAMPLES_BYTES], |row| row.get(0)).map(uint)?;
        opened::check_length(&file, written)?;
        if file.exists() { SampleReader::open(&file).map(Some) } else { Ok(None) }
    }

    /// The stretch of the measured schedule as far as it was offered, nanoseconds since the first
    /// due time. Of a run that was killed or did not say, all that its intervals cover without
    /// warm-up and drain, at most what was planned.
    ///
    /// # Errors
    /// Where the run cannot be read.
    pub fn measured(&self) -> Result<Range<u64>, RunError> {
        let planned = self.meta.duration_ns;
        let end = self.end.as_ref();
        let stated = end.and_then(|end| end.measured_ns).or_else(|| {
            let complete = end.is_some_and(|end| end.ended == Ended::Complete);
            (complete && planned > 0).then_some(planned)
        });
        let (covered, drain) = (self.covered_ns()?, end.map_or(0, |end| end.drain_ns));
        let offered = covered.saturating_sub(drain);
        let warmup = match stated {
            Some(_) => self.meta.warmup_ns,
            None => self.meta.warmup_ns.min(offered),
        };
        let longest = if planned > 0 { planned } else { u64::MAX };
        let len = stated.unwrap_or_else(|| (offered - warmup).min(longest));
        Ok(warmup..warmup.saturating_add(len))
    }

    /// How far the intervals reach.
    ///
    /// # Errors
    /// Where the run cannot be read.
    pub fn covered_ns(&self) -> Result<u64, RunError> {
        let sql = "SELECT start_ns + len_ns FROM interval ORDER BY rowid DESC LIMIT 1";
        let mut covered = 0;
        self.for_each_row(sql, &[], |row| {
            covered = uint(row.get(0).map_err(self.unreadable())?);
            Ok(())
        })?;
        Ok(covered)
    }

    /// The columns of a table's counters, as [`row::counters`] reads them.
    pub(crate) fn counter_columns(&self, table: &str) -> Result<String, RunError> {
        let columns = schema::counter_columns();
        let columns = columns.iter().map(String::as_str);
        schema::select(&self.opened.database, table, columns).map_err(self.unreadable())
    }

    /// One figure or several of the database, as one row.
    pub(crate) fn query<T>(
        &self,
        sql: &str,
        parameters: &[&dyn ToSql],
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, RunError> {
        self.opened.database.query_row(sql, parameters, read).map_err(self.unreadable())
    }

    /// Visits the rows of a query.
    pub(crate) fn for_each_row(
        &self,
        sql: &str,
        parameters: &[&dyn ToSql],
        mut visit: impl FnMut(&Row<'_>) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        let mut statement = self.opened.database.prepare_cached(sql).map_err(self.unreadable())?;
        let mut rows = statement.query(parameters).map_err(self.unreadable())?;
        while let Some(row) = rows.next().map_err(self.unreadable())? {
            visit(row)?;
        }
        Ok(())
    }

    /// Sees the database as of one moment until the guard is dropped, however much is written;
    /// there is none where it was opened so.
    pub(crate) fn as_of_one_moment(&self) -> Result<Option<rusqlite::Transaction<'_>>, RunError> {
        let begin = || self.opened.database.unchecked_transaction().map_err(self.unreadable());
        (!self.goes_on).then(begin).transpose()
    }

    /// Visits the log's histograms that `wanted` accepts; none where there is no log. What is left
    /// of the log of a run that has ended is no distribution of it: it is refused.
    pub(crate) fn for_each_line(
        &self,
        wanted: impl FnMut(&hlog::Line<'_>) -> bool,
        visit: impl FnMut(&hlog::Line<'_>, &Histogram) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        let file = self.path.join(hlog::FILE);
        if self.end.is_some() {
            opened::check_length(&file, self.hlog_bytes()?)?;
        }
        match file.exists() {
            true => LogReader::open(&file, self.hlog_bytes()?)?.for_each(wanted, visit),
            false => Ok(()),
        }
    }

    /// How much of the log belongs to what the database tells.
    pub(crate) fn hlog_bytes(&self) -> Result<u64, RunError> {
        let sql = "SELECT CAST(value AS INTEGER) FROM meta WHERE key = ?";
        self.query(sql, &[&HLOG_BYTES], |row| row.get(0)).map(uint)
    }

    /// Until when its figures by name, of users and of WebSockets are, where that is stated.
    pub(crate) fn books_ns(&self) -> Result<Option<u64>, RunError> {
        let sql = "SELECT max(CAST(value AS INTEGER)) FROM meta WHERE key = ?";
        Ok(self.query(sql, &[&BOOKS_NS], |row| row.get::<_, Option<i64>>(0))?.map(uint))
    }

    /// How long the log is; 0 where there is none.
    pub(crate) fn hlog_len(&self) -> u64 {
        fs::metadata(self.path.join(hlog::FILE)).map_or(0, |found| found.len())
    }

    pub(crate) fn unreadable(&self) -> impl Fn(rusqlite::Error) -> RunError + '_ {
        |source| RunError::database("read", &self.path.join(schema::FILE))(source)
    }
}

impl std::fmt::Debug for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Run").field("path", &self.path).finish_non_exhaustive()
    }
}
