//! Is B worse than A, figure by figure: what `plimsoll compare`, `--baseline` and their pages say.
//!
//! Each figure has the interval of its change, by replications. A verdict that a command ends by is
//! passed on the *judged* figures alone, and of several of them "worse" is corrected for how many
//! were judged (Holm). Where the host of either side was noisy, a figure that looks worse is left
//! open: the host may be why.

mod says;
mod side;

pub use side::{Group, One, Side};

use std::cmp::Ordering;
use std::collections::BTreeMap;

use plimsoll_runs::Kind;
use plimsoll_stats::figure::{self, Better, Figure, Unit};
use plimsoll_stats::holm;
use plimsoll_stats::interval::{
    Comparison, IntervalError, Pairing, Verdict, compare, compare_difference, p_of_worse_by,
    p_of_worse_ratio,
};

/// The level of one-sided tests that belongs to the 95% interval.
const LEVEL: f64 = 0.025;

/// How the change of a figure is put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// B over A.
    Ratio,
    /// B less A.
    Difference,
}

/// By what two sides are compared.
#[derive(Debug, Clone)]
pub struct With<'a> {
    /// The share of A by which B may be worse.
    pub tolerance: f64,
    /// The figures that are shown, in this order; those of names and labels follow.
    pub shown: &'a [&'static Figure],
    /// The figures that are judged.
    pub judged: &'a [&'static Figure],
    /// How changes are put of figures that are above zero; of others by difference.
    pub change: Change,
    /// The fewest replications of A; B needs two.
    pub least: usize,
}

/// A figure of one group, on both sides.
#[derive(Debug, Clone)]
pub struct Row {
    /// The levels of its group.
    pub factors: BTreeMap<String, String>,
    /// The block of its group.
    pub block: u32,
    /// What its group is called.
    pub group: String,
    /// The figure.
    pub figure: &'static Figure,
    /// The means of A and B.
    pub means: (f64, f64),
    /// How the change is put.
    pub change: Change,
    /// How replications belong together.
    pub pairing: Pairing,
    /// The change and its verdict, or why there is none.
    pub result: Result<Comparison, IntervalError>,
    /// Whether it counts for how the comparison ends.
    pub is_judged: bool,
    /// Why it was left open although it looks worse.
    pub open: Option<String>,
}

/// Two sides, compared.
#[derive(Debug, Clone)]
pub struct Compared {
    /// What A and B are called, and how many replications the smallest group of each has.
    pub sides: [(String, usize); 2],
    /// What was measured on A and on B.
    pub names: [String; 2],
    /// The share of A by which B may be worse.
    pub tolerance: f64,
    /// The figures, group by group.
    pub rows: Vec<Row>,
    /// Why nothing can be told, where that is so.
    pub untold: Option<String>,
    /// The combinations that stand in A alone, and in B alone.
    pub alone: [Vec<String>; 2],
    /// What a reader should know, a sentence each.
    pub remarks: Vec<String>,
}

/// The figures that are judged where nobody names any: of loads the highest percentile of response
/// time that all replications have, up to p99, and the share of errors; of searches the capacity;
/// of others those by which results of their kind are told.
#[must_use]
pub fn usual(kind: Kind, sides: [&Side; 2]) -> Vec<&'static Figure> {
    let is_everywhere = |figure: &&'static Figure| {
        sides.iter().all(|side| side.groups.iter().all(|group| group.values(figure).is_some()))
    };
    match kind {
        Kind::Load => {
            let times = [figure::RESPONSE_US_P99, figure::RESPONSE_US_P90, figure::RESPONSE_US_P50];
            let highest = times.into_iter().find(is_everywhere);
            highest.into_iter().chain([figure::ERRORS]).collect()
        }
        Kind::Search => vec![figure::ESTIMATE_PER_S],
        Kind::Pool | Kind::Caches | Kind::Tune => kind.figures().to_vec(),
    }
}

/// Compares two sides by the groups that both have.
#[must_use]
pub fn compared(a: &Side, b: &Side, with: &With<'_>) -> Compared {
    let twin = |of: &Group| b.groups.iter().find(|other| other.is_like(of));
    let mut pairs: Vec<(&Group, &Group)> =
        a.groups.iter().filter_map(|of| Some((of, twin(of)?))).collect();
    // Cells are executed in a random order.
    pairs.sort_by(|(one, _), (other, _)| by_levels(one, other));
    let mut rows: Vec<Row> = pairs.iter().flat_map(|(a, b)| of_groups((a, b), with)).collect();
    let untold = untold([a, b], with.least);
    if untold.is_none() {
        correct(&mut rows);
        leave_open(&mut rows, &pairs);
    }
    let side = |side: &Side| (side.id.clone(), side.least());
    Compared {
        sides: [side(a), side(b)],
        names: [a.name.clone(), b.name.clone()],
        tolerance: with.tolerance,
        rows,
        untold,
        alone: [alone(a, b), alone(b, a)],
        remarks: lacking(&pairs, with),
    }
}

/// The order of combinations: by their levels, of which those that begin with a number go by it.
fn by_levels(a: &Group, b: &Group) -> Ordering {
    let number = |level: &str| {
        let end = level.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(level.len());
        level[..end].parse::<f64>().ok()
    };
    let levels = a.factors.values().zip(b.factors.values());
    let mut each = levels.map(|(a, b)| match (number(a), number(b)) {
        (Some(x), Some(y)) => x.total_cmp(&y).then_with(|| a.cmp(b)),
        _ => a.cmp(b),
    });
    each.find(|order| order.is_ne()).unwrap_or_else(|| a.block.cmp(&b.block))
}

