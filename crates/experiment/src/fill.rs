//! Loading the data set of a store: one use of the engine, in which request n writes
//! record n, as fast as the store takes it.

use crate::error::ExperimentError;
use crate::prepare::{Place, Prepared, prepare, store};
use plimsoll_load::run::{Offer, Watch, Wish, run};
use plimsoll_load::session::Load;
use plimsoll_load::store::Before;
use plimsoll_plan::Plan;
use plimsoll_runs::summary::Cause;
use plimsoll_runs::{Counters, Event, Interval, Reasons, Sample, Sink, SinkError};
use plimsoll_workload::distribution::Distribution;
use plimsoll_workload::store::{Operations, Wanted};
use std::sync::Arc;

/// No data set takes longer, in nanoseconds: a day.
const LONGEST_NS: u64 = 86_400_000_000_000;

/// How a data set was loaded.
#[derive(Debug, Clone, PartialEq)]
pub struct Filled {
    /// The store.
    pub subject: String,
    /// Records of the data set.
    pub records: u64,
    /// Text of the size of a value, as plans have it.
    pub value_size: String,
    /// What was counted; `succeeded` are the records that were written.
    pub counters: Counters,
    /// Why records were not written: the first causes of each kind of failure.
    pub reasons: Vec<Cause>,
    /// Attempts to connect that failed, and the first causes of these.
    pub refused: (u64, Vec<Cause>),
    /// How long it took, seconds.
    pub seconds: f64,
    /// Whether it ended before its time, by a wish.
    pub stopped: bool,
}

/// Watches while a data set is loaded; what it wishes is done.
pub trait Filling: Send {
    /// Called four times a second with the number of records written so far.
    fn written(&mut self, records: u64);
    /// What the user wishes.
    fn wish(&mut self) -> Wish;
}

/// Loads the data set of a plan's store.
///
/// # Errors
/// [`ExperimentError`]: a target that is no store, a store that cannot be reached or refuses us, a
/// plan that cannot be prepared. Records that could not be written are counted, and no error.
pub fn fill(
    plan: &Plan,
    place: &Place<'_>,
    progress: &mut dyn Filling,
) -> Result<Filled, ExperimentError> {
    let Some(asked) = &plan.store else {
        let text = "load a data set: the target is no store; give a redis://, memcached://, \
                    mysql://, postgres:// or cassandra:// URL";
        return Err(ExperimentError::Conflict(text.to_owned()));
    };
    let Prepared { mut config, subject, .. } = prepare(plan, place, false)?;
    store::ask(plan, &config, Before::DataSet, &mut Vec::new())?;
    let operations = Operations::new(&asked.workload, plan.seed, Wanted::DataSet);
    if let Some(store) = &mut config.store {
        store.operations = Arc::new(operations);
    }
    (config.measured_from_ns, config.samples) = (0, false);
    let records = asked.workload.records;
    let users = config.connections.1.saturating_mul(config.streams_per_connection);
    let (think, limit) = (Distribution::NONE, Some(records));
    let load = Load::Closed { users, think, end_ns: LONGEST_NS, limit };
    let offer = Offer::Closed(load, LONGEST_NS);
    let mut sum = Sum::default();
    let mut steering = Steering { progress, written: 0 };
    // A thread of its own, as it gives way to the engine's threads.
    let result = std::thread::scope(|scope| {
        let (sum, steering) = (&mut sum, &mut steering);
        let thread = scope.spawn(|| run(&config, &offer, sum, steering));
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    let ended = result?;
    let value_size = asked.workload.value_size.to_string();
    let seconds = (ended.offered_ns + ended.drain_ns) as f64 / 1e9;
    let reasons = sum.reasons.first().into_iter().map(Cause::of).collect();
    let refused = (sum.failed, sum.refusals.first().into_iter().map(Cause::of).collect());
    let (counters, stopped) = (sum.counters, ended.stopped);
    Ok(Filled { subject, records, value_size, counters, reasons, refused, seconds, stopped })
}

/// Adds up what is observed.
#[derive(Default)]
struct Sum {
    counters: Counters,
    reasons: Reasons,
    failed: u64,
    refusals: Reasons,
}

impl Sink for Sum {
    fn interval(&mut self, interval: &Interval) -> Result<(), SinkError> {
        self.counters.add(&interval.events);
        for phase in &interval.phases {
            self.reasons.add(&phase.reasons);
        }
        self.failed += interval.connect_failed;
        self.refusals.add(&interval.refusals);
        Ok(())
    }

    fn samples(&mut self, _: &[Sample]) -> Result<(), SinkError> {
        Ok(())
    }

    fn event(&mut self, _: &Event) -> Result<(), SinkError> {
        Ok(())
    }
}

/// Tells how far it is.
struct Steering<'a> {
    progress: &'a mut dyn Filling,
    /// Records of the seconds that are whole.
    written: u64,
}

impl Watch for Steering<'_> {
    fn watch(&mut self, second: &Interval, complete: bool) -> Wish {
        let so_far = self.written + second.events.succeeded;
        if complete {
            self.written = so_far;
        }
        self.progress.written(so_far);
        Wish::Continue
    }

    fn wish(&mut self) -> Wish {
        self.progress.wish()
    }
}
