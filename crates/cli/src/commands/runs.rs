//! `plimsoll runs`: what has been run.

use crate::args::RunsCommand;
use crate::exit::Exit;
use crate::found;
use crate::terminal::paint::Paint;
use crate::terminal::table::{render, us};
use crate::terminal::{print, say};
use anyhow::Result;
use plimsoll_runs::Run;
use plimsoll_runs::index::{Entry, list};
use plimsoll_units::{show_rate, show_share};
use std::fmt::Write;
use std::path::Path;

/// Runs the command.
pub(crate) fn run(command: &RunsCommand) -> Result<Exit> {
    match command {
        RunsCommand::List { out, json } => show_list(out, *json),
        RunsCommand::Show { run, json } => show(&found::one(run.as_deref())?, *json),
    }
}

fn show_list(root: &Path, json: bool) -> Result<Exit> {
    let listing = list(root)?;
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
        let time = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), us);
        let share = run.failed as f64 / run.offered.max(1) as f64;
        let ended = if run.valid { run.ended.clone() } else { format!("{} ✗", run.ended) };
        let name = if run.name.is_empty() { String::new() } else { format!("{}: ", run.name) };
        let _ = writeln!(
            out,
            "{:<24} {ended:<10} {:>11} {:>10} {:>10} {:>8}  {name}{}",
            run.id,
            show_rate(run.rate_mean),
            time(run.p50_us),
            time(run.p99_us),
            show_share(share),
            run.subject,
        );
    }
    print(&out)?;
    for (path, why) in &listing.unreadable {
        say(&format!("note: {} cannot be read: {why}", path.display()));
    }
    Ok(Exit::Held)
}

fn entry(run: &Entry) -> serde_json::Value {
    serde_json::json!({
        "id": run.id, "name": run.name, "subject": run.subject, "started": run.started,
        "ended": run.ended, "valid": run.valid, "rate_mean": run.rate_mean,
        "p50_us": run.p50_us, "p99_us": run.p99_us, "offered": run.offered, "failed": run.failed,
    })
}

fn show(path: &Path, json: bool) -> Result<Exit> {
    let run = Run::open(path)?;
    let summary = run.summary()?;
    if json {
        print(&format!("{}\n", serde_json::to_string_pretty(&summary)?))?;
    } else {
        let uncertainty = crate::commands::load::uncertainty(&run)?;
        print(&render(&summary, uncertainty.as_ref(), Paint::stdout()))?;
    }
    Ok(Exit::Held)
}