/// The combinations of a side that the other one lacks.
fn alone(side: &Side, other: &Side) -> Vec<String> {
    let has_twin = |group: &&Group| other.groups.iter().any(|of| of.is_like(group));
    let mut alone: Vec<&Group> = side.groups.iter().filter(|group| !has_twin(group)).collect();
    alone.sort_by(|a, b| by_levels(a, b));
    alone.into_iter().map(Group::named).collect()
}

/// Why nothing can be told of sides with too few replications.
fn untold([a, b]: [&Side; 2], least: usize) -> Option<String> {
    let of = |side: &Side, name: &str, least: usize| {
        let found = side.least();
        let runs = if found == 1 { "replication" } else { "replications" };
        (found < least).then(|| {
            format!(
                "{name} has {found} {runs}, and at least {least} are needed: repeat by --repeat"
            )
        })
    };
    of(a, "A", least).or_else(|| of(b, "B", 2))
}

fn of_groups((a, b): (&Group, &Group), with: &With<'_>) -> Vec<Row> {
    let mut figures: Vec<&'static Figure> = Vec::new();
    let all = with.shown.iter().chain(with.judged).copied();
    for figure in all.chain(a.of_subjects()) {
        if !figures.iter().any(|known| known.name == figure.name) {
            figures.push(figure);
        }
    }
    figures.into_iter().filter_map(|figure| Row::of(figure, (a, b), with)).collect()
}

/// Whether some may well have nothing of it: then differences are compared, not ratios.
fn may_be_zero(figure: &Figure) -> bool {
    matches!(figure.unit, Unit::Share | Unit::Count)
}

impl Row {
    /// `None` of a figure that one side lacks, or that is neither better nor worse.
    fn of(figure: &'static Figure, (a, b): (&Group, &Group), with: &With<'_>) -> Option<Self> {
        if figure.better == Better::Neither {
            return None;
        }
        let (of_a, of_b) = (a.values(figure)?, b.values(figure)?);
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let means = (mean(&of_a), mean(&of_b));
        let change = if may_be_zero(figure) { Change::Difference } else { with.change };
        let (pairing, better) = (a.pairing(b), figure.better);
        let result = match change {
            Change::Ratio => compare(&of_a, &of_b, pairing, better, with.tolerance),
            Change::Difference => {
                let may_differ = with.tolerance * means.0.abs();
                compare_difference(&of_a, &of_b, pairing, better, may_differ)
            }
        };
        Some(Self {
            factors: a.factors.clone(),
            block: a.block,
            group: a.named(),
            figure,
            means,
            change,
            pairing,
            result,
            is_judged: with.judged.iter().any(|judged| judged.name == figure.name),
            open: None,
        })
    }

    /// What its interval says.
    #[must_use]
    pub fn verdict(&self) -> Option<Verdict> {
        self.result.as_ref().ok().map(|comparison| comparison.verdict)
    }

    /// Whether the comparison ends badly by it.
    #[must_use]
    pub fn is_worse(&self) -> bool {
        self.is_judged && self.verdict() == Some(Verdict::Worse)
    }

    /// Leaves it undecided.
    fn reopen(&mut self, why: String) {
        if let Ok(comparison) = &mut self.result {
            comparison.verdict = Verdict::Undecided;
        }
        self.open = Some(why);
    }

    /// How likely B looks so much worse by chance.
    fn p_of_worse(&self) -> Option<f64> {
        let of = self.result.as_ref().ok()?;
        Some(match self.change {
            Change::Ratio => p_of_worse_ratio(of),
            Change::Difference => p_of_worse_by(of),
        })
    }
}

/// Of several figures that are judged, some look worse by chance.
fn correct(rows: &mut [Row]) {
    let judged: Vec<usize> = (0..rows.len()).filter(|at| rows[*at].is_judged).collect();
    let p: Vec<f64> = judged.iter().map(|at| rows[*at].p_of_worse().unwrap_or(f64::NAN)).collect();
    let corrected = holm::corrected(&p);
    for (at, p) in judged.iter().zip(corrected) {
        if rows[*at].is_worse() && p > LEVEL {
            let n = judged.len();
            rows[*at].reopen(format!("of {n} figures that are judged, one looks so by chance"));
        }
    }
}

/// A noisy host may be why a figure looks worse.
fn leave_open(rows: &mut [Row], pairs: &[(&Group, &Group)]) {
    for (a, b) in pairs {
        let Some(why) = a.noise("A").or_else(|| b.noise("B")) else { continue };
        let of_group =
            rows.iter_mut().filter(|row| (&row.factors, row.block) == (&a.factors, a.block));
        for row in of_group.filter(|row| row.is_worse()) {
            row.reopen(why.clone());
        }
    }
}

/// Figures that some replications have and others lack, a sentence each.
fn lacking(pairs: &[(&Group, &Group)], with: &With<'_>) -> Vec<String> {
    let mut all = Vec::new();
    for (a, b) in pairs {
        for figure in with.shown.iter().chain(with.judged) {
            let ones = || a.ones.iter().chain(&b.ones);
            let lack: Vec<&str> = ones()
                .filter(|one| !one.figures.contains_key(figure.name))
                .map(|one| one.id.as_str())
                .collect();
            if !lack.is_empty() && lack.len() < ones().count() {
                let of = if a.factors.is_empty() { String::new() } else { a.named() + ": " };
                let word = if lack.len() == 1 { "lacks" } else { "lack" };
                let (label, lack) = (figure.label, lack.join(", "));
                let text = format!("{of}{label} is left out: {lack} {word} it");
                if !all.contains(&text) {
                    all.push(text);
                }
            }
        }
    }
    all
}

#[cfg(test)]
mod tests;
