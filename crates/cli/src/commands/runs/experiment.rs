//! What `runs show` says of an experiment, of one of its cells, and of a simulated run.

use crate::exit::Exit;
use crate::terminal::align::align;
use crate::terminal::error::{Result, UsageError, read};
use crate::terminal::paint::Paint;
use crate::terminal::print;
use plimsoll_plan::{FactorPlan, Varied};
use plimsoll_runs::experiment::{
    AGAIN, Aside, CellRow, Combination, Experiment, FAILED, LeftOut, Mean, combinations,
};
use plimsoll_runs::{Ended, Event, FigureRow, Run, iso8601};
use plimsoll_stats::figure::{self, Figure};
use plimsoll_stats::interval::Method;
use plimsoll_units::{ParseError, show_count};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

/// The most combinations that are shown to a person.
const MAX_ROWS: usize = 100;
/// The most levels of a factor that are named to a person.
const MAX_LEVELS: usize = 8;

/// The figures that a person wants to see.
pub(super) fn columns(names: &[String]) -> Result<Vec<&'static Figure>> {
    let one = |name: &String| {
        read("--figure", name, |name| {
            figure::named(name.trim()).ok_or_else(|| {
                let error = ParseError::new("the name of a figure", name, 0, name.len());
                match figure::nearest(name.trim()) {
                    Some(near) => error.hint(format!("did you mean {near}?")),
                    None => error.hint("`runs show --json` has all that there are"),
                }
            })
        })
    };
    names.iter().map(|name| Ok(one(name)?)).collect()
}

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

/// The factors' keys, each as short as it can be told from the others: `users` of `load.users`.
fn short<'a>(keys: &[&'a str]) -> Vec<&'a str> {
    let last = |key: &'a str, parts: usize| {
        let mut starts = key.rmatch_indices('.').map(|(at, _)| at + 1);
        starts.nth(parts - 1).map_or(key, |start| &key[start..])
    };
    let one = |key: &&'a str| {
        let most = key.split('.').count();
        let is_own = |parts: &usize| {
            let mut like = keys.iter().filter(|other| last(other, *parts) == last(key, *parts));
            like.nth(1).is_none()
        };
        last(key, (1..=most).find(is_own).unwrap_or(most))
    };
    keys.iter().map(one).collect()
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
    let usual = experiment.meta().kind.figures();
    let wanted = if columns.is_empty() { usual } else { columns };
    let any = |figure: &&&Figure| combinations.iter().any(|of| of.mean(figure).is_some());
    let shown: Vec<&Figure> = wanted.iter().filter(any).copied().collect();
    table(&mut out, &combinations, &shown);
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

/// A row a combination: its levels, how many replications are done, and its figures.
fn table(out: &mut String, combinations: &[Combination], shown: &[&Figure]) {
    let all = factors(combinations);
    let blocks: BTreeSet<u32> = combinations.iter().map(|of| of.block).collect();
    let keys: Vec<&str> = all.keys().copied().collect();
    let mut heads: Vec<String> = short(&keys).into_iter().map(str::to_owned).collect();
    if blocks.len() > 1 {
        heads.push("block".to_owned());
    }
    heads.push("done".to_owned());
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
        row.extend(shown.iter().map(|figure| shown_as(figure, of.mean(figure))));
        row.extend(has_marks.then(|| marks(of)));
        rows.push(row);
    }
    align(out, &rows, names, Paint::stdout());
    if combinations.len() > MAX_ROWS {
        let more = show_count((combinations.len() - MAX_ROWS) as u64);
        let _ = writeln!(out, "… and {more} more: --json and `plimsoll export` have all");
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

/// `13.5% ±2.1%`; a dash where it is not known.
fn shown_as(figure: &Figure, mean: Option<Mean>) -> String {
    let show = |value: f64| figure.unit.show(value);
    match mean {
        None => "–".to_owned(),
        Some(Mean { value, ci95: None, .. }) => show(value),
        Some(Mean { value, ci95: Some((low, high)), .. }) => {
            format!("{} ±{}", show(value), show((value - low).max(high - value)))
        }
    }
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
