//! The top of a scenario's file: servers, variables, data files, what is called, and the steps.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_units::ParseError;
use plimsoll_workload::scenario::unpack::KEEP;
use plimsoll_workload::scenario::{
    Data, Each, Encoding, Held, Host, OnFailure, Parts, RowOrder, Scenario, Text,
};

use crate::reading::Reading;
use crate::reading::tree::{Entry, Node, Table, Value};
use crate::scenario::keys::{CALLED, DATA, TOP};
use crate::scenario::known::{Known, RESERVED};
use crate::scenario::{
    WrittenScenario, ask, clock, exchange, flow, is_name, narrow, refuse_unknown, step, table,
};
use crate::takes::{Takes, word};

/// Reads the file.
pub(super) fn read<'a>(
    reading: &'a Reading,
    root: &'a Table,
    written: &'a WrittenScenario<'a>,
) -> Option<Scenario> {
    refuse_unknown(reading, root, &TOP, "a scenario");
    let mut known = nothing(reading, written);
    let node = |key: &str| root.get(key).map(|entry| &entry.node);
    let title = node("name").and_then(|node| reading.line(node)).map(str::to_owned);
    if let Some(node) = node("on_failure") {
        known.on_failure = word::<OnFailure>().read(reading, node).unwrap_or_default();
    }
    if let Some(node) = node("keep") {
        known.keep = keep(reading, node).unwrap_or(known.keep);
    }
    if let Some(node) = node("follow") {
        known.follow = ask::follow(reading, node).unwrap_or_default();
    }
    hosts(&mut known, root);
    data(&mut known, root);
    variables(&mut known, root);
    scenarios(&mut known, root);
    let label = root.get("label").map(|entry| label(&mut known, entry));
    let Some(steps) = root.get("step") else {
        let hint = "for example [[step]] and get = \"/\"".to_owned();
        reading.fault(root.place, "expected a [[step]], found none", Some(hint));
        return None;
    };
    let rules = root.get("on_message");
    if let Some(entry) = rules {
        let mut taken = Vec::new();
        flow::taken(&entry.node, &mut taken);
        known.ruled = taken.iter().map(|entry| entry.key.clone()).collect();
    }
    let steps = step::list(&mut known, &steps.node);
    let rules = rules.map_or(Some(Vec::new()), |entry| exchange::rules(&mut known, entry));
    let clock = root.get("clock").map(|entry| clock::read(&mut known, entry));
    let (steps, rules) = (steps?, rules?);
    let clock = match clock {
        None => None,
        Some(read) => Some(read?),
    };
    let label = match label {
        None => None,
        Some(read) => Some(read?),
    };
    unused(&known);
    Some(Scenario::new(Parts {
        title,
        steps,
        called: known.called.into_iter().map(|(_, steps)| steps).collect(),
        names: known.names,
        variables: known.variables,
        data: known.data,
        places: known.places,
        hosts: known.hosts,
        files: known.files,
        secrets: known.secrets.into_inner(),
        rules,
        channels: known.channels,
        clock,
        label,
    }))
}

/// What is known before anything is read.
fn nothing<'a>(reading: &'a Reading, written: &'a WrittenScenario<'a>) -> Known<'a> {
    Known {
        reading,
        written,
        variables: Vec::new(),
        set: BTreeSet::new(),
        data: Vec::new(),
        unread: BTreeSet::new(),
        hosts: Vec::new(),
        names: Vec::new(),
        named: BTreeMap::new(),
        scenarios: BTreeMap::new(),
        called: Vec::new(),
        seen: BTreeMap::new(),
        within: Vec::new(),
        places: 0,
        on_failure: OnFailure::default(),
        keep: KEEP as u64,
        follow: 0,
        files: Vec::new(),
        channels: Vec::new(),
        ruled: BTreeSet::new(),
        knows_sent: false,
        secrets: Default::default(),
    }
}

/// Reads how much of an answer is kept.
pub(super) fn keep(reading: &Reading, node: &Node) -> Option<u64> {
    const MOST: u64 = 1 << 30;
    let size = reading.parsed(node, "a size such as 1MiB", plimsoll_units::size)?;
    if (1..=MOST).contains(&size) {
        return Some(size);
    }
    reading.wrong_type(node, "a size from 1 byte to 1 GiB", None);
    None
}

