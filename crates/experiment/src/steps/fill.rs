//! Loading the data set of a store: one use of the engine, in which request n writes
//! record n, as fast as the store takes it.

use crate::control::{Control, News, Wish};
use crate::error::ExperimentError;
use crate::prepare::{Place, Prepared, prepare, store};
use plimsoll_load::Config;
use plimsoll_load::ask::{ReadBack, read_back};
use plimsoll_load::run::{Offer, Watch, run};
use plimsoll_load::session::Load;
use plimsoll_load::store::Before;
use plimsoll_plan::Plan;
use plimsoll_runs::summary::Cause;
use plimsoll_runs::{Counters, ErrorKind, Event, Interval, Reasons, Sample, Sink, SinkError};
use plimsoll_units::show_duration;
use plimsoll_workload::distribution::Distribution;
use plimsoll_workload::store::{Operations, Wanted};
use std::sync::Arc;
use std::time::Duration;

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
    /// What was found where a sample of the records was read again; `None` where not all of them
    /// could be written.
    pub read_back: Option<ReadBack>,
    /// Why it was given up before the last record.
    pub gave_up: Option<String>,
    /// Whether it ended before its time, by a wish.
    pub stopped: bool,
}

impl Filled {
    /// Whether every record is written, and those that were read again are as they were written.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        let is_there = self.read_back.as_ref().is_some_and(ReadBack::is_whole);
        self.counters.succeeded == self.records && is_there
    }
}

/// Loads the data set of a plan's store.
///
/// # Errors
/// [`ExperimentError`]: a target that is no store, a store that cannot be reached or refuses us, a
/// plan that cannot be prepared. Records that could not be written are counted, and no error.
pub fn fill(
    plan: &Plan,
    place: &Place<'_>,
    control: &dyn Control,
) -> Result<Filled, ExperimentError> {
    let Some(asked) = &plan.store else {
        let text = "load a data set: the target is no store; give a redis://, memcached://, \
                    mysql://, postgres:// or cassandra:// URL";
        return Err(ExperimentError::Conflict(text.to_owned()));
    };
    let Prepared { mut config, subject, .. } = prepare(plan, place, false)?;
    store::ask(plan, &config, Before::DataSet, &mut Vec::new())?;
    let operations = Operations::new(&asked.workload(), plan.seed, Wanted::DataSet);
    if let Some(store) = &mut config.store {
        store.operations = Arc::new(operations);
    }
    (config.measured_from_ns, config.samples) = (0, true);
    let records = asked.records;
    let mut steering = Steering::new(control, records, config.timeout_ns, "written");
    let mut all = pass(&config, Some(records), Distribution::NONE, &mut steering)?;
    // A record that a store refuses by closing takes those down that are behind it in the pipeline.
    // Each of them is sent again, alone on its connection.
    let mut lost = std::mem::take(&mut all.sum.lost);
    (config.streams_per_connection, config.samples) = (1, true);
    for _ in 0..ROUNDS {
        if lost.is_empty() || all.stopped || steering.gave_up.is_some() {
            break;
        }
        config.sequence = Some(lost.into());
        steering.begin_again(all.sum.counters.succeeded);
        let mut again = pass(&config, None, Distribution::NONE, &mut steering)?;
        lost = std::mem::take(&mut again.sum.lost);
        all.replace(&again);
    }
    config.sequence = None;
    let Pass { sum, seconds, stopped } = all;
    let value_size = asked.value_size.to_string();
    let reasons = sum.reasons.first().into_iter().map(Cause::of).collect();
    let refused = (sum.failed, sum.refusals.first().into_iter().map(Cause::of).collect());
    let counters = sum.counters;
    let gave_up = steering.gave_up.take();
    let read_back = match &config.store {
        Some(store) if counters.succeeded == records => {
            let patience = Duration::from_nanos(config.timeout_ns);
            Some(read_back(&config, store, patience)?)
        }
        _ => None,
    };
    let stopped = stopped && gave_up.is_none();
    Ok(Filled {
        subject,
        records,
        value_size,
        counters,
        reasons,
        refused,
        seconds,
        read_back,
        gave_up,
        stopped,
    })
}

/// One use of the engine.
pub(super) struct Pass {
    pub(super) sum: Sum,
    pub(super) seconds: f64,
    pub(super) stopped: bool,
}

/// Asks for what the configuration has, by as many users as there is room for, who think so long
/// before each request.
pub(super) fn pass(
    config: &Config,
    limit: Option<u64>,
    think: Distribution,
    steering: &mut Steering<'_>,
) -> Result<Pass, ExperimentError> {
    let mut sum = Sum::default();
    let (seconds, stopped) = pass_into(&mut sum, config, limit, think, steering)?;
    Ok(Pass { sum, seconds, stopped })
}

