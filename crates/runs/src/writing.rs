//! A run that is being written, seen from another process, and how it is asked to end: by a row
//! among its events, which whoever writes it reads each second. No pid is believed: who writes a
//! run holds a lock of the kernel on its log, which is gone when the process is, however that ends.

use std::fs::File;
use std::io;
use std::path::Path;

use rusqlite::{Connection, Transaction, TransactionBehavior};
use rustix::fs::{FlockOperation, flock};

use crate::error::RunError;
use crate::experiment::Stop;
use crate::run::Run;
use crate::schema::{self, Place};
use crate::{Class, Event, Phase, World, hlog, opened};

/// The fact that names the process that writes the run, for people.
pub(crate) const WRITER: &str = "writer_pid";

/// Holds a run's log for this process. A file system without locks is no reason not to go on.
pub(crate) fn hold(log: &File) {
    let _ = flock(log, FlockOperation::NonBlockingLockExclusive);
}

/// Whether some process writes a run. It is asked without a trace: the lock is tried, shared, and
/// let go.
///
/// # Errors
/// Where the log cannot be opened. A run without one is not written.
pub fn is_written(run: &Path) -> Result<bool, RunError> {
    let path = run.join(hlog::FILE);
    match File::open(&path) {
        Ok(log) => {
            let tried = flock(&log, FlockOperation::NonBlockingLockShared);
            Ok(tried == Err(rustix::io::Errno::WOULDBLOCK))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(RunError::file("open", &path)(error)),
    }
}

/// Asks whoever writes a run to end it with its next second, `at_ns` after its start. Returns
/// whether it was asked: a run that has ended meanwhile is left as it is.
///
/// # Errors
/// Where there is no run, or its database cannot be written.
pub fn ask_to_end(run: &Path, at_ns: u64) -> Result<bool, RunError> {
    let file = run.join(schema::FILE);
    let database = opened::to_ask(&file, schema::FORMAT)?;
    let (class, kind) = (Class::Action, Stop::AfterCell.kind().to_owned());
    let event = Event { at_ns, class, kind, text: "asked to end".to_owned() };
    let ask = || -> rusqlite::Result<bool> {
        let writing = Transaction::new_unchecked(&database, TransactionBehavior::Immediate)?;
        let ended = "SELECT count(*) FROM meta WHERE key = 'ended'";
        if writing.query_row(ended, [], |row| row.get::<_, i64>(0))? > 0 {
            return Ok(false);
        }
        let place = Place { cell: 0, phase: Phase::Measured, world: World::Live };
        schema::insert_event(&writing, place, &event)?;
        writing.commit()?;
        Ok(true)
    };
    ask().map_err(RunError::database("write", &file))
}

/// Whether somebody has asked that a run end.
pub(crate) fn is_asked_to_end(database: &Connection) -> rusqlite::Result<bool> {
    let sql = "SELECT count(*) FROM event WHERE kind = ? AND class = ?";
    let asked = [Stop::AfterCell.kind(), Class::Action.name()];
    let asked: i64 = database.prepare_cached(sql)?.query_row(asked, |row| row.get(0))?;
    Ok(asked > 0)
}

impl Run {
    /// The process that wrote the run, or does so still; `None` where it does not say.
    ///
    /// # Errors
    /// Where the run cannot be read.
    pub fn writer(&self) -> Result<Option<u32>, RunError> {
        let sql = "SELECT max(value) FROM meta WHERE key = ?";
        let pid: Option<String> = self.query(sql, &[&WRITER], |row| row.get(0))?;
        Ok(pid.and_then(|pid| pid.parse().ok()))
    }
}
