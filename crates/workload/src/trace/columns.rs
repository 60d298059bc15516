//! What the columns of a trace mean: their names decide, in the header or as they are given.
//!
//! | column | names |
//! | --- | --- |
//! | time | begins with `time`, `date`, `second`, `minute` or `hour`, or is `t` or `ts` |
//! | rate | has the word `rate`, `rps`, `qps` or `rpm` in it, or `per_s`, `per_min`, `per_h`, `/s` … |
//! | count | `count`, `requests`, `hits`, `calls`, `queries`, `messages`, `n`, `total` |
//!
//! A date-time needs no unit. A time in numbers has that of its name: `time_ms`, `time_us`,
//! `time_100ns`, `time_ns`, `minute…`, `hour…`, `time_d`; else see `clock`. A time column without a
//! rate or a count: each row is one request, unless another column may be a rate or a count:
//! `value`, as Grafana writes it, could be either, and so could the only other column where it
//! holds numbers.

use plimsoll_units::{ParseError, nearest};

use super::fields::{clean, fields};

const TIME: [&str; 5] = ["time", "date", "second", "minute", "hour"];
const COUNT: [&str; 10] = [
    "count", "counts", "requests", "request", "hits", "calls", "queries", "messages", "n", "total",
];
/// Names of numbers that do not say of what.
const NUMBERS: [&str; 10] =
    ["value", "values", "mean", "avg", "average", "sum", "min", "max", "median", "metric"];
const SECOND_NS: u64 = 1_000_000_000;
const WANTED: &str = "a header with a time and a rate or a count, such as time_s,rate or \
                      minute,requests";
const WANTED_GIVEN: &str = "columns such as time,rate or time_ms,-,count: a time, a rate or a \
                            count, and - for one that is not used";

/// What a row holds besides its time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value {
    /// A rate; requests per this many seconds, in that column.
    Rate { column: usize, seconds: f64 },
    /// The count of an interval, in that column.
    Count { column: usize },
    /// Nothing: the row is a request.
    Request,
}

/// What a header says.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Columns {
    pub(super) time: usize,
    /// The name of the time column, as it stands.
    pub(super) time_name: String,
    /// Nanoseconds of a time of 1, where the name of its column says so; `time` alone does not.
    pub(super) unit_ns: Option<u64>,
    pub(super) value: Value,
    pub(super) separator: char,
    /// The only column that is not the time, with its name, where that is neither a rate nor a
    /// count; not where the columns are given.
    pub(super) unknown: Option<(usize, String)>,
    /// How many columns are not used, where rows are requests.
    pub(super) others: usize,
}

impl Columns {
    /// The columns that a header names.
    pub(super) fn of(header: &str) -> Result<Self, ParseError> {
        let separator = separator(header);
        let shown: Vec<String> = fields(header, separator).map(str::to_owned).collect();
        let wrong = || ParseError::new(WANTED, header, 0, header.len());
        let mut columns = Self::of_names(&shown, separator)
            .ok_or_else(|| wrong().hint("the first line names the columns, one of them a time"))?;
        if columns.value != Value::Request {
            return Ok(columns);
        }
        let names = || shown.iter().map(|name| name.to_ascii_lowercase()).enumerate();
        let others = || names().filter(|(column, _)| *column != columns.time);
        // A slip of the pen must not turn a table of counts into one of single requests.
        let known = || COUNT.into_iter().filter(|name| name.len() > 3).chain(["rate"]);
        for (_, name) in others() {
            if let Some(meant) = nearest(&name, known()) {
                return Err(wrong().hint(format!("is `{name}` meant to be `{meant}`?")));
            }
        }
        if let Some((column, _)) = others().find(|(_, name)| NUMBERS.contains(&name.as_str())) {
            return Err(columns.neither(column, &shown[column], header));
        }
        columns.unknown = match others().collect::<Vec<_>>()[..] {
            [(column, _)] => Some((column, shown[column].clone())),
            _ => None,
        };
        Ok(columns)
    }

