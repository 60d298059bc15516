//! `plimsoll cache simulate PLAN`: clusters of caches compared on the same requests.

mod json;
mod report;
mod table;

use super::table::describe;
use super::{open, recorded, seconds, too_small, trace_json, usage, write_whole};
use crate::cache_args::{CacheSimulate, TraceFlags};
use crate::commands::simulate::progress::Progress;
use crate::commands::simulate::threads;
use crate::exit::Exit;
use crate::interrupt::Interrupts;
use crate::terminal::error::FlagError;
use crate::terminal::{print, say};
use anyhow::Result;
use plimsoll_cache::cluster::{Counts, Life};
use plimsoll_cache::trace::Trace;
use plimsoll_experiment::caches::{
    Cell, Simulated, World, cells, check, life, made, replicate, simulate, write_cluster,
};
use plimsoll_experiment::record::Record;
use plimsoll_plan::{CachePlan, CacheRequests, CacheTrace, MadeRequests, Setting};
use plimsoll_runs::{Ended, RunWriter};
use std::num::NonZeroUsize;

/// Parts of the trace, each a point of a line over time.
const PARTS: usize = 200;

/// What caches are asked for, and what is said of it.
pub(super) struct Asked {
    trace: Trace,
    life: Option<Life>,
    /// As JSON has it.
    json: serde_json::Value,
    /// As a person reads it.
    about: String,
    warnings: Vec<String>,
}

/// Clusters that were compared.
pub(super) struct Done {
    plan: CachePlan,
    asked: Asked,
    cells: Vec<Cell>,
    simulated: Vec<Simulated>,
}

/// Runs the command.
pub(super) fn run(args: &CacheSimulate) -> Result<Exit> {
    let plan = read(args)?;
    if args.print_plan {
        print(&plan.to_toml())?;
        return Ok(Exit::Held);
    }
    let cells = cells(&plan, PARTS).map_err(usage)?;
    crate::files::check_report(args.report.as_deref())?;
    let threads = NonZeroUsize::new(threads(args.threads.as_deref())?).unwrap_or(NonZeroUsize::MIN);
    let interrupts = Interrupts::watch()?;
    let mut asked = match &plan.asked {
        CacheRequests::Recorded(trace) => recorded(trace, plan.seed)?,
        CacheRequests::Made(of) => replication(of, plan.seed, 0)?,
    };
    asked.warnings.extend(too_small_of(&cells, &asked.trace));
    let quiet = args.quiet || args.json;
    let all = cells.len() as u64 * u64::from(plan.repeat);
    let progress = Progress::new(all, "clusters", quiet, &interrupts);
    let record = recorded::plan(args, &plan, &cells)?;
    let goes_on = || interrupts.count() == 0;
    let going =
        Going { plan: &plan, cells: &cells, threads, goes_on: &goes_on, progress: &progress };
    let simulated = going.simulate(&asked, &record)?;
    progress.finish();
    let is_whole = simulated.as_ref().is_some_and(|(_, is_whole)| *is_whole);
    let ended = if goes_on() { Ended::Complete } else { Ended::Interrupted };
    let folder = record.finish(ended, &asked.warnings)?;
    let Some((simulated, _)) = simulated else {
        say("interrupted before every cluster was simulated");
        folder.iter().for_each(|folder| say(&format!("what was done is in {}", folder.display())));
        return Ok(Exit::Incomplete);
    };
    let done = Done { plan, asked, cells, simulated };
    if args.json {
        print(&format!("{:#}\n", json::render(&done)))?;
    } else {
        print(&table::render(&done))?;
        folder.iter().for_each(|folder| say(&format!("kept in {}", folder.display())));
    }
    if let Some(path) = &args.report {
        write_whole(path, &report::render(&done, args.plan.as_deref().unwrap_or_default()))?;
        say(&format!("report: {}", path.display()));
    }
    Ok(if is_whole { Exit::Held } else { Exit::Incomplete })
}

/// A sentence on sizes of nodes, parents and memories into which no object fits.
fn too_small_of(cells: &[Cell], trace: &Trace) -> Option<String> {
    let sizes = cells.iter().flat_map(|cell| {
        let of = &cell.cluster;
        let parent = of.parent.as_ref().map(|(_, size)| size);
        [Some(&of.size), parent, of.memory.as_ref()].into_iter().flatten()
    });
    // A size that cannot be is told by the simulation, with its error.
    let known = sizes.filter_map(|size| Some((size.text(), size.of(trace).ok()?)));
    too_small(trace, known)
}

