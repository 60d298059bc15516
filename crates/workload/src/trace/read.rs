//! Reading a trace: plain text or gzip, a table with a header or one count a line.
//!
//! A line is read at a time; only the numbers are kept. A line has at most [`MAX_LINE`] bytes, a
//! trace at most [`MAX_ROWS`] rows. Blank lines and lines that begin with `#` are passed over.

use plimsoll_units::failure::FileError;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::time::Duration;

use plimsoll_units::ParseError;

use super::clock::Clock;
use super::columns::{Columns, Value, is_count};
use super::fields::{clean, fields};
use super::{MAX_ROWS, Moment, Rows, Trace, TraceError, build};
use crate::gzip::{Gunzip, MAGIC};

/// The longest line, in bytes.
const MAX_LINE: usize = 65_536;
/// The interval of a trace of single requests where none is given.
const REQUESTS_PER_NS: u64 = 1_000_000_000;

impl Trace {
    /// Reads a trace from a file, plain or gzip; what is an access log by its first lines is read
    /// as one. `interval` is what each row of counts covers; in a
    /// table it may be left out and is then the most frequent step between rows; of a single row,
    /// the unit in the name of its time column.
    ///
    /// # Errors
    /// A file that cannot be read, and the first line that makes no sense: empty, unsorted,
    /// negative, not a number.
    pub fn read(path: &Path, interval: Option<Duration>) -> Result<Self, TraceError> {
        Self::read_as(path, interval, None)
    }

    /// Reads a trace from a file whose columns are given, such as `time_ms,rate`; `None` takes them
    /// from its header.
    ///
    /// # Errors
    /// As [`Trace::read`], and columns that are none.
    pub fn read_as(
        path: &Path,
        interval: Option<Duration>,
        columns: Option<&str>,
    ) -> Result<Self, TraceError> {
        let open = FileError::of("read the trace", path);
        let file = File::open(path).map_err(&open)?;
        // What a pipe has is there only once.
        let is_file = file.metadata().map_err(&open)?.is_file();
        if is_file && interval.is_none() && columns.is_none() && Self::is_log(path)? {
            return Self::from_log(path, None);
        }
        Self::from_reader_as(file, &path.display().to_string(), interval, columns)
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
        Self::from_reader_as(reader, name, interval, None)
    }

    /// Reads a trace from anywhere, with columns that are given or not.
    ///
    /// # Errors
    /// As [`Trace::read_as`].
    pub fn from_reader_as(
        reader: impl Read,
        name: &str,
        interval: Option<Duration>,
        columns: Option<&str>,
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
        // One byte of a file is enough to tell text.
        let packed = plain.fill_buf().map_err(failed)?.starts_with(&MAGIC);
        if packed {
            let unpacked = BufReader::with_capacity(1 << 16, Gunzip::strict(plain));
            read_lines(Lines::new(unpacked, name), interval_ns, columns)
        } else {
            read_lines(Lines::new(plain, name), interval_ns, columns)
        }
    }
}

fn read_lines(
    mut lines: Lines<'_, impl BufRead>,
    interval_ns: Option<u64>,
    given: Option<&str>,
) -> Result<Trace, TraceError> {
    let name = lines.name.to_owned();
    let Some(first) = lines.next_line()?.map(str::to_owned) else {
        return Err(TraceError::Empty { name });
    };
    let alone = clean(&first);
    if given.is_none() && (alone.parse::<f64>().is_ok() || is_count(alone)) {
        let interval_ns = interval_ns
            .ok_or_else(|| TraceError::NoInterval { name: name.clone(), what: "a line" })?;
        let counts = read_counts(&mut lines, (!is_count(alone)).then_some(alone))?;
        if counts.is_empty() {
            return Err(TraceError::Empty { name });
        }
        return build(&name, Rows::Lines(counts), None, interval_ns);
    }
    let (columns, row) = match given {
        None => (Columns::of(&first).map_err(|error| lines.wrong(error))?, None),
        Some(text) => {
            let columns = Columns::given(text, &first);
            let columns = columns.map_err(|error| TraceError::Columns { error })?;
            let row = (!columns.is_header(&first)).then_some(first.as_str());
            (columns, row)
        }
    };
    let table = read_table(&mut lines, &columns, &first, row)?;
    let trace = of_table(&name, table, &columns, interval_ns)?;
    Ok(trace)
}

