//! Flags for factors: which levels a factor has.

use plimsoll_units::nearest;

use crate::reading::error::Fault;
use crate::reading::source::Place;
use crate::reading::tree::{Entry, Node, Table, Value};
use crate::sections::constraint::Constraint;
use crate::sections::experiment::Experiment;

/// The name of the factor that a key is for, with quotes or without: `load.users` of
/// `factor."load.users"`.
pub(crate) fn factor_of(key: &str) -> Option<&str> {
    Some(key.strip_prefix("factor.")?.trim_matches('"'))
}

/// The levels that a flag at `place` names for a factor. Where the plan says what its levels set,
/// they are those of the plan that are named, in that order. Constraints say nothing any more of
/// levels that are not there.
///
/// # Errors
/// A level that such a factor does not have.
pub(crate) fn levels(
    root: &mut Table,
    factor: &str,
    flag: &str,
    place: Place,
) -> Result<Node, Box<Fault>> {
    let wanted = words(flag, &known(root, factor));
    constrain(root, factor, &wanted);
    let Some(levels) = table(root, "factor").and_then(|factors| table(factors, factor)) else {
        let level = |text| Node { value: Value::Text(text), place };
        let value = Value::List(wanted.into_iter().map(level).collect());
        return Ok(Node { value, place });
    };
    let found = wanted.iter().map(|level| levels.get(level).cloned().ok_or(level));
    let entries: Result<Vec<Entry>, &String> = found.collect();
    match entries {
        Ok(entries) => Ok(Node { value: Value::Table(Table { place, entries }), place }),
        Err(unknown) => Err(Box::new(no_level(factor, levels, unknown, place))),
    }
}

/// The levels that a plan has for a factor.
fn known(root: &Table, factor: &str) -> Vec<String> {
    match table(root, "factor").and_then(|factors| factors.get(factor)).map(|of| &of.node.value) {
        Some(Value::Table(levels)) => levels.entries.iter().map(|of| of.key.clone()).collect(),
        Some(Value::List(levels)) => levels.iter().filter_map(|of| of.value.level()).collect(),
        _ => Vec::new(),
    }
}

/// The levels in a text: one that the plan has, as it stands there or in quotes; else with commas
/// between, or as TOML has a list.
fn words(text: &str, known: &[String]) -> Vec<String> {
    let document = format!("of = {text}").parse::<toml_edit::DocumentMut>().ok();
    let quoted = document.as_ref().and_then(|document| document["of"].as_str());
    let whole = [Some(text.trim()), quoted].into_iter().flatten();
    if let Some(level) = whole.map(str::to_owned).find(|of| known.contains(of)) {
        return vec![level];
    }
    if let Some(level) = quoted {
        return vec![level.to_owned()];
    }
    let list = document.as_ref().and_then(|document| document["of"].as_array());
    let word = |of: &toml_edit::Value| match of.as_str() {
        Some(text) => text.to_owned(),
        None => of.to_string().trim().to_owned(),
    };
    match list {
        Some(list) => list.iter().map(word).collect(),
        None => text.split(',').map(|part| part.trim().to_owned()).collect(),
    }
}

/// Leaves out of the constraints what they say of other levels of a factor than these. One that
/// needs such a level stays: nothing fulfils it, which is told where it is read.
fn constrain(root: &mut Table, factor: &str, levels: &[String]) {
    let Some(Value::Table(experiment)) = value(root, Experiment::SECTION.path) else { return };
    let Some(Value::List(all)) = value(experiment, "constraints") else { return };
    all.retain_mut(|node| {
        let Value::Text(text) = &mut node.value else { return true };
        let Ok(mut constraint) = Constraint::parse(text) else { return true };
        if constraint.leave_out(factor, levels) {
            return false;
        }
        *text = constraint.to_string();
        true
    });
}

fn value<'t>(of: &'t mut Table, key: &str) -> Option<&'t mut Value> {
    Some(&mut of.get_mut(key)?.node.value)
}

fn table<'t>(of: &'t Table, key: &str) -> Option<&'t Table> {
    match &of.get(key)?.node.value {
        Value::Table(table) => Some(table),
        _ => None,
    }
}

fn no_level(factor: &str, levels: &Table, unknown: &str, place: Place) -> Fault {
    let known = || levels.entries.iter().map(|entry| entry.key.as_str());
    let near = nearest(unknown, known()).map(|near| format!("did you mean `{near}`?"));
    let all = || format!("its levels are {}", known().collect::<Vec<_>>().join(", "));
    Fault {
        message: format!("expected levels of `{factor}`, found `{unknown}`"),
        place,
        also: None,
        hint: Some(near.unwrap_or_else(all)),
    }
}
