//! `[link.NAME]`: how far instances are from each other.

use std::time::Duration;

use plimsoll_units::{ParseError, share};

use crate::reading::Reading;
use crate::reading::text::exact;
use crate::reading::tree::{Entry, Node, Table, Value};
use crate::section::Section;
use crate::sections::testbed::{Provider, RATE, Role, Testbed};
use crate::takes::{DURATION, Line, List, Parsed, SHARE};
use crate::write::Writer;

section! {
    /// A way between the instances of a role and others that takes time, and may lose packets or
    /// carry little. The provider `namespace` makes it.
    ["link.LABEL"]
    pub struct Link {
        /// The role at its one end.
        role: String { Line("role"), required "`role`", "web" }
        /// The roles at its other end, and `load`; without it all other instances, and the load.
        to: Option<Vec<String>> { ROLES, said "all others, and the load", r#"["db"]"# }
        /// What it adds to a round trip, half of it each way.
        rtt: Duration { RTT, required "`rtt`", "20ms" }
        /// By how much each way may take more or less: a time of its own for each packet, all as
        /// likely; at most half of `rtt`.
        jitter: Option<Duration> { JITTER, "2ms" }
        /// The share of packets that are lost, each way.
        loss: Option<f64> { LOSS, "0.5%" }
        /// How much it carries each way, bits a second.
        rate: Option<u64> { RATE, "20Mbit" }
    }
}

/// What the load is called among the roles at the other end.
const LOAD: &str = "load";
const ROLES: List<Line> = List(Line("role"), "list of roles");
/// The longest round trip, milliseconds.
const MOST_MS: u128 = 10_000;
const RTT: Parsed<Duration> = DURATION
    .only(|text| match plimsoll_units::duration(text)? {
        rtt if (1..=MOST_MS).contains(&rtt.as_millis()) => Ok(rtt),
        _ => Err(ParseError::new("a round trip from 1ms to 10s", text, 0, text.len())),
    })
    .such_as("a round trip such as 20ms");
const JITTER: Parsed<Duration> = DURATION.such_as("a duration such as 2ms");
const LOSS: Parsed<f64> = SHARE
    .only(|text| match share(text)? {
        loss if loss < 1.0 => Ok(loss),
        _ => Err(ParseError::new("a share below 100%", text, 0, text.len())),
    })
    .such_as("a share such as 0.5%");

/// The most links of a plan.
const MOST: usize = 100;
/// The most characters of a link's name.
const MOST_NAME: usize = 40;

/// Reads all links, with their names.
pub(crate) fn read_links(
    reading: &Reading,
    root: &Table,
    testbed: Option<&Testbed>,
    roles: &[(String, Role)],
) -> Vec<(String, Link)> {
    let Some(Entry { node, key_place, .. }) = root.get("link") else { return Vec::new() };
    let Value::Table(all) = &node.value else {
        wrong(reading, node, "a table [link.NAME] for each link", "NAME");
        return Vec::new();
    };
    let fault = |message: &str, hint: &str| {
        reading.fault(*key_place, message, Some(hint.to_owned()));
    };
    match testbed.map(|of| of.provider) {
        None => fault("`link` goes with [testbed]", "[testbed] and provider = \"namespace\""),
        Some(Provider::Namespace) => {}
        Some(_) => fault(
            "`link` goes with instances that have a network of their own",
            "say provider = \"namespace\" in [testbed]",
        ),
    }
    if root.get("pool").is_some() {
        fault("`link` goes with instances that stay, not with a [pool]", "leave one of both out");
    }
    if all.entries.len() > MOST {
        reading.fault(node.place, format!("expected at most {MOST} links"), None);
        return Vec::new();
    }
    all.entries.iter().filter_map(|entry| read_one(reading, entry, roles)).collect()
}

fn read_one(reading: &Reading, entry: &Entry, roles: &[(String, Role)]) -> Option<(String, Link)> {
    let Value::Table(table) = &entry.node.value else {
        wrong(reading, &entry.node, "a table of a link", &entry.key);
        return None;
    };
    if !reading.is_plain_name(entry, MOST_NAME, true) {
        return None;
    }
    let section = Section::over(reading, table, Link::SECTION);
    let link = Link::read_keys(&section)?;
    if let Some(jitter) = link.jitter.filter(|jitter| *jitter > link.rtt / 2) {
        let (most, found) = (exact(link.rtt / 2), exact(jitter));
        let message = format!("expected at most half of `rtt`, {most}, found {found}");
        section.fault("jitter", message, Some("a packet cannot come before it was sent"));
    }
    let ends =
        [("role", std::slice::from_ref(&link.role)), ("to", link.to.as_deref().unwrap_or(&[]))];
    for (key, names) in ends {
        let is_load = |name: &str| key == "to" && name == LOAD;
        let is_role = |name: &&String| is_load(name) || roles.iter().any(|(role, _)| role == *name);
        if let Some(name) = names.iter().find(|name| !is_role(name)) {
            section.fault(key, format!("expected a role of the plan, found `{name}`"), None);
        }
    }
    Some((entry.key.clone(), link))
}

fn wrong(reading: &Reading, node: &Node, wanted: &str, name: &str) {
    let hint = format!("[link.{name}] and role = \"web\", rtt = \"20ms\"");
    reading.wrong_type(node, wanted, Some(hint));
}

pub(crate) fn write_links(links: &[(String, Link)], out: &mut Writer) {
    for (name, link) in links {
        out.section_of("link", name);
        link.write_keys(out, &[]);
    }
}
