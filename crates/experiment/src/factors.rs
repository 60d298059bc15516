//! The cells of a plan with factors: the combinations of its design, each in every replication.
//!
//! A replication is a block: in it every combination runs once, in an order that follows from the
//! seed alone, and all of them draw by the same seed, so that they see the same requests. More
//! replications are more blocks behind those that there are.

use std::collections::BTreeMap;

use plimsoll_plan::{Constraint, Experiment, FactorPlan, Order, Setting, Varied};
use plimsoll_stats::design::{Design, full, one_at_a_time, size};
use plimsoll_stats::stopping::AT_LEAST;
use plimsoll_workload::random::{Stream, seed_of};

use crate::error::ExperimentError;
use crate::record::CellPlan;

/// The most cells of an experiment.
const MOST_CELLS: u64 = 1_000_000;

/// A combination of levels: each factor's key, and its level.
pub type Combination = Vec<(String, String)>;

/// The combinations of a plan's factors that its design has and its constraints allow, in the order
/// of the plan. One of no factor where it has none.
///
/// # Errors
/// A design that does not fit the factors; constraints that allow nothing.
pub fn combinations(plan: &Varied) -> Result<Vec<Combination>, ExperimentError> {
    let mut all = of_design(plan)?;
    all.retain(|of| refusing(plan, of).is_none());
    if all.is_empty() {
        let text = "run a combination: the constraints of [experiment] allow none";
        return Err(ExperimentError::Conflict(text.to_owned()));
    }
    Ok(all)
}

/// How many combinations of the design each constraint refuses; of several the first counts.
///
/// # Errors
/// As for [`combinations`].
pub fn refused(plan: &Varied) -> Result<Vec<(String, usize)>, ExperimentError> {
    let all = of_design(plan)?;
    let constraints = plan.experiment.iter().flat_map(|of| &of.constraints);
    let count = |one: &Constraint| {
        let is_it = |of: &&Combination| refusing(plan, of) == Some(one);
        (one.to_string(), all.iter().filter(is_it).count())
    };
    Ok(constraints.map(count).collect())
}

/// The first constraint that refuses a combination.
fn refusing<'a>(plan: &'a Varied, of: &Combination) -> Option<&'a Constraint> {
    plan.experiment.as_ref()?.refusing(of)
}

