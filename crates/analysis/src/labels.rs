//! What labels say of levels: how a figure spreads among the levels of each label, and which level
//! is poor beside those that have the same labels.

use std::collections::BTreeMap;

use plimsoll_plan::FactorPlan;
use plimsoll_stats::figure::{Better, Figure};
use plimsoll_stats::{BoxPlot, Described};

use crate::Study;
use crate::document::{CellResult, LabelGroup, LabelSpread, PoorLevel};

/// A level is poor where it is worse than this share of the median of those like it.
const POOR: f64 = 0.6;
/// In so many replications.
const RUNS: usize = 3;

/// How the figures that respond spread by label, for factors whose levels have labels; by the
/// levels of such a factor as well.
pub(crate) fn spreads(study: &Study<'_>) -> Vec<LabelSpread> {
    let of_factor = |factor: &FactorPlan| {
        let mut names = vec![factor.key.clone()];
        names.extend(factor.labels.values().flat_map(BTreeMap::keys).cloned());
        names.sort();
        names.dedup();
        let of = |figure: &&'static Figure| {
            let named = |label: &String| spread(study, factor, label, figure);
            names.iter().filter_map(named).collect::<Vec<_>>()
        };
        study.respond.iter().flat_map(of).collect::<Vec<_>>()
    };
    labelled(study).flat_map(of_factor).collect()
}

/// The factors whose levels have labels.
fn labelled<'a>(study: &'a Study<'_>) -> impl Iterator<Item = &'a FactorPlan> {
    study.factors.iter().filter(|factor| !factor.labels.is_empty())
}

/// What a level has of a label; of the factor's own name, the level.
fn value<'a>(factor: &'a FactorPlan, label: &str, level: &'a str) -> Option<&'a str> {
    if label == factor.key {
        return Some(level);
    }
    factor.labels.get(level)?.get(label).map(String::as_str)
}

fn spread(
    study: &Study<'_>,
    factor: &FactorPlan,
    label: &str,
    figure: &'static Figure,
) -> Option<LabelSpread> {
    let mut found: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (cell, level) in cells_of(study, factor) {
        let known = cell.figures.get(figure.name).zip(value(factor, label, level));
        known.into_iter().for_each(|(of, value)| found.entry(value).or_default().push(*of));
    }
    let group = |(value, mut values): (&str, Vec<f64>)| {
        values.sort_by(f64::total_cmp);
        let described = Described::of(&values)?;
        Some(LabelGroup { value: value.to_owned(), described, values })
    };
    let mut groups: Vec<LabelGroup> = found.into_iter().filter_map(group).collect();
    if label == factor.key {
        // Levels stand in the order of the plan.
        let place = |of: &LabelGroup| factor.levels.iter().position(|level| *level == of.value);
        groups.sort_by_key(place);
    }
    let (factor, label) = (factor.key.clone(), label.to_owned());
    (groups.len() > 1).then_some(LabelSpread { factor, label, figure: figure.name, groups })
}

/// The cells that count, each with its level of a factor.
fn cells_of<'a>(
    study: &'a Study<'_>,
    factor: &'a FactorPlan,
) -> impl Iterator<Item = (&'a CellResult, &'a str)> {
    let counts = study.cells.iter().filter(|cell| cell.counts());
    counts.filter_map(|cell| Some((cell, cell.factors.get(&factor.key)?.as_str())))
}

/// Levels that are poor: beside those of the same labels their medians are below 0.6 of the group's
/// in three replications, or, of figures that are better where they are lower, above it.
pub(crate) fn poor(study: &Study<'_>) -> Vec<PoorLevel> {
    let of_factor = |factor: &FactorPlan| {
        let figures = study.respond.iter();
        figures.flat_map(|figure| poor_of(study, factor, figure)).collect::<Vec<_>>()
    };
    labelled(study).flat_map(of_factor).collect()
}

