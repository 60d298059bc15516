//! Steps: one verb each.

use plimsoll_units::{ParseError, nearest};
use plimsoll_workload::distribution::Distribution;
use plimsoll_workload::scenario::{
    Condition, Encoding, Name, NameKind, Rounds, Step, Test, Verb, take,
};

use crate::reading::tree::{Entry, Node, Table, Value};
use crate::scenario::keys::{CONDITION, VERBS, WAY};
use crate::scenario::known::Known;
use crate::scenario::{
    ask, exchange, exclude, flow, refuse_beside, refuse_unknown, switch, table, unknown,
};

/// The verbs that ask over HTTP, and their methods.
pub(super) const METHODS: [(&str, &str); 6] = [
    ("get", "GET"),
    ("post", "POST"),
    ("put", "PUT"),
    ("patch", "PATCH"),
    ("delete", "DELETE"),
    ("head", "HEAD"),
];
/// The deepest nesting of steps.
const MOST_DEEP: usize = 50;

/// Reads steps, which set variables for those that follow.
pub(super) fn list(known: &mut Known<'_>, node: &Node) -> Option<Vec<Step>> {
    let Value::List(nodes) = &node.value else {
        known.reading.wrong_type(node, "a list of steps", None);
        return None;
    };
    if nodes.is_empty() {
        known.reading.fault(node.place, "expected at least one step, found none", None);
        return None;
    }
    let steps: Vec<_> = nodes.iter().map(|node| step(known, node)).collect();
    steps.into_iter().collect()
}

/// The verbs, all of them.
fn verbs() -> impl Iterator<Item = &'static str> {
    VERBS.iter().map(|verb| verb.key.name)
}

fn step(known: &mut Known<'_>, node: &Node) -> Option<Step> {
    let reading = known.reading;
    let table = table(reading, node, "a step, which is a table")?;
    let is_verb = |entry: &&Entry| verbs().any(|verb| verb == entry.key);
    // Beside what sends, `expect` is a key of it.
    let sends = ["send", "subscribe"].iter().any(|verb| table.get(verb).is_some());
    let is_verb = |entry: &&Entry| is_verb(entry) && !(sends && entry.key == "expect");
    let mut given = table.entries.iter().filter(is_verb);
    let Some(first) = given.next() else {
        no_verb(known, table, node);
        return None;
    };
    let mut is_one = true;
    for other in given {
        exclude(reading, first, other, &two_steps(first, other));
        is_one = false;
    }
    if !is_one {
        return None;
    }
    let verb = match first.key.as_str() {
        "think" => {
            refuse_beside(reading, table, first, "a step that thinks");
            let wanted = "a distribution such as exp:2s";
            let time = reading.parsed(&first.node, wanted, Distribution::parse_or_constant)?;
            Verb::Think { time, place: known.place() }
        }
        "loop" => repeat(known, table, first)?,
        "choose" => choose(known, table, first)?,
        "if" => either(known, table, first)?,
        "group" => group(known, table, first)?,
        "call" => {
            refuse_beside(reading, table, first, "a step that calls");
            call(known, first)?
        }
        "connect" => Verb::Ask(Box::new(ask::connect(known, table, first)?)),
        "send" | "subscribe" | "expect" => Verb::Say(Box::new(exchange::say(known, table, first)?)),
        "close" => exchange::close(known, table, first)?,
        _ => Verb::Ask(Box::new(ask::read(known, table, first)?)),
    };
    Some(Step { verb })
}

/// How two verbs in one step are written as two.
fn two_steps(first: &Entry, other: &Entry) -> String {
    // What a user does comes before his thinking about it, in whatever order it was written.
    let (first, other) = if first.key == "think" { (other, first) } else { (first, other) };
    let text = |entry: &Entry| match &entry.node.value {
        Value::Text(text) => Some(format!("[[step]] {} = \"{text}\"", entry.key)),
        _ => None,
    };
    match (text(first), text(other)) {
        (Some(first), Some(other)) => {
            format!("a step has one verb: write {first}, then {other}, on lines of their own")
        }
        _ => "a step has one verb: give each a step of its own".to_owned(),
    }
}

fn no_verb(known: &Known<'_>, table: &Table, node: &Node) {
    let near = table.entries.iter().find_map(|entry| Some((entry, nearest(&entry.key, verbs())?)));
    match near {
        Some((entry, _)) => {
            let verbs: Vec<&str> = verbs().collect();
            unknown(known.reading, entry, &verbs, "a step");
        }
        None => {
            let hint = "for example get = \"/\", think = \"exp:2s\" or loop = 3".to_owned();
            let message = "expected a verb in a step, found none";
            known.reading.fault(node.place, message, Some(hint));
        }
    }
}

