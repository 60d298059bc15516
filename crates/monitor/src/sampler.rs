//! The sampler: all collectors, once a period.
//!
//! One thread keeps the time and hands samples on; each collector has a thread of its own. So a
//! source that is slow, or does not answer, makes no other sample late. What it was asked for and
//! did not give is marked, once a period, until it gives again.
//!
//! # Times
//!
//! The first sample is taken at a random moment of the first period, those after it whole periods
//! later: what repeats itself on the host in step with the clock is then not always seen in the
//! same state. Samples of one collector have the time at which its reading began, on the clock that
//! was handed in. A sampler that is itself held up for several periods goes on with the next one,
//! and leaves a gap.
//!
//! # Its own series
//!
//! | series | is |
//! | --- | --- |
//! | `plimsoll_collector_up{collector}` | 1 where the source was read, 0 where it was not |
//! | `plimsoll_collect_seconds{collector}` | how long that took |
//! | `plimsoll_collect_left_out{collector}` | lines and values that were not understood |
//! | `plimsoll_series_left_out` | series beyond the most that are kept; absent while there are none |

mod admitted;
mod worker;

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use plimsoll_units::failure::{Failure, Kind};
use plimsoll_workload::random::Stream;

use crate::collector::Watched;
use crate::sample::{Fault, Group, Samples, gauge};
use crate::timer::now_ns;
use admitted::Admitted;
use worker::{Reading, Worker};

/// The sampler's own series.
pub const GROUP: Group = Group {
    source: "the sampler",
    series: &[
        gauge("up", "plimsoll_collector_up", "", "1 where the source was read, else 0")
            .by(&["collector"]),
        gauge("took", "plimsoll_collect_seconds", "s", "how long the reading took")
            .by(&["collector"]),
        gauge("left out", "plimsoll_collect_left_out", "", "what was not understood of the source")
            .by(&["collector"]),
        gauge("beyond", "plimsoll_series_left_out", "", "series beyond the most that are kept"),
    ],
};

/// How often is sampled, and how much is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sampling {
    /// The time between two samples of a source, above zero.
    pub period: Duration,
    /// The seed from which the moment of the first sample is drawn.
    pub seed: u64,
    /// The most series that are kept, the sampler's own among them.
    pub most_series: usize,
}

impl Default for Sampling {
    /// Once a second, at most 10,000 series.
    fn default() -> Self {
        Self { period: Duration::from_secs(1), seed: 0, most_series: 10_000 }
    }
}

/// Why a [`Sampler`] could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SamplerError {
    /// Every sample would be due at once.
    #[error("expected a period of sampling above zero, found 0")]
    NoPeriod,
    /// The host gave no thread.
    #[error("start a thread that samples")]
    NoThread(#[source] std::io::Error),
}

impl Failure for SamplerError {
    fn kind(&self) -> Kind {
        match self {
            Self::NoPeriod => Kind::Usage,
            Self::NoThread(_) => Kind::Incomplete,
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NoPeriod => "give one such as 1s".to_owned(),
            Self::NoThread(_) => "see `ulimit -u` for the limit".to_owned(),
        })
    }
}

/// The clock of the run, in nanoseconds, by which samples are dated.
pub type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// Collectors that are sampled once a period, until this is dropped.
#[derive(Debug)]
pub struct Sampler {
    events: Sender<Event>,
    beyond: Arc<AtomicUsize>,
    thread: Option<JoinHandle<()>>,
}

/// What the thread that keeps the time waits for.
enum Event {
    /// A collector has ended a reading.
    Done(Box<Reading>),
    /// One more is to be sampled.
    Joins(Box<Watched>),
    /// Those of an instance are to be sampled no more.
    Leaves(String),
    /// No more samples are wanted.
    Stop,
}

