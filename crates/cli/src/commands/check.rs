//! `plimsoll check`: what a plan would do; nothing is started.

use super::run::{MANY_CELLS, asked};
use crate::exit::Exit;
use crate::place::place;
use crate::run_args::Check;
use crate::terminal::error::Result;
use crate::terminal::print;
use plimsoll_experiment::between::Between;
use plimsoll_experiment::estimate::Span;
use plimsoll_experiment::money::Cost;
use plimsoll_experiment::ready::Ready;
use plimsoll_experiment::record::CellPlan;
use plimsoll_experiment::touches::{Read, Touches};
use plimsoll_testbed::outline::Planned;
use plimsoll_testbed::provider::Most;
use plimsoll_units::{show_count, show_duration};
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// The most cells that are shown to a person.
const MAX_CELLS: usize = 20;

/// Runs the command.
pub(crate) fn run(args: &Check) -> Result<Exit> {
    let here = std::env::current_dir()?;
    let (ready, touches) = asked(&args.of, None, (false, false), &here, |ask| {
        Ok((Ready::of(ask)?, Touches::of(ask)?))
    })?;
    show(&ready, &touches, &here, args.json)
}

/// Prints what a plan would do that is ready to be executed in a folder.
pub(super) fn show(ready: &Ready, touches: &Touches, here: &Path, as_json: bool) -> Result<Exit> {
    let between = ready.between(&place(here))?;
    let cost = ready.cost()?;
    let cost = cost.as_ref();
    let document = || format!("{:#}\n", document(ready, &between, cost, touches));
    print(&if as_json { document() } else { shown(ready, &between, cost, touches) })?;
    Ok(Exit::Held)
}

fn document(
    ready: &Ready,
    between: &Between,
    cost: Option<&Cost>,
    touches: &Touches,
) -> serde_json::Value {
    let cell = |cell: &CellPlan| {
        json!({
            "cell": cell.number, "factors": cell.factors, "replication": cell.replication,
            "block": cell.block, "seed": cell.seed,
        })
    };
    json!({
        "schema": 1,
        "warnings": ready.notes,
        "kind": ready.subject.kind.name(),
        "world": ready.subject.world.name(),
        "subject": ready.subject.what,
        "slo": ready.subject.slo,
        "respond": ready.responds(),
        "duration_s": ready.length_s,
        "takes_s": ready.takes().map(|span| [Some(span.least_s), span.most_s]),
        "costs": cost.map(|of| json!({
            "instances": of.instances, "most": if of.scales { Some(of.budget) } else { of.most },
            "predicted": of.predicted, "budget": of.budget,
            "currency": of.currency,
        })),
        "pool": ready.scaled().map(|of| json!({
            "role": of.role, "instances": of.instances, "wanted": of.wanted,
            "hosts": of.hosts.iter().map(most_json).collect::<Vec<_>>(),
        })),
        "touches": touches,
        "between": between.each,
        "standing": between.standing.iter().map(step_json).collect::<Vec<_>>(),
        "steps": ready.steps.iter().map(step_json).collect::<Vec<_>>(),
        "most_cells": ready.most_cells(),
        "cells": ready.cells.iter().map(cell).collect::<Vec<_>>(),
    })
}

/// The most instances of a pool on a host.
fn most_json(of: &Most) -> serde_json::Value {
    json!({
        "host": of.host, "usual": of.usual, "alone": of.alone,
        "first_port": of.ports.0, "last_port": of.ports.1,
    })
}

/// A step of the servers of the first cell, with what it does as it is printed.
fn step_json(step: &Planned) -> serde_json::Value {
    json!({
        "name": step.name, "instance": step.instance, "host": step.host,
        "class": step.class.name(),
        "after": step.after, "does": step.does(),
    })
}

/// What rented instances can cost at most.
fn shown_cost(cost: &Cost) -> String {
    let Cost { instances, most, scales, predicted, budget, currency } = cost;
    if *scales {
        let predicted = predicted.map_or_else(
            || "nothing is predicted".to_owned(),
            |predicted| format!("{predicted:.2} {currency} are predicted"),
        );
        return format!(
            "up to {budget:.2} {currency}, its budget, which no order may exceed; {predicted}; \
             {instances} instances at once, and no more"
        );
    }
    let most = most.map_or_else(
        || "as long as its budget lasts".to_owned(),
        |most| format!("up to {most:.2} {currency}"),
    );
    format!("{most}, for up to {instances} instances at once; its budget is {budget:.2} {currency}")
}

