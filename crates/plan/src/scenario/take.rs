//! What is taken from an answer: `take`.

use plimsoll_workload::scenario::Taking;
use plimsoll_workload::scenario::take::{Take, Which};

use crate::reading::tree::{Entry, Node, Value};
use crate::scenario::keys::{SOURCES, TAKE};
use crate::scenario::known::Known;
use crate::scenario::{one_of, refuse_unknown, table};

/// Reads what is taken; from then on it is set.
pub(super) fn read(known: &mut Known<'_>, node: &Node) -> Option<Vec<Taking>> {
    let of = table(known.reading, node, "a table of variables")?;
    let mut takes = Vec::new();
    let mut is_right = true;
    for entry in &of.entries {
        let taking = one(known, entry);
        // One that is wrong is set all the same: what follows is no fault of its own.
        let number = known.variable(&entry.key);
        known.set.extend(number);
        is_right &= taking.is_some();
        takes.extend(taking);
    }
    is_right.then_some(takes)
}

fn one(known: &mut Known<'_>, entry: &Entry) -> Option<Taking> {
    let reading = known.reading;
    let variable = known.variable(&entry.key);
    let wanted = "a table such as { css = \"input[name=token]\", attribute = \"value\" }";
    let of = table(reading, &entry.node, wanted)?;
    refuse_unknown(reading, of, &TAKE, "`take`");
    let Some(source) = one_of(reading, of, &SOURCES) else {
        let hint = format!("for example take.{} = {{ json = \"/id\" }}", entry.key);
        let message = "expected one of json, regex, css, header and cookie, found none";
        reading.fault(entry.node.place, message, Some(hint));
        return None;
    };
    let attribute = of.get("attribute");
    if let Some(attribute) = attribute.filter(|_| source.key != "css") {
        let message = format!("`attribute` goes with css, not with {}", source.key);
        reading.fault(attribute.key_place, message, None);
        return None;
    }
    let attribute = match attribute {
        Some(entry) => Some(reading.line(&entry.node)?.to_owned()),
        None => None,
    };
    let node = &source.node;
    let text = |what: &str| reading.parsed(node, what, |text| Ok(text.to_owned()));
    let mut take = match source.key.as_str() {
        "json" => reading.parsed(node, "a JSON Pointer such as /id", Take::json)?,
        "regex" => reading.parsed(node, "a regular expression", Take::regex)?,
        "css" => {
            let parse = |text: &str| Take::css(text, attribute.as_deref());
            reading.parsed(node, "a CSS selector", parse)?
        }
        "header" => Take::header(&text("the name of a header")?),
        _ => Take::cookie(&text("the name of a cookie")?),
    };
    if let Some(which) = of.get("which") {
        take = take.which(self::which(known, &which.node)?);
    }
    if let Some(default) = of.get("default") {
        take = take.default(value(known, &default.node)?);
    }
    let place = known.place();
    let needs_body = !["header", "cookie"].contains(&source.key.as_str());
    Some(Taking { variable: variable?, take, needs_body, place })
}

fn which(known: &Known<'_>, node: &Node) -> Option<Which> {
    let reading = known.reading;
    match &node.value {
        Value::Whole(_) => {
            let number = reading.whole(node, 1..=u64::from(u32::MAX))?;
            u32::try_from(number).ok().map(Which::Number)
        }
        _ => reading.parsed(node, "a number, `last` or `random`", Which::parse),
    }
}

/// A value that stands for what is not found.
fn value(known: &Known<'_>, node: &Node) -> Option<serde_json::Value> {
    match &node.value {
        Value::Text(text) => Some(text.as_str().into()),
        Value::Whole(number) => Some((*number).into()),
        Value::Real(number) => Some((*number).into()),
        Value::Switch(on) => Some((*on).into()),
        _ => {
            known.reading.wrong_type(node, "a text, a number or a switch", None);
            None
        }
    }
}
