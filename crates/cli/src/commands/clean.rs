//! `plimsoll load --clean`: asks for each URL of a list once, and writes those that answered 200.

use crate::args::Load;
use crate::exit::Exit;
use crate::files::check_place;
use crate::interrupt::Interrupts;
use crate::place::place;
use crate::terminal::error::Result;
use crate::terminal::screen::Screen;
use crate::terminal::{pretty, print, say};
use plimsoll_experiment::{Cleaned, clean, prepare};
use plimsoll_plan::{Plan, Setting};
use plimsoll_units::show_count;
use serde_json::json;
use std::fmt::Write;
use std::path::Path;

/// What a command line without a load means: a list is not asked for by the clock.
pub(crate) fn settings(args: &Load) -> Vec<Setting> {
    let has = |flag: &str| args.flags.has(flag);
    let mut settings = Vec::new();
    let shapes = ["rate", "schedule", "trace", "profile", "users"];
    if args.clean.is_none() || args.target.as_deref().is_some_and(crate::files::is_plan) {
        return settings;
    }
    if !shapes.iter().any(|flag| has(flag)) {
        settings.push(Setting::new("load.users", "16", "--clean"));
    }
    if !["for", "schedule", "trace", "profile"].iter().any(|flag| has(flag)) {
        settings.push(Setting::new("load.for", "1s", "--clean"));
    }
    settings
}

/// Cleans the list of a plan.
pub(crate) fn run(args: &Load, plan: &Plan, out: &Path) -> Result<Exit> {
    check_place("the list", out)?;
    let here = std::env::current_dir()?;
    let prepared = prepare(plan, &place(&here), true)?;
    let interrupts = Interrupts::watch()?;
    let screen = Screen::new(args.quiet || args.json, &interrupts).of_steps("URLs answered");
    let cleaned = clean(plan, &prepared, out, &screen);
    screen.clear();
    let cleaned = cleaned?;
    print(&if args.json { as_json(&cleaned)? } else { shown(&cleaned, out) })?;
    if cleaned.stopped || cleaned.gave_up.is_some() {
        let why = cleaned.gave_up.as_deref().unwrap_or("interrupted");
        say(&format!("{} is not written: {why}", out.display()));
        return Ok(Exit::Incomplete);
    }
    Ok(if cleaned.kept > 0 { Exit::Held } else { Exit::Incomplete })
}

fn as_json(of: &Cleaned) -> Result<String> {
    pretty(&json!({
        "schema": 1,
        "urls": of.urls,
        "kept": of.kept,
        "status": of.status,
        "errors": of.errors,
        "seconds": of.seconds,
        "gave_up": of.gave_up,
        "stopped": of.stopped,
    }))
}

fn shown(of: &Cleaned, out: &Path) -> String {
    let (kept, urls) = (show_count(of.kept), show_count(of.urls));
    let mut text = format!("{kept} of {urls} URLs answered 200: {}\n", out.display());
    for (code, n) in of.status.iter().filter(|(code, _)| **code != 200) {
        let _ = writeln!(text, "  left out  {code} × {}", show_count(*n));
    }
    for (kind, n) in &of.errors {
        let _ = writeln!(text, "  left out  {} × {}", kind.replace('_', " "), show_count(*n));
    }
    text
}
