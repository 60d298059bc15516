//! Reading a trace: plain text or gzip, a table with a header or one count a line.
//!
//! A line is read at a time; only the numbers are kept. A line has at most [`MAX_LINE`] bytes, a
//! trace at most [`MAX_ROWS`] rows. Blank lines and lines that begin with `#` are passed over.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::time::Duration;

use flate2::bufread::MultiGzDecoder;
use plimsoll_units::ParseError;

use super::columns::{Columns, Value, clean, is_count};
use super::moment::date_time;
use super::{MAX_ROWS, Rows, Trace, TraceError, build};

/// The longest line, in bytes.
const MAX_LINE: usize = 65_536;
/// The interval of a trace of single requests where none is given.
const REQUESTS_PER_NS: u64 = 1_000_000_000;

impl Trace {
    /// Reads a trace from a file, plain or gzip. `interval` is what each row of counts covers; in a
    /// table it may be left out and is then the most frequent step between rows; of a single row,
    /// the unit in the name of its time column.
    ///
    /// # Errors
    /// A file that cannot be read, and the first line that makes no sense: empty, unsorted,
    /// negative, not a number.
    pub fn read(path: &Path, interval: Option<Duration>) -> Result<Self, TraceError> {
        let open = |source| TraceError::Open { path: path.to_owned(), source };
        let file = File::open(path).map_err(open)?;
        Self::from_reader(file, &path.display().to_string(), interval)
    }

    /// Reads a trace from anywhere; `name` stands for it in messages.
    ///
    /// # Errors
    /// As [`Trace::read`].
    pub fn from_reader(
        reader: impl Read,
        name: &str,
        interval: Option<Duration>,
    ) -> Result<Self, TraceError> {
        let failed = |source| TraceError::Read { name: name.to_owned(), line: 0, source };
        let interval_ns = match interval.map(|interval| u64::try_from(interval.as_nanos())) {
            None => None,
            Some(Ok(ns)) if ns > 0 => Some(ns),
            Some(_) => {
                return Err(TraceError::Option {
                    option: "the interval",
                    wanted: "above zero and at most 584 years",
                    found: format!("{interval:?}"),
                });
            }
        };
        let mut plain = BufReader::with_capacity(1 << 16, reader);
        // Magic bytes of gzip (RFC 1952, 2.3.1). One byte of a file is enough to tell text.
        let packed = plain.fill_buf().map_err(failed)?.starts_with(&[0x1f, 0x8b]);
        if packed {
            let unpacked = BufReader::with_capacity(1 << 16, MultiGzDecoder::new(plain));
            read_lines(Lines::new(unpacked, name), interval_ns)
        } else {
            read_lines(Lines::new(plain, name), interval_ns)
        }
    }
}

fn read_lines(
    mut lines: Lines<'_, impl BufRead>,
    interval_ns: Option<u64>,
) -> Result<Trace, TraceError> {
    let name = lines.name.to_owned();
    let Some(first) = lines.next_line()?.map(str::to_owned) else {
        return Err(TraceError::Empty { name });
    };
    let alone = clean(&first);
    if alone.parse::<f64>().is_ok() || is_count(alone) {
        let interval_ns = interval_ns
            .ok_or_else(|| TraceError::NoInterval { name: name.clone(), what: "a line" })?;
        let counts = read_counts(&mut lines, (!is_count(alone)).then_some(alone))?;
        if counts.is_empty() {
            return Err(TraceError::Empty { name });
        }
        return build(&name, Rows::Lines(counts), None, interval_ns);
    }
    let columns = Columns::of(&first).map_err(|error| lines.wrong(error))?;
    let Table { origin, times, values } = read_table(&mut lines, columns)?;
    if times.is_empty() {
        return Err(TraceError::Empty { name });
    }
    let rows = match columns.value {
        Value::Rate { seconds, .. } => {
            Rows::Rates(times, values.into_iter().map(|value| value / seconds).collect())
        }
        Value::Count { .. } => Rows::Counts(times, values),
        Value::Request => {
            return build(
                &name,
                Rows::Requests(times),
                origin,
                interval_ns.unwrap_or(REQUESTS_PER_NS),
            );
        }
    };
    let named = columns.names_unit.then_some(columns.unit_ns);
    let found = interval_ns.or_else(|| most_frequent_step(rows.times())).or(named);
    let Some(interval_ns) = found else {
        return Err(TraceError::NoInterval { name, what: "its only row" });
    };
    build(&name, rows, origin, interval_ns)
}

