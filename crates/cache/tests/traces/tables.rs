//! Tables of any columns, separators and units: read as they are meant, or refused, or said; never
//! taken for lines that are all different.

use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::Path;

use plimsoll_cache::trace::csv::is_lookup;
use plimsoll_cache::trace::input::Input;
use plimsoll_cache::trace::read::{ReadOptions, read_input};
use plimsoll_cache::trace::{ReadSummary, Trace, TraceError};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

fn read(text: &str, columns: Option<&str>) -> Result<(Trace, ReadSummary), TraceError> {
    let input = Input::new(Cursor::new(text.as_bytes().to_vec()), Path::new("t.txt"), None)?;
    let columns = columns.map(|columns| columns.parse().expect("columns"));
    read_input(input, &ReadOptions { columns, ..ReadOptions::default() })
}

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Time,
    Object,
    Path,
    Size,
    Client,
    Host,
    Operation,
    Other(usize),
}

const OTHERS: [&str; 5] = ["op_count", "key_size", "size (bytes)", "timestamp (ms)", "status"];

const OPERATIONS: [&str; 7] = ["GET", "gets", "Read", "PUT", "DELETE", "HEAD", "set"];
const SEPARATORS: [&str; 7] = [",", ";", "\t", " ", "   ", " \t", ", "];

/// Words of text that is no table; some are names of columns.
const WORDS: [&str; 9] = ["once", "upon", "time", "key", "the", "id", "17", "a:b", "/x"];

/// One row, whatever columns a table has of it.
#[derive(Debug, Clone)]
struct TableRow {
    object: u8,
    host: u8,
    client: u8,
    operation: &'static str,
    since: u64,
}

/// How times are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Clock {
    /// The suffix of the name, the least that a number is, and how many make a second.
    Number(&'static str, u64, u64),
    Date,
    Digits,
}

const CLOCKS: [Clock; 9] = [
    Clock::Number("", 0, 1),
    Clock::Number("_s", 0, 1),
    Clock::Number("_ms", 0, 1_000),
    Clock::Number("_us", 5, 1_000_000),
    Clock::Number("", 1_454_345_164, 1),
    Clock::Number("", 1_454_345_164_500, 1_000),
    Clock::Number("", 1_454_345_164_500_000, 1_000_000),
    Clock::Date,
    Clock::Digits,
];

#[derive(Debug, Clone)]
struct Table {
    columns: Vec<Kind>,
    separator: &'static str,
    clock: Clock,
    hashed: bool,
    rows: Vec<TableRow>,
}

fn table() -> impl Strategy<Value = Table> {
    let asked = (0u8..6, 0u8..3, 0u8..3, select(&OPERATIONS[..]), 0u64..90).prop_map(
        |(object, host, client, operation, since)| TableRow {
            object,
            host,
            client,
            operation,
            since,
        },
    );
    let kinds = vec![
        Kind::Time,
        Kind::Size,
        Kind::Client,
        Kind::Host,
        Kind::Operation,
        Kind::Other(0),
        Kind::Other(1),
        Kind::Other(2),
        Kind::Other(3),
        Kind::Other(4),
    ];
    let object = select(&[Kind::Object, Kind::Path][..]);
    let columns = (subsequence(kinds, 0..7), object)
        .prop_map(|(mut columns, object)| {
            columns.push(object);
            columns
        })
        .prop_shuffle();
    let format = (columns, select(&SEPARATORS[..]), select(&CLOCKS[..]), any::<bool>());
    (format, vec(asked, 1..60)).prop_map(|((columns, separator, clock, hashed), rows)| Table {
        columns,
        separator,
        clock,
        hashed,
        rows,
    })
}

impl Table {
    fn has(&self, kind: Kind) -> bool {
        self.columns.contains(&kind)
    }

    fn is_between_blanks(&self) -> bool {
        self.separator.trim().is_empty() && !self.separator.contains('\t')
    }

