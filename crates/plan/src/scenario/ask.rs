//! A step that asks: where, with what, and what has to come of it.

use plimsoll_units::ParseError;
use plimsoll_workload::request::{Url, parse_header};
use plimsoll_workload::scenario::{
    Ask, Check, Checks, Data, Each, Encoding, Name, NameKind, OnFailure, Text, Value as Hole,
    Writing,
};

use crate::reading::Reading;
use crate::reading::tree::{Entry, Node, Table, Value};
use crate::scenario::known::Known;
use crate::scenario::step::METHODS;
use crate::scenario::{body, check, exchange, refuse_beside, table, take, top};
use crate::takes::{Takes, word};

/// The most redirects that may be followed.
pub(super) const MOST_REDIRECTS: u64 = 100;

/// Reads the step, whose verb is a method.
pub(super) fn read(known: &mut Known<'_>, step: &Table, verb: &Entry) -> Option<Ask> {
    let reading = known.reading;
    refuse_beside(reading, step, verb, &format!("a step that asks by `{}`", verb.key));
    let node = |key: &str| step.get(key).map(|entry| &entry.node);
    let method = METHODS.iter().find(|(key, _)| *key == verb.key).map_or("GET", |(_, of)| of);
    let aimed = target(known, &verb.node);
    let target = aimed.map(|(origin, text)| (origin, query(known, node("query"), text)));
    let mut headers = headers(known, node("headers"));
    let body = body::read(known, step, &mut headers);
    // What is checked and taken is of the answer: it may use what was there before.
    let checks = node("check").map_or(Some(Checks::default()), |node| check::read(known, node));
    let name = name(known, step, verb, method, NameKind::Step);
    let takes = node("take").map_or(Some(Vec::new()), |node| take::read(known, node));
    let follow = node("follow").map_or(Some(known.follow), |node| follow(reading, node));
    let keep = node("keep").map_or(Some(known.keep), |node| top::keep(reading, node));
    let on_failure = node("on_failure")
        .map_or(Some(known.on_failure), |node| word::<OnFailure>().read(reading, node));
    let (origin, target) = target?;
    let (headers, body) = (headers?, body?);
    let texts = [&target].into_iter().chain(&body).chain(headers.iter().map(|(_, text)| text));
    let (stepwise, counts) = uses(texts, &known.data);
    Some(Ask {
        name: name?,
        method: method.to_owned(),
        origin,
        target,
        headers,
        body,
        checks: checks?,
        takes: takes?,
        follow: follow?,
        keep: keep?,
        on_failure: on_failure?,
        stepwise,
        counts,
        upgrade: None,
    })
}

/// Reads how many redirects are followed.
pub(super) fn follow(reading: &Reading, node: &Node) -> Option<u32> {
    let most = reading.whole(node, 0..=MOST_REDIRECTS)?;
    u32::try_from(most).ok()
}

/// Reads a step that opens a WebSocket: its verb is `connect`.
pub(super) fn connect(known: &mut Known<'_>, step: &Table, verb: &Entry) -> Option<Ask> {
    let reading = known.reading;
    refuse_beside(reading, step, verb, "a step that opens a WebSocket");
    let node = |key: &str| step.get(key).map(|entry| &entry.node);
    let aimed = target(known, &verb.node);
    let target = aimed.map(|(origin, text)| (origin, query(known, node("query"), text)));
    let headers = headers(known, node("headers"));
    let checks = node("check").map_or(Some(Checks::default()), |node| check::read(known, node));
    let name = name(known, step, verb, "connect", NameKind::Handshake);
    let takes = node("take").map_or(Some(Vec::new()), |node| take::read(known, node));
    let on_failure = node("on_failure")
        .map_or(Some(known.on_failure), |node| word::<OnFailure>().read(reading, node));
    let upgrade = exchange::upgrade(known, step);
    exchange::rules_may_set(known);
    let (origin, target) = target?;
    let headers = headers?;
    let mut checks = checks?;
    if !checks.tests.iter().any(|check| matches!(check, Check::Status(_))) {
        checks.tests.insert(0, Check::Status(vec![(101, 101)]));
    }
    let texts = [&target].into_iter().chain(headers.iter().map(|(_, text)| text));
    let (stepwise, counts) = uses(texts, &known.data);
    Some(Ask {
        name: name?,
        method: "GET".to_owned(),
        origin,
        target,
        headers,
        body: None,
        checks,
        takes: takes?,
        follow: 0,
        keep: known.keep,
        on_failure: on_failure?,
        stepwise,
        counts,
        upgrade: Some(upgrade?.into()),
    })
}