    /// The columns that a user gives, by the same names, `-` for one that is not used. `first` is
    /// the first line of the trace: its separator is that of the trace.
    pub(super) fn given(text: &str, first: &str) -> Result<Self, ParseError> {
        let names: Vec<String> = text.split(',').map(|name| name.trim().to_owned()).collect();
        let wrong = |found: &str, at| ParseError::new(WANTED_GIVEN, found, at, found.len());
        let mut at = 0;
        for name in &names {
            let lower = name.to_ascii_lowercase();
            let is_known = is_time(&lower) || rate_seconds(&lower).is_some() || is_count(&lower);
            if name != "-" && !is_known {
                return Err(wrong(name, at));
            }
            at += name.len() + 1;
        }
        Self::of_names(&names, separator(first)).ok_or_else(|| wrong(text, 0))
    }

    fn of_names(shown: &[String], separator: char) -> Option<Self> {
        let names: Vec<String> = shown.iter().map(|name| name.to_ascii_lowercase()).collect();
        let time = names.iter().position(|name| is_time(name))?;
        let others = || names.iter().enumerate().filter(|(column, _)| *column != time);
        let rate = others().find_map(|(column, name)| {
            rate_seconds(name).map(|seconds| Value::Rate { column, seconds })
        });
        let count = || others().find(|(_, name)| is_count(name));
        let value = rate.or_else(|| count().map(|(column, _)| Value::Count { column }));
        Some(Self {
            time,
            time_name: shown[time].clone(),
            unit_ns: unit_ns(&names[time]),
            value: value.unwrap_or(Value::Request),
            separator,
            unknown: None,
            others: names.len() - 1,
        })
    }

    /// Whether a line holds no row: where the time should be is none.
    pub(super) fn is_header(&self, line: &str) -> bool {
        let time = fields(line, self.separator).nth(self.time).unwrap_or_default();
        super::clock::Clock::of(time, self.unit_ns).is_none()
    }

    /// The fault of a column that may be a rate or a count.
    pub(super) fn neither(&self, column: usize, name: &str, header: &str) -> ParseError {
        let columns = |what: &str| {
            let mut names = vec!["-"; column.max(self.time) + 1];
            (names[self.time], names[column]) = ("time", what);
            names.join(",")
        };
        let wanted = "a rate or a count beside the time";
        let at = header.find(name).unwrap_or(0);
        ParseError::new(wanted, name, at, name.len()).hint(format!(
            "its name says neither: give `--columns {}` where it is a rate per second, \
             `--columns {}` where it is the requests of each interval, or `--columns {}` where \
             each row is one request",
            columns("rate"),
            columns("count"),
            columns("-")
        ))
    }
}

/// Looks at columns that a user gives, before there is a trace.
///
/// # Errors
/// A name that is no time, rate or count; no time at all.
pub fn check_columns(text: &str) -> Result<String, ParseError> {
    Columns::given(text, "").map(|_| text.to_owned())
}

/// What separates the fields of a table with this line.
fn separator(line: &str) -> char {
    [',', ';', '\t'].into_iter().find(|c| line.contains(*c)).unwrap_or(',')
}

/// Whether a name is that of a count.
pub(super) fn is_count(name: &str) -> bool {
    COUNT.contains(&clean(name).to_ascii_lowercase().as_str())
}

fn is_time(name: &str) -> bool {
    matches!(name, "t" | "ts") || TIME.iter().any(|known| name.starts_with(known))
}

/// The seconds of a rate's unit; none where the name is no rate. Whole words count: the tokens of
/// text are generated, and no rate.
fn rate_seconds(name: &str) -> Option<f64> {
    let name = name.replace('/', " per ");
    let words: Vec<&str> = name.split(|c: char| !c.is_alphanumeric()).collect();
    let unit = words.iter().position(|word| *word == "per").and_then(|per| words.get(per + 1));
    match unit.copied() {
        Some("s" | "sec" | "second") => return Some(1.0),
        Some("m" | "min" | "minute") => return Some(60.0),
        Some("h" | "hour") => return Some(3600.0),
        _ => {}
    }
    let has = |known: &[&str]| words.iter().any(|word| known.contains(word));
    has(&["rpm"]).then_some(60.0).or(has(&["rate", "rates", "rps", "qps"]).then_some(1.0))
}

