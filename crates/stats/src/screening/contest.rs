//! Combinations compared within blocks: a value is the sum of what its combination is, of what its
//! replication has in common, and of an error that is as great for all of them.
//!
//! The variance of the error is that of the residuals of the least-squares fit. Values that are
//! missing make the fit unbalanced; so it is found by fitting combinations and blocks in turn until
//! nothing changes, which without gaps is at once.

use std::collections::{BTreeMap, BTreeSet};

use super::ReplayedOutcomes;
use crate::holm;
use crate::interval::{Estimate, LEVEL, p_of_difference, student};

/// Rounds of fitting in turn; with few gaps a handful is enough.
const MOST_ROUNDS: usize = 100;

/// The values of some combinations, by replication, and the error that they have.
pub(super) struct Contest {
    values: BTreeMap<usize, BTreeMap<u32, f64>>,
    /// As [`Fit::levels`].
    levels: BTreeMap<usize, f64>,
    /// The standard deviation of the error, and its degrees of freedom; `None` where all of the
    /// values go into the fit.
    error: Option<(f64, f64)>,
    /// 1 where the lower value is better, −1 where the higher is.
    sign: f64,
}

pub(super) fn mean(values: &BTreeMap<u32, f64>) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "replications are few")]
    let n = values.len() as f64;
    values.values().sum::<f64>() / n
}

impl Contest {
    /// The values in all replications of those of these combinations, or of all, that have one and
    /// never broke the SLO.
    pub(super) fn of(
        told: &ReplayedOutcomes<'_>,
        combinations: Option<&[usize]>,
        sign: f64,
    ) -> Self {
        let mut values = told.held();
        if let Some(wanted) = combinations {
            let wanted: BTreeSet<&usize> = wanted.iter().collect();
            values.retain(|at, _| wanted.contains(at));
        }
        let Fit { levels, error } = fitted(&values);
        Self { values, levels, error, sign }
    }

    /// The values after the screening, with the error that all of them tell of.
    pub(super) fn after_screening(mut self) -> Self {
        for of in self.values.values_mut() {
            of.retain(|&replication, _| replication > 0);
        }
        self
    }

    /// The combinations, the best first; of equal ones that which comes first in the plan.
    pub(super) fn ranked(&self) -> Vec<usize> {
        let mut order: Vec<(usize, f64)> =
            self.levels.iter().map(|(&at, level)| (at, self.sign * level)).collect();
        order.sort_by(|a, b| a.1.total_cmp(&b.1));
        order.into_iter().map(|(at, _)| at).collect()
    }

    /// How much more `b` is than `a`, over the replications that both have; `None` where there is
    /// none, or no error is known.
    pub(super) fn difference(&self, a: usize, b: usize) -> Option<Estimate> {
        let ((deviation, df), differences) = (self.error?, self.differences(a, b)?);
        #[expect(clippy::cast_precision_loss, reason = "replications are few")]
        let error = deviation * (2.0 / differences.len() as f64).sqrt();
        let half = student::quantile(f64::midpoint(1.0, LEVEL), df) * error;
        let value = mean(&differences);
        Some(Estimate { value, low: value - half, high: value + half, level: LEVEL, df })
    }

    /// The same without its interval, for which no error has to be known.
    pub(super) fn mean_difference(&self, a: usize, b: usize) -> Option<f64> {
        self.differences(a, b).as_ref().map(mean)
    }

    /// The differences in the replications that both have; `None` where there is none.
    fn differences(&self, a: usize, b: usize) -> Option<BTreeMap<u32, f64>> {
        let (a, b) = (self.values.get(&a)?, self.values.get(&b)?);
        let pairs = a.iter().filter_map(|(at, value)| Some((*at, b.get(at)? - value)));
        Some(pairs.collect()).filter(|differences: &BTreeMap<_, _>| !differences.is_empty())
    }

    /// Those of `others` that are worse than `best` by more than chance makes them, by Holm's
    /// correction; one of which that cannot be told is not among them.
    pub(super) fn significantly_worse(&self, best: usize, others: &[usize]) -> BTreeSet<usize> {
        let found: Vec<Option<Estimate>> =
            others.iter().map(|&other| self.difference(best, other)).collect();
        let p_values: Vec<f64> =
            found.iter().map(|e| e.as_ref().map_or(f64::NAN, p_of_difference)).collect();
        let corrected = holm::corrected(&p_values);
        let is_worse = |at: &usize| {
            let worse_by = found[*at].map_or(0.0, |e| self.sign * e.value);
            worse_by > 0.0 && corrected[*at] <= 1.0 - LEVEL
        };
        (0..others.len()).filter(is_worse).map(|at| others[at]).collect()
    }
}

/// What values are made of: a level of each combination, and an error.
struct Fit {
    /// The combinations' values as they would be in a block of no effect.
    levels: BTreeMap<usize, f64>,
    /// As [`Contest::error`].
    error: Option<(f64, f64)>,
}