fn shown(ready: &Ready, between: &Between, cost: Option<&Cost>, touches: &Touches) -> String {
    let mut out = String::new();
    let mut row = |name: &str, text: &str| {
        let _ = writeln!(out, "{name:<11} {text}");
    };
    let of = &ready.subject;
    row("kind", &format!("{}, {}: {}", of.kind.name(), of.world.name(), of.what));
    if let Some(slo) = &of.slo {
        row("SLO", slo);
    }
    if !ready.responds().is_empty() {
        row("responds", &ready.responds().join(", "));
    }
    if let Some(span) = ready.takes() {
        row("takes", &span_of(span));
    }
    if let Some(cost) = cost {
        row("costs", &shown_cost(cost));
    }
    for (at, line) in ready.scaled().iter().flat_map(|of| of.told()).enumerate() {
        row(if at == 0 { "pool" } else { "" }, &line);
    }
    if let Some(budget) = ready.budget {
        row("budget", &show_duration(u64::try_from(budget.as_nanos()).unwrap_or(u64::MAX)));
    }
    let is_all = ready.cells.len() as u64 == ready.most_cells();
    let at_most = if is_all { "" } else { "at most " };
    row("cells", &format!("{at_most}{}", show_count(ready.most_cells())));
    for cell in ready.cells.iter().take(MAX_CELLS) {
        row(&format!("  {}", cell.number), &described(cell));
    }
    if ready.cells.len() > MAX_CELLS {
        let more = show_count((ready.cells.len() - MAX_CELLS) as u64);
        row("  …", &format!("{more} more: --json has all"));
    }
    show_touches(touches, &mut row);
    for (at, line) in between.each.iter().enumerate() {
        row(if at == 0 { "before each" } else { "" }, line);
    }
    let standing = between.standing.iter().map(|step| (step, ", where it stands already"));
    for (step, when) in ready.steps.iter().map(|step| (step, "")).chain(standing) {
        let of = if step.instance.is_empty() { "all" } else { &step.instance };
        row("", "");
        let on = step.host.as_ref().map(|host| format!(", on the host {host}")).unwrap_or_default();
        row(&format!("  {of}"), &format!("{} ({}){on}{when}", step.name, step.class.name()));
        for of in step.does() {
            of.lines().for_each(|line| row("", line));
        }
    }
    if ready.most_cells() > MANY_CELLS {
        row("note", &format!("more than {} cells: `run` wants --yes", show_count(MANY_CELLS)));
    }
    for note in &ready.notes {
        row("note", note);
    }
    out
}

/// What is executed, read, taken from the environment and reached beside the steps of servers.
fn show_touches(touches: &Touches, row: &mut impl FnMut(&str, &str)) {
    let read = |of: &Read| {
        let outside = if of.is_outside { ", outside of the plan's folder" } else { "" };
        format!("{}{outside}", of.path.display())
    };
    let reads: Vec<String> = touches.reads.iter().map(read).collect();
    let all = [
        ("executes", &touches.executes),
        ("starts with", &touches.starts_with),
        ("recipes", &touches.recipes),
        ("reads", &reads),
        ("takes", &touches.variables),
        ("reaches", &touches.reaches),
    ];
    for (name, lines) in all {
        for (at, line) in lines.iter().enumerate() {
            let of = if name == "takes" { "the environment variable " } else { "" };
            row(if at == 0 { name } else { "" }, &format!("{of}{line}"));
        }
    }
}

/// How long something takes, as far as that is known.
fn span_of(span: Span) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "shown")]
    let show = |seconds: f64| show_duration((seconds * 1e9) as u64);
    match span.most_s {
        Some(_) if span.is_known() => show(span.least_s),
        Some(most_s) => format!("{} to {}", show(span.least_s), show(most_s)),
        None => format!("at least {}", show(span.least_s)),
    }
}

/// The levels of a cell, its replication and its seed.
fn described(cell: &CellPlan) -> String {
    let factors: &BTreeMap<String, String> = &cell.factors;
    let levels: Vec<String> = factors.iter().map(|(of, level)| format!("{of} {level}")).collect();
    let levels = if levels.is_empty() { String::new() } else { format!("{}, ", levels.join(", ")) };
    format!("{levels}replication {}, seed {}", cell.replication, cell.seed)
}
