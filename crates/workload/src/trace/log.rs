//! An access log as a trace: the requests of each second.

use plimsoll_units::{show_count, show_duration};
use std::path::{Path, PathBuf};

use super::{MAX_ROWS, Moment, Rows, Trace, TraceError, build};
use crate::access_log::{ImportOptions, ImportedLog, LogFormat, Unreadable, import_all, names};

const SECOND_NS: u64 = 1_000_000_000;

impl Trace {
    /// Reads an access log, plain or gzip, whose requests of every method count; `None` tells its
    /// format from the first lines. A second without a line is one without a request.
    ///
    /// # Errors
    /// What is no log, or one with more than [`MAX_ROWS`] seconds that have requests.
    ///
    /// # Cost
    /// One pass; memory for the seconds that have requests.
    pub fn from_log(path: &Path, format: Option<&LogFormat>) -> Result<Self, TraceError> {
        Self::from_logs(&[path.to_owned()], format)
    }

    /// Reads access logs, of which there is at least one, as one: of several servers, or of one
    /// whose log was rotated, in whatever order. Each has a format of its own, unless one is given.
    ///
    /// # Errors
    /// As for [`Trace::from_log`], of any of them.
    pub fn from_logs(paths: &[PathBuf], format: Option<&LogFormat>) -> Result<Self, TraceError> {
        // What was asked for is not kept.
        let options =
            ImportOptions { format: format.cloned(), max_urls: 0, ..ImportOptions::default() };
        let log = import_all(paths, &options)?;
        let name = names(paths);
        let first = log.seconds.first();
        let (mut times, mut counts) = (Vec::new(), Vec::new());
        for (second, count) in log.seconds.busy() {
            if times.len() == MAX_ROWS {
                return Err(TraceError::TooManyRows { name });
            }
            times.push(u64::try_from(second - first).unwrap_or_default() * SECOND_NS);
            counts.push(f64::from(count));
        }
        if times.is_empty() {
            return Err(TraceError::Empty { name });
        }
        let origin_ns = i128::from(first) * i128::from(SECOND_NS);
        let origin = match log.zone_s {
            Some(zone_s) => Moment::Zoned(origin_ns, zone_s),
            None => Moment::Date(origin_ns),
        };
        let trace = build(&name, Rows::Counts(times, counts), Some(origin), SECOND_NS)?;
        Ok(Self { missing: 0, remarks: remarks(&log, paths.len()), ..trace })
    }

    /// Whether a file is an access log, as its first lines have it.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn is_log(path: &Path) -> Result<bool, TraceError> {
        Ok(LogFormat::of_file(path)?.is_some())
    }
}

/// What was read, and what was not: a sentence each.
fn remarks(log: &ImportedLog, logs: usize) -> Vec<String> {
    let what = match logs {
        1 => format!("an access log, {}", log.format),
        several => format!("{several} access logs, the first {}", log.format),
    };
    let mut remarks = vec![format!(
        "{what}: {} requests in {}",
        show_count(log.requests),
        show_duration(log.seconds.span_s() * SECOND_NS)
    )];
    if log.unreadable > 0 {
        let first = log.examples.first();
        let place = |of: &Unreadable| match logs {
            1 => format!("line {}", of.line),
            _ => format!("{}, line {}", of.origin, of.line),
        };
        let first = first.map(|of| format!("; the first, {}: {} ({})", place(of), of.text, of.why));
        let count = show_count(log.unreadable);
        remarks.push(format!("{count} lines cannot be read{}", first.unwrap_or_default()));
    }
    remarks.extend(log.damage.clone());
    remarks.extend(log.twice.clone());
    remarks
}