/// Reads the label of a user, which is filled in when he arrives.
fn label(known: &mut Known<'_>, entry: &Entry) -> Option<Text> {
    let reading = known.reading;
    reading.line(&entry.node)?;
    let text = known.text(&entry.node, Encoding::Raw)?;
    let (stepwise, _) = ask::uses(std::iter::once(&text), &known.data);
    if !stepwise.is_empty() {
        let message = "expected a data file with a row for each user, found one for each step";
        let hint = "a user has one label: each = \"user\"";
        reading.fault(entry.node.place, message, Some(hint.to_owned()));
        return None;
    }
    Some(text)
}

fn hosts(known: &mut Known<'_>, root: &Table) {
    let reading = known.reading;
    let Some(entry) = root.get("hosts") else { return };
    let Value::List(nodes) = &entry.node.value else {
        reading.wrong_type(
            &entry.node,
            "a list of hosts",
            Some("hosts = [\"api.example\"]".into()),
        );
        return;
    };
    for node in nodes {
        let host = reading.parsed(node, "a host such as api.example", host);
        known.hosts.extend(host);
    }
    if known.hosts.len() > 1000 {
        reading.fault(entry.key_place, "expected at most 1000 hosts, found more", None);
    }
}

/// Reads `api.example`, `api.example:8443` or `https://api.example`.
fn host(text: &str) -> Result<Host, ParseError> {
    let (scheme, rest) = match text.split_once("://") {
        Some(("http" | "ws", rest)) => (Some("http".to_owned()), rest),
        Some(("https" | "wss", rest)) => (Some("https".to_owned()), rest),
        _ => (None, text),
    };
    let shift = text.len() - rest.len();
    let wanted = "a host such as api.example, api.example:8443 or https://api.example";
    let wrong = |error: ParseError| ParseError::new(wanted, rest, shift, rest.len()).hint_of(error);
    if let Some(at) = rest.find(['/', '?', '#', '@', '{']) {
        let found = &rest[at..];
        let error = ParseError::new(wanted, found, shift + at, found.len());
        return Err(error.hint("a host has no path, and no user"));
    }
    let url = format!("http://{rest}/");
    let parts = plimsoll_workload::request::Url::parse(&url).map_err(wrong)?;
    let has_port = rest.rsplit_once(':').is_some_and(|(_, port)| !port.contains(']'));
    Ok(Host { scheme, host: parts.host, port: has_port.then_some(parts.port) })
}

/// The hint of an inner error on an outer one.
trait HintOf {
    fn hint_of(self, inner: ParseError) -> Self;
}

impl HintOf for ParseError {
    fn hint_of(self, inner: ParseError) -> Self {
        match inner.hint {
            Some(hint) => self.hint(hint),
            None => self,
        }
    }
}

/// Whether a name may be given; a fault where it may not.
fn may_be_named(known: &Known<'_>, entry: &Entry, what: &str) -> bool {
    let (reading, name) = (known.reading, entry.key.as_str());
    if RESERVED.contains(&name) {
        let message = format!("expected a name for {what}, found `{name}`, which means itself");
        let hint = format!("give it another name: {name} is known to every text");
        reading.fault(entry.key_place, message, Some(hint));
        return false;
    }
    if !is_name(name) {
        let message = format!("expected a name for {what} of letters, digits, _ and -");
        reading.fault(entry.key_place, message, None);
        return false;
    }
    true
}

fn data(known: &mut Known<'_>, root: &Table) {
    let reading = known.reading;
    let Some(all) = root.get("data") else { return };
    let Some(all) = table(reading, &all.node, "a table [data.NAME]") else { return };
    for entry in &all.entries {
        let Some(of) = table(reading, &entry.node, "a table [data.NAME]") else { continue };
        if !may_be_named(known, entry, "a data file") {
            continue;
        }
        refuse_unknown(reading, of, &DATA, &format!("[data.{}]", entry.key));
        let read = |key: &str| of.get(key).map(|entry| &entry.node);
        let each = read("each").and_then(|node| word::<Each>().read(reading, node));
        let order = read("order").and_then(|node| word::<RowOrder>().read(reading, node));
        let (each, order) = (each.unwrap_or_default(), order.unwrap_or_default());
        if (each, order) == (Each::Step, RowOrder::Once)
            && let Some(node) = read("order")
        {
            let message = "`once` goes with each = \"user\"";
            let hint = "the rows of a user's steps hang on no other user: in-order or random";
            reading.fault(node.place, message, Some(hint.into()));
        }
        let Some(node) = read("file") else {
            let message = format!("expected `file` in [data.{}], found none", entry.key);
            let hint = "for example file = \"accounts.csv\"".to_owned();
            reading.fault(entry.key_place, message, Some(hint));
            known.unread.insert(entry.key.clone());
            continue;
        };
        let Some(bytes) = open(known, node) else {
            known.unread.insert(entry.key.clone());
            continue;
        };
        match Data::read(&entry.key, &bytes) {
            Err(error) => {
                reading.fault(node.place, error.to_string(), None);
                known.unread.insert(entry.key.clone());
            }
            Ok(mut data) => {
                (data.each, data.order, data.place) = (each, order, known.place());
                known.data.push(data);
            }
        }
    }
    narrow(reading, root.place, known.data.len(), "data files");
}