/// One count a line, the first of them already read.
fn read_counts(
    lines: &mut Lines<'_, impl BufRead>,
    first: Option<&str>,
) -> Result<Vec<f64>, TraceError> {
    let mut counts = Vec::new();
    if let Some(first) = first {
        counts.push(number(first).map_err(|error| lines.wrong(error))?);
    }
    while let Some(line) = lines.next_line()? {
        let count = number(clean(line));
        counts.push(count.map_err(|error| lines.wrong(error))?);
        lines.room_for_another(counts.len())?;
    }
    Ok(counts)
}

/// The rows of a table.
#[derive(Default)]
struct Table {
    /// The first time, where times are dates.
    origin: Option<i128>,
    /// Nanoseconds since the first.
    times: Vec<u64>,
    values: Vec<f64>,
}

fn read_table(lines: &mut Lines<'_, impl BufRead>, columns: Columns) -> Result<Table, TraceError> {
    let mut table = Table::default();
    let mut first = None;
    while let Some(line) = lines.next_line()? {
        let row = read_row(line, columns, &mut first, table.times.last().copied());
        let (time, value) = row.map_err(|error| lines.wrong(error))?;
        table.times.push(time);
        table.values.extend(value);
        lines.room_for_another(table.times.len())?;
    }
    table.origin = first.and_then(|(ns, dates)| dates.then_some(ns));
    Ok(table)
}

/// A row's time since the first row's, and its value. `first` is the first row's time and whether
/// times are dates.
fn read_row(
    line: &str,
    columns: Columns,
    first: &mut Option<(i128, bool)>,
    before: Option<u64>,
) -> Result<(u64, Option<f64>), ParseError> {
    let field = |column: usize| {
        let found = line.split(columns.separator).nth(column).map(clean);
        found.ok_or_else(|| {
            ParseError::new(format!("at least {} columns", column + 1), line, 0, line.len())
        })
    };
    let text = field(columns.time)?;
    let wrong_time =
        |wanted: &str| ParseError::new(wanted, text, offset_of(text, line), text.len());
    let (ns, date) = match date_time(text) {
        Some(ns) => (ns, true),
        None => match decimal(text, i128::from(columns.unit_ns)) {
            Some(ns) => (ns, false),
            None => {
                let wanted = "a time as a number or as a date-time such as 1995-09-06 05:00";
                return Err(wrong_time(wanted));
            }
        },
    };
    let (origin, dates) = *first.get_or_insert((ns, date));
    if dates != date {
        let wanted =
            if dates { "a date-time, as in the rows before" } else { "a number, as before" };
        return Err(wrong_time(wanted));
    }
    let earliest = match (columns.value, before) {
        (_, None) => 0,
        (Value::Request, Some(before)) => before,
        (_, Some(before)) => before + 1,
    };
    let time =
        u64::try_from(ns - origin).ok().filter(|&time| time >= earliest).ok_or_else(|| {
            wrong_time("a later time than that of the row before, by at most 584 years")
                .hint("sort the rows by time")
        })?;
    match columns.value {
        Value::Rate { column, .. } | Value::Count { column } => {
            let text = field(column)?;
            let value = number(text).map_err(|error| error.shifted(offset_of(text, line)))?;
            Ok((time, Some(value)))
        }
        Value::Request => Ok((time, None)),
    }
}

/// Where a part of a line starts in it.
fn offset_of(part: &str, line: &str) -> usize {
    (part.as_ptr() as usize).saturating_sub(line.as_ptr() as usize).min(line.len())
}

/// A rate or a count: finite, not below zero.
fn number(text: &str) -> Result<f64, ParseError> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && value >= 0.0 => Ok(value),
        Ok(_) => Err(ParseError::new("a number from zero upwards", text, 0, text.len())),
        Err(_) => Err(ParseError::new("a number", text, 0, text.len())),
    }
}