/// The least-squares fit of combinations and blocks. A combination with one value has no part in
/// it: that says nothing of the error, nor of a block.
#[expect(clippy::cast_precision_loss, reason = "runs are few")]
fn fitted(values: &BTreeMap<usize, BTreeMap<u32, f64>>) -> Fit {
    let mut levels: BTreeMap<usize, f64> = values.keys().map(|&at| (at, 0.0)).collect();
    let mut rest = values.clone();
    rest.retain(|_, of| of.len() > 1);
    // For each block its effect, and how many values it has.
    let mut blocks: BTreeMap<u32, (f64, usize)> = BTreeMap::new();
    for block in rest.values().flat_map(BTreeMap::keys) {
        blocks.entry(*block).or_default().1 += 1;
    }
    let size = rest.values().flat_map(BTreeMap::values).fold(0.0_f64, |most, v| most.max(v.abs()));
    for _ in 0..MOST_ROUNDS {
        let mut moved = 0.0_f64;
        for (at, of) in &mut rest {
            let level = mean(of);
            moved = moved.max(level.abs());
            of.values_mut().for_each(|value| *value -= level);
            *levels.entry(*at).or_default() += level;
        }
        for (block, (effect, count)) in &mut blocks {
            let in_block = |of: &BTreeMap<u32, f64>| of.get(block).copied();
            let level = rest.values().filter_map(in_block).sum::<f64>() / *count as f64;
            moved = moved.max(level.abs());
            rest.values_mut().filter_map(|of| of.get_mut(block)).for_each(|v| *v -= level);
            *effect += level;
        }
        if moved <= 1e-12 * size {
            break;
        }
    }
    for (at, of) in values.iter().filter(|(_, of)| of.len() == 1) {
        let effect = |block| blocks.get(block).map_or(0.0, |(effect, _)| *effect);
        levels.insert(*at, of.iter().map(|(block, value)| value - effect(block)).sum());
    }
    let cells: usize = rest.values().map(BTreeMap::len).sum();
    let squares: f64 = rest.values().flat_map(BTreeMap::values).map(|value| value * value).sum();
    let df = (cells + 1).saturating_sub(rest.len() + blocks.len());
    let is_known = !rest.is_empty() && df > 0;
    let error = is_known.then(|| ((squares / df as f64).sqrt(), df as f64));
    Fit { levels, error }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(rows: &[&[(u32, f64)]]) -> BTreeMap<usize, BTreeMap<u32, f64>> {
        rows.iter().enumerate().map(|(at, row)| (at, row.iter().copied().collect())).collect()
    }

    #[test]
    fn the_error_is_that_of_a_two_way_table() {
        // Rows 1 3, 2 6: row means 2 and 4, block means 1.5 and 4.5; residuals ±0.5, 1 degree.
        let (deviation, df) =
            fitted(&values(&[&[(0, 1.0), (1, 3.0)], &[(0, 2.0), (1, 6.0)]])).error.unwrap();
        assert!((deviation - 1.0).abs() < 1e-9 && (df - 1.0).abs() < 1e-12, "{deviation}, {df}");
        // What a block has in common, and a combination with one value, change nothing.
        let more = values(&[&[(0, 11.0), (1, 3.0)], &[(0, 12.0), (1, 6.0)], &[(0, 500.0)]]);
        let (deviation, df) = fitted(&more).error.unwrap();
        assert!((deviation - 1.0).abs() < 1e-9 && (df - 1.0).abs() < 1e-12, "{deviation}, {df}");
        assert_eq!(fitted(&values(&[&[(0, 1.0), (1, 3.0)]])).error, None);
        assert_eq!(fitted(&values(&[&[(0, 1.0)], &[(0, 3.0)]])).error, None);
        // Additive but for a gap: there is no error.
        let gap = values(&[
            &[(0, 1.0), (1, 2.0), (2, 4.0)],
            &[(0, 3.0), (2, 6.0)],
            &[(0, 0.0), (1, 1.0), (2, 3.0)],
        ]);
        let (deviation, df) = fitted(&gap).error.unwrap();
        assert!(deviation < 1e-9 && (df - 3.0).abs() < 1e-12, "{deviation}, {df}");
    }

    #[test]
    fn what_a_block_adds_is_taken_from_those_that_missed_it() {
        // Combinations of 10, 12 and 11; the blocks add 0, 100 and 50.
        let gaps = values(&[
            &[(0, 10.0), (1, 110.0), (2, 60.0)],
            &[(0, 12.0), (2, 62.0)],
            &[(0, 11.0), (1, 111.0)],
            &[(0, 9.0)],
        ]);
        let levels = fitted(&gaps).levels;
        for (at, wanted) in [(1, 2.0), (2, 1.0), (3, -1.0)] {
            assert!((levels[&at] - levels[&0] - wanted).abs() < 1e-6, "{levels:?}");
        }
    }
}
