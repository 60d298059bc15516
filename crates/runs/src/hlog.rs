//! `latency.hlog`: HdrHistogram's interval log, format version 1.3, written and read.
//!
//! One line a tag and second: `Tag=response,START,LENGTH,MAX,PAYLOAD`. START is in seconds since
//! the StartTime in the header, LENGTH in seconds, both with three decimals or, where that would
//! lose something, nine. MAX is the greatest value in **milliseconds**, as HdrHistogram's own
//! writer has it (its default unit ratio is 10⁶); the values inside the payload are in
//! **nanoseconds**. PAYLOAD is the V2 compressed encoding in base64. An empty histogram has no
//! line.
//!
//! Before each line stands a comment, which other readers pass over, with what the payload has no
//! place for: `#[Exact: MIN,MAX,SUM,SQUARES]`, the extremes and sums of the line's values. A reader
//! takes them where they fit the payload ([`Histogram::restore`]); a log without them, as earlier
//! versions wrote it, reads with the bounds and middles of buckets.
//!
//! Tags are those of [`Tag`](crate::Tag) and the run's own ([`TagName`](crate::TagName)) for the
//! measured phase, `warm-up.` before them for the warm-up, and `turn` and `timer_late`, which
//! belong to seconds rather than to requests.
//!
//! # Torn and damaged files
//!
//! A line counts once its newline is there. The reader takes an upper bound (what `run.sqlite`
//! says was written when its last second was committed), so that counters and histograms agree
//! after a crash, and ignores a last line that is torn or unreadable. An unreadable line with
//! readable ones after it is an error: that is damage, not a crash.
//!
//! # Source
//!
//! G. Tene, HdrHistogram: `HistogramLogWriter`, `HistogramLogReader` (format as documented there).

use std::borrow::Cow;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Take};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use plimsoll_stats::Histogram;
use plimsoll_stats::histogram::{Exact, codec};

use crate::Phase;
use crate::error::RunError;
use plimsoll_units::civil;

/// The file's name in a run folder.
pub(crate) const FILE: &str = "latency.hlog";
/// How the tags of a warm-up begin.
pub(crate) const WARM_UP: &str = "warm-up.";
/// Tag of the time between two polls.
pub(crate) const TURN: &str = "turn";
/// Tag of how late an idle timer woke.
pub(crate) const TIMER_LATE: &str = "timer_late";

/// How a comment begins that has the extremes and sums of the next line.
const EXACT: &str = "#[Exact: ";

/// A full histogram has 35,840 buckets of at most nine bytes, a third more in base64; a longer
/// line is not one of ours.
const LONGEST_LINE: u64 = 1 << 20;

/// A tag as the file has it for the requests of a phase.
pub(crate) fn tag_of(phase: Phase, tag: &str) -> Cow<'_, str> {
    match phase {
        Phase::WarmUp => Cow::Owned(format!("{WARM_UP}{tag}")),
        Phase::Measured => Cow::Borrowed(tag),
    }
}

/// The lines before the first histogram.
pub(crate) fn header(started_unix_ns: u64) -> String {
    let started = civil::iso8601(started_unix_ns);
    let seconds = started_unix_ns / 1_000_000_000;
    let millis = started_unix_ns / 1_000_000 % 1000;
    format!(
        "#[Values in nanoseconds, Interval_Max in milliseconds]\n\
         #[Histogram log format version 1.3]\n\
         #[StartTime: {seconds}.{millis:03} (seconds since epoch), {started}]\n\
         \"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\
         \"Interval_Compressed_Histogram\"\n"
    )
}

/// Appends one line to `out`; nothing where the histogram is empty.
pub(crate) fn push_line(
    out: &mut String,
    tag: &str,
    start_ns: u64,
    len_ns: u64,
    histogram: &Histogram,
) {
    let Some(exact) = histogram.exact() else { return };
    let Exact { min, max, sum, squares } = exact;
    let _ = writeln!(out, "{EXACT}{min},{max},{sum},{squares}]");
    out.push_str("Tag=");
    out.push_str(tag);
    out.push(',');
    push_seconds(out, start_ns);
    out.push(',');
    push_seconds(out, len_ns);
    // Milliseconds with three decimals: microseconds, rounded.
    let max_us = (max + 500) / 1000;
    let _ = write!(out, ",{}.{:03},", max_us / 1000, max_us % 1000);
    STANDARD.encode_string(codec::encode_v2_compressed(histogram), out);
    out.push('\n');
}

