//! Scenarios: what a user does, step by step, as a person writes it (docs/scenarios.md).
//!
//! A scenario is a file of its own. What is wrong with it is said with its place and a caret, as of
//! a plan, before any load: unknown keys, two verbs in a step, variables that no earlier step can
//! have set, servers that are not among `hosts`, a name for two different things.

mod ask;
mod body;
mod check;
mod clock;
mod exchange;
mod flow;
mod keys;
mod known;
mod names;
mod schema;
mod shape;
mod step;
mod take;
mod top;

use std::io;
use std::path::Path;

pub use schema::schema;

use plimsoll_units::nearest;
use plimsoll_workload::scenario::Scenario;

use crate::reading::Reading;
use crate::reading::error::PlanErrors;
use crate::reading::secret::{key_is_secret, text_is_secret};
use crate::reading::source::{Place, Source};
use crate::reading::standing::Places;
use crate::reading::tree::{self, Entry, Node, Table, Value};
use crate::roles::Environment;

/// A scenario as it was written, and what it may ask of where it is read.
#[derive(Clone, Copy)]
pub struct WrittenScenario<'a> {
    /// The text of its file.
    pub text: &'a str,
    /// What errors call it, and where the files are that it names.
    pub origin: &'a str,
    /// What its `{{env.NAME}}` are filled in by.
    pub environment: Environment,
    /// Where the roles of the plan stand; without it each has a stand-in.
    pub places: Option<&'a Places>,
    /// Reads a file that it names.
    pub open: &'a dyn Fn(&Path) -> io::Result<Vec<u8>>,
}

/// Reads a scenario. What it asks of the target is bound to one by [`Scenario::at`].
///
/// # Errors
/// All that is wrong with it, up to twenty faults, each with its place.
pub fn read_scenario(of: &WrittenScenario<'_>) -> Result<Scenario, PlanErrors> {
    let mut source = Source::file(of.origin, of.text);
    let root = tree::read(&mut source);
    if let Ok(root) = &root {
        // A variable may be called `token`: only texts that are secrets themselves are hidden.
        source.secrets.clear();
        find_secrets(root, &mut source.secrets);
    }
    let reading = Reading::new(source, &[]);
    let folder = Path::new(of.origin).parent().unwrap_or(Path::new(""));
    reading.set_folder(folder.to_path_buf());
    let root = match root {
        Ok(root) => root,
        Err(fault) => {
            reading.note(*fault);
            return Err(reading.into_errors());
        }
    };
    let scenario = top::read(&reading, &root, of);
    match scenario {
        Some(scenario) if !reading.is_faulty() => Ok(scenario),
        _ => Err(reading.into_errors()),
    }
}

/// Collects the spans of texts that are secrets by their keys or by what they say, but for those
/// that only name where one comes from.
fn find_secrets(table: &Table, spans: &mut Vec<(usize, usize)>) {
    for entry in &table.entries {
        if ["take", "check", "when", "expect", "answer"].contains(&entry.key.as_str()) {
            continue;
        }
        find_in(&entry.node, key_is_secret(&entry.key), spans);
    }
}

fn find_in(node: &Node, by_key: bool, spans: &mut Vec<(usize, usize)>) {
    match &node.value {
        Value::Table(table) => find_secrets(table, spans),
        Value::List(nodes) => nodes.iter().for_each(|node| find_in(node, by_key, spans)),
        Value::Text(text) if !text.contains("{{") && (by_key || text_is_secret(text)) => {
            spans.extend(node.place.span);
        }
        _ => {}
    }
}

/// Notes the keys of a table that are none of its own, in `what`.
fn refuse_unknown(reading: &Reading, table: &Table, of: &shape::Table, what: &str) {
    refuse_others(reading, table, &of.names(), what);
}

/// Notes the keys of a step that are none of those of its verb.
fn refuse_beside(reading: &Reading, step: &Table, verb: &Entry, what: &str) {
    let known = keys::verb(&verb.key).map(shape::Verb::names);
    refuse_others(reading, step, &known.unwrap_or_default(), what);
}

fn refuse_others(reading: &Reading, table: &Table, known: &[&str], what: &str) {
    for entry in &table.entries {
        if !known.contains(&entry.key.as_str()) {
            unknown(reading, entry, known, what);
        }
    }
}

/// Notes a key that is none of those that are `known` in `what`.
fn unknown(reading: &Reading, entry: &Entry, known: &[&str], what: &str) {
    let hint = match nearest(&entry.key, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("known here: {}", known.join(", ")),
    };
    let key = entry.key.escape_debug();
    reading.fault(entry.key_place, format!("unknown key `{key}` in {what}"), Some(hint));
}

/// The one key of several that a table has; a second one is a fault.
fn one_of<'t>(reading: &Reading, table: &'t Table, keys: &[&str]) -> Option<&'t Entry> {
    let mut given = table.entries.iter().filter(|entry| keys.contains(&entry.key.as_str()));
    let first = given.next()?;
    for other in given {
        exclude(reading, first, other, "keep one of them");
    }
    Some(first)
}

/// Notes that two keys exclude each other.
fn exclude(reading: &Reading, first: &Entry, other: &Entry, hint: &str) {
    reading.note(crate::reading::error::Fault {
        message: format!("`{}` and `{}` exclude each other", first.key, other.key),
        place: other.key_place,
        also: Some((format!("`{}` is given here", first.key), first.key_place)),
        hint: Some(hint.to_owned()),
    });
}

/// The table that a value is.
fn table<'t>(reading: &Reading, node: &'t Node, wanted: &str) -> Option<&'t Table> {
    match &node.value {
        Value::Table(table) => Some(table),
        _ => {
            reading.wrong_type(node, wanted, None);
            None
        }
    }
}

/// Whether a text may be the name of a variable, a data file or a scenario.
fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
}

/// A switch.
fn switch(reading: &Reading, node: &Node) -> Option<bool> {
    match &node.value {
        Value::Switch(on) => Some(*on),
        _ => {
            reading.wrong_type(node, "true or false", None);
            None
        }
    }
}

/// The number of something of which there may be 65,536.
fn narrow(reading: &Reading, place: Place, count: usize, what: &str) -> Option<u16> {
    let number = u16::try_from(count).ok();
    if number.is_none() {
        reading.fault(place, format!("expected at most 65536 {what}, found more"), None);
    }
    number
}
