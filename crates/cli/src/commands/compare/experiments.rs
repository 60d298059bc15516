//! Two experiments of one kind, compared combination by combination: as pairs where their
//! replications drew by the same seeds.

use crate::exit::Exit;
use crate::terminal::align::align;
use crate::terminal::error::{Result, UsageError};
use crate::terminal::paint::Paint;
use crate::terminal::print;
use plimsoll_runs::experiment::{Combination, Experiment, combinations};
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

/// Compares the experiments in two folders.
pub(super) fn compare(a: &Path, b: &Path, tolerance: f64, json: bool) -> Result<Exit> {
    let (a, b) = (Experiment::open(a)?, Experiment::open(b)?);
    let kinds = (a.meta().kind, b.meta().kind);
    if kinds.0 != kinds.1 {
        let (of_a, of_b) = (kinds.0.name(), kinds.1.name());
        let text = format!("compare experiments of two kinds: A is of {of_a}, B of {of_b}");
        return Err(UsageError(text).into());
    }
    let (of_a, of_b) = (combinations(&a)?, combinations(&b)?);
    let mut rows = Vec::new();
    for of in &of_a {
        let is_same =
            |other: &&Combination| (&other.factors, other.block) == (&of.factors, of.block);
        let Some(other) = of_b.iter().find(is_same) else { continue };
        rows.extend(
            kinds.0.figures().iter().filter_map(|figure| Row::of(figure, of, other, tolerance)),
        );
    }
    if rows.is_empty() {
        let text = "compare experiments that have no combination of levels in common; `runs show` \
                    tells what each has";
        return Err(UsageError(text.to_owned()).into());
    }
    let is_worse = |row: &Row<'_>| {
        row.difference.as_ref().is_ok_and(|difference| difference.verdict == Verdict::Worse)
    };
    let worse = rows.iter().any(is_worse);
    let ids = [a.meta().id.as_str(), b.meta().id.as_str()];
    if json {
        let value = json!({
            "schema": 1, "a": ids[0], "b": ids[1], "tolerance": tolerance, "worse": worse,
            "figures": rows.iter().map(Row::json).collect::<Vec<_>>(),
        });
        print(&format!("{value:#}\n"))?;
    } else {
        print(&table(ids, &rows, tolerance))?;
    }
    Ok(if worse { Exit::Broken } else { Exit::Held })
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
        let levels: Vec<&str> = self.of.factors.values().map(String::as_str).collect();
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
        vec![levels.join(" · "), name, show(means.0), show(means.1), difference, verdict]
    }
}

fn table([a, b]: [&str; 2], rows: &[Row<'_>], tolerance: f64) -> String {
    let mut out = format!("A {a}\nB {b}\nB may be worse by {}\n\n", show_share(tolerance));
    if rows.iter().all(|row| row.pairing == Pairing::Pairs) {
        let _ = writeln!(out, "compared as pairs of one seed\n");
    }
    let heads = ["combination", "figure", "A", "B", "B less A, 95%", "verdict"];
    let heads = std::iter::once(heads.map(str::to_owned).to_vec());
    let all: Vec<Vec<String>> = heads.chain(rows.iter().map(Row::cells)).collect();
    align(&mut out, &all, 2, Paint::stdout());
    out
}