/// Nanoseconds of the unit that a name says, if it does.
fn unit_ns(name: &str) -> Option<u64> {
    match name {
        name if name.ends_with("_100ns") => Some(100),
        name if name.ends_with("_ns") => Some(1),
        name if name.ends_with("_us") => Some(1_000),
        name if name.ends_with("_ms") => Some(1_000_000),
        name if name.starts_with("minute") || name.ends_with("_m") => Some(60 * SECOND_NS),
        name if name.starts_with("hour") || name.ends_with("_h") => Some(3600 * SECOND_NS),
        name if name.ends_with("_d") || name.ends_with("_days") => Some(24 * 3600 * SECOND_NS),
        name if name.starts_with("second") || name.ends_with("_s") => Some(SECOND_NS),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_decide() {
        let count = |column| Value::Count { column };
        let rate = |column, seconds| Value::Rate { column, seconds };
        for (header, time, unit_ns, value) in [
            ("minute_local,requests,imputed", 0, Some(60_000_000_000), count(1)),
            ("minute_utc,requests,bytes", 0, Some(60_000_000_000), count(1)),
            ("TIMESTAMP,ContextTokens,GeneratedTokens", 0, None, Value::Request),
            ("time_s,count", 0, Some(1_000_000_000), count(1)),
            ("time,rate", 0, None, rate(1, 1.0)),
            ("\"Hits\"; \"Time_ms\"", 1, Some(1_000_000), count(0)),
            ("bytes\trequests_per_min\thour", 2, Some(3_600_000_000_000), rate(1, 60.0)),
            ("t,rps,requests", 0, None, rate(1, 1.0)),
            ("time,requests/s", 0, None, rate(1, 1.0)),
            ("time,Rate per hour", 0, None, rate(1, 3600.0)),
        ] {
            let columns = Columns::of(header).unwrap();
            assert_eq!((columns.time, columns.unit_ns, columns.value), (time, unit_ns, value));
        }
        for header in ["a,b", "requests,bytes", "1,2", ""] {
            assert!(Columns::of(header).is_err(), "{header}");
        }
        let hint = Columns::of("time,reqests").unwrap_err().hint.unwrap();
        assert!(hint.contains("`requests`"), "{hint}");
    }

    #[test]
    fn a_number_of_what_is_not_guessed() {
        let hint = |header: &str| Columns::of(header).unwrap_err().hint.unwrap();
        assert!(hint("Time,Value").contains("`--columns time,rate`"));
        assert!(hint("Time,Value").contains("`--columns time,count`"));
        assert!(hint("host;mean;time").contains("`--columns -,rate,time`"));
        // What a column holds decides where its name says nothing.
        assert_eq!(Columns::of("time,A-series").unwrap().unknown, Some((1, "A-series".into())));
        assert_eq!(Columns::of("time,a,b").unwrap().unknown, None);
    }

    #[test]
    fn columns_are_given_by_the_names_of_headers() {
        let given = |text: &str| Columns::given(text, "1;2;3").unwrap();
        let columns = given("time_ms,-,rate");
        assert_eq!((columns.time, columns.unit_ns, columns.separator), (0, Some(1_000_000), ';'));
        assert_eq!(columns.value, Value::Rate { column: 2, seconds: 1.0 });
        assert_eq!(given("-,requests,time").value, Value::Count { column: 1 });
        assert_eq!(given("time").value, Value::Request);
        for (text, part) in [("rate", "rate"), ("time,foo", "foo"), ("", ""), ("time,,rate", "")] {
            let error = Columns::given(text, "").unwrap_err();
            assert_eq!(&text[error.at..error.at + error.len], part, "{text}");
        }
    }
}