/// The combinations that the design has.
fn of_design(plan: &Varied) -> Result<Vec<Combination>, ExperimentError> {
    let conflict = |text: String| Err(ExperimentError::Conflict(text));
    let factors: Vec<(String, &[String])> =
        plan.factors.iter().map(|of| (of.key.clone(), &of.levels[..])).collect();
    let levels: Vec<usize> = plan.factors.iter().map(|of| of.levels.len()).collect();
    let design = plan.experiment.clone().unwrap_or_default().design;
    let runs: Vec<Vec<usize>> = match &design {
        Design::Full | Design::Screening if size(&factors) as u64 > MOST_CELLS => {
            return conflict(format!(
                "run {} combinations: {MOST_CELLS} are the most",
                size(&factors)
            ));
        }
        Design::Full | Design::Screening => return Ok(full(&factors).collect()),
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
pub fn cells(plan: &Varied) -> Result<Vec<CellPlan>, ExperimentError> {
    let all = combinations(plan)?;
    let count = all.len() as u64 * u64::from(most_replications(plan));
    if count > MOST_CELLS {
        let text = format!("run {count} cells: {MOST_CELLS} are the most");
        return Err(ExperimentError::Conflict(text));
    }
    Ok((0..replications(plan)).flat_map(|number| replication(plan, &all, number)).collect())
}

/// How many replications a plan has in any case.
#[must_use]
pub fn replications(plan: &Varied) -> u32 {
    let Experiment { replications, until, at_most, .. } =
        plan.experiment.clone().unwrap_or_default();
    let least = if plan.repeat > 1 { plan.repeat } else { replications };
    match until {
        None => least,
        Some(_) => least.max(u32::try_from(AT_LEAST).unwrap_or(u32::MAX)).min(at_most),
    }
}

/// How many replications a plan has at most.
#[must_use]
pub fn most_replications(plan: &Varied) -> u32 {
    let until = plan.experiment.as_ref().filter(|of| of.until.is_some());
    until.map_or_else(|| replications(plan), |of| of.at_most)
}

/// The cells of a replication of combinations, in the order in which they are executed.
#[must_use]
pub fn replication(plan: &Varied, all: &[Combination], number: u32) -> Vec<CellPlan> {
    let order = plan.experiment.as_ref().map_or(Order::Random, |of| of.order);
    let seed = seed_of(plan.seed, number.into());
    let before = all.len() as u64 * u64::from(number);
    let cell = |(at, place): (u64, usize)| CellPlan {
        number: u32::try_from(before + at).unwrap_or(u32::MAX),
        factors: levels_of(plan, &all[place]),
        replication: number,
        block: number,
        seed,
    };
    (1..).zip(ordered(all.len(), order, plan.seed, number)).map(cell).collect()
}

/// The levels of a cell: those of its combination, and those that all cells have.
#[must_use]
pub fn levels_of(plan: &Varied, of: &Combination) -> BTreeMap<String, String> {
    of.iter().chain(&plan.common).cloned().collect()
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

/// What levels of factors set in the plan: those of a cell, or of a combination.
pub fn settings<'a>(
    factors: &[FactorPlan],
    levels: impl IntoIterator<Item = (&'a String, &'a String)>,
) -> Vec<Setting> {
    let one = |(name, level): (&'a String, &'a String)| {
        let of = factors.iter().find(|of| of.key == *name);
        let sets = of.map(|of| of.settings(level)).unwrap_or_default();
        let origin = format!("factor {name}");
        sets.into_iter().map(move |(key, value)| Setting::level(key, value, origin.clone()))
    };
    levels.into_iter().flat_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_plan::{Plan, Written};
    use std::collections::BTreeSet;

    fn plan(experiment: &str) -> Varied {
        let text = format!(
            "[experiment]\n{experiment}\n[factor]\n\"load.users\" = [1, 2]\n\
             \"load.timeout\" = ['1s', '2s']\n\"load.connections\" = [3, 4]\n\
             [target]\nurl = 'http://h/'\n[load]\nusers = 1\nfor = '1s'\n"
        );
        read(&text).varied()
    }

    fn read(text: &str) -> Plan {
        crate::plans::read(&Written::text(text, "plan.toml", &[])).unwrap()
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
        assert_eq!(count("design = 'screening'").unwrap(), 8);
    }

    #[test]
    fn constraints_leave_combinations_out_and_say_how_many() {
        let plan = plan(
            "constraints = ['load.users = 2 needs load.timeout = 2s', \
             'load.users = 2 excludes load.connections = 4']",
        );
        let all = combinations(&plan).unwrap();
        // Of the four with two users the two with one second are out, and one with 4 connections.
        assert_eq!(all.len(), 5);
        let counts: Vec<usize> = refused(&plan).unwrap().iter().map(|(_, n)| *n).collect();
        assert_eq!(counts, [2, 1]);
        assert_eq!(cells(&plan).unwrap().len(), 5);
    }

    #[test]
    fn a_named_factor_sets_several_keys_a_level() {
        let text = "[factor]\n\"load.timeout\" = ['1s', '2s']\n[factor.crowd]\n\
                    few = { \"load.users\" = 1, load.connections = 2 }\n\
                    many = { load = { users = 8, connections = 16 } }\n\
                    [target]\nurl = 'http://h/'\n[load]\nusers = 1\nfor = '1s'\n";
        let plan = read(text);
        assert_eq!(combinations(&plan.varied()).unwrap().len(), 4);
        let levels = [("crowd".to_owned(), "many".to_owned())];
        let set = settings(&plan.factors, levels.iter().map(|(name, level)| (name, level)));
        let pairs: Vec<(&str, &str)> =
            set.iter().map(|of| (of.key.as_str(), of.value.as_str())).collect();
        assert_eq!(pairs, [("load.users", "8"), ("load.connections", "16")]);
        // It reads back the same.
        let printed = plan.to_toml();
        let again = read(&printed);
        assert_eq!(again.factors, plan.factors, "{printed}");
        for (factor, says) in [
            ("load.users = 3", "\"load.users\" = [1, 2]"),
            ("[factor.crowd]\nfew = { load.user = 1 }\nmany = { load.users = 2 }", "load.user"),
            ("load.users = []", "1 to 1000 levels"),
            ("[factor.crowd]\nfew = {}", "set, found nothing"),
        ] {
            let text =
                text.replace(&text[9..text.find("[target]").unwrap()], &format!("{factor}\n"));
            let told = crate::plans::read(&Written::text(&text, "plan.toml", &[])).unwrap_err();
            assert!(told.to_string().contains(says), "{told}");
        }
        let text = text.replace(
            "[target]",
            "[experiment]\nconstraints = ['crowd = mny needs load.timeout = 1s']\n[target]",
        );
        let told = crate::plans::read(&Written::text(&text, "plan.toml", &[])).unwrap_err();
        assert!(told.to_string().contains("did you mean `many`"), "{told}");
    }

    #[test]
    fn levels_name_roles_by_their_places_in_the_plan_of_a_cell() {
        let text = "[factor.kind]\n\
                    near = { \"target.url\" = \"http://{{role.web.address}}:{{role.web.port}}/a\" }\n\
                    far = { \"target.url\" = \"http://{{role.web.address}}:{{role.web.port}}/b\" }\n\
                    [testbed]\nprovider = 'process'\n[role.web]\nrecipe = 'target'\n\
                    [target]\nurl = 'http://h/'\n[load]\nusers = 1\nfor = '1s'\n";
        let plan = crate::plans::read(&Written::text(text, "plan.toml", &[])).unwrap();
        let levels = [("kind".to_owned(), "far".to_owned())];
        let set = settings(&plan.factors, levels.iter().map(|(name, level)| (name, level)));
        let place = plimsoll_plan::Place { address: "10.1.2.3".to_owned(), port: 81 };
        let places = [("web".to_owned(), place)].into();
        let written = Written::text(text, "plan.toml", &set).standing(&places);
        let of_cell = crate::plans::read(&written).unwrap();
        assert_eq!(of_cell.target.url.unwrap().to_string(), "http://10.1.2.3:81/b");
    }

    #[test]
    fn a_fixed_order_is_that_of_the_plan() {
        let cells = cells(&plan("order = 'fixed'")).unwrap();
        let last = |cell: &CellPlan| cell.factors["load.connections"].clone();
        assert_eq!(cells[..4].iter().map(last).collect::<Vec<_>>(), ["3", "4", "3", "4"]);
    }
}
