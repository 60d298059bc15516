//! Workers as one engine.

mod begin;
mod hear;

use crate::clock::{Moved, Offset};
use crate::crew::Crew;
use crate::gather::Gather;
use crate::message::{Job, Order};
use crate::silence::Silence;
use crate::start::{At, Input, Start};
use plimsoll_load::clock::{Clock, monotonic_ns};
use plimsoll_load::run::{Engine, Lost};
use plimsoll_load::{Slice, Times};
use plimsoll_runs::{PartHealth, PartSecond};
use plimsoll_workload::schedule::ScheduleError;
use std::path::Path;
use std::time::Duration;

/// By so much workers are told earlier of what begins, beside what the way takes: a worker looks
/// for orders every 25 ms.
const LEAD_NS: u64 = 60_000_000;
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

/// A worker's part of the load.
#[derive(Default)]
struct Load {
    /// Since when it has told nothing of it.
    told: Silence,
    /// What is known of its clock, after how many exchanges, and by how much it has moved since.
    offset: Option<Offset>,
    exchanges: usize,
    moved: Moved,
    /// What it did.
    health: PartHealth,
    /// How late it began, by its own clock.
    late_ns: Option<u64>,
}

/// Workers that have a load together.
pub struct Fleet {
    crew: Crew,
    loads: Vec<Load>,
    /// Who answers, but tells nothing of its load for so long, is lost too, nanoseconds.
    hangs_after_ns: u64,
    /// How many names requests have.
    names: u16,
    /// Where the measured phase begins, nanoseconds since the load's first due time.
    measured_from_ns: u64,
    gather: Gather,
    current: Option<Box<Slice>>,
    clock: Clock,
    lost: Option<Lost>,
    used: Used,
    /// What workers did in the seconds that have become whole.
    seconds: Vec<(String, PartSecond)>,
}

impl Fleet {
    /// What the workers have used that have told all.
    #[must_use]
    pub fn used(&self) -> Used {
        self.used
    }

    /// What is known of each worker's clock, by name.
    pub fn clocks(&self) -> impl Iterator<Item = (&str, WorkerClock)> {
        self.loads.iter().enumerate().map(|(number, of)| {
            let clock = WorkerClock {
                unknown_ns: of.offset.map_or(0, |offset| offset.ways_ns / 2),
                late_ns: of.late_ns.unwrap_or_default(),
                moved_ns: of.moved.most_ns(),
            };
            (self.crew.name(number), clock)
        })
    }

    /// Workers whose own figures would make a run not valid, with why.
    pub fn complaints(&self) -> impl Iterator<Item = (&str, String)> {
        self.loads.iter().enumerate().flat_map(|(number, of)| {
            let (name, complaints) = (self.crew.name(number), of.health.complaints());
            complaints.into_iter().map(move |complaint| (name, complaint))
        })
    }

    /// Pairs of workers that use the same processors though they are started as if alone.
    pub fn shared(&self) -> impl Iterator<Item = (&str, &str)> {
        let elsewhere = || {
            let hosts = (0..self.crew.len()).filter_map(|of| Some((of, self.crew.host(of)?)));
            hosts.filter(|(_, (_, at))| *at != At::Here).map(|(of, (host, _))| (of, host))
        };
        elsewhere().filter_map(move |(number, host)| {
            let mut before = elsewhere().take_while(|(other, _)| *other < number);
            let (other, _) = before.find(|(_, other)| other.shares_processors(host))?;
            Some((self.crew.name(other), self.crew.name(number)))
        })
    }
}

impl Engine for Fleet {
    fn clock(&self) -> Clock {
        self.clock
    }

    fn offer(&mut self, from_ns: u64, part: usize, _times: &Times) {
        self.crew.tell_all(|| Order::Offer { from_ns, part });
    }

    fn offer_rate(
        &mut self,
        from_ns: u64,
        rate_per_s: f64,
        length_ns: u64,
    ) -> Result<(), ScheduleError> {
        Times::at_rate(rate_per_s, length_ns)?;
        self.crew.tell_all(|| Order::OfferRate { from_ns, rate_per_s, length_ns });
        Ok(())
    }

    fn lead_ns(&self) -> u64 {
        let ways = self.loads.iter().filter_map(|of| of.offset).map(|of| of.ways_ns);
        LEAD_NS + 2 * ways.max().unwrap_or_default()
    }

    fn discard_waiting(&mut self) {
        self.crew.tell_all(|| Order::DiscardWaiting);
    }

    fn measure_from(&mut self, at_ns: u64) {
        self.measured_from_ns = at_ns;
        self.crew.tell_all(|| Order::MeasureFrom(at_ns));
    }

    fn end_at(&mut self, at_ns: u64) {
        self.crew.tell_all(|| Order::EndAt(at_ns));
    }

    fn stop(&mut self) {
        self.crew.tell_all(|| Order::Stop);
    }

    fn abort(&mut self) {
        self.crew.tell_all(|| Order::Abort);
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
