//! What `runs show` says of an experiment, of one of its cells, and of a simulated run.

use crate::exit::Exit;
use crate::figures::joined;
use crate::terminal::align::align;
use crate::terminal::error::{Result, UsageError};
use crate::terminal::paint::Paint;
use crate::terminal::print;
use plimsoll_analysis::paired::{differences, first_of};
use plimsoll_analysis::short;
use plimsoll_cache::about::About;
use plimsoll_plan::{FactorPlan, POLICY, Varied};
use plimsoll_runs::experiment::{
    AGAIN, Aside, CellRow, Combination, Experiment, FAILED, LeftOut, Mean, combinations,
};
use plimsoll_runs::{Ended, Event, FigureRow, Kind, Run, currency, iso8601};
use plimsoll_stats::figure::{self, Figure};
use plimsoll_stats::interval::Method;
use plimsoll_units::show_count;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

/// The most combinations that are shown to a person.
const MAX_ROWS: usize = 100;
/// The most levels of a factor that are named to a person.
const MAX_LEVELS: usize = 8;

/// The levels that each factor has, in their order.
fn factors(of: &[Combination]) -> BTreeMap<&str, Vec<&str>> {
    let mut all: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (factor, level) in of.iter().flat_map(|combination| &combination.factors) {
        let levels = all.entry(factor).or_default();
        if !levels.contains(&level.as_str()) {
            levels.push(level);
        }
    }
    all
}

/// Puts combinations into the order of the plan's levels, where it has factors: they are executed
/// in a random one.
fn by_levels(all: &mut [Combination], plan_text: &str) {
    let Some(varied) = Varied::of(plan_text) else { return };
    all.sort_by_cached_key(|of| {
        let place = |factor: &FactorPlan| {
            let level = of.factors.get(&factor.key);
            factor.levels.iter().position(|known| Some(known) == level)
        };
        (of.block, varied.factors.iter().map(place).collect::<Vec<_>>())
    });
}

fn ended(of: Option<&Ended>) -> &'static str {
    of.map_or("incomplete", Ended::name)
}

/// Shows an experiment.
pub(super) fn show(path: &Path, columns: &[&'static Figure], json: bool) -> Result<Exit> {
    let experiment = Experiment::open(path)?;
    let mut combinations = combinations(&experiment)?;
    by_levels(&mut combinations, &experiment.meta().plan_text);
    if json {
        print(&format!("{:#}\n", document(&experiment, &combinations)?))?;
        return Ok(Exit::Held);
    }
    let mut out = head(&experiment, &combinations)?;
    let shown = shown(&experiment, &combinations, columns);
    let sign = currency(&experiment.meta().about);
    table(&mut out, &combinations, (&shown, &sign));
    write_differences(&mut out, &combinations, (&shown, &sign));
    // What was done to servers is for `follow`, attempts that failed for `analyse`; both are in
    // `--json`.
    let is_shown =
        |(_, event): &(Option<u32>, Event)| !["testbed", FAILED, AGAIN].contains(&&*event.kind);
    for (cell, event) in experiment.events()?.into_iter().filter(is_shown) {
        let of = cell.map_or_else(String::new, |cell| format!("cell {cell}: "));
        let kind = if event.kind == "warning" { "note" } else { &event.kind };
        let _ = writeln!(out, "{kind}: {of}{}", event.text);
    }
    print(&out)?;
    Ok(Exit::Held)
}

/// The figures that are shown: those that are asked for, else the usual ones of its kind that say
/// something, and those of `respond`.
fn shown(
    experiment: &Experiment,
    combinations: &[Combination],
    asked: &[&'static Figure],
) -> Vec<&'static Figure> {
    let has = |figure: &Figure| combinations.iter().any(|of| of.mean(figure).is_some());
    if !asked.is_empty() {
        return asked.iter().filter(|of| has(of)).copied().collect();
    }
    let meta = experiment.meta();
    let silent = silent(experiment, combinations);
    let usual = meta.kind.figures().iter().filter(|of| has(of) && !silent.contains(of));
    let asked = Varied::of(&meta.plan_text).and_then(|of| of.experiment);
    let words = asked.iter().flat_map(|of| of.respond.iter().flatten());
    joined(usual.copied(), words.filter_map(|word| figure::called(word, has)))
}

/// Usual figures that say nothing here: what is left of what was earned, where nothing was, which
/// is the cost once more; bytes that were missed, of a trace without sizes.
fn silent(experiment: &Experiment, combinations: &[Combination]) -> Vec<&'static Figure> {
    let meta = experiment.meta();
    let earns = |of: &Combination| of.mean(figure::REVENUE).is_none_or(|of| of.value != 0.0);
    let about = || serde_json::from_str(&meta.about).ok();
    let is_sized = || about().is_none_or(|about: About| about.is_sized());
    let mut silent = Vec::new();
    if !combinations.iter().any(earns) {
        silent.push(figure::NET);
    }
    if meta.kind == Kind::Caches && !is_sized() {
        silent.push(figure::BYTE_MISS_RATIO);
    }
    silent
}

