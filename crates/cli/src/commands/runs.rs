//! `plimsoll runs`: what has been run.

mod experiment;
mod trend;

use crate::args::RunsCommand;
use crate::exit::Exit;
use crate::named_record::{self, NamedRecord};
use crate::tag_args::tag;
use crate::terminal::error::Result;
use crate::terminal::paint::Paint;
use crate::terminal::table::{render, us};
use crate::terminal::{pretty, print, say};
use plimsoll_runs::Run;
use plimsoll_runs::index::{Entry, LoadEntry, list};
use plimsoll_stats::figure::Figure;
use plimsoll_units::{show_rate, show_share};
use std::fmt::Write;
use std::path::Path;

/// Runs the command.
pub(crate) fn run(command: &RunsCommand) -> Result<Exit> {
    match command {
        RunsCommand::List { out, tag, json } => show_list(out, tag, *json),
        RunsCommand::Show { run, figure, json } => show(run.as_deref(), figure, *json),
        RunsCommand::Baseline { runs, output } => super::compare::baseline::make(runs, output),
        RunsCommand::Trend(args) => trend::show(args),
    }
}

fn show_list(root: &Path, tags: &[String], json: bool) -> Result<Exit> {
    let tags = tags.iter().map(|text| tag(text)).collect::<Result<Vec<_>>>()?;
    let mut listing = list(root)?;
    listing.runs.retain(|run| tags.iter().all(|(key, value)| run.tags.get(key) == Some(value)));
    if json {
        let runs: Vec<_> = listing.runs.iter().map(entry).collect();
        let warnings: Vec<_> = listing.unreadable.iter().map(|(_, why)| why.to_string()).collect();
        let value = serde_json::json!({ "schema": 1, "warnings": warnings, "runs": runs });
        print(&format!("{value:#}\n"))?;
        return Ok(Exit::Held);
    }
    let mut out = String::new();
    if listing.runs.is_empty() {
        say(&format!("no runs in {}", root.display()));
    } else {
        let head = format!(
            "{:<24} {:<10} {:>11} {:>10} {:>10} {:>8}  what",
            "run", "ended", "rate", "p50", "p99", "errors"
        );
        let _ = writeln!(out, "{}", Paint::stdout().dim(&head));
    }
    for run in &listing.runs {
        let none = || "–".to_owned();
        let time = |value: Option<f64>| value.map_or_else(none, us);
        let load = run.load.as_ref();
        let share = |load: &LoadEntry| show_share(load.failed as f64 / load.offered.max(1) as f64);
        let is_valid = load.is_none_or(|load| load.valid);
        let ended = if is_valid { run.ended.clone() } else { format!("{} ✗", run.ended) };
        let name = if run.name.is_empty() { String::new() } else { format!("{}: ", run.name) };
        let cells = run.cells.map(|cells| format!(" ({} of {} cells)", cells.done, cells.of));
        let _ = writeln!(
            out,
            "{:<24} {ended:<10} {:>11} {:>10} {:>10} {:>8}  {name}{}{}",
            run.id,
            load.and_then(|load| load.rate_mean).map_or_else(none, show_rate),
            time(load.and_then(|load| load.p50_us)),
            time(load.and_then(|load| load.p99_us)),
            load.map_or_else(none, share),
            run.subject,
            cells.unwrap_or_default(),
        );
    }
    print(&out)?;
    for (path, why) in &listing.unreadable {
        say(&format!("note: {} cannot be read: {why}", path.display()));
    }
    Ok(Exit::Held)
}

fn entry(run: &Entry) -> serde_json::Value {
    let load = run.load.as_ref();
    let headline = run.headline.as_ref();
    serde_json::json!({
        "id": run.id, "name": run.name, "kind": run.kind.name(), "subject": run.subject,
        "started": run.started, "ended": run.ended, "tags": run.tags,
        "cells": run.cells.map(|cells| serde_json::json!({ "done": cells.done, "of": cells.of })),
        "valid": load.map(|load| load.valid), "rate_mean": load.and_then(|load| load.rate_mean),
        "p50_us": load.and_then(|load| load.p50_us), "p99_us": load.and_then(|load| load.p99_us),
        "offered": load.map(|load| load.offered), "failed": load.map(|load| load.failed),
        "headline": headline.map(|of| {
            serde_json::json!({ "figure": of.name, "low": of.low, "high": of.high })
        }),
    })
}

/// Shows what is meant: a run, an experiment, or one of its cells.
fn show(named: Option<&Path>, figures: &[String], json: bool) -> Result<Exit> {
    let columns = crate::figures::named(figures)?;
    show_what(named_record::what(named)?, &columns, json)
}

/// Shows the run or experiment of a path.
pub(crate) fn show_path(path: &Path, columns: &[&'static Figure], json: bool) -> Result<Exit> {
    show_what(named_record::what(Some(path))?, columns, json)
}

fn show_what(found: NamedRecord, columns: &[&'static Figure], json: bool) -> Result<Exit> {
    match found {
        NamedRecord::Run(path) => show_run(&path, json),
        NamedRecord::Experiment(path) => experiment::show(&path, columns, json),
        NamedRecord::Cell(path, number) => experiment::show_cell(&path, number, json),
    }
}

fn show_run(path: &Path, json: bool) -> Result<Exit> {
    let run = Run::open(path)?;
    if !run.meta().has_seconds() {
        return experiment::show_simulated(&run, json);
    }
    let summary = run.summary()?;
    if json {
        print(&pretty(&summary)?)?;
    } else {
        let uncertainty = crate::commands::load::uncertainty(&run)?;
        print(&render(&summary, uncertainty.as_ref(), Paint::stdout()))?;
    }
    Ok(Exit::Held)
}
