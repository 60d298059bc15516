//! Screening: the best of many combinations of factors' levels, found in at most half of the runs
//! that every combination in every replication would take.
//!
//! A full experiment replicates bad combinations as often as good ones. Screening spends its runs
//! where the decision is, in four stages:
//!
//! 1. [`Stage::Screen`]: each combination runs once. With one or two replications the budget does
//!    not allow that; then a spread-out part runs, and [`Stage::Refine`] adds those combinations
//!    that the values so far predict to be best. That needs effects that add up, and interactions
//!    of two factors at most: a best combination of which no other one tells is not found.
//! 2. The best share of those that hold the SLO is kept: as many as the rest of the budget can
//!    replicate twice.
//! 3. [`Stage::Replicate`]: two more replications of what is kept. After each, those significantly
//!    worse than the leader are dropped, and no more are kept than the budget can replicate again.
//! 4. [`Stage::Confirm`]: what cannot be told apart from the leader goes on beside it until it can,
//!    or the budget or [`AT_MOST`] replications are used up. A leader that is left alone runs until
//!    it has as many replications as the plan asks for, [`AT_LEAST`] if that is more.
//!
//! A combination whose SLO breaks in any replication is out. A replication is a block: all of its
//! runs see the same requests, so values are compared within blocks, and what a whole block has in
//! common cancels. That also takes most of the bias out of the screening's own values, which are
//! those of the kept because they happened to be good; the interval of the best is of later values
//! only.
//!
//! The procedure keeps no state: [`Screening::next`] is a function of the outcomes so far, in
//! whatever order they came, so an experiment that was interrupted goes on where it was.
//!
//! *Source:* Z. Karnin, T. Koren and O. Somekh, "Almost optimal exploration in multi-armed
//! bandits", *ICML* 2013, for halving what is kept; G. W. Snedecor and W. G. Cochran, *Statistical
//! Methods* (1989), chapter 14, for comparisons within blocks.
//!
//! # Example
//! ```
//! use plimsoll_stats::figure::Better;
//! use plimsoll_stats::screening::{Next, Outcome, Outcomes, Screening};
//!
//! let combinations = (0..12).map(|n| vec![n / 4, n % 4]).collect();
//! let screening = Screening::new(combinations, 4, Better::Lower)?;
//! let mut outcomes = Outcomes::new();
//! let found = loop {
//!     match screening.next(&outcomes) {
//!         Next::Run { runs, .. } => outcomes.extend(runs.into_iter().map(|run| {
//!             // The real thing measures here. The seventh combination is the best.
//!             let distance = (run.combination as f64 - 7.0).abs();
//!             let noise = 0.1 * f64::from(run.replication % 2);
//!             (run, Outcome::Held(10.0 + distance + noise))
//!         })),
//!         Next::Done(found) => break found,
//!     }
//! };
//! assert_eq!(found.best.map(|best| best.combination), Some(7));
//! assert!(found.runs <= 24);
//! # Ok::<(), plimsoll_stats::screening::ScreeningError>(())
//! ```

mod contest;
mod end;
mod surface;

pub use end::{Best, ScreeningEnd, Second};

use std::collections::{BTreeMap, BTreeSet};

use crate::figure::Better;
use crate::stopping::{AT_LEAST, AT_MOST};
use contest::Contest;

/// More combinations are refused.
pub const MOST_COMBINATIONS: usize = 100_000;
/// Fewer runs are not worth leaving any out: half of them could not even replicate two.
const FEWEST_RUNS: usize = 8;
/// The most combinations of a spread-out part that runs first.
const MOST_FIRST: usize = 64;
/// After so many further replications of what is kept, only what competes with the leader runs.
const REPLICATED: u32 = 2;

/// One run: a combination, by its place in the list given, in a replication from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Run {
    /// The replication, which is a block.
    pub replication: u32,
    /// The combination.
    pub combination: usize,
}

/// What a run gave.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Outcome {
    /// The SLO held, or there is none: the value of the goal's figure. One that is not finite
    /// counts as [`Self::Missing`].
    Held(f64),
    /// The SLO did not hold: the combination is out.
    Broken,
    /// There is no value, as the run failed or did not have the figure. The run is not repeated
    /// and says nothing for or against its combination.
    Missing,
}

/// The outcomes so far.
pub type Outcomes = BTreeMap<Run, Outcome>;

/// What a run is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// A first look at combinations.
    Screen,
    /// A first look at combinations that are predicted to be good.
    Refine,
    /// The best of the first look again.
    Replicate,
    /// The leader again, with all that cannot be told apart from it.
    Confirm,
}

/// What follows from the outcomes so far.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// These runs have no outcome yet. All are of one replication; their order does not matter to
    /// the procedure, and a random one keeps a drift out of it.
    Run {
        /// What they are for.
        stage: Stage,
        /// The runs, by combination; never none.
        runs: Vec<Run>,
    },
    /// It is over.
    Done(Box<ScreeningEnd>),
}

