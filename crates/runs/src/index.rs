//! `runs/index.sqlite`: what `runs list` shows, without opening every run.
//!
//! The index is only ever a copy of what the folders say. A row carries a stamp of its folder's
//! files; where the stamp differs, the row is made anew, where the folder is gone, dropped. So a
//! lost, stale or damaged index costs time and nothing else, and one that cannot be written (a
//! read-only root) is done without. Several programs may use it at once.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use rusqlite::{Connection, ErrorCode, Row, TransactionBehavior, params};

use crate::error::RunError;
use crate::opened::wal_of;
use crate::run::Run;
use crate::schema::{self, int, uint};
use crate::summary_file;

/// The file's name below the root of all runs.
const FILE: &str = "index.sqlite";
/// The version of the index; another one is thrown away.
const FORMAT: i64 = 1;

/// One run in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The folder's name.
    pub id: String,
    /// The plan's name; may be empty.
    pub name: String,
    /// What the load was put on.
    pub subject: String,
    /// Start, ISO 8601 in UTC.
    pub started: String,
    /// As [`crate::summary::RunIdentity::ended`].
    pub ended: String,
    /// Whether the figures are the system's.
    pub valid: bool,
    /// Completed requests per second.
    pub rate_mean: f64,
    /// Response time: median, µs.
    pub p50_us: Option<f64>,
    /// Response time: 99th percentile, µs.
    pub p99_us: Option<f64>,
    /// Requests due in the measured phase.
    pub offered: u64,
    /// Of those, the ones that did not succeed.
    pub failed: u64,
}

/// What lies below a root.
#[derive(Debug, Default)]
pub struct Listing {
    /// The runs, the oldest first.
    pub runs: Vec<Entry>,
    /// Folders that hold a run which cannot be read, and why.
    pub unreadable: Vec<(PathBuf, RunError)>,
}

/// Every run below `root`. Costs a look at each folder, and a reading of those that are new or
/// have changed.
///
/// # Errors
/// Where the root itself cannot be read. A root that does not exist holds no runs.
pub fn list(root: &Path) -> Result<Listing, RunError> {
    let folders = folders(root)?;
    let index = if folders.is_empty() { None } else { open(root) };
    let mut known = index.as_ref().map(rows).unwrap_or_default();
    let mut listing = Listing::default();
    let mut changed = Vec::new();
    for (id, path) in folders {
        // Taken before reading: what is written meanwhile makes it stale, never fresh.
        let stamp = stamp(&path);
        match known.remove(&id) {
            Some((old, entry)) if old == stamp => listing.runs.push(entry),
            _ => match entry(&path, id) {
                Ok(entry) => {
                    changed.push((stamp, entry.clone()));
                    listing.runs.push(entry);
                }
                Err(error) => listing.unreadable.push((path, error)),
            },
        }
    }
    if let Some(mut index) = index
        && !(changed.is_empty() && known.is_empty())
    {
        // An index that cannot be written is done without.
        let _ = renew(&mut index, &changed, known.keys());
    }
    listing.runs.sort_by(|a, b| (&a.started, &a.id).cmp(&(&b.started, &b.id)));
    Ok(listing)
}

/// Enters one run, where the index can be written.
pub(crate) fn enter(root: &Path, folder: &Path) {
    let Some(id) = folder.file_name() else { return };
    let stamp = stamp(folder);
    if let Ok(entry) = entry(folder, id.to_string_lossy().into_owned())
        && let Some(mut index) = open(root)
    {
        let _ = renew(&mut index, &[(stamp, entry)], std::iter::empty());
    }
}

/// Folders below the root that hold a run, by name.
fn folders(root: &Path) -> Result<BTreeMap<String, PathBuf>, RunError> {
    let entries = match fs::read_dir(root) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        entries => entries.map_err(RunError::file("list", root))?,
    };
    let mut folders = BTreeMap::new();
    for entry in entries {
        let path = entry.map_err(RunError::file("list", root))?.path();
        if let Some(name) = path.file_name()
            && path.join(schema::FILE).is_file()
        {
            folders.insert(name.to_string_lossy().into_owned(), path);
        }
    }
    Ok(folders)
}

fn entry(folder: &Path, id: String) -> Result<Entry, RunError> {
    let run = Run::open(folder)?;
    let summary = run.summary()?;
    Ok(Entry {
        // The folder's name, not the one inside: folders are copied and renamed.
        id,
        name: summary.run.name,
        subject: run.meta().subject.clone(),
        started: summary.run.started,
        ended: summary.run.ended,
        valid: summary.run.valid,
        rate_mean: summary.rate_mean,
        p50_us: summary.response_us.p50,
        p99_us: summary.response_us.p99,
        offered: summary.offered,
        failed: summary.offered.saturating_sub(summary.succeeded),
    })
}

