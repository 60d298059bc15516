//! `plimsoll cache simulate`: policies and sizes compared on one trace.

use super::{Opened, by_size, open, settings, table, too_small, trace_json, unit};
use crate::cache_args::{CacheSimulate, TraceFlags};
use crate::commands::report::write_page;
use crate::commands::simulate::cells::{keeps, record};
use crate::commands::simulate::threads;
use crate::exit::Exit;
use crate::interrupt::Interrupts;
use crate::terminal::error::Result;
use crate::terminal::screen::Screen;
use crate::terminal::{pretty, print, say};
use plimsoll_cache::bound::{Bound, size_of_all};
use plimsoll_cache::capacity::Unit;
use plimsoll_cache::eviction::KINDS;
use plimsoll_cache::simulate::{Cell, Comparison, Total};
use plimsoll_experiment::engine::{ending, execute};
use plimsoll_experiment::plans::read_caches;
use plimsoll_experiment::world::caches::{
    Policies, about, bounds, comparison, policy_cells, subject_of_comparison,
};
use plimsoll_plan::{CacheComparison, CacheTrace as TraceFile, Written};
use std::fmt::Write as _;

/// Runs the command.
pub(super) fn run(args: &CacheSimulate, text: Option<&str>) -> Result<Exit> {
    if args.list_policies {
        return policies(args.json);
    }
    let plan = read_plan(args, text)?;
    if args.print_plan {
        print(&plan.to_toml())?;
        return Ok(Exit::Held);
    }
    crate::files::check_report(args.report.as_deref())?;
    let cache = &plan.cache;
    let threads = threads(args.threads.as_deref())?;
    let TraceFile { file, format, columns, .. } = plan.trace.clone();
    let opened = open(&file, &TraceFlags { format, columns })?;
    // An interrupt while the trace is read ends the program.
    let interrupts = Interrupts::watch()?;
    let comparison = comparison(cache, &opened.trace)?;
    let screen = Screen::new(args.quiet || args.json, &interrupts).of_steps("replays");
    let bounds = bounds(cache, &comparison, &opened.trace)?;
    let about = about(&plan, &opened.trace, (&comparison, &bounds));
    let of = subject_of_comparison(&plan, &about)?;
    let plan_file = args.plan.as_deref().unwrap_or_default();
    let all = (comparison.policies.len() * comparison.sizes.len()) as u64;
    // A page draws every cell.
    let keeps = keeps(args.keep_cells || args.report.is_some());
    let record = record(&args.out, plan_file, of, (all, keeps));
    let cells = record.plan(policy_cells(&comparison))?;
    let clock = plimsoll_load::clock::thread_cpu_ns;
    let world = Policies::new(&opened.trace, (&comparison, &bounds), clock)?;
    let executed = execute(&world, &cells, &record, &screen, threads);
    screen.clear();
    let cells = world.replayed();
    let warnings = warnings(&opened, &comparison, &cells);
    let folder = record.finish(ending(&executed, &screen), &warnings)?;
    executed?;
    if (cells.len() as u64) < all {
        say("interrupted before every replay was done");
        folder.iter().for_each(|folder| say(&format!("what was done is in {}", folder.display())));
        return Ok(Exit::Incomplete);
    }
    let done = Done { warnings, opened, comparison, cells, bounds };
    if args.json {
        print(&format!("{:#}\n", json(&done)))?;
    } else {
        print(&table::render(&done))?;
        folder.iter().for_each(|folder| say(&format!("kept in {}", folder.display())));
    }
    if let (Some(path), Some(folder)) = (&args.report, &folder) {
        write_page(folder, path)?;
        say(&format!("report: {}", path.display()));
    }
    Ok(Exit::Held)
}

/// The plan with the flags over it, or what the flags alone say.
fn read_plan(args: &CacheSimulate, text: Option<&str>) -> Result<CacheComparison> {
    let settings = [settings(args)?, args.single.settings()].concat();
    let path = args.plan.as_deref().unwrap_or_default();
    let of = Written::flags(&settings);
    Ok(read_caches(&text.map_or(of, |text| Written::text(text, path, &settings)))?)
}

