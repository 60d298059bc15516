//! `plimsoll cache simulate PLAN`: clusters of caches compared on the same requests.

mod json;
mod table;

use super::table::describe;
use super::{open, seconds, settings, too_small, trace_json, usage};
use crate::cache_args::{CacheSimulate, TraceFlags};
use crate::commands::report::write_page;
use crate::commands::simulate::cells::{keeps, record};
use crate::commands::simulate::threads;
use crate::exit::Exit;
use crate::interrupt::Interrupts;
use crate::terminal::error::{Result, UsageError};
use crate::terminal::screen::Screen;
use crate::terminal::{print, say};
use plimsoll_cache::trace::Trace;
use plimsoll_experiment::engine::{ending, execute};
use plimsoll_experiment::plans::read_clusters;
use plimsoll_experiment::record::MAX_RUNS;
use plimsoll_experiment::world::caches::{
    Cell, Clusters, Requests, Simulated, cells, cluster_cells, life, made, subject,
};
use plimsoll_plan::{CachePlan, CacheRequests, CacheTrace, MadeRequests, Setting, Written};

/// Parts of the trace, each a point of a line over time.
const PARTS: usize = 200;

/// What caches are asked for, and what is said of it.
pub(super) struct Asked {
    requests: Requests,
    /// As JSON has it.
    json: serde_json::Value,
    /// As a person reads it.
    about: String,
}

/// Clusters that were compared.
pub(super) struct Done {
    plan: CachePlan,
    asked: Asked,
    cells: Vec<Cell>,
    simulated: Vec<Simulated>,
}

/// Runs the command.
pub(super) fn run(args: &CacheSimulate, text: &str) -> Result<Exit> {
    let plan = read(args, text)?;
    if args.print_plan {
        print(&plan.to_toml())?;
        return Ok(Exit::Held);
    }
    let cells = cells(&plan, PARTS).map_err(usage)?;
    crate::files::check_report(args.report.as_deref())?;
    let threads = threads(args.threads.as_deref())?;
    let mut asked = match &plan.asked {
        CacheRequests::Recorded(trace) => recorded(trace, plan.seed)?,
        CacheRequests::Made(of) => replication(of, plan.seed, 0)?,
    };
    // An interrupt while the trace is read ends the program.
    let interrupts = Interrupts::watch()?;
    asked.requests.notes.extend(too_small_of(&cells, &asked.requests.trace));
    let screen = Screen::new(args.quiet || args.json, &interrupts).of_steps("clusters");
    let all = cells.len() as u64 * u64::from(plan.repeat);
    let plan_file = args.plan.as_deref().unwrap_or_default();
    let of = subject(&plan, &cells, &asked.requests.trace)?;
    // A page draws the first replication of every cluster.
    let keeps = keeps(args.keep_cells || (args.report.is_some() && cells.len() as u64 > MAX_RUNS));
    let record = record(&args.out, plan_file, of, (all, keeps));
    let planned = record.plan(cluster_cells(&plan, &cells))?;
    let clock = plimsoll_load::clock::thread_cpu_ns;
    let world = Clusters::new(&plan, &cells, &asked.requests, clock);
    let executed = execute(&world, &planned, &record, &screen, threads);
    screen.clear();
    let folder = record.finish(ending(&executed, &screen), &asked.requests.notes)?;
    executed?;
    let Some(simulated) = world.simulated() else {
        say("interrupted before every cluster was simulated");
        folder.iter().for_each(|folder| say(&format!("what was done is in {}", folder.display())));
        return Ok(Exit::Incomplete);
    };
    let replications = simulated[0].replications.len();
    let is_whole = replications == plan.repeat as usize;
    if !is_whole {
        say(&format!("interrupted after {replications} of {} replications", plan.repeat));
    }
    let done = Done { plan, asked, cells, simulated };
    if args.json {
        print(&format!("{:#}\n", json::render(&done)))?;
    } else {
        print(&table::render(&done))?;
        folder.iter().for_each(|folder| say(&format!("kept in {}", folder.display())));
    }
    if let (Some(path), Some(folder)) = (&args.report, &folder) {
        write_page(folder, path)?;
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

/// The plan with the flags over it.
fn read(args: &CacheSimulate, text: &str) -> Result<CachePlan> {
    let path = args.plan.as_deref().unwrap_or_default();
    if let Some(Setting { origin, .. }) = args.single.settings().first() {
        let text = format!("compare clusters: {origin} is of single caches; {path} has no [cache]");
        return Err(UsageError(text).into());
    }
    let plan = read_clusters(&Written::text(text, path, &settings(args)?))?;
    crate::files::check_single(plan.is_experiment(), "cache simulate", (path, " --simulated"))?;
    Ok(plan)
}

/// A trace that is read.
fn recorded(of: &CacheTrace, seed: u64) -> Result<Asked> {
    let flags = TraceFlags { format: of.format.clone(), columns: of.columns.clone() };
    let opened = open(&of.file, &flags)?;
    let (json, about) = (trace_json(&opened), super::table::about(&opened));
    let (life, notes) = (life(of, seed), opened.told.warnings());
    Ok(Asked { json, about, requests: Requests { trace: opened.trace, life, notes } })
}

/// A replication that is made up.
fn replication(of: &MadeRequests, seed: u64, number: u32) -> Result<Asked> {
    let began_ns = plimsoll_load::clock::process_cpu_ns();
    let requests = made(of, seed, number)?;
    let cpu_s = seconds(plimsoll_load::clock::process_cpu_ns() - began_ns);
    let trace = &requests.trace;
    Ok(Asked {
        json: serde_json::json!({
            "format": "synthetic",
            "requests": trace.len(),
            "objects": trace.distinct(),
            "footprint_bytes": trace.footprint_bytes(),
            "compile_cpu_s": cpu_s,
        }),
        about: describe(trace, "made up", cpu_s),
        requests,
    })
}
