//! Two groups of replications, compared: for people, and as JSON.

use super::pooled::Pooled;
use crate::terminal::paint::Paint;
use plimsoll_analysis::compared::{Change, Compared, Row, Side};
use plimsoll_stats::interval::{Pairing, Verdict};
use plimsoll_units::show_share;
use std::fmt::Write as _;

/// What is shown of a comparison.
pub(super) struct Shown<'a> {
    pub(super) compared: &'a Compared,
    /// The runs of A and of B.
    pub(super) ids: [Vec<String>; 2],
    /// In what their loads differ, a sentence each.
    pub(super) loads: Vec<String>,
    /// Percentiles over all requests of a side.
    pub(super) pooled: Vec<Pooled>,
}

/// The names of the replications of a side.
pub(super) fn ids(side: &Side) -> Vec<String> {
    side.groups.iter().flat_map(|group| group.ones.iter().map(|one| one.id.clone())).collect()
}

impl Shown<'_> {
    fn remarks(&self) -> Vec<String> {
        self.loads.iter().chain(&self.compared.remarks).cloned().collect()
    }

    fn pairing(&self) -> Pairing {
        if self.compared.is_paired() { Pairing::Pairs } else { Pairing::Independent }
    }

    /// For people.
    pub(super) fn table(&self) -> String {
        let (paint, of) = (Paint::stdout(), self.compared);
        let [(a, n), (b, m)] = &of.sides;
        let pairs = if of.is_paired() { ", compared as pairs of one seed" } else { "" };
        let says = if of.is_worse() { paint.bad(&of.says()) } else { of.says() };
        let tolerance = show_share(of.tolerance);
        let mut out = format!(
            "{says}\n\nA {a} ({n} runs)\nB {b} ({m} runs){pairs}\nB may be worse by {tolerance}\n"
        );
        for remark in self.remarks() {
            let _ = writeln!(out, "{} {remark}", paint.warn("note:"));
        }
        let head = format!("\n  {:<16}{:>11}{:>11}{:>9}   95% interval", "", "A", "B", "B / A");
        let _ = writeln!(out, "{}", paint.dim(&head));
        of.rows.iter().for_each(|row| line(row, &mut out, paint));
        if !self.pooled.is_empty() {
            let head = "\n  over all requests of a side together, which gives no interval";
            let _ = writeln!(out, "{}", paint.dim(head));
        }
        self.pooled.iter().for_each(|pooled| pooled.line(&mut out));
        out
    }

    /// As JSON.
    pub(super) fn json(&self) -> String {
        format!("{:#}\n", self.value())
    }

    /// The document.
    pub(super) fn value(&self) -> serde_json::Value {
        let of = self.compared;
        let named = |row: &Row| row.json(&row.figure.label.replace(' ', "_"));
        serde_json::json!({
            "schema": 1, "warnings": self.remarks(), "a": self.ids[0], "b": self.ids[1],
            "tolerance": of.tolerance, "pairing": self.pairing(), "worse": of.is_worse(),
            "says": of.says(), "untold": of.untold,
            "figures": of.rows.iter().map(named).collect::<Vec<_>>(),
            "pooled": self.pooled.iter().map(Pooled::json).collect::<Vec<_>>(),
        })
    }
}

fn line(row: &Row, out: &mut String, paint: Paint) {
    let unit = row.figure.unit;
    let (mean_a, mean_b) = (unit.show(row.means.0), unit.show(row.means.1));
    let changed = match (&row.result, row.change) {
        (Ok(of), Change::Ratio) => format!("{:.3}", of.estimate.value),
        _ => row.changed(),
    };
    let words = row.judged();
    let words = match row.verdict().filter(|_| row.is_judged) {
        Some(Verdict::Worse) => paint.bad(&words),
        Some(Verdict::Better | Verdict::NotWorse) => paint.good(&words),
        Some(Verdict::Undecided) => paint.warn(&words),
        None => paint.dim(&words),
    };
    let (label, interval) = (row.figure.label, row.interval());
    let _ = writeln!(out, "  {label:<16}{mean_a:>11}{mean_b:>11}{changed:>9}   {interval:<20} {words}");
}
