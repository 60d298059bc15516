//! Reads a trace, whatever it is written in.
//!
//! The format, where it is not given, is told in this order: the first bytes of a compiled trace;
//! `.oracleGeneral` in the name; the name's end, `.plt` or `.csv` (before `.gz` or `.zst`); bytes
//! that no text has and records that could be oracleGeneral's; names of columns, given or in the
//! first line; lines of an access log; a table.

use std::path::Path;

use plimsoll_workload::access_log::Format as LogFormat;

use super::collect::excerpt;
use super::csv::columns::Columns;
use super::input::Input;
use super::{Format, ReadSummary, Trace, TraceError, access_log, compiled, csv, oracle_general};

/// One line in this many may be unreadable; with more, the file is taken not to be what it was
/// read as.
pub const MAX_UNREADABLE_ONE_IN: u64 = 10;

/// How a trace is read.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReadOptions {
    /// The format; `None` tells it from the file.
    pub format: Option<Format>,
    /// The columns of a table; `None` tells them from its first line.
    pub columns: Option<Columns>,
    /// How much is taken.
    pub limits: Limits,
}

/// What a trace may take at most. It bounds the memory that a small packed file can ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Requests; at most [`super::MAX_REQUESTS`]. Each takes 4 bytes, 8 with a time, 12 with a
    /// client.
    pub requests: usize,
    /// Bytes of names that are text; the same again for names of clients.
    pub name_bytes: u64,
}

impl Default for Limits {
    /// 2^30 requests, 4 GiB of names.
    fn default() -> Self {
        Self { requests: 1 << 30, name_bytes: 4 << 30 }
    }
}

/// Reads a file.
///
/// *Errors*: a file that cannot be read, or is no trace; each says where.
pub fn read(path: &Path, options: &ReadOptions) -> Result<(Trace, ReadSummary), TraceError> {
    read_input(Input::open(path)?, options)
}

/// Reads what is open already.
///
/// *Errors*: as [`read`].
pub fn read_input(
    mut input: Input,
    options: &ReadOptions,
) -> Result<(Trace, ReadSummary), TraceError> {
    // A packed file that cannot be unpacked says so before any reader takes a part of it.
    input.head()?;
    let format = match options.format {
        Some(format) => format,
        None => detect(&mut input, options.columns.is_some())?,
    };
    if options.columns.is_some() && format != Format::Csv {
        return Err(TraceError::Looks {
            path: input.path().to_owned(),
            wanted: "a table, whose columns were given",
            looks: format!("the format {format}"),
            advice: "leave --columns out".to_owned(),
        });
    }
    let limits =
        Limits { requests: options.limits.requests.min(super::MAX_REQUESTS), ..options.limits };
    let (trace, mut told) = match format {
        Format::Compiled => compiled::read(input, &limits),
        Format::OracleGeneral => oracle_general::read(input, &limits),
        Format::Csv => csv::read(input, options.columns.as_ref(), &limits),
        Format::Log(format) => access_log::read(input, Some(format), &limits),
    }?;
    told.look_at(&trace);
    Ok((trace, told))
}

