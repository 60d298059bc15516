//! Differences between combinations that were given the same requests, replication by replication:
//! noise that is common to both cancels.

use std::collections::BTreeMap;

use plimsoll_plan::POLICY;
use plimsoll_runs::experiment::{Combination, Experiment, combinations};
use plimsoll_runs::{Kind, RunError};
use plimsoll_stats::figure::Figure;
use plimsoll_stats::interval::{self, LEVEL};

use crate::document::{PairedMean, PairedResult};

/// By how much a figure of one combination is above that of another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// The figure.
    pub figure: &'static Figure,
    /// The mean of the differences, in the figure's unit.
    pub mean: f64,
    /// Its 95% interval (Student).
    pub ci95: (f64, f64),
}

/// The first of the combinations that has the same levels as this one of all factors but one, and
/// stands before it; `None` where it has no level of that factor, or is itself the first.
#[must_use]
pub fn first_of<'a>(
    of: &Combination,
    before: impl IntoIterator<Item = &'a Combination>,
    factor: &str,
) -> Option<(usize, &'a Combination)> {
    of.factors.get(factor)?;
    let is_other = |other: &Combination| {
        let keys = of.factors.keys().chain(other.factors.keys()).filter(|key| *key != factor);
        other.factors.contains_key(factor)
            && keys.into_iter().all(|key| of.factors.get(key) == other.factors.get(key))
    };
    before.into_iter().enumerate().find(|(_, other)| is_other(other))
}

/// The differences of a combination's figures from another's; nothing of a figure that one of them
/// lacks. `None` of fewer than two replications, and where both do not have the same ones.
#[must_use]
pub fn differences(
    of: &Combination,
    from: &Combination,
    figures: &[&'static Figure],
) -> Option<Vec<Difference>> {
    let replications = |of: &Combination| -> Vec<(u32, u64)> {
        of.done.iter().map(|one| (one.number, one.seed)).collect()
    };
    if of.done.len() < 2 || replications(of) != replications(from) {
        return None;
    }
    let one = |figure: &&'static Figure| {
        let (a, b) = of.values(figure).zip(from.values(figure))?;
        let less: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a - b).collect();
        let found = interval::mean(&less, LEVEL).ok()?;
        Some(Difference { figure, mean: found.value, ci95: (found.low, found.high) })
    };
    Some(figures.iter().filter_map(one).collect())
}

/// By how much each policy of an experiment with pools is above the first one, on the same
/// requests; none of any other experiment.
pub(crate) fn of(experiment: &Experiment) -> Result<Vec<PairedResult>, RunError> {
    let kind = experiment.meta().kind;
    if kind != Kind::Pool {
        return Ok(Vec::new());
    }
    let all = combinations(experiment)?;
    let one = |(place, of): (usize, &Combination)| {
        let (_, from) = first_of(of, &all[..place], POLICY)?;
        let mean = |of: &Difference| (of.figure.name, PairedMean { mean: of.mean, ci95: of.ci95 });
        let figures = differences(of, from, kind.figures())?;
        let figures: BTreeMap<_, _> = figures.iter().map(mean).collect();
        let (factors, against) = (of.factors.clone(), from.factors.clone());
        Some(PairedResult { factors, against, n: of.done.len(), figures })
    };
    Ok(all.iter().enumerate().filter_map(one).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_runs::FigureRow;
    use plimsoll_runs::experiment::Replication;
    use plimsoll_stats::figure;

    fn combination(levels: &[(&str, &str)], costs: &[f64], seed: u64) -> Combination {
        let one = |(number, cost): (u32, &f64)| {
            let rows = vec![FigureRow::new(figure::COST.name, *cost)];
            Replication::of(number + 1, (number, seed + u64::from(number)), rows)
        };
        Combination {
            factors: levels.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect(),
            block: 0,
            cells: costs.len(),
            done: (0..).zip(costs).map(one).collect(),
            aside: Vec::new(),
        }
    }

    #[test]
    fn what_both_have_in_common_cancels() {
        let a = combination(&[("policy", "a")], &[1.0, 5.0, 3.0], 7);
        let b = combination(&[("policy", "b")], &[1.5, 5.5, 3.5], 7);
        let found = differences(&b, &a, &[figure::COST, figure::LOST]).unwrap();
        assert_eq!(found.len(), 1, "a figure that none has is left out");
        assert_eq!((found[0].mean, found[0].ci95), (0.5, (0.5, 0.5)));
        let other = combination(&[("policy", "b")], &[1.5, 5.5, 3.5], 8);
        assert_eq!(differences(&other, &a, &[figure::COST]), None, "it saw other requests");
        let less = combination(&[("policy", "b")], &[1.5, 5.5], 7);
        assert_eq!(differences(&less, &a, &[figure::COST]), None, "it lacks one");
        let single = combination(&[("policy", "b")], &[1.5], 7);
        assert_eq!(differences(&single, &single, &[figure::COST]), None);
    }

    #[test]
    fn the_first_is_that_of_the_same_levels() {
        let of = |policy, size| combination(&[("policy", policy), ("size", size)], &[1.0], 1);
        let all = [of("a", "s"), of("a", "l"), of("b", "s"), of("b", "l")];
        let first = |place: usize| first_of(&all[place], &all[..place], "policy").map(|of| of.0);
        assert_eq!((first(0), first(1), first(2), first(3)), (None, None, Some(0), Some(1)));
        let none = combination(&[("size", "s")], &[1.0], 1);
        assert_eq!(first_of(&none, &all, "policy").map(|of| of.0), None);
    }
}