fn push_seconds(out: &mut String, ns: u64) {
    let (whole, rest) = (ns / 1_000_000_000, ns % 1_000_000_000);
    let _ = if rest % 1_000_000 == 0 {
        write!(out, "{whole}.{:03}", rest / 1_000_000)
    } else {
        write!(out, "{whole}.{rest:09}")
    };
}

/// Seconds with up to nine decimals, as nanoseconds, exactly.
fn parse_seconds(text: &str) -> Option<u64> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let whole: u64 = whole.parse().ok()?;
    if decimals.len() > 9 || !decimals.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let mut rest: u64 = if decimals.is_empty() { 0 } else { decimals.parse().ok()? };
    for _ in decimals.len()..9 {
        rest *= 10;
    }
    whole.checked_mul(1_000_000_000)?.checked_add(rest)
}

/// Reads a comment with the extremes and sums of the next line.
fn parse_exact(text: &[u8]) -> Option<Exact> {
    let text = std::str::from_utf8(text).ok()?;
    let mut parts = text.strip_prefix(EXACT)?.strip_suffix(']')?.split(',');
    let (min, max) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    let (sum, squares) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    parts.next().is_none().then_some(Exact { min, max, sum, squares })
}

/// One line of the log, its payload not yet decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    pub(crate) tag: &'a str,
    pub(crate) start_ns: u64,
    pub(crate) len_ns: u64,
    payload: &'a str,
}

impl<'a> Line<'a> {
    fn parse(text: &'a str) -> Result<Self, String> {
        let (tag, rest) = match text.strip_prefix("Tag=") {
            Some(tagged) => tagged.split_once(',').ok_or("a comma after the tag is missing")?,
            None => ("", text),
        };
        let mut parts = rest.splitn(4, ',');
        let mut next = |what: &str| parts.next().ok_or_else(|| format!("{what} is missing"));
        let (start, len) = (next("the start")?, next("the length")?);
        next("the greatest value")?;
        let payload = next("the histogram")?;
        let start_ns =
            parse_seconds(start).ok_or_else(|| format!("the start `{start}` is no time"))?;
        let len_ns = parse_seconds(len).ok_or_else(|| format!("the length `{len}` is no time"))?;
        Ok(Self { tag, start_ns, len_ns, payload })
    }

    fn histogram(&self, scratch: &mut Vec<u8>) -> Result<Histogram, String> {
        scratch.clear();
        STANDARD
            .decode_vec(self.payload, scratch)
            .map_err(|error| format!("the payload is no base64: {error}"))?;
        codec::decode(scratch).map_err(|error| format!("the payload is no histogram: {error}"))
    }
}

/// Reads a log line by line, in constant memory.
pub(crate) struct LogReader {
    path: PathBuf,
    reader: Take<BufReader<File>>,
    buffer: Vec<u8>,
    scratch: Vec<u8>,
    line: u64,
}

impl LogReader {
    /// Opens the log for its first `limit` bytes.
    pub(crate) fn open(path: &Path, limit: u64) -> Result<Self, RunError> {
        let file = File::open(path).map_err(RunError::file("read", path))?;
        Ok(Self {
            path: path.to_path_buf(),
            reader: BufReader::with_capacity(1 << 16, file).take(limit),
            buffer: Vec::new(),
            scratch: Vec::new(),
            line: 0,
        })
    }

