//! `[trace]`: what clusters of caches are asked for, as it was recorded.

use std::path::{Path, PathBuf};
use std::time::Duration;

use plimsoll_units::{ParseError, duration};

use crate::key::{SectionKeys, key};
use crate::section::Section;
use crate::target_reader::file;
use crate::write::{Writer, exact};

/// The keys of `[trace]`.
pub(crate) static CACHE_TRACE: SectionKeys = SectionKeys::plain(
    "trace",
    &[
        key("file", "file", "–", r#""access.log.gz""#, "What was asked for: any trace."),
        key(
            "format",
            "format",
            "told from the file",
            r#""squid""#,
            "Its format: oracleGeneral, csv, squid, combined, …",
        ),
        key(
            "columns",
            "names",
            "told from the file",
            r#""time,object,size""#,
            "What the columns of a table are.",
        ),
        key(
            "changes",
            "duration..duration",
            "–",
            r#""10m..30d""#,
            "Each object changes at the origin at a period of its own between these.",
        ),
        key("fresh", "duration", "1h", r#""10m""#, "How long a copy is served without asking."),
    ],
);

/// How long a copy is fresh where objects change and the plan does not say.
const FRESH: Duration = Duration::from_secs(3600);

/// A recorded trace, and how its objects change.
#[derive(Debug, Clone, PartialEq)]
pub struct CacheTrace {
    /// The file.
    pub file: PathBuf,
    /// Its format, where it is not told from the file.
    pub format: Option<String>,
    /// The columns of a table, likewise.
    pub columns: Option<String>,
    /// The shortest and the longest period at which an object changes, in whole seconds; without
    /// them nothing changes.
    pub changes: Option<(Duration, Duration)>,
    /// How long a copy is fresh, in whole seconds.
    pub fresh: Duration,
}

impl CacheTrace {
    pub(crate) fn read(section: &Section<'_>, folder: &Path) -> Option<Self> {
        let name = file(section, "file", folder);
        if name.is_none() && !section.has("file") {
            section.missing("the `file` of the trace", "file", "access.log.gz");
        }
        let changes = section.parsed("changes", "two durations such as 10m..30d", periods);
        if changes.is_none() && section.has("fresh") && !section.has("changes") {
            section.missing_beside("changes", "fresh", "10m..30d");
        }
        let fresh = section.parsed("fresh", "a duration such as 1h", whole_seconds);
        Some(Self {
            file: name?,
            format: section.line("format").map(str::to_owned),
            columns: section.line("columns").map(str::to_owned),
            changes,
            fresh: fresh.unwrap_or(FRESH),
        })
    }

    pub(crate) fn write(&self, out: &mut Writer) {
        out.section(CACHE_TRACE.path);
        out.text("file", self.file.display());
        self.format.iter().for_each(|format| out.text("format", format));
        self.columns.iter().for_each(|columns| out.text("columns", columns));
        if let Some((least, most)) = self.changes {
            out.text("changes", format!("{}..{}", exact(least), exact(most)));
            out.duration("fresh", self.fresh);
        }
    }
}

/// `10m..30d`, the first no longer than the second.
fn periods(text: &str) -> Result<(Duration, Duration), ParseError> {
    let wrong = || ParseError::new("two durations such as 10m..30d", text, 0, text.len());
    let (least, most) = text.split_once("..").ok_or_else(wrong)?;
    let last = whole_seconds(most).map_err(|error| error.shifted(text.len() - most.len()))?;
    let first = whole_seconds(least)?;
    if first > last {
        return Err(wrong().hint("the shorter one comes first"));
    }
    Ok((first, last))
}

/// The clock of a trace has seconds.
fn whole_seconds(text: &str) -> Result<Duration, ParseError> {
    let read = duration(text)?;
    let fits = (1..=u64::from(u32::MAX)).contains(&read.as_secs()) && read.subsec_nanos() == 0;
    let wanted = "whole seconds, at least one and less than 136 years";
    if fits { Ok(read) } else { Err(ParseError::new(wanted, text, 0, text.len())) }
}
