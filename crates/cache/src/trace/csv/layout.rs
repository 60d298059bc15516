//! What a table's first lines say of its columns.

use std::path::Path;

use super::columns::{Columns, HostOf, TimeColumn, TimeUnit};
use super::fields::{BLANK, Fields, width};
use super::looks;
use super::value::{self, DEFAULT_UNIT, Size};
use crate::trace::collect::excerpt;
use crate::trace::{TraceError, address};

const SEPARATORS: [u8; 3] = [b',', b';', b'\t'];

/// How many of the first rows are looked at.
const SAMPLE_ROWS: usize = 100;

/// What the names of a log in the W3C's extended format follow.
const W3C: &[u8] = b"#Fields:";

/// How a table is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layout {
    pub columns: Columns,
    /// `None`: a line is one field.
    pub separator: Option<u8>,
    /// Lines before the first row.
    pub skip: u64,
    /// Whether lines that begin with `#` say something of the log, wherever they stand.
    pub has_directives: bool,
    /// How times that are numbers count.
    pub unit: TimeUnit,
    /// Names of columns that are not read, where the table has names and the user gave none.
    pub passed_over: Vec<String>,
    /// What was taken for what, where the table does not say it: a sentence each.
    pub taken: Vec<String>,
}

/// The columns and what separates them, and the names that no column is for.
type Named = (Columns, Option<u8>, Vec<String>);

/// The layout of a table that begins so, with columns that the user gave or not.
pub(super) fn of(
    sample: &[u8],
    given: Option<&Columns>,
    path: &Path,
) -> Result<Layout, TraceError> {
    looks::check(sample, given, path)?;
    let mut named = None;
    let mut skip = 0;
    let mut at = 0;
    let mut has_directives = false;
    let mut comments: Vec<&[u8]> = Vec::new();
    for line in sample.split(|&byte| byte == b'\n') {
        let text = line.trim_ascii();
        if text.is_empty() {
            skip += 1;
        } else if text[0] == b'#' {
            skip += 1;
            has_directives |= text.starts_with(W3C);
            named = of_w3c(text).or_else(|| of_names(text)).or(named);
            comments.push(text);
        } else {
            let rows = rows(&sample[at..]);
            let (mut layout, first) = first_row(&rows, (named, &comments), given, path)?;
            layout.skip = skip + u64::from(first > 0);
            layout.has_directives = has_directives;
            layout.learn(&rows[first..]);
            return Ok(layout);
        }
        at += line.len() + 1;
    }
    Err(TraceError::Empty { path: path.to_owned(), of: String::new() })
}

/// Whether a text begins with names of columns.
pub(super) fn is_named(sample: &[u8]) -> bool {
    let mut lines = sample.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let comments = lines.by_ref().take_while(|line| line.is_empty() || line[0] == b'#');
    if comments.into_iter().any(|line| of_w3c(line).or_else(|| of_names(line)).is_some()) {
        return true;
    }
    let rows = rows(sample);
    let first = rows.iter().find(|row| row[0] != b'#');
    first.is_some_and(|row| of_names(row).is_some())
}

/// The first lines that say something.
fn rows(text: &[u8]) -> Vec<&[u8]> {
    let lines = text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    lines.filter(|line| !line.is_empty()).take(SAMPLE_ROWS).collect()
}

