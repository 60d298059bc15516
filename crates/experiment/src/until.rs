//! Replications until a figure is known well enough: block by block, by what those before show.
//!
//! What follows from the blocks that are done follows from their figures alone. So an experiment
//! that was killed goes on as it would have without: it decides again what it had decided.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_analysis::{CellResult, Levels};
use plimsoll_plan::Varied;
use plimsoll_runs::experiment::LeftOut;
use plimsoll_stats::figure::{self, Figure};
use plimsoll_stats::interval::{Estimate, LEVEL};
use plimsoll_stats::stopping::{AT_LEAST, Decision, Precision, Stopping};
use plimsoll_units::show_share;

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
    pub fn of(plan: &Varied) -> Option<Self> {
        let of = plan.experiment.as_ref()?;
        Some(Self { precision: of.until.clone()?, at_most: of.at_most })
    }

    /// What follows from the first so many replications. A combination whose cells failed so often
    /// that less than five are done is not known well enough; those in which the generator was the
    /// limit are no values either. One whose availability broke in any cell, or whose server ended,
    /// has answered something else than what was asked: it is not waited for.
    #[must_use]
    pub fn next(&self, cells: &[CellResult], replications: u32) -> Next {
        let values = self.values(cells, replications);
        let decisions: Vec<(&Levels, Option<Decision>)> =
            values.iter().map(|(levels, of)| (*levels, self.decide(of))).collect();
        let is_reached =
            |(_, of): &(&Levels, Option<Decision>)| matches!(of, Some(Decision::Reached(_)));
        let rule = &self.precision;
        if decisions.is_empty() && cells.iter().any(CellResult::is_done) {
            let text = format!("{rule} is not waited for: no combination's availability holds");
            return Next::Enough(text);
        }
        if !decisions.is_empty() && decisions.iter().all(is_reached) {
            return Next::Enough(format!("{rule} was reached after {replications} replications"));
        }
        if replications < self.at_most {
            return Next::Replication;
        }
        let open: Vec<String> = decisions
            .iter()
            .filter(|of| !is_reached(of))
            .map(|(levels, of)| match (shown(levels), of) {
                (levels, Some(Decision::NotReached(e))) => format!("{levels} within {}", width(e)),
                (levels, _) => format!("{levels} not known"),
            })
            .collect();
        let open = if open.is_empty() { String::new() } else { format!(": {}", open.join("; ")) };
        Next::Enough(format!("{rule} was not reached with {replications} replications{open}"))
    }

    /// The figure of each combination whose gate holds, in the order of replications.
    fn values<'a>(
        &self,
        cells: &'a [CellResult],
        replications: u32,
    ) -> BTreeMap<&'a Levels, Vec<f64>> {
        let has = |figure: &Figure| cells.iter().any(|cell| cell.figures.contains_key(figure.name));
        let figure = figure::called(&self.precision.figure, has);
        let first = || cells.iter().filter(|cell| cell.replication < replications);
        let is_broken = |cell: &&CellResult| {
            matches!(cell.why_left_out(), Some(LeftOut::ServerEnded | LeftOut::Unavailable))
        };
        let broken: BTreeSet<&Levels> = first().filter(is_broken).map(|of| &of.factors).collect();
        let mut all: BTreeMap<&Levels, Vec<f64>> = BTreeMap::new();
        for cell in first().filter(|cell| !broken.contains(&cell.factors)) {
            let value = figure.and_then(|of| cell.figures.get(of.name));
            let value = value.filter(|_| cell.counts());
            all.entry(&cell.factors).or_default().extend(value);
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

/// A combination, in words.
fn shown(levels: &Levels) -> String {
    let levels = levels.iter().map(|(key, level)| format!("{key} {level}"));
    levels.collect::<Vec<_>>().join(", ")
}

/// Half the width of an interval, as a share of the mean.
fn width(of: &Estimate) -> String {
    show_share((of.high - of.value) / of.value.abs())
}

#[cfg(test)]
#[expect(clippy::cast_possible_truncation, reason = "numbers of tests are small")]
mod tests {
    use super::*;
    use plimsoll_analysis::state;
    use plimsoll_units::hash::mix;

    fn outcome(users: u32, replication: u32, p99: Option<f64>) -> CellResult {
        CellResult {
            factors: [("load.users".to_owned(), users.to_string())].into(),
            replication,
            state: if p99.is_some() { state::DONE } else { state::FAILED },
            figures: p99.map(|value| ("response_us.p99".to_owned(), value)).into_iter().collect(),
            ..CellResult::default()
        }
    }

    fn until(within: &str, at_most: u32) -> Until {
        Until { precision: Precision::parse(within).unwrap(), at_most }
    }

    #[test]
    fn blocks_are_added_until_every_combination_is_known_and_no_more_than_asked() {
        let close = |users, n: u32| outcome(users, n, Some(100.0 + f64::from(n % 2)));
        let far = |users, n: u32| outcome(users, n, Some(100.0 + 60.0 * f64::from(n % 2)));
        let calm: Vec<CellResult> = (0..8).flat_map(|n| [close(1, n), close(2, n)]).collect();
        let rule = until("p99 within 5%", 8);
        assert_eq!(
            rule.next(&calm, 5),
            Next::Enough("p99 within 5% was reached after 5 replications".to_owned())
        );
        let one_is_not: Vec<CellResult> = (0..8).flat_map(|n| [close(1, n), far(2, n)]).collect();
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
        let all: Vec<CellResult> = (0..7).map(|n| outcome(1, n, value(n))).collect();
        assert_eq!(rule.next(&all, 5), Next::Replication);
        assert!(matches!(rule.next(&all, 6), Next::Enough(why) if why.contains("was reached")));
        let none: Vec<CellResult> = (0..7).map(|n| outcome(1, n, None)).collect();
        assert!(matches!(rule.next(&none, 7), Next::Enough(why) if why.contains("not known")));
    }

    #[test]
    fn a_combination_whose_availability_broke_is_not_waited_for() {
        let rule = until("p99 within 5%", 9);
        let noisy = |n: u32| CellResult {
            gate: Some(if n == 3 { "broken" } else { "held" }),
            ..outcome(2, n, Some(100.0 + 60.0 * f64::from(n % 2)))
        };
        let calm = |n: u32| outcome(1, n, Some(100.0));
        let all: Vec<CellResult> = (0..5).flat_map(|n| [calm(n), noisy(n)]).collect();
        assert!(matches!(rule.next(&all, 5), Next::Enough(why) if why.contains("was reached")));
        let broken: Vec<CellResult> = (0..5).map(noisy).collect();
        assert!(matches!(rule.next(&broken, 5), Next::Enough(why) if why.contains("not waited")));
    }

    #[test]
    fn cells_in_which_the_generator_was_the_limit_are_no_values_and_are_waited_for() {
        let rule = until("p99 within 5%", 9);
        let late = |n: u32, users: u32| CellResult {
            valid: Some(!(n == 1 && users == 2)),
            ..outcome(users, n, Some(if n == 1 && users == 2 { 900.0 } else { 100.0 }))
        };
        let all: Vec<CellResult> = (0..6).flat_map(|n| [late(n, 1), late(n, 2)]).collect();
        assert_eq!(rule.next(&all, 5), Next::Replication, "four values of five");
        assert!(matches!(rule.next(&all, 6), Next::Enough(why) if why.contains("was reached")));
    }

    /// Student's t, two-sided 95%, from one degree of freedom on.
    const T: [f64; 29] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
        2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
        2.052, 2.048, 2.045,
    ];

    /// Half the interval of the mean, wider by its n-th part, as a share of the mean.
    fn half_width(values: &[f64]) -> f64 {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        T[values.len() - 2] * (squares / (n - 1.0) / n).sqrt() * (1.0 + 1.0 / n) / mean
    }

    /// The cells of so many replications of three combinations: some fail, and of some the
    /// availability breaks.
    fn drawn(seed: u64, replications: u32) -> Vec<CellResult> {
        let mut state = seed;
        let mut draw = |below: u64| {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            mix(state) % below
        };
        let (fails, breaks, spread) = (draw(2) * 9, draw(2) * 40, 1 + draw(40));
        let mut cell = |(users, replication): (u32, u32)| {
            let value = 100.0 + draw(spread) as f64;
            let is_failed = fails > 0 && draw(fails) == 0;
            let is_broken = breaks > 0 && draw(breaks) == 0;
            let gate = Some(if is_broken { "broken" } else { "held" });
            CellResult { gate, ..outcome(users, replication, (!is_failed).then_some(value)) }
        };
        (0..replications).flat_map(|n| [(1, n), (2, n), (3, n)]).map(&mut cell).collect()
    }

    /// Replications are added until every combination whose availability holds is known well
    /// enough, from five values on, and no more than asked: whichever of the two is first.
    #[test]
    fn replications_end_with_the_precision_or_with_their_limit() {
        let (mut reached, mut limited, mut given_up) = (0, 0, 0);
        for seed in 0..256 {
            let at_most = 3 + mix(seed) as u32 % 26;
            let within = [0.02, 0.05, 0.1][seed as usize % 3];
            let rule = until(&format!("p99 within {}%", within * 100.0), at_most);
            let cells = drawn(seed, at_most);
            let least = 5.min(at_most as usize);
            // It is asked of a block more each time, and sees no block that is to come.
            for n in 1..=at_most {
                let known = &cells[..n as usize * 3];
                let is_broken = |users: usize| {
                    known.iter().skip(users).step_by(3).any(|cell| cell.is_done() && !cell.counts())
                };
                let values = |users: usize| -> Vec<f64> {
                    let of = known.iter().skip(users).step_by(3).filter(|cell| cell.is_done());
                    of.map(|cell| cell.figures["response_us.p99"]).collect()
                };
                let open: Vec<Vec<f64>> =
                    (0..3).filter(|users| !is_broken(*users)).map(values).collect();
                let widths = || open.iter().filter(|of| of.len() >= 2).map(|of| half_width(of));
                if widths().any(|width| (width / within - 1.0).abs() < 0.001) {
                    // A table of three digits cannot tell.
                    break;
                }
                let is_known = |of: &Vec<f64>| of.len() >= least && half_width(of) <= within;
                let is_reached = !open.is_empty() && open.iter().all(is_known);
                let Next::Enough(why) = rule.next(known, n) else {
                    assert!(!is_reached && n < at_most, "{seed}: it goes on at {n}");
                    assert!(!open.is_empty() || known.iter().all(|of| !of.is_done()), "{seed}");
                    continue;
                };
                assert_eq!(rule.next(&cells, n), Next::Enough(why.clone()), "{seed}: of others");
                if open.is_empty() {
                    assert!(why.contains("is not waited for"), "{seed}: {why}");
                    given_up += 1;
                } else if is_reached {
                    assert!(why.ends_with(&format!("was reached after {n} replications")), "{why}");
                    reached += 1;
                } else {
                    assert_eq!(n, at_most, "{seed}: {why}");
                    assert!(why.contains(&format!("was not reached with {n}")), "{seed}: {why}");
                    limited += 1;
                }
                break;
            }
        }
        assert!(reached > 50 && limited > 50 && given_up > 5, "{reached}, {limited}, {given_up}");
    }
}
