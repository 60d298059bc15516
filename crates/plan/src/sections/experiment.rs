//! `[experiment]` and `[factor]`: what is varied, in which combinations, how often and in which
//! order.

use std::collections::BTreeMap;
use std::time::Duration;

use plimsoll_stats::design::Design;
use plimsoll_stats::slo::{Clause, Rule};
use plimsoll_stats::stopping::Precision;
use plimsoll_units::{ParseError, Words, nearest};

use crate::reading::tree::{Entry, Node, Table, Value};
use crate::reading::{Reading, parts};
use crate::section::Section;
use crate::sections::constraint::Constraint;
use crate::sections::key_at;
use crate::sections::own_factors::{POLICY, TYPE, of_pool};
use crate::sections::testbed::TEXTS;
use crate::takes::{Count, Line, List, Parsed, Small, TIME, Takes, either};
use crate::write::Writer;

section! {
    /// Which combinations of the factors' levels are run, how often, and in which order.
    ["experiment"; read, write, default]
    pub struct Experiment {
        /// Which combinations of the factors' levels are run.
        design: Design { DESIGN, or Design::Full, "fractional 2^(5-1)" }
        /// How often each is run.
        replications: u32 { REPLICATIONS, or 1, "5" }
        /// How well a figure is to be known: replications are added until it is, at least five.
        until: Option<Precision> { PRECISION, "p99 within 5%" }
        /// No more replications than these are added for `until`.
        at_most: u32 { REPLICATIONS, or 30, "10" }
        /// How many cells of a block are executed side by side.
        at_once: u32 { Count(1..=64_u32), or 1, "2" }
        /// Factors of which cells that are executed side by side have different levels.
        apart: Vec<String> { KEYS, or Vec::new(), r#"["load.users"]"# }
        /// How long after the beginning of one replication the next begins, or when that is
        /// through.
        every: Option<Duration> { TIME, "15m" }
        /// In which order: a random one within each replication, or as they stand.
        order: Order { either::<Order>(), or Order::Random, "fixed" }
        /// The figures that effects are computed of.
        respond: Option<Vec<String>> { FIGURES, said "by the kind of plan", r#"["p99", "rate"]"# }
        /// Which combinations of the factors' levels there are: what a level needs, or excludes.
        constraints: Vec<Constraint> { CONSTRAINTS, or Vec::new(),
            r#"["load.users = 16 needs load.timeout = 2s"]"# }
        /// What must hold of the host, or is done, before each cell: a rule on its figures,
        /// `page_cache dropped`, `service restarted`.
        between: Vec<Between> { BETWEEN, or Vec::new(),
            r#"["host.tcp.time_wait <= 1000", "page_cache dropped"]"# }
        /// How long a cell may wait for the rules of `between`.
        between_within: Duration { TIME, or Duration::from_secs(60), "5m" }
        /// How much time the experiment may take: it ends before the cell that would exceed it.
        budget: Option<Duration> { TIME, "2h" }
        /// What makes a cell the best one; by default the first of `respond`, as it is better.
        goal: Option<String> { Line("goal"), said "by `respond`", "min p99" }
    }
}

impl Experiment {
    /// The first constraint that refuses a combination of factors' levels.
    #[must_use]
    pub fn refusing(&self, levels: &[(String, String)]) -> Option<&Constraint> {
        let level = |factor: &str| {
            levels.iter().find(|(key, _)| key == factor).map(|(_, level)| level.as_str())
        };
        self.constraints.iter().find(|constraint| !constraint.allows(level))
    }
}

/// What comes before each cell.
#[derive(Debug, Clone, PartialEq)]
pub enum Between {
    /// It is waited until this holds of the host.
    Holds(Rule),
    /// The page cache of the host is dropped.
    PageCacheDropped,
    /// The service is started anew.
    ServiceRestarted,
}

/// What the deeds among [`Between`] are called.
const PAGE_CACHE_DROPPED: &str = "page_cache dropped";
const SERVICE_RESTARTED: &str = "service restarted";

impl Between {
    /// Reads one of them.
    ///
    /// # Errors
    /// What is neither a deed nor a rule on figures of the host.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let words: Vec<&str> = text.split_whitespace().collect();
        match words.join(" ").as_str() {
            PAGE_CACHE_DROPPED => return Ok(Self::PageCacheDropped),
            SERVICE_RESTARTED => return Ok(Self::ServiceRestarted),
            _ => {}
        }
        let rule = Rule::parse(text).map_err(|error| match text.contains(['<', '>', '=']) {
            true => error,
            false => ParseError::new(WANTED, text, 0, text.len()),
        })?;
        let is_of_host = |clause: &&Clause| clause.word().starts_with("host.");
        match rule.clauses().iter().find(|clause| !is_of_host(clause)) {
            None => Ok(Self::Holds(rule)),
            Some(clause) => {
                let at = text.find(clause.word()).unwrap_or(0);
                let word = clause.word();
                let error = ParseError::new("a figure of the host", word, at, word.len());
                Err(error.hint("before a cell the host alone is watched: host.tcp.time_wait, …"))
            }
        }
    }
}

/// Parses back to the same.
impl std::fmt::Display for Between {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Holds(rule) => write!(f, "{rule}"),
            Self::PageCacheDropped => f.write_str(PAGE_CACHE_DROPPED),
            Self::ServiceRestarted => f.write_str(SERVICE_RESTARTED),
        }
    }
}

/// In which order cells are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// At random, one replication of all after the other.
    Random,
    /// As they stand.
    Fixed,
}