/// The layout of a table with these lines, and which of them is its first row: the second where
/// the first names the columns. Comments before them named the columns, or did not.
fn first_row(
    rows: &[&[u8]],
    (named, comments): (Option<Named>, &[&[u8]]),
    given: Option<&Columns>,
    path: &Path,
) -> Result<(Layout, usize), TraceError> {
    let line = rows[0];
    if let Some(columns) = given {
        let separator =
            if columns.width == 1 && of_names(line).is_none() { None } else { separator(rows) };
        let is_header = is_header(line, columns, separator);
        return Ok((Layout::new(*columns, separator, Vec::new()), usize::from(is_header)));
    }
    if let Some(named) = named {
        return Ok((between(named, line), 0));
    }
    if let Some((columns, separator, passed_over)) = of_names(line) {
        return Ok((Layout::new(columns, separator, passed_over), 1));
    }
    let separator = separator(rows);
    if let Some(columns) = guessed(line, separator)
        && !comments.iter().any(|comment| may_name(comment, &columns, separator))
    {
        return Ok((Layout::new(columns, separator, Vec::new()), 0));
    }
    Err(looks::unknown(rows, separator, path).unwrap_or_else(|| TraceError::Columns {
        path: path.to_owned(),
        wanted: "a first line that names the columns, one of them object, key, id or url",
        found: excerpt(line),
    }))
}

/// The layout of a table whose columns a comment named before this first row.
fn between((columns, separator, passed_over): Named, line: &[u8]) -> Layout {
    // Names stand between blanks in some logs whose rows have tabs.
    let has_tabs = separator == Some(BLANK) && memchr::memchr(b'\t', line).is_some();
    let separator = if has_tabs { Some(b'\t') } else { separator };
    Layout::new(columns, separator, passed_over)
}

/// Whether a comment may name the columns, so that they are not to be guessed: it has as many
/// words, and is not understood.
fn may_name(comment: &[u8], columns: &Columns, separator: Option<u8>) -> bool {
    let text = comment.trim_ascii_start();
    let text = text.strip_prefix(b"#").unwrap_or(text);
    columns.width > 1 && separator.is_some_and(|separator| width(text, separator) == columns.width)
}

/// The columns that a line names.
fn of_names(line: &[u8]) -> Option<Named> {
    let separator = most_frequent(line).or_else(|| has_blanks(line).then_some(BLANK));
    let named = of_names_between(line.trim_ascii_start(), separator)?;
    // A sentence may have one of the names by chance.
    let is_sure = separator != Some(BLANK) || named.0.known() > 1;
    is_sure.then_some(named)
}

fn of_names_between(line: &[u8], separator: Option<u8>) -> Option<Named> {
    let text = std::str::from_utf8(line).ok()?;
    let names: Vec<&str> = match separator {
        None => vec![text],
        Some(BLANK) => text.trim_start_matches('#').split_ascii_whitespace().collect(),
        Some(separator) => text.split(char::from(separator)).collect(),
    };
    let columns = Columns::of_names(names.iter().copied())?;
    let passed_over = columns.passed_over(names.iter().copied());
    let passed_over = passed_over.into_iter().map(|name| excerpt(name.as_bytes())).collect();
    Some((columns, separator, passed_over))
}

/// The columns that a line of the W3C's extended log format names.
fn of_w3c(line: &[u8]) -> Option<Named> {
    of_names_between(line.strip_prefix(W3C)?, Some(BLANK))
}

/// What separates the fields of these lines: what there is most of in the first; blanks where
/// there is nothing else, or where only they give all lines the same number of fields.
fn separator(rows: &[&[u8]]) -> Option<u8> {
    let is_even = |separator| {
        let wanted = width(rows[0], separator);
        wanted > 1 && rows.iter().all(|row| width(row, separator) == wanted)
    };
    match most_frequent(rows[0]) {
        Some(separator) if !is_even(separator) && is_even(BLANK) => Some(BLANK),
        None if has_blanks(rows[0]) => Some(BLANK),
        separator => separator,
    }
}

/// The separator that a line has most of.
fn most_frequent(line: &[u8]) -> Option<u8> {
    let count = |separator: u8| memchr::memchr_iter(separator, line).count();
    // Of equals the first counts.
    let best = SEPARATORS.into_iter().rev().max_by_key(|&separator| count(separator))?;
    (count(best) > 0).then_some(best)
}

fn has_blanks(line: &[u8]) -> bool {
    memchr::memchr(b' ', line.trim_ascii()).is_some()
}