/// What it is, how far it is, and what is varied.
fn head(experiment: &Experiment, combinations: &[Combination]) -> Result<String> {
    let (meta, progress) = (experiment.meta(), experiment.progress()?);
    let mut out = String::new();
    let mut row = |name: &str, text: &str| {
        let _ = writeln!(out, "{name:<12}{text}");
    };
    if !meta.name.is_empty() {
        row("name", &meta.name);
    }
    row("kind", &format!("{}: {}", meta.kind.name(), meta.subject));
    let (done, of) = (show_count(progress.done), show_count(progress.of));
    row("cells", &format!("{done} of {of} done, {}", ended(experiment.ended())));
    for (factor, levels) in factors(combinations) {
        let more = levels.len().saturating_sub(MAX_LEVELS);
        let named = levels.iter().take(MAX_LEVELS).copied().collect::<Vec<_>>().join(", ");
        let rest = if more > 0 { format!(", … {more} more") } else { String::new() };
        row("factor", &format!("{factor}: {named}{rest}"));
    }
    out.push('\n');
    Ok(out)
}

/// A row a combination: its levels, how many replications are done, whether the SLO held, and its
/// figures; money in a currency.
fn table(out: &mut String, combinations: &[Combination], (shown, sign): (&[&Figure], &str)) {
    let all = factors(combinations);
    let blocks: BTreeSet<u32> = combinations.iter().map(|of| of.block).collect();
    let keys: Vec<&str> = all.keys().copied().collect();
    let mut heads: Vec<String> = short(&keys).into_iter().map(str::to_owned).collect();
    if blocks.len() > 1 {
        heads.push("block".to_owned());
    }
    heads.push("done".to_owned());
    let has_slo = combinations.iter().any(|of| of.mean(figure::SLO_HELD).is_some());
    heads.extend(has_slo.then(|| "SLO".to_owned()));
    let names = heads.len();
    heads.extend(shown.iter().map(|figure| figure.label.to_owned()));
    let has_marks = combinations.iter().any(|of| !of.aside.is_empty());
    heads.extend(has_marks.then(|| "marks".to_owned()));
    let mut rows = vec![heads];
    for of in combinations.iter().take(MAX_ROWS) {
        let level = |factor: &&str| of.factors.get(*factor).map_or("–", String::as_str).to_owned();
        let mut row: Vec<String> = all.keys().map(level).collect();
        if blocks.len() > 1 {
            row.push(of.block.to_string());
        }
        row.push(format!("{}/{}", of.executed(), of.cells));
        row.extend(has_slo.then(|| held(of)));
        row.extend(shown.iter().map(|figure| shown_as(figure, of.mean(figure), sign)));
        row.extend(has_marks.then(|| marks(of)));
        rows.push(row);
    }
    align(out, &rows, names, Paint::stdout());
    if combinations.len() > MAX_ROWS {
        let more = show_count((combinations.len() - MAX_ROWS) as u64);
        let _ = writeln!(out, "… and {more} more: --json and `plimsoll export` have all");
    }
}

