//! What another policy would have decided about the pool of a run, moment by moment: it sees what
//! was seen then. What would have followed is not told; a simulation tells that.

use std::collections::BTreeMap;

use plimsoll_elastic::controller::Controller;
use plimsoll_elastic::observation::{Instance, State};
use plimsoll_elastic::policy::Verdict;
use plimsoll_plan::{Setting, Written};
use plimsoll_runs::{DecisionRow, Event, Run, World};

use crate::clock::clock_of;
use crate::error::ExperimentError;
use crate::plans;
use crate::world::pool::contents::arrived;
use crate::world::pool::live::{EVENT, NAME};
use crate::world::pool::model;

/// A moment at which was decided, and what the other policy says of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Replayed {
    /// What was decided.
    pub was: DecisionRow,
    /// What the other policy would have.
    pub would: Verdict,
}

/// Asks a policy at each moment at which the policy of a run decided. `settings` are those of the
/// policy `label` of the run's plan, which may be a new one.
///
/// # Errors
/// A run without a pool, or of a simulated one; what is wrong with the policy; files that the plan
/// names and that are gone.
pub fn replay(
    run: &Run,
    settings: &[Setting],
    label: &str,
) -> Result<Vec<Replayed>, ExperimentError> {
    let conflict = |text: &str| Err(ExperimentError::Conflict(text.to_owned()));
    let rows = run.decisions()?;
    if rows.is_empty() {
        return conflict("replay a run in which no policy decided: it has no pool");
    }
    if run.meta().world == World::Simulated {
        return conflict(
            "replay a simulated run: it keeps only the decisions that changed the pool; simulate \
             the other policy itself",
        );
    }
    let text = &run.meta().plan_text;
    let plan = plans::read(&Written::text(text, "plan.toml", settings).stored())?;
    let model = model(&plan)?;
    let model = clock_of(run)?.map_or_else(|| model.clone(), |at| model.at(at));
    let mut policy = model.begin(model.policy(label)?, 0)?;
    let (terms, mut controller) = (model.setup.terms(), Controller::default());
    let lives = lives(&run.events()?);
    let mut replayed = Vec::with_capacity(rows.len());
    for was in rows {
        let points = arrived(&was.observation)
            .map_err(|error| ExperimentError::Conflict(format!("read an observation: {error}")))?;
        points.into_iter().for_each(|point| controller.arrive(point));
        let there = lives.values().filter_map(|life| life.at(was.at_ns)).collect();
        let (_, would) = controller.ask(&terms, policy.as_mut(), was.at_ns, there);
        replayed.push(Replayed { was, would });
    }
    Ok(replayed)
}

/// The life of an instance, by its events, nanoseconds.
#[derive(Debug, Default)]
pub(crate) struct Life {
    launched_ns: u64,
    ready_ns: Option<u64>,
    /// From when until when it took no requests, as it was not well.
    out_ns: Vec<(u64, Option<u64>)>,
    draining_ns: Option<u64>,
    ended_ns: Option<u64>,
}

impl Life {
    /// What was seen of it at a time; `None` where it was not there.
    pub(crate) fn at(&self, at_ns: u64) -> Option<Instance> {
        let has = |ns: Option<u64>| ns.is_some_and(|ns| ns <= at_ns);
        if self.launched_ns > at_ns || has(self.ended_ns) {
            return None;
        }
        let is_out = |of: &(u64, Option<u64>)| of.0 <= at_ns && !has(of.1);
        let is_ready = has(self.ready_ns) && !self.out_ns.iter().any(is_out);
        let state = match (has(self.draining_ns), is_ready) {
            // One that does not take requests yet is not waited for.
            (true, false) => return None,
            (true, true) => State::Draining,
            (false, true) => State::Ready,
            (false, false) => State::Booting,
        };
        Some(Instance {
            launched_s: self.launched_ns as f64 / 1e9,
            ready_s: self.ready_ns.filter(|_| is_ready).map(|ns| ns as f64 / 1e9),
            state,
            speed: 1.0,
        })
    }
}

/// The lives of instances, by their numbers.
pub(crate) fn lives(events: &[Event]) -> BTreeMap<u32, Life> {
    let mut lives: BTreeMap<u32, Life> = BTreeMap::new();
    for of in events.iter().filter(|of| of.kind == EVENT) {
        let Some((number, state)) = read(&of.text) else { continue };
        let is_new = !lives.contains_key(&number);
        let life = lives.entry(number).or_default();
        if is_new {
            life.launched_ns = of.at_ns;
        }
        match state {
            "ready" => match life.out_ns.last_mut() {
                Some(out) => out.1 = out.1.or(Some(of.at_ns)),
                None => life.ready_ns = Some(of.at_ns),
            },
            "out" => life.out_ns.push((of.at_ns, None)),
            "draining" => life.draining_ns = Some(of.at_ns),
            "failed" | "terminated" | "could not be ended" => {
                life.ended_ns.get_or_insert(of.at_ns);
            }
            _ => {}
        }
    }
    lives
}

/// The number and the state of `instance 3 ready: web-3`.
pub(crate) fn read(text: &str) -> Option<(u32, &str)> {
    let (number, state) = text.strip_prefix(NAME)?.split_once(' ')?;
    Some((number.parse().ok()?, state.split(':').next().unwrap_or(state)))
}
