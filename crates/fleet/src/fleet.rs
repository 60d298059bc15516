//! Workers as one engine.

use crate::child::{self, Child, Said};
use crate::clock::{EXCHANGES, Offset};
use crate::error::FleetError;
use crate::gather::Gather;
use crate::memory;
use crate::message::{Answer, Greeting, Job, Order};
use crate::silence::Silence;
use plimsoll_load::clock::{Clock, monotonic_ns};
use plimsoll_load::run::{Engine, Lost};
use plimsoll_load::{Slice, Times};
use std::path::Path;
use std::process::ExitStatus;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// So long workers have to be ready.
const READY_WITHIN_S: u64 = 60;
/// How often workers hear that somebody is there.
const PING_NS: u64 = 1_000_000_000;
/// How often is looked whether somebody is silent.
const LOOK: Duration = Duration::from_millis(50);
/// The load begins so long after all are ready, at least.
const AHEAD_NS: u64 = 1_000_000_000;
/// Who has closed its end, or exited, may have so long for the rest of it.
const REST_NS: u64 = 500_000_000;
/// So long workers have to end, before they are ended.
const END_NS: u64 = 2_000_000_000;

/// What workers are to do, and how they are watched.
pub struct Terms<'a> {
    /// The program that they are.
    pub program: &'a Path,
    /// Its version.
    pub version: &'a str,
    /// The root of the file system, below which `proc` and `sys` lie.
    pub system: &'a Path,
    /// What each is to do.
    pub jobs: Vec<Job>,
    /// The silence after which one is lost, nanoseconds.
    pub lost_after_ns: u64,
}

/// What workers have used, together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Used {
    /// Processor time, nanoseconds.
    pub cpu_ns: u64,
    /// The most memory that each had, summed up, bytes.
    pub max_rss_bytes: u64,
}

struct Worker {
    name: String,
    child: Child,
    silence: Silence,
    is_ready: bool,
    /// What is known of its clock, and after how many exchanges.
    offset: Option<Offset>,
    exchanges: usize,
    /// How late it began, by its own clock.
    late_ns: Option<u64>,
    /// It needs no more: it has told all.
    has_ended: bool,
    is_closed: bool,
    exited: Option<ExitStatus>,
}

/// Workers that have a load together.
pub struct Fleet<'a> {
    terms: Terms<'a>,
    workers: Vec<Worker>,
    said: Receiver<(usize, Said)>,
    gather: Gather,
    current: Option<Box<Slice>>,
    clock: Clock,
    lost: Option<Lost>,
    refused: Option<FleetError>,
    used: Used,
    pinged_ns: u64,
    looked_ns: u64,
    /// How many processes had been ended for want of memory before.
    short_of_memory: u64,
}

impl<'a> Fleet<'a> {
    /// Starts workers, waits until all are ready, and has them begin at one moment, a second ahead
    /// or more. Whether it is interrupted is asked several times a second.
    ///
    /// # Errors
    /// [`FleetError`]: nothing was sent.
    pub fn start(
        terms: Terms<'a>,
        mut interrupted: impl FnMut() -> bool,
    ) -> Result<Self, FleetError> {
        let (tell, said) = channel();
        let (now_ns, short_of_memory) = (monotonic_ns(), memory::killed(terms.system));
        let mut workers: Vec<Worker> = Vec::with_capacity(terms.jobs.len());
        for number in 0..terms.jobs.len() {
            let name = format!("worker {}", number + 1);
            let child = Child::start(terms.program, number, &tell)
                .map_err(|source| FleetError::Start { worker: name.clone(), source })?;
            workers.push(Worker::new(name, child, now_ns));
        }
        let gather = Gather::of(workers.len());
        let clock = Clock::from_origin(now_ns);
        let mut fleet = Self {
            terms,
            workers,
            said,
            gather,
            current: None,
            clock,
            lost: None,
            refused: None,
            used: Used::default(),
            pinged_ns: now_ns,
            looked_ns: now_ns,
            short_of_memory,
        };
        let jobs = std::mem::take(&mut fleet.terms.jobs);
        let greeting = Greeting::of(fleet.terms.version);
        for (worker, job) in fleet.workers.iter_mut().zip(jobs) {
            // Who does not listen is about to be heard of.
            let _ = worker.child.greet(&greeting);
            worker.tell(&Order::Job(Box::new(job)));
        }
        fleet.until(&mut interrupted, |worker| worker.is_ready)?;
        for _ in 0..EXCHANGES {
            let before = fleet.workers.iter().map(|of| of.exchanges).min().unwrap_or_default();
            fleet.ask_time();
            fleet.until(&mut interrupted, |worker| worker.exchanges > before)?;
        }
        fleet.begin();
        Ok(fleet)
    }