/// The bytes of a file that a value names.
pub(super) fn open(known: &mut Known<'_>, node: &Node) -> Option<Vec<u8>> {
    let reading = known.reading;
    let name = reading.line(node)?;
    let path = reading.folder().join(name);
    known.files.push(path.clone());
    match (known.written.open)(&path) {
        Ok(bytes) => Some(bytes),
        Err(error) => {
            let message = format!("expected a file that can be read, found `{name}`: {error}");
            reading.fault(node.place, message, None);
            None
        }
    }
}

/// Variables: those with a value at the beginning, then those that steps take.
fn variables(known: &mut Known<'_>, root: &Table) {
    let reading = known.reading;
    if let Some(vars) = root.get("vars")
        && let Some(vars) = table(reading, &vars.node, "a table of variables")
    {
        for entry in &vars.entries {
            let Some(number) = variable(known, entry) else { continue };
            known.set.insert(number);
            if let Some(held) = held(known, &entry.node) {
                known.variables[usize::from(number)].1 = held;
            }
        }
    }
    let mut taken = Vec::new();
    flow::taken_in(root, &mut taken);
    for entry in taken {
        variable(known, entry);
    }
}

/// The number of a variable; a new one where it is named first.
fn variable(known: &mut Known<'_>, entry: &Entry) -> Option<u16> {
    if let Some(number) = known.variable(&entry.key) {
        return Some(number);
    }
    if !may_be_named(known, entry, "a variable") {
        return None;
    }
    if known.data.iter().any(|data| data.name == entry.key) {
        let message = format!(
            "expected a name for one thing, found `{}` for a variable and a data file",
            entry.key
        );
        let hint = Some("give one of them another name".to_owned());
        known.reading.fault(entry.key_place, message, hint);
        return None;
    }
    let number = narrow(known.reading, entry.key_place, known.variables.len(), "variables")?;
    known.variables.push((entry.key.clone(), Held::Nothing));
    Some(number)
}

/// What a variable holds at the beginning.
fn held(known: &mut Known<'_>, node: &Node) -> Option<Held> {
    match &node.value {
        Value::Whole(number) => Some(Held::Json(number.to_string().into())),
        Value::Real(number) => Some(Held::Json(number.to_string().into())),
        Value::Switch(on) => Some(Held::Json(on.to_string().into())),
        _ => {
            let text = known.text(node, Encoding::Raw)?.constant();
            if text.is_none() {
                let message = "expected a text that is the same for all users";
                let hint = "only {{env.NAME}} and {{role.NAME.address}} may stand in [vars]";
                known.reading.fault(node.place, message, Some(hint.into()));
            }
            Some(Held::Text(text?.into()))
        }
    }
}

/// The scenarios that steps may call.
fn scenarios<'a>(known: &mut Known<'a>, root: &'a Table) {
    let reading = known.reading;
    let Some(all) = root.get("scenario") else { return };
    let Some(all) = table(reading, &all.node, "a table [scenario.NAME]") else { return };
    for entry in &all.entries {
        let Some(of) = table(reading, &entry.node, "a table [scenario.NAME]") else { continue };
        if !is_name(&entry.key) {
            let message = "expected a name for a scenario of letters, digits, _ and -";
            reading.fault(entry.key_place, message, None);
            continue;
        }
        refuse_unknown(reading, of, &CALLED, &format!("[scenario.{}]", entry.key));
        if of.get("steps").is_none() {
            let message = format!("expected `steps` in [scenario.{}], found none", entry.key);
            reading.fault(entry.key_place, message, None);
        }
        known.scenarios.insert(entry.key.clone(), of);
    }
}

/// Notes scenarios that nothing calls.
fn unused(known: &Known<'_>) {
    for (name, table) in &known.scenarios {
        if !known.called.iter().any(|(called, _)| called == name) {
            let message = format!("expected a step with call = \"{name}\", found none");
            let place = table.get("steps").map_or(table.place, |entry| entry.key_place);
            known.reading.fault(place, message, Some("leave the scenario out".to_owned()));
        }
    }
}