/// Why there can be no screening.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScreeningError {
    /// So few runs that all of them should be executed.
    #[error(
        "expected at least {FEWEST_RUNS} runs to screen among 2 or more combinations, found \
         {combinations} combinations × {replications}: use the design `full`"
    )]
    TooFew {
        /// How many combinations there are.
        combinations: usize,
        /// In how many replications.
        replications: u32,
    },
    /// More combinations than can be looked at.
    #[error("expected at most {MOST_COMBINATIONS} combinations, found {found}: leave some out")]
    TooMany {
        /// How many there are.
        found: usize,
    },
    /// Combinations of different numbers of factors.
    #[error("expected {wanted} levels of combination {combination}, found {found}: correct it")]
    Factors {
        /// Which combination, from 1.
        combination: usize,
        /// How many levels the first one has.
        wanted: usize,
        /// How many this one has.
        found: usize,
    },
    /// A goal that is no goal.
    #[error("expected a figure of which lower or higher is better, found one of neither")]
    NoDirection,
}

/// The procedure for one plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Screening {
    combinations: Vec<Vec<usize>>,
    replications: u32,
    /// 1 where lower is better, −1 where higher is: times this, lower is better.
    sign: f64,
    /// The combinations that run first.
    first: Vec<usize>,
    /// So many combinations are looked at in all, in the stages `Screen` and `Refine`.
    looked_at: usize,
}

impl Screening {
    /// Screens `combinations`, each with the number of its level of every factor, in a plan that
    /// would run each of them in so many replications.
    ///
    /// # Errors
    /// So few runs that there is nothing to leave out, too many combinations, combinations of
    /// different numbers of factors, a figure without a direction.
    pub fn new(
        combinations: Vec<Vec<usize>>,
        replications: u32,
        better: Better,
    ) -> Result<Self, ScreeningError> {
        let sign = match better {
            Better::Lower => 1.0,
            Better::Higher => -1.0,
            Better::Neither => return Err(ScreeningError::NoDirection),
        };
        let count = combinations.len();
        if count > MOST_COMBINATIONS {
            return Err(ScreeningError::TooMany { found: count });
        }
        let budget = half_of_all(count, replications);
        if count < 2 || budget < FEWEST_RUNS / 2 {
            return Err(ScreeningError::TooFew { combinations: count, replications });
        }
        let wanted = combinations[0].len();
        if let Some(at) = combinations.iter().position(|levels| levels.len() != wanted) {
            let found = combinations[at].len();
            return Err(ScreeningError::Factors { combination: at + 1, wanted, found });
        }
        let (first, looked_at) = if budget * 2 / 3 >= count {
            ((0..count).collect(), count)
        } else {
            let looked_at = (budget * 2 / 3).clamp(2, 2 * MOST_FIRST);
            (surface::spread_out(&combinations, looked_at.div_ceil(2)), looked_at)
        };
        Ok(Self { combinations, replications, sign, first, looked_at })
    }

    /// The most runs that will be asked for: half of all combinations in all replications.
    #[must_use]
    pub fn budget(&self) -> usize {
        half_of_all(self.combinations.len(), self.replications)
    }

    /// What follows from the outcomes so far. Outcomes of runs that were not asked for are ignored.
    #[must_use]
    pub fn next(&self, outcomes: &Outcomes) -> Next {
        let mut told = ReplayedOutcomes { outcomes, budget: self.budget(), runs: BTreeSet::new() };
        match self.replay(&mut told) {
            Ok(best) => Next::Done(Box::new(self.found(&told, best))),
            Err(open) => Next::Run { stage: open.stage, runs: open.runs },
        }
    }

    /// Goes through the stages as far as there are outcomes: to the leader at the end, if any
    /// combination holds, or to the first runs that have none.
    fn replay(&self, told: &mut ReplayedOutcomes<'_>) -> Result<Option<usize>, Open> {
        told.take(Stage::Screen, 0, &self.first)?;
        while let batch = self.refinement(told)
            && !batch.is_empty()
        {
            told.take(Stage::Refine, 0, &batch)?;
        }
        let mut kept = Contest::of(told, None, self.sign).ranked();
        kept.truncate(told.affordable());
        for replication in 1..=u32::try_from(AT_MOST).unwrap_or(u32::MAX) {
            kept = self.contenders(told, &kept);
            let is_confirmed =
                |&at: &usize| told.replicated(at) >= AT_LEAST.max(self.replications as usize);
            if kept.len() > told.left() || (kept.len() < 2 && kept.iter().all(is_confirmed)) {
                break;
            }
            let stage = if replication <= REPLICATED && kept.len() > 1 {
                Stage::Replicate
            } else {
                Stage::Confirm
            };
            told.take(stage, replication, &kept)?;
        }
        Ok(self.contenders(told, &kept).first().copied())
    }

