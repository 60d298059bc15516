//! Messages over a WebSocket: steps that send and await them, and the rules for the others.

use plimsoll_units::ParseError;
use plimsoll_workload::scenario::{
    Broadcast, Checks, Compress, Encoding, Expect, Form, Name, NameKind, OnFailure, Reconnect,
    Rule, Say, Since1970, Taking, Text, Upgrade, Verb, is_token, take as source,
};

use crate::reading::Reading;
use crate::reading::source::Place;
use crate::reading::tree::{Entry, Node, Table, Value};
use crate::scenario::keys::{BROADCAST, EXPECT, MESSAGE, RECONNECT, RULE};
use crate::scenario::known::Known;
use crate::scenario::{
    ask, check, is_name, narrow, one_of, refuse_beside, refuse_unknown, table, take,
};
use crate::takes::{Takes, word};

/// The code of a connection that has done what it was for (RFC 6455, section 7.4.1).
const NORMAL: u16 = 1000;
/// The most messages that one entry of `expect` may await.
pub(super) const MOST_MESSAGES: u64 = 1_000_000_000;

/// Reads what a step offers that opens a WebSocket.
pub(super) fn upgrade(known: &mut Known<'_>, step: &Table) -> Option<Upgrade> {
    let reading = known.reading;
    let name = match step.get("as") {
        None => String::new(),
        Some(entry) => {
            let name = reading.line(&entry.node)?.to_owned();
            if !is_name(&name) {
                let message = "expected a name for a connection of letters, digits, _ and -";
                reading.fault(entry.node.place, message, None);
                return None;
            }
            name
        }
    };
    let at = known.channels.iter().position(|of| *of == name).unwrap_or_else(|| {
        known.channels.push(name);
        known.channels.len() - 1
    });
    let channel = narrow(reading, step.place, at + 1, "connections")?;
    let protocols = match step.get("protocols") {
        None => Vec::new(),
        Some(entry) => protocols(known, &entry.node)?,
    };
    let compress = match step.get("compress") {
        None => Compress::default(),
        Some(entry) => word::<Compress>().read(reading, &entry.node)?,
    };
    let reconnect = match step.get("reconnect") {
        None => None,
        Some(entry) => reconnect(known, &entry.node)?,
    };
    Some(Upgrade { channel, protocols, compress, reconnect })
}

/// Reads how a WebSocket is opened again that is lost: `true`, or the bounds of the waits.
fn reconnect(known: &mut Known<'_>, node: &Node) -> Option<Option<Reconnect>> {
    const FIRST_NS: u64 = 500_000_000;
    const MOST_NS: u64 = 30_000_000_000;
    let reading = known.reading;
    if let Value::Switch(is_on) = node.value {
        let (first_ns, most_ns) = (FIRST_NS, MOST_NS);
        return Some(is_on.then(|| Reconnect { first_ns, most_ns, place: known.place() }));
    }
    let of =
        table(reading, node, "true, or a table such as { first = \"500ms\", most = \"30s\" }")?;
    refuse_unknown(reading, of, &RECONNECT, "`reconnect`");
    let bound = |key: &str| match of.get(key) {
        None => Some(None),
        Some(entry) => reading.parsed(&entry.node, "a duration such as 500ms", wait).map(Some),
    };
    let (first, most) = (bound("first"), bound("most"));
    let (first, most) = (first?, most?);
    let first_ns = first.unwrap_or(FIRST_NS.min(most.unwrap_or(FIRST_NS)));
    let most_ns = most.unwrap_or(MOST_NS.max(first_ns));
    if most_ns < first_ns {
        let (first, most) =
            (plimsoll_units::show_duration(first_ns), plimsoll_units::show_duration(most_ns));
        let place = of.get("most").map_or(node.place, |entry| entry.node.place);
        let message = format!("expected at least `first`, which is {first}, found {most}");
        let hint = "waits are from nothing to `first`, then to twice that, up to `most`";
        reading.fault(place, message, Some(hint.to_owned()));
        return None;
    }
    Some(Some(Reconnect { first_ns, most_ns, place: known.place() }))
}

/// A time between attempts, nanoseconds: one of no length would be no pause.
pub(super) fn wait(text: &str) -> Result<u64, ParseError> {
    const LEAST_NS: u64 = 1_000_000;
    let time = plimsoll_units::duration(text)?;
    let ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    if ns >= LEAST_NS {
        return Ok(ns);
    }
    Err(ParseError::new("a duration of 1ms or more", text, 0, text.len()))
}