/// The steps within a step.
fn inner(known: &mut Known<'_>, table: &Table, verb: &Entry, key: &str) -> Option<Vec<Step>> {
    let Some(entry) = table.get(key) else {
        let message = format!("expected `{key}` beside `{}`, found none", verb.key);
        let hint = format!("for example {key} = [ {{ get = \"/\" }} ]");
        known.reading.fault(verb.key_place, message, Some(hint));
        return None;
    };
    deeper(known, verb, |known| list(known, &entry.node))
}

/// Goes one level deeper.
fn deeper<T>(
    known: &mut Known<'_>,
    verb: &Entry,
    read: impl FnOnce(&mut Known<'_>) -> Option<T>,
) -> Option<T> {
    if known.within.len() >= MOST_DEEP {
        let message = format!("expected steps within steps at most {MOST_DEEP} deep");
        known.reading.fault(verb.key_place, message, None);
        return None;
    }
    known.within.push(String::new());
    let read = read(known);
    known.within.pop();
    read
}

fn repeat(known: &mut Known<'_>, table: &Table, verb: &Entry) -> Option<Verb> {
    refuse_beside(known.reading, table, verb, "a step that loops");
    let rounds = known.reading.parsed(&verb.node, ROUNDS, rounds);
    let place = known.place();
    // In its second round a step comes after all of the first.
    if let Some(entry) = table.get("steps") {
        let mut names = Default::default();
        flow::may_set(&entry.node, &known.scenarios, &mut names);
        let numbers: Vec<u16> = names.iter().filter_map(|name| known.variable(name)).collect();
        known.set.extend(numbers);
    }
    let steps = inner(known, table, verb, "steps");
    Some(Verb::Loop { rounds: rounds?, place, steps: steps? })
}

const ROUNDS: &str = "a number of rounds such as 3, 2..5 or `until the end`";

/// Reads `3`, `2..5` or `until the end`.
fn rounds(text: &str) -> Result<Rounds, ParseError> {
    const MOST: u32 = 1_000_000_000;
    let wrong = || ParseError::new(ROUNDS, text, 0, text.len());
    if text.trim() == "until the end" {
        return Ok(Rounds::UntilTheEnd);
    }
    let number = |text: &str| text.trim().parse::<u32>().ok().filter(|of| *of <= MOST);
    match text.split_once("..") {
        None => number(text).filter(|of| *of > 0).map(Rounds::Times).ok_or_else(wrong),
        Some((low, high)) => match (number(low), number(high)) {
            (Some(low), Some(high)) if low <= high && high > 0 => Ok(Rounds::Between(low, high)),
            (Some(low), Some(high)) if high > 0 => {
                Err(wrong().hint(format!("the smaller number first: {high}..{low}")))
            }
            _ => Err(wrong()),
        },
    }
}

fn choose(known: &mut Known<'_>, step: &Table, verb: &Entry) -> Option<Verb> {
    let reading = known.reading;
    refuse_beside(reading, step, verb, "a step that chooses");
    let Value::List(nodes) = &verb.node.value else {
        let hint = "for example choose = [ { weight = 70, steps = [ … ] }, … ]".to_owned();
        reading.wrong_type(&verb.node, "a list of ways", Some(hint));
        return None;
    };
    if nodes.is_empty() {
        reading.fault(verb.node.place, "expected at least one way, found none", None);
    }
    let place = known.place();
    let before = known.set.clone();
    let mut after = before.clone();
    let mut ways = Vec::new();
    for node in nodes {
        let Some(way) = table(reading, node, "a way with `weight` and `steps`") else { continue };
        refuse_unknown(reading, way, &WAY, "a way to choose");
        let weight = match way.get("weight") {
            Some(entry) => reading.number(&entry.node, f64::MIN_POSITIVE, f64::MAX),
            None => {
                let hint = Some("for example weight = 70".to_owned());
                reading.fault(node.place, "expected `weight` in a way, found none", hint);
                None
            }
        };
        known.set.clone_from(&before);
        let steps = match way.get("steps") {
            Some(_) => inner(known, way, verb, "steps"),
            None => {
                reading.fault(node.place, "expected `steps` in a way, found none", None);
                None
            }
        };
        after.extend(&known.set);
        if let (Some(weight), Some(steps)) = (weight, steps) {
            ways.push((weight, steps));
        }
    }
    known.set = after;
    (!ways.is_empty()).then_some(Verb::Choose { ways, place })
}

fn either(known: &mut Known<'_>, table: &Table, verb: &Entry) -> Option<Verb> {
    refuse_beside(known.reading, table, verb, "a step that decides");
    let condition = condition(known, verb);
    let before = known.set.clone();
    let then = inner(known, table, verb, "then");
    let after_then = std::mem::replace(&mut known.set, before);
    let otherwise = match table.get("else") {
        Some(_) => inner(known, table, verb, "else"),
        None => Some(Vec::new()),
    };
    known.set.extend(after_then);
    Some(Verb::If { condition: condition?, then: then?, otherwise: otherwise? })
}

fn condition(known: &mut Known<'_>, verb: &Entry) -> Option<Condition> {
    let reading = known.reading;
    let of = table(reading, &verb.node, "a condition such as { var = \"token\", set = true }")?;
    refuse_unknown(reading, of, &CONDITION, "a condition");
    let Some(var) = of.get("var") else {
        let hint = Some("for example if = { var = \"token\", set = true }".to_owned());
        reading.fault(verb.node.place, "expected `var` in a condition, found none", hint);
        return None;
    };
    let name = reading.line(&var.node)?;
    // Whether it is set may be the very question.
    let text = plimsoll_workload::scenario::Text::parse(
        &format!("{{{{{name} or \"\"}}}}"),
        Encoding::Raw,
        &mut super::names::Resolver(known),
    );
    let text = text.map_err(|mut error| {
        error.at = error.at.saturating_sub(2);
        reading.parse_fault(&var.node, &error);
    });
    let value = text.ok()?.values().next().cloned()?;
    let test = match super::one_of(reading, of, CONDITION.at_most_one) {
        None => {
            let message = "expected `is`, `matches` or `set` beside `var`, found none";
            reading.fault(var.key_place, message, None);
            return None;
        }
        Some(entry) if entry.key == "is" => Test::Is(known.text(&entry.node, Encoding::Raw)?),
        Some(entry) if entry.key == "set" => Test::Set(switch(reading, &entry.node)?),
        Some(entry) => {
            let wanted = "a regular expression";
            Test::Matches(reading.parsed(&entry.node, wanted, take::compile)?)
        }
    };
    Some(Condition { value, test })
}

fn group(known: &mut Known<'_>, table: &Table, verb: &Entry) -> Option<Verb> {
    refuse_beside(known.reading, table, verb, "a group");
    let name = known.reading.line(&verb.node)?.to_owned();
    let of = Name { name: name.clone(), kind: NameKind::Group };
    let number = known.name(&name, of, "a group", verb.node.place);
    let steps = inner(known, table, verb, "steps");
    Some(Verb::Group { name: number?, steps: steps? })
}

fn call(known: &mut Known<'_>, verb: &Entry) -> Option<Verb> {
    let reading = known.reading;
    let name = reading.line(&verb.node)?.to_owned();
    let Some(table) = known.scenarios.get(&name).copied() else {
        let message = format!("expected a scenario of the file, found `{name}`");
        let hint = match nearest(&name, known.scenarios.keys().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there is no [scenario.{name}]"),
        };
        reading.fault(verb.node.place, message, Some(hint));
        return None;
    };
    if known.within.contains(&name) {
        let message = format!("expected a scenario that does not call itself, found `{name}`");
        reading.fault(verb.node.place, message, Some("write it as a loop".to_owned()));
        return None;
    }
    let number = known.called.iter().position(|(of, _)| *of == name);
    let is_seen = |sets: &Vec<_>| {
        sets.iter().any(|set: &std::collections::BTreeSet<u16>| set.is_subset(&known.set))
    };
    if number.is_none() || !known.seen.get(&name).is_some_and(is_seen) {
        let steps = &table.get("steps")?.node;
        let set = known.set.clone();
        known.seen.entry(name.clone()).or_default().push(set);
        // Read anew, it is only looked at for what is not set here.
        let number = number.unwrap_or_else(|| {
            known.called.push((name.clone(), Vec::new()));
            known.called.len() - 1
        });
        let places = known.places;
        known.within.push(name.clone());
        let read = deeper(known, verb, |known| list(known, steps));
        known.within.pop();
        match read {
            Some(steps) if known.called[number].1.is_empty() => known.called[number].1 = steps,
            _ => known.places = places,
        }
    } else {
        let mut names = Default::default();
        if let Some(entry) = table.get("steps") {
            flow::may_set(&entry.node, &known.scenarios, &mut names);
        }
        let numbers: Vec<u16> = names.iter().filter_map(|name| known.variable(name)).collect();
        known.set.extend(numbers);
    }
    let number = known.called.iter().position(|(of, _)| *of == name)?;
    u32::try_from(number).ok().map(Verb::Call)
}
