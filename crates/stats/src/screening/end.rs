//! What a screening ends with.

use std::collections::BTreeSet;

use super::contest::{self, Contest};
use super::{Outcome, ReplayedOutcomes, Screening};
use crate::interval::{self, Estimate, LEVEL, p_of_difference};

/// The end of a screening.
#[derive(Debug, Clone, PartialEq)]
pub struct ScreeningEnd {
    /// The best combination; `None` where none has a value and holds the SLO.
    pub best: Option<Best>,
    /// How many runs it took.
    pub runs: usize,
    /// How many of them had no value.
    pub missing: usize,
    /// The combinations that broke the SLO.
    pub broken: Vec<usize>,
}

/// The combination with the best mean among those that held the SLO in all of their replications.
#[derive(Debug, Clone, PartialEq)]
pub struct Best {
    /// The combination.
    pub combination: usize,
    /// The mean of its values after the screening, which do not suffer from that it was chosen by
    /// the screening's; of that value where it has no other.
    pub value: f64,
    /// The interval of that mean at [`LEVEL`]; `None` with fewer than two values.
    pub estimate: Option<Estimate>,
    /// The next best of those that were replicated; `None` where no other was.
    pub second: Option<Second>,
    /// Those that were replicated and are not significantly worse, by Holm's correction.
    pub ties: Vec<usize>,
    /// Those that hold the SLO and were looked at once only, and whose value is not significantly
    /// worse, by Holm's correction: the screening left them out because others looked better.
    pub left_out: Vec<usize>,
    /// How many combinations were never run, as others were predicted to be better.
    pub never_run: usize,
}

/// The next best combination.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Second {
    /// The combination.
    pub combination: usize,
    /// Its mean less that of the best, over the replications that both have after the screening,
    /// with its interval at [`LEVEL`]; `None` where no error is known.
    pub difference: Option<Estimate>,
    /// How likely a difference as great is by chance; `None` where no error is known.
    pub p_value: Option<f64>,
}

impl Screening {
    /// The end, where `best` leads.
    pub(super) fn found(&self, told: &ReplayedOutcomes<'_>, best: Option<usize>) -> ScreeningEnd {
        let outcomes = || told.runs.iter().map(|&run| (run.combination, told.outcome(run)));
        let broken: BTreeSet<usize> =
            outcomes().filter(|(_, of)| *of == Outcome::Broken).map(|(at, _)| at).collect();
        ScreeningEnd {
            best: best.map(|best| self.best(told, best)),
            runs: told.runs.len(),
            missing: outcomes().filter(|(_, of)| *of == Outcome::Missing).count(),
            broken: broken.into_iter().collect(),
        }
    }

    fn best(&self, told: &ReplayedOutcomes<'_>, best: usize) -> Best {
        let held = told.held();
        let later = |at: usize| -> Vec<f64> {
            let of = held.get(&at).into_iter().flatten();
            of.filter(|(replication, _)| **replication > 0).map(|(_, value)| *value).collect()
        };
        let values = later(best);
        #[expect(clippy::cast_precision_loss, reason = "replications are few")]
        let value = match values.len() {
            0 => held.get(&best).map_or(f64::NAN, contest::mean),
            n => values.iter().sum::<f64>() / n as f64,
        };
        let others: Vec<usize> = held.keys().copied().filter(|&at| at != best).collect();
        let (replicated, once): (Vec<usize>, Vec<usize>) =
            others.into_iter().partition(|&at| !later(at).is_empty());
        let contest = Contest::of(told, None, self.sign);
        let not_worse = |of: &[usize]| {
            let worse = contest.significantly_worse(best, of);
            of.iter().copied().filter(|at| !worse.contains(at)).collect()
        };
        let seen: BTreeSet<usize> = told.runs.iter().map(|run| run.combination).collect();
        Best {
            combination: best,
            value,
            estimate: interval::mean(&values, LEVEL).ok(),
            second: self.second(told, best, &replicated),
            ties: not_worse(&replicated),
            left_out: not_worse(&once),
            never_run: self.combinations.len() - seen.len(),
        }
    }

    /// The one of those replicated that comes nearest to the best, by how much it is worse in the
    /// replications that both have after the screening.
    fn second(
        &self,
        told: &ReplayedOutcomes<'_>,
        best: usize,
        replicated: &[usize],
    ) -> Option<Second> {
        let all = [&[best], replicated].concat();
        let contest = Contest::of(told, Some(&all), self.sign).after_screening();
        let worse_by = |&at: &usize| Some((at, self.sign * contest.mean_difference(best, at)?));
        let (combination, _) =
            replicated.iter().filter_map(worse_by).min_by(|a, b| a.1.total_cmp(&b.1))?;
        let difference = contest.difference(best, combination);
        let p_value = difference.as_ref().map(p_of_difference);
        Some(Second { combination, difference, p_value })
    }
}
