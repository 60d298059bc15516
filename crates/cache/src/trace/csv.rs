//! Tables of requests as users have them: a line a request, columns between commas, semicolons,
//! tabs or blanks, with a first line that names them or without.
//!
//! Which column is what, [`columns`] tells from their names; a user may say it. A first line may
//! begin with `#`, and with `#Fields:` as in the W3C's extended log format. Without names, a table
//! of one column has objects, and one of three with numbers in the first and the last has time,
//! object and size. Fields may stand in double quotes (RFC 4180), but not go over the end of a
//! line. What is text and no table is refused, and named for what it is.
//!
//! Where a column says what was done with the object, look-ups count ([`is_lookup`]); other rows
//! are left out, and counted by the name of what was done.
//!
//! A line that cannot be read is counted, up to one in [`MAX_UNREADABLE_ONE_IN`]: one with fewer
//! columns than are needed, without an object, with a time or a size that is none. A size that is
//! empty or `-` is not known.
//!
//! [`MAX_UNREADABLE_ONE_IN`]: super::read::MAX_UNREADABLE_ONE_IN

pub mod columns;
mod fields;
mod layout;
mod looks;
mod value;

use plimsoll_workload::access_log::{Line, Lines};

use self::columns::{Columns, TimeUnit};
use self::fields::{Fields, LineFields};
use self::value::Size;
use super::collect::{Collector, Full, Has, Row};
use super::input::Input;
use super::read::Limits;
use super::{Format, ReadSummary, Trace, TraceError, address};

/// What look-ups are called, in lower case.
const LOOKUPS: [&str; 13] = [
    "get",
    "gets",
    "read",
    "r",
    "lookup",
    "look-up",
    "look_up",
    "look up",
    "fetch",
    "find",
    "gat",
    "gats",
    "get_lease",
];

/// Between a volume and what lies on it: no text has it.
const BEHIND_VOLUME: u8 = 0x1f;

/// Whether an operation of this name asks for an object, in upper or lower case.
#[must_use]
pub fn is_lookup(operation: &[u8]) -> bool {
    LOOKUPS.iter().any(|known| operation.eq_ignore_ascii_case(known.as_bytes()))
}

/// Whether a text begins with a line that names columns, so that it is no log, whatever its rows.
#[must_use]
pub fn is_named(head: &[u8]) -> bool {
    layout::is_named(head)
}

/// Reads a trace, with columns told from the first line unless they are given.
///
/// *Errors*: columns that are not known, text that is no table, too many lines that cannot be read,
/// no requests, more than the limits, a reader that fails.
///
/// *Cost*: one pass; 4 bytes a request for each of object, time and client, and the names.
pub fn read(
    input: Input,
    columns: Option<&Columns>,
    limits: &Limits,
) -> Result<(Trace, ReadSummary), TraceError> {
    let path = input.path().to_owned();
    let is_given = columns.is_some();
    let mut lines = Lines::new(input);
    let layout = match lines.sample() {
        Ok(sample) => layout::of(sample, columns, &path)?,
        Err(source) => return Err(lines.get_ref().broke_off(source)),
    };
    let columns = &layout.columns;
    let has = Has {
        sizes: columns.size.is_some(),
        seconds: columns.time.is_some(),
        clients: columns.client.is_some(),
    };
    let mut told = ReadSummary::new(Format::Csv);
    (told.passed_over, told.taken) = (layout.passed_over, layout.taken);
    let mut rows = Rows {
        // A table of one column that nobody named is taken for text where it has blanks.
        fields: Fields::new(columns, layout.separator, is_given),
        collector: Collector::new(has, *limits, told),
        unit: layout.unit,
        name: Vec::new(),
    };
    let mut number = 0;
    loop {
        let line = match lines.next() {
            Ok(Some(line)) => line,
            Ok(None) => break,
            Err(source) => return Err(lines.get_ref().broke_off(source)),
        };
        number += 1;
        if number <= layout.skip {
            rows.collector.told.empty += 1;
            continue;
        }
        let taken = match line {
            Line::Text(text)
                if text.trim_ascii().is_empty()
                    || (layout.has_directives && text.starts_with(b"#")) =>
            {
                rows.collector.told.empty += 1;
                Ok(Ok(()))
            }
            Line::Text(text) => rows.take(text),
            Line::TooLong(_) => Ok(Err("longer than 65536 bytes")),
        };
        match taken {
            Ok(Ok(())) => {}
            Ok(Err(why)) => {
                let (Line::Text(text) | Line::TooLong(text)) = line;
                rows.collector.unreadable(number, text, why);
            }
            Err(full) => return Err(full.error(&path)),
        }
    }
    rows.collector.told.lines = number;
    rows.collector.finish(&path)
}

/// What a line goes through.
struct Rows {
    fields: Fields,
    collector: Collector,
    /// Of times that are numbers.
    unit: TimeUnit,
    /// The name of an object that has parts.
    name: Vec<u8>,
}

impl Rows {
    fn take(&mut self, line: &[u8]) -> Result<Result<(), &'static str>, Full> {
        let found = match self.fields.split(line) {
            Ok(found) => found,
            Err(why) => return Ok(Err(why)),
        };
        if let Some(operation) = found.operation.filter(|name| !is_lookup(name)) {
            self.collector.told.operations.count(operation);
            return Ok(Ok(()));
        }
        match row(&found, self.unit, &mut self.name) {
            Ok(row) => self.collector.push(&row),
            Err(why) => Ok(Err(why)),
        }
    }
}

fn row<'a>(
    found: &LineFields<'a>,
    unit: TimeUnit,
    name: &'a mut Vec<u8>,
) -> Result<Row<'a>, &'static str> {
    let object = found.object.filter(|object| !object.is_empty()).ok_or("no object")?;
    let size = match found.size.map(value::size) {
        None | Some(Size::Unknown) => None,
        Some(Size::Bytes(bytes)) => Some(bytes),
        Some(Size::Wrong) => return Err("a size that is no whole number of bytes"),
    };
    let second = match (found.date, found.time) {
        (_, None) => None,
        (None, Some(time)) => Some(value::second(time, unit).ok_or("a time that is none")?),
        (Some(date), Some(time)) => {
            Some(value::second_of_day(date, time).ok_or("a date or a time that is none")?)
        }
    };
    name.clear();
    for volume in found.volumes.into_iter().flatten() {
        name.extend_from_slice(volume);
        name.push(BEHIND_VOLUME);
    }
    let object = match (found.host, found.query) {
        (None, None) if name.is_empty() => object,
        (host, query) => address::join(host, object, query, name),
    };
    Ok(Row { object, size, second, client: found.client })
}

#[cfg(test)]
mod tests;
