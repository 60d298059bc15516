//! The keys above any section, and the sections by their names.

use crate::flag::Group;
use crate::takes::{Count, Line, Nested, Number, Small, Whole};

/// A seed, or any other number.
const SEED: Whole = Count(0..=u64::MAX);
/// No time is compressed more.
const SPEED: Number = Number(0.001, 100_000.0);
/// How many times a plan is run.
const REPEAT: Small = Count(1..=1_000_000_u32);

section! {
    /// A plan: what is asked of whom, how much and when, and by what a run is judged.
    ["", also TABLES]
    pub(crate) struct Top {
        /// What reports call the run.
        name: Option<String> { Line("text"), "before the cache" }
            flag [Group::Measured.flag("name", "TEXT")]
        /// Where all randomness of the run comes from.
        seed: u64 { SEED, or 1, "7" } flag [Group::Sent.flag("seed", "N")]
        /// How many times the plan is run.
        repeat: Option<u32> { REPEAT, usually 1, "5" }
            flag [Group::Load.flag("repeat", "N").says("Run the plan so many times")]
        /// How many seconds of a pool's life pass in one of the clock.
        speed: Option<f64> { SPEED, usually 1.0, "60" }
        /// Where the files that the plan names are.
        folder: Option<String> { Line("folder"), said "the plan's", "/home/me/plans" }
    }
}

section! {
    /// The sections.
    TABLES {
        /// What is asked: the section `[target]`.
        target { Nested("table"), "" }
        /// What a store is asked for: the section `[store]`.
        store { Nested("table"), said "{}", "" }
        /// How much is asked, and when: the section `[load]`.
        load { Nested("table"), "" }
        /// How a capacity is searched for: the section `[search]`.
        search { Nested("table"), "" }
        /// What is varied, and how: the section `[experiment]`.
        experiment { Nested("table"), said "{}", "" }
        /// The levels of each factor, by its key: the section `[factor]`.
        factor { Nested("table"), "" }
        /// Which processes offer the load together: the section `[fleet]`.
        fleet { Nested("table"), "" }
        /// Targets that vantage points measure: the section `[campaign]`.
        campaign { Nested("table"), "" }
        /// Where the servers under test stand: the section `[testbed]`.
        testbed { Nested("table"), "" }
        /// The servers under test: `[role.LABEL]`.
        role { Nested("table"), "" }
        /// How far they are from each other: `[link.LABEL]`.
        link { Nested("table"), "" }
        /// What is watched: the section `[collect]`.
        collect { Nested("table"), said "{}", "" }
        /// What is told while a load goes on: `[watch.LABEL]`.
        watch { Nested("table"), "" }
        /// What the run is judged by: the section `[measure]`.
        measure { Nested("table"), said "{}", "" }
        /// How many instances there may be: the section `[pool]`.
        pool { Nested("table"), "" }
        /// What one of them can do: `[instance]`, and its types: `[instance.LABEL]`.
        instance { Nested("table"), "" }
        /// Which one takes a request: the section `[balancer]`.
        balancer { Nested("table"), "" }
        /// What they cost: the section `[billing]`.
        billing { Nested("table"), "" }
        /// Who decides how many there are: `[policy.LABEL]`.
        policy { Nested("table"), "" }
        /// Which parameters of a policy are looked for: the section `[tune]`.
        tune { Nested("table"), "" }
        /// What caches are asked for: the section `[trace]`.
        trace { Nested("table"), "" }
        /// What is made up for them: the section `[workload]`.
        workload { Nested("table"), "" }
        /// What each way costs: the section `[latency]`.
        latency { Nested("table"), said "{}", "" }
        /// Clusters of caches: `[cluster]` and `[cluster.LABEL]`.
        cluster { Nested("table"), "" }
        /// Single caches that are compared on a trace: the section `[cache]`.
        cache { Nested("table"), "" }
    }
}