/// The trace of a table.
fn of_table(
    name: &str,
    table: Table,
    columns: &Columns,
    interval_ns: Option<u64>,
) -> Result<Trace, TraceError> {
    let Table { remark, starts, times, values, days, .. } = table;
    let Some(last_ns) = times.last() else {
        return Err(TraceError::Empty { name: name.to_owned() });
    };
    if let Some(first) = days.filter(|_| times.len() > 1 && *last_ns < REQUESTS_PER_NS) {
        let wanted = "rows that take longer than a second, or a time column with a unit";
        let error = ParseError::new(wanted, &first, 0, first.len());
        let hint = "these look like the days of a spreadsheet: call the column time_d, in the \
                    first line or in --columns; seconds are time_s";
        return Err(TraceError::Columns { error: error.hint(hint) });
    }
    let mut remarks: Vec<String> = remark.into_iter().collect();
    let rows = match columns.value {
        Value::Rate { seconds, .. } => {
            Rows::Rates(times, values.into_iter().map(|value| value / seconds).collect())
        }
        Value::Count { .. } => Rows::Counts(times, values),
        Value::Request => {
            if columns.others > 0 {
                let text = "each row was taken for one request, as no column is a rate or a count";
                remarks.push(text.to_owned());
            }
            Rows::Requests(times)
        }
    };
    let found = match rows {
        Rows::Requests(_) => interval_ns.or(Some(REQUESTS_PER_NS)),
        _ => interval_ns.or_else(|| most_frequent_step(rows.times())).or(columns.unit_ns),
    };
    let Some(interval_ns) = found else {
        return Err(TraceError::NoInterval { name: name.to_owned(), what: "its only row" });
    };
    Ok(Trace { remarks, ..build(name, rows, starts, interval_ns)? })
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
    /// What its times are, as the first one says.
    clock: Option<Clock>,
    /// What they were taken for, where their column does not say.
    remark: Option<String>,
    /// The first time, in nanoseconds, and when that is.
    origin: Option<i128>,
    starts: Option<Moment>,
    /// The first time, where it may be one of a spreadsheet: days since 1899, with a fraction.
    days: Option<String>,
    /// Nanoseconds since the first.
    times: Vec<u64>,
    values: Vec<f64>,
}

/// The rows of a table below its first line `header`, or with it where `first` is that line.
fn read_table(
    lines: &mut Lines<'_, impl BufRead>,
    columns: &Columns,
    header: &str,
    first: Option<&str>,
) -> Result<Table, TraceError> {
    let mut table = Table::default();
    if let Some(first) = first {
        table.push(first, columns, header).map_err(|error| lines.wrong(error))?;
    }
    while let Some(line) = lines.next_line()? {
        let pushed = table.push(line, columns, header);
        pushed.map_err(|error| lines.wrong(error))?;
        lines.room_for_another(table.times.len())?;
    }
    Ok(table)
}

impl Table {
    /// Takes a row: its time since the first row's, and its value.
    fn push(&mut self, line: &str, columns: &Columns, header: &str) -> Result<(), ParseError> {
        let field = |column: usize| {
            fields(line, columns.separator).nth(column).ok_or_else(|| {
                ParseError::new(format!("at least {} columns", column + 1), line, 0, line.len())
            })
        };
        let text = field(columns.time)?;
        let wrong_time =
            |wanted: &str| ParseError::new(wanted, text, offset_of(text, line), text.len());
        let clock = match self.clock {
            Some(clock) => clock,
            None => self.first(text, columns, header, &field).map_err(|error| {
                error.unwrap_or_else(|| {
                    wrong_time("a time as a number or as a date-time such as 1995-09-06 05:00")
                })
            })?,
        };
        let ns = clock.read(text).ok_or_else(|| wrong_time(clock.wanted()))?;
        if self.origin.is_none() {
            self.starts = clock.moment(text);
        }
        let origin = *self.origin.get_or_insert(ns);
        let earliest = match (columns.value, self.times.last()) {
            (_, None) => 0,
            (Value::Request, Some(before)) => *before,
            (_, Some(before)) => before + 1,
        };
        let time = u64::try_from(ns - origin).ok().filter(|&time| time >= earliest);
        self.times.push(time.ok_or_else(|| {
            wrong_time("a later time than that of the row before, by at most 584 years")
                .hint("sort the rows by time")
        })?);
        if let Value::Rate { column, .. } | Value::Count { column } = columns.value {
            let text = field(column)?;
            let value = number(text).map_err(|error| error.shifted(offset_of(text, line)))?;
            self.values.push(value);
        }
        Ok(())
    }

    /// Learns from the first row what times are; an error of `None` where its time is none.
    fn first<'a>(
        &mut self,
        time: &str,
        columns: &Columns,
        header: &str,
        field: &dyn Fn(usize) -> Result<&'a str, ParseError>,
    ) -> Result<Clock, Option<ParseError>> {
        let clock = Clock::of(time, columns.unit_ns).ok_or(None)?;
        if let Some((column, name)) = &columns.unknown
            && field(*column).is_ok_and(|text| text.parse::<f64>().is_ok())
        {
            return Err(Some(columns.neither(*column, name, header)));
        }
        self.remark = clock.remark(&columns.time_name, time);
        self.days = clock.may_be_days(time).then(|| time.to_owned());
        self.clock = Some(clock);
        Ok(clock)
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
    fn the_most_frequent_step_is_the_shortest_of_several() {
        assert_eq!(most_frequent_step(&[0, 60, 120, 300, 360, 540]), Some(60));
        assert_eq!(most_frequent_step(&[0, 1, 3]), Some(1));
        assert_eq!(most_frequent_step(&[7]), None);
    }
}
