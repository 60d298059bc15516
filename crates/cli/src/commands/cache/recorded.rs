//! What is recorded of simulated caches: their cells, and the plan that says what was asked.

use crate::cache_args::CacheSimulate;
use crate::commands::simulate::cells::keeps_runs;
use crate::place::{VERSION, run_id, unix_ns};
use anyhow::{Context, Result};
use plimsoll_cache::simulate::Comparison;
use plimsoll_experiment::caches::Cell;
use plimsoll_experiment::record::{CellPlan, Opening, Record};
use plimsoll_plan::{CacheComparison, CachePlan, CacheRequests, CacheTrace};
use plimsoll_runs::Kind;
use plimsoll_workload::random::seed_of;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The record of a comparison of policies and sizes on one trace.
pub(super) fn comparison<'a>(args: &'a CacheSimulate, of: &Comparison) -> Result<Record<'a>> {
    let file = args.trace.as_deref().unwrap_or(Path::new(""));
    let asked = CacheComparison {
        trace: CacheTrace {
            file: absolute(file)?,
            format: args.reading.format.clone(),
            columns: args.reading.columns.clone(),
            changes: None,
            fresh: Duration::ZERO,
        },
        policies: args.policy.clone(),
        sizes: args.size.clone(),
        admit: args.admit.clone(),
        skip: args.skip.clone(),
        bound: args.bound,
        by_size: args.by_size,
    };
    let policies = of.policies.iter();
    let cells = policies.flat_map(|policy| of.sizes.iter().map(move |size| (policy, size)));
    let cells: Vec<CellPlan> = cells
        .enumerate()
        .map(|(number, (policy, size))| replay(number, &policy.text, size.text()))
        .collect();
    let name = String::new();
    recorded(args, (name, named(file)), asked.to_toml(), cells)
}

/// A policy at a size, by its place among all.
pub(super) fn replay(place: usize, policy: &str, size: &str) -> CellPlan {
    let levels = [("policy", policy), ("size", size)];
    CellPlan {
        number: u32::try_from(place + 1).unwrap_or(u32::MAX),
        factors: levels.map(|(factor, level)| (factor.to_owned(), level.to_owned())).into(),
        replication: 0,
        block: 0,
        seed: 0,
    }
}

/// The record of a plan of clusters.
pub(super) fn plan<'a>(
    args: &'a CacheSimulate,
    plan: &CachePlan,
    cells: &[Cell],
) -> Result<Record<'a>> {
    // A copy that is kept elsewhere finds the trace as well.
    let mut kept = plan.clone();
    let subject = match &mut kept.asked {
        CacheRequests::Recorded(trace) => {
            trace.file = absolute(&trace.file)?;
            named(&trace.file)
        }
        CacheRequests::Made(_) => "caches, a synthetic workload".to_owned(),
    };
    let name = plan.name.clone().unwrap_or_default();
    let replications = 0..plan.repeat;
    let of = |number| (0..cells.len()).map(move |place| cluster(plan, cells, place, number));
    let all = replications.flat_map(of).collect();
    recorded(args, (name, subject), kept.to_toml(), all)
}

/// A cluster in one replication, by its place among all clusters.
pub(super) fn cluster(
    plan: &CachePlan,
    cells: &[Cell],
    place: usize,
    replication: u32,
) -> CellPlan {
    let cell = &cells[place];
    let level =
        |key: &&'static str| ((*key).to_owned(), cell.level(key).unwrap_or_default().to_owned());
    let label = std::iter::once(("cluster".to_owned(), cell.label.clone()));
    let number = replication as usize * cells.len() + place + 1;
    CellPlan {
        number: u32::try_from(number).unwrap_or(u32::MAX),
        factors: label.chain(cell.differs.iter().map(level)).collect(),
        replication,
        block: 0,
        seed: match &plan.asked {
            CacheRequests::Recorded(_) => plan.seed,
            CacheRequests::Made(_) => seed_of(plan.seed, u64::from(replication)),
        },
    }
}

fn recorded<'a>(
    args: &'a CacheSimulate,
    (name, subject): (String, String),
    plan_text: String,
    cells: Vec<CellPlan>,
) -> Result<Record<'a>> {
    let record = Record::new(Opening {
        root: &args.out,
        id: run_id(unix_ns()),
        name,
        kind: Kind::Caches,
        subject,
        plan_text,
        slo: None,
        duration_ns: 0,
        version: VERSION,
        now_ns: unix_ns,
        is_single: cells.len() == 1,
        keeps_runs: keeps_runs(cells.len() as u64, args.keep_cells),
    });
    record.plan(cells.into_iter())?;
    Ok(record)
}

/// What caches are asked for, in a few words.
fn named(file: &Path) -> String {
    format!("caches, {}", file.file_name().unwrap_or_default().to_string_lossy())
}

fn absolute(file: &Path) -> Result<PathBuf> {
    std::path::absolute(file).with_context(|| format!("find {}", file.display()))
}
