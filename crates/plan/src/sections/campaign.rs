//! `[campaign]`: targets that vantage points measure. It is written out as an experiment: its
//! targets and vantage points become named factors, so that nothing else of a plan knows of it.

use std::collections::BTreeMap;

use plimsoll_units::nearest;
use plimsoll_workload::request::Url;

use crate::reading::Reading;
use crate::reading::source::Place;
use crate::reading::tree::{Entry, Node, Table, Value};
use crate::section::Section;
use crate::sections::experiment::LABELS;
use crate::sections::testbed::TEXTS;
use crate::takes::{Count, Line, Nested, Parsed, Small, TIME};

const RUNS: Small = Count(1..=10_000_u32);
/// Which vantage points measure which targets, in one text.
const PAIRS: Line = Line("pairs");
const URL: Parsed<Url> = Parsed::text("URL", "a URL such as http://10.0.0.5:8080/", Url::parse);

section! {
    /// Targets that vantage points measure, each pair as often as is said, and never two at a time
    /// of one target, or from one vantage point.
    ["campaign"]
    CAMPAIGN {
        /// How often each pair measures.
        runs { RUNS, or 1, "8" }
        /// How long after one round the next begins, or when that is through.
        every { TIME, "15m" }
        /// Who measures whom: `all`, `same LABEL`, or a list of `TARGET from VANTAGE-POINT`.
        pairs { PAIRS, or "all".to_owned(), "same region" }
        /// The vantage points, with their labels: workers of `[fleet]` by their names.
        from { Nested("table"), said "the hosts of `[fleet]`", r#"{ gen1 = { region = "eu" } }"# }
        /// The targets: `[campaign.target.LABEL]`.
        target { Nested("table"), "" }
    }
}

section! {
    /// One target of a campaign.
    ["campaign.target.LABEL"]
    CAMPAIGN_TARGET {
        /// The URL that is asked.
        url { URL, "http://10.0.0.5:8080/" }
        /// What is known of it, by which results are compared.
        labels { TEXTS, or BTreeMap::new(), r#"{ provider = "aws", region = "eu-west-1" }"# }
    }
}

/// The factors of a campaign.
const TARGET: &str = "target";
const FROM: &str = "from";
/// The most side by side, as for `at_once`.
const MOST_AT_ONCE: usize = 64;
const MOST_NAME: usize = 40;

/// A target or a vantage point: its name, what its level sets, and its labels.
struct Level {
    name: String,
    place: Place,
    sets: (&'static str, String),
    labels: BTreeMap<String, String>,
}

/// Writes the campaign of a plan out, where it has one.
pub(crate) fn write_out(reading: &Reading, root: &mut Table) {
    let Some(at) = root.entries.iter().position(|entry| entry.key == "campaign") else { return };
    let Entry { key_place, node, .. } = root.entries.remove(at);
    let section = Section::at(reading, &node, &CAMPAIGN);
    let Some(targets) = targets(reading, &section) else { return };
    if let Some(first) = targets.first() {
        let (url, place) = (first.sets.1.clone(), first.place);
        let node = Node { value: Value::Text(url), place };
        put(root, "target", Entry { key: "url".to_owned(), key_place, node });
    }
    let Some(from) = vantage_points(reading, &section, root) else { return };
    let alone = [("target", "is what a campaign measures"), ("from", "is where it measures from")];
    for (factor, why) in alone {
        if inner(root, "factor").is_some_and(|factors| factors.get(factor).is_some()) {
            let message = format!("`{factor}` {why}, and no factor of [factor]");
            reading.fault(key_place, message, Some("call the other one otherwise".to_owned()));
        }
    }
    let Some(constraints) = pairs(reading, &section, &targets, &from) else { return };
    let runs = section.get("runs", &RUNS).unwrap_or(1);
    section.get("every", &TIME);
    let every = section.node("every").cloned();
    let text = |text: &str| Node { value: Value::Text(text.to_owned()), place: key_place };
    let whole = |number: i64| Node { value: Value::Whole(number), place: key_place };
    let mut put = |section: &str, key: &str, node: Node| {
        put(root, section, Entry { key: key.to_owned(), key_place, node });
    };
    let is_alone = from.is_empty();
    let at_once = if is_alone { 1 } else { targets.len().min(from.len()).min(MOST_AT_ONCE) };
    put("experiment", "replications", whole(i64::from(runs)));
    put("experiment", "at_once", whole(i64::try_from(at_once).unwrap_or(1)));
    let apart = if is_alone { vec![text(TARGET)] } else { vec![text(TARGET), text(FROM)] };
    put("experiment", "apart", Node { value: Value::List(apart), place: key_place });
    every.into_iter().for_each(|every| put("experiment", "every", every));
    if !constraints.is_empty() {
        let list = constraints.iter().map(|of| text(of)).collect();
        put("experiment", "constraints", Node { value: Value::List(list), place: key_place });
    }
    put("factor", TARGET, levels(targets, key_place));
    if !is_alone {
        put("factor", FROM, levels(from, key_place));
    }
}

/// Puts a key into a section, where the plan does not have it itself.
fn put(root: &mut Table, section: &str, entry: Entry) {
    if root.get(section).is_none() {
        let place = entry.key_place;
        let node = Node { value: Value::Table(Table::empty(place)), place };
        root.set(Entry { key: section.to_owned(), key_place: place, node });
    }
    if let Some(Entry { node: Node { value: Value::Table(table), .. }, .. }) = root.get_mut(section)
        && table.get(&entry.key).is_none()
    {
        table.set(entry);
    }
}

/// The levels of a named factor, as a table.
fn levels(of: Vec<Level>, place: Place) -> Node {
    let entry = |key: &str, node: Node| {
        let key_place = node.place;
        Entry { key: key.to_owned(), key_place, node }
    };
    let text = |text: String, place: Place| Node { value: Value::Text(text), place };
    let mut all = Table::empty(place);
    for Level { name, place, sets: (key, value), labels } in of {
        let mut level = Table::empty(place);
        level.set(entry(key, text(value, place)));
        if !labels.is_empty() {
            let mut table = Table::empty(place);
            for (name, value) in labels {
                table.set(entry(&name, text(value, place)));
            }
            level.set(entry(LABELS, Node { value: Value::Table(table), place }));
        }
        all.set(entry(&name, Node { value: Value::Table(level), place }));
    }
    Node { value: Value::Table(all), place }
}

fn inner<'a>(root: &'a Table, section: &str) -> Option<&'a Table> {
    match &root.get(section)?.node.value {
        Value::Table(table) => Some(table),
        _ => None,
    }
}

/// The tables of a key, by their names.
fn tables<'a>(
    reading: &Reading,
    section: &Section<'a>,
    key: &str,
) -> Option<Vec<(&'a Entry, &'a Table)>> {
    let node = section.node(key)?;
    let Value::Table(all) = &node.value else {
        reading.wrong_type(node, "a table of tables", Some(format!("[campaign.{key}.NAME]")));
        return None;
    };
    let of = |entry: &'a Entry| match &entry.node.value {
        Value::Table(table) if reading.is_plain_name(entry, MOST_NAME, true) => {
            Some((entry, table))
        }
        Value::Table(_) => None,
        _ => {
            reading.wrong_type(
                &entry.node,
                "a table",
                Some(format!("[campaign.{key}.{}]", entry.key)),
            );
            None
        }
    };
    all.entries.iter().map(of).collect()
}

