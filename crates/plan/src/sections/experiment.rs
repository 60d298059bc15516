//! `[experiment]` and `[factor]`: what is varied, in which combinations, how often and in which
//! order.

use plimsoll_stats::design::Design;
use plimsoll_units::Words;

use crate::reading::text::quoted;
use crate::reading::tree::{Entry, Node, Table, Value};
use crate::reading::{Reading, parts};
use crate::sections::key_at;
use crate::takes::{Count, Line, List, Parsed, Small, either};
use crate::write::Writer;

section! {
    /// Which combinations of the factors' levels are run, how often, and in which order.
    ["experiment"; read, write, default]
    pub struct Experiment {
        /// Which combinations of the factors' levels are run.
        design: Design { DESIGN, or Design::Full, "fractional 2^(5-1)" }
        /// How often each is run.
        replications: u32 { REPLICATIONS, or 1, "5" }
        /// In which order: a random one within each replication, or as they stand.
        order: Order { either::<Order>(), or Order::Random, "fixed" }
        /// The figures that effects are computed of.
        respond: Vec<String> { FIGURES, or vec!["p99".to_owned()], r#"["p99", "rate"]"# }
        /// What makes a cell the best one; by default the first of `respond`, as it is better.
        goal: Option<String> { Line("goal"), said "by `respond`", "min p99" }
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
const REPLICATIONS: Small = Count(1..=10_000_u32);
const FIGURES: List<Line> = List(Line("figure"), "list of figures");

/// A factor: a key of the plan, and the levels that it has in cells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FactorPlan {
    /// The key: `load.users`, `role.web.sysctl.net.core.somaxconn`.
    pub key: String,
    /// Its levels as text; at least two.
    pub levels: Vec<String>,
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
    let read = |of: &Entry| read_one(reading, &of.key, &of.node);
    let factors: Vec<FactorPlan> = table.entries.iter().filter_map(read).collect();
    if factors.len() > MOST {
        reading.fault(node.place, format!("expected at most {MOST} factors"), None);
    }
    factors
}

fn read_one(reading: &Reading, key: &str, node: &Node) -> Option<FactorPlan> {
    // What a section with a name of the user's choice has behind it is known when it is read.
    let is_free = ["role.", "policy.", "target.headers."].iter().any(|of| key.starts_with(of));
    let is_own = ["experiment", "factor", "testbed"].iter().any(|of| key.starts_with(of));
    if is_own || !is_free && key_at(key).is_none() {
        let message = format!("expected a key of the plan as a factor, found `{key}`");
        let hint = "write its whole path: \"load.users\", \"role.web.cpu\"";
        reading.fault(node.place, message, Some(hint.to_owned()));
        return None;
    }
    let levels: Option<Vec<String>> = parts(node).iter().map(|node| reading.level(node)).collect();
    let levels = levels?;
    if !(2..=MOST_LEVELS).contains(&levels.len()) {
        let message = format!("expected 2 to {MOST_LEVELS} levels of `{key}`");
        reading.fault(node.place, message, Some("for example [16, 256]".to_owned()));
        return None;
    }
    if let Some(twice) = (1..levels.len()).find(|at| levels[..*at].contains(&levels[*at])) {
        let message =
            format!("expected levels of `{key}` that differ, found {} twice", levels[twice]);
        reading.fault(node.place, message, None);
        return None;
    }
    Some(FactorPlan { key: key.to_owned(), levels })
}

pub(crate) fn write_factors(factors: &[FactorPlan], out: &mut Writer) {
    if factors.is_empty() {
        return;
    }
    out.section("factor");
    for FactorPlan { key, levels } in factors {
        out.list(&quoted(key), levels.iter().cloned());
    }
}