    /// Hears workers until all are as wanted.
    fn until(
        &mut self,
        interrupted: &mut dyn FnMut() -> bool,
        is_as_wanted: impl Fn(&Worker) -> bool,
    ) -> Result<(), FleetError> {
        let mut waiting = Silence::from(monotonic_ns());
        loop {
            if let Some(error) = self.refused.take() {
                return Err(error);
            }
            if let Some(Lost { worker, cause, .. }) = self.lost.take() {
                return Err(FleetError::Lost { worker, cause });
            }
            let missing = self.workers.iter().filter(|of| !is_as_wanted(of));
            let missing: Vec<&str> = missing.map(|of| of.name.as_str()).collect();
            if missing.is_empty() {
                return Ok(());
            }
            if interrupted() {
                return Err(FleetError::Interrupted);
            }
            if waiting.look(monotonic_ns()) > READY_WITHIN_S * 1_000_000_000 {
                return Err(FleetError::Late {
                    of: self.workers.len(),
                    ready: self.workers.len() - missing.len(),
                    within_s: READY_WITHIN_S,
                    missing: missing.join(", "),
                });
            }
            self.listen(LOOK);
        }
    }

    fn ask_time(&mut self) {
        self.pinged_ns = monotonic_ns();
        for worker in self.workers.iter_mut().filter(|of| !of.has_ended) {
            worker.tell(&Order::Ping { sent_ns: monotonic_ns() });
        }
    }

    fn begin(&mut self) {
        let offsets = self.workers.iter().filter_map(|of| of.offset);
        let longest_ns = offsets.map(|of| of.ways_ns).max().unwrap_or_default();
        let start_ns = monotonic_ns() + AHEAD_NS.max(4 * longest_ns);
        self.clock = Clock::from_origin(start_ns);
        for worker in &mut self.workers {
            let at_ns = worker.offset.map_or(start_ns, |offset| offset.theirs(start_ns));
            worker.tell(&Order::Begin { at_ns });
        }
    }

    fn tell_all(&mut self, order: impl Fn() -> Order) {
        self.workers.iter_mut().filter(|of| !of.has_ended).for_each(|of| of.tell(&order()));
    }

    /// Hears what is said, waiting for something up to `patience`. Returns whether there was
    /// anything.
    fn listen(&mut self, patience: Duration) -> bool {
        let is_heard = match self.said.recv_timeout(patience.min(LOOK)) {
            Ok((worker, said)) => {
                self.hear(worker, said);
                true
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => false,
        };
        let now_ns = monotonic_ns();
        if now_ns.saturating_sub(self.looked_ns) < u64::try_from(LOOK.as_nanos()).unwrap_or(0) {
            return is_heard;
        }
        // All that was said comes before it is asked who is silent.
        while let Ok((worker, said)) = self.said.try_recv() {
            self.hear(worker, said);
        }
        self.look(now_ns);
        is_heard
    }

    fn look(&mut self, now_ns: u64) {
        self.looked_ns = now_ns;
        if now_ns.saturating_sub(self.pinged_ns) >= PING_NS {
            self.ask_time();
        }
        for number in 0..self.workers.len() {
            if let Some(cause) = self.cause_of_loss(number, now_ns) {
                self.lose(number, cause);
            }
        }
    }

    /// Why a worker is lost, where it is.
    fn cause_of_loss(&mut self, number: usize, now_ns: u64) -> Option<String> {
        let is_short_of_memory = || memory::killed(self.terms.system) > self.short_of_memory;
        let worker = self.workers.get_mut(number).filter(|of| !of.has_ended)?;
        let silent_ns = worker.silence.look(now_ns);
        match (worker.exited, worker.is_closed) {
            (Some(status), is_closed) if is_closed || silent_ns > REST_NS => {
                Some(child::ended(status, &worker.child.last_words(), is_short_of_memory()))
            }
            (None, true) if silent_ns > REST_NS => Some("it closed the connection".to_owned()),
            // What it takes to make ready is limited by itself.
            _ if worker.is_ready && silent_ns > self.terms.lost_after_ns => {
                Some(format!("silent for {:.1} s", silent_ns as f64 / 1e9))
            }
            _ => None,
        }
    }

    /// Somebody is lost: nobody else can do what it was to do, so all end.
    fn lose(&mut self, number: usize, cause: String) {
        self.gather.end(number);
        let Some(worker) = self.workers.get_mut(number) else { return };
        worker.has_ended = true;
        worker.child.let_go();
        // One that is only silent goes on with its load.
        worker.child.kill();
        let (worker, after_ns) = (worker.name.clone(), self.clock.now());
        self.lost.get_or_insert(Lost { worker, cause, after_ns });
        self.tell_all(|| Order::Abort);
    }

    fn hear(&mut self, number: usize, said: Said) {
        let Some(worker) = self.workers.get_mut(number) else { return };
        worker.silence.end();
        match said {
            Said::Greeting(greeting) => {
                let refusal = Greeting::of(self.terms.version).refusal(&greeting);
                if let Some(why) = refusal {
                    self.refuse(number, (why, None, false));
                }
            }
            Said::Exited(status) => worker.exited = Some(status),
            Said::Closed(None) => worker.is_closed = true,
            Said::Closed(Some(error)) => {
                worker.is_closed = true;
                if !worker.has_ended {
                    self.lose(number, error.to_string());
                }
            }
            Said::Answer(answer, at_ns) => self.take(number, answer, at_ns),
        }
    }

    fn take(&mut self, number: usize, answer: Answer, at_ns: u64) {
        let Some(worker) = self.workers.get_mut(number) else { return };
        match answer {
            Answer::Pong { sent_ns, received_ns, answered_ns } => {
                worker.exchanges += 1;
                if let Some(told) = Offset::of([sent_ns, received_ns, answered_ns, at_ns]) {
                    worker.offset = Some(told.better(worker.offset));
                }
            }
            Answer::Ready => worker.is_ready = true,
            Answer::Refused { why, hint, is_usage } => self.refuse(number, (why, hint, is_usage)),
            Answer::Begun { late_ns } => worker.late_ns = Some(late_ns),
            Answer::Slice(slice) => {
                if !worker.has_ended && !self.gather.add(number, slice) {
                    self.lose(number, "it told seconds out of their order".to_owned());
                }
            }
            Answer::Ended { cpu_ns, max_rss_bytes } if !worker.has_ended => {
                worker.has_ended = true;
                self.gather.end(number);
                self.used.cpu_ns += cpu_ns;
                self.used.max_rss_bytes += max_rss_bytes.unwrap_or_default();
            }
            Answer::Ended { .. } => {}
        }
    }

    fn refuse(&mut self, number: usize, (why, hint, is_usage): (String, Option<String>, bool)) {
        let Some(worker) = self.workers.get_mut(number) else { return };
        worker.has_ended = true;
        let worker = worker.name.clone();
        self.refused.get_or_insert(FleetError::Refused { worker, why, hint, is_usage });
    }

    /// What the workers have used that have told all.
    #[must_use]
    pub fn used(&self) -> Used {
        self.used
    }

    /// How far apart workers may have begun, nanoseconds: what is not known of their clocks, and
    /// how late they were by these.
    #[must_use]
    pub fn starts_apart_ns(&self) -> u64 {
        let ends = self.workers.iter().map(|of| {
            let unknown_ns = of.offset.map_or(0, |offset| offset.ways_ns / 2);
            unknown_ns + of.late_ns.unwrap_or_default()
        });
        ends.max().unwrap_or_default()
    }
}

impl Worker {
    fn new(name: String, child: Child, now_ns: u64) -> Self {
        Self {
            name,
            child,
            silence: Silence::from(now_ns),
            is_ready: false,
            offset: None,
            exchanges: 0,
            late_ns: None,
            has_ended: false,
            is_closed: false,
            exited: None,
        }
    }

