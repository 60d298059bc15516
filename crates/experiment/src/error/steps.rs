//! Why a target could not be restarted, or its caches not be emptied.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use plimsoll_units::failure::{Failure, Kind};

use super::ExperimentError;

/// Why the target could not be restarted. Reads as "failed to …".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RestartError {
    /// The command could not be begun, or waited for.
    #[error("run the restart command by `sh -c`")]
    Run(#[source] io::Error),
    /// The command failed.
    #[error("restart the target: its command ended with {how}{said}")]
    Failed {
        /// Its exit code, or the signal that ended it.
        how: String,
        /// The last line of what it said on standard error, with a colon before it; may be empty.
        said: String,
    },
    /// The command took too long, and was ended with all that it had started.
    #[error(
        "restart the target: its command had not ended after {}{said}", show(*limit)
    )]
    TooLong {
        /// How long it was allowed.
        limit: Duration,
        /// As of a command that failed.
        said: String,
    },
    /// The file for what it says cannot be written.
    #[error("write {path}")]
    Log {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The target could not be asked.
    #[error(transparent)]
    Ask(#[from] Box<ExperimentError>),
}

impl Failure for RestartError {
    fn kind(&self) -> Kind {
        Kind::Incomplete
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Failed { .. } => "try the command by itself",
            Self::TooLong { .. } => "allow it more by --restart-timeout",
            _ => return None,
        };
        Some(hint.to_owned())
    }
}

/// Why caches could not be emptied. Reads as "failed to …".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ColdError {
    /// The server could not be restarted.
    #[error(transparent)]
    Restart(#[from] RestartError),
    /// The kernel did not let us.
    #[error("empty the page cache by {path}")]
    Kernel {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

impl Failure for ColdError {
    fn kind(&self) -> Kind {
        Kind::Incomplete
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Restart(error) => return error.hint(),
            Self::Kernel { .. } => "that takes root, on the machine that the target is on",
        };
        Some(hint.to_owned())
    }
}

/// A length of time as the command line has it.
#[must_use]
pub(crate) fn show(span: Duration) -> String {
    plimsoll_units::show_duration_exact(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
}
