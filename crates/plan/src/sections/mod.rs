//! The sections of a plan. A new section is one file with its keys, its reader and its writer, one
//! line here, and one field of [`crate::Plan`] or [`crate::CachePlan`].

pub(crate) mod balancer;
pub(crate) mod billing;
pub(crate) mod cache;
pub(crate) mod cache_trace;
pub(crate) mod campaign;
pub(crate) mod cluster;
pub(crate) mod collect;
pub(crate) mod constraint;
pub(crate) mod elastic;
pub(crate) mod ever;
pub(crate) mod experiment;
pub(crate) mod fleet;
pub(crate) mod header;
pub(crate) mod hosts;
pub(crate) mod instance;
pub(crate) mod latency;
pub(crate) mod link;
pub(crate) mod load;
pub(crate) mod load_shape;
pub(crate) mod measure;
pub(crate) mod own_factors;
pub(crate) mod policies;
pub(crate) mod pool;
pub(crate) mod proxy;
pub(crate) mod replay;
pub(crate) mod request_source;
pub(crate) mod resolve;
pub(crate) mod search;
pub(crate) mod status;
pub(crate) mod store;
pub(crate) mod target;
pub(crate) mod testbed;
pub(crate) mod top;
pub(crate) mod trace;
pub(crate) mod tune;
pub(crate) mod watch;
pub(crate) mod workload;
pub(crate) mod workload_class;

use crate::key::{Key, SectionKeys};
use crate::sections::balancer::Balancer;
use crate::sections::billing::Billing;
use crate::sections::cache::Cache;
use crate::sections::cache_trace::CacheTrace;
use crate::sections::campaign::{CAMPAIGN, CAMPAIGN_TARGET};
use crate::sections::cluster::CLUSTER;
use crate::sections::collect::Collect;
use crate::sections::experiment::Experiment;
use crate::sections::fleet::Fleet;
use crate::sections::instance::Instance;
use crate::sections::latency::LatencyPlan;
use crate::sections::link::Link;
use crate::sections::load::Load;
use crate::sections::measure::Measure;
use crate::sections::policies::PolicyKeys;
use crate::sections::pool::Pool;
use crate::sections::replay::Replay;
use crate::sections::search::Search;
use crate::sections::store::Store;
use crate::sections::target::Target;
use crate::sections::testbed::{Role, Testbed};
use crate::sections::top::Top;
use crate::sections::trace::{ProfileSource, TraceSource};
use crate::sections::tune::Tune;
use crate::sections::watch::Watch;
use crate::sections::workload::Workload;
use crate::sections::workload_class::ClassKeys;

/// All sections, in the order of the manual. The first has the keys above any section.
pub(crate) static SECTIONS: [&SectionKeys; 30] = [
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
    Fleet::SECTION,
    &CAMPAIGN,
    &CAMPAIGN_TARGET,
    Testbed::SECTION,
    Role::SECTION,
    Link::SECTION,
    Collect::SECTION,
    Watch::SECTION,
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
