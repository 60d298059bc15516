//! The keys above any section, and the sections by their names.

use crate::key::SectionKeys;
use crate::takes::{Count, Line, Nested, Small, Whole};

/// What reports call a run.
pub(crate) const NAME: Line = Line("text");
/// A seed, or any other number.
pub(crate) const SEED: Whole = Count(0..=u64::MAX);
/// How many times a plan is run.
pub(crate) const REPEAT: Small = Count(1..=1_000_000_u32);

/// The keys above any section, and the sections.
pub(crate) static TOP: SectionKeys = SectionKeys {
    path: "",
    about: "A plan: what is asked of whom, how much and when, and by what a run is judged.",
    groups: &[&[
        key!("name": NAME, "before the cache", "What reports call the run."),
        key!("seed": SEED, or 1, "7", "Where all randomness of the run comes from."),
        key!("repeat": REPEAT, or 1, "5", "How many times the plan is run."),
        key!("folder": Line("folder"), said "the plan's", "/home/me/plans",
            "Where the files that the plan names are."),
        key!("target": Nested("table"), "", "What is asked: the section `[target]`."),
        key!("store": Nested("table"), said "{}", "",
            "What a store is asked for: the section `[store]`."),
        key!("load": Nested("table"), "", "How much is asked, and when: the section `[load]`."),
        key!("search": Nested("table"), "",
            "How a capacity is searched for: the section `[search]`."),
        key!("measure": Nested("table"), said "{}", "",
            "What the run is judged by: the section `[measure]`."),
        key!("pool": Nested("table"), "",
            "How many instances there may be: the section `[pool]`."),
        key!("instance": Nested("table"), "",
            "What one of them can do: the section `[instance]`."),
        key!("balancer": Nested("table"), "",
            "Which one takes a request: the section `[balancer]`."),
        key!("billing": Nested("table"), "", "What they cost: the section `[billing]`."),
        key!("policy": Nested("table"), "",
            "Who decides how many there are: `[policy.LABEL]`."),
        key!("tune": Nested("table"), "",
            "Which parameters of a policy are looked for: the section `[tune]`."),
        key!("trace": Nested("table"), "",
            "What caches are asked for: the section `[trace]`."),
        key!("workload": Nested("table"), "",
            "What is made up for them: the section `[workload]`."),
        key!("latency": Nested("table"), said "{}", "",
            "What each way costs: the section `[latency]`."),
        key!("cluster": Nested("table"), "",
            "Clusters of caches: `[cluster]` and `[cluster.LABEL]`."),
        key!("cache": Nested("table"), "",
            "Single caches that are compared on a trace: the section `[cache]`."),
    ]],
    shorthand: None,
    choices: &[],
};