fn poor_of(study: &Study<'_>, factor: &FactorPlan, figure: &'static Figure) -> Vec<PoorLevel> {
    let is_higher = match figure.better {
        Better::Higher => true,
        Better::Lower => false,
        Better::Neither => return Vec::new(),
    };
    // By replication and level.
    let mut values: BTreeMap<u32, BTreeMap<&str, Vec<f64>>> = BTreeMap::new();
    for (cell, level) in cells_of(study, factor) {
        if let Some(value) = cell.figures.get(figure.name) {
            let of = values.entry(cell.replication).or_default();
            of.entry(level).or_default().push(*value);
        }
    }
    let labels = |level: &str| factor.labels.get(level);
    let poor_level = |level: &String| {
        let alike: Vec<&String> =
            factor.levels.iter().filter(|of| labels(of) == labels(level)).collect();
        if alike.len() < 3 {
            return None;
        }
        let mut runs = Vec::new();
        for (run, of) in &values {
            let medians = alike.iter().filter_map(|of_group| of.get(of_group.as_str()));
            let medians: Vec<f64> = medians.filter_map(|values| median(values)).collect();
            let own = of.get(level.as_str()).and_then(|values| median(values));
            let Some((own, group)) = own.zip(median(&medians)) else { continue };
            let is_worse = if is_higher { own < POOR * group } else { POOR * own > group };
            if is_worse {
                runs.push((*run, own / group));
            }
        }
        let shares: Vec<f64> = runs.iter().map(|(_, share)| *share).collect();
        let of_group = median(&shares).filter(|_| runs.len() >= RUNS)?;
        Some(PoorLevel {
            factor: factor.key.clone(),
            level: level.clone(),
            figure: figure.name,
            of_group,
            replications: runs.iter().map(|(run, _)| *run).collect(),
        })
    };
    factor.levels.iter().filter_map(poor_level).collect()
}

fn median(values: &[f64]) -> Option<f64> {
    Some(BoxPlot::of(values)?.median)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Levels, state};
    use plimsoll_runs::Kind;
    use plimsoll_stats::figure::named;

    /// A study of four targets, of which three are alike, over so many replications; `value` tells
    /// the rate of a target in a replication.
    fn study(replications: u32, value: impl Fn(&str, u32) -> f64, take: impl FnOnce(&Study<'_>)) {
        let levels = ["a", "b", "c", "d"];
        let kind = |level: &str| if level == "d" { "metal" } else { "vm" };
        let label = |level: &str| [("kind".to_owned(), kind(level).to_owned())].into();
        let factor = FactorPlan {
            key: "target".to_owned(),
            levels: levels.map(str::to_owned).to_vec(),
            sets: Vec::new(),
            labels: levels.iter().map(|level| ((*level).to_owned(), label(level))).collect(),
        };
        let cell = |(replication, level): (u32, &str)| CellResult {
            factors: Levels::from([("target".to_owned(), level.to_owned())]),
            replication,
            state: state::DONE,
            figures: [("capacity_per_s".to_owned(), value(level, replication))].into(),
            ..CellResult::default()
        };
        let pairs = (0..replications).flat_map(|run| levels.map(|level| (run, level)));
        let cells: Vec<CellResult> = pairs.map(cell).collect();
        let respond = vec![named("capacity_per_s").unwrap()];
        let (has_design, goal) = (true, None);
        let factors = vec![factor];
        take(&Study { kind: Kind::Load, has_design, factors, cells: &cells, respond, goal });
    }

    #[test]
    fn a_level_is_poor_beside_those_like_it_in_three_replications() {
        // One that is slower by its labels is not poor.
        let value = |level: &str, _| if level == "d" { 10.0 } else { 100.0 };
        study(3, value, |study| assert_eq!(poor(study), []));
        let slow = |level: &str, run: u32| if level == "b" && run > 0 { 59.0 } else { 100.0 };
        study(3, slow, |study| assert_eq!(poor(study), [], "twice is not enough"));
        study(4, slow, |study| {
            let found = poor(study);
            assert_eq!(found.len(), 1);
            assert_eq!((&*found[0].level, &found[0].replications[..]), ("b", &[1, 2, 3][..]));
            assert!((found[0].of_group - 0.59).abs() < 1e-9);
        });
        let just = |level: &str, _| if level == "b" { 60.0 } else { 100.0 };
        study(5, just, |study| assert_eq!(poor(study), []));
    }

    #[test]
    fn figures_spread_by_levels_in_their_order_and_by_the_values_of_labels() {
        let value = |level: &str, run: u32| f64::from(run) + if level == "d" { 7.0 } else { 1.0 };
        study(2, value, |study| {
            let all = spreads(study);
            let shown: Vec<_> = all
                .iter()
                .map(|of| {
                    let values = of.groups.iter().map(|of| (&*of.value, of.values.len()));
                    (&*of.label, values.collect::<Vec<_>>())
                })
                .collect();
            let levels = vec![("a", 2), ("b", 2), ("c", 2), ("d", 2)];
            let kinds = vec![("metal", 2), ("vm", 6)];
            assert_eq!(shown, [("kind", kinds), ("target", levels)]);
            assert_eq!(all[0].groups[0].values, [7.0, 8.0]);
        });
    }
}