impl Words for Order {
    const WORDS: &'static [(&'static str, Self)] =
        &[("random", Self::Random), ("fixed", Self::Fixed)];
}

const DESIGN: Parsed<Design> =
    Parsed::text("design", "a design such as full or fractional 2^(5-1)", Design::parse);
const PRECISION: Parsed<Precision> =
    Parsed::text("precision", "a figure and a share such as p99 within 5%", Precision::parse);
const REPLICATIONS: Small = Count(1..=10_000_u32);
const CONSTRAINTS: List<Parsed<Constraint>> = List(
    Parsed::text("constraint", "a constraint such as a = 1 needs b = 2", Constraint::parse),
    "list of constraints",
);
const KEYS: List<Line> = List(Line("factor"), "list of factors");
const FIGURES: List<Line> = List(Line("figure"), "list of figures");
/// What is wanted of a part of `between`.
const WANTED: &str = "`page_cache dropped`, `service restarted` or a rule such as \
                      host.tcp.time_wait<=1000";
const BETWEEN: List<Parsed<Between>> =
    List(Parsed::text("rule or deed", WANTED, Between::parse), "list of rules and deeds");

/// A factor: a key of the plan, or a name for several, and the levels that it has in cells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FactorPlan {
    /// The key, such as `load.users` or `role.web.sysctl.net.core.somaxconn`; else the name.
    pub key: String,
    /// Its levels as text; at least two.
    pub levels: Vec<String>,
    /// Of a named factor, what each level sets: keys and their values. Empty of a key. The levels
    /// of the plan's own sections, as the policies of a pool are, set nothing.
    pub sets: Vec<Vec<(String, String)>>,
    /// What is known of levels of a named factor, by which results are compared.
    pub labels: BTreeMap<String, BTreeMap<String, String>>,
}

/// What stands in a level of a named factor beside what it sets.
pub(crate) const LABELS: &str = "labels";

impl FactorPlan {
    /// A factor whose levels stand in the plan's own sections.
    pub(crate) fn own(key: &str, levels: Vec<String>) -> Self {
        let labels = BTreeMap::new();
        Self { key: key.to_owned(), sets: vec![Vec::new(); levels.len()], levels, labels }
    }

    /// Whether its levels stand in the plan's own sections.
    #[must_use]
    pub fn is_own(&self) -> bool {
        !self.sets.is_empty() && self.sets.iter().all(Vec::is_empty)
    }

    /// The keys that a level sets, with their values. Nothing where the factor has no such level.
    #[must_use]
    pub fn settings(&self, level: &str) -> Vec<(String, String)> {
        match self.levels.iter().position(|of| of == level) {
            Some(at) if !self.sets.is_empty() => self.sets[at].clone(),
            Some(_) => vec![(self.key.clone(), level.to_owned())],
            None => Vec::new(),
        }
    }

    /// All the keys that its levels set.
    #[must_use]
    pub fn keys(&self) -> Vec<&str> {
        if self.sets.is_empty() {
            return vec![&self.key];
        }
        self.sets.iter().flatten().map(|(key, _)| key.as_str()).collect()
    }
}

/// The most factors of a plan, and the most levels of one.
const MOST: usize = 100;
const MOST_LEVELS: usize = 1000;