/// The number of the step's name: what it asks for, where none is given.
fn name(
    known: &mut Known<'_>,
    step: &Table,
    verb: &Entry,
    method: &str,
    kind: NameKind,
) -> Option<u16> {
    let path = match &verb.node.value {
        Value::Text(path) => path.clone(),
        _ => String::new(),
    };
    let what = format!("{method} {path}");
    let (name, place) = match step.get("name") {
        Some(entry) => (known.reading.line(&entry.node)?.to_owned(), entry.node.place),
        None => (what.clone(), verb.node.place),
    };
    let of = Name { name: name.clone(), kind };
    known.name(&name, of, &what, place)
}

/// The data files that have something in some texts and a row for each step, and whether a counter
/// is in them.
pub(super) fn uses<'t>(texts: impl Iterator<Item = &'t Text>, files: &[Data]) -> (Vec<u16>, bool) {
    let (mut stepwise, mut counts) = (Vec::new(), false);
    for value in texts.flat_map(Text::values) {
        match value {
            Hole::Counter => counts = true,
            Hole::Column { data, .. } => {
                let is_stepwise =
                    files.get(usize::from(*data)).is_some_and(|of| of.each == Each::Step);
                if is_stepwise && !stepwise.contains(data) {
                    stepwise.push(*data);
                }
            }
            _ => {}
        }
    }
    (stepwise, counts)
}

const PATH: &str = "a path such as /login, or a URL of one of `hosts`";

/// The server that is asked, by its number, and the path.
fn target(known: &mut Known<'_>, node: &Node) -> Option<(u16, Text)> {
    let reading = known.reading;
    let text = reading.line(node)?.to_owned();
    let wrong = |at: usize, len: usize| ParseError::new(PATH, &text[at..at + len], at, len);
    let mut outside = outside_holes(&text);
    if let Some((at, c)) = outside.find(|(_, c)| c.is_whitespace() || *c == '#') {
        let hint = match c {
            '#' => "leave what follows # out: no server is told it, or write %23",
            _ => "write %20 for a blank",
        };
        reading.parse_fault(node, &wrong(at, c.len_utf8()).hint(hint));
        return None;
    }
    let Some((scheme, rest)) =
        text.split_once("://").filter(|(scheme, _)| !scheme.contains(['{', '/', '?']))
    else {
        return Some((0, known.text(node, Encoding::Path)?));
    };
    let host_at = scheme.len() + 3;
    let host_len = rest.find(['/', '?']).unwrap_or(rest.len());
    if rest[..host_len].contains("{{") {
        let error = wrong(host_at, host_len);
        reading.parse_fault(node, &error.hint("the server stands in the file, not in a variable"));
        return None;
    }
    let base = format!("{scheme}://{}/", &rest[..host_len]);
    let url = match Url::parse(&base) {
        Ok(url) => url,
        Err(error) => {
            reading.parse_fault(node, &error);
            return None;
        }
    };
    let Some(origin) = origin(known, &url) else {
        let error =
            ParseError::new("the target, or one of `hosts`", &url.authority(), host_at, host_len);
        let hint = format!(
            "add hosts = [\"{}\"], or write the path alone, which is asked of the target",
            url.authority()
        );
        reading.parse_fault(node, &error.hint(hint));
        return None;
    };
    let path_at = host_at + host_len;
    let path = if text[path_at..].starts_with('/') { "" } else { "/" };
    let path = format!("{path}{}", &text[path_at..]);
    let read = Text::parse(&path, Encoding::Path, &mut super::names::Resolver(known));
    let read = read.map_err(|error| reading.parse_fault(node, &error.shifted(path_at)));
    Some((origin, read.ok()?))
}

