//! The log of a run: one line for each request, in order of arrival, from which
//! [`crate::recursion`] recomputes what the queue made of it.
//!
//! CSV with a header line, all times in nanoseconds since the arrival of the first request:
//!
//! ```text
//! arrival_ns,service_ns,depart_ns,status
//! 0,4210554,4210554,200
//! 1998203,611408,4821962,200
//! ```
//!
//! `depart_ns` is the computed departure, not when a timer got round to it; a refused request
//! (503) departs on arrival, and its service is what it would have needed. Lines are buffered,
//! and handed to the system every second and at the end.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use crate::error::TargetError;

/// First line of a log.
const HEADER: &str = "arrival_ns,service_ns,depart_ns,status";

/// One request of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// When its last byte was read, nanoseconds since the first request's.
    pub arrival_ns: u64,
    /// What it needed of one worker, nanoseconds.
    pub service_ns: u64,
    /// When its answer was to leave.
    pub depart_ns: u64,
    /// Status of its answer: 200, 403, 500 or 503.
    pub status: u16,
}

/// Writes a log.
#[derive(Debug)]
pub(crate) struct Log {
    path: PathBuf,
    file: BufWriter<File>,
}

impl Log {
    pub(crate) fn create(path: &Path) -> Result<Self, TargetError> {
        let failed = |source| log_error("create", path, source);
        let mut file = BufWriter::with_capacity(1 << 18, File::create(path).map_err(failed)?);
        writeln!(file, "{HEADER}").map_err(failed)?;
        Ok(Self { path: path.to_owned(), file })
    }

    pub(crate) fn write(&mut self, record: &Record) -> Result<(), TargetError> {
        let Record { arrival_ns, service_ns, depart_ns, status } = record;
        writeln!(self.file, "{arrival_ns},{service_ns},{depart_ns},{status}")
            .map_err(|source| log_error("write", &self.path, source))
    }

    pub(crate) fn flush(&mut self) -> Result<(), TargetError> {
        self.file.flush().map_err(|source| log_error("write", &self.path, source))
    }
}

/// Reads a log whole.
///
/// # Errors
///
/// When the file cannot be read, or a line is not one of a log.
pub fn read(path: &Path) -> Result<Vec<Record>, TargetError> {
    let failed = |source| log_error("read", path, source);
    let mut records = Vec::new();
    for (line, text) in BufReader::new(File::open(path).map_err(failed)?).lines().enumerate() {
        let text = text.map_err(failed)?;
        if line == 0 && text == HEADER {
            continue;
        }
        let Some(record) = parse(&text).filter(|_| line > 0) else {
            return Err(TargetError::LogLine {
                path: path.to_owned(),
                line: line + 1,
                wanted: HEADER,
                found: text.chars().take(200).collect(),
            });
        };
        records.push(record);
    }
    Ok(records)
}

fn parse(line: &str) -> Option<Record> {
    let mut fields = line.split(',');
    let mut number = || fields.next()?.parse::<u64>().ok();
    let (arrival_ns, service_ns, depart_ns) = (number()?, number()?, number()?);
    let status = u16::try_from(number()?).ok()?;
    fields.next().is_none().then_some(Record { arrival_ns, service_ns, depart_ns, status })
}

fn log_error(doing: &'static str, path: &Path, source: io::Error) -> TargetError {
    TargetError::Log { doing, path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_parse_back_and_others_do_not() {
        let record = Record { arrival_ns: 1, service_ns: 2, depart_ns: 3, status: 503 };
        assert_eq!(parse("1,2,3,503"), Some(record));
        for line in ["", "1,2,3", "1,2,3,200,4", "1,2,-3,200", "a,2,3,200", "1,2,3,99999"] {
            assert_eq!(parse(line), None, "{line}");
        }
    }
}