/// The format of a file; a text of which columns are known is a table.
fn detect(input: &mut Input, has_columns: bool) -> Result<Format, TraceError> {
    let path = input.path().to_owned();
    let name = path.file_name().map(|name| name.to_string_lossy().to_ascii_lowercase());
    let name = name.unwrap_or_default();
    let head = input.head()?;
    if head.is_empty() {
        return Err(TraceError::Empty { path, of: String::new() });
    }
    if compiled::is_compiled(head) {
        return Ok(Format::Compiled);
    }
    let name =
        [".gz", ".zst", ".zstd"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
    if name.contains(".oraclegeneral") {
        return Ok(Format::OracleGeneral);
    }
    if compiled::is_named_so(Path::new(name)) {
        return Ok(Format::Compiled);
    }
    if [".csv", ".tsv"].iter().any(|end| name.ends_with(end)) {
        return Ok(Format::Csv);
    }
    if is_text(head) {
        if has_columns || csv::is_named(head) {
            return Ok(Format::Csv);
        }
        // What other logs say of a cache is told from their columns, as of any table.
        let is_read = |format: &LogFormat| {
            *format == LogFormat::Json || Format::ALL.contains(&Format::Log(*format))
        };
        return Ok(LogFormat::of_text(head).filter(is_read).map_or(Format::Csv, Format::Log));
    }
    if oracle_general::is_plausible(head) {
        return Ok(Format::OracleGeneral);
    }
    if let Some(record) = oracle_general::falls_at(head) {
        return Err(TraceError::Looks {
            path,
            wanted: "a trace",
            looks: format!("records of oracleGeneral whose time falls at record {record}"),
            advice: "read them as such with `--format oracleGeneral`, which gives what comes too \
                     early the latest time so far"
                .to_owned(),
        });
    }
    Err(TraceError::Unknown { path, found: format!("`{}`", excerpt(&head[..head.len().min(32)])) })
}

/// Whether there is no byte that text does not have.
fn is_text(head: &[u8]) -> bool {
    !head.iter().any(|&byte| byte < b' ' && !byte.is_ascii_whitespace() && byte != 0x1b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Names;
    use plimsoll_units::failure::told;
    use std::io::Cursor;

    fn read_named(name: &str, bytes: &[u8]) -> Result<(Trace, ReadSummary), TraceError> {
        let input = Input::new(Cursor::new(bytes.to_vec()), Path::new(name), None)?;
        read_input(input, &ReadOptions::default())
    }

    fn trace() -> Trace {
        Trace::new(vec![0, 1, 0], Names::Numbers(vec![7, 8])).unwrap()
    }

    #[test]
    fn formats_are_told_apart() {
        let mut plt = Vec::new();
        compiled::write(&trace(), &mut plt).unwrap();
        let mut oracle = Vec::new();
        oracle_general::write(&trace(), &mut oracle, Path::new("t")).unwrap();
        let squid = b"1286536309.586 921 h TCP_MISS/200 507 GET http://h/a - DIRECT/h t\n";
        let common = b"h - - [10/Oct/2000:13:55:36 -0700] \"GET /a HTTP/1.0\" 200 2326\n";
        for (bytes, format) in [
            (&plt[..], "plt"),
            (&oracle, "oracleGeneral"),
            (b"7\n8\n7\n", "csv"),
            (squid, "squid"),
            (common, "common"),
        ] {
            for name in ["t", "t.bin", "t.gz"] {
                let (trace, told) = read_named(name, bytes).unwrap();
                assert_eq!(told.format.to_string(), format, "{name}");
                assert_eq!(told.lines, trace.len() as u64);
            }
        }
        assert_eq!(read_named("x.oracleGeneral.bin.zst", &oracle).unwrap().0.len(), 3);
    }

    #[test]
    fn names_decide_where_bytes_do_not() {
        for (name, wanted) in [
            ("t.plt", "a compiled trace"),
            ("t.oracleGeneral", "24 bytes"),
            ("t.csv.gz", "names the columns"),
        ] {
            let error = read_named(name, b"1,2\n3,4\n").unwrap_err().to_string();
            assert!(error.contains(wanted), "{error}");
        }
    }

    #[test]
    fn what_is_no_trace_is_told() {
        assert!(matches!(read_named("t", b""), Err(TraceError::Empty { .. })));
        let error = read_named("t", b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0").unwrap_err();
        assert!(matches!(error, TraceError::Unknown { .. }), "{error}");
        assert!(error.to_string().contains("ELF"), "{error}");
    }

    /// Rows may look like lines of a log where names say that they are none.
    #[test]
    fn names_of_columns_win_over_rows_like_a_log() {
        let rows = "1286536309 10 c /200 5 GET /a\n".repeat(9);
        let text = format!("time size client path ttl x key\n{rows}");
        let (trace, told) = read_named("t", text.as_bytes()).unwrap();
        assert_eq!((told.format, trace.len(), trace.distinct()), (Format::Csv, 9, 1));
    }

    #[test]
    fn columns_are_of_tables() {
        let mut plt = Vec::new();
        compiled::write(&trace(), &mut plt).unwrap();
        let input = Input::new(Cursor::new(plt), Path::new("t"), None).unwrap();
        let columns = Some("object".parse().unwrap());
        let options = ReadOptions { columns, ..ReadOptions::default() };
        let error = told(&read_input(input, &options).unwrap_err());
        assert!(error.contains("found the format plt") && error.contains("--columns"), "{error}");
    }

    #[test]
    fn a_time_that_falls_is_named() {
        let record = |second: u32, next: i64| {
            let mut record = second.to_le_bytes().to_vec();
            record.extend_from_slice(&[7; 12]);
            record.extend_from_slice(&next.to_le_bytes());
            record
        };
        let falls = [record(1, 3), record(9, -1), record(5, -1)].concat();
        let error = told(&read_named("t.bin", &falls).unwrap_err());
        assert!(
            error.contains("falls at record 2") && error.contains("--format oracle"),
            "{error}"
        );
        let options = ReadOptions { format: Some(Format::OracleGeneral), ..ReadOptions::default() };
        let input = Input::new(Cursor::new(falls), Path::new("t"), None).unwrap();
        assert_eq!(read_input(input, &options).unwrap().1.out_of_order, 1);
    }

    #[test]
    fn a_format_may_be_given() {
        let input = Input::new(Cursor::new(b"1,2\n3,4\n"), Path::new("t"), None).unwrap();
        let columns = Some("object,size".parse().unwrap());
        let options = ReadOptions { format: Some(Format::Csv), columns, ..ReadOptions::default() };
        let (trace, _) = read_input(input, &options).unwrap();
        assert_eq!(trace.footprint_bytes(), Some(6));
    }
}
