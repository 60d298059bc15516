//! Two experiments of one kind, compared combination by combination: as pairs where their
//! replications drew by the same seeds.
//!
//! Experiments of different loads are refused, and so are cells in which the generator was the
//! limit. What stands on one side alone, and what is left out on one, is named.

use super::{loads, refuse_absent};
use crate::exit::Exit;
use crate::figures::joined;
use crate::terminal::align::align;
use crate::terminal::error::{NotValid, Result, UsageError};
use crate::terminal::paint::Paint;
use crate::terminal::print;
use plimsoll_runs::experiment::{Combination, Experiment, LeftOut, combinations};
use plimsoll_stats::figure::{Better, Figure};
use plimsoll_stats::interval::{Comparison, IntervalError, Pairing, Verdict, compare_difference};
use plimsoll_units::show_share;
use serde_json::json;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

/// A figure of a combination that both experiments have.
struct Row<'a> {
    of: &'a Combination,
    figure: &'static Figure,
    means: (f64, f64),
    pairing: Pairing,
    /// B less A.
    difference: Result<Comparison, IntervalError>,
}

/// Compares the experiments in two folders: by the usual figures of their kind, by those of names
/// and labels that they have, and by `more`.
pub(super) fn compare(
    a: &Path,
    b: &Path,
    (tolerance, more): (f64, &[&'static Figure]),
    json: bool,
) -> Result<Exit> {
    let (a, b) = (Experiment::open(a)?, Experiment::open(b)?);
    let kinds = (a.meta().kind, b.meta().kind);
    if kinds.0 != kinds.1 {
        let (of_a, of_b) = (kinds.0.name(), kinds.1.name());
        let text = format!("compare experiments of two kinds: A is of {of_a}, B of {of_b}");
        return Err(UsageError(text).into());
    }
    let others = loads::others(&a.meta().plan_text, &b.meta().plan_text);
    if !others.is_empty() {
        let others = others.join("; ");
        let text = format!(
            "compare experiments whose loads differ: {others}; what differs between A and B is \
             then the load's doing as well; run both under one load"
        );
        return Err(UsageError(text).into());
    }
    let (of_a, of_b) = (combinations(&a)?, combinations(&b)?);
    let twin = |of: &Combination, others: &'_ [Combination]| {
        let is_same =
            |other: &Combination| (&other.factors, other.block) == (&of.factors, of.block);
        others.iter().position(is_same)
    };
    let pairs: Vec<(&Combination, &Combination)> =
        of_a.iter().filter_map(|of| Some((of, &of_b[twin(of, &of_b)?]))).collect();
    refuse_not_valid(&pairs)?;
    let alone = |side: &[Combination], other: &[Combination]| -> Vec<String> {
        let mut names: Vec<String> =
            side.iter().filter(|of| twin(of, other).is_none()).map(named).collect();
        // Cells are executed in a random order.
        names.sort();
        names
    };
    let alone = [alone(&of_a, &of_b), alone(&of_b, &of_a)];
    let rows: Vec<Row<'_>> = pairs
        .iter()
        .flat_map(|(of, other)| {
            let usual = kinds.0.figures().iter().copied();
            let all = joined(usual, more.iter().copied().chain(of.of_subjects())).into_iter();
            all.filter_map(|figure| Row::of(figure, of, other, tolerance))
        })
        .collect();
    if rows.is_empty() {
        let text = "compare experiments that have no combination of levels in common; `runs show` \
                    tells what each has";
        return Err(UsageError(text.to_owned()).into());
    }
    refuse_absent(more, |figure| rows.iter().any(|row| row.figure == figure))?;
    let worse = rows.iter().any(Row::is_worse);
    let remarks = remarks(&alone, &pairs);
    let ids = [a.meta().id.as_str(), b.meta().id.as_str()];
    if json {
        let value = json!({
            "schema": 1, "warnings": remarks, "a": ids[0], "b": ids[1], "tolerance": tolerance,
            "worse": worse, "alone": { "a": alone[0], "b": alone[1] },
            "figures": rows.iter().map(Row::json).collect::<Vec<_>>(),
        });
        print(&format!("{value:#}\n"))?;
    } else {
        print(&table(ids, &rows, (tolerance, &remarks)))?;
    }
    Ok(if worse { Exit::Broken } else { Exit::Held })
}

/// What a combination is called: its levels.
fn named(of: &Combination) -> String {
    let levels: Vec<&str> = of.factors.values().map(String::as_str).collect();
    if levels.is_empty() { "all cells".to_owned() } else { levels.join(" · ") }
}

/// Refuses cells whose figures are the generator's, as of runs.
fn refuse_not_valid(pairs: &[(&Combination, &Combination)]) -> Result<()> {
    let of_side = |side: &str, of: &Combination| -> Vec<String> {
        let not_valid = of.aside.iter().filter(|one| one.left_out == Some(LeftOut::NotValid));
        not_valid.map(|one| format!("cell {} of {side}: {}", one.cell, one.why)).collect()
    };
    let all: Vec<String> =
        pairs.iter().flat_map(|(a, b)| [of_side("A", a), of_side("B", b)].concat()).collect();
    let Some(first) = all.first() else { return Ok(()) };
    let more = if all.len() > 1 { format!(", and {} more", all.len() - 1) } else { String::new() };
    let text = format!("compare cells that are not valid: {first}{more}");
    Err(NotValid(text).into())
}

/// What is left out, and what else a reader should know, a sentence each.
fn remarks(alone: &[Vec<String>; 2], pairs: &[(&Combination, &Combination)]) -> Vec<String> {
    let mut all = Vec::new();
    for (side, names) in ["A", "B"].into_iter().zip(alone) {
        if !names.is_empty() {
            let (n, names) = (names.len(), names.join("; "));
            all.push(format!("left out, as they stand in {side} alone: {n} combinations: {names}"));
        }
    }
    let aside = pairs.iter().flat_map(|(a, b)| {
        let of = |side: &'static str, of: &Combination| {
            of.aside.iter().map(|one| (side, one.clone())).collect::<Vec<_>>()
        };
        [of("A", a), of("B", b)].concat()
    });
    let mut noisy = Vec::new();
    for (side, one) in aside {
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
        all.push(format!(
            "the host was too busy in {}, which count all the same",
            noisy.join(", ")
        ));
    }
    all
}

