//! What a plan is of, told from its sections before anything of it is read.

use crate::reading::source::Source;
use crate::reading::tree::{Table, read};

/// What a plan is of: which command reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanKind {
    /// A load: `plimsoll load`.
    Load,
    /// A search for a capacity: `plimsoll capacity`.
    Search,
    /// A pool of servers under policies: `plimsoll simulate`.
    Pool,
    /// Web caches on a trace or on a synthetic workload: `plimsoll cache simulate`.
    Caches,
    /// A search for the parameters of a pool's policy: `plimsoll tune`.
    Tune,
}

/// Whether a plan of caches is of single ones, a [`crate::CacheComparison`], and not of clusters.
#[must_use]
pub fn compares_caches(text: &str) -> bool {
    read(&mut Source::file("plan", text)).is_ok_and(|root| root.get("cache").is_some())
}

/// What a plan's text is of, by the sections that it has. A target whose server is also described
/// as an `[instance]` is a load: which world it is put into is not the plan's to say. What is not
/// TOML is a load, whose reader says what is wrong.
#[must_use]
pub fn kind_of(text: &str) -> PlanKind {
    read(&mut Source::file("plan", text)).map_or(PlanKind::Load, |root| of(&root))
}

pub(crate) fn of(root: &Table) -> PlanKind {
    let has = |section: &str| root.get(section).is_some();
    let is_pool = ["pool", "policy", "balancer", "billing"].into_iter().any(has);
    match () {
        () if has("tune") => PlanKind::Tune,
        () if has("search") => PlanKind::Search,
        () if ["cluster", "cache", "trace", "workload", "latency"].into_iter().any(has) => {
            PlanKind::Caches
        }
        () if is_pool || (has("instance") && !has("target")) => PlanKind::Pool,
        () => PlanKind::Load,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_known_by_its_sections() {
        for (text, kind) in [
            ("", PlanKind::Load),
            ("[target]\n[load]\n", PlanKind::Load),
            ("[target]\n[load]\n[instance]\n", PlanKind::Load),
            ("[target]\n[search]\n[instance]\n", PlanKind::Search),
            ("[search]\n", PlanKind::Search),
            ("[instance]\n[load]\n", PlanKind::Pool),
            ("[target]\n[instance]\n[policy.a]\n", PlanKind::Pool),
            ("[billing]\n", PlanKind::Pool),
            ("[pool]\n[instance]\n[policy.a]\n[tune]\n", PlanKind::Tune),
            ("[trace]\n[cache]\n", PlanKind::Caches),
            ("[workload]\n[load]\n[cluster.a]\n", PlanKind::Caches),
            ("not toml", PlanKind::Load),
        ] {
            assert_eq!(kind_of(text), kind, "{text}");
        }
    }
}