fn targets(reading: &Reading, section: &Section<'_>) -> Option<Vec<Level>> {
    let found = match section.has("target") {
        true => tables(reading, section, "target")?,
        false => Vec::new(),
    };
    if found.is_empty() {
        section.missing("a target", "target.a.url", "\"http://10.0.0.5:8080/\"");
        return None;
    }
    let mut all: Vec<(Level, (String, u16))> = Vec::new();
    for (entry, table) in found {
        let of = Section::over(reading, table, &CAMPAIGN_TARGET);
        let url = of.required("url", &URL, "a URL", "\"http://10.0.0.5:8080/\"")?;
        let labels = of.get("labels", &TEXTS).unwrap_or_default();
        let (name, place, at) = (entry.key.clone(), entry.key_place, (url.host.clone(), url.port));
        if let Some((other, _)) = all.iter().find(|(_, known)| *known == at) {
            let message = format!("`{name}` is the same server as `{}`: two at a time", other.name);
            reading.fault(place, message, Some("leave one of them out".to_owned()));
            return None;
        }
        let sets = ("target.url", url.to_string());
        all.push((Level { name, place, sets, labels }, at));
    }
    Some(all.into_iter().map(|(level, _)| level).collect())
}

/// The vantage points; none where this process measures.
fn vantage_points(reading: &Reading, section: &Section<'_>, root: &Table) -> Option<Vec<Level>> {
    let fleet = inner(root, "fleet");
    let level = |name: &str, place, labels| {
        let sets = ("fleet.from", name.to_owned());
        Level { name: name.to_owned(), place, sets, labels }
    };
    if !section.has("from") {
        let Some(fleet) = fleet else { return Some(Vec::new()) };
        let hosts = fleet.get("hosts").map(|entry| &entry.node.value);
        let Some(Value::Table(hosts)) = hosts else {
            let message = "a campaign of workers says which: `from` is missing";
            let hint = "from = { gen1 = { region = \"eu\" } } in [campaign], or a table of hosts \
                        in [fleet]";
            reading.fault(section.place("from"), message, Some(hint.to_owned()));
            return None;
        };
        let host = |entry: &Entry| level(&entry.key, entry.key_place, BTreeMap::new());
        return Some(hosts.entries.iter().map(host).collect());
    }
    if fleet.is_none() {
        let hint = "[fleet] and hosts = { gen1 = \"10.0.1.5\" }, or a broker".to_owned();
        let message = "`from` names workers, and the plan has no [fleet]";
        reading.fault(section.place("from"), message, Some(hint));
        return None;
    }
    let hosts = fleet.and_then(|fleet| fleet.get("hosts")).map(|entry| &entry.node.value);
    let mut all = Vec::new();
    for (entry, table) in tables(reading, section, "from")? {
        if let Some(Value::Table(hosts)) = hosts
            && hosts.get(&entry.key).is_none()
        {
            let message = format!("expected one of the hosts of [fleet], found `{}`", entry.key);
            let near = nearest(&entry.key, hosts.entries.iter().map(|of| of.key.as_str()));
            let hint = near.map(|near| format!("did you mean `{near}`?"));
            reading.fault(entry.key_place, message, hint);
            return None;
        }
        let label = |of: &Entry| Some((of.key.clone(), reading.line(&of.node)?.to_owned()));
        let labels: Option<BTreeMap<String, String>> = table.entries.iter().map(label).collect();
        all.push(level(&entry.key, entry.key_place, labels?));
    }
    Some(all)
}

