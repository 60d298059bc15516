//! A run that is being written, seen from another process. No pid is believed: who writes a run
//! holds a lock of the kernel on its log, which is gone when the process is, however that ends.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};

use crate::error::RunError;
use crate::hlog;
use crate::run::Run;

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
