//! Replications until a figure is known well enough: block by block, by what those before show.
//!
//! What follows from the blocks that are done follows from their figures alone. So an experiment
//! that was killed goes on as it would have without: it decides again what it had decided.

use std::collections::BTreeMap;

use plimsoll_plan::Plan;
use plimsoll_runs::FigureRow;
use plimsoll_runs::experiment::{CellRow, State};
use plimsoll_stats::figure::{self, Figure};
use plimsoll_stats::interval::{Estimate, LEVEL};
use plimsoll_stats::stopping::{AT_LEAST, Decision, Precision, Stopping};
use plimsoll_units::show_share;

/// A cell, how far it is, and its figures.
pub type Outcome = (CellRow, Vec<FigureRow>);

/// What follows from the replications so far.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// Another one.
    Replication,
    /// No more, for this reason: a sentence.
    Enough(String),
}

/// When no more replications are needed.
#[derive(Debug, Clone, PartialEq)]
pub struct Until {
    precision: Precision,
    at_most: u32,
}

impl Until {
    /// The rule of a plan; `None` where it has none.
    #[must_use]
    pub fn of(plan: &Plan) -> Option<Self> {
        let of = plan.experiment.as_ref()?;
        Some(Self { precision: of.until.clone()?, at_most: of.at_most })
    }

    /// What follows from the first so many replications. A combination whose cells failed so often
    /// that less than five are done is not known well enough.
    #[must_use]
    pub fn next(&self, outcomes: &[Outcome], replications: u32) -> Next {
        let values = self.values(outcomes, replications);
        let decisions: Vec<(&String, Option<Decision>)> =
            values.iter().map(|(levels, of)| (levels, self.decide(of))).collect();
        let is_reached =
            |(_, of): &(&String, Option<Decision>)| matches!(of, Some(Decision::Reached(_)));
        let rule = &self.precision;
        if !decisions.is_empty() && decisions.iter().all(is_reached) {
            return Next::Enough(format!("{rule} was reached after {replications} replications"));
        }
        if replications < self.at_most {
            return Next::Replication;
        }
        let open: Vec<String> = decisions
            .iter()
            .filter(|of| !is_reached(of))
            .map(|(levels, of)| match of {
                Some(Decision::NotReached(e)) => format!("{levels} within {}", width(e)),
                _ => format!("{levels} not known"),
            })
            .collect();
        let open = if open.is_empty() { String::new() } else { format!(": {}", open.join("; ")) };
        Next::Enough(format!("{rule} was not reached with {replications} replications{open}"))
    }

    /// The figure of each combination, in the order of replications.
    fn values(&self, outcomes: &[Outcome], replications: u32) -> BTreeMap<String, Vec<f64>> {
        let has = |figure: &Figure| {
            outcomes.iter().any(|(_, rows)| rows.iter().any(|row| row.name == figure.name))
        };
        let figure = figure::called(&self.precision.figure, has);
        let mut all: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for (row, figures) in outcomes {
            if row.cell.replication >= replications {
                continue;
            }
            let levels = row.cell.factors.iter().map(|(key, level)| format!("{key} {level}"));
            let levels: Vec<String> = levels.collect();
            let of = all.entry(levels.join(", ")).or_default();
            let value = figures.iter().find(|row| figure.is_some_and(|of| row.name == of.name));
            of.extend(value.filter(|_| row.state == State::Done).map(|row| row.value));
        }
        all
    }

    fn decide(&self, values: &[f64]) -> Option<Decision> {
        // The limit is one of replications, which are counted apart: failed cells have no value.
        let at_most = values.len().max(2);
        let rule =
            Stopping { within: self.precision.within, at_least: AT_LEAST.min(at_most), at_most };
        let is_enough = values.len() >= AT_LEAST.min(self.at_most as usize);
        is_enough.then(|| rule.decide(values, LEVEL).ok()).flatten()
    }
}

/// Half the width of an interval, as a share of the mean.
fn width(of: &Estimate) -> String {
    show_share((of.high - of.value) / of.value.abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_runs::World;
    use plimsoll_runs::experiment::Cell;

    fn outcome(users: u32, replication: u32, p99: Option<f64>) -> Outcome {
        let cell = Cell {
            number: 1,
            place: 1,
            factors: [("load.users".to_owned(), users.to_string())].into(),
            replication,
            block: replication,
            seed: 1,
            world: World::Simulated,
            hash: String::new(),
        };
        let state = if p99.is_some() { State::Done } else { State::Failed };
        let (reason, started_ns, ended_ns) = (String::new(), None, None);
        let figures = p99.map(|value| FigureRow::new("response_us.p99", value));
        (CellRow { cell, state, reason, started_ns, ended_ns }, figures.into_iter().collect())
    }

    fn until(within: &str, at_most: u32) -> Until {
        Until { precision: Precision::parse(within).unwrap(), at_most }
    }

    #[test]
    fn blocks_are_added_until_every_combination_is_known_and_no_more_than_asked() {
        let close = |users, n: u32| outcome(users, n, Some(100.0 + f64::from(n % 2)));
        let far = |users, n: u32| outcome(users, n, Some(100.0 + 60.0 * f64::from(n % 2)));
        let calm: Vec<Outcome> = (0..8).flat_map(|n| [close(1, n), close(2, n)]).collect();
        let rule = until("p99 within 5%", 8);
        assert_eq!(
            rule.next(&calm, 5),
            Next::Enough("p99 within 5% was reached after 5 replications".to_owned())
        );
        let one_is_not: Vec<Outcome> = (0..8).flat_map(|n| [close(1, n), far(2, n)]).collect();
        assert_eq!(rule.next(&one_is_not, 5), Next::Replication);
        // What later replications say does not change what followed from those before.
        assert_eq!(rule.next(&one_is_not[..10], 5), rule.next(&one_is_not, 5));
        let Next::Enough(why) = rule.next(&one_is_not, 8) else { panic!("it is the last") };
        assert!(why.contains("not reached with 8") && why.contains("load.users 2 within"), "{why}");
    }

    #[test]
    fn cells_that_failed_are_no_values() {
        let rule = until("p99 within 5%", 7);
        let value = |n: u32| (n != 2).then_some(100.0);
        let all: Vec<Outcome> = (0..7).map(|n| outcome(1, n, value(n))).collect();
        assert_eq!(rule.next(&all, 5), Next::Replication);
        assert!(matches!(rule.next(&all, 6), Next::Enough(why) if why.contains("was reached")));
        let none: Vec<Outcome> = (0..7).map(|n| outcome(1, n, None)).collect();
        assert!(matches!(rule.next(&none, 7), Next::Enough(why) if why.contains("not known")));
    }
}
