//! `plimsoll cache simulate PLAN`: clusters of caches compared on one trace.

mod json;
mod report;
mod table;

use super::{Opened, open, usage, write_whole};
use crate::cache_args::{CacheSimulate, TraceFlags};
use crate::commands::simulate::progress::Progress;
use crate::commands::simulate::threads;
use crate::exit::Exit;
use crate::interrupt::Interrupts;
use crate::terminal::error::{FlagError, UsageError};
use crate::terminal::{print, say};
use anyhow::Result;
use plimsoll_experiment::caches::{Cell, Simulated, cells, check, simulate};
use plimsoll_plan::{CachePlan, Setting};
use std::num::NonZeroUsize;

/// Parts of the trace, each a point of a line over time.
const PARTS: usize = 200;

/// Clusters that were compared.
pub(super) struct Done {
    pub(super) plan: CachePlan,
    pub(super) opened: Opened,
    pub(super) cells: Vec<Cell>,
    pub(super) simulated: Vec<Simulated>,
    pub(super) warnings: Vec<String>,
}

/// Runs the command.
pub(super) fn run(args: &CacheSimulate) -> Result<Exit> {
    let plan = read(args)?;
    if args.print_plan {
        print(&plan.to_toml())?;
        return Ok(Exit::Held);
    }
    let cells = cells(&plan, PARTS).map_err(usage)?;
    let threads = NonZeroUsize::new(threads(args.threads.as_deref())?).unwrap_or(NonZeroUsize::MIN);
    let interrupts = Interrupts::watch()?;
    let reading =
        TraceFlags { format: plan.trace.format.clone(), columns: plan.trace.columns.clone() };
    let opened = open(&plan.trace.file, &reading)?;
    let quiet = args.quiet || args.json;
    let progress = Progress::new(cells.len() as u64, "clusters", quiet, &interrupts);
    let clock = plimsoll_load::clock::thread_cpu_ns;
    let goes_on = || interrupts.count() == 0;
    let done = simulate(&opened.trace, &cells, threads, clock, &goes_on, &|| progress.step());
    progress.finish();
    let Some(simulated) = done.map_err(usage)? else {
        say("interrupted before every cluster was simulated");
        return Ok(Exit::Incomplete);
    };
    let warnings = opened.told.warnings();
    let done = Done { plan, opened, cells, simulated, warnings };
    if args.json {
        print(&format!("{:#}\n", json::render(&done)))?;
    } else {
        print(&table::render(&done))?;
    }
    if let Some(path) = &args.report {
        write_whole(path, &report::render(&done, args.plan.as_deref().unwrap_or_default()))?;
        say(&format!("report: {}", path.display()));
    }
    Ok(Exit::Held)
}

/// The plan with the flags over it.
fn read(args: &CacheSimulate) -> Result<CachePlan> {
    let path = args.plan.as_deref().unwrap_or_default();
    let text = std::fs::read_to_string(path)
        .map_err(|error| UsageError(format!("read the plan {path}: {error}")))?;
    let flags = [
        ("trace.file", args.trace.as_ref().map(|file| file.display().to_string()), "--trace"),
        ("trace.format", args.reading.format.clone(), "--format"),
        ("trace.columns", args.reading.columns.clone(), "--columns"),
    ];
    let mut settings: Vec<Setting> = flags
        .into_iter()
        .filter_map(|(key, value, flag)| value.map(|value| Setting::new(key, value, flag)))
        .collect();
    for pair in &args.set {
        let setting = Setting::from_pair(pair);
        settings.push(setting.map_err(|error| FlagError::new("--set", pair, error))?);
    }
    Ok(CachePlan::parse(&text, path, &settings, &check)?)
}
