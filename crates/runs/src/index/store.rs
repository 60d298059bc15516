//! `index.sqlite`: a row an entry.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::Path;

use rusqlite::types::Type;
use rusqlite::{Connection, ErrorCode, OpenFlags, Row, TransactionBehavior, params};

use crate::database::{self, int, uint};
use crate::experiment::Progress;
use crate::index::entry::{Entry, Headline, LoadEntry};
use crate::meta::Kind;
use crate::own;

/// The file's name below the root of all runs.
const FILE: &str = "index.sqlite";
/// The version of the index; another one is thrown away.
const FORMAT: i32 = 5;
/// What tells an index from other databases: its `application_id`.
const MARK: [u8; 4] = *b"Plms";

/// The columns of a row: the folder's name, the stamp of its files, and the entry.
const COLUMNS: &str = "id, stamp, name, kind, subject, started, ended, cells_done, cells_of,
    valid, rate_mean, p50_us, p99_us, offered, failed, headline, headline_low, headline_high,
    tags";

/// The index, made where it is missing and made anew where it is damaged or of another version;
/// `None` where it cannot be, and where what has its name is none of ours: that is left as it is.
pub(super) fn open(root: &Path) -> Option<Connection> {
    let file = root.join(FILE);
    match open_or_make(&file) {
        Ok(index) => index,
        Err(rusqlite::Error::SqliteFailure(cause, _))
            if matches!(cause.code, ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt)
                && begins_as_ours(&file) =>
        {
            fs::remove_file(&file).ok()?;
            open_or_make(&file).ok()?
        }
        Err(_) => None,
    }
}

/// Whether a file has the marks of an index in its head, whatever became of the rest: SQLite's, and
/// at byte 68 ours.
fn begins_as_ours(file: &Path) -> bool {
    let is_file = fs::symlink_metadata(file).is_ok_and(|found| found.is_file());
    let mut head = [0; 72];
    let read = fs::File::open(file).and_then(|mut file| file.read_exact(&mut head));
    is_file && read.is_ok() && head.starts_with(b"SQLite format 3\0") && head[68..] == MARK
}

fn open_or_make(file: &Path) -> rusqlite::Result<Option<Connection>> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    own::touch(file);
    let mut index = database::connect(file, flags)?;
    let mut state = state(&index)?;
    if matches!(state, State::Empty | State::Older) {
        let transaction = index.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Another program may have made it while we waited.
        state = self::state(&transaction)?;
        if matches!(state, State::Empty | State::Older) {
            let mark = i32::from_be_bytes(MARK);
            transaction.execute_batch(&format!(
                "DROP TABLE IF EXISTS run;
                 CREATE TABLE run (id TEXT PRIMARY KEY, stamp TEXT NOT NULL, name TEXT NOT NULL,
                   kind TEXT NOT NULL, subject TEXT NOT NULL, started TEXT NOT NULL,
                   ended TEXT NOT NULL, cells_done INTEGER, cells_of INTEGER, valid INTEGER,
                   rate_mean REAL, p50_us REAL, p99_us REAL, offered INTEGER, failed INTEGER,
                   headline TEXT, headline_low REAL, headline_high REAL,
                   tags TEXT NOT NULL) WITHOUT ROWID;
                 PRAGMA application_id = {mark};
                 PRAGMA user_version = {FORMAT};"
            ))?;
            state = State::Ours;
        }
        transaction.commit()?;
    }
    Ok(matches!(state, State::Ours).then_some(index))
}

/// Whose a database is.
enum State {
    /// An index of this version.
    Ours,
    /// An index of another one.
    Older,
    /// Nobody's: it has nothing.
    Empty,
    /// Somebody else's.
    Strange,
}

fn state(index: &Connection) -> rusqlite::Result<State> {
    let number = |pragma| index.pragma_query_value(None, pragma, |row| row.get::<_, i32>(0));
    let (mark, version) = (number("application_id")?, number("user_version")?);
    if database::stranger(index)?.is_some() {
        return Ok(State::Strange);
    }
    if mark == i32::from_be_bytes(MARK) {
        return Ok(if version == FORMAT { State::Ours } else { State::Older });
    }
    let mut statement = index.prepare("SELECT name, sql FROM sqlite_schema WHERE sql NOT NULL")?;
    let has = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let has: Vec<(String, String)> = has.collect::<Result<_, _>>()?;
    // The first versions had no mark.
    let is_unmarked = |sql: &str| sql.starts_with("CREATE TABLE run (id TEXT PRIMARY KEY, stamp ");
    Ok(match &*has {
        [] if mark == 0 && version == 0 => State::Empty,
        [(_, sql)] if mark == 0 && (1..FORMAT).contains(&version) && is_unmarked(sql) => {
            State::Older
        }
        _ => State::Strange,
    })
}

