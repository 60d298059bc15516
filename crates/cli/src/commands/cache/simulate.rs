//! `plimsoll cache simulate`: policies and sizes compared on one trace.

use super::{RequestStream, by_size, settings, table, too_small, unit};
use crate::cache_args::CacheSimulate;
use crate::commands::report::write_page;
use crate::commands::simulate::cells::{Keeping, into};
use crate::commands::simulate::{cut, threads};
use crate::exit::Exit;
use crate::interrupt::Interrupts;
use crate::terminal::error::Result;
use crate::terminal::screen::Screen;
use crate::terminal::{pretty, print, say};
use plimsoll_cache::bound::{Bound, size_of_all};
use plimsoll_cache::capacity::Unit;
use plimsoll_cache::eviction::KINDS;
use plimsoll_cache::simulate::{Cell, Comparison, Total};
use plimsoll_cache::trace::Trace;
use plimsoll_experiment::plans::read_caches;
use plimsoll_experiment::ready::{Ready, Takes};
use plimsoll_experiment::world::caches::Requests;
use plimsoll_plan::{CacheComparison, Written};
use std::cell::RefCell;
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
    let threads = threads(args.threads.as_deref())?;
    let RequestStream { requests, json: trace_json, about } =
        RequestStream::recorded(&plan.trace, 0)?;
    // An interrupt while the trace is read ends the program.
    let interrupts = Interrupts::watch()?;
    let ready = Ready::compared(&plan, requests)?;
    let Some((comparison, bounds, Requests { trace, .. })) = ready.comparison() else {
        return Ok(Exit::Incomplete);
    };
    let screen = Screen::new(args.quiet || args.json, &interrupts).of_steps("replays");
    // A page draws every cell.
    let all = args.keep_cells || args.report.is_some();
    let keeping = Keeping {
        out: &args.out,
        plan: args.plan.as_deref().unwrap_or_default(),
        all,
        tags: args.tags.read()?,
    };
    let record = keeping.record(&ready);
    let cells = RefCell::new(Vec::new());
    let take = |replayed: Vec<Cell>| {
        warnings(trace, comparison, &replayed).iter().for_each(|warning| record.note(warning));
        cells.replace(replayed);
    };
    let folder = into(&ready, &record, (&screen, threads), Takes::Policies(&take))?;
    let cells = cells.into_inner();
    if cells.len() < ready.cells.len() {
        return Ok(cut("interrupted before every replay was done", folder.as_deref()));
    }
    let found = warnings(trace, comparison, &cells);
    let warnings = ready.notes.iter().cloned().chain(found).collect();
    let done = Done { warnings, trace, about, comparison, cells, bounds };
    if args.json {
        print(&format!("{:#}\n", json(&done, &trace_json)))?;
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
pub(super) struct Done<'a> {
    pub(super) trace: &'a Trace,
    /// What the trace is, as a person reads it.
    pub(super) about: String,
    pub(super) comparison: &'a Comparison,
    pub(super) cells: Vec<Cell>,
    pub(super) bounds: &'a [Bound],
    pub(super) warnings: Vec<String>,
}

/// What a reader should know of what was asked for of this trace.
fn warnings(trace: &Trace, comparison: &Comparison, cells: &[Cell]) -> Vec<String> {
    let mut warnings = Vec::new();
    if comparison.by_size && trace.sizes().is_none() {
        warnings.push("--by-size: this trace has no sizes".to_owned());
    }
    let by_bytes = cells.iter().any(|cell| cell.capacity.unit == Unit::Bytes);
    let belady = comparison.policies.iter().any(|policy| policy.kind.name == "belady");
    if belady && by_bytes && size_of_all(trace).is_none() {
        let text = "belady is no bound where sizes differ: --bound tells what no policy undercuts";
        warnings.push(text.to_owned());
    }
    let sizes = cells.iter().map(|cell| (cell.size.as_str(), cell.capacity));
    warnings.extend(too_small(trace, sizes));
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

fn json(done: &Done<'_>, trace: &serde_json::Value) -> serde_json::Value {
    let results: Vec<_> = done.cells.iter().map(|cell| result(cell, done.comparison)).collect();
    let mut value = serde_json::json!({
        "schema": 1,
        "warnings": done.warnings,
        "trace": trace,
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
