//! What a page says of the requests that caches were asked for, kept beside what came of them.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::bound::{Bound, BoundKind};
use crate::cluster::{Counts, Latency, Moves};
use crate::trace::Trace;

/// What caches were asked for, and how they were compared.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct About {
    /// What the requests are called: the name of a file, or a few words.
    pub name: String,
    /// How many requests there are.
    pub requests: u64,
    /// To how many objects.
    pub objects: u64,
    /// The sizes of all objects, summed; `None` where the requests have none.
    pub footprint_bytes: Option<u64>,
    /// The second of the first request, where they have times.
    pub first_second: Option<u32>,
    /// So many requests at the beginning are counted apart as well.
    pub skip: u64,
    /// How the bounds were found, where there are any.
    pub bounds: Vec<BoundKind>,
    /// Whether miss ratios come from curves over sizes, and not from a replay each.
    pub is_curves: bool,
    /// What each step costs in a cluster.
    pub latency: Option<Latency>,
}

impl About {
    /// What is known of a trace by itself.
    #[must_use]
    pub fn of(trace: &Trace, name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            requests: trace.len() as u64,
            objects: u64::from(trace.distinct()),
            footprint_bytes: trace.footprint_bytes(),
            first_second: trace.seconds().and_then(|seconds| seconds.first().copied()),
            ..Self::default()
        }
    }

    /// The same with bounds.
    #[must_use]
    pub fn with_bounds(mut self, bounds: &[Bound]) -> Self {
        for bound in bounds {
            let bytes = bound.missed_bytes.map(|_| bound.missed_bytes_kind);
            for kind in std::iter::once(bound.kind).chain(bytes) {
                if !self.bounds.contains(&kind) {
                    self.bounds.push(kind);
                }
            }
        }
        self
    }

    /// Whether sizes are known.
    #[must_use]
    pub fn is_sized(&self) -> bool {
        self.footprint_bytes.is_some()
    }
}

/// The name of a trace's file.
#[must_use]
pub fn name_of(file: &Path) -> String {
    file.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Where the run of a cluster has what is drawn of it, below the run's folder.
pub const CLUSTER: &str = "artifacts/cluster.json";

/// A cluster that was simulated, as its run keeps it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ClusterFile {
    /// The label that the plan gives it and others like it.
    pub label: String,
    /// How it is called: its label, and what distinguishes it from others of that.
    pub name: String,
    /// The level of every key.
    pub levels: Vec<(String, String)>,
    /// What was counted, but for the response times, of which the run has the histogram.
    pub counts: Counts,
    /// What moves when a node, and when a parent, joins or leaves; none where no hash chooses one.
    pub moves: [Option<Moves>; 2],
}