/// The protocols within the messages that are offered.
fn protocols(known: &mut Known<'_>, node: &Node) -> Option<Vec<Text>> {
    const WANTED: &str = "the name of a protocol such as graphql-transport-ws";
    let reading = known.reading;
    let nodes = match &node.value {
        Value::List(nodes) => nodes.iter().collect(),
        _ => vec![node],
    };
    let mut protocol = |node: &Node| {
        let text = known.text(node, Encoding::Raw)?;
        // What users fill in is looked at when they do.
        let Some(literal) = text.as_literal() else { return Some(text) };
        let literal = String::from_utf8_lossy(literal).into_owned();
        if is_token(&literal) {
            return Some(text);
        }
        let wrong = |_: &str| Err(ParseError::new(WANTED, &literal, 0, literal.len()));
        reading.parsed::<Text>(node, WANTED, wrong)
    };
    let read: Vec<_> = nodes.into_iter().map(&mut protocol).collect();
    read.into_iter().collect()
}

/// The rules hold from here on: what they take may be there.
pub(super) fn rules_may_set(known: &mut Known<'_>) {
    let numbers: Vec<u16> = known.ruled.iter().filter_map(|name| known.variable(name)).collect();
    known.set.extend(numbers);
}

/// The connection that a step or a rule is about: that of `on`, or the one without a name.
pub(super) fn channel(known: &Known<'_>, of: &Table, place: Place) -> Option<u16> {
    let reading = known.reading;
    let (name, place) = match of.get("on") {
        None => ("", place),
        Some(entry) => (reading.line(&entry.node)?, entry.node.place),
    };
    if let Some(at) = known.channels.iter().position(|of| of == name) {
        return narrow(reading, place, at + 1, "connections");
    }
    let (message, hint) = match (name, known.channels.as_slice()) {
        ("", []) => (
            "expected a step that connects before, found none".to_owned(),
            "for example connect = \"/ws\"".to_owned(),
        ),
        ("", named) => {
            let named = named.join("`, `");
            ("expected `on`: connections have names here".to_owned(), format!("there is `{named}`"))
        }
        (name, _) => (
            format!("expected a connection that a step before has opened, found `{name}`"),
            format!("connect = \"/ws\" and as = \"{name}\""),
        ),
    };
    reading.fault(place, message, Some(hint));
    None
}

/// Reads a step that sends a message, awaits some, or both.
pub(super) fn say(known: &mut Known<'_>, step: &Table, verb: &Entry) -> Option<Say> {
    let reading = known.reading;
    refuse_beside(reading, step, verb, &format!("a step with `{}`", verb.key));
    let sends = verb.key != "expect";
    let text = match sends {
        true => Some(known.text(&verb.node, Encoding::Raw)?),
        false => None,
    };
    let form = form(reading, step);
    let channel = channel(known, step, verb.key_place);
    let name = name(known, step, verb);
    let on_failure = step
        .get("on_failure")
        .map_or(Some(known.on_failure), |entry| word::<OnFailure>().read(reading, &entry.node));
    known.knows_sent = sends;
    let expects = match step.get("expect") {
        None => Some(Vec::new()),
        Some(entry) => expects(known, &entry.node),
    };
    let subscribes = match (verb.key.as_str(), step.get("key")) {
        ("subscribe", Some(entry)) => known.text(&entry.node, Encoding::Raw).map(Some),
        ("subscribe", None) => Some(Some(Text::default())),
        _ => Some(None),
    };
    known.knows_sent = false;
    let expects = expects?;
    if verb.key == "subscribe" && expects.is_empty() {
        let hint = "for example expect = [ { json = { \"/op\" = \"subscribed\" } } ]";
        let message = "expected `expect` beside `subscribe`: its answer makes a subscriber";
        reading.fault(verb.key_place, message, Some(hint.to_owned()));
        return None;
    }
    let (stepwise, counts) = ask::uses(text.iter(), &known.data);
    Some(Say {
        name: name?,
        channel: channel?,
        text,
        form: form?,
        expects: expects.into(),
        subscribes: subscribes?,
        on_failure: on_failure?,
        stepwise,
        counts,
    })
}

/// The number of the step's name: its verb, where none is given.
fn name(known: &mut Known<'_>, step: &Table, verb: &Entry) -> Option<u16> {
    let (name, what, place) = match step.get("name") {
        None => (verb.key.clone(), verb.key.clone(), verb.key_place),
        Some(entry) => {
            let what = match &verb.node.value {
                Value::Text(text) => format!("{} {}", verb.key, plimsoll_units::truncate(text, 80)),
                _ => verb.key.clone(),
            };
            (known.reading.line(&entry.node)?.to_owned(), what, entry.node.place)
        }
    };
    known.name(&name, Name { name: name.clone(), kind: NameKind::Step }, &what, place)
}