/// What of the pairs there is not, as constraints.
fn pairs(
    reading: &Reading,
    section: &Section<'_>,
    targets: &[Level],
    from: &[Level],
) -> Option<Vec<String>> {
    let Some(node) = section.node("pairs") else { return Some(Vec::new()) };
    let wrong = |place: Place, message: String| {
        let hint = "pairs = \"all\", \"same region\", or [\"a from gen1\", \"b from gen2\"]";
        reading.fault(place, message, Some(hint.to_owned()));
    };
    if from.is_empty() {
        wrong(
            node.place,
            "there are no vantage points to pair: the plan has no [fleet]".to_owned(),
        );
        return None;
    }
    let text = match &node.value {
        Value::List(nodes) => return listed(reading, nodes, targets, from, &wrong),
        Value::Typed(text) if text.contains(" from ") => {
            let part =
                |part: &str| Node { value: Value::Text(part.trim().to_owned()), ..node.clone() };
            let nodes: Vec<Node> = text.split(',').map(part).collect();
            return listed(reading, &nodes, targets, from, &wrong);
        }
        _ => reading.line(node)?,
    };
    if text == "all" {
        return Some(Vec::new());
    }
    let Some(label) = text.strip_prefix("same ").map(str::trim) else {
        wrong(node.place, format!("expected pairs, found `{text}`"));
        return None;
    };
    let mut all = Vec::new();
    for target in targets {
        let Some(value) = target.labels.get(label) else {
            wrong(target.place, format!("the target `{}` has no label `{label}`", target.name));
            return None;
        };
        let same = from.iter().filter(|of| of.labels.get(label) == Some(value));
        let same: Vec<&str> = same.map(|of| of.name.as_str()).collect();
        if same.is_empty() {
            let message =
                format!("no vantage point has the {label} `{value}` of `{}`", target.name);
            wrong(target.place, message);
            return None;
        }
        all.push(needs(&target.name, &same));
    }
    Some(all)
}

fn listed(
    reading: &Reading,
    nodes: &[Node],
    targets: &[Level],
    from: &[Level],
    wrong: &dyn Fn(Place, String),
) -> Option<Vec<String>> {
    let mut of: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for node in nodes {
        let text = reading.line(node)?;
        let named = |all: &[Level], name: &str| all.iter().any(|of| of.name == name);
        let pair =
            text.split_once(" from ").map(|(target, vantage)| (target.trim(), vantage.trim()));
        match pair {
            Some((target, vantage)) if named(targets, target) && named(from, vantage) => {
                of.entry(target).or_default().push(vantage);
            }
            _ => {
                wrong(node.place, format!("expected a target and a vantage point, found `{text}`"));
                return None;
            }
        }
    }
    if let Some(target) = targets.iter().find(|target| !of.contains_key(target.name.as_str())) {
        wrong(target.place, format!("nobody measures the target `{}`", target.name));
        return None;
    }
    Some(of.iter().map(|(target, same)| needs(target, same)).collect())
}

fn needs(target: &str, from: &[&str]) -> String {
    format!("{TARGET} = {target} needs {FROM} = {}", from.join(", "))
}
