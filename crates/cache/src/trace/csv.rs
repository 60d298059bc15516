//! Tables of requests as users have them: a line a request, columns between commas, semicolons or
//! tabs, with a first line that names them or without.
//!
//! Which column is what, [`columns`] tells from their names; a user may say it. A first line may
//! begin with `#`. Without names, a table of one column has objects, and one of three with numbers
//! in the first and the last has time, object and size. Fields may stand in double quotes (RFC
//! 4180), but not go over the end of a line.
//!
//! A line that cannot be read is counted, up to one in [`MAX_UNREADABLE_ONE_IN`]: one with fewer
//! columns than are needed, without an object, with a time or a size that is none. A size that is
//! empty or `-` is not known.
//!
//! [`MAX_UNREADABLE_ONE_IN`]: super::read::MAX_UNREADABLE_ONE_IN

pub mod columns;
mod fields;
mod layout;
mod value;

use plimsoll_workload::access_log::{Line, Lines};

use self::columns::Columns;
use self::fields::{Fields, Found};
use self::value::{DEFAULT_UNIT, Size};
use super::collect::{Collector, Has, Row};
use super::input::Input;
use super::read::Limits;
use super::{Format, Told, Trace, TraceError};

/// Reads a trace, with columns told from the first line unless they are given.
///
/// *Errors*: columns that are not known, too many lines that cannot be read, no requests, more
/// than the limits, a reader that fails.
///
/// *Cost*: one pass; 4 bytes a request for each of object, time and client, and the names.
pub fn read(
    input: Input,
    columns: Option<&Columns>,
    limits: &Limits,
) -> Result<(Trace, Told), TraceError> {
    let path = input.path().to_owned();
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
    let mut rows = Rows {
        fields: Fields::new(columns, layout.separator),
        collector: Collector::new(has, *limits, Told::new(Format::Csv)),
        unit: columns.time.and_then(|time| time.unit),
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
            continue;
        }
        let taken = match line {
            Line::Text(b"") => Ok(Ok(())),
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
    /// Of times; told from the first that can be read where its name does not say it.
    unit: Option<u64>,
}

impl Rows {
    fn take(&mut self, line: &[u8]) -> Result<Result<(), &'static str>, super::collect::Full> {
        let found = match self.fields.split(line) {
            Ok(found) => found,
            Err(why) => return Ok(Err(why)),
        };
        match row(&found, &mut self.unit) {
            Ok(row) => self.collector.push(&row),
            Err(why) => Ok(Err(why)),
        }
    }
}

fn row<'a>(found: &Found<'a>, unit: &mut Option<u64>) -> Result<Row<'a>, &'static str> {
    let object = found.object.filter(|object| !object.is_empty()).ok_or("no object")?;
    let size = match found.size.map(value::size) {
        None | Some(Size::Unknown) => None,
        Some(Size::Bytes(bytes)) => Some(bytes),
        Some(Size::Wrong) => return Err("a size that is no whole number of bytes"),
    };
    let second = match found.time {
        None => None,
        Some(text) => {
            if unit.is_none() {
                *unit = value::unit_of(text);
            }
            let unit = unit.unwrap_or(DEFAULT_UNIT);
            Some(value::second(text, unit).ok_or("a time that is none")?)
        }
    };
    Ok(Row { object, size, second, client: found.client })
}

#[cfg(test)]
mod tests;