    /// Visits the histograms of the lines that `wanted` accepts, in the order of the file.
    pub(crate) fn for_each(
        &mut self,
        mut wanted: impl FnMut(&Line<'_>) -> bool,
        mut visit: impl FnMut(&Line<'_>, &Histogram) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        let mut exact = None;
        while self.read_line()? {
            let text = self.buffer.trim_ascii_end();
            if text.starts_with(EXACT.as_bytes()) {
                exact = parse_exact(text);
                continue;
            }
            let exact = exact.take();
            if text.is_empty() || text[0] == b'#' || text[0] == b'"' {
                continue;
            }
            let read = std::str::from_utf8(text)
                .map_err(|_| "the line is no text".to_owned())
                .and_then(Line::parse)
                .and_then(|line| match wanted(&line) {
                    true => line.histogram(&mut self.scratch).map(|found| Some((line, found))),
                    false => Ok(None),
                });
            match read {
                Ok(Some((line, mut histogram))) => {
                    // What does not fit is another line's: the payload's own figures stay.
                    let _ = exact.is_some_and(|exact| histogram.restore(exact));
                    visit(&line, &histogram)?;
                }
                Ok(None) => {}
                Err(problem) => return self.only_at_the_end(problem),
            }
        }
        Ok(())
    }

    /// Reads the next whole line into the buffer; `false` at the end, or where only a torn line
    /// is left.
    fn read_line(&mut self) -> Result<bool, RunError> {
        self.buffer.clear();
        let error = RunError::file("read", &self.path);
        let read = (&mut self.reader).take(LONGEST_LINE).read_until(b'\n', &mut self.buffer);
        read.map_err(error)?;
        self.line += 1;
        if self.buffer.ends_with(b"\n") {
            return Ok(true);
        }
        if self.buffer.len() as u64 == LONGEST_LINE {
            // Torn or damaged: only what follows can tell, and a newline in it does.
            self.buffer.clear();
            let rest = self.skip_past_newline()?;
            if rest {
                self.only_at_the_end("the line is longer than any histogram".to_owned())?;
            }
        }
        Ok(false)
    }

    /// Skips to behind the next newline; whether there was one.
    fn skip_past_newline(&mut self) -> Result<bool, RunError> {
        loop {
            let chunk = self.reader.fill_buf().map_err(RunError::file("read", &self.path))?;
            if chunk.is_empty() {
                return Ok(false);
            }
            let newline = chunk.iter().position(|&byte| byte == b'\n');
            let used = newline.map_or(chunk.len(), |at| at + 1);
            self.reader.consume(used);
            if newline.is_some() {
                return Ok(true);
            }
        }
    }

    /// An unreadable line is forgiven where no whole line follows it.
    fn only_at_the_end(&mut self, problem: String) -> Result<(), RunError> {
        if self.skip_past_newline()? {
            let at = format!("line {}", self.line);
            return Err(RunError::Damaged { path: self.path.clone(), at, problem });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn seconds_parse_back_to_the_nanosecond(
            ns in prop_oneof![
                0..4_000_000_000_u64,
                any::<u64>(),
                (0..9_000_u64).prop_map(|ms| ms * 1_000_000),
            ],
        ) {
            let mut text = String::new();
            push_seconds(&mut text, ns);
            prop_assert_eq!(parse_seconds(&text), Some(ns), "{}", text);
        }

        #[test]
        fn lines_parse_back(
            start_ns in any::<u64>(),
            len_ns in any::<u64>(),
            value in 0..1_u64 << 44,
        ) {
            let mut histogram = Histogram::new();
            histogram.record_n(value, 3);
            let mut text = String::new();
            push_line(&mut text, "warm-up.response", start_ns, len_ns, &histogram);
            let (comment, text) = text.split_once('\n').unwrap();
            prop_assert_eq!(parse_exact(comment.as_bytes()), histogram.exact());
            let line = Line::parse(text.trim_end()).unwrap();
            prop_assert_eq!(
                (line.tag, line.start_ns, line.len_ns),
                ("warm-up.response", start_ns, len_ns)
            );
            let back = line.histogram(&mut Vec::new()).unwrap();
            prop_assert!(back.buckets().eq(histogram.buckets()));
        }

        #[test]
        fn no_bytes_break_the_reader(
            parts in prop::collection::vec(
                prop_oneof![
                    prop::collection::vec(any::<u8>(), 0..40),
                    Just(b"Tag=response,0.000,1.000,2.000,".to_vec()),
                    Just(b"HISTFAAAA".to_vec()),
                    Just(b"#[Exact: 1,2,3,4]".to_vec()),
                    Just(b"\n".to_vec()),
                ],
                0..20,
            ),
            limit in 0..900_u64,
        ) {
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join(FILE);
            std::fs::write(&file, parts.concat()).unwrap();
            // Any outcome but a panic or an endless reading.
            let _ = LogReader::open(&file, limit).unwrap().for_each(|_| true, |_, _| Ok(()));
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in ["", ".", "x", "1.x", "-1.0", "1.0000000000", "99999999999999999999.0", "1.-5"]
        {
            assert_eq!(parse_seconds(text), None, "{text}");
        }
        assert_eq!(parse_seconds("12"), Some(12_000_000_000));
    }

    #[test]
    fn a_line_without_an_end_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(FILE);
        let mut bytes = vec![b'x'; usize::try_from(LONGEST_LINE).unwrap() + 5];
        let read = |bytes: &[u8]| {
            std::fs::write(&file, bytes).unwrap();
            LogReader::open(&file, u64::MAX).unwrap().for_each(|_| true, |_, _| Ok(()))
        };
        assert!(read(&bytes).is_ok(), "nothing follows it: torn");
        bytes.extend(b"\nTag=response\n");
        assert!(matches!(read(&bytes), Err(RunError::Damaged { .. })), "lines follow it");
    }
}
