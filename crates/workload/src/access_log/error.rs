//! Why a log could not be imported or replayed as a whole.

use plimsoll_units::ParseError;
use plimsoll_units::failure::{Failure, FileError, Kind};

use super::left_out::LeftOut;

/// Why a log cannot be used. Single lines that cannot be read are counted instead.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// The file cannot be opened or read.
    #[error(transparent)]
    File(#[from] FileError),
    /// The log breaks off by a read error, or it is compressed and nothing can be unpacked.
    #[error(
        "read the access log {origin} after line {line}: if it is compressed, it may be damaged or \
         still being written"
    )]
    Read {
        /// The file, or what the caller called it.
        origin: String,
        /// Complete lines read before.
        line: u64,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The log is compressed by something other than gzip.
    #[error(
        "expected plain text or gzip, found {found} in {origin}: unpack it first, for example with \
         `{unpack}`"
    )]
    Compression {
        /// The file, or what the caller called it.
        origin: String,
        /// What it is compressed with.
        found: &'static str,
        /// The command that unpacks it.
        unpack: &'static str,
    },
    /// The log holds no lines.
    #[error("expected an access log, found no lines in {origin}: give a log with requests")]
    Empty {
        /// The file, or what the caller called it.
        origin: String,
    },
    /// None of the first lines is in a known format, or in the one asked for.
    #[error(
        "expected {wanted} in the first lines of {origin}, found `{found}`{}: give a log in one of \
         the formats common, combined, squid, json, w3c, haproxy, alb and wikibench, or the words \
         that its server was told to write (--log-format)",
        looks_like(*named)
    )]
    Format {
        /// The file, or what the caller called it.
        origin: String,
        /// The format asked for, or all.
        wanted: String,
        /// The first line, cut.
        found: String,
        /// What it looks like, where that is known.
        named: Option<&'static str>,
    },
    /// A URL of the log does not go together with the server that is to be asked.
    #[error("use `{url}` of {origin} for a replay: {error}")]
    Url {
        /// The file.
        origin: String,
        /// The URL as logged.
        url: String,
        /// What is wrong with it.
        error: Box<ParseError>,
    },
    /// No line of the log can be replayed.
    #[error(
        "expected requests to replay, found none in {origin}{}: allow unsafe methods if it holds \
         others than GET, HEAD and OPTIONS",
        in_brackets(left_out)
    )]
    NothingToReplay {
        /// The file.
        origin: String,
        /// Requests that may not be replayed.
        left_out: Box<LeftOut>,
    },
    /// No line of the log is a page that somebody asked for.
    #[error(
        "expected pages of clients in {origin}, found none: a page is a GET that was answered \
         below 400, of what is no static file, by a client whose address or cookie is logged"
    )]
    NoSessions {
        /// The file.
        origin: String,
    },
    /// More logs than are read at once.
    #[error("read {found} logs at once: {most} are the most; put some of them together")]
    Several {
        /// How many were given.
        found: usize,
        /// How many may be.
        most: usize,
    },
    /// The file is not the one that was read first.
    #[error("replay {origin}: it has changed since it was first read")]
    Changed {
        /// The file.
        origin: String,
    },
}

fn looks_like(named: Option<&str>) -> String {
    named.map_or_else(String::new, |named| format!(", which looks like {named}, and is not read"))
}

fn in_brackets(left_out: &LeftOut) -> String {
    let reasons = left_out.reasons().join(", ");
    if reasons.is_empty() { reasons } else { format!(" (left out: {reasons})") }
}

impl Failure for LogError {
    fn kind(&self) -> Kind {
        Kind::Usage
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::File(error) => return error.hint(),
            Self::Url { error, .. } => return error.hint.clone(),
            Self::Changed { .. } => "replay a copy of it",
            _ => return None,
        };
        Some(hint.to_owned())
    }
}