/// Clusters that are being simulated.
struct Going<'a> {
    plan: &'a CachePlan,
    cells: &'a [Cell],
    threads: NonZeroUsize,
    goes_on: &'a (dyn Fn() -> bool + Sync),
    progress: &'a Progress<'a>,
}

impl Going<'_> {
    /// All replications of all clusters, and whether that was completed; `None` where the first
    /// replication was not.
    fn simulate(
        &self,
        asked: &Asked,
        record: &Record<'_>,
    ) -> Result<Option<(Vec<Simulated>, bool)>> {
        let (first, life) = (&asked.trace, asked.life.as_ref());
        let step = self.step(first, 0, record);
        let simulated = simulate(first, life, self.cells, self.world(&step)).map_err(usage)?;
        let Some(mut simulated) = simulated else { return Ok(None) };
        let CacheRequests::Made(of) = &self.plan.asked else { return Ok(Some((simulated, true))) };
        for number in 1..self.plan.repeat {
            let requests = made(of, self.plan.seed, number)?;
            let (trace, life) = (&requests.trace, requests.life.as_ref());
            let step = self.step(trace, number, record);
            let world = self.world(&step);
            let is_whole = replicate(&mut simulated, trace, life, self.cells, world);
            if !is_whole.map_err(usage)? {
                say(&format!("interrupted after {number} of {} replications", self.plan.repeat));
                return Ok(Some((simulated, false)));
            }
        }
        Ok(Some((simulated, true)))
    }

    fn world<'b>(&'b self, step: &'b (dyn Fn(usize, &Counts) -> bool + Sync)) -> World<'b> {
        World {
            threads: self.threads,
            cpu_ns: plimsoll_load::clock::thread_cpu_ns,
            goes_on: self.goes_on,
            step,
        }
    }

    /// Records a cluster that was simulated in a replication.
    fn step<'b>(
        &'b self,
        trace: &'b Trace,
        replication: u32,
        record: &'b Record<'_>,
    ) -> impl Fn(usize, &Counts) -> bool + Sync + 'b {
        move |place, counts| {
            let cell = recorded::cluster(self.plan, self.cells, place, replication);
            let write = |run: &mut RunWriter| write_cluster(run, trace, counts);
            record.done(cell, &counts.figures(), &write) && self.progress.step()
        }
    }
}

/// The plan with the flags over it.
fn read(args: &CacheSimulate) -> Result<CachePlan> {
    let path = args.plan.as_deref().unwrap_or_default();
    let text = crate::files::plan(path)?;
    let flags = [
        ("trace.file", args.trace.as_ref().map(|file| file.display().to_string()), "--trace"),
        ("trace.format", args.reading.format.clone(), "--format"),
        ("trace.columns", args.reading.columns.clone(), "--columns"),
        ("repeat", args.seeds.clone(), "--seeds"),
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

/// A trace that is read.
fn recorded(of: &CacheTrace, seed: u64) -> Result<Asked> {
    let flags = TraceFlags { format: of.format.clone(), columns: of.columns.clone() };
    let opened = open(&of.file, &flags)?;
    Ok(Asked {
        json: trace_json(&opened),
        about: super::table::about(&opened),
        warnings: opened.told.warnings(),
        life: life(of, seed),
        trace: opened.trace,
    })
}

/// A replication that is made up.
fn replication(of: &MadeRequests, seed: u64, number: u32) -> Result<Asked> {
    let began_ns = plimsoll_load::clock::process_cpu_ns();
    let requests = made(of, seed, number)?;
    let cpu_s = seconds(plimsoll_load::clock::process_cpu_ns() - began_ns);
    let trace = requests.trace;
    Ok(Asked {
        json: serde_json::json!({
            "format": "synthetic",
            "requests": trace.len(),
            "objects": trace.distinct(),
            "footprint_bytes": trace.footprint_bytes(),
            "compile_cpu_s": cpu_s,
        }),
        about: describe(&trace, "made up", cpu_s),
        warnings: requests.notes,
        life: requests.life,
        trace,
    })
}
