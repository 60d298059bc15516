//! Clusters as an HTML page.

use super::Done;
use crate::terminal::error::Result;
use plimsoll_cache::cluster::{Latency, Moves};
use plimsoll_experiment::world::caches::{Cell, Estimated, Figures, Simulated};
use plimsoll_plan::CacheRequests;
use plimsoll_report::{Clusters, DrawnCluster, Estimate, Source, document};
use std::ffi::OsStr;
use std::path::Path;

/// The page; a comparison without a name is called after its plan.
pub(super) fn render(done: &Done, plan: &str) -> Result<String> {
    let cells: Vec<DrawnCluster<'_>> =
        done.cells.iter().zip(&done.simulated).map(|(cell, of)| drawn(done, cell, of)).collect();
    let file = |path: &Path, part: fn(&Path) -> Option<&OsStr>| {
        part(path).unwrap_or_default().to_string_lossy().into_owned()
    };
    let name = done.plan.name.clone();
    let name = name.unwrap_or_else(|| file(Path::new(plan), Path::file_stem));
    let trace_name = match &done.plan.asked {
        CacheRequests::Recorded(trace) => file(&trace.file, Path::file_name),
        CacheRequests::Made(_) => "a synthetic workload".to_owned(),
    };
    // The latency model is the plan's, the same for every cluster.
    let latency = done.cells.first().map_or_else(Latency::default, |cell| cell.cluster.latency);
    let clusters = Clusters {
        name: &name,
        trace: &done.asked.requests.trace,
        trace_name: &trace_name,
        warnings: &done.asked.requests.notes,
        latency,
        cells: &cells,
    };
    Ok(document(Source::Clusters(&clusters), None)?.html())
}

fn drawn<'a>(done: &'a Done, cell: &'a Cell, of: &'a Simulated) -> DrawnCluster<'a> {
    let estimate = |one: Estimated| {
        let Estimated { figure, mean, ci95 } = one;
        Estimate { figure, mean, ci95 }
    };
    DrawnCluster {
        label: &cell.label,
        name: cell.name(),
        levels: &cell.levels,
        counts: &of.counts,
        moves: Moves::of(&done.asked.requests.trace, &cell.cluster),
        replications: of.replications.len(),
        estimates: Figures::estimated(&of.replications).into_iter().map(estimate).collect(),
    }
}
