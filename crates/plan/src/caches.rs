//! A plan of clusters of caches: what is asked for, what every way costs, and the clusters that are
//! compared. `plimsoll cache simulate` reads it.

use std::path::Path;

use crate::cache_trace::{CACHE_TRACE, CacheTrace};
use crate::cluster::{self, CheckCluster, ClusterPlan};
use crate::error::PlanErrors;
use crate::latency::{LATENCY, LatencyPlan};
use crate::plan::{Opened, TOP};
use crate::section::{Reading, Section};
use crate::setting::Setting;
use crate::target_reader::file;
use crate::tree::Table;
use crate::write::Writer;

/// A complete plan of clusters: defaults filled in, every level of every cluster checked.
#[derive(Debug, Clone, PartialEq)]
pub struct CachePlan {
    /// What reports call it.
    pub name: Option<String>,
    /// Where all randomness comes from.
    pub seed: u64,
    /// What is asked for.
    pub trace: CacheTrace,
    /// What every way costs.
    pub latency: LatencyPlan,
    /// The clusters, in the order of the plan; at least one.
    pub clusters: Vec<ClusterPlan>,
}

/// The sections of a plan of clusters. A plan of a load has none of them.
pub(crate) const SECTIONS: [&str; 3] = ["trace", "latency", "cluster"];
/// The keys and sections of other plans that make no sense here.
const FOREIGN: [&str; 9] =
    ["repeat", "target", "store", "load", "measure", "pool", "instance", "balancer", "billing"];

impl CachePlan {
    /// Reads a plan with flags laid over it; `origin` is the name of its file. No file is opened.
    ///
    /// # Errors
    /// All that is wrong with it, and what `check` says of its clusters, each with its place.
    pub fn parse(
        text: &str,
        origin: &str,
        settings: &[Setting],
        check: CheckCluster<'_>,
    ) -> Result<Self, PlanErrors> {
        let Opened { reading, root, folder } = Opened::file(text, origin, settings)?;
        match Self::read(&reading, &root, &folder, check) {
            Some(plan) if !reading.is_faulty() => Ok(plan),
            _ => Err(reading.into_errors()),
        }
    }

    fn read(
        reading: &Reading,
        root: &Table,
        origin_folder: &Path,
        check: CheckCluster<'_>,
    ) -> Option<Self> {
        let top = Section::over(reading, root, &TOP);
        let folder = file(&top, "folder", origin_folder);
        let folder = folder.unwrap_or_else(|| origin_folder.to_path_buf());
        for key in FOREIGN.into_iter().chain(["policy"]).filter(|key| top.has(key)) {
            let message = format!("`{key}` goes with a load or a pool, not with caches");
            top.fault(key, message, Some("leave it out, or put it into a plan of its own"));
        }
        let name = top.line("name").map(str::to_owned);
        let seed = top.whole("seed", 0..=u64::MAX).unwrap_or(1);
        let trace = CacheTrace::read(&Section::open(reading, root, &CACHE_TRACE), &folder);
        let latency = LatencyPlan::read(&Section::open(reading, root, &LATENCY));
        let clusters = cluster::read(reading, root, check);
        Some(Self { name, seed, trace: trace?, latency: latency?, clusters: clusters? })
    }

    /// The plan as a complete text, which reads back the same from the working folder.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let mut out = Writer::default();
        if let Some(name) = &self.name {
            out.text("name", name);
        }
        out.whole("seed", self.seed);
        self.trace.write(&mut out);
        self.latency.write(&mut out);
        cluster::write(&self.clusters, &mut out);
        out.finish()
    }
}