/// A comparison that was made.
pub(super) struct Done {
    pub(super) opened: Opened,
    pub(super) comparison: Comparison,
    pub(super) cells: Vec<Cell>,
    pub(super) bounds: Vec<Bound>,
    pub(super) warnings: Vec<String>,
}

/// What a reader should know of the trace, and of what was asked for.
fn warnings(opened: &Opened, comparison: &Comparison, cells: &[Cell]) -> Vec<String> {
    let mut warnings = opened.told.warnings();
    if comparison.by_size && opened.trace.sizes().is_none() {
        warnings.push("--by-size: this trace has no sizes".to_owned());
    }
    let by_bytes = cells.iter().any(|cell| cell.capacity.unit == Unit::Bytes);
    let belady = comparison.policies.iter().any(|policy| policy.kind.name == "belady");
    if belady && by_bytes && size_of_all(&opened.trace).is_none() {
        let text = "belady is no bound where sizes differ: --bound tells what no policy undercuts";
        warnings.push(text.to_owned());
    }
    let sizes = cells.iter().map(|cell| (cell.size.as_str(), cell.capacity));
    warnings.extend(too_small(&opened.trace, sizes));
    warnings
}

fn policies(json: bool) -> Result<Exit> {
    if json {
        let kinds: Vec<_> = KINDS
            .iter()
            .map(|kind| serde_json::json!({ "policy": kind.name, "about": kind.about }))
            .collect();
        print(&pretty(&kinds)?)?;
        return Ok(Exit::Held);
    }
    let mut out = String::new();
    for kind in KINDS {
        let _ = writeln!(out, "{:<18}{}", kind.name, kind.about);
    }
    print(&out)?;
    Ok(Exit::Held)
}

fn json(done: &Done) -> serde_json::Value {
    let results: Vec<_> = done.cells.iter().map(|cell| result(cell, &done.comparison)).collect();
    let mut value = serde_json::json!({
        "schema": 1,
        "warnings": done.warnings,
        "trace": trace_json(&done.opened),
        "results": results,
    });
    if let (false, Some(object)) = (done.bounds.is_empty(), value.as_object_mut()) {
        let bound = |bound: &Bound| {
            serde_json::json!({
                "capacity": bound.capacity.amount,
                "unit": unit(&bound.capacity),
                "misses": bound.misses,
                "kind": bound.kind.name(),
                "missed_bytes": bound.missed_bytes,
                "missed_bytes_kind": bound.missed_bytes.map(|_| bound.missed_bytes_kind.name()),
            })
        };
        object.insert("bounds".to_owned(), done.bounds.iter().map(bound).collect());
    }
    value
}

fn result(cell: &Cell, comparison: &Comparison) -> serde_json::Value {
    let mut value = serde_json::json!({
        "policy": cell.policy,
        "size": cell.size,
        "capacity": cell.capacity.amount,
        "unit": unit(&cell.capacity),
        "evictions": cell.evictions,
        "memory_bytes": cell.memory_bytes,
        "cpu_s": cell.cpu_s,
        // Each cell has a pass of its own over the compiled trace.
        "shared_pass": 1,
    });
    let object = value.as_object_mut();
    let figures = total(&cell.all);
    if let (Some(object), serde_json::Value::Object(figures)) = (object, figures) {
        object.extend(figures);
        if comparison.skip > 0 {
            object.insert("after_skip".to_owned(), total(&cell.after_skip));
        }
        if !cell.by_size.is_empty() {
            object.insert("by_size".to_owned(), by_size::json(&cell.by_size));
        }
    }
    value
}

/// Counts and their ratios, which are null of nothing.
pub(super) fn total(of: &Total) -> serde_json::Value {
    serde_json::json!({
        "requests": of.requests,
        "misses": of.misses,
        "miss_ratio": (of.requests > 0).then(|| of.miss_ratio()),
        "requested_bytes": of.requested_bytes,
        "missed_bytes": of.missed_bytes,
        "byte_miss_ratio": (of.requested_bytes > 0).then(|| of.byte_miss_ratio()),
    })
}
