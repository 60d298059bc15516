//! What caches are asked for: a recorded trace with a life for its objects, or the requests of a
//! synthetic workload.

use crate::error::ExperimentError;
use crate::prepare::{Rates, rates};
use plimsoll_cache::cluster::{Life, Periods};
use plimsoll_cache::trace::Trace;
use plimsoll_cache::trace::read::{Limits, ReadOptions, read};
use plimsoll_cache::trace::synthetic::Synthetic;
use plimsoll_plan::{CachePlan, CacheRequests, CacheTrace, MadeRequests};
use plimsoll_workload::arrivals::{DueTimes, Share};
use plimsoll_workload::objects::{Catalogue, Fresh, Object};
use plimsoll_workload::random::seed_of;
use std::fmt::Display;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

/// What stands before the names of made-up objects: a name that is nobody's (RFC 2606, section 2).
const ORIGIN: &str = "http://origin.example";
/// Due times that are drawn at once.
const BLOCK: usize = 4096;

/// Requests of one replication.
#[derive(Debug)]
pub struct Requests {
    /// The requests.
    pub trace: Trace,
    /// How their objects change; `None` where they never do.
    pub life: Option<Life>,
    /// What a reader should know.
    pub notes: Vec<String>,
}

/// What the caches of a plan are asked for in their first replication.
///
/// # Errors
/// A trace that cannot be read; as for [`made`].
pub fn requests(plan: &CachePlan) -> Result<Requests, ExperimentError> {
    match &plan.asked {
        CacheRequests::Recorded(of) => recorded(of, plan.seed),
        CacheRequests::Made(of) => made(of, plan.seed, 0),
    }
}

/// The requests of a recorded trace.
///
/// # Errors
/// A trace that cannot be read.
pub fn recorded(of: &CacheTrace, seed: u64) -> Result<Requests, ExperimentError> {
    let options = ReadOptions {
        format: said("format", of.format.as_deref())?,
        columns: said("columns", of.columns.as_deref())?,
        ..ReadOptions::default()
    };
    let (trace, told) = read(&of.file, &options)?;
    Ok(Requests { trace, life: life(of, seed), notes: told.warnings() })
}

/// The value of a key of `[trace]` whose type knows its own text.
fn said<T: FromStr>(key: &str, text: Option<&str>) -> Result<Option<T>, ExperimentError>
where
    T::Err: Display,
{
    let wrong = |error| ExperimentError::Conflict(format!("read `trace.{key}`: {error}"));
    text.map(str::parse).transpose().map_err(wrong)
}

/// How the objects of a recorded trace change, where the plan says so.
#[must_use]
pub fn life(trace: &CacheTrace, seed: u64) -> Option<Life> {
    let (least, most) = trace.changes?;
    let seconds = |of: Duration| u32::try_from(of.as_secs()).unwrap_or(u32::MAX);
    let periods = Periods { least_s: seconds(least), most_s: seconds(most) };
    Some(Life::Drawn { fresh_s: seconds(trace.fresh), periods, seed })
}

/// The requests of one replication of a workload, from 0; the same number gives the same.
///
/// # Errors
/// A schedule that cannot be read, that has no request, or more than a trace holds.
pub fn made(of: &MadeRequests, seed: u64, replication: u32) -> Result<Requests, ExperimentError> {
    let seed = seed_of(seed, u64::from(replication));
    let mut notes = Vec::new();
    let Rates { schedule, .. } = rates(&of.source, seed, &mut notes)?;
    let expected = schedule.cumulative(schedule.duration_ns());
    let due = DueTimes::new(schedule, of.arrivals, seed, Share::WHOLE);
    let workload = &of.workload.objects();
    let limits = Limits::default();
    let synthetic = Synthetic { workload, seed, requests: limits.requests, origin: ORIGIN, limits };
    let mut due = Blocks::new(due).peekable();
    if due.peek().is_none() {
        return Err(ExperimentError::Nothing { expected });
    }
    if expected > limits.requests as f64 {
        return Err(ExperimentError::Conflict(format!(
            "simulate {expected:.0} requests: {} are the most; offer less, or not as long",
            limits.requests
        )));
    }
    let (trace, made) = synthetic.trace(due)?;
    notes.extend(made.warnings());
    let catalogue = Catalogue::new(workload, seed)
        .map_err(|error| ExperimentError::Conflict(format!("make objects: {error}")))?;
    let objects: Arc<[Object]> = made.numbers.iter().map(|&n| catalogue.object(n)).collect();
    let changes =
        |object: &Object| object.period_ns().is_some() || object.fresh != Fresh::UntilChange;
    let life = objects.iter().any(changes).then_some(Life::Known(objects));
    Ok(Requests { trace, life, notes })
}

/// Due times one by one.
struct Blocks {
    due: DueTimes,
    block: Vec<u64>,
    at: usize,
    len: usize,
}

impl Blocks {
    fn new(due: DueTimes) -> Self {
        Self { due, block: vec![0; BLOCK], at: 0, len: 0 }
    }
}

impl Iterator for Blocks {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        if self.at == self.len {
            self.len = self.due.fill(&mut self.block);
            self.at = 0;
        }
        let due = self.block[..self.len].get(self.at).copied();
        self.at += 1;
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_plan::Written;

    fn requests(workload: &str, load: &str, seed: u64) -> Requests {
        let text = format!("[workload]\n{workload}\n[load]\n{load}\n[cluster]\nsize = '1GB'\n");
        let plan = crate::plans::read_clusters(&Written::text(&text, "plan.toml", &[])).unwrap();
        let CacheRequests::Made(of) = &plan.asked else { panic!("it is made up") };
        made(of, seed, 0).unwrap()
    }

    #[test]
    fn there_are_as_many_as_the_load_has_at_its_times() {
        let of = requests("objects = 100\nclients = 7", "rate = '3/s'\nfor = '2000s'", 1);
        assert_eq!(of.trace.len(), 6_000);
        let seconds = of.trace.seconds().unwrap();
        assert!(seconds.iter().enumerate().all(|(at, &second)| second as usize == at / 3));
        assert!(of.trace.clients().unwrap().iter().all(|&client| client < 7));
        assert_eq!(of.trace.distinct(), 100);
        assert!(of.life.is_none() && of.notes.is_empty());
    }

    #[test]
    fn a_seed_gives_the_same_and_another_seed_other_requests() {
        let (workload, load) = ("recurrence = '60%'", "rate = '30/s'\nfor = '1m'");
        let of = |seed| requests(workload, load, seed).trace.requests().to_vec();
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
    }

    #[test]
    fn objects_that_change_or_grow_old_have_a_life() {
        let load = "rate = '30/s'\nfor = '1m'";
        let class = |of: &str| {
            let workload = format!("objects = 10\n[workload.class.page]\n{of}");
            requests(&workload, load, 1).life
        };
        assert!(class("size = '1kB'").is_none());
        for of in ["changes = 'const:1h'", "fresh = '1m'"] {
            let Some(Life::Known(objects)) = class(of) else { panic!("{of}") };
            assert_eq!(objects.len(), 10);
        }
    }
}