/// The same, whose observations another sink takes. Returns how many seconds it took, and whether
/// it was stopped.
pub(super) fn pass_into(
    sink: &mut dyn Sink,
    config: &Config,
    limit: Option<u64>,
    think: Distribution,
    steering: &mut Steering<'_>,
) -> Result<(f64, bool), ExperimentError> {
    let users = config.connections.1.saturating_mul(config.streams_per_connection);
    let limit = limit.or(config.sequence.as_ref().map(|sequence| sequence.len() as u64));
    let load = Load::Closed { users, think, end_ns: LONGEST_NS, limit };
    let offer = Offer::Closed(load, LONGEST_NS);
    // A thread of its own, as it gives way to the engine's threads.
    let result = std::thread::scope(|scope| {
        let thread = scope.spawn(|| run(config, &offer, sink, steering));
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    let ended = result?;
    Ok(((ended.offered_ns + ended.drain_ns) as f64 / 1e9, ended.stopped))
}

impl Pass {
    /// Puts what became of the lost records, which were sent again, in the place of their loss.
    fn replace(&mut self, again: &Self) {
        let (counters, more) = (&mut self.sum.counters, &again.sum.counters);
        let (offered, sent) = (counters.offered, counters.sent);
        counters.errors[ErrorKind::Reset as usize] =
            counters.errors_of(ErrorKind::Reset).saturating_sub(more.offered);
        counters.add(more);
        (counters.offered, counters.sent) = (offered, sent);
        self.sum.reasons.forget(ErrorKind::Reset);
        self.sum.reasons.add(&again.sum.reasons);
        self.sum.failed += again.sum.failed;
        self.sum.refusals.add(&again.sum.refusals);
        self.seconds += again.seconds;
        self.stopped |= again.stopped;
    }
}

/// How often lost records are sent again.
const ROUNDS: u32 = 3;
/// The most of them that are kept.
const MOST_LOST: usize = 1 << 20;

/// Adds up what is observed.
#[derive(Default)]
pub(super) struct Sum {
    pub(super) counters: Counters,
    pub(super) reasons: Reasons,
    failed: u64,
    refusals: Reasons,
    /// Records whose connection was closed before they were answered.
    lost: Vec<u32>,
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

    fn samples(&mut self, samples: &[Sample]) -> Result<(), SinkError> {
        let lost = samples.iter().filter(|sample| sample.error == Some(ErrorKind::Reset));
        let room = MOST_LOST - self.lost.len();
        self.lost.extend(lost.take(room).map(|sample| sample.request));
        Ok(())
    }

    fn event(&mut self, _: &Event) -> Result<(), SinkError> {
        Ok(())
    }
}

/// How long nothing may be written where no connection can be made, in nanoseconds: longer than
/// most servers take to be started again.
const SILENCE_NS: u64 = 10_000_000_000;

/// Tells how far it is.
pub(super) struct Steering<'a> {
    control: &'a dyn Control,
    /// Records of the data set.
    records: u64,
    /// Records of the seconds that are whole.
    written: u64,
    silence: Silence,
    /// For how long requests may fail, one after the other, before it is given up.
    longest_silence_ns: u64,
    /// What is done, for a person: `written`.
    deed: &'static str,
    pub(super) gave_up: Option<String>,
}

/// Since when nothing was written, though it was tried.
#[derive(Default)]
struct Silence {
    /// Records that were written when something was written last.
    written: u64,
    /// When that was, nanoseconds since the start.
    since_ns: u64,
    /// How much had failed by then.
    failed: u64,
    /// How much has failed by the end of the last second that is whole.
    failed_before: u64,
}

impl Watch for Steering<'_> {
    fn watch(&mut self, second: &Interval, complete: bool) -> Wish {
        let so_far = self.written + second.events.succeeded;
        if complete {
            self.written = so_far;
        }
        self.control.tell(News::Steps(so_far, self.records));
        self.give_up_after(so_far, second, complete)
    }

    fn wish(&mut self) -> Wish {
        self.control.wish()
    }
}

impl<'a> Steering<'a> {
    /// Of so many records, or requests, each of which may take as long as `timeout_ns`; `deed` is
    /// what is done with each, for a person: `written`.
    pub(super) fn new(
        control: &'a dyn Control,
        records: u64,
        timeout_ns: u64,
        deed: &'static str,
    ) -> Self {
        Self {
            control,
            records,
            written: 0,
            silence: Silence::default(),
            longest_silence_ns: timeout_ns.max(SILENCE_NS),
            deed,
            gave_up: None,
        }
    }
}

impl Steering<'_> {
    /// What is written from now on is beside so many records.
    fn begin_again(&mut self, written: u64) {
        self.written = written;
        self.silence = Silence { written, ..Silence::default() };
    }

    /// Ends it where requests have only failed for too long: the store is gone, and the rest of the
    /// records would be lost to it as well.
    fn give_up_after(&mut self, written: u64, second: &Interval, complete: bool) -> Wish {
        let now_ns = second.start_ns + second.len_ns;
        let silence = &mut self.silence;
        let failed = silence.failed_before + second.events.errors.iter().sum::<u64>();
        if written > silence.written {
            (silence.written, silence.since_ns, silence.failed) = (written, now_ns, failed);
        }
        if complete {
            silence.failed_before = failed;
        }
        let silent_ns = now_ns.saturating_sub(silence.since_ns);
        if failed == silence.failed || silent_ns < self.longest_silence_ns {
            return Wish::Continue;
        }
        self.gave_up.get_or_insert_with(|| {
            format!(
                "nothing was {} for {}, and what was tried failed",
                self.deed,
                show_duration(silent_ns)
            )
        });
        Wish::Stop
    }
}
