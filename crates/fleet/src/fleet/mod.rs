//! Workers as one engine.

mod begin;
mod hear;

use crate::child::{Child, Said};
use crate::clock::{Moved, Offset};
use crate::error::FleetError;
use crate::gather::Gather;
use crate::host::Host;
use crate::message::{Job, Order};
use crate::silence::Silence;
use crate::start::{At, Input, Start};
use plimsoll_load::clock::{Clock, monotonic_ns};
use plimsoll_load::run::{Engine, Lost};
use plimsoll_load::{Slice, Times};
use plimsoll_runs::{PartHealth, PartSecond};
use plimsoll_workload::schedule::ScheduleError;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::mpsc::{Receiver, SyncSender};
use std::time::Duration;

/// How often is looked whether somebody is silent.
const LOOK: Duration = Duration::from_millis(50);
/// By so much workers are told earlier of what begins, beside what the way takes: a worker looks
/// for orders every 25 ms.
const LEAD_NS: u64 = 60_000_000;
/// So long workers have to end, before they are ended.
const END_NS: u64 = 2_000_000_000;

/// What workers are to do, and how they are watched.
pub struct Terms<'a> {
    /// How each is started, and what it is to do.
    pub workers: Vec<(Start, Job)>,
    /// The files that the plan reads, for workers that are not here.
    pub inputs: Vec<Input>,
    /// The version of the program.
    pub version: &'a str,
    /// The root of the file system, below which `proc` and `sys` lie.
    pub system: &'a Path,
    /// The silence after which one is lost, nanoseconds.
    pub lost_after_ns: u64,
    /// Who answers, but tells nothing of its load for so long, is lost too, nanoseconds.
    pub hangs_after_ns: u64,
    /// How many names requests have.
    pub names: u16,
    /// Where the measured phase begins, nanoseconds since the load's first due time.
    pub measured_from_ns: u64,
}

/// What workers have used, together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Used {
    /// Processor time, nanoseconds.
    pub cpu_ns: u64,
    /// The most memory that each had, summed up, bytes.
    pub max_rss_bytes: u64,
}

/// What is known of a worker's clock, and of how it kept to it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WorkerClock {
    /// By how much what is known of it may be wrong, nanoseconds.
    pub unknown_ns: u64,
    /// How late the worker began by it, nanoseconds.
    pub late_ns: u64,
    /// By how much it has moved since, at least, nanoseconds.
    pub moved_ns: u64,
}

impl WorkerClock {
    /// How far from the others' its load may have been, nanoseconds.
    #[must_use]
    pub fn apart_ns(&self) -> u64 {
        self.unknown_ns + self.late_ns + self.moved_ns
    }
}

struct Worker {
    start: Start,
    /// What it is to do, until it is told.
    job: Option<Box<Job>>,
    child: Option<Child>,
    silence: Silence,
    /// Since when it has told nothing of its load.
    told: Silence,
    /// Whether it has said what it is.
    is_greeted: bool,
    /// Where it is; known when it is ready.
    host: Option<Host>,
    /// What is known of its clock, after how many exchanges, and by how much it has moved since.
    offset: Option<Offset>,
    exchanges: usize,
    moved: Moved,
    /// What it did.
    health: PartHealth,
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
    /// By which workers are heard that are still to be started.
    tell: SyncSender<(usize, Said)>,
    said: Receiver<(usize, Said)>,
    gather: Gather,
    current: Option<Box<Slice>>,
    clock: Clock,
    has_begun: bool,
    lost: Option<Lost>,
    refused: Option<FleetError>,
    used: Used,
    /// What workers did in the seconds that have become whole.
    seconds: Vec<(String, PartSecond)>,
    pinged_ns: u64,
    looked_ns: u64,
    /// How many processes had been ended for want of memory before.
    short_of_memory: u64,
}

