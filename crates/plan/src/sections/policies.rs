//! `[policy.LABEL]`: policies to be compared, each with its kind and parameters.
//!
//! Which kinds there are and what they take is known on a floor above: the vocabulary has it, and
//! faults come back with the parameter they are of.

use plimsoll_units::nearest;

use crate::reading::Reading;
use crate::reading::source::Place;
use crate::reading::tree::{Entry, Table, Value};
use crate::section::Section;
use crate::sections::pool::{MOST_INSTANCES, Pool};
use crate::takes::{Count, Line, Small};
use crate::write::Writer;

section! {
    /// A policy that decides how many instances there are, with the parameters of its kind.
    ["policy.LABEL"]
    pub(crate) struct PolicyKeys {
        /// Which policy; its parameters stand beside.
        kind: String { Line("policy"), required "`kind`", "threshold" }
        /// How many instances there are at the beginning.
        start: Option<u32> { START, said "the pool's", "8" }
    }
}

const START: Small = Count(1..=MOST_INSTANCES);

/// The most policies of a plan.
const MOST: usize = 1000;
/// The most characters of a label.
const MOST_LABEL: usize = 64;

/// A policy as the plan has it: what its parameters mean is not known here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyPlan {
    /// The name that the plan gives it.
    pub label: String,
    /// Its kind.
    pub kind: String,
    /// How many instances there are at the beginning; without it the pool's number.
    pub start: Option<u32>,
    /// Parameters by name, as text.
    pub parameters: Vec<(String, String)>,
}

/// A policy, and where it stands.
pub(crate) struct ReadPolicy<'a> {
    pub(crate) plan: PolicyPlan,
    table: &'a Table,
    place: Place,
}

/// Reads all policies.
pub(crate) fn read<'a>(reading: &'a Reading, root: &'a Table) -> Vec<ReadPolicy<'a>> {
    let Some(Entry { node, .. }) = root.get("policy") else { return Vec::new() };
    let Value::Table(all) = &node.value else {
        let hint = "[policy.calm] and kind = \"threshold\"";
        reading.wrong_type(node, "a table [policy.LABEL] for each policy", Some(hint.to_owned()));
        return Vec::new();
    };
    if all.entries.len() > MOST {
        reading.fault(node.place, format!("expected at most {MOST} policies"), None);
        return Vec::new();
    }
    all.entries.iter().filter_map(|entry| read_one(reading, entry)).collect()
}

fn read_one<'a>(reading: &'a Reading, entry: &'a Entry) -> Option<ReadPolicy<'a>> {
    let Value::Table(table) = &entry.node.value else {
        let hint = format!("[policy.{}] and kind = \"threshold\"", entry.key);
        reading.wrong_type(&entry.node, "a table of a policy", Some(hint));
        return None;
    };
    let is_label = (1..=MOST_LABEL).contains(&entry.key.chars().count());
    if !is_label || entry.key.chars().any(char::is_control) {
        let message = format!("expected a label of 1 to {MOST_LABEL} characters on one line");
        reading.fault(entry.key_place, message, None);
        return None;
    }
    let place = if entry.key_place.span.is_some() { entry.key_place } else { table.place };
    if table.get("kind").is_none() {
        let message = format!("expected `kind` in [policy.{}], found none", entry.key);
        reading.fault(place, message, Some("for example kind = \"threshold\"".to_owned()));
        return None;
    }
    // What other keys mean the kind says.
    let keys = PolicyKeys::read_keys(&Section::within(reading, table, PolicyKeys::SECTION))?;
    let is_own = |of: &&Entry| !PolicyKeys::SECTION.has(&of.key);
    let parameters = table.entries.iter().filter(is_own);
    let parameters = parameters.map(|of| Some((of.key.clone(), reading.level(&of.node)?)));
    let parameters = parameters.collect::<Option<_>>()?;
    let PolicyKeys { kind, start } = keys;
    check_parameters(reading, &entry.key, &kind, table);
    let plan = PolicyPlan { label: entry.key.clone(), kind, start, parameters };
    Some(ReadPolicy { plan, table, place })
}

/// Notes a kind that is none, parameters that it does not have, and values that are none of theirs.
fn check_parameters(reading: &Reading, label: &str, kind: &str, table: &Table) {
    let kinds = reading.vocabulary.map_or(&[][..], |known| &known.policies);
    let note = |place: Place, message: String, hint: Option<String>| {
        reading.fault(place, format!("policy `{label}`: {message}"), hint);
    };
    let meant = |near: Option<&str>| near.map(|near| format!("did you mean {near}?"));
    let names = || kinds.iter().map(|kind| kind.name);
    let Some(of) = kinds.iter().find(|known| known.name == kind) else {
        if let Some(entry) = table.get("kind").filter(|_| !kinds.is_empty()) {
            let known = names().collect::<Vec<_>>().join(", ");
            let message = format!("expected a policy, one of {known}, found `{kind}`");
            note(entry.node.place, message, meant(nearest(kind, names())));
        }
        return;
    };
    for entry in table.entries.iter().filter(|of| !PolicyKeys::SECTION.has(&of.key)) {
        let name = &entry.key;
        let Some(parameter) = of.parameters.iter().find(|known| known.name == name) else {
            let message = format!("`{kind}` has no parameter `{name}`");
            let near = nearest(name, of.parameters.iter().map(|known| known.name));
            let has_place = entry.key_place.span.is_some();
            let place = if has_place { entry.key_place } else { entry.node.place };
            note(place, message, meant(near));
            continue;
        };
        // What is no single value has been noted.
        let text = entry.node.value.level();
        if let Some(Err(error)) = text.map(|text| parameter.takes.check(&text)) {
            note(entry.node.place, format!("`{name}`: {error}"), error.hint);
        }
    }
}

impl ReadPolicy<'_> {
    /// Notes a beginning that the pool does not allow.
    pub(crate) fn check_start(&self, reading: &Reading, pool: &Pool) {
        let (least, most) = (pool.least, pool.most);
        if let Some(start) = self.plan.start.filter(|start| !(least..=most).contains(start)) {
            let place = self.table.get("start").map_or(self.place, |entry| entry.node.place);
            let message = format!("expected `start` from {least} to {most}, found {start}");
            reading.fault(place, message, Some("these are `min` and `max` of [pool]".to_owned()));
        }
    }
}

pub(crate) fn write(policies: &[PolicyPlan], out: &mut Writer) {
    for policy in policies {
        out.section_of("policy", &policy.label);
        let (kind, start) = (policy.kind.clone(), policy.start);
        PolicyKeys { kind, start }.write_keys(out, &[]);
        for (name, text) in &policy.parameters {
            out.text(name, text);
        }
    }
}
