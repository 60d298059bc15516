//! Factors that stand in sections of the plan themselves: the policies and the instance types of a
//! pool, the clusters of caches, and the keys of clusters that have several levels. In an
//! experiment they are factors like those of `[factor]`; their levels set nothing, as they stand in
//! the plan already.

use plimsoll_units::nearest;

use crate::reading::Reading;
use crate::reading::source::Place;
use crate::reading::tree::{Table, Value};
use crate::sections::cluster::{CLUSTER, ClusterPlan};
use crate::sections::constraint::{Condition, Constraint};
use crate::sections::experiment::{Experiment, FactorPlan};
use crate::sections::instance::labels as types;

/// The factor whose levels are the policies of a pool.
pub const POLICY: &str = "policy";
/// The factor whose levels are instance types.
pub const TYPE: &str = "type";
/// The factor whose levels are clusters of caches.
pub(crate) const CLUSTERS: &str = "cluster";
/// The level of a key that a cluster does not have.
pub const NO_LEVEL: &str = "–";

/// The labels of the policies of a plan, in its order.
pub(crate) fn policies(root: &Table) -> Vec<String> {
    match root.get(POLICY).map(|entry| &entry.node.value) {
        Some(Value::Table(all)) => all.entries.iter().map(|entry| entry.key.clone()).collect(),
        _ => Vec::new(),
    }
}

/// Whether the plan of a pool compares instance types: that makes it an experiment.
pub(crate) fn compares_types(root: &Table) -> bool {
    types(root).len() > 1
}