impl Fleet<'_> {
    /// What the workers have used that have told all.
    #[must_use]
    pub fn used(&self) -> Used {
        self.used
    }

    /// What is known of each worker's clock, by name.
    pub fn clocks(&self) -> impl Iterator<Item = (&str, WorkerClock)> {
        self.workers.iter().map(|of| {
            let clock = WorkerClock {
                unknown_ns: of.offset.map_or(0, |offset| offset.ways_ns / 2),
                late_ns: of.late_ns.unwrap_or_default(),
                moved_ns: of.moved.most_ns(),
            };
            (of.start.name.as_str(), clock)
        })
    }

    /// Workers whose own figures would make a run not valid, with why.
    pub fn complaints(&self) -> impl Iterator<Item = (&str, String)> {
        self.workers.iter().flat_map(|of| {
            let complaints = of.health.complaints().into_iter();
            complaints.map(|complaint| (of.start.name.as_str(), complaint))
        })
    }

    /// Pairs of workers that use the same processors though they are started as if alone.
    pub fn shared(&self) -> impl Iterator<Item = (&str, &str)> {
        let elsewhere = self.workers.iter().filter(|of| of.start.at != At::Here).enumerate();
        elsewhere.filter_map(|(number, worker)| {
            let shares = |of: &&Worker| {
                let hosts = of.host.as_ref().zip(worker.host.as_ref());
                hosts.is_some_and(|(one, other)| one.shares_processors(other))
            };
            let others = self.workers.iter().filter(|of| of.start.at != At::Here).take(number);
            let other = others.into_iter().find(shares)?;
            Some((other.start.name.as_str(), worker.start.name.as_str()))
        })
    }
}

impl Worker {
    fn new(start: Start, job: Job, now_ns: u64) -> Self {
        Self {
            start,
            job: Some(Box::new(job)),
            child: None,
            silence: Silence::from(now_ns),
            told: Silence::from(now_ns),
            is_greeted: false,
            host: None,
            offset: None,
            exchanges: 0,
            moved: Moved::default(),
            health: PartHealth::default(),
            late_ns: None,
            has_ended: false,
            is_closed: false,
            exited: None,
        }
    }

    /// Tells it what to do. Who does not listen is about to be heard of.
    fn tell(&mut self, order: &Order) {
        let _ = self.child.as_mut().map(|child| child.tell(order));
    }
}

impl Engine for Fleet<'_> {
    fn clock(&self) -> Clock {
        self.clock
    }

    fn offer(&mut self, from_ns: u64, part: usize, _times: &Times) {
        self.tell_all(|| Order::Offer { from_ns, part });
    }

    fn offer_rate(
        &mut self,
        from_ns: u64,
        rate_per_s: f64,
        length_ns: u64,
    ) -> Result<(), ScheduleError> {
        Times::at_rate(rate_per_s, length_ns)?;
        self.tell_all(|| Order::OfferRate { from_ns, rate_per_s, length_ns });
        Ok(())
    }

    fn lead_ns(&self) -> u64 {
        let ways = self.workers.iter().filter_map(|of| of.offset).map(|of| of.ways_ns);
        LEAD_NS + 2 * ways.max().unwrap_or_default()
    }

    fn discard_waiting(&mut self) {
        self.tell_all(|| Order::DiscardWaiting);
    }

    fn measure_from(&mut self, at_ns: u64) {
        self.terms.measured_from_ns = at_ns;
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

    fn parts(&mut self) -> Vec<(String, PartSecond)> {
        std::mem::take(&mut self.seconds)
    }

    fn lost(&self) -> Option<Lost> {
        self.lost.clone()
    }
}

impl Drop for Fleet<'_> {
    /// No worker outlives it.
    fn drop(&mut self) {
        let children = self.workers.iter_mut().filter_map(|of| of.child.as_mut());
        children.for_each(Child::let_go);
        let mut waiting = Silence::from(monotonic_ns());
        let mut is_killed = false;
        while self.workers.iter().any(|of| of.child.is_some() && of.exited.is_none()) {
            let waited_ns = waiting.look(monotonic_ns());
            if waited_ns > END_NS && !is_killed {
                self.workers.iter().filter_map(|of| of.child.as_ref()).for_each(Child::kill);
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