/// The rows by id, with their stamps; none where the index cannot be read.
pub(super) fn rows(index: &Connection) -> BTreeMap<String, (String, Entry)> {
    let read = || -> rusqlite::Result<_> {
        let mut statement = index.prepare(&format!("SELECT {COLUMNS} FROM run"))?;
        let rows = statement.query_map([], row)?;
        rows.map(|row| row.map(|(stamp, entry)| (entry.id.clone(), (stamp, entry)))).collect()
    };
    read().unwrap_or_default()
}

fn row(row: &Row<'_>) -> rusqlite::Result<(String, Entry)> {
    let kind: String = row.get(3)?;
    let kind = Kind::named(&kind).ok_or_else(|| {
        let problem = format!("no kind of run is `{kind}`");
        rusqlite::Error::FromSqlConversionFailure(3, Type::Text, problem.into())
    })?;
    let entry = Entry {
        id: row.get(0)?,
        name: row.get(2)?,
        kind,
        subject: row.get(4)?,
        tags: tags(&row.get::<_, String>(18)?)?,
        started: row.get(5)?,
        ended: row.get(6)?,
        cells: match (row.get(7)?, row.get(8)?) {
            (Some(done), Some(of)) => Some(Progress { done: uint(done), of: uint(of) }),
            _ => None,
        },
        load: row.get::<_, Option<bool>>(9)?.map(|valid| load(row, valid)).transpose()?,
        headline: match (row.get(15)?, row.get(16)?, row.get(17)?) {
            (Some(name), Some(low), Some(high)) => Some(Headline { name, low, high }),
            _ => None,
        },
    };
    Ok((row.get(1)?, entry))
}

fn tags(text: &str) -> rusqlite::Result<BTreeMap<String, String>> {
    let wrong = |error| rusqlite::Error::FromSqlConversionFailure(18, Type::Text, Box::new(error));
    serde_json::from_str(text).map_err(wrong)
}

fn load(row: &Row<'_>, valid: bool) -> rusqlite::Result<LoadEntry> {
    Ok(LoadEntry {
        valid,
        rate_mean: row.get(10)?,
        p50_us: row.get(11)?,
        p99_us: row.get(12)?,
        offered: uint(row.get(13)?),
        failed: uint(row.get(14)?),
    })
}

/// Writes the entries that changed, with their stamps, and drops those that are gone.
pub(super) fn renew<'a>(
    index: &mut Connection,
    changed: &[(String, Entry)],
    gone: impl Iterator<Item = &'a String>,
) -> rusqlite::Result<()> {
    let transaction = index.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for (stamp, entry) in changed {
        let (cells, load, headline) = (entry.cells, entry.load, entry.headline.as_ref());
        let marks = vec!["?"; COLUMNS.split(',').count()].join(",");
        transaction
            .prepare_cached(&format!("INSERT OR REPLACE INTO run ({COLUMNS}) VALUES ({marks})"))?
            .execute(params![
                entry.id,
                stamp,
                entry.name,
                entry.kind.name(),
                entry.subject,
                entry.started,
                entry.ended,
                cells.map(|cells| int(cells.done)),
                cells.map(|cells| int(cells.of)),
                load.map(|load| load.valid),
                load.and_then(|load| load.rate_mean),
                load.and_then(|load| load.p50_us),
                load.and_then(|load| load.p99_us),
                load.map(|load| int(load.offered)),
                load.map(|load| int(load.failed)),
                headline.map(|headline| &headline.name),
                headline.map(|headline| headline.low),
                headline.map(|headline| headline.high),
                serde_json::to_string(&entry.tags).unwrap_or_default(),
            ])?;
    }
    for id in gone {
        transaction.prepare_cached("DELETE FROM run WHERE id = ?")?.execute([id])?;
    }
    transaction.commit()
}