/// When and how long the files are that a folder's entry is made of.
fn stamp(folder: &Path) -> String {
    let database = folder.join(schema::FILE);
    let of = |file: &Path| {
        let Ok(found) = fs::metadata(file) else { return "-".to_owned() };
        let changed = found.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        format!("{}:{}", changed.map_or(0, |since| since.as_nanos()), found.len())
    };
    [of(&database), of(&wal_of(&database)), of(&folder.join(summary_file::FILE))].join(" ")
}

/// The index, made where it is missing and made anew where it is damaged; `None` where it cannot
/// be.
fn open(root: &Path) -> Option<Connection> {
    let file = root.join(FILE);
    match open_or_make(&file) {
        Ok(index) => Some(index),
        Err(rusqlite::Error::SqliteFailure(cause, _))
            if matches!(cause.code, ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) =>
        {
            fs::remove_file(&file).ok()?;
            open_or_make(&file).ok()
        }
        Err(_) => None,
    }
}

fn open_or_make(file: &Path) -> rusqlite::Result<Connection> {
    let mut index = Connection::open(file)?;
    index.busy_timeout(std::time::Duration::from_secs(5))?;
    index.execute_batch("PRAGMA cache_size = -256;")?;
    let version = |index: &Connection| -> rusqlite::Result<i64> {
        index.pragma_query_value(None, "user_version", |row| row.get(0))
    };
    if version(&index)? != FORMAT {
        let transaction = index.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Another program may have made it while we waited.
        if version(&transaction)? != FORMAT {
            transaction.execute_batch(&format!(
                "DROP TABLE IF EXISTS run;
                 CREATE TABLE run (id TEXT PRIMARY KEY, stamp TEXT NOT NULL, name TEXT NOT NULL,
                   subject TEXT NOT NULL, started TEXT NOT NULL, ended TEXT NOT NULL,
                   valid INTEGER NOT NULL, rate_mean REAL NOT NULL, p50_us REAL, p99_us REAL,
                   offered INTEGER NOT NULL, failed INTEGER NOT NULL) WITHOUT ROWID;
                 PRAGMA user_version = {FORMAT};"
            ))?;
        }
        transaction.commit()?;
    }
    Ok(index)
}

/// The rows by id, with their stamps; none where the index cannot be read.
fn rows(index: &Connection) -> BTreeMap<String, (String, Entry)> {
    let read = || -> rusqlite::Result<_> {
        let mut statement = index.prepare(
            "SELECT id, stamp, name, subject, started, ended, valid, rate_mean, p50_us, p99_us,
               offered, failed FROM run",
        )?;
        let rows = statement.query_map([], row)?;
        rows.map(|row| row.map(|(stamp, entry)| (entry.id.clone(), (stamp, entry)))).collect()
    };
    read().unwrap_or_default()
}

fn row(row: &Row<'_>) -> rusqlite::Result<(String, Entry)> {
    let entry = Entry {
        id: row.get(0)?,
        name: row.get(2)?,
        subject: row.get(3)?,
        started: row.get(4)?,
        ended: row.get(5)?,
        valid: row.get(6)?,
        rate_mean: row.get(7)?,
        p50_us: row.get(8)?,
        p99_us: row.get(9)?,
        offered: uint(row.get(10)?),
        failed: uint(row.get(11)?),
    };
    Ok((row.get(1)?, entry))
}

fn renew<'a>(
    index: &mut Connection,
    changed: &[(String, Entry)],
    gone: impl Iterator<Item = &'a String>,
) -> rusqlite::Result<()> {
    let transaction = index.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for (stamp, entry) in changed {
        transaction
            .prepare_cached("INSERT OR REPLACE INTO run VALUES (?,?,?,?,?,?,?,?,?,?,?,?)")?
            .execute(params![
                entry.id,
                stamp,
                entry.name,
                entry.subject,
                entry.started,
                entry.ended,
                entry.valid,
                entry.rate_mean,
                entry.p50_us,
                entry.p99_us,
                int(entry.offered),
                int(entry.failed),
            ])?;
    }
    for id in gone {
        transaction.prepare_cached("DELETE FROM run WHERE id = ?")?.execute([id])?;
    }
    transaction.commit()
}
