//! From nothing to a load that has begun.

use super::{Fleet, LOOK, Terms, Worker};
use crate::child::Child;
use crate::clock::{EXCHANGES, Moved};
use crate::error::FleetError;
use crate::gather::Gather;
use crate::memory;
use crate::message::{Greeting, Order};
use crate::silence::Silence;
use crate::start::At;
use plimsoll_load::clock::{Clock, monotonic_ns};
use plimsoll_load::run::Lost;
use std::sync::mpsc::sync_channel;

/// A worker that is not ready has to come on within so long.
const READY_WITHIN_S: u64 = 60;
/// The load begins so long after all are ready, at least.
const AHEAD_NS: u64 = 1_000_000_000;
/// So many workers are on their way at once: servers of SSH let in no more at a time.
const AT_ONCE: usize = 16;
/// So much that was said waits to be heard: whoever says more waits.
const MOST_UNHEARD: usize = 256;
/// So much of what a worker is told counts as coming on, bytes.
const COMES_ON: u64 = 64 << 10;

impl<'a> Fleet<'a> {
    /// Starts workers, waits until all are ready, and has them begin at one moment, a second ahead
    /// or more. Whether it is interrupted is asked several times a second.
    ///
    /// # Errors
    /// [`FleetError`]: nothing was sent.
    pub fn start(
        mut terms: Terms<'a>,
        mut interrupted: impl FnMut() -> bool,
    ) -> Result<Self, FleetError> {
        let (tell, said) = sync_channel(MOST_UNHEARD);
        let (now_ns, short_of_memory) = (monotonic_ns(), memory::killed(terms.system));
        let jobs = std::mem::take(&mut terms.workers).into_iter();
        let workers: Vec<Worker> =
            jobs.map(|(start, job)| Worker::new(start, job, now_ns)).collect();
        let gather = Gather::of(workers.len());
        let clock = Clock::from_origin(now_ns);
        let mut fleet = Self {
            terms,
            workers,
            tell,
            said,
            gather,
            current: None,
            clock,
            has_begun: false,
            lost: None,
            refused: None,
            used: Default::default(),
            seconds: Vec::new(),
            pinged_ns: now_ns,
            looked_ns: now_ns,
            short_of_memory,
        };
        fleet.until(&mut interrupted, |worker| worker.host.is_some())?;
        fleet.are_hosts_apart()?;
        for _ in 0..EXCHANGES {
            let before = fleet.workers.iter().map(|of| of.exchanges).min().unwrap_or_default();
            fleet.ask_time();
            fleet.until(&mut interrupted, |worker| worker.exchanges > before)?;
        }
        fleet.begin();
        Ok(fleet)
    }

    /// Starts those that are not started, some at once.
    fn start_more(&mut self) -> Result<(), FleetError> {
        let coming = self.workers.iter().filter(|of| of.child.is_some() && !of.is_greeted).count();
        let not_started = self.workers.iter_mut().enumerate().filter(|(_, of)| of.child.is_none());
        for (number, worker) in not_started.take(AT_ONCE.saturating_sub(coming)) {
            let child = Child::start(&worker.start, number, &self.tell);
            let error = |source| FleetError::Start { worker: worker.start.name.clone(), source };
            worker.child = Some(child.map_err(error)?);
        }
        Ok(())
    }

    /// Hears workers until all are as wanted.
    fn until(
        &mut self,
        interrupted: &mut dyn FnMut() -> bool,
        is_as_wanted: impl Fn(&Worker) -> bool,
    ) -> Result<(), FleetError> {
        let mut waiting = Silence::from(monotonic_ns());
        let mut came_on = 0;
        loop {
            if let Some(error) = self.refused.take() {
                return Err(error);
            }
            if let Some(Lost { worker, cause, .. }) = self.lost.take() {
                return Err(FleetError::Lost { worker, cause });
            }
            let missing = self.workers.iter().filter(|of| !is_as_wanted(of));
            let missing: Vec<&str> = missing.map(|of| of.start.name.as_str()).collect();
            if missing.is_empty() {
                return Ok(());
            }
            if interrupted() {
                return Err(FleetError::Interrupted);
            }
            let comes_on = self.workers.iter().map(Worker::came_on).sum();
            if comes_on > came_on {
                came_on = comes_on;
                waiting.end();
            }
            if waiting.look(monotonic_ns()) > READY_WITHIN_S * 1_000_000_000 {
                return Err(FleetError::Late {
                    of: self.workers.len(),
                    ready: self.workers.len() - missing.len(),
                    within_s: READY_WITHIN_S,
                    missing: missing.join(", "),
                });
            }
            self.start_more()?;
            self.listen(LOOK);
        }
    }

    /// Refuses hosts that are one: its processors would count twice.
    fn are_hosts_apart(&self) -> Result<(), FleetError> {
        let own = || self.workers.iter().filter(|of| of.start.at == At::OwnHost);
        for (number, worker) in own().enumerate() {
            let is_same = |of: &&Worker| {
                of.host.as_ref().zip(worker.host.as_ref()).is_some_and(|(one, two)| one.is(two))
            };
            if let Some(other) = own().take(number).find(is_same) {
                return Err(FleetError::Same {
                    one: other.start.name.clone(),
                    two: worker.start.name.clone(),
                });
            }
        }
        Ok(())
    }

    /// Has a worker greeted that has said what it is, and told what it is to do.
    pub(super) fn greet(&mut self, number: usize) {
        let (version, inputs) = (self.terms.version, &self.terms.inputs);
        let Some(worker) = self.workers.get_mut(number) else { return };
        worker.is_greeted = true;
        let (Some(child), Some(job)) = (&mut worker.child, worker.job.take()) else { return };
        // Who does not listen is about to be heard of.
        let _ = child.greet(&Greeting::of(version));
        if worker.start.at != At::Here {
            inputs.iter().for_each(|input| drop(child.give(input)));
        }
        let _ = child.tell(&Order::Job(job));
    }

    fn begin(&mut self) {
        let offsets = self.workers.iter().filter_map(|of| of.offset);
        let longest_ns = offsets.map(|of| of.ways_ns).max().unwrap_or_default();
        let start_ns = monotonic_ns() + AHEAD_NS.max(4 * longest_ns);
        self.clock = Clock::from_origin(start_ns);
        self.has_begun = true;
        for worker in &mut self.workers {
            let at_ns = worker.offset.map_or(start_ns, |offset| offset.theirs(start_ns));
            worker.told = Silence::from(start_ns);
            worker.moved = Moved::since(worker.offset, start_ns);
            worker.tell(&Order::Begin { at_ns });
        }
    }
}

impl Worker {
    /// How far it has come on its way to a load; it only grows.
    fn came_on(&self) -> u64 {
        let copied = self.child.as_ref().map_or(0, Child::told_bytes) / COMES_ON;
        copied + u64::from(self.is_greeted) + u64::from(self.host.is_some()) + self.exchanges as u64
    }
}
