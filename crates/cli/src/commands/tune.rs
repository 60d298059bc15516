//! `plimsoll tune`: better parameters of a policy.

use crate::commands::simulate::cells::{Keeping, simulate};
use crate::commands::simulate::{cut, read_plan, threads};
use crate::exit::Exit;
use crate::interrupt::Interrupts;
use crate::simulate_args::Tune as Args;
use crate::terminal::error::{FlagError, Result};
use crate::terminal::screen::Screen;
use crate::terminal::{pretty, print, say};
use plimsoll_elastic::result::PolicyResult;
use plimsoll_experiment::ready::{Ready, Takes};
use plimsoll_experiment::world::pool::tune::TuneResult;
use plimsoll_plan::Setting;
use plimsoll_stats::figure::{self, Figure};
use plimsoll_units::ParseError;
use std::cell::Cell;
use std::fmt::Write;

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<Exit> {
    let mut set = settings(args)?;
    for pair in &args.set {
        set.push(Setting::from_pair(pair).map_err(|error| FlagError::new("--set", pair, error))?);
    }
    let plan = read_plan(&args.plan, &args.flags, &set)?;
    crate::files::check_single(plan.is_designed(), "tune", (&args.plan, " --simulated"))?;
    let here = std::env::current_dir()?;
    let ready = Ready::tuning(&plan, &here)?;
    let threads = threads(args.threads.as_deref())?;
    let interrupts = Interrupts::watch()?;
    let screen = Screen::new(args.quiet || args.json, &interrupts).of_steps("replications");
    let keeping =
        Keeping { out: &args.out, plan: &args.plan, all: args.keep_cells, tags: args.tags.read()? };
    let tuned = Cell::new(None);
    let take = |of: TuneResult| tuned.set(Some(of));
    let folder = simulate(&ready, &keeping, (&screen, threads), Takes::Tuned(&take))?;
    let Some(tuned) = tuned.take() else {
        return Ok(cut("interrupted before there was a result", folder.as_deref()));
    };
    let currency = plan.elastic.as_ref().map_or("$", |elastic| &elastic.billing.currency);
    show(&tuned, currency, args.json)?;
    if !args.json {
        folder.iter().for_each(|folder| say(&format!("kept in {}", folder.display())));
    }
    Ok(if interrupts.count() > 0 { Exit::Incomplete } else { exit(&tuned) })
}

/// Prints what was found.
pub(super) fn show(tuned: &TuneResult, currency: &str, json: bool) -> Result<()> {
    Ok(print(&if json { pretty(tuned)? } else { render(tuned, currency) })?)
}

/// The exit code that it means.
pub(super) fn exit(tuned: &TuneResult) -> Exit {
    if tuned.keeps { Exit::Held } else { Exit::Broken }
}

/// The keys of `[tune]` that the flags set.
fn settings(args: &Args) -> Result<Vec<Setting>, FlagError> {
    let mut settings = args.tune.settings();
    for text in &args.vary {
        let wanted = "a parameter and its values, upper=60,70,80 or upper=60..90/5";
        let pair = text.split_once('=').map(|(name, values)| (name.trim(), values));
        let Some((name, values)) = pair.filter(|(name, _)| !name.is_empty()) else {
            let error = ParseError::new(wanted, text, 0, text.len());
            return Err(FlagError::new("--vary", text, error));
        };
        settings.push(Setting::new(format!("tune.vary.{name}"), values, format!("--vary {name}")));
    }
    Ok(settings)
}

/// The result for a person.
fn render(tuned: &TuneResult, sign: &str) -> String {
    let mut out = String::new();
    let mut row = |name: &str, text: &str| {
        let _ = writeln!(out, "{name:<12}{text}");
    };
    row("wished", &tuned.wish);
    row("tried", &format!("{} settings, {} replications", tuned.candidates, tuned.replications));
    row("best", &tuned.policy);
    if !tuned.keeps {
        row("but", "it does not keep what was asked; nothing that was tried does");
    }
    row(&tuned.baseline.label, &figures(&tuned.baseline, sign));
    row("tuned", &figures(&tuned.best, sign));
    if let Some(paired) = &tuned.paired {
        for Figure { name, label, .. } in [figure::COST, figure::LOST, figure::NET] {
            if let (Some(difference), Some((low, high))) =
                (paired.difference.get(*name), paired.ci95.get(*name))
            {
                let text = format!("{difference:+.2} (95%: {low:+.2} to {high:+.2})");
                row("difference", &format!("{label} {text}"));
            }
        }
    }
    for warning in &tuned.warnings {
        row("note", warning);
    }
    out
}

fn figures(of: &PolicyResult, sign: &str) -> String {
    let p99 = of.response_us.p99.unwrap_or(f64::NAN);
    let share = of.lost / of.offered.max(1.0);
    format!(
        "cost {}, lost {}, net {}, p99 {}",
        figure::COST.unit.show_in(of.cost, sign),
        figure::LOST_SHARE.unit.show(share),
        figure::NET.unit.show_in(of.net, sign),
        figure::RESPONSE_US_P99.unit.show(p99)
    )
}
