//! Clusters as an HTML page.

use super::Done;
use plimsoll_cache::cluster::{Latency, Moves};
use plimsoll_report::{Clusters, DrawnCluster, clusters_page};
use std::ffi::OsStr;
use std::path::Path;

/// The page; a comparison without a name is called after its plan.
pub(super) fn render(done: &Done, plan: &str) -> String {
    let trace = &done.opened.trace;
    let cells: Vec<DrawnCluster<'_>> = done
        .cells
        .iter()
        .zip(&done.simulated)
        .map(|(cell, of)| DrawnCluster {
            label: &cell.label,
            name: cell.name(),
            levels: &cell.levels,
            counts: &of.counts,
            moves: Moves::of(trace, &cell.cluster),
        })
        .collect();
    let file = |path: &Path, part: fn(&Path) -> Option<&OsStr>| {
        part(path).unwrap_or_default().to_string_lossy().into_owned()
    };
    let name = done.plan.name.clone();
    let name = name.unwrap_or_else(|| file(Path::new(plan), Path::file_stem));
    // The latency model is the plan's, the same for every cluster.
    let latency = done.cells.first().map_or_else(Latency::default, |cell| cell.cluster.latency);
    clusters_page(&Clusters {
        name: &name,
        trace,
        trace_name: &file(&done.plan.trace.file, Path::file_name),
        warnings: &done.warnings,
        latency,
        cells: &cells,
    })
}
