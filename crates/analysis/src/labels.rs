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
    let groups: Vec<LabelGroup> = found.into_iter().filter_map(group).collect();
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
