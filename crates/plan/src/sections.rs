//! The sections of a plan. A new section is one file with its keys, its reader and its writer, one
//! line here, and one field of [`crate::Plan`] or [`crate::CachePlan`].

use crate::balancer::Balancer;
use crate::billing::Billing;
use crate::cache::Cache;
use crate::cache_trace::CacheTrace;
use crate::cluster::CLUSTER;
use crate::collect::Collect;
use crate::experiment::Experiment;
use crate::instance::Instance;
use crate::key::{Key, SectionKeys};
use crate::latency::LatencyPlan;
use crate::load::Load;
use crate::measure::Measure;
use crate::policies::PolicyKeys;
use crate::pool::Pool;
use crate::replay::Replay;
use crate::search::Search;
use crate::store::Store;
use crate::target::Target;
use crate::testbed::{Role, Testbed};
use crate::top::Top;
use crate::trace::{ProfileSource, TraceSource};
use crate::tune::Tune;
use crate::workload::Workload;
use crate::workload_class::ClassKeys;

/// All sections, in the order of the manual. The first has the keys above any section.
pub(crate) static SECTIONS: [&SectionKeys; 25] = [
    Top::SECTION,
    Target::SECTION,
    Replay::SECTION,
    Store::SECTION,
    Load::SECTION,
    TraceSource::SECTION,
    ProfileSource::SECTION,
    Search::SECTION,
    Measure::SECTION,
    Experiment::SECTION,
    Testbed::SECTION,
    Role::SECTION,
    Collect::SECTION,
    Pool::SECTION,
    Instance::SECTION,
    Balancer::SECTION,
    Billing::SECTION,
    PolicyKeys::SECTION,
    Tune::SECTION,
    CacheTrace::SECTION,
    LatencyPlan::SECTION,
    &CLUSTER,
    Cache::SECTION,
    Workload::SECTION,
    ClassKeys::SECTION,
];

pub(crate) fn section_at(path: &str) -> Option<&'static SectionKeys> {
    SECTIONS.iter().find(|section| section.path == path).copied()
}

/// The sections of a plan with their keys, in the order of the manual. The first has the keys
/// above any section; its path is empty.
pub fn sections() -> impl Iterator<Item = &'static SectionKeys> {
    SECTIONS.iter().copied()
}

/// Every key of every section, with its full path: `seed`, `load.rate`, `load.trace.scale`.
pub fn all_keys() -> impl Iterator<Item = (String, &'static Key)> {
    SECTIONS.iter().flat_map(|section| {
        section.keys().map(|key| {
            let dot = if section.path.is_empty() { "" } else { "." };
            (format!("{}{dot}{}", section.path, key.name), key)
        })
    })
}

/// The key of a path.
#[must_use]
pub fn key_at(path: &str) -> Option<&'static Key> {
    all_keys().find(|(known, _)| known == path).map(|(_, key)| key)
}
