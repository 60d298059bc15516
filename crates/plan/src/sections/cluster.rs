//! `[cluster]` and `[cluster.LABEL]`: clusters of caches to be compared. Every key may have several
//! levels, and every combination of them is simulated.
//!
//! What stands in `[cluster]` itself holds for all of them. Which policies and protocols there are
//! is known on a floor above.

use serde_json::{Value as Json, json};

use crate::describe::{Describe, Meant};
use crate::key::Without;
use crate::reading::source::Place;
use crate::reading::text::quoted;
use crate::reading::tree::{Entry, Node, Table, Value};
use crate::reading::{Reading, parts};
use crate::takes::Takes;
use crate::write::Writer;

section! {
    /// Clusters of caches: what holds for all of them, and one in each table.
    ["cluster"]
    CLUSTER {
        /// How many caches clients ask.
        nodes { Levels("counts", None), or "1".to_owned(), "3" }
        /// How many caches are between them and the origin: none in a mesh, any in a hierarchy.
        parents { Levels("counts", None), or "0".to_owned(), "1" }
        /// Whether the nodes of a hierarchy ask each other.
        siblings { Levels("switches", None), or "true".to_owned(), "false" }
        /// How a node finds who holds an object: none, icp, htcp, digest, carp, carp:draft.
        protocol { Levels("protocols", Some(Meant::Protocol)), or "none".to_owned(), r#"["icp", "digest:every=10m"]"# }
        /// Which node is asked: round-robin, hash (by the object) or sticky (by the client).
        spread { Levels("spreads", Some(Meant::Spread)), or "round-robin".to_owned(), r#"["round-robin", "sticky"]"# }
        /// The eviction policy of every node.
        policy { Levels("policies", Some(Meant::Eviction)), or "lru".to_owned(), r#"["lru", "gdsf"]"# }
        /// The size of every node.
        size { Levels("sizes", None), r#"["1GB", "10%"]"# }
        /// So much of a node is in memory; all is on disk without.
        memory { Levels("sizes", None), "256MB" }
        /// The eviction policy of every parent.
        parent_policy { Levels("policies", Some(Meant::Eviction)), said "the nodes'", "lfuda" }
        /// The size of every parent.
        parent_size { Levels("sizes", None), said "the nodes'", "10GB" }
        /// What comes in: all, max:SIZE, second or random:SHARE.
        admit { Levels("filters", None), or "all".to_owned(), r#"["all", "max:1MB"]"# }
        /// Whether what a sibling gave is not kept.
        proxy_only { Levels("switches", None), or "false".to_owned(), "true" }
    }
}

/// A level or several: numbers, switches or texts, whose meaning is known on a floor above. The
/// words of the manual for them, and which names they may be.
struct Levels(&'static str, Option<Meant>);

impl Describe for Levels {
    fn takes(&self) -> String {
        self.0.to_owned()
    }

    fn schema(&self) -> Json {
        let one = json!({"type": ["string", "number", "boolean"]});
        json!({"anyOf": [one, {"type": "array", "items": one, "minItems": 1, "maxItems": MOST}]})
    }

    fn meant(&self) -> Option<Meant> {
        self.1
    }
}

impl Takes for Levels {
    type Value = String;

    fn read(&self, reading: &Reading, node: &Node) -> Option<String> {
        reading.level(node)
    }

    fn write(&self, level: &String) -> String {
        let is_number = level.parse::<i64>().is_ok_and(|number| number.to_string() == *level);
        let is_bare = is_number || level.parse::<bool>().is_ok();
        if is_bare { level.clone() } else { quoted(level) }
    }
}

/// The most clusters of a plan, and the most levels of a key.
const MOST: usize = 1000;
/// The most characters of a label.
const MOST_LABEL: usize = 64;
/// The most combinations of a plan.
const MOST_CELLS: usize = 10_000;

/// A cluster as the plan has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterPlan {
    /// The name that the plan gives it.
    pub label: String,
    /// Its keys with their levels as text, in the order of the manual; at least one each. Keys that
    /// have no default and are not given are not there.
    pub factors: Vec<Factor>,
}

/// A key with the levels that are compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Factor {
    /// The key.
    pub key: &'static str,
    /// Its levels, each once.
    pub levels: Vec<String>,
}

impl ClusterPlan {
    /// How many combinations its levels have.
    pub(crate) fn cells(&self) -> usize {
        let levels = self.factors.iter().map(|factor| factor.levels.len());
        levels.fold(1, usize::saturating_mul)
    }
}

/// Reads all clusters; `None` after a fault.
pub(crate) fn read(reading: &Reading, root: &Table) -> Option<Vec<ClusterPlan>> {
    let Some(Entry { node, .. }) = root.get("cluster") else {
        let hint = "[cluster] and size = \"1GB\"";
        reading.fault(root.place, "expected a [cluster], found none", Some(hint.to_owned()));
        return None;
    };
    let Value::Table(all) = &node.value else {
        reading.wrong_type(node, "a table [cluster] or [cluster.LABEL]", None);
        return None;
    };
    let labels: Vec<&Entry> = all.entries.iter().filter(|entry| !is_level(entry)).collect();
    if labels.len() > MOST {
        reading.fault(node.place, format!("expected at most {MOST} clusters"), None);
        return None;
    }
    check_keys(reading, all, true);
    let mut clusters = Vec::new();
    if labels.is_empty() {
        clusters.push(read_one(reading, CLUSTER.path, node.place, (all, all)));
    }
    for entry in labels {
        let Value::Table(own) = &entry.node.value else { continue };
        let place = if entry.key_place.span.is_some() { entry.key_place } else { own.place };
        if let Err(message) = check_label(&entry.key) {
            reading.fault(place, message, None);
            continue;
        }
        check_keys(reading, own, false);
        clusters.push(read_one(reading, &entry.key, place, (own, all)));
    }
    let clusters: Option<Vec<ClusterPlan>> = clusters.into_iter().collect();
    let clusters = clusters?;
    let cells = clusters.iter().map(ClusterPlan::cells).fold(0, usize::saturating_add);
    if cells > MOST_CELLS {
        let message = format!("expected at most {MOST_CELLS} combinations, found {cells}");
        reading.fault(node.place, message, Some("give some keys fewer levels".to_owned()));
        return None;
    }
    Some(clusters)
}

/// Whether an entry of `[cluster]` is a key of all, and not the table of one.
fn is_level(entry: &&Entry) -> bool {
    !matches!(entry.node.value, Value::Table(_))
}

fn check_label(label: &str) -> Result<(), String> {
    if CLUSTER.has(label) {
        return Err(format!("`{label}` is a key of every cluster, and can be the name of none"));
    }
    let fits = (1..=MOST_LABEL).contains(&label.chars().count());
    if fits && !label.chars().any(char::is_control) {
        return Ok(());
    }
    Err(format!("expected a label of 1 to {MOST_LABEL} characters on one line"))
}

/// Notes keys that are not known; tables are labels where those may stand.
fn check_keys(reading: &Reading, table: &Table, may_have_labels: bool) {
    for entry in &table.entries {
        let is_label = may_have_labels && matches!(entry.node.value, Value::Table(_));
        if !is_label && !CLUSTER.has(&entry.key) {
            reading.unknown(entry, &CLUSTER);
        }
    }
}

/// One cluster: what its own table does not say, the common one does, and else the default.
fn read_one(
    reading: &Reading,
    label: &str,
    place: Place,
    (own, all): (&Table, &Table),
) -> Option<ClusterPlan> {
    let mut plan = ClusterPlan { label: label.to_owned(), factors: Vec::new() };
    let mut is_whole = true;
    for key in CLUSTER.keys() {
        let given = own.get(key.name).or_else(|| all.get(key.name).filter(is_level));
        let levels = match given {
            Some(entry) => levels(reading, &entry.node, key.takes.meant()),
            None => match key.without {
                Without::Value(_) => key.default().map(|level| vec![level]),
                Without::Nothing | Without::Said(_) => continue,
            },
        };
        is_whole &= levels.is_some();
        plan.factors.push(Factor { key: key.name, levels: levels.unwrap_or_default() });
    }
    if !plan.factors.iter().any(|factor| factor.key == "size") {
        let message = format!("expected `size` in [cluster.{label}], found none");
        reading.fault(place, message, Some("for example size = \"1GB\"".to_owned()));
        return None;
    }
    is_whole.then_some(plan)
}

/// The levels of a key: a value, a list of them, or several from the command line.
fn levels(reading: &Reading, node: &Node, meant: Option<Meant>) -> Option<Vec<String>> {
    let nodes = parts(node);
    if nodes.is_empty() || nodes.len() > MOST {
        reading.wrong_type(node, &format!("from 1 to {MOST} levels"), None);
        return None;
    }
    let mut levels: Vec<String> = Vec::with_capacity(nodes.len());
    for node in nodes {
        let text = reading.level(&node)?;
        if let (Some(meant), Some(known)) = (meant, reading.vocabulary)
            && let Err(error) = known.check(meant, &text)
        {
            reading.parse_fault(&node, &error);
            return None;
        }
        if levels.contains(&text) {
            reading.wrong_type(&node, "each level once", None);
            return None;
        }
        levels.push(text);
    }
    Some(levels)
}

pub(crate) fn write(clusters: &[ClusterPlan], out: &mut Writer) {
    for cluster in clusters {
        out.section_of(CLUSTER.path, &cluster.label);
        for factor in &cluster.factors {
            match factor.levels.as_slice() {
                [one] => out.put(factor.key, &Levels("", None), one),
                several => out.list(factor.key, several.iter().cloned()),
            }
        }
    }
}
