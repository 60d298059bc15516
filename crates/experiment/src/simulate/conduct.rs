//! Runs a simulation: every policy on the same requests, replication by replication.

use super::model::Model;
use super::words;
use crate::error::ExperimentError;
use plimsoll_elastic::course::{Course, RevenueCurve, Simulation};
use plimsoll_elastic::demand::MOST;
use plimsoll_elastic::policy::Decider;
use plimsoll_elastic::result::{Paired, PolicyResult, SCHEMA, SimulationResult, Timing};
use plimsoll_elastic::simulated::{Outcome, Replications};
use plimsoll_plan::Plan;
use plimsoll_units::show_count;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// How much is simulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scale {
    /// Replications of each policy; at least 1.
    pub replications: u64,
    /// Threads.
    pub threads: usize,
}

/// Is told of each replication that is done, by the numbers of its policy and of itself, on the
/// thread that simulated it; says whether to go on.
pub type Watch<'a> = &'a (dyn Fn(usize, u64, &Outcome) -> bool + Sync);

/// Simulates all policies of a model, as long as `watch` says so. Returns what was simulated until
/// then, without its timing; `None` where not all policies have a replication.
///
/// # Errors
/// A policy that cannot be made.
pub fn simulate(
    plan: &Plan,
    model: &Model,
    scale: Scale,
    watch: Watch<'_>,
) -> Result<Option<Simulation>, ExperimentError> {
    let replications = 0..scale.replications;
    let outcomes = outcomes(model, replications, scale.threads, &|outcome| outcome, watch)?;
    if outcomes.iter().any(Vec::is_empty) || outcomes.is_empty() {
        return Ok(None);
    }
    let (demand, slo) = (model.demand.describe(), model.setup.slo.as_ref());
    let labels = || model.policies.iter().zip(&outcomes);
    let policies = labels()
        .map(|(named, of)| PolicyResult::of(&named.label, named.kind.name, &demand, slo, of))
        .collect();
    let paired = labels()
        .skip(1)
        .filter_map(|(named, of)| {
            Paired::of(&named.label, of, &model.policies[0].label, &outcomes[0])
        })
        .collect();
    let result = SimulationResult {
        schema: SCHEMA,
        warnings: warnings(model, &outcomes),
        policies,
        paired,
        timing: Timing::default(),
    };
    let courses = labels().map(|(named, of)| Course::of(&named.label, &of[0])).collect();
    let replications = outcomes[0].len();
    Ok(Some(Simulation {
        result,
        about: words::about(plan, model, replications),
        courses,
        revenue: revenue(model),
    }))
}

/// What a reader should know of the model, and of what came out.
fn warnings(model: &Model, outcomes: &[Vec<Outcome>]) -> Vec<String> {
    let mut warnings = model.notes.clone();
    if outcomes.iter().flatten().any(|of| of.elasticity.is_none()) {
        let most = show_count(u64::from(MOST));
        warnings.push(format!(
            "no number of instances up to {most} is {}: there is no demand to hold the supply \
             against, so under, over and jitter are left out",
            model.demand.describe()
        ));
    }
    warnings
}

/// What is kept of the outcomes of replications, a row for each policy; `watch` is told of each
/// before.
///
/// # Errors
/// A policy that cannot be made.
pub(super) fn outcomes<T: Send>(
    model: &Model,
    replications: Range<u64>,
    threads: usize,
    keep: &(dyn Fn(Outcome) -> T + Sync),
    watch: Watch<'_>,
) -> Result<Vec<Vec<T>>, ExperimentError> {
    // All are made once before, so that what is wrong is known before anything runs.
    for named in &model.policies {
        model.begin(named, 0)?;
    }
    let begin = |policy: usize, replication: u64| -> (Box<dyn Decider>, Option<u32>) {
        let named = &model.policies[policy];
        let made = model.begin(named, replication);
        let made = made.unwrap_or_else(|fault| unreachable!("it was made before: {fault}"));
        (made, named.start)
    };
    let all = Replications {
        setup: &model.setup,
        demand: &model.demand,
        policies: model.policies.len(),
        begin: &begin,
        threads,
    };
    let goes_on = AtomicBool::new(true);
    let keep = |policy: usize, replication: u64, outcome: Outcome| {
        if !watch(policy, replication, &outcome) {
            goes_on.store(false, Ordering::Relaxed);
        }
        keep(outcome)
    };
    Ok(all.run(replications, &keep, &|| goes_on.load(Ordering::Relaxed)))
}

/// Revenue by the number of instances, at the mean and at the greatest rate.
fn revenue(model: &Model) -> Vec<RevenueCurve> {
    let schedule = &model.schedule;
    let seconds = schedule.duration_ns() as f64 / 1e9;
    let mean = schedule.cumulative(schedule.duration_ns()) / seconds;
    let peak = schedule.peak();
    // Twice what the greatest rate loads: the curves have come down by then.
    let load = peak * model.facts.service_s / f64::from(model.facts.cores);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded")]
    let most = (2.0 * load).ceil().clamp(10.0, 1e6) as u32;
    let of = |(which, rate): (&str, f64)| RevenueCurve::of(which, rate, &model.facts, most);
    [("mean", mean), ("greatest", peak)].into_iter().filter_map(of).collect()
}
