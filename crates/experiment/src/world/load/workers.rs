//! A load that workers offer: what each is told.

use std::path::Path;

use plimsoll_fleet::message::Job;
use plimsoll_fleet::{Fleet, Terms};
use plimsoll_load::{Config, Pacing, Part};
use plimsoll_plan::Plan;
use plimsoll_units::show_duration;

use crate::prepare::division::{Division, asked, protocol_of};

/// Starts more than this apart are told, nanoseconds.
const APART_NS: u64 = 5_000_000;

/// A plan as workers are told of it.
pub(crate) fn told(plan: &Plan, seed: u64, here: &Path) -> Option<String> {
    plan.fleet?;
    let (experiment, factors) = (None, Vec::new());
    let plan = Plan { seed, repeat: 1, experiment, factors, ..plan.clone() };
    Some(plan.to_toml_from(here))
}

/// What workers are to do with a plan, as they are told it.
pub(crate) fn terms<'a>(
    (division, plan): (Division, &str),
    config: &Config,
    (program, version, system): (&'a Path, &'a str, &'a Path),
) -> Terms<'a> {
    let Division { workers, threads, .. } = division;
    let job = |process: u32| {
        let before = process * threads;
        let after = division.all_threads() - before - threads;
        Job {
            plan: plan.to_owned(),
            part: Part { process, processes: workers, before, after }.into(),
            threads,
            is_precise: division.pacing_of(process) == Pacing::Precise,
            protocol: protocol_of(config).to_owned(),
            may_ask: asked(config).into_iter().collect(),
        }
    };
    let jobs = (0..workers).map(job).collect();
    Terms { program, version, system, jobs, lost_after_ns: division.lost_after_ns }
}

/// What is to be said of workers that did not begin at one moment.
pub(crate) fn apart(fleet: &Fleet<'_>) -> Option<String> {
    let apart_ns = fleet.starts_apart_ns();
    (apart_ns > APART_NS)
        .then(|| format!("workers may have begun {} apart", show_duration(apart_ns)))
}
