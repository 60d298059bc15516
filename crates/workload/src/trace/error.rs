//! Why a trace cannot be used.

use plimsoll_units::ParseError;
use plimsoll_units::failure::{Failure, FileError, Kind};
use thiserror::Error;

use super::MAX_ROWS;
use crate::schedule::ScheduleError;

/// Why a trace cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The file cannot be opened or read.
    #[error(transparent)]
    File(#[from] FileError),
    /// An access log that cannot be read.
    #[error(transparent)]
    Log(#[from] crate::access_log::LogError),
    /// The file cannot be read to its end, or its compression is damaged.
    #[error("cannot read the trace {name} after line {line}: the file may be damaged or cut short")]
    Read {
        /// The trace.
        name: String,
        /// The last line that was read.
        line: u64,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A line that makes no sense.
    #[error("{name}, line {line}: {error}")]
    Line {
        /// The trace.
        name: String,
        /// The line, from 1.
        line: u64,
        /// What was wanted and found in it.
        error: ParseError,
    },
    /// Columns that were given and are none.
    #[error("the columns of a trace: {error}")]
    Columns {
        /// What was wanted and found in them.
        error: ParseError,
    },
    /// No row at all.
    #[error("{name} has no rows: a trace needs a header such as time_s,rate and rows below it")]
    Empty {
        /// The trace.
        name: String,
    },
    /// How long a row lasts cannot be known.
    #[error("{name} does not say how long {what} lasts: give the interval, such as 1m")]
    NoInterval {
        /// The trace.
        name: String,
        /// What is without length: a line, or the only row.
        what: &'static str,
    },
    /// More rows than [`MAX_ROWS`].
    #[error("{name} has more than {MAX_ROWS} rows: join them into longer intervals")]
    TooManyRows {
        /// The trace.
        name: String,
    },
    /// A cut outside the trace, or one that leaves nothing.
    #[error("cannot cut {name} {which} {at}: it runs {range}")]
    Cut {
        /// The trace.
        name: String,
        /// `from` or `to`.
        which: &'static str,
        /// The place asked for.
        at: String,
        /// From where to where the trace runs.
        range: String,
        /// What to do.
        remedy: &'static str,
    },
    /// An option out of its bounds.
    #[error("{option} of a trace must be {wanted}, found {found}")]
    Option {
        /// Which.
        option: &'static str,
        /// What is accepted.
        wanted: &'static str,
        /// What was given.
        found: String,
    },
    /// A trace whose rate never changes has no range to map.
    #[error("cannot scale {name} to two rates: its rate is always {rate}/s")]
    Flat {
        /// The trace.
        name: String,
        /// The rate.
        rate: f64,
    },
    /// The rows make no schedule.
    #[error("the rows of {name} make no schedule")]
    Schedule {
        /// The trace.
        name: String,
        /// Why.
        #[source]
        source: ScheduleError,
    },
}

impl Failure for TraceError {
    fn kind(&self) -> Kind {
        Kind::Usage
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::File(error) => return error.hint(),
            Self::Log(error) => return error.hint(),
            Self::Line { error, .. } | Self::Columns { error } => return error.hint.clone(),
            Self::Cut { remedy, .. } => remedy,
            Self::Flat { .. } => "scale it to a single rate, such as 100/s..100/s",
            _ => return None,
        };
        Some(hint.to_owned())
    }
}
