//! What the columns of a trace mean; their names decide.
//!
//! | column | names |
//! | --- | --- |
//! | time | begins with `time`, `date`, `second`, `minute` or `hour`, or is `t` or `ts` |
//! | rate | has the word `rate`, `rps`, `qps` or `rpm` in it, or `per_s`, `per_min`, `per_h`, `/s` … |
//! | count | `count`, `requests`, `hits`, `calls`, `queries`, `messages`, `value`, `n` |
//!
//! A date-time needs no unit. A time in numbers has that of its name: `time_ms`, `time_us`,
//! `time_ns`, `minute…`, `hour…`; else seconds. A time column without a rate or a count: each row
//! is one request. Other columns are left alone.

use plimsoll_units::{ParseError, nearest};

const TIME: [&str; 5] = ["time", "date", "second", "minute", "hour"];
const COUNT: [&str; 12] = [
    "count", "counts", "requests", "request", "hits", "calls", "queries", "messages", "value",
    "values", "n", "total",
];
const SECOND_NS: u64 = 1_000_000_000;
const WANTED: &str = "a header with a time and a rate or a count, such as time_s,rate or \
                      minute,requests";

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
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Columns {
    pub(super) time: usize,
    /// Nanoseconds of a time of 1.
    pub(super) unit_ns: u64,
    /// Whether the name of the time column says so; `time` alone does not.
    pub(super) names_unit: bool,
    pub(super) value: Value,
    pub(super) separator: char,
}

impl Columns {
    pub(super) fn of(header: &str) -> Result<Self, ParseError> {
        let separator = [',', ';', '\t'].into_iter().find(|c| header.contains(*c)).unwrap_or(',');
        let names: Vec<String> =
            header.split(separator).map(|name| clean(name).to_ascii_lowercase()).collect();
        let wrong = || ParseError::new(WANTED, header, 0, header.len());
        let time = names
            .iter()
            .position(|name| is_time(name))
            .ok_or_else(|| wrong().hint("the first line names the columns, one of them a time"))?;
        let others = || names.iter().enumerate().filter(|(column, _)| *column != time);
        let value = others()
            .find_map(|(column, name)| {
                rate_seconds(name).map(|seconds| Value::Rate { column, seconds })
            })
            .or_else(|| {
                others().find(|(_, name)| is_count(name)).map(|(column, _)| Value::Count { column })
            });
        if value.is_none() {
            // A slip of the pen must not turn a table of counts into one of single requests.
            let known = || COUNT.into_iter().filter(|name| name.len() > 3).chain(["rate"]);
            for (_, name) in others() {
                if let Some(meant) = nearest(name, known()) {
                    return Err(wrong().hint(format!("is `{name}` meant to be `{meant}`?")));
                }
            }
        }
        let unit_ns = unit_ns(&names[time]);
        Ok(Self {
            time,
            unit_ns: unit_ns.unwrap_or(SECOND_NS),
            names_unit: unit_ns.is_some(),
            value: value.unwrap_or(Value::Request),
            separator,
        })
    }
}

/// A field without blanks and quotes around it.
pub(super) fn clean(field: &str) -> &str {
    let field = field.trim();
    field.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(field).trim()
}

/// Whether a name is that of a count.
pub(super) fn is_count(name: &str) -> bool {
    COUNT.contains(&name.to_ascii_lowercase().as_str())
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
        name if name.ends_with("_ns") => Some(1),
        name if name.ends_with("_us") => Some(1_000),
        name if name.ends_with("_ms") => Some(1_000_000),
        name if name.starts_with("minute") || name.ends_with("_m") => Some(60 * SECOND_NS),
        name if name.starts_with("hour") || name.ends_with("_h") => Some(3600 * SECOND_NS),
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
            ("minute_local,requests,imputed", 0, 60_000_000_000, count(1)),
            ("minute_utc,requests,bytes", 0, 60_000_000_000, count(1)),
            ("timestamp,value", 0, 1_000_000_000, count(1)),
            ("TIMESTAMP,ContextTokens,GeneratedTokens", 0, 1_000_000_000, Value::Request),
            ("time_s,count", 0, 1_000_000_000, count(1)),
            ("time,rate", 0, 1_000_000_000, rate(1, 1.0)),
            ("\"Hits\"; \"Time_ms\"", 1, 1_000_000, count(0)),
            ("bytes\trequests_per_min\thour", 2, 3_600_000_000_000, rate(1, 60.0)),
            ("t,rps,requests", 0, 1_000_000_000, rate(1, 1.0)),
            ("time,requests/s", 0, 1_000_000_000, rate(1, 1.0)),
            ("time,Rate per hour", 0, 1_000_000_000, rate(1, 3600.0)),
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
}