    /// Tells it what to do. Who does not listen is about to be heard of.
    fn tell(&mut self, order: &Order) {
        let _ = self.child.tell(order);
    }
}

impl Engine for Fleet<'_> {
    fn clock(&self) -> Clock {
        self.clock
    }

    fn offer(&mut self, from_ns: u64, part: usize, _times: &Times) {
        self.tell_all(|| Order::Offer { from_ns, part });
    }

    fn measure_from(&mut self, at_ns: u64) {
        self.tell_all(|| Order::MeasureFrom(at_ns));
    }

    fn end_at(&mut self, at_ns: u64) {
        self.tell_all(|| Order::EndAt(at_ns));
    }

    fn stop(&mut self) {
        self.tell_all(|| Order::Stop);
    }

    fn abort(&mut self) {
        self.tell_all(|| Order::Abort);
    }

    fn next_slice(&mut self, patience: Duration) -> Option<&Slice> {
        let patience_ns = u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX);
        let until_ns = monotonic_ns().saturating_add(patience_ns);
        loop {
            if let Some(slice) = self.gather.take() {
                self.current = Some(slice);
                return self.current.as_deref();
            }
            let left_ns = until_ns.saturating_sub(monotonic_ns());
            if self.gather.is_over() || left_ns == 0 {
                return None;
            }
            self.listen(Duration::from_nanos(left_ns));
        }
    }

    fn has_ended(&self) -> bool {
        self.gather.is_over()
    }

    fn lost(&self) -> Option<Lost> {
        self.lost.clone()
    }
}

impl Drop for Fleet<'_> {
    /// No worker outlives it.
    fn drop(&mut self) {
        self.workers.iter_mut().for_each(|of| of.child.let_go());
        let mut waiting = Silence::from(monotonic_ns());
        let mut is_killed = false;
        while self.workers.iter().any(|of| of.exited.is_none()) {
            let waited_ns = waiting.look(monotonic_ns());
            if waited_ns > END_NS && !is_killed {
                self.workers.iter().for_each(|of| of.child.kill());
                is_killed = true;
            }
            if waited_ns > 2 * END_NS {
                return;
            }
            if let Ok((number, Said::Exited(status))) = self.said.recv_timeout(LOOK) {
                self.workers
                    .iter_mut()
                    .skip(number)
                    .take(1)
                    .for_each(|of| of.exited = Some(status));
            }
        }
    }
}
