//! From a plan to its cells: every combination of the levels of each cluster.

use super::levels::{admission, members, policy, switch};
use plimsoll_cache::cluster::{Architecture, Cluster, Latency, Leg};
use plimsoll_plan::{CachePlan, LatencyPlan, Way};
use plimsoll_stats::design::full;
use plimsoll_units::ParseError;

/// A cluster with one level of every key.
#[derive(Debug, Clone)]
pub struct Cell {
    /// The label of its cluster.
    pub label: String,
    /// The level of every key, in the order of the manual.
    pub levels: Vec<(&'static str, String)>,
    /// Which of them have other levels beside, in the same cluster.
    pub differs: Vec<&'static str>,
    /// What is simulated.
    pub cluster: Cluster,
}

impl Cell {
    /// The level of a key.
    #[must_use]
    pub fn level(&self, key: &str) -> Option<&str> {
        self.levels.iter().find(|(known, _)| *known == key).map(|(_, level)| level.as_str())
    }

    /// How it is called: its label, and what distinguishes it from others of that.
    #[must_use]
    pub fn name(&self) -> String {
        let mut name = self.label.clone();
        for key in &self.differs {
            let level = self.level(key).unwrap_or_default();
            // What a number or a switch is of, has to be said; words speak for themselves.
            let speaks = ["protocol", "spread", "policy", "size", "admit"].contains(key);
            name.push_str(" · ");
            if !speaks {
                name.push_str(key);
                name.push('=');
            }
            name.push_str(level);
        }
        name
    }
}

/// The cells of a plan, in its order: the last key changes fastest. Each counts the trace in so
/// many parts.
///
/// # Errors
/// A level that cannot be read.
pub fn cells(plan: &CachePlan, parts: usize) -> Result<Vec<Cell>, ParseError> {
    let mut all = Vec::new();
    for of in &plan.clusters {
        let factors: Vec<(&str, &[String])> =
            of.factors.iter().map(|factor| (factor.key, &factor.levels[..])).collect();
        for levels in full(&factors) {
            let cluster = cluster(plan, &levels, parts)?;
            let differs = of.factors.iter().filter(|factor| factor.levels.len() > 1);
            let differs = differs.map(|factor| factor.key).collect();
            all.push(Cell { label: of.label.clone(), levels, differs, cluster });
        }
    }
    Ok(all)
}

fn cluster(
    plan: &CachePlan,
    levels: &[(&'static str, String)],
    parts: usize,
) -> Result<Cluster, ParseError> {
    let given =
        |key: &str| levels.iter().find(|(known, _)| *known == key).map(|(_, of)| of.as_str());
    // Keys with a default are always there.
    let level = |key: &str| given(key).unwrap_or_default();
    let (policy_, size) = (policy(level("policy"))?, level("size").parse()?);
    let parent = match (given("parent_policy"), given("parent_size")) {
        (None, None) => None,
        (of_policy, of_size) => Some((
            of_policy.map_or_else(|| Ok(policy_.clone()), policy)?,
            of_size.unwrap_or(level("size")).parse()?,
        )),
    };
    let siblings = switch(level("siblings"))?;
    Ok(Cluster {
        nodes: members(level("nodes"), 1)?,
        architecture: match members(level("parents"), 0)? {
            0 => Architecture::Mesh,
            parents => Architecture::Hierarchy { parents, siblings },
        },
        protocol: level("protocol").parse()?,
        spread: level("spread").parse()?,
        policy: policy_,
        size,
        parent,
        memory: given("memory").map(str::parse).transpose()?,
        admission: admission(level("admit"))?,
        keeps_siblings: !switch(level("proxy_only"))?,
        latency: latency(&plan.latency),
        // How objects change comes with the requests.
        life: None,
        by_size: true,
        parts,
    })
}

fn latency(plan: &LatencyPlan) -> Latency {
    let leg = |way: Way| Leg {
        first_ns: u64::try_from(way.first.as_nanos()).unwrap_or(u64::MAX),
        bytes_per_s: way.bytes_per_s as f64,
    };
    Latency {
        memory: leg(plan.memory),
        disk: leg(plan.disk),
        sibling: leg(plan.sibling),
        parent: leg(plan.parent),
        origin: leg(plan.origin),
    }
}
