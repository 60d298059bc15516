//! What can go wrong with a server that is otherwise told to misbehave.

use plimsoll_units::failure::{Failure, Kind};
use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why a target could not start, or could not go on.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TargetError {
    /// The address is taken, not ours, or not to be had.
    #[error("listen on {address}: choose another address, or end what listens there")]
    Listen {
        /// The address asked for.
        address: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Every file descriptor is in use.
    #[error("accept a connection beside {open} open ones: the limit is {limit} file descriptors")]
    Descriptors {
        /// Connections open at that moment.
        open: usize,
        /// The process's limit.
        limit: u64,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Two options exclude each other, or one is out of its bounds.
    #[error("{0}")]
    Options(String),
    /// The log could not be written or read.
    #[error("{doing} the log {path}: check the folder and the space on its disk")]
    Log {
        /// `write`, `create` or `read`.
        doing: &'static str,
        /// The log's path.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A line of a log is not one.
    #[error("read line {line} of the log {path}: expected {wanted}, found `{found}`")]
    LogLine {
        /// The log's path.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// What a line looks like.
        wanted: &'static str,
        /// The line, cut to 200 bytes.
        found: String,
    },
    /// A system call of the loop failed that never should.
    #[error("{doing}: the server cannot go on")]
    System {
        /// What was being done.
        doing: &'static str,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl TargetError {
    pub(crate) fn system(doing: &'static str) -> impl Fn(rustix::io::Errno) -> Self {
        move |errno| Self::System { doing, source: errno.into() }
    }
}

impl Failure for TargetError {
    fn kind(&self) -> Kind {
        match self {
            Self::Options(_) => Kind::Usage,
            _ => Kind::Incomplete,
        }
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Descriptors { .. } => "raise it (`ulimit -n`) or use fewer connections",
            _ => return None,
        };
        Some(hint.to_owned())
    }
}