/// Whether a line names columns that the user gave otherwise: where a number should be is none.
fn is_header(line: &[u8], columns: &Columns, separator: Option<u8>) -> bool {
    let mut fields = Fields::new(columns, separator, true);
    let Ok(found) = fields.split(line) else { return false };
    let is_time = |text| {
        value::second(text, DEFAULT_UNIT).is_some()
            || found.date.is_some_and(|date| value::second_of_day(date, text).is_some())
    };
    let no_time = found.time.is_some_and(|text| !is_time(text));
    let no_size = found.size.is_some_and(|text| value::size(text) == Size::Wrong);
    no_time || no_size || of_names(found.object.unwrap_or_default()).is_some()
}

/// The columns of a table without names: objects, or time, object and size.
fn guessed(line: &[u8], separator: Option<u8>) -> Option<Columns> {
    let Some(separator) = separator else {
        return Some(Columns { width: 1, ..Columns::default() });
    };
    let time = Some(TimeColumn { column: 0, unit: None });
    let columns = Columns { object: 1, size: Some(2), time, width: 3, ..Columns::default() };
    let mut fields = Fields::new(&columns, Some(separator), false);
    let found = fields.split(line).ok()?;
    let timed = value::second(found.time?, DEFAULT_UNIT).is_some();
    let sized = value::size(found.size?) != Size::Wrong;
    (timed && sized && width(line, separator) == 3).then_some(columns)
}

impl Layout {
    fn new(columns: Columns, separator: Option<u8>, passed_over: Vec<String>) -> Self {
        let (unit, taken) = (DEFAULT_UNIT, Vec::new());
        Self { columns, separator, skip: 0, has_directives: false, unit, passed_over, taken }
    }

    /// Of the first rows: whose a host is, whether times are of a day, and how they count.
    fn learn(&mut self, rows: &[&[u8]]) {
        let mut fields = Fields::new(&self.columns, self.separator, true);
        let mut units: Vec<TimeUnit> = Vec::new();
        let (mut is_numbered, mut first) = (false, true);
        let (mut is_address, mut is_of_day) = (self.columns.is_address, false);
        for row in rows {
            let Ok(found) = fields.split(row) else { continue };
            if first {
                is_address |= found.object.is_some_and(address::is_address);
                is_of_day = found
                    .date
                    .zip(found.time)
                    .is_some_and(|(date, time)| value::second_of_day(date, time).is_some());
                first = false;
            }
            if let Some(time) = found.time.filter(|_| !is_of_day) {
                is_numbered |= time.first().is_some_and(u8::is_ascii_digit)
                    && time.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
                units.extend(value::unit_of(time));
            }
        }
        if !is_of_day {
            self.pass_over_date();
        }
        let volumes = self.columns.volumes.into_iter().flatten().count();
        if volumes > 0 {
            self.taken.push(format!(
                "{volumes} column{} of volumes: the same object on two of them is two objects",
                if volumes == 1 { "" } else { "s" }
            ));
        }
        self.take_host(is_address);
        let known = self.columns.time.and_then(|time| time.unit);
        self.unit = known.or_else(|| most(&units)).unwrap_or(DEFAULT_UNIT);
        if known.is_none() && is_numbered {
            self.taken.push(words_of(self.unit));
        }
    }

    /// A date beside a time that has the day itself is not read.
    fn pass_over_date(&mut self) {
        if self.columns.date.take().is_some() {
            self.passed_over.push("date".to_owned());
        }
    }

    /// A host belongs to objects that are addresses, and else is who asks.
    fn take_host(&mut self, is_address: bool) {
        let Some(host) = self.columns.host.filter(|host| host.of == HostOf::Either) else { return };
        if is_address {
            self.taken.push(
                "column host is taken for the host of objects, as these are paths or URLs"
                    .to_owned(),
            );
        } else if self.columns.client.is_none() {
            (self.columns.host, self.columns.client) = (None, Some(host.column));
            self.taken.push(
                "column host is taken for the client, as objects are no paths or URLs; where it is \
                 part of the object, call it volume in --columns"
                    .to_owned(),
            );
        } else {
            self.columns.host = None;
            self.passed_over.push("host".to_owned());
        }
    }
}

