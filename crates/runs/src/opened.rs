//! Opening `run.sqlite` or `experiment.sqlite` for reading, wherever and in whatever state it is.
//!
//! A finished one is one plain file and opens from anywhere. One that is still written, or was
//! killed, has its latest rows in `….sqlite-wal`, and SQLite wants to write its shared-memory
//! file beside them. Where it may not (a read-only medium), the database and its WAL are copied to
//! a temporary folder, which is removed when the database is closed. Where there is no WAL, or no
//! room for a copy, the file is opened as immutable: as of its last checkpoint, which is everything
//! where there is no WAL, and which is said otherwise.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use plimsoll_units::erase;
use plimsoll_units::own::OwnFolder;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::database;
use crate::error::RunError;

/// The plan's file in a run folder.
pub(crate) const PLAN: &str = "plan.toml";

/// A database open for reading.
pub(crate) struct Opened {
    // Dropped, hence closed, before the copy it may lie in.
    pub(crate) database: Connection,
    /// What a reader should know of how it was opened.
    pub(crate) warning: Option<String>,
    _copy: Option<Copied>,
}

/// A folder of ours below the temporary one, removed when dropped.
struct Copied(PathBuf);

impl Drop for Copied {
    fn drop(&mut self) {
        // What cannot be removed is left to whoever cleans the temporary folder.
        let _ = erase::tree(&self.0);
    }
}

impl Copied {
    fn make() -> std::io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let process = std::process::id();
        loop {
            let n = NEXT.fetch_add(1, Ordering::Relaxed);
            let folder = std::env::temp_dir().join(format!("plimsoll-run-{process}-{n}"));
            match OwnFolder::make_new(&folder).map_err(std::io::Error::from) {
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                made => return made.map(|_| Self(folder)),
            }
        }
    }
}

/// Opens a database of a format of up to `known`.
pub(crate) fn open(file: &Path, known: i64) -> Result<Opened, RunError> {
    let error = |source| RunError::database("read", file)(source);
    let opened = match probe(file, OpenFlags::SQLITE_OPEN_READ_ONLY) {
        Ok(database) => Opened { database, warning: None, _copy: None },
        Err(source) if !is_about_writing(&source) => return Err(error(source)),
        Err(source) => elsewhere(file).map_err(|_| error(source))?,
    };
    check_format(&opened.database, file, known)?;
    Ok(opened)
}

/// Opens a database that another process holds, to write a request into it.
pub(crate) fn to_ask(file: &Path, known: i64) -> Result<Connection, RunError> {
    let database = database::connect(file, OpenFlags::SQLITE_OPEN_READ_WRITE)
        .map_err(RunError::database("open", file))?;
    check_format(&database, file, known)?;
    Ok(database)
}

/// Whether a database is of a format of up to `known`; the format.
pub(crate) fn check_format(
    database: &Connection,
    file: &Path,
    known: i64,
) -> Result<i64, RunError> {
    let version = database.pragma_query_value(None, "user_version", |row| row.get(0));
    let version: i64 = version.map_err(RunError::database("read", file))?;
    let stranger = database::stranger(database).map_err(RunError::database("read", file))?;
    if let Some(what) = stranger {
        let problem = "expected tables and indexes only".to_owned();
        return Err(RunError::Damaged { path: file.to_path_buf(), at: what, problem });
    }
    match version {
        // Killed while the tables were made.
        0 => Err(RunError::NotARun { path: file.to_path_buf(), missing: "tables" }),
        found if (1..=known).contains(&found) => Ok(found),
        found => Err(RunError::Format { path: file.to_path_buf(), found, known }),
    }
}

/// Refuses a file that is shorter than what was written into it; one that is gone has no byte.
pub(crate) fn check_length(file: &Path, written: u64) -> Result<(), RunError> {
    let found = fs::metadata(file).map_or(0, |found| found.len());
    if found >= written {
        return Ok(());
    }
    let (path, at) = (file.to_path_buf(), format!("byte {found}"));
    let problem = format!("it ends there, and {written} bytes were written");
    Err(RunError::Damaged { path, at, problem })
}

fn probe(file: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let database = database::connect(file, flags)?;
    // Opening is lazy: only a read meets the WAL.
    database.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    Ok(database)
}

/// Whether the database itself may be fine and only the place it lies in is not to be written.
fn is_about_writing(error: &rusqlite::Error) -> bool {
    let rusqlite::Error::SqliteFailure(cause, _) = error else { return false };
    matches!(
        cause.code,
        ErrorCode::CannotOpen
            | ErrorCode::ReadOnly
            | ErrorCode::PermissionDenied
            | ErrorCode::SystemIoFailure
            | ErrorCode::FileLockingProtocolFailed
    )
}

fn elsewhere(file: &Path) -> rusqlite::Result<Opened> {
    let wal = wal_of(file);
    let has_wal = fs::metadata(&wal).is_ok_and(|found| found.len() > 0);
    if has_wal && let Some(opened) = copied(file, &wal) {
        return Ok(opened);
    }
    let database = probe(
        &immutable_uri(&database::in_real_folder(file)),
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI,
    )?;
    let warning = has_wal.then(|| {
        "the run was not ended, lies in a read-only place, and could not be copied from there: \
         its last seconds are missing"
            .to_owned()
    });
    Ok(Opened { database, warning, _copy: None })
}

fn copied(file: &Path, wal: &Path) -> Option<Opened> {
    let copy = Copied::make().ok()?;
    let there = copy.0.join(file.file_name()?);
    fs::copy(file, &there).ok()?;
    fs::copy(wal, wal_of(&there)).ok()?;
    // The copies keep a read-only file's mode.
    for path in [there.clone(), wal_of(&there)] {
        let mut mode = fs::metadata(&path).ok()?.permissions();
        std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o600);
        fs::set_permissions(&path, mode).ok()?;
    }
    let database = probe(&there, OpenFlags::SQLITE_OPEN_READ_WRITE).ok()?;
    Some(Opened { database, warning: None, _copy: Some(copy) })
}

/// The write-ahead log of a database.
pub(crate) fn wal_of(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push("-wal");
    PathBuf::from(name)
}

/// The URI of a file that promises SQLite that nobody writes it.
fn immutable_uri(file: &Path) -> PathBuf {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let mut uri = b"file:".to_vec();
    for &byte in file.as_os_str().as_bytes() {
        match byte {
            b'%' | b'?' | b'#' => uri.extend(format!("%{byte:02x}").into_bytes()),
            _ => uri.push(byte),
        }
    }
    uri.extend(b"?immutable=1");
    PathBuf::from(std::ffi::OsString::from_vec(uri))
}