/// Reads what is expected: a table, or several in a list.
fn expects(known: &mut Known<'_>, node: &Node) -> Option<Vec<Expect>> {
    let nodes: Vec<&Node> = match &node.value {
        Value::List(nodes) => nodes.iter().collect(),
        _ => vec![node],
    };
    if nodes.is_empty() {
        known.reading.fault(node.place, "expected at least one message, found none", None);
    }
    let read: Vec<_> = nodes.into_iter().map(|node| expect(known, node)).collect();
    read.into_iter().collect()
}

fn expect(known: &mut Known<'_>, node: &Node) -> Option<Expect> {
    let reading = known.reading;
    let wanted = "a message such as { json = { \"/op\" = \"ok\" }, within = \"5s\" }";
    let of = table(reading, node, wanted)?;
    refuse_unknown(reading, of, &EXPECT, "`expect`");
    let when = check::of_message(known, of);
    let takes = match of.get("take") {
        None => Some(Vec::new()),
        Some(entry) => of_message(known, entry),
    };
    let count = match of.get("count") {
        None => Some(1),
        Some(entry) => reading.whole(&entry.node, 1..=MOST_MESSAGES),
    };
    let within_ns = match of.get("within") {
        None => Some(None),
        Some(entry) => {
            let read =
                reading.parsed(&entry.node, "a duration such as 5s", plimsoll_units::duration);
            read.map(|time| Some(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)))
        }
    };
    let name = match of.get("name") {
        None => Some(None),
        Some(entry) => message_name(known, entry, NameKind::Message).map(Some),
    };
    Some(Expect {
        name: name?,
        when: when?,
        count: u32::try_from(count?).unwrap_or(u32::MAX),
        within_ns: within_ns?,
        takes: takes?,
    })
}

/// The number of the name of messages.
fn message_name(known: &mut Known<'_>, entry: &Entry, kind: NameKind) -> Option<u16> {
    let name = known.reading.line(&entry.node)?.to_owned();
    let what = match kind {
        NameKind::Broadcast => "a broadcast",
        _ => "a message",
    };
    known.name(&name, Name { name: name.clone(), kind }, what, entry.node.place)
}

/// What is taken, if it can be taken from a message, which has neither headers nor cookies.
fn of_message(known: &mut Known<'_>, entry: &Entry) -> Option<Vec<Taking>> {
    let takes = take::read(known, &entry.node)?;
    if takes.iter().all(|taking| taking.needs_body) {
        return Some(takes);
    }
    let message = "expected json, regex or css: a message has neither headers nor cookies";
    known.reading.fault(entry.key_place, message, None);
    None
}

/// Reads a step that closes a WebSocket.
pub(super) fn close(known: &mut Known<'_>, step: &Table, verb: &Entry) -> Option<Verb> {
    refuse_beside(known.reading, step, verb, "a step that closes");
    let code = code(known, &verb.node);
    let channel = channel(known, step, verb.key_place);
    Some(Verb::Close { channel: channel?, code: code? })
}

/// The code by which a connection is closed: `true`, or one that a client may send.
fn code(known: &Known<'_>, node: &Node) -> Option<u16> {
    let wanted = "true, or a code: 1000, 1001, or 3000 to 4999";
    match &node.value {
        Value::Switch(true) => Some(NORMAL),
        Value::Whole(1000 | 1001 | 3000..=4999) => {
            let number = known.reading.whole(node, 1000..=4999)?;
            u16::try_from(number).ok()
        }
        _ => {
            known.reading.wrong_type(node, wanted, None);
            None
        }
    }
}

/// Reads the rules for messages that no step expects.
pub(super) fn rules(known: &mut Known<'_>, entry: &Entry) -> Option<Vec<Rule>> {
    let Value::List(nodes) = &entry.node.value else {
        let hint = "[[on_message]] and when = { json = { \"/op\" = \"news\" } }".to_owned();
        known.reading.wrong_type(&entry.node, "rules, each [[on_message]]", Some(hint));
        return None;
    };
    if known.channels.is_empty() {
        let message = "expected a step that connects, found none";
        let hint = "rules are for messages over a WebSocket: connect = \"/ws\"".to_owned();
        known.reading.fault(entry.key_place, message, Some(hint));
        return None;
    }
    // What is not set when a message comes is found out then.
    known.set = (0..known.variables.len()).filter_map(|at| u16::try_from(at).ok()).collect();
    let read: Vec<_> = nodes.iter().map(|node| rule(known, node)).collect();
    read.into_iter().collect()
}

