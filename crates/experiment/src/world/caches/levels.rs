//! The levels of a cluster: what each may be, and which do not go together.

use plimsoll_cache::admission::Admission;
use plimsoll_cache::capacity::Size;
use plimsoll_cache::cluster::{MOST_MEMBERS, Protocol, Spread};
use plimsoll_cache::eviction::Policy;
use plimsoll_plan::{ClusterPlan, Factor, KeyFault};
use plimsoll_units::{ParseError, count};

/// The level that stands for no filter.
const ALL: &str = "all";

/// Says all that is wrong with a cluster of a plan, as far as the plan alone says it.
pub(crate) fn check(of: &ClusterPlan) -> Vec<KeyFault> {
    let fault = |key: &str, level: usize, read| {
        KeyFault::of_text(&["cluster", &of.label, key], level, read)
    };
    let levels = of.factors.iter().flat_map(|factor| {
        factor.levels.iter().enumerate().map(|(level, text)| (factor.key, level, text))
    });
    let mut faults: Vec<KeyFault> =
        levels.filter_map(|(key, level, text)| fault(key, level, check_level(key, text))).collect();
    if faults.is_empty() {
        check_together(of, |key, level, error| {
            faults.extend(fault(key, level, Err(error)));
        });
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
fn check_together(of: &ClusterPlan, mut note: impl FnMut(&str, usize, ParseError)) {
    let levels = |key: &str| {
        let factor = of.factors.iter().find(|factor| factor.key == key);
        factor.map_or(&[][..], |factor: &Factor| &factor.levels)
    };
    let counts = |key: &str| levels(key).iter().map(|text| count(text).unwrap_or(0));
    let mut fault = |key, level, wanted: String, hint: &str| {
        let text: &str = levels(key).get(level).map_or("", String::as_str);
        note(key, level, ParseError::new(wanted, text, 0, text.len()).hint(hint));
    };
    let (most_parents, has_mesh) =
        (counts("parents").max().unwrap_or(0), counts("parents").any(|parents| parents == 0));
    for (level, text) in levels("protocol").iter().enumerate() {
        if matches!(text.parse(), Ok(Protocol::Carp(_))) && has_mesh {
            let wanted = "a hierarchy for CARP, which chooses among parents".to_owned();
            let hint = "give the cluster `parents`, or put meshes and hierarchies into tables of \
                        their own: [cluster.mesh], [cluster.hierarchy]";
            fault("protocol", level, wanted, hint);
        }
    }
    for key in ["parent_policy", "parent_size"] {
        if most_parents == 0 && !levels(key).is_empty() {
            let wanted = "`parents` beside it".to_owned();
            fault(key, 0, wanted, "a mesh has none: give parents = 1, or leave it out");
        }
    }
    for (level, nodes) in counts("nodes").enumerate() {
        if nodes + most_parents > MOST_MEMBERS as u64 {
            let wanted = format!("at most {MOST_MEMBERS} nodes and parents together");
            fault("nodes", level, wanted, "give fewer nodes or fewer parents");
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