/// Reads all factors.
pub(crate) fn read_factors(reading: &Reading, root: &Table) -> Vec<FactorPlan> {
    let Some(Entry { node, .. }) = root.get("factor") else { return Vec::new() };
    let Value::Table(table) = &node.value else {
        let hint = "[factor] and \"load.users\" = [16, 256]";
        reading.wrong_type(node, "a table [factor] of keys and levels", Some(hint.to_owned()));
        return Vec::new();
    };
    let own = of_pool(root);
    let is_own = |key: &str| own.iter().any(|(own, labels)| *own == key && !labels.is_empty());
    let read = |of: &Entry| read_one(reading, &of.key, &of.node, is_own(&of.key));
    let factors: Vec<FactorPlan> = table.entries.iter().filter_map(read).collect();
    if factors.len() > MOST {
        reading.fault(node.place, format!("expected at most {MOST} factors"), None);
    }
    factors
}

/// Notes what a constraint names that no factor has.
pub(crate) fn check_constraints(
    section: &Section<'_>,
    constraints: &[Constraint],
    factors: &[FactorPlan],
) {
    for constraint in constraints {
        if let Some((wanted, hint)) = constraint.unknown(factors) {
            let message = format!("`{constraint}`: expected {wanted}");
            section.fault("constraints", message, hint.as_deref());
        }
    }
}

/// Notes a factor that side by side cells are to differ in, and that there is not.
pub(crate) fn check_apart(section: &Section<'_>, of: &Experiment, factors: &[FactorPlan]) {
    for name in of.apart.iter().filter(|name| !factors.iter().any(|of| of.key == **name)) {
        let near = nearest(name, factors.iter().map(|of| of.key.as_str()));
        let hint = near.map(|near| format!("did you mean `{near}`?"));
        let message = format!("expected a factor of the plan, found `{name}`");
        section.fault("apart", message, hint.as_deref());
    }
}

/// Notes what cannot come before each cell.
pub(crate) fn check_between(section: &Section<'_>, of: &Experiment, can_restart: bool) {
    if of.at_once > 1 && !of.between.is_empty() {
        let message = "`between` goes with one cell at a time: what is done before one would \
                       disturb those beside it";
        section.fault("between", message, Some("leave out `between` or `at_once`"));
    }
    if of.between.contains(&Between::ServiceRestarted) && !can_restart {
        let message = "`service restarted` needs to know how";
        let hint = "set restart = \"systemctl restart nginx\" in [target], or give a [testbed]";
        section.fault("between", message, Some(hint));
    }
}

/// Whether a key of the plan may be a factor; what is wrong is noted.
fn check_key(reading: &Reading, key: &str, node: &Node) -> Option<()> {
    // What a section with a name of the user's choice has behind it is known when it is read.
    let free = ["role.", "link.", "policy.", "target.headers.", "cluster.", "workload.class."];
    let is_free = free.iter().any(|of| key.starts_with(of)) || is_of_type(key);
    let is_own = ["experiment", "factor", "testbed"].iter().any(|of| key.starts_with(of));
    if ["seed", "repeat"].contains(&key) {
        let message = format!("expected a factor that is not `{key}`: every cell has its own seed");
        let hint = "say how often each combination runs: replications = 5 in [experiment]";
        reading.fault(node.place, message, Some(hint.to_owned()));
        return None;
    }
    if is_own || !is_free && key_at(key).is_none() {
        let message = format!("expected a key of the plan as a factor, found `{key}`");
        let hint = "write its whole path: \"load.users\", \"role.web.cpu\"";
        reading.fault(node.place, message, Some(hint.to_owned()));
        return None;
    }
    Some(())
}

/// Whether it is a key of one instance type: `instance.LABEL.boot`.
fn is_of_type(key: &str) -> bool {
    let of = key.strip_prefix("instance.").and_then(|rest| rest.rsplit_once('.'));
    of.is_some_and(|(_, key)| key_at(&format!("instance.{key}")).is_some())
}

/// Reads a factor; the policies and the instance types of a pool are its own levels, by their
/// names.
fn read_one(reading: &Reading, key: &str, node: &Node, is_own: bool) -> Option<FactorPlan> {
    if let Value::Table(table) = &node.value {
        return read_named(reading, key, node, table);
    }
    if !is_own {
        check_key(reading, key, node)?;
    }
    let levels: Option<Vec<String>> = parts(node).iter().map(|node| reading.level(node)).collect();
    let levels = levels?;
    check_levels(reading, key, node, &levels)?;
    if is_own {
        return Some(FactorPlan::own(key, levels));
    }
    Some(FactorPlan { key: key.to_owned(), levels, sets: Vec::new(), labels: BTreeMap::new() })
}

