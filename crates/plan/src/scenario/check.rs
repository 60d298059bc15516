//! What has to hold of an answer: `check`.

use plimsoll_units::{ParseError, duration};
use plimsoll_workload::scenario::{Check, Checks, Encoding, JsonTest, take};

use crate::reading::tree::{Entry, Node, Table, Value};
use crate::scenario::keys::{BOUNDS, CHECK, MESSAGE};
use crate::scenario::known::Known;
use crate::scenario::{body, refuse_unknown, switch, table};
use crate::sections::status::Statuses;

/// Reads the tests, in the file's order.
pub(super) fn read(known: &mut Known<'_>, node: &Node) -> Option<Checks> {
    let of = table(known.reading, node, "a table such as { status = 200 }")?;
    refuse_unknown(known.reading, of, &CHECK, "`check`");
    let mut tests = Vec::new();
    let mut is_right = true;
    for entry in &of.entries {
        is_right &= test(known, entry, &mut tests).is_some();
    }
    is_right.then_some(Checks { tests })
}

/// Reads what a message is, in the file's order: of a table, in which other keys stand beside.
pub(super) fn of_message(known: &mut Known<'_>, of: &Table) -> Option<Checks> {
    let mut tests = Vec::new();
    let mut is_right = true;
    let names = MESSAGE.names();
    for entry in of.entries.iter().filter(|entry| names.contains(&entry.key.as_str())) {
        is_right &= test(known, entry, &mut tests).is_some();
    }
    is_right.then_some(Checks { tests })
}

fn test(known: &mut Known<'_>, entry: &Entry, out: &mut Vec<Check>) -> Option<()> {
    let (reading, node) = (known.reading, &entry.node);
    match entry.key.as_str() {
        "status" => {
            let statuses = reading.parsed(node, "statuses such as 200", Statuses::parse)?;
            out.push(Check::Status(statuses.ranges().to_vec()));
        }
        "contains" => {
            for node in several(node) {
                out.push(Check::Contains(known.text(node, Encoding::Raw)?));
            }
        }
        "not_contains" => {
            for node in several(node) {
                out.push(Check::NotContains(known.text(node, Encoding::Raw)?));
            }
        }
        "matches" => {
            let regex = reading.parsed(node, "a regular expression", take::compile)?;
            out.push(Check::Matches(regex));
        }
        "json" => {
            let of = table(reading, node, "a table of JSON Pointers and values")?;
            for entry in &of.entries {
                out.push(json(known, entry)?);
            }
        }
        "header" => {
            let of = table(reading, node, "a table of headers and texts")?;
            for entry in &of.entries {
                let has = known.text(&entry.node, Encoding::Raw)?;
                out.push(Check::Header { name: entry.key.clone(), has });
            }
        }
        "time" => out.push(Check::Time(reading.parsed(node, TIME, time)?)),
        // Said to be unknown already.
        _ => {}
    }
    Some(())
}

/// The values of a list; a single one is a list of one.
fn several(node: &Node) -> Vec<&Node> {
    match &node.value {
        Value::List(nodes) => nodes.iter().collect(),
        _ => vec![node],
    }
}

const TIME: &str = "a bound such as <300ms";

fn time(text: &str) -> Result<u64, ParseError> {
    let Some(rest) = text.trim().strip_prefix('<') else {
        let error = ParseError::new(TIME, text, 0, text.len());
        return Err(error.hint(format!("write <{}", text.trim())));
    };
    let at = text.len() - rest.len();
    let most = duration(rest.trim()).map_err(|error| error.shifted(at))?;
    Ok(u64::try_from(most.as_nanos()).unwrap_or(u64::MAX))
}

fn json(known: &mut Known<'_>, entry: &Entry) -> Option<Check> {
    let reading = known.reading;
    if let Err(error) = take::check_pointer(&entry.key) {
        reading.fault(entry.key_place, error.to_string(), error.hint.clone());
        return None;
    }
    let is = match &entry.node.value {
        Value::Table(of) if is_bounds(of) => bounds(known, entry, of)?,
        _ => JsonTest::Is(body::json(known, &entry.node, 0)?.to_text()),
    };
    Some(Check::Json { pointer: entry.key.clone(), is })
}

/// Whether a table says bounds and not a value.
fn is_bounds(table: &Table) -> bool {
    BOUNDS.keys.iter().any(|key| table.get(key.name).is_some())
}

fn bounds(known: &mut Known<'_>, entry: &Entry, of: &Table) -> Option<JsonTest> {
    let reading = known.reading;
    refuse_unknown(reading, of, &BOUNDS, "a test of a JSON value");
    let number = |key: &str| {
        of.get(key).map(|entry| {
            let number = entry.node.value.number();
            if number.is_none() {
                reading.wrong_type(&entry.node, "a number", None);
            }
            number
        })
    };
    let (min, max) = (number("min"), number("max"));
    let exists = of.get("exists").map_or(Some(true), |entry| switch(reading, &entry.node))?;
    if !exists && (min.is_some() || max.is_some()) {
        let message = "expected no bounds of a value that is not to be there";
        reading.fault(entry.node.place, message, None);
        return None;
    }
    let (min, max) =
        (min.map_or(Some(None), |of| of.map(Some))?, max.map_or(Some(None), |of| of.map(Some))?);
    if let (Some(min), Some(max)) = (min, max)
        && min > max
    {
        reading.fault(entry.node.place, format!("expected `min` at most `max`, {max}"), None);
        return None;
    }
    Some(JsonTest::Within { min, max, exists })
}
