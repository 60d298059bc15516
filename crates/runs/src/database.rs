//! How databases of ours are made and closed: crash-safe while they are written, one plain file
//! when they are done.
//!
//! A database is in WAL mode with `synchronous=NORMAL` while it is written: a killed process loses
//! nothing that it had committed; a power cut may lose the latest transactions, and what is left is
//! consistent. What can be made again is not synced at all ([`Syncs::Never`]): a killed process
//! still loses nothing, and after a power cut it has to be made again.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode};

use crate::error::RunError;

/// How long a writer waits for another program that reads or writes the same database.
const PATIENCE: Duration = Duration::from_secs(5);

/// When what is written is brought to the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Syncs {
    /// When SQLite needs it to be consistent after a power cut.
    WhereNeeded,
    /// When the system likes: what is simulated can be simulated again, and syncing several files
    /// takes longer than to simulate them.
    Never,
}

/// How often, and how many times, is looked whether a database is still read.
const LOOK: Duration = Duration::from_millis(10);
const LOOKS: u32 = 100;

/// Makes a database, fills it by `tables`, and puts it into WAL mode. What `tables` writes is in
/// the file itself, so that even a folder that has lost its WAL has it; and the file has its name
/// when that is done, so that whoever finds it finds the tables, whenever we are killed.
///
/// # Errors
/// Where it cannot be made or written.
pub(crate) fn make(
    file: &Path,
    syncs: Syncs,
    tables: impl FnOnce(&Connection) -> rusqlite::Result<()>,
) -> Result<Connection, RunError> {
    let new = file.with_extension("new");
    let fill = || {
        let database = Connection::open(&new)?;
        database.execute_batch("PRAGMA page_size = 4096;")?;
        limit_memory(&database)?;
        if syncs == Syncs::Never {
            database.pragma_update(None, "synchronous", "OFF")?;
        }
        tables(&database)?;
        database.close().map_err(|(_, error)| error)
    };
    fill().map_err(RunError::database("make", file))?;
    fs::rename(&new, file).map_err(RunError::file("make", file))?;
    open(file, syncs).map_err(RunError::database("make", file))
}

/// Opens a database that is there to write on in it.
pub(crate) fn reopen(file: &Path) -> rusqlite::Result<Connection> {
    open(file, Syncs::WhereNeeded)
}

fn open(file: &Path, syncs: Syncs) -> rusqlite::Result<Connection> {
    use rusqlite::OpenFlags;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let database = Connection::open_with_flags(file, flags)?;
    database.busy_timeout(PATIENCE)?;
    limit_memory(&database)?;
    if syncs == Syncs::Never {
        database.pragma_update(None, "synchronous", "OFF")?;
    }
    database.pragma_update(None, "journal_mode", "WAL")?;
    if syncs == Syncs::WhereNeeded {
        database.pragma_update(None, "synchronous", "NORMAL")?;
    }
    Ok(database)
}

fn limit_memory(database: &Connection) -> rusqlite::Result<()> {
    database.execute_batch(
        "PRAGMA cache_size = -256; PRAGMA mmap_size = 0; PRAGMA temp_store = MEMORY;",
    )
}

/// Brings everything into the one file. Whoever reads the database just now, as for a page, is
/// awaited for up to a second. Where it is still read then, it stays in WAL mode: complete, and
/// every reader but one of a read-only copy fine.
pub(crate) fn leave_wal(database: &Connection) -> rusqlite::Result<()> {
    for _ in 0..LOOKS {
        if try_leave_wal(database)? {
            break;
        }
        std::thread::park_timeout(LOOK);
    }
    Ok(())
}

/// Leaves WAL mode, unless somebody reads the database; says whether it is left.
fn try_leave_wal(database: &Connection) -> rusqlite::Result<bool> {
    let left =
        database.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).and_then(|()| {
            database.query_row("PRAGMA journal_mode = DELETE", [], |row| row.get::<_, String>(0))
        });
    match left {
        Err(rusqlite::Error::SqliteFailure(cause, _))
            if matches!(cause.code, ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) =>
        {
            Ok(false)
        }
        Err(error) => Err(error),
        Ok(_) => Ok(true),
    }
}

/// SQLite's integers are signed; a counter beyond 2⁶³ is held at the greatest.
pub(crate) fn int(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// And back: none of our columns is ever negative.
pub(crate) fn uint(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}
