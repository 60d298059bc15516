//! What a table's first lines say of its columns.

use std::path::Path;

use super::columns::{Columns, TimeColumn};
use super::fields::Fields;
use super::value::{self, DEFAULT_UNIT, Size};
use crate::trace::TraceError;
use crate::trace::collect::excerpt;

const SEPARATORS: [u8; 3] = [b',', b';', b'\t'];

/// How a table is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    pub columns: Columns,
    /// `None`: a line is one field.
    pub separator: Option<u8>,
    /// Lines before the first row.
    pub skip: u64,
}

/// The layout of a table that begins so, with columns that the user gave or not.
pub(super) fn of(
    sample: &[u8],
    given: Option<&Columns>,
    path: &Path,
) -> Result<Layout, TraceError> {
    let mut named = None;
    let mut skip = 0;
    for line in sample.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii) {
        if line.is_empty() {
            skip += 1;
        } else if line[0] == b'#' {
            skip += 1;
            named = of_names(line).or(named);
        } else {
            return first_row(line, named, given, skip, path);
        }
    }
    Err(TraceError::Empty { path: path.to_owned(), of: String::new() })
}

/// The layout of a table whose first line that is no comment is `line`.
fn first_row(
    line: &[u8],
    named: Option<(Columns, Option<u8>)>,
    given: Option<&Columns>,
    skip: u64,
    path: &Path,
) -> Result<Layout, TraceError> {
    if let Some(columns) = given {
        let separator = if columns.last() == 0 && columns.size.is_none() {
            most_frequent(line).filter(|_| of_names(line).is_some())
        } else {
            most_frequent(line)
        };
        let is_header = is_header(line, columns, separator);
        return Ok(Layout { columns: *columns, separator, skip: skip + u64::from(is_header) });
    }
    if let Some((columns, separator)) = named {
        return Ok(Layout { columns, separator, skip });
    }
    if let Some((columns, separator)) = of_names(line) {
        return Ok(Layout { columns, separator, skip: skip + 1 });
    }
    if let Some(columns) = guessed(line) {
        return Ok(Layout { columns, separator: most_frequent(line), skip });
    }
    let wanted = "a first line that names the columns, one of them object, key, id or url";
    Err(TraceError::Columns { path: path.to_owned(), wanted, found: excerpt(line) })
}

/// The columns that a line names.
fn of_names(line: &[u8]) -> Option<(Columns, Option<u8>)> {
    let text = std::str::from_utf8(line).ok()?;
    let separator = most_frequent(line);
    let split = |c: char| separator.is_some_and(|separator| c == char::from(separator));
    Some((Columns::of_names(text.split(split))?, separator))
}

/// What separates fields: what there is most of.
fn most_frequent(line: &[u8]) -> Option<u8> {
    let count = |separator: u8| memchr::memchr_iter(separator, line).count();
    // Of equals the first counts.
    let best = SEPARATORS.into_iter().rev().max_by_key(|&separator| count(separator))?;
    (count(best) > 0).then_some(best)
}

/// Whether a line names columns that the user gave otherwise: where a number should be is none.
fn is_header(line: &[u8], columns: &Columns, separator: Option<u8>) -> bool {
    let mut fields = Fields::new(columns, separator);
    let Ok(found) = fields.split(line) else { return false };
    let no_time = found.time.is_some_and(|text| value::second(text, DEFAULT_UNIT).is_none());
    let no_size = found.size.is_some_and(|text| value::size(text) == Size::Wrong);
    no_time || no_size || of_names(found.object.unwrap_or_default()).is_some()
}

/// The columns of a table without names: objects, or time, object and size.
fn guessed(line: &[u8]) -> Option<Columns> {
    let Some(separator) = most_frequent(line) else {
        return Some(Columns { object: 0, size: None, time: None, client: None });
    };
    let time = Some(TimeColumn { column: 0, unit: None });
    let columns = Columns { object: 1, size: Some(2), time, client: None };
    let mut fields = Fields::new(&columns, Some(separator));
    let found = fields.split(line).ok()?;
    let timed = value::second(found.time?, DEFAULT_UNIT).is_some();
    let sized = value::size(found.size?) != Size::Wrong;
    let three = memchr::memchr_iter(separator, line).count() == 2;
    (timed && sized && three).then_some(columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(sample: &str, given: Option<&str>) -> Result<Layout, TraceError> {
        let given = given.map(|text| text.parse().unwrap());
        of(sample.as_bytes(), given.as_ref(), Path::new("t.csv"))
    }

    fn is(sample: &str, given: Option<&str>, columns: &str, separator: Option<u8>, skip: u64) {
        let expected = Layout { columns: columns.parse().unwrap(), separator, skip };
        assert_eq!(layout(sample, given).unwrap(), expected, "{sample}");
    }

    #[test]
    fn first_lines_tell() {
        is("time_s,key,bytes\n1,2,3\n", None, "time_s,object,size", Some(b','), 1);
        is("# time_s,object,size\n0,0,737\n", None, "time_s,object,size", Some(b','), 1);
        is("# made by x\n#\n# url;size\n\na;1\n", None, "object,size", Some(b';'), 4);
        is("object\n5\n", None, "object", None, 1);
        is("5\n6\n", None, "object", None, 0);
        is("http://h/a\n", None, "object", None, 0);
        is("1.5\ta b\t3\n", None, "time,object,size", Some(b'\t'), 0);
        is("status\tURL\n200\t/a,b,c\n", None, "-,object", Some(b'\t'), 1);
    }

    #[test]
    fn users_may_say_what_columns_are() {
        is("1,2\n", Some("object,size"), "object,size", Some(b','), 0);
        is("a,b\n1,2\n", Some("object,size"), "object,size", Some(b','), 1);
        is("# time,object,size\nx,1\n", Some("-,object"), "-,object", Some(b','), 1);
        is("/a,b\n", Some("object"), "object", None, 0);
        is("id\n5\n", Some("object"), "object", None, 1);
        is("id,x\n5,6\n", Some("object"), "object", Some(b','), 1);
    }

    #[test]
    fn what_says_nothing_is_an_error() {
        for sample in ["1,2\n", "1,a,b\n", "timestamp,value\n1,2\n", "1,2,3,4\n"] {
            let error = layout(sample, None).unwrap_err().to_string();
            assert!(error.contains("--columns time,object,size"), "{error}");
        }
        for sample in ["", "\n\n", "# object\n"] {
            assert!(matches!(layout(sample, None), Err(TraceError::Empty { .. })), "{sample}");
        }
    }
}