impl Sampler {
    /// Starts sampling. Each collector's samples are handed on by themselves, with the time at
    /// which its reading began; `hand` is called from one thread, and the next period waits for it.
    ///
    /// # Errors
    /// When the period is zero, or the host gives no thread.
    pub fn start(
        watched: Vec<Watched>,
        sampling: Sampling,
        clock: Clock,
        hand: impl FnMut(u64, &Samples) + Send + 'static,
    ) -> Result<Self, SamplerError> {
        let period_ns = u64::try_from(sampling.period.as_nanos()).unwrap_or(u64::MAX);
        let period_ns = NonZeroU64::new(period_ns).ok_or(SamplerError::NoPeriod)?;
        let (events, received) = mpsc::channel();
        let mut workers = BTreeMap::new();
        for (index, watched) in watched.into_iter().enumerate() {
            let worker = Worker::start(index, watched, &clock, &events);
            workers.insert(index, worker.map_err(SamplerError::NoThread)?);
        }
        let beyond = Arc::new(AtomicUsize::new(0));
        // The sampler's own series come first.
        let own = workers.len().saturating_mul(3).saturating_add(1);
        let admitted = Admitted::new(sampling.most_series.saturating_sub(own), &beyond);
        let phase_ns = Stream::named(sampling.seed, "sampling").below(period_ns.get());
        let conductor = Conductor {
            next: workers.len(),
            workers,
            events: events.clone(),
            period_ns: period_ns.get(),
            clock,
            admitted,
            most_series: sampling.most_series,
            hand: Box::new(hand),
        };
        let thread = std::thread::Builder::new()
            .name("sampler".to_owned())
            .spawn(move || conductor.run(&received, phase_ns))
            .map_err(SamplerError::NoThread)?;
        Ok(Self { events, beyond, thread: Some(thread) })
    }

    /// Who has more collectors sampled, or those of an instance no more, from any thread.
    #[must_use]
    pub fn door(&self) -> Door {
        Door { events: self.events.clone() }
    }

    /// How many series came beyond the most that are kept, so far.
    #[must_use]
    pub fn series_left_out(&self) -> usize {
        self.beyond.load(Ordering::Relaxed)
    }
}

/// Lets collectors join those that a [`Sampler`] samples, and leave.
#[derive(Debug, Clone)]
pub struct Door {
    events: Sender<Event>,
}

impl Door {
    /// Has one more collector sampled, from the next period on.
    pub fn joins(&self, watched: Watched) {
        // Nobody listens where the sampler has ended.
        drop(self.events.send(Event::Joins(Box::new(watched))));
    }

    /// Has the collectors of an instance sampled no more.
    pub fn leaves(&self, instance: &str) {
        drop(self.events.send(Event::Leaves(instance.to_owned())));
    }
}

impl Drop for Sampler {
    /// Waits for the readings in progress, one period at most. One that takes longer is left to
    /// itself: its thread ends with it.
    fn drop(&mut self) {
        // Sending fails only where the thread has ended already.
        let _ = self.events.send(Event::Stop);
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has printed why, and dropping must not panic.
            let _ = thread.join();
        }
    }
}

/// The thread that keeps the time.
struct Conductor {
    /// The workers by their numbers, and the next number.
    workers: BTreeMap<usize, Worker>,
    next: usize,
    events: Sender<Event>,
    period_ns: u64,
    clock: Clock,
    admitted: Admitted,
    most_series: usize,
    hand: Hand,
}

/// Takes the samples of a reading, and the time at which it began.
type Hand = Box<dyn FnMut(u64, &Samples) + Send>;

impl Conductor {
    fn run(mut self, events: &Receiver<Event>, phase_ns: u64) {
        let mut due_ns = now_ns().saturating_add(phase_ns);
        while self.wait_until(due_ns, events) {
            let all: Vec<usize> = self.workers.keys().copied().collect();
            all.into_iter().for_each(|index| self.begin(index));
            let passed = now_ns().saturating_sub(due_ns) / self.period_ns;
            due_ns = due_ns.saturating_add(self.period_ns.saturating_mul(passed + 1));
        }
        self.finish(events);
    }

