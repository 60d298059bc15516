//! An experiment that goes on, seen from another process: whether somebody holds it, and how it is
//! asked to stop. No process is signalled and no pid believed: the lock says whether there is a
//! holder, and what is asked is a row of the journal, which the holder reads.

use std::fs::File;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};

use crate::error::RunError;
use crate::experiment::{read, tables};
use crate::{Class, Event, opened};

/// When an experiment is to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stop {
    /// When the cell that goes on is done.
    AfterCell,
    /// At once; the cell that goes on is undone.
    Now,
}

impl Stop {
    /// The kind of the event that asks for it.
    pub(crate) fn kind(self) -> &'static str {
        match self {
            Self::AfterCell => "stop",
            Self::Now => "stop_now",
        }
    }

    /// What the event says.
    fn text(self) -> &'static str {
        match self {
            Self::AfterCell => "asked to stop when the cell that goes on is done",
            Self::Now => "asked to stop at once",
        }
    }

    /// What an event of this kind asks for; `None` where it is about something else.
    #[must_use]
    pub fn of_kind(kind: &str) -> Option<Self> {
        [Self::AfterCell, Self::Now].into_iter().find(|stop| stop.kind() == kind)
    }
}

/// Whether some process holds an experiment to write it. It is asked without a trace: the lock is
/// tried, shared, and let go.
///
/// # Errors
/// Where there is no experiment, or its journal cannot be opened.
pub fn is_held(folder: &Path) -> Result<bool, RunError> {
    let (journal, _) = read::place_of(folder)?;
    let file = File::open(&journal).map_err(RunError::file("open", &journal))?;
    let tried = flock(&file, FlockOperation::NonBlockingLockShared);
    Ok(tried == Err(rustix::io::Errno::WOULDBLOCK))
}

/// Asks whoever holds an experiment to stop it, `at_ns` after its start.
///
/// # Errors
/// Where there is no experiment, or its journal cannot be written.
pub fn ask_to_stop(folder: &Path, stop: Stop, at_ns: u64) -> Result<(), RunError> {
    let (journal, _) = read::place_of(folder)?;
    let database = opened::to_ask(&journal, tables::FORMAT)?;
    let (class, kind) = (Class::Action, stop.kind().to_owned());
    let event = Event { at_ns, class, kind, text: stop.text().to_owned() };
    tables::write_event(&database, None, &event).map_err(RunError::database("write", &journal))
}
