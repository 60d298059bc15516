//! `[watch.NAME]`: what is told while a load goes on, and may end it.

use plimsoll_stats::slo::Rule;

use crate::reading::Reading;
use crate::reading::tree::{Entry, Node, Table, Value};
use crate::section::Section;
use crate::takes::{Line, RULE, Switch};
use crate::write::Writer;

section! {
    /// A rule that is watched: an event of the run and a line on the screen when it begins to hold,
    /// and when it ceases to.
    ["watch.LABEL"]
    pub struct Watch {
        /// What must hold, in the grammar of SLOs.
        when: Rule { RULE, required "`when`", "host.cpu>90% for 10s" }
        /// The URL that is told of both, by POST; its query is never shown.
        webhook: Option<String> { Line("URL"), "https://hooks.example/plimsoll" }
        /// Whether the load ends when it holds.
        stop: bool { Switch, or false, "true" }
    }
}

/// The most rules of a plan.
const MOST: usize = 100;
/// The most characters of a rule's name.
const MOST_NAME: usize = 40;

/// Reads all rules, with their names.
pub(crate) fn read_watches(reading: &Reading, root: &Table) -> Vec<(String, Watch)> {
    let Some(Entry { node, .. }) = root.get("watch") else { return Vec::new() };
    let Value::Table(all) = &node.value else {
        wrong(reading, node, "a table [watch.NAME] for each rule", "NAME");
        return Vec::new();
    };
    if all.entries.len() > MOST {
        reading.fault(node.place, format!("expected at most {MOST} rules"), None);
        return Vec::new();
    }
    all.entries.iter().filter_map(|entry| read_one(reading, entry)).collect()
}

fn read_one(reading: &Reading, entry: &Entry) -> Option<(String, Watch)> {
    let Value::Table(table) = &entry.node.value else {
        wrong(reading, &entry.node, "a table of a rule", &entry.key);
        return None;
    };
    if !reading.is_plain_name(entry, MOST_NAME, true) {
        return None;
    }
    let watch = Watch::read_keys(&Section::over(reading, table, Watch::SECTION))?;
    Some((entry.key.clone(), watch))
}

fn wrong(reading: &Reading, node: &Node, wanted: &str, name: &str) {
    let hint = format!("[watch.{name}] and when = \"host.cpu>90% for 10s\"");
    reading.wrong_type(node, wanted, Some(hint));
}

pub(crate) fn write_watches(watches: &[(String, Watch)], out: &mut Writer) {
    for (name, watch) in watches {
        out.section_of("watch", name);
        watch.write_keys(out, &[]);
    }
}