    /// Names with blanks cannot stand between blanks.
    fn name(&self, kind: Kind) -> String {
        let name = match kind {
            Kind::Time => match self.clock {
                Clock::Number(suffix, ..) => format!("timestamp{suffix}"),
                Clock::Date | Clock::Digits => "timestamp".to_owned(),
            },
            Kind::Object => "object".to_owned(),
            Kind::Path => "path".to_owned(),
            Kind::Size => "Size".to_owned(),
            Kind::Client => "client".to_owned(),
            Kind::Host => "host".to_owned(),
            Kind::Operation => "op".to_owned(),
            Kind::Other(number) => OTHERS[number].to_owned(),
        };
        if self.is_between_blanks() { name.replace(' ', "") } else { name }
    }

    fn field(&self, kind: Kind, asked: &TableRow, second: u64) -> String {
        match kind {
            Kind::Time => match self.clock {
                Clock::Number(_, from, unit) => (from + second * unit).to_string(),
                Clock::Date => {
                    format!(
                        "2026-07-01T{:02}:{:02}:{:02}Z",
                        second / 3600,
                        second / 60 % 60,
                        second % 60
                    )
                }
                Clock::Digits => {
                    format!("20260701{:02}{:02}{:02}", second / 3600, second / 60 % 60, second % 60)
                }
            },
            Kind::Object => format!("key-{}", asked.object),
            Kind::Path => format!("/{}", asked.object),
            Kind::Size => size(asked).to_string(),
            Kind::Client => format!("c{}", asked.client),
            Kind::Host => format!("h{}.example", asked.host),
            Kind::Operation => asked.operation.to_owned(),
            Kind::Other(number) => (number + 1).to_string(),
        }
    }

    fn text(&self) -> String {
        let names: Vec<String> = self.columns.iter().map(|&kind| self.name(kind)).collect();
        let mut text = if self.hashed { "# ".to_owned() } else { String::new() };
        text += &names.join(self.separator);
        text.push('\n');
        let mut second = 0;
        for asked in &self.rows {
            second += asked.since;
            let fields: Vec<String> =
                self.columns.iter().map(|&kind| self.field(kind, asked, second)).collect();
            text += &fields.join(self.separator);
            text.push('\n');
        }
        text
    }

    /// Objects of hosts of their own, where hosts are not clients.
    fn object(&self, asked: &TableRow) -> (u8, u8) {
        let of_host = self.has(Kind::Host) && self.has(Kind::Path);
        (if of_host { asked.host } else { 0 }, asked.object)
    }

    /// The look-ups, each with its second.
    fn lookups(&self) -> Vec<(&TableRow, u64)> {
        let mut second = 0;
        let all = self.rows.iter().map(|asked| {
            second += asked.since;
            (asked, second)
        });
        let counts =
            |asked: &TableRow| !self.has(Kind::Operation) || is_lookup(asked.operation.as_bytes());
        all.filter(|(asked, _)| counts(asked)).collect()
    }
}

/// The same for all requests to an object, whatever its host.
fn size(asked: &TableRow) -> u64 {
    10 + u64::from(asked.object)
}

