//! `[trace]`: what clusters of caches are asked for, as it was recorded.

use std::path::PathBuf;
use std::time::Duration;

use plimsoll_units::{ParseError, duration};

use crate::reading::text::exact;
use crate::section::Section;
use crate::takes::{DURATION, File, Form, Line, Parsed};
use crate::write::Writer;

section! {
    /// What clusters of caches are asked for, as it was recorded.
    ["trace"]
    pub struct CacheTrace {
        /// What was asked for: any trace.
        file: PathBuf { File, required "the `file` of the trace", "access.log.gz" }
        /// Its format: oracleGeneral, csv, squid, combined, …
        format: Option<String> { Line("format"), said "told from the file", "squid" }
        /// What the columns of a table are.
        columns: Option<String> { Line("names"), said "told from the file", "time,object,size" }
        /// Each object changes at the origin at a period of its own between these.
        changes: Option<(Duration, Duration)> { PERIODS, "10m..30d" }
        /// How long a copy is served without asking.
        fresh: Duration { SECONDS, or Duration::from_secs(3600), "10m" }
    }
}

impl CacheTrace {
    pub(crate) fn read(section: &Section<'_>) -> Option<Self> {
        if section.has("fresh") && !section.has("changes") {
            section.missing_beside("changes", "fresh", "10m..30d");
        }
        Self::read_keys(section)
    }

    pub(crate) fn write(&self, out: &mut Writer) {
        // Nothing that is served grows old where nothing changes.
        let left_out: &[&str] = if self.changes.is_some() { &[] } else { &["fresh"] };
        out.section(Self::SECTION.path);
        self.write_keys(out, left_out);
    }
}

const PERIODS: Parsed<(Duration, Duration)> = Parsed {
    takes: "duration..duration",
    wanted: "two durations such as 10m..30d",
    form: Form::Text,
    parse: periods,
    show: |(least, most)| format!("{}..{}", exact(*least), exact(*most)),
};
const SECONDS: Parsed<Duration> = DURATION.only(whole_seconds).such_as("a duration such as 1h");

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