/// What most say; of equals the least.
fn most(units: &[TimeUnit]) -> Option<TimeUnit> {
    let count = |unit: TimeUnit| units.iter().filter(|&&other| other == unit).count();
    let mut known = units.to_vec();
    known.sort_unstable();
    known.dedup();
    known.into_iter().rev().max_by_key(|&unit| count(unit))
}

/// How times that do not say it are taken.
fn words_of(unit: TimeUnit) -> String {
    let unit = match unit {
        TimeUnit::PerSecond(1) => "seconds",
        TimeUnit::PerSecond(1_000) => "milliseconds since 1970",
        TimeUnit::PerSecond(1_000_000) => "microseconds since 1970",
        TimeUnit::PerSecond(value::HUNDREDS) => "100 ns since 1601 or the year 1",
        TimeUnit::PerSecond(_) => "nanoseconds since 1970",
        TimeUnit::Digits => "dates in fourteen digits, as 20260701120000",
    };
    format!(
        "times are taken for {unit}, which the table does not say: if they are not, name the \
         column time_s, time_ms, time_us, time_100ns or time_ns, in the first line or in --columns"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(sample: &str, given: Option<&str>) -> Result<Layout, TraceError> {
        let given = given.map(|text| text.parse().unwrap());
        of(sample.as_bytes(), given.as_ref(), Path::new("t.csv"))
    }

    fn is(sample: &str, given: Option<&str>, columns: &str, separator: Option<u8>, skip: u64) {
        let found = layout(sample, given).unwrap();
        assert_eq!(found.columns, columns.parse().unwrap(), "{sample}");
        assert_eq!((found.separator, found.skip), (separator, skip), "{sample}");
    }

    #[test]
    fn first_lines_tell() {
        is("time_s,key,bytes\n1,2,3\n", None, "time_s,object,size", Some(b','), 1);
        is("# time_s,object,size\n0,0,737\n", None, "time_s,object,size", Some(b','), 1);
        is("# made by x\n#\n# url;size\n\na;1\n", None, "url,size", Some(b';'), 4);
        is("object\n5\n", None, "object", None, 1);
        is("5\n6\n", None, "object", None, 0);
        is("http://h/a\n", None, "object", None, 0);
        is("1.5\ta b\t3\n", None, "time,object,size", Some(b'\t'), 0);
        is("status\tURL\n200\t/a,b,c\n", None, "-,url", Some(b'\t'), 1);
        is("time object size\n0 a 10\n", None, "time,object,size", Some(BLANK), 1);
        is("# time object size\n0 a 10\n", None, "time,object,size", Some(BLANK), 1);
        is("1 a 120\n2  b 64\n", None, "time,object,size", Some(BLANK), 0);
        is("1 http://h/a,b 120\n2 http://h/c 64\n", None, "time,object,size", Some(BLANK), 0);
        is(
            "#Fields: date time cs-uri-stem\n2026-07-01\t12:00:00\t/a\n",
            None,
            "date,time,path",
            Some(b'\t'),
            1,
        );
    }

    #[test]
    fn users_may_say_what_columns_are() {
        is("1,2\n", Some("object,size"), "object,size", Some(b','), 0);
        is("a,b\n1,2\n", Some("object,size"), "object,size", Some(b','), 1);
        is("# time,object,size\nx,1\n", Some("-,object"), "-,object", Some(b','), 1);
        is("/a,b\n", Some("object"), "object", None, 0);
        is("id\n5\n", Some("object"), "object", None, 1);
        is("id,x\n5,6\n", Some("object"), "object", Some(b','), 1);
        is("a 5\nb 6\n", Some("object,size"), "object,size", Some(BLANK), 0);
        is("a 5\nb 6\n", Some("object,-"), "object,-", Some(BLANK), 0);
        is("a 5\nb 6\n", Some("object"), "object", None, 0);
    }

    #[test]
    fn names_without_a_use_are_named() {
        let found = layout("# op_count, key,\"key_size\" ,size (bytes)\n1,a,2,3\n", None).unwrap();
        assert_eq!(found.passed_over, ["op_count", "key_size", "size (bytes)"]);
        let found = layout("date,time,key\n2026-07-01,17,a\n", None).unwrap();
        assert_eq!((found.columns.date, &found.passed_over[..]), (None, &["date".to_owned()][..]));
        let found = layout("op_count,key\n1,a\n", Some("-,key")).unwrap();
        assert_eq!(found.passed_over, [""; 0]);
    }

    #[test]
    fn a_host_is_that_of_an_address_and_else_a_client() {
        let of = |sample: &str| {
            let found = layout(sample, None).unwrap();
            let host = found.columns.host.map(|host| host.column);
            (host, found.columns.client, found.taken.join(";"), found.passed_over.join(";"))
        };
        let (host, client, taken, _) = of("host,url\nh,/a\n");
        assert_eq!((host, client), (Some(0), None));
        assert!(taken.contains("host of objects"), "{taken}");
        let (host, client, ..) = of("host,object\nh,/a\n");
        assert_eq!((host, client), (Some(0), None));
        let (host, client, taken, _) = of("host,object\nh,a\n");
        assert_eq!((host, client), (None, Some(0)));
        assert!(taken.contains("the client"), "{taken}");
        let (host, client, taken, passed_over) = of("host,object,client\nh,a,c\n");
        assert_eq!((host, client, &taken[..], &passed_over[..]), (None, Some(2), "", "host"));
        let (host, client, taken, _) = of("vhost,object,client\nh,a,c\n");
        assert_eq!((host, client, &taken[..]), (Some(0), Some(2), ""));
    }

    #[test]
    fn most_rows_tell_how_times_count() {
        let of = |times: &[&str]| {
            let rows: String = times.iter().map(|time| format!("{time},a\n")).collect();
            let found = layout(&format!("time,object\n{rows}"), None).unwrap();
            (found.unit, found.taken.len())
        };
        assert_eq!(of(&["0", "1454345164500", "1454345165500"]), (TimeUnit::PerSecond(1_000), 1));
        assert_eq!(of(&["0", "60000"]), (TimeUnit::PerSecond(1), 1));
        assert_eq!(of(&["20260701120000"; 3]), (TimeUnit::Digits, 1));
        // Dates say what they are.
        assert_eq!(of(&["2026-07-01 12:00"]), (TimeUnit::PerSecond(1), 0));
        let named = layout("time_us,object\n5,a\n", None).unwrap();
        assert_eq!((named.unit, named.taken.len()), (TimeUnit::PerSecond(1_000_000), 0));
    }

    #[test]
    fn what_a_comment_may_name_is_not_guessed() {
        for sample in ["# a,b,c\n1,x,2\n", "# op_count key key_size\n1 x 2\n"] {
            assert!(layout(sample, None).is_err(), "{sample}");
        }
        is("# of today\n1 x 2\n", None, "time,object,size", Some(BLANK), 1);
    }

    #[test]
    fn what_says_nothing_is_an_error() {
        for sample in
            ["1,2\n", "1,a,b\n", "timestamp,value\n1,2\n", "1,2,3,4\n", "1 2 3 4\n1 2 3 4\n"]
        {
            let error = layout(sample, None).unwrap_err().to_string();
            assert!(error.contains("--columns time,object,size"), "{error}");
        }
        for sample in ["", "\n\n", "# object\n"] {
            assert!(matches!(layout(sample, None), Err(TraceError::Empty { .. })), "{sample}");
        }
    }
}