/// The characters of a text that stand in no hole.
fn outside_holes(text: &str) -> impl Iterator<Item = (usize, char)> {
    let mut within = false;
    text.char_indices().filter(move |(at, _)| {
        if text[*at..].starts_with("{{") {
            within = true;
        } else if text[..*at].ends_with("}}") {
            within = false;
        }
        !within
    })
}

/// The number of a server among those that may be asked: one that differs from an entry of `hosts`
/// by what that leaves open is one more.
fn origin(known: &mut Known<'_>, url: &Url) -> Option<u16> {
    let scheme = url.scheme.of_requests().name;
    let is_exact = |host: &plimsoll_workload::scenario::Host| {
        host.host == url.host
            && host.scheme.as_deref() == Some(scheme)
            && host.port.unwrap_or(url.scheme.port) == url.port
    };
    let position = match known.hosts.iter().position(is_exact) {
        Some(position) => position,
        None => {
            let allows = |host: &&plimsoll_workload::scenario::Host| {
                host.host == url.host
                    && host.scheme.as_deref().is_none_or(|of| of == scheme)
                    && host.port.is_none_or(|port| port == url.port)
            };
            known.hosts.iter().find(allows)?;
            known.hosts.push(plimsoll_workload::scenario::Host {
                scheme: Some(scheme.to_owned()),
                host: url.host.clone(),
                port: Some(url.port),
            });
            known.hosts.len() - 1
        }
    };
    // The target is number 0.
    u16::try_from(position + 1).ok()
}

/// The path with what is asked for appended to its query.
fn query(known: &mut Known<'_>, node: Option<&Node>, path: Text) -> Text {
    let Some(node) = node else { return path };
    let Some(of) = table(known.reading, node, "a table of names and values") else { return path };
    let has_query = path.literals().any(|text| text.contains(&b'?'));
    let mut writing = Writing::default();
    writing.append(&path);
    let pairs = body::pairs(known, of);
    let mut joins = if has_query { "&" } else { "?" };
    for (name, value) in pairs {
        writing.literal(joins.as_bytes());
        writing.text(&Text::literal(name.as_bytes()), Encoding::Query);
        writing.literal(b"=");
        writing.text(&value, Encoding::Query);
        joins = "&";
    }
    writing.finish()
}

/// Why a header is not given by a step.
fn is_own(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    if name == "host" {
        return Some("expected a header other than host, which the server's name gives");
    }
    name.starts_with("sec-websocket-").then_some(
        "expected a header other than those of the handshake, which `connect`, `protocols` and \
         `compress` give",
    )
}

/// Headers, each with a value or several.
fn headers(known: &mut Known<'_>, node: Option<&Node>) -> Option<Vec<(String, Text)>> {
    let reading = known.reading;
    let Some(node) = node else { return Some(Vec::new()) };
    let of = table(reading, node, "a table of headers")?;
    let mut headers = Vec::new();
    let mut is_right = true;
    for entry in &of.entries {
        let checked = parse_header(&format!("{}: x", entry.key));
        if let Err(error) = checked {
            reading.fault(entry.key_place, error.to_string(), error.hint.clone());
            is_right = false;
            continue;
        }
        if let Some(message) = is_own(&entry.key) {
            reading.fault(entry.key_place, message, None);
            is_right = false;
            continue;
        }
        let values = match &entry.node.value {
            Value::List(nodes) => nodes.iter().collect(),
            _ => vec![&entry.node],
        };
        for value in values {
            let is_line = match &value.value {
                Value::Text(text) if text.is_empty() => true,
                Value::Text(_) => reading.line(value).is_some(),
                _ => true,
            };
            match known.text(value, Encoding::Line).filter(|_| is_line) {
                Some(text) => headers.push((entry.key.clone(), text)),
                None => is_right = false,
            }
        }
    }
    is_right.then_some(headers)
}