    /// The next combinations to be looked at for the first time: half of those that still may be,
    /// of which the best values are predicted. Where none so far holds the SLO, looking goes on
    /// for as long as the budget lasts.
    fn refinement(&self, told: &ReplayedOutcomes<'_>) -> Vec<usize> {
        let most = if told.held().is_empty() { told.budget } else { self.looked_at };
        let rest = most.saturating_sub(told.runs.len());
        if rest == 0 || told.runs.len() >= self.combinations.len() {
            return Vec::new();
        }
        let (mut values, mut breaks) = (vec![], vec![]);
        for run in &told.runs {
            let levels = &self.combinations[run.combination][..];
            match told.outcome(*run) {
                Outcome::Held(value) => {
                    values.push((levels, self.sign * value));
                    breaks.push((levels, 0.0));
                }
                Outcome::Broken => breaks.push((levels, 1.0)),
                Outcome::Missing => (),
            }
        }
        let seen: BTreeSet<usize> = told.runs.iter().map(|run| run.combination).collect();
        let unseen: Vec<usize> =
            (0..self.combinations.len()).filter(|at| !seen.contains(at)).collect();
        let levels: Vec<&[usize]> = unseen.iter().map(|&at| &self.combinations[at][..]).collect();
        let value = surface::predicted(&values, &levels);
        let broken = surface::predicted(&breaks, &levels);
        // What probably breaks the SLO comes last.
        let by_slo = |&a: &usize, &b: &usize| (broken[a] > 0.5).cmp(&(broken[b] > 0.5));
        let mut order: Vec<usize> = (0..unseen.len()).collect();
        order.sort_by(|a, b| by_slo(a, b).then(value[*a].total_cmp(&value[*b])));
        let batch = rest.div_ceil(2).max(self.looked_at / 16).min(MOST_FIRST);
        let batch = batch.min(rest).min(order.len());
        let mut chosen: Vec<usize> = order[..batch].iter().map(|&at| unseen[at]).collect();
        chosen.sort_unstable();
        chosen
    }

    /// Those of `kept` that may still be the best, the leader first: not broken, not significantly
    /// worse, and no more than the budget can replicate twice. Where all that were kept broke, the
    /// best of the others that hold.
    fn contenders(&self, told: &ReplayedOutcomes<'_>, kept: &[usize]) -> Vec<usize> {
        let contest = Contest::of(told, Some(kept), self.sign);
        let mut order = contest.ranked();
        if let [leader, others @ ..] = &order[..] {
            let worse = contest.significantly_worse(*leader, others);
            order.retain(|at| !worse.contains(at));
        } else {
            order = Contest::of(told, None, self.sign).ranked();
        }
        order.truncate(told.affordable());
        if order.len() > told.left() {
            order.truncate(1);
        }
        order
    }
}

fn half_of_all(combinations: usize, replications: u32) -> usize {
    combinations.saturating_mul(replications as usize) / 2
}

/// Runs without an outcome.
struct Open {
    stage: Stage,
    runs: Vec<Run>,
}

/// The outcomes that the replay has gone through.
struct ReplayedOutcomes<'a> {
    outcomes: &'a Outcomes,
    budget: usize,
    runs: BTreeSet<Run>,
}

impl ReplayedOutcomes<'_> {
    /// How many runs the budget still has.
    fn left(&self) -> usize {
        self.budget.saturating_sub(self.runs.len())
    }

    /// How many combinations the rest of the budget can replicate twice; two in any case.
    fn affordable(&self) -> usize {
        (self.left() / 2).max(2)
    }

    /// Takes in the outcomes of one replication of these combinations, if all are there.
    fn take(&mut self, stage: Stage, replication: u32, combinations: &[usize]) -> Result<(), Open> {
        let runs = combinations.iter().map(|&combination| Run { replication, combination });
        let mut open: Vec<Run> =
            runs.clone().filter(|run| !self.outcomes.contains_key(run)).collect();
        if !open.is_empty() {
            open.sort_unstable();
            return Err(Open { stage, runs: open });
        }
        self.runs.extend(runs);
        Ok(())
    }

    fn outcome(&self, run: Run) -> Outcome {
        match self.outcomes.get(&run) {
            Some(Outcome::Held(value)) if !value.is_finite() => Outcome::Missing,
            Some(outcome) => *outcome,
            None => Outcome::Missing,
        }
    }

    /// The values, by replication, of each combination that has one and never broke the SLO.
    fn held(&self) -> BTreeMap<usize, BTreeMap<u32, f64>> {
        let mut held: BTreeMap<usize, BTreeMap<u32, f64>> = BTreeMap::new();
        let mut broken = BTreeSet::new();
        for &run in &self.runs {
            match self.outcome(run) {
                Outcome::Held(value) => {
                    held.entry(run.combination).or_default().insert(run.replication, value);
                }
                Outcome::Broken => {
                    broken.insert(run.combination);
                }
                Outcome::Missing => (),
            }
        }
        held.retain(|at, _| !broken.contains(at));
        held
    }

    /// How often a combination was run after the screening.
    fn replicated(&self, combination: usize) -> usize {
        let is_later = |run: &&Run| run.combination == combination && run.replication > 0;
        self.runs.iter().filter(is_later).count()
    }
}
