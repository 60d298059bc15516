//! The levels of a cluster: what each may be, and which do not go together.

use plimsoll_cache::admission::Admission;
use plimsoll_cache::capacity::Size;
use plimsoll_cache::cluster::{MOST_MEMBERS, Protocol, Spread};
use plimsoll_cache::eviction::Policy;
use plimsoll_plan::{ClusterFault, ClusterPlan, Factor};
use plimsoll_units::{ParseError, count};

/// The level that stands for no filter.
const ALL: &str = "all";

/// Says all that is wrong with a cluster of a plan, as far as the plan alone says it.
pub(crate) fn check(of: &ClusterPlan) -> Vec<ClusterFault> {
    let mut faults = Vec::new();
    for factor in &of.factors {
        for (level, text) in factor.levels.iter().enumerate() {
            if let Err(error) = check_level(factor.key, text) {
                faults.push(ClusterFault { key: factor.key, level, error });
            }
        }
    }
    if faults.is_empty() {
        check_together(of, &mut faults);
    }
    faults
}

fn check_level(key: &str, text: &str) -> Result<(), ParseError> {
    match key {
        "nodes" => members(text, 1).map(drop),
        "parents" => members(text, 0).map(drop),
        "siblings" | "proxy_only" => switch(text).map(drop),
        "protocol" => text.parse::<Protocol>().map(drop),
        "spread" => text.parse::<Spread>().map(drop),
        "policy" | "parent_policy" => policy(text).map(drop),
        "admit" => admission(text).map(drop),
        _ => text.parse::<Size>().map(drop),
    }
}

/// What single levels do not say.
fn check_together(of: &ClusterPlan, faults: &mut Vec<ClusterFault>) {
    let levels = |key: &str| {
        let factor = of.factors.iter().find(|factor| factor.key == key);
        factor.map_or(&[][..], |factor: &Factor| &factor.levels)
    };
    let counts = |key: &str| levels(key).iter().map(|text| count(text).unwrap_or(0));
    let fault = |key, level, wanted: String, hint: &str| {
        let text: &str = levels(key).get(level).map_or("", String::as_str);
        let error = ParseError::new(wanted, text, 0, text.len()).hint(hint);
        ClusterFault { key, level, error }
    };
    let (most_parents, has_mesh) =
        (counts("parents").max().unwrap_or(0), counts("parents").any(|parents| parents == 0));
    for (level, text) in levels("protocol").iter().enumerate() {
        if matches!(text.parse(), Ok(Protocol::Carp(_))) && has_mesh {
            let wanted = "a hierarchy for CARP, which chooses among parents".to_owned();
            let hint = "give the cluster `parents`, or put meshes and hierarchies into tables of \
                        their own: [cluster.mesh], [cluster.hierarchy]";
            faults.push(fault("protocol", level, wanted, hint));
        }
    }
    for key in ["parent_policy", "parent_size"] {
        if most_parents == 0 && !levels(key).is_empty() {
            let wanted = "`parents` beside it".to_owned();
            faults.push(fault(
                key,
                0,
                wanted,
                "a mesh has none: give parents = 1, or leave it out",
            ));
        }
    }
    for (level, nodes) in counts("nodes").enumerate() {
        if nodes + most_parents > MOST_MEMBERS as u64 {
            let wanted = format!("at most {MOST_MEMBERS} nodes and parents together");
            faults.push(fault("nodes", level, wanted, "give fewer nodes or fewer parents"));
        }
    }
}

/// How many nodes or parents.
pub(super) fn members(text: &str, least: u64) -> Result<usize, ParseError> {
    let most = MOST_MEMBERS as u64;
    let number = count(text)?;
    let fits = usize::try_from(number).ok().filter(|_| (least..=most).contains(&number));
    let wanted = || format!("a whole number from {least} to {most}");
    fits.ok_or_else(|| ParseError::new(wanted(), text, 0, text.len()))
}

pub(super) fn switch(text: &str) -> Result<bool, ParseError> {
    text.parse().map_err(|_| ParseError::new("true or false", text, 0, text.len()))
}

/// A policy that needs nothing of the future: a node sees only a part of it.
pub(super) fn policy(text: &str) -> Result<Policy, ParseError> {
    let policy: Policy = text.parse()?;
    if policy.kind.needs.next {
        let wanted = "a policy that does not need the future, of which a node sees only a part";
        return Err(ParseError::new(wanted, text, 0, text.len()));
    }
    Ok(policy)
}

/// A filter; none for `all`.
pub(super) fn admission(text: &str) -> Result<Option<Admission>, ParseError> {
    if text == ALL { Ok(None) } else { text.parse().map(Some) }
}