/// The differences of policies from the first one, on the same requests: a table for each of those
/// that others are compared with.
fn write_differences(
    out: &mut String,
    all: &[Combination],
    (shown, sign): (&[&'static Figure], &str),
) {
    let label = |of: &Combination| of.factors.values().cloned().collect::<Vec<_>>().join(" · ");
    let mut tables: BTreeMap<usize, Vec<Vec<String>>> = BTreeMap::new();
    for (place, of) in all.iter().enumerate().take(MAX_ROWS) {
        let Some((first, from)) = first_of(of, &all[..place], POLICY) else { continue };
        let Some(found) = differences(of, from, shown) else { continue };
        let cell = |figure: &&Figure| {
            let Some(of) = found.iter().find(|of| of.figure == *figure) else {
                return "–".to_owned();
            };
            let half = (of.mean - of.ci95.0).max(of.ci95.1 - of.mean);
            figure.unit.show_estimate(of.mean, Some(half), sign, true)
        };
        let row = std::iter::once(label(of)).chain(shown.iter().map(cell)).collect();
        let heads = || {
            let labels = shown.iter().map(|figure| figure.label.to_owned());
            vec![std::iter::once(format!("against {}", label(from))).chain(labels).collect()]
        };
        tables.entry(first).or_insert_with(heads).push(row);
    }
    for rows in tables.values() {
        out.push('\n');
        align(out, rows, 1, Paint::stdout());
    }
}

/// What is to be said of the cells of a combination: `1 not valid, 2 busy host`.
fn marks(of: &Combination) -> String {
    let mut counts: BTreeMap<Option<LeftOut>, usize> = BTreeMap::new();
    of.aside.iter().for_each(|one| *counts.entry(one.left_out).or_default() += 1);
    let word = |(why, n): (&Option<LeftOut>, &usize)| {
        format!("{n} {}", why.map_or("busy host", LeftOut::word))
    };
    // What is in no mean comes first.
    let words: Vec<String> = counts.iter().rev().map(word).collect();
    if words.is_empty() { "–".to_owned() } else { words.join(", ") }
}

/// Whether the SLO held in the replications of a combination: `held`, `held in 2 of 3`.
fn held(of: &Combination) -> String {
    let known = of.done.iter().filter_map(|one| one.figures.get(figure::SLO_HELD.name));
    let (mut held, mut all) = (0, 0);
    for value in known {
        held += usize::from(*value > 0.5);
        all += 1;
    }
    match (held, all) {
        (_, 0) => "–".to_owned(),
        (held, all) if held == all => "held".to_owned(),
        (0, _) => "broken".to_owned(),
        (held, all) => format!("held in {held} of {all}"),
    }
}

/// `13.5% ±2.1%`, `$0.51 ±0.02`; a dash where it is not known.
fn shown_as(figure: &Figure, mean: Option<Mean>, sign: &str) -> String {
    let Some(Mean { value, ci95, .. }) = mean else { return "–".to_owned() };
    let half = ci95.map(|(low, high)| (value - low).max(high - value));
    figure.unit.show_estimate(value, half, sign, false)
}

fn document(experiment: &Experiment, combinations: &[Combination]) -> Result<Value> {
    let (meta, progress) = (experiment.meta(), experiment.progress()?);
    let mean = |figure: &'static Figure, of: &Combination| {
        let value = of.mean(figure).map(|of| match of.method {
            Method::Student => json!({ "mean": of.value, "ci95": of.ci95 }),
            method @ Method::Bca => {
                json!({ "mean": of.value, "ci95": of.ci95, "method": method })
            }
        });
        (figure.name.to_owned(), json!(value))
    };
    let result = |of: &Combination| {
        let figures: Map<String, Value> = of.figures().map(|figure| mean(figure, of)).collect();
        let aside = |one: &Aside| {
            let left_out = one.left_out.map(LeftOut::name);
            json!({ "cell": one.cell, "left_out": left_out, "why": one.why })
        };
        json!({
            "factors": of.factors, "block": of.block, "cells": of.cells, "done": of.executed(),
            "counted": of.done.len(), "aside": of.aside.iter().map(aside).collect::<Vec<_>>(),
            "figures": figures,
        })
    };
    let events = experiment.events()?;
    let event = |(cell, event): &(Option<u32>, Event)| {
        json!({
            "cell": cell, "at_ns": event.at_ns, "class": event.class.name(), "kind": event.kind,
            "text": event.text,
        })
    };
    Ok(json!({
        "schema": 1,
        "id": meta.id,
        "name": meta.name,
        "kind": meta.kind.name(),
        "subject": meta.subject,
        "started": iso8601(meta.started_unix_ns),
        "ended": ended(experiment.ended()),
        "cells": { "done": progress.done, "of": progress.of },
        "factors": factors(combinations),
        "results": combinations.iter().map(result).collect::<Vec<_>>(),
        "events": events.iter().map(event).collect::<Vec<_>>(),
    }))
}

/// Shows a cell, by its number: what the journal knows of it.
pub(super) fn show_cell(path: &Path, number: u32, json: bool) -> Result<Exit> {
    let experiment = Experiment::open(path)?;
    let cells = experiment.cells()?;
    let Some(CellRow { cell, state, reason, .. }) =
        cells.iter().find(|row| row.cell.number == number)
    else {
        let (path, most) = (path.display(), cells.len());
        let text = format!("find cell {number} of {path}: it has {most}, numbered from 1");
        return Err(UsageError(text).into());
    };
    let figures = experiment.figures_of(number)?;
    let id = &experiment.meta().id;
    if json {
        let value = json!({
            "schema": 1, "experiment": id, "cell": number, "factors": cell.factors,
            "replication": cell.replication, "block": cell.block, "seed": cell.seed,
            "world": cell.world.name(), "state": state.name(), "reason": reason,
            "figures": named(&figures),
        });
        print(&format!("{value:#}\n"))?;
        return Ok(Exit::Held);
    }
    let mut out = String::new();
    let mut row = |name: &str, text: &str| {
        let _ = writeln!(out, "{name:<12}{text}");
    };
    row("cell", &format!("{number} of {id}"));
    for (factor, level) in &cell.factors {
        row("factor", &format!("{factor}: {level}"));
    }
    row("replication", &format!("{}, seed {}", cell.replication, cell.seed));
    let why = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    row("state", &format!("{}{why}", state.name()));
    list(&mut out, &figures);
    print(&out)?;
    Ok(Exit::Held)
}

/// Shows a simulated run: its figures.
pub(super) fn show_simulated(run: &Run, json: bool) -> Result<Exit> {
    let (meta, figures) = (run.meta(), run.figures()?);
    let ended = ended(run.end().map(|end| &end.ended));
    if json {
        let value = json!({
            "schema": 1, "id": meta.id, "name": meta.name, "kind": meta.kind.name(),
            "subject": meta.subject, "world": meta.world.name(), "seed": meta.seed,
            "started": iso8601(meta.started_unix_ns), "ended": ended, "figures": named(&figures),
        });
        print(&format!("{value:#}\n"))?;
        return Ok(Exit::Held);
    }
    let mut out = String::new();
    let _ = writeln!(out, "{:<12}{}: {}, {ended}", "kind", meta.kind.name(), meta.subject);
    list(&mut out, &figures);
    print(&out)?;
    Ok(Exit::Held)
}

/// Figures by name.
fn named(figures: &[FigureRow]) -> BTreeMap<&str, f64> {
    figures.iter().map(|row| (row.name.as_str(), row.value)).collect()
}

/// A row a figure, in the order of the registry.
fn list(out: &mut String, figures: &[FigureRow]) {
    let values = named(figures);
    let rows = figure::ALL.iter().filter_map(|figure| {
        let value = values.get(figure.name)?;
        Some(vec![figure.label.to_owned(), figure.unit.show(*value), figure.name.to_owned()])
    });
    let heads = ["figure", "value", "name"].map(str::to_owned).to_vec();
    out.push('\n');
    align(out, &std::iter::once(heads).chain(rows).collect::<Vec<_>>(), 1, Paint::stdout());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_as_short_as_they_can_be_told_apart() {
        let keys = ["load.users", "role.web.cpu", "role.db.cpu", "crowd"];
        assert_eq!(short(&keys), ["users", "web.cpu", "db.cpu", "crowd"]);
        assert_eq!(short(&["a.b", "b"]), ["a.b", "b"]);
        assert_eq!(short(&["role.web.sysctl.net.core.somaxconn"]), ["somaxconn"]);
    }
}