    /// Hands on readings until a moment. Returns false where no more are wanted.
    fn wait_until(&mut self, due_ns: u64, events: &Receiver<Event>) -> bool {
        loop {
            let left = Duration::from_nanos(due_ns.saturating_sub(now_ns()));
            match events.recv_timeout(left) {
                Ok(Event::Done(reading)) => self.take(*reading),
                Ok(Event::Joins(watched)) => self.joins(*watched),
                Ok(Event::Leaves(instance)) => self.leaves(&instance),
                Ok(Event::Stop) | Err(RecvTimeoutError::Disconnected) => return false,
                Err(RecvTimeoutError::Timeout) => return true,
            }
        }
    }

    fn joins(&mut self, watched: Watched) {
        let (name, instance) = (watched.name, watched.instance.clone());
        match Worker::start(self.next, watched, &self.clock, &self.events) {
            Ok(worker) => drop(self.workers.insert(self.next, worker)),
            Err(error) => self.is_down(name, instance, format!("start its thread: {error}")),
        }
        self.next += 1;
    }

    fn leaves(&mut self, instance: &str) {
        let is_its = |worker: &Worker| worker.instance.as_deref() == Some(instance);
        let all = self.workers.iter().filter(|(_, worker)| is_its(worker));
        let its: Vec<usize> = all.map(|(index, _)| *index).collect();
        its.iter().filter_map(|index| self.workers.remove(index)).for_each(Worker::finish);
    }

    /// Hands on a mark that a collector gives nothing, and why.
    fn is_down(&mut self, collector: &'static str, instance: Option<String>, reason: String) {
        let mut samples = Samples::of(instance.as_deref());
        samples.push(&GROUP.series[0], &[collector], 0.0);
        samples.faults.push(Fault { collector, instance, is_down: true, reason });
        (self.hand)((self.clock)(), &samples);
    }

    /// Begins a reading. Where it cannot begin, hands on a mark that says why.
    fn begin(&mut self, index: usize) {
        let Some(worker) = self.workers.get_mut(&index) else { return };
        let Some(reason) = worker.begin() else { return };
        let (name, instance) = (worker.name, worker.instance.clone());
        self.is_down(name, instance, reason);
    }

    fn take(&mut self, reading: Reading) {
        let Some(worker) = self.workers.get_mut(&reading.index) else { return };
        if !worker.end() {
            // The reading was marked as overdue, and newer marks were handed on since.
            return;
        }
        let Reading { at_ns, mut samples, took, error, .. } = reading;
        if error.is_some() {
            // A source that failed midway may have given a part only.
            samples.list.clear();
        }
        let beyond = self.admitted.keep(&mut samples.list);
        let [up, took_series, left_out, beyond_series] = GROUP.series else {
            unreachable!("four series")
        };
        let name = worker.name;
        samples.push(up, &[name], if error.is_some() { 0.0 } else { 1.0 });
        samples.push(took_series, &[name], took.as_secs_f64());
        let count = samples.left_out();
        samples.push(left_out, &[name], count as f64);
        if beyond {
            samples.push_of_all(beyond_series, self.admitted.beyond() as f64);
        }
        let (instance, first) = (&worker.instance, samples.first_left_out().map(str::to_owned));
        let mut fault = |is_down, reason| {
            let instance = instance.clone();
            samples.faults.push(Fault { collector: name, instance, is_down, reason });
        };
        match (error, first) {
            (Some(error), _) => fault(true, plimsoll_units::failure::chain(&error)),
            (None, Some(first)) => {
                fault(false, format!("left out {count} of what was read, the first: {first}"));
            }
            (None, None) => {}
        }
        if beyond {
            fault(false, format!("left out series beyond the most of {}", self.most_series));
        }
        (self.hand)(at_ns, &samples);
    }

    /// Waits for the readings in progress, one period at most, and hands them on.
    fn finish(mut self, events: &Receiver<Event>) {
        let end_ns = now_ns().saturating_add(self.period_ns);
        while self.workers.values().any(Worker::is_reading) {
            let left = Duration::from_nanos(end_ns.saturating_sub(now_ns()));
            match events.recv_timeout(left) {
                Ok(Event::Done(reading)) => self.take(*reading),
                Ok(_) => {}
                Err(_) => break,
            }
        }
        for worker in self.workers.into_values() {
            worker.finish();
        }
    }
}
