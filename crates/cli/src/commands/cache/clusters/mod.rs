//! `plimsoll cache simulate PLAN`: clusters of caches compared on the same requests.

mod json;
mod table;

use super::table::describe;
use super::{RequestStream, seconds, settings, too_small, usage};
use crate::cache_args::CacheSimulate;
use crate::commands::report::write_page;
use crate::commands::simulate::cells::{Keeping, simulate};
use crate::commands::simulate::{cut, threads};
use crate::exit::Exit;
use crate::interrupt::Interrupts;
use crate::terminal::error::{Result, UsageError};
use crate::terminal::screen::Screen;
use crate::terminal::{print, say};
use plimsoll_cache::trace::Trace;
use plimsoll_experiment::plans::read_clusters;
use plimsoll_experiment::ready::{Ready, Takes};
use plimsoll_experiment::record::MAX_RUNS;
use plimsoll_experiment::world::caches::{Cell as Cluster, Requests, Simulated, cells, made};
use plimsoll_plan::{CachePlan, CacheRequests, MadeRequests, Setting, Written};
use std::cell::Cell;

/// Parts of the trace, each a point of a line over time.
const PARTS: usize = 200;

/// Clusters that were compared.
pub(super) struct Done<'a> {
    plan: &'a CachePlan,
    cells: &'a [Cluster],
    trace: &'a Trace,
    /// What the requests are, as JSON has it.
    json: serde_json::Value,
    /// The same as a person reads it.
    about: String,
    notes: &'a [String],
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
    let RequestStream { requests, json, about } = match &plan.asked {
        CacheRequests::Recorded(trace) => RequestStream::recorded(trace, plan.seed)?,
        CacheRequests::Made(of) => replication(of, plan.seed, 0)?,
    };
    // An interrupt while the trace is read ends the program.
    let interrupts = Interrupts::watch()?;
    let small = too_small_of(&cells, &requests.trace);
    let mut ready = Ready::clustered(plan.clone(), requests)?;
    ready.notes.extend(small);
    let screen = Screen::new(args.quiet || args.json, &interrupts).of_steps("clusters");
    // A page draws the first replication of every cluster.
    let all = args.keep_cells || (args.report.is_some() && cells.len() as u64 > MAX_RUNS);
    let keeping = Keeping {
        out: &args.out,
        plan: args.plan.as_deref().unwrap_or_default(),
        all,
        tags: args.tags.read()?,
    };
    let simulated = Cell::new(None);
    let take = |of: Option<Vec<Simulated>>| simulated.set(of);
    let folder = simulate(&ready, &keeping, (&screen, threads), Takes::Clusters(&take))?;
    let Some(simulated) = simulated.take() else {
        return Ok(cut("interrupted before every cluster was simulated", folder.as_deref()));
    };
    let replications = simulated[0].replications.len();
    let is_whole = replications == plan.repeat as usize;
    if !is_whole {
        say(&format!("interrupted after {replications} of {} replications", plan.repeat));
    }
    let Some((plan, cells, Requests { trace, .. })) = ready.clusters_of() else {
        return Ok(Exit::Incomplete);
    };
    let done = Done { plan, cells, trace, json, about, notes: &ready.notes, simulated };
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
fn too_small_of(cells: &[Cluster], trace: &Trace) -> Option<String> {
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

/// A replication that is made up.
fn replication(of: &MadeRequests, seed: u64, number: u32) -> Result<RequestStream> {
    let began_ns = plimsoll_load::clock::process_cpu_ns();
    let requests = made(of, seed, number)?;
    let cpu_s = seconds(plimsoll_load::clock::process_cpu_ns() - began_ns);
    let trace = &requests.trace;
    Ok(RequestStream {
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
