//! Several logs as one, merged by time.
//!
//! Of several servers, or of one whose log was rotated: in whatever order they are given, the line
//! whose time is the least comes next. Each log is read as it is, in its own format, and only a
//! block of it is in memory.

use std::path::PathBuf;

use super::error::LogError;
use super::input::{self, Input};
use super::log_format::LogFormat;
use super::reading::{Log, Step};

/// How many logs are read at once, at most: half a MiB of memory each.
pub const MOST_LOGS: usize = 256;

/// Logs that are read as one.
pub(super) struct Logs<'a> {
    logs: Vec<Log<'a>>,
}

impl<'a> Logs<'a> {
    /// Opens all; tells the format of each from its first lines, unless it is given.
    pub(super) fn open(paths: &[PathBuf], format: Option<&LogFormat>) -> Result<Self, LogError> {
        is_room(paths.len())?;
        let open =
            |path: &PathBuf| Log::start(input::open(path)?, &path.display().to_string(), format);
        Ok(Self { logs: paths.iter().map(open).collect::<Result<_, _>>()? })
    }

    /// Starts to read those that are open, each with what messages call it.
    pub(super) fn start(
        inputs: Vec<(Input<'a>, String)>,
        format: Option<&LogFormat>,
    ) -> Result<Self, LogError> {
        is_room(inputs.len())?;
        let start = |(input, origin): (Input<'a>, String)| Log::start(input, &origin, format);
        Ok(Self { logs: inputs.into_iter().map(start).collect::<Result<_, _>>()? })
    }

    pub(super) fn all(&self) -> &[Log<'a>] {
        &self.logs
    }

    /// The number of the log that has the next line, as [`Self::all`] has them; `None` where all
    /// are at their end.
    pub(super) fn advance(&mut self) -> Result<Option<usize>, LogError> {
        if self.logs.len() == 1 {
            return Ok(Some(0));
        }
        let mut least = None;
        for (at, log) in self.logs.iter_mut().enumerate() {
            if let Some(time) = log.ahead()?
                && least.is_none_or(|(before, _)| time < before)
            {
                least = Some((time, at));
            }
        }
        Ok(least.map(|(_, at)| at))
    }

    /// The next line of a log; `None` at its end.
    pub(super) fn next_of(&mut self, at: usize) -> Result<Option<Step<'_>>, LogError> {
        match self.logs.get_mut(at) {
            Some(log) => log.next(),
            None => Ok(None),
        }
    }
}

fn is_room(found: usize) -> Result<(), LogError> {
    if found > MOST_LOGS {
        return Err(LogError::Several { found, most: MOST_LOGS });
    }
    Ok(())
}

/// The names of logs, as messages have them.
pub(crate) fn names(paths: &[PathBuf]) -> String {
    let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    names.join(", ")
}