fn rule(known: &mut Known<'_>, node: &Node) -> Option<Rule> {
    let reading = known.reading;
    let of = table(reading, node, "a rule, which is a table")?;
    refuse_unknown(reading, of, &RULE, "[[on_message]]");
    let channel = match of.get("on") {
        None => Some(None),
        Some(entry) => channel(known, of, entry.key_place).map(Some),
    };
    let when = match of.get("when") {
        None => Some(Checks::default()),
        Some(entry) => {
            let table = table(reading, &entry.node, "a table such as { json = { … } }")?;
            refuse_unknown(reading, table, &MESSAGE, "`when`");
            check::of_message(known, table)
        }
    };
    let takes = match of.get("take") {
        None => Some(Vec::new()),
        Some(entry) => of_message(known, entry),
    };
    let reply = match of.get("send") {
        None => Some(None),
        Some(entry) => known.text(&entry.node, Encoding::Raw).map(Some),
    };
    let form = form(reading, of);
    if let Some(entry) = of.get("binary").filter(|_| of.get("send").is_none()) {
        reading.fault(entry.key_place, "`binary` goes with `send`", None);
    }
    let broadcast = match of.get("broadcast") {
        None => Some(None),
        Some(entry) => broadcast(known, &entry.node).map(Some),
    };
    let close = match of.get("close") {
        None => Some(None),
        Some(entry) => code(known, &entry.node).map(Some),
    };
    let kind = match of.get("broadcast") {
        None => NameKind::Message,
        Some(_) => NameKind::Broadcast,
    };
    let name = match of.get("name") {
        Some(entry) => message_name(known, entry, kind),
        None => {
            let (name, what) = match kind {
                NameKind::Broadcast => ("broadcast", "a broadcast"),
                _ => ("message", "a message"),
            };
            known.name(name, Name { name: name.to_owned(), kind }, what, node.place)
        }
    };
    let (stepwise, counts) = ask::uses(reply.iter().flatten(), &known.data);
    Some(Rule {
        name: name?,
        channel: channel?,
        when: when?,
        takes: takes?,
        reply: reply?,
        form: form?,
        stepwise,
        counts,
        broadcast: broadcast?,
        close: close?,
    })
}

/// What a message is sent as: text, where nothing is said.
fn form(reading: &Reading, of: &Table) -> Option<Form> {
    let Some(entry) = of.get("binary") else { return Some(Form::Text) };
    match &entry.node.value {
        Value::Switch(true) => Some(Form::Binary),
        Value::Switch(false) => Some(Form::Text),
        Value::Text(text) if text == "base64" => Some(Form::Base64),
        _ => {
            let message = "expected true, false or \"base64\"";
            reading.fault(entry.node.place, message, Some("binary = true".to_owned()));
            None
        }
    }
}

/// Reads where something stands in a message.
pub(super) fn pointer(reading: &Reading, entry: &Entry) -> Option<String> {
    let check = |text: &str| source::check_pointer(text).map(|()| text.to_owned());
    reading.parsed(&entry.node, "a JSON Pointer such as /at", check)
}

/// Reads what is measured of a broadcast.
fn broadcast(known: &Known<'_>, node: &Node) -> Option<Broadcast> {
    const PUBLISHED: [(&str, Since1970); 4] = [
        ("published_ns", Since1970::Ns),
        ("published_us", Since1970::Us),
        ("published_ms", Since1970::Ms),
        ("published_s", Since1970::S),
    ];
    let reading = known.reading;
    let wanted = "a table such as { published_ns = \"/at\", sequence = \"/seq\" }";
    let of = table(reading, node, wanted)?;
    refuse_unknown(reading, of, &BROADCAST, "`broadcast`");
    if of.entries.is_empty() {
        let message = "expected at least one of published_ns, sequence, key and skipped";
        reading.fault(node.place, message, None);
        return None;
    }
    let published = match one_of(reading, of, &PUBLISHED.map(|(key, _)| key)) {
        None => None,
        Some(entry) => {
            let unit = PUBLISHED.iter().find(|(key, _)| *key == entry.key);
            Some((pointer(reading, entry)?, unit.map_or(Since1970::Ns, |(_, unit)| *unit)))
        }
    };
    let at = |key: &str| match of.get(key) {
        None => Some(None),
        Some(entry) => pointer(reading, entry).map(Some),
    };
    Some(Broadcast {
        published,
        sequence: at("sequence")?,
        key: at("key")?,
        skipped: at("skipped")?,
    })
}
