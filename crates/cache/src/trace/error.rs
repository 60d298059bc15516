//! Why a file is no trace, or a trace no file.

use plimsoll_units::failure::{Failure, FileError, Kind};
use std::path::PathBuf;

use plimsoll_workload::access_log::LogError;

use super::Misfit;

/// Why a trace cannot be read or written. Single lines that cannot be read are counted instead, up
/// to [`MAX_UNREADABLE_ONE_IN`](super::read::MAX_UNREADABLE_ONE_IN).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The file cannot be opened or read.
    #[error(transparent)]
    File(#[from] FileError),
    /// The file breaks off: a read error, or a damaged or unfinished compressed file.
    #[error(
        "read the trace {path} after {bytes} bytes (unpacked): if it is compressed, it may be \
         damaged or still being written; unpack what is there with `zcat` or `zstdcat` and use \
         that",
        path = path.display()
    )]
    Read {
        /// The file.
        path: PathBuf,
        /// Bytes read before, after unpacking.
        bytes: u64,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The file is compressed by something else.
    #[error(
        "expected plain text, gzip or zstd, found {found} in {path}: unpack it first, for example \
         with `{unpack}`",
        path = path.display()
    )]
    Compression {
        /// The file.
        path: PathBuf,
        /// What it is compressed with.
        found: &'static str,
        /// The command that unpacks it.
        unpack: &'static str,
    },
    /// Nothing is asked for.
    #[error(
        "expected requests, found none in {path}{of}: give a trace with at least one",
        path = path.display()
    )]
    Empty {
        /// The file.
        path: PathBuf,
        /// What was left out, in words; may be empty.
        of: String,
    },
    /// Of no known format.
    #[error(
        "expected a trace (plt, oracleGeneral, csv, squid, common or combined), found {found} at \
         the beginning of {path}: name the format, if it is one of these",
        path = path.display()
    )]
    Unknown {
        /// The file.
        path: PathBuf,
        /// Its beginning.
        found: String,
    },
    /// Something else, which has a name.
    #[error("expected {wanted}, found {looks} in {path}", path = path.display())]
    Looks {
        /// The file.
        path: PathBuf,
        /// What it should be.
        wanted: &'static str,
        /// What it looks like.
        looks: String,
        /// What to do with it.
        advice: String,
    },
    /// A zstd frame that needs more memory than is taken.
    #[error(
        "expected a zstd window of at most {most} bytes, found one of {window} in {path}",
        path = path.display()
    )]
    Window {
        /// The file.
        path: PathBuf,
        /// What the frame asks for, bytes.
        window: u64,
        /// What is taken, bytes.
        most: u64,
    },
    /// A table whose columns are not known.
    #[error(
        "expected {wanted}, found `{found}` in {path}: say what the columns are, such as \
         `--columns time,object,size`, with `-` for one that does not matter",
        path = path.display()
    )]
    Columns {
        /// The file.
        path: PathBuf,
        /// What its first line should be.
        wanted: &'static str,
        /// What it is.
        found: String,
    },
    /// Too many lines that cannot be read.
    #[error(
        "expected {format} lines, found {unreadable} of {lines} unreadable in {path}, the first at \
         line {line}, {why}: `{text}`",
        path = path.display()
    )]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The format they were read in.
        format: super::Format,
        /// How many.
        unreadable: u64,
        /// Of how many.
        lines: u64,
        /// The number of the first, from 1.
        line: u64,
        /// Its beginning.
        text: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A binary file that is not what it should be.
    #[error(
        "expected {wanted} at byte {byte} of {path}, found {found}: the file is damaged, cut off \
         or of another format",
        path = path.display()
    )]
    Binary {
        /// The file.
        path: PathBuf,
        /// Where, from 0, after unpacking.
        byte: u64,
        /// What should be there.
        wanted: String,
        /// What is.
        found: String,
    },
    /// More than is taken.
    #[error(
        "expected at most {most} {of}, found more in {path}: raise the limit, or take a part of it",
        path = path.display()
    )]
    TooMany {
        /// The file.
        path: PathBuf,
        /// The limit.
        most: u64,
        /// Of what.
        of: &'static str,
    },
    /// Parts that do not fit each other.
    #[error("read the trace {path}", path = path.display())]
    Misfit {
        /// The file.
        path: PathBuf,
        /// Which.
        #[source]
        source: Misfit,
    },
    /// An access log that cannot be read.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A log whose format says neither sizes nor statuses in an agreed way.
    #[error(
        "expected a Squid, common or combined log, found JSON in {path}: make a table of it with \
         the columns time,object,size",
        path = path.display()
    )]
    Json {
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be written.
    #[error(
        "write the trace {path}: check the folder and the room on its disk",
        path = path.display()
    )]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// An object too large for the format.
    #[error(
        "expected objects below 4 GiB, as oracleGeneral has 32 bits for a size, found one of \
         {bytes} bytes: write it as .plt"
    )]
    TooWide {
        /// Its size.
        bytes: u64,
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
            Self::Looks { advice, .. } => advice,
            Self::Window { path, .. } => {
                return Some(format!(
                    "unpack it first, with `zstd -dc --long=31 {}`",
                    path.display()
                ));
            }
            Self::Unreadable { .. } => "correct the file, or name the right format and columns",
            Self::Binary { .. } => "make it again",
            _ => return None,
        };
        Some(hint.to_owned())
    }
}