fn dense<T: Ord>(all: impl Iterator<Item = T>) -> Vec<u32> {
    let mut known = BTreeMap::new();
    all.map(|one| {
        let next = u32::try_from(known.len()).expect("few");
        *known.entry(one).or_insert(next)
    })
    .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn a_table_is_read_as_it_is_meant(table in table()) {
        let text = table.text();
        let wanted = table.lookups();
        let read = read(&text, None);
        let known = table.columns.iter().filter(|kind| !matches!(kind, Kind::Other(_))).count();
        let blanks_alone = table.is_between_blanks() && table.columns.len() > 1 && known < 2;
        if wanted.is_empty() || blanks_alone {
            // Nothing to read, or names that may as well be a sentence.
            prop_assert!(read.is_err(), "{text}");
            return Ok(());
        }
        let (trace, told) = read.map_err(|error| TestCaseError::fail(format!("{error}: {text}")))?;
        let objects = dense(wanted.iter().map(|(asked, _)| table.object(asked)));
        prop_assert_eq!(trace.requests(), &objects[..], "{}", text);
        if table.has(Kind::Time) {
            let seconds: Vec<u32> =
                wanted.iter().map(|(_, at)| u32::try_from(at - wanted[0].1).unwrap()).collect();
            prop_assert_eq!(trace.seconds(), Some(&seconds[..]), "{}", text);
        }
        let sizes = trace.sizes().map(|sizes| sizes.of(0));
        let first = table.has(Kind::Size).then(|| size(wanted[0].0));
        prop_assert_eq!(sizes, first, "{}", text);
        let clients = if table.has(Kind::Client) {
            Some(dense(wanted.iter().map(|(asked, _)| asked.client)))
        } else if table.has(Kind::Host) && !table.has(Kind::Path) {
            Some(dense(wanted.iter().map(|(asked, _)| asked.host)))
        } else {
            None
        };
        prop_assert_eq!(trace.clients(), clients.as_deref(), "{}", text);
        // Everything that is not in the trace is counted, and every column not read is named.
        let left_out = (table.rows.len() - wanted.len()) as u64;
        prop_assert_eq!((told.operations.sum(), told.unreadable), (left_out, 0));
        prop_assert_eq!(told.lines, trace.len() as u64 + left_out + told.empty);
        let warnings = told.warnings().join("\n");
        for kind in &table.columns {
            let is_read = match kind {
                Kind::Other(_) => false,
                Kind::Host => table.has(Kind::Path) || !table.has(Kind::Client),
                _ => true,
            };
            let named = told.passed_over.contains(&table.name(*kind));
            prop_assert_eq!(named, !is_read, "{:?}: {}", kind, warnings);
            let is_said = warnings.contains(&format!("`{}`", table.name(*kind)));
            prop_assert!(is_read || is_said, "{:?}: {}", kind, warnings);
        }
        for asked in &table.rows {
            let left = !is_lookup(asked.operation.as_bytes());
            let is_told = told.operations.of(asked.operation) > 0;
            prop_assert_eq!(is_told, left && table.has(Kind::Operation));
            let is_said = warnings.contains(&format!(" of {}", asked.operation));
            prop_assert!(!is_told || is_said, "{}: {}", asked.operation, warnings);
        }
        // What has no unit is told with the one that it was taken to have.
        let is_told = matches!(table.clock, Clock::Number("", ..) | Clock::Digits);
        let is_said = warnings.contains("times are taken for");
        prop_assert_eq!(is_said, is_told && table.has(Kind::Time));
    }

    /// Columns given by the user: the same rows without names.
    #[test]
    fn given_columns_are_taken(table in table()) {
        let text = table.text();
        let rows = text.split_once('\n').unwrap().1;
        let words = table.columns.iter().map(|kind| match kind {
            Kind::Other(_) | Kind::Operation => "-".to_owned(),
            kind => table.name(*kind),
        });
        let words = words.collect::<Vec<_>>().join(",");
        let (trace, told) = read(rows, Some(&words))
            .map_err(|error| TestCaseError::fail(format!("{error}: {words} {rows}")))?;
        // Without the operation every row counts.
        let objects = dense(table.rows.iter().map(|asked| table.object(asked)));
        prop_assert_eq!(trace.requests(), &objects[..], "{} {}", words, rows);
        prop_assert_eq!((told.operations.sum(), told.unreadable), (0, 0));
    }

    /// Text that is no table is refused, or it is said that it asks for nothing twice.
    #[test]
    fn text_is_not_taken_for_objects(
        lines in vec(vec(select(&WORDS[..]), 1..7), 3..40),
        separator in select(&[" ", "  ", " | ", "|", ": ", " = ", "\t- "][..]),
        end in select(&["\n", "\r\n", "\r"][..]),
    ) {
        let text: String = lines
            .iter()
            .enumerate()
            .map(|(number, words)| format!("{}{separator}{number}{end}", words.join(separator)))
            .collect();
        if let Ok((trace, told)) = read(&text, None) {
            let all_new = trace.len() > 2 && trace.distinct() as usize == trace.len();
            prop_assert!(!all_new || told.nearly_all_new.is_some(), "{text}");
            prop_assert!(told.unreadable * 10 <= told.lines);
            prop_assert!(trace.len() <= 2 || !all_new || !told.warnings().is_empty(), "{text}");
        }
    }
}