/// A decimal number of units, in nanoseconds, exactly (rounded down beyond them).
fn decimal(text: &str, unit_ns: i128) -> Option<i128> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text),
    };
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let fine = |digits: &str| digits.len() <= 18 && digits.bytes().all(|b| b.is_ascii_digit());
    let part = &part[..part.len().min(18)];
    if !fine(whole) || !fine(part) || whole.is_empty() && part.is_empty() {
        return None;
    }
    let value = |digits: &str| digits.bytes().fold(0, |sum, b| sum * 10 + i128::from(b - b'0'));
    let scale = 10_i128.pow(u32::try_from(part.len()).ok()?);
    Some(sign * (value(whole) * unit_ns + value(part) * unit_ns / scale))
}

/// The most frequent step from one time to the next, the shortest of several; none for one time.
fn most_frequent_step(times: &[u64]) -> Option<u64> {
    let mut steps: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    steps.sort_unstable();
    let groups = steps.chunk_by(|a, b| a == b);
    // `max_by_key` takes the last of equals: of the steps in reverse, the shortest.
    let groups: Vec<&[u64]> = groups.collect();
    groups.into_iter().rev().max_by_key(|group| group.len()).map(|group| group[0])
}

/// The lines that matter, one at a time.
struct Lines<'a, R> {
    reader: R,
    name: &'a str,
    buffer: Vec<u8>,
    line: u64,
}

impl<'a, R: BufRead> Lines<'a, R> {
    fn new(reader: R, name: &'a str) -> Self {
        Self { reader, name, buffer: Vec::new(), line: 0 }
    }

    /// The next line that is neither blank nor a comment, trimmed.
    fn next_line(&mut self) -> Result<Option<&str>, TraceError> {
        loop {
            self.buffer.clear();
            let mut limited = self.reader.by_ref().take(MAX_LINE as u64 + 1);
            let read = limited.read_until(b'\n', &mut self.buffer).map_err(|source| {
                TraceError::Read { name: self.name.to_owned(), line: self.line, source }
            })?;
            if read == 0 {
                return Ok(None);
            }
            self.line += 1;
            if read > MAX_LINE {
                let wanted = format!("a line of at most {MAX_LINE} bytes");
                return Err(self.wrong(ParseError::new(wanted, "a longer one", 0, 0)));
            }
            if self.line == 1 && self.buffer.starts_with(b"\xef\xbb\xbf") {
                self.buffer.drain(..3);
            }
            let start = self.buffer.trim_ascii();
            if !start.is_empty() && !start.starts_with(b"#") {
                break;
            }
        }
        match std::str::from_utf8(&self.buffer) {
            Ok(line) => Ok(Some(line.trim())),
            Err(_) => {
                let found = String::from_utf8_lossy(&self.buffer).into_owned();
                Err(self.wrong(ParseError::new("text in UTF-8", found.trim(), 0, 0)))
            }
        }
    }

    /// An error about the present line.
    fn wrong(&self, error: ParseError) -> TraceError {
        TraceError::Line { name: self.name.to_owned(), line: self.line, error }
    }

    fn room_for_another(&self, rows: usize) -> Result<(), TraceError> {
        if rows > MAX_ROWS {
            return Err(TraceError::TooManyRows { name: self.name.to_owned() });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact() {
        const S: i128 = 1_000_000_000;
        for (text, unit, ns) in [
            ("0", S, Some(0)),
            ("1700158546.680590001", S, Some(1_700_158_546_680_590_001)),
            ("-1.5", S, Some(-1_500_000_000)),
            (".25", 60 * S, Some(15 * S)),
            ("3.", S, Some(3 * S)),
            ("0.3333333333333333333333", 3, Some(0)),
            ("", S, None),
            (".", S, None),
            ("1e3", S, None),
            ("1.2.3", S, None),
            ("0x1", S, None),
            ("1234567890123456789", S, None),
            ("0.é23456789012345678901234", S, None),
        ] {
            assert_eq!(decimal(text, unit), ns, "{text}");
        }
    }

    #[test]
    fn the_most_frequent_step_is_the_shortest_of_several() {
        assert_eq!(most_frequent_step(&[0, 60, 120, 300, 360, 540]), Some(60));
        assert_eq!(most_frequent_step(&[0, 1, 3]), Some(1));
        assert_eq!(most_frequent_step(&[7]), None);
    }
}
