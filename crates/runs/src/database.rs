//! How databases of ours are made and closed: crash-safe while they are written, one plain file
//! when they are done.
//!
//! A database is in WAL mode with `synchronous=NORMAL` while it is written: a killed process loses
//! nothing that it had committed; a power cut may lose the latest transactions, and what is left is
//! consistent. What can be made again is not synced at all ([`Syncs::Never`]): a killed process
//! still loses nothing, and after a power cut it has to be made again.
//!
//! A folder of runs may be a stranger's. So each file is opened where it lies, over no link
//! ([`connect`]), and nothing in it is executed: no views, triggers or functions of its schema, and
//! no value is longer than [`LONGEST`].

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::error::RunError;
use crate::own;

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

/// The longest value of a database, bytes: the text of a plan, with its trace's name and all.
const LONGEST: i32 = 64 << 20;

/// The view of a run that other programs may read; none of ours does.
pub(crate) const FOR_OTHERS: &str = "host";

/// How often, and how many times, is looked whether a database is still read.
const LOOK: Duration = Duration::from_millis(10);
const LOOKS: u32 = 100;

/// Connects to a file, over no link: its folder may be reached by some, the file is none.
///
/// # Errors
/// A link, or what cannot be opened.
pub(crate) fn connect(file: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let flags = flags | OpenFlags::SQLITE_OPEN_NOFOLLOW | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let database = Connection::open_with_flags(in_real_folder(file), flags)?;
    database.busy_timeout(PATIENCE)?;
    for (setting, is_on) in [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
    ] {
        database.set_db_config(setting, is_on)?;
    }
    database.set_limit(Limit::SQLITE_LIMIT_LENGTH, LONGEST)?;
    limit_memory(&database)?;
    Ok(database)
}

/// A file by the real path of its folder. SQLite follows no link at all on its way then.
pub(crate) fn in_real_folder(file: &Path) -> PathBuf {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new(".")).canonicalize();
    match (folder, file.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => file.to_path_buf(),
    }
}

/// Whether there is a table of that name: some are there only where something was counted, and some
/// not in runs of former versions.
pub(crate) fn has_table(database: &Connection, name: &str) -> rusqlite::Result<bool> {
    let sql = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?";
    database.query_row(sql, [name], |row| row.get::<_, i64>(0).map(|count| count > 0))
}

/// The first of its schema that none of our databases has: `view meta`, `virtual table run`. The
/// view for other programs may be there: none of ours reads it, nor could it.
pub(crate) fn stranger(database: &Connection) -> rusqlite::Result<Option<String>> {
    let mut statement = database.prepare("SELECT type, name, sql FROM sqlite_schema")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (kind, name): (String, String) = (row.get(0)?, row.get(1)?);
        let sql: Option<String> = row.get(2)?;
        let is_virtual = sql.is_some_and(|sql| {
            sql.get(..14).is_some_and(|begin| begin.eq_ignore_ascii_case("CREATE VIRTUAL"))
        });
        let is_for_others = kind == "view" && name == FOR_OTHERS;
        if is_virtual || !(is_for_others || matches!(kind.as_str(), "table" | "index")) {
            let kind = if is_virtual { "virtual table" } else { &kind };
            return Ok(Some(format!("{kind} {name}")));
        }
    }
    Ok(None)
}

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
    own::touch(&new);
    let fill = || {
        let database =
            connect(&new, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)?;
        database.execute_batch("PRAGMA page_size = 4096;")?;
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
    let database = connect(file, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
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