/// Replications that drew by the same seeds, each by another, are pairs.
fn pairing(a: &Combination, b: &Combination) -> Pairing {
    let seeds = |of: &Combination| of.done.iter().map(|one| one.seed).collect::<Vec<_>>();
    let (a, b) = (seeds(a), seeds(b));
    let differ = a.iter().collect::<BTreeSet<_>>().len() == a.len();
    if a == b && differ { Pairing::Pairs } else { Pairing::Independent }
}

impl<'a> Row<'a> {
    /// `None` of a figure that one side lacks, or that is neither better nor worse.
    fn of(
        figure: &'static Figure,
        of: &'a Combination,
        other: &Combination,
        tolerance: f64,
    ) -> Option<Self> {
        if figure.better == Better::Neither {
            return None;
        }
        let (a, b) = (of.values(figure)?, other.values(figure)?);
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let means = (mean(&a), mean(&b));
        let pairing = pairing(of, other);
        let may_differ = tolerance * means.0.abs();
        let difference = compare_difference(&a, &b, pairing, figure.better, may_differ);
        Some(Self { of, figure, means, pairing, difference })
    }

    fn is_worse(&self) -> bool {
        self.difference.as_ref().is_ok_and(|difference| difference.verdict == Verdict::Worse)
    }

    fn json(&self) -> serde_json::Value {
        json!({
            "factors": self.of.factors, "block": self.of.block, "figure": self.figure.name,
            "a": self.means.0, "b": self.means.1, "kind": "difference", "pairing": self.pairing,
            "comparison": self.difference.as_ref().ok(),
            "refused": self.difference.as_ref().err().map(ToString::to_string),
        })
    }

    /// Its cells: the combination, the figure, both means, their difference, the verdict.
    fn cells(&self) -> Vec<String> {
        let show = |value: f64| self.figure.unit.show(value);
        let (difference, verdict) = match &self.difference {
            Ok(Comparison { estimate, verdict, .. }) => {
                let (low, high) = (show(estimate.low), show(estimate.high));
                let verdict = match verdict {
                    Verdict::Worse => "worse",
                    Verdict::Better => "better",
                    Verdict::NotWorse => "not worse",
                    Verdict::Undecided => "undecided: repeat more often",
                };
                (format!("{} [{low}, {high}]", show(estimate.value)), verdict.to_owned())
            }
            Err(error) => ("–".to_owned(), error.to_string()),
        };
        let (name, means) = (self.figure.label.to_owned(), self.means);
        vec![named(self.of), name, show(means.0), show(means.1), difference, verdict]
    }
}

fn table([a, b]: [&str; 2], rows: &[Row<'_>], (tolerance, remarks): (f64, &[String])) -> String {
    let mut out = format!("A {a}\nB {b}\nB may be worse by {}\n\n", show_share(tolerance));
    for remark in remarks {
        let _ = writeln!(out, "{} {remark}", Paint::stdout().warn("note:"));
    }
    if !remarks.is_empty() {
        out.push('\n');
    }
    if rows.iter().all(|row| row.pairing == Pairing::Pairs) {
        let _ = writeln!(out, "compared as pairs of one seed\n");
    }
    let heads = ["combination", "figure", "A", "B", "B less A, 95%", "verdict"];
    let heads = std::iter::once(heads.map(str::to_owned).to_vec());
    let all: Vec<Vec<String>> = heads.chain(rows.iter().map(Row::cells)).collect();
    align(&mut out, &all, 2, Paint::stdout());
    out
}