/// The factors of a pool whose levels stand in sections of its plan, with these; types first, as
/// all policies of a type have a model in common.
pub(crate) fn of_pool(root: &Table) -> [(&'static str, Vec<String>); 2] {
    [(TYPE, types(root)), (POLICY, policies(root))]
}

/// Adds the instance types and the policies of a pool to the factors of its experiment, where there
/// are several of them; a factor `type` or `policy` of the plan's own says which are compared.
pub(crate) fn add_of_pool(reading: &Reading, root: &Table, factors: &mut Vec<FactorPlan>) {
    for (key, labels) in of_pool(root) {
        let Some(given) = factors.iter().find(|of| of.key == key) else {
            factors.extend((labels.len() > 1).then(|| FactorPlan::own(key, labels)));
            continue;
        };
        let (one, all) = match key {
            TYPE => ("an instance type", "instance types"),
            _ => ("a policy", "policies"),
        };
        if !given.is_own() {
            // A plan without types may call a factor of its own so.
            if !labels.is_empty() || key == POLICY {
                let hint = "call a factor that sets keys otherwise";
                let message = format!("`{key}` is the factor of the pool's {all}");
                reading.fault(place(root, key), message, Some(hint.to_owned()));
            }
        } else if let Some(level) = given.levels.iter().find(|level| !labels.contains(level)) {
            let near = nearest(level, labels.iter().map(String::as_str));
            let message = format!("expected {one} of the plan, found `{level}`");
            let hint = near.map(|near| format!("did you mean `{near}`?"));
            reading.fault(place(root, key), message, hint);
        }
    }
}

/// Adds the clusters of a plan to the factors of its experiment, where there are several, and each
/// of their keys that has several levels in one of them.
pub(crate) fn add_clusters(
    reading: &Reading,
    root: &Table,
    clusters: &[ClusterPlan],
    factors: &mut Vec<FactorPlan>,
) {
    let set: Vec<String> =
        factors.iter().flat_map(FactorPlan::keys).filter_map(key_of_clusters).collect();
    for own in of_clusters(clusters) {
        let key = &own.key;
        let (message, hint) = match () {
            () if factors.iter().any(|of| of.key == *key) => (
                format!("`{key}` is a factor already: its levels stand in [cluster]"),
                "call this one otherwise",
            ),
            () if set.contains(key) => (
                format!("`{key}` of clusters has levels in [factor] and several in [cluster]"),
                "give the levels in one place",
            ),
            () => {
                factors.push(own);
                continue;
            }
        };
        let at = if factors.iter().any(|of| of.key == *key) { key.as_str() } else { "" };
        reading.fault(place(root, at), message, Some(hint.to_owned()));
    }
}

/// The key of clusters that a path of the plan is of: `size` of `cluster.size` and of
/// `cluster.mesh.size`.
fn key_of_clusters(path: &str) -> Option<String> {
    let path = path.strip_prefix("cluster.")?;
    Some(path.rsplit_once('.').map_or(path, |(_, key)| key).to_owned())
}

fn of_clusters(clusters: &[ClusterPlan]) -> Vec<FactorPlan> {
    let labels: Vec<String> = clusters.iter().map(|of| of.label.clone()).collect();
    let mut all = Vec::new();
    all.extend((labels.len() > 1).then(|| FactorPlan::own(CLUSTERS, labels)));
    for key in CLUSTER.keys() {
        if clusters.iter().any(|of| levels(of, key.name).len() > 1) {
            let mut union: Vec<String> = Vec::new();
            for level in clusters.iter().flat_map(|of| levels(of, key.name)) {
                if !union.contains(&level) {
                    union.push(level);
                }
            }
            all.push(FactorPlan::own(key.name, union));
        }
    }
    all
}

/// The levels that a cluster has of a key.
fn levels(cluster: &ClusterPlan, key: &str) -> Vec<String> {
    let found = cluster.factors.iter().find(|of| of.key == key);
    found.map_or_else(|| vec![NO_LEVEL.to_owned()], |of| of.levels.clone())
}

/// Adds what clusters need to the constraints of their experiment.
pub(crate) fn add_needs(
    experiment: &mut Option<Experiment>,
    clusters: &[ClusterPlan],
    factors: &[FactorPlan],
) {
    let needs = needs_of_clusters(clusters, factors);
    if !needs.is_empty() {
        experiment.get_or_insert_default().constraints.extend(needs);
    }
}

/// What clusters need: of a key whose levels they do not share each has its own.
fn needs_of_clusters(clusters: &[ClusterPlan], factors: &[FactorPlan]) -> Vec<Constraint> {
    if clusters.len() < 2 {
        return Vec::new();
    }
    let keys = factors.iter().filter(|of| of.is_own() && of.key != CLUSTERS);
    let pairs = keys.flat_map(|key| clusters.iter().map(move |cluster| (key, cluster)));
    let need = |(key, cluster): (&FactorPlan, &ClusterPlan)| {
        let levels = levels(cluster, &key.key);
        let is_all = key.levels.iter().all(|level| levels.contains(level));
        (!is_all).then(|| Constraint {
            of: Condition { factor: CLUSTERS.to_owned(), levels: vec![cluster.label.clone()] },
            other: Condition { factor: key.key.clone(), levels },
            needs: true,
        })
    };
    pairs.filter_map(need).collect()
}

/// The levels that all cells of a pool have: of its only type, and its only policy.
pub(crate) fn common_of_pool(root: &Table) -> Vec<(String, String)> {
    let only = |(key, labels): (&str, Vec<String>)| {
        only(key, &labels.iter().map(String::as_str).collect::<Vec<_>>())
    };
    of_pool(root).into_iter().flat_map(only).collect()
}

/// The level that all cells have of a factor which has no other; nothing where the plan has several
/// or none.
pub(crate) fn only(key: &str, labels: &[&str]) -> Vec<(String, String)> {
    match labels {
        [one] => vec![(key.to_owned(), (*one).to_owned())],
        _ => Vec::new(),
    }
}

/// Where a factor stands in the plan; the section, or the plan, where it does not.
fn place(root: &Table, factor: &str) -> Place {
    let Some(entry) = root.get("factor") else { return root.place };
    match &entry.node.value {
        Value::Table(table) => table.get(factor).map_or(entry.node.place, |of| of.node.place),
        _ => entry.node.place,
    }
}
