//! The cells of a plan with factors: the combinations of its design, each in every replication.
//!
//! A replication is a block: in it every combination runs once, in an order that follows from the
//! seed alone, and all of them draw by the same seed, so that they see the same requests. More
//! replications are more blocks behind those that there are.

use plimsoll_plan::{Experiment, FactorPlan, Order, Plan, Setting};
use plimsoll_runs::experiment::Cell;
use plimsoll_stats::design::{Design, one_at_a_time};
use plimsoll_workload::random::{Stream, seed_of};

use crate::design::{full, size};
use crate::error::ExperimentError;
use crate::record::CellPlan;

/// The most cells of an experiment.
const MOST_CELLS: u64 = 1_000_000;

/// A combination of levels: each factor's key, and its level.
pub type Combination = Vec<(String, String)>;

/// The combinations of a plan's factors that its design has, in the order of the plan. One of no
/// factor where it has none.
///
/// # Errors
/// A design that does not fit the factors.
pub fn combinations(plan: &Plan) -> Result<Vec<Combination>, ExperimentError> {
    let conflict = |text: String| Err(ExperimentError::Conflict(text));
    let factors: Vec<(String, &[String])> =
        plan.factors.iter().map(|of| (of.key.clone(), &of.levels[..])).collect();
    let levels: Vec<usize> = plan.factors.iter().map(|of| of.levels.len()).collect();
    let design = plan.experiment.clone().unwrap_or_default().design;
    let runs: Vec<Vec<usize>> = match &design {
        Design::Full if size(&factors) as u64 > MOST_CELLS => {
            return conflict(format!(
                "run {} combinations: {MOST_CELLS} are the most",
                size(&factors)
            ));
        }
        Design::Full => return Ok(full(&factors).collect()),
        Design::OneAtATime => one_at_a_time(&levels).collect(),
        Design::Fractional(fraction) => {
            if fraction.factors() != levels.len() || levels.iter().any(|of| *of != 2) {
                return conflict(format!(
                    "run the design `{design}`: it is of {} factors with two levels each, and the \
                     plan has {}",
                    fraction.factors(),
                    told(&plan.factors)
                ));
            }
            let index = |level: &i8| usize::from(*level > 0);
            fraction.runs().iter().map(|run| run.iter().map(index).collect()).collect()
        }
        Design::Screening => {
            return conflict(
                "run the design `screening`: it is not built; say full, one-at-a-time or \
                 fractional 2^(k-p)"
                    .to_owned(),
            );
        }
    };
    let of_run = |run: &Vec<usize>| -> Combination {
        let level =
            |(at, factor): (&usize, &FactorPlan)| (factor.key.clone(), factor.levels[*at].clone());
        run.iter().zip(&plan.factors).map(level).collect()
    };
    Ok(runs.iter().map(of_run).collect())
}

/// The factors with how many levels each has, in words.
fn told(factors: &[FactorPlan]) -> String {
    let of = |factor: &FactorPlan| format!("`{}` with {}", factor.key, factor.levels.len());
    match factors {
        [] => "none".to_owned(),
        _ => factors.iter().map(of).collect::<Vec<_>>().join(", "),
    }
}

/// The cells, in the order in which they are executed.
///
/// # Errors
/// As for [`combinations`], and more cells than there may be.
pub fn cells(plan: &Plan) -> Result<Vec<CellPlan>, ExperimentError> {
    let all = combinations(plan)?;
    let Experiment { replications, order, .. } = plan.experiment.clone().unwrap_or_default();
    let replications = if plan.repeat > 1 { plan.repeat } else { replications };
    let count = all.len() as u64 * u64::from(replications);
    if count > MOST_CELLS {
        let text = format!("run {count} cells: {MOST_CELLS} are the most");
        return Err(ExperimentError::Conflict(text));
    }
    let mut cells = Vec::new();
    for replication in 0..replications {
        let seed = seed_of(plan.seed, replication.into());
        for place in ordered(all.len(), order, plan.seed, replication) {
            cells.push(CellPlan {
                number: u32::try_from(cells.len() + 1).unwrap_or(u32::MAX),
                factors: all[place].iter().cloned().collect(),
                replication,
                block: replication,
                seed,
            });
        }
    }
    Ok(cells)
}

/// The places of combinations in the order in which a replication runs them.
fn ordered(count: usize, order: Order, seed: u64, replication: u32) -> Vec<usize> {
    let mut places: Vec<usize> = (0..count).collect();
    if order == Order::Random {
        let mut draw = Stream::named(seed, &format!("order of replication {replication}"));
        // Fisher and Yates, so that every order is as likely as any other.
        for last in (1..count).rev() {
            let other = usize::try_from(draw.below(last as u64 + 1)).unwrap_or(last);
            places.swap(last, other);
        }
    }
    places
}

/// What a cell's levels set in the plan.
#[must_use]
pub fn settings(cell: &Cell) -> Vec<Setting> {
    let set = |(key, level): (&String, &String)| Setting::new(key, level, format!("factor {key}"));
    cell.factors.iter().map(set).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_plan::Written;
    use std::collections::BTreeSet;

    fn plan(experiment: &str) -> Plan {
        let text = format!(
            "[experiment]\n{experiment}\n[factor]\n\"load.users\" = [1, 2]\n\
             \"load.timeout\" = ['1s', '2s']\n\"load.connections\" = [3, 4]\n\
             [target]\nurl = 'http://h/'\n[load]\nusers = 1\nfor = '1s'\n"
        );
        crate::plans::read(&Written::text(&text, "plan.toml", &[])).unwrap()
    }

    #[test]
    fn a_replication_runs_every_combination_once_in_an_order_of_its_own() {
        let cells = cells(&plan("replications = 3")).unwrap();
        assert_eq!(cells.len(), 24);
        let order = |block: u32| -> Vec<_> {
            let of_block = cells.iter().filter(|cell| cell.block == block);
            of_block.map(|cell| cell.factors.clone()).collect()
        };
        for block in 0..3 {
            assert_eq!(order(block).iter().collect::<BTreeSet<_>>().len(), 8);
        }
        assert!(order(0) != order(1) || order(1) != order(2));
        // All of a block see the same requests.
        assert!(cells.iter().all(|cell| cell.seed == cells[8 * cell.block as usize].seed));
        // More replications leave those that there are as they are.
        let more = super::cells(&plan("replications = 4")).unwrap();
        assert_eq!(more[..24], cells[..]);
    }

    #[test]
    fn designs_have_their_runs_and_those_that_do_not_fit_are_refused() {
        let count = |experiment: &str| combinations(&plan(experiment)).map(|all| all.len());
        assert_eq!(count("design = 'fractional 2^(3-1)'").unwrap(), 4);
        assert_eq!(count("design = 'one-at-a-time'").unwrap(), 4);
        let error = count("design = 'fractional 2^(5-1)'").unwrap_err().to_string();
        assert!(
            error.contains("5 factors with two levels") && error.contains("load.users"),
            "{error}"
        );
        assert!(count("design = 'screening'").is_err());
    }

    #[test]
    fn a_fixed_order_is_that_of_the_plan() {
        let cells = cells(&plan("order = 'fixed'")).unwrap();
        let last = |cell: &CellPlan| cell.factors["load.connections"].clone();
        assert_eq!(cells[..4].iter().map(last).collect::<Vec<_>>(), ["3", "4", "3", "4"]);
    }
}
