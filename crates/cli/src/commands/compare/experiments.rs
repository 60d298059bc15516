//! Two experiments of one kind, compared combination by combination: as pairs where their
//! replications drew by the same seeds.
//!
//! Experiments of different loads are refused, and so are cells in which the generator was the
//! limit. What stands on one side alone, and what is left out on one, is named.

use super::shown::Shown;
use super::{By, judged, loads, refuse_absent};
use crate::terminal::error::{NotValid, Result, UsageError};
use plimsoll_analysis::compared::{Change, Side, With, compared};
use plimsoll_runs::experiment::{Combination, Experiment, LeftOut};
use std::path::Path;

/// Compares the experiments in two folders: by the usual figures of their kind, by those of names
/// and labels that they have, and by those that are asked for.
pub(super) fn compare(a: &Path, b: &Path, by: By<'_>) -> Result<Shown> {
    let (a, b) = (Experiment::open(a)?, Experiment::open(b)?);
    let kinds = (a.meta().kind, b.meta().kind);
    if kinds.0 != kinds.1 {
        let (of_a, of_b) = (kinds.0.name(), kinds.1.name());
        let text = format!("compare experiments of two kinds: A is of {of_a}, B of {of_b}");
        return Err(UsageError(text).into());
    }
    refuse_other_loads(&a.meta().plan_text, &b.meta().plan_text)?;
    let plan = &b.meta().plan_text;
    let ((a, all_of_a), (b, all_of_b)) = (Side::of_experiment(&a)?, Side::of_experiment(&b)?);
    let has_twin = |of: &Combination, others: &[Combination]| {
        others.iter().any(|other| (&other.factors, other.block) == (&of.factors, of.block))
    };
    let shared = |all: &[Combination], others: &[Combination]| -> Vec<Combination> {
        all.iter().filter(|of| has_twin(of, others)).cloned().collect()
    };
    let (of_a, of_b) = (shared(&all_of_a, &all_of_b), shared(&all_of_b, &all_of_a));
    refuse_aside("A", &of_a)?;
    refuse_aside("B", &of_b)?;
    let judged = judged(kinds.0, [&a, &b], by.asked, plan);
    let (tolerance, shown) = (by.tolerance, kinds.0.figures());
    let change = Change::Difference;
    let with = With { tolerance, shown, judged: &judged, change, least: super::LEAST };
    let mut of = compared(&a, &b, &with);
    if of.rows.is_empty() {
        let text = "compare experiments that have no combination of levels in common; `runs show` \
                    tells what each has";
        return Err(UsageError(text.to_owned()).into());
    }
    refuse_absent(by.asked, |figure| of.rows.iter().any(|row| row.figure == figure))?;
    let mut remarks = told_alone(&of.alone);
    remarks.extend(told_aside(&of_a, &of_b));
    of.remarks.splice(0..0, remarks);
    Ok(Shown::of_groups(of))
}

/// Refuses experiments whose cells were offered something else.
pub(super) fn refuse_other_loads(a: &str, b: &str) -> Result<()> {
    let others = loads::others(a, b);
    if others.is_empty() {
        return Ok(());
    }
    let others = others.join("; ");
    let text = format!(
        "compare experiments whose loads differ: {others}; what differs between A and B is \
         then the load's doing as well; run both under one load"
    );
    Err(UsageError(text).into())
}

/// Refuses cells whose figures are the generator's, as of runs.
pub(super) fn refuse_aside(side: &str, all: &[Combination]) -> Result<()> {
    let aside = all.iter().flat_map(|of| &of.aside);
    let not_valid: Vec<String> = aside
        .filter(|one| one.left_out == Some(LeftOut::NotValid))
        .map(|one| format!("cell {} of {side}: {}", one.cell, one.why))
        .collect();
    let Some(first) = not_valid.first() else { return Ok(()) };
    let more = not_valid.len() - 1;
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    Err(NotValid(format!("compare cells that are not valid: {first}{more}")).into())
}

/// What stands on one side alone, a sentence a side.
pub(super) fn told_alone(alone: &[Vec<String>; 2]) -> Vec<String> {
    let mut all = Vec::new();
    for (side, names) in ["A", "B"].into_iter().zip(alone) {
        if !names.is_empty() {
            let (n, names) = (names.len(), names.join("; "));
            let word = if n == 1 { "combination" } else { "combinations" };
            all.push(format!("left out, as they stand in {side} alone: {n} {word}: {names}"));
        }
    }
    all
}

/// What cells are left out, and which hosts were noisy, a sentence each.
fn told_aside(a: &[Combination], b: &[Combination]) -> Vec<String> {
    let of = |side: &'static str, all: &[Combination]| {
        let aside = all.iter().flat_map(|of| of.aside.clone());
        aside.map(|one| (side, one)).collect::<Vec<_>>()
    };
    let (mut all, mut noisy) = (Vec::new(), Vec::new());
    for (side, one) in [of("A", a), of("B", b)].concat() {
        let cell = format!("cell {} of {side}", one.cell);
        match one.left_out {
            Some(why) if one.why.is_empty() => {
                all.push(format!("left out: {cell}: {}", why.word()));
            }
            Some(why) => all.push(format!("left out: {cell}: {}: {}", why.word(), one.why)),
            None => noisy.push(cell),
        }
    }
    if !noisy.is_empty() {
        let noisy = noisy.join(", ");
        all.push(format!("the host was too busy in {noisy}, which count all the same"));
    }
    all
}