/// A factor with a name of the user's choice, whose levels set several keys each.
fn read_named(reading: &Reading, name: &str, node: &Node, table: &Table) -> Option<FactorPlan> {
    let (mut levels, mut sets, mut labels) = (Vec::new(), Vec::new(), BTreeMap::new());
    for Entry { key, node, .. } in &table.entries {
        let Value::Table(of_level) = &node.value else {
            let message = format!("expected what the level `{key}` of `{name}` sets");
            let hint = format!(
                "a factor of one key has a list of levels: \"{name}.{key}\" = [1, 2]; a \
                 level of several: {key} = {{ \"load.users\" = 4 }}"
            );
            reading.fault(node.place, message, Some(hint));
            return None;
        };
        let mut set = Vec::new();
        let is_label = |entry: &&Entry| entry.key == LABELS;
        if let Some(found) = of_level.entries.iter().find(is_label) {
            labels.insert(key.clone(), TEXTS.read(reading, &found.node)?);
        }
        let entries = of_level.entries.iter().filter(|entry| !is_label(entry)).cloned().collect();
        read_level(reading, "", &Table { entries, ..*of_level }, &mut set)?;
        levels.push(key.clone());
        sets.push(set);
    }
    check_levels(reading, name, node, &levels)?;
    if sets.iter().all(Vec::is_empty) {
        let message = format!("expected what the levels of `{name}` set, found nothing");
        let hint = format!("{} = {{ \"load.users\" = 4 }}", levels[0]);
        reading.fault(node.place, message, Some(hint));
        return None;
    }
    Some(FactorPlan { key: name.to_owned(), levels, sets, labels })
}

/// The keys that a level sets, however deep their tables are.
fn read_level(
    reading: &Reading,
    path: &str,
    table: &Table,
    set: &mut Vec<(String, String)>,
) -> Option<()> {
    for Entry { key, node, .. } in &table.entries {
        let dot = if path.is_empty() { "" } else { "." };
        let path = format!("{path}{dot}{key}");
        if let Value::Table(inner) = &node.value {
            read_level(reading, &path, inner, set)?;
            continue;
        }
        check_key(reading, &path, node)?;
        set.push((path, reading.level(node)?));
    }
    Some(())
}

fn check_levels(reading: &Reading, key: &str, node: &Node, levels: &[String]) -> Option<()> {
    if !(1..=MOST_LEVELS).contains(&levels.len()) {
        let message = format!("expected 1 to {MOST_LEVELS} levels of `{key}`");
        reading.fault(node.place, message, Some("for example [16, 256]".to_owned()));
        return None;
    }
    if let Some(twice) = (1..levels.len()).find(|at| levels[..*at].contains(&levels[*at])) {
        let message =
            format!("expected levels of `{key}` that differ, found {} twice", levels[twice]);
        reading.fault(node.place, message, None);
        return None;
    }
    Some(())
}

/// Writes the factors that stand in `[factor]`: those of keys, then those that set several. Of the
/// plan's own sections only a choice of policies, or of instance types, stands there.
pub(crate) fn write_factors(factors: &[FactorPlan], out: &mut Writer) {
    let is_choice = |of: &FactorPlan| of.is_own() && [POLICY, TYPE].contains(&of.key.as_str());
    let of_keys = || factors.iter().filter(|of| of.sets.is_empty() || is_choice(of));
    let named = || factors.iter().filter(|of| !of.sets.is_empty() && !of.is_own());
    if of_keys().count() + named().count() == 0 {
        return;
    }
    out.section("factor");
    for FactorPlan { key, levels, .. } in of_keys() {
        out.list(key, levels.iter().cloned());
    }
    for FactorPlan { key, levels, sets, labels } in named() {
        out.section_of("factor", key);
        for (level, set) in levels.iter().zip(sets) {
            out.inline(level, |out| {
                set.iter().for_each(|(key, value)| out.text(key, value));
                labels.get(level).into_iter().for_each(|of| out.put(LABELS, &TEXTS, of));
            });
        }
    }
}
