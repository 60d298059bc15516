//! Engines: requests in, response times and losses out.
//!
//! All of them know a request's departure when it is accepted, and give the same figures on what
//! several can run; [`Engine::new`] takes the fastest.

mod balancer;
mod compare;
mod general;
mod lanes;
mod sharing;
mod tally;
mod winner;

pub use balancer::{Choice, Ties};
pub use tally::{Loss, TICK_NS, Tally};

use balancer::Balancer;
use general::General;
use lanes::Lanes;
use plimsoll_workload::random::Stream;
use sharing::Sharing;

/// Service times are multiplied by a slowness over this: at speed 1.
pub const ONE: u64 = 1 << 32;

/// What is the same for all instances and does not change.
#[derive(Debug, Clone)]
pub struct Rules {
    /// Requests that an instance serves at once.
    pub cores: u32,
    /// The most requests of an instance, in service or waiting.
    pub limit: Option<u32>,
    /// Which instance takes a request.
    pub choice: Choice,
    /// The most requests that wait at the balancer.
    pub queue_room: usize,
    /// How long a request waits there, ticks.
    pub queue_timeout: u64,
    /// After how long its client gives up, ticks since it was due.
    pub client_timeout: u64,
    /// How service slows down with the number of requests.
    pub slowdown: Slowdown,
    /// Whether instances can fail.
    pub can_fail: bool,
    /// Whether the requests of an instance share its cores; first come, first served otherwise.
    pub is_shared: bool,
}

impl Rules {
    /// Instances without a limit, behind a balancer without a queue; clients wait for ever.
    #[must_use]
    pub fn new(cores: u32) -> Self {
        Self {
            cores,
            limit: None,
            choice: Choice::Least(Ties::First),
            queue_room: 0,
            queue_timeout: u64::MAX,
            client_timeout: u64::MAX,
            slowdown: Slowdown::default(),
            can_fail: false,
            is_shared: false,
        }
    }

    /// How long a request waits at the balancer at most, and what it is lost to then.
    fn patience(&self) -> (u64, Loss) {
        if self.queue_timeout <= self.client_timeout {
            (self.queue_timeout, Loss::QueueTimeout)
        } else {
            (self.client_timeout, Loss::ClientTimeout)
        }
    }

    /// Whether the fast path can run it, with so many instances at most.
    fn is_fast(&self, slots: usize) -> bool {
        let limited = self.limit.is_some_and(|limit| (1..=lanes::MOST).contains(&limit));
        slots <= lanes::SLOTS
            && (1..=2).contains(&self.cores)
            && limited
            && self.choice == Choice::Least(Ties::First)
            && self.queue_room == 0
            && self.client_timeout == u64::MAX
            && self.slowdown.is_none()
            && !self.can_fail
            && !self.is_shared
    }
}

/// Service times by the number of requests that an instance has: factors over [`ONE`].
#[derive(Debug, Clone, Default)]
pub struct Slowdown {
    /// For 1, 2, … requests; the last for all above.
    factors: Vec<u64>,
}

impl Slowdown {
    /// Of factors for 1, 2, … requests.
    #[must_use]
    pub fn of(factors: &[f64]) -> Self {
        Self { factors: factors.iter().map(|&factor| fixed(factor)).collect() }
    }

    fn is_none(&self) -> bool {
        self.factors.is_empty()
    }

    /// The slowness of an instance with so many requests.
    #[inline]
    fn at(&self, present: u32, slowness: u64) -> u64 {
        let place = (present as usize).saturating_sub(1).min(self.factors.len().saturating_sub(1));
        match self.factors.get(place) {
            None => slowness,
            #[expect(clippy::cast_possible_truncation, reason = "factors are small")]
            Some(&factor) => (u128::from(slowness) * u128::from(factor) >> 32) as u64,
        }
    }
}

/// A factor over [`ONE`].
#[must_use]
pub fn fixed(factor: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let fixed = (factor * ONE as f64).round() as u64;
    fixed
}

/// A pool of instances behind a balancer.
pub struct Engine {
    path: Path,
    cores: u32,
}

enum Path {
    Fast(Box<Lanes>),
    General(Box<General>),
    Sharing(Box<Sharing>),
}

impl Engine {
    /// Room for so many instances, none of which is open; `chance` is what the balancer draws from.
    #[must_use]
    pub fn new(rules: &Rules, slots: usize, chance: Stream) -> Self {
        let cores = rules.cores;
        match rules.limit {
            Some(limit) if rules.is_fast(slots) => {
                Self { path: Path::Fast(Box::new(Lanes::new(limit))), cores }
            }
            _ => Self::general(rules, slots, chance),
        }
    }

    /// The same on the general path, whatever the fast one can do.
    #[must_use]
    pub fn general(rules: &Rules, slots: usize, chance: Stream) -> Self {
        let balancer = Balancer::new(rules.choice, slots, rules.limit, chance);
        let rules = rules.clone();
        let cores = rules.cores;
        let path = if rules.is_shared {
            Path::Sharing(Box::new(Sharing::new(rules, slots, balancer)))
        } else {
            Path::General(Box::new(General::new(rules, slots, balancer)))
        };
        Self { path, cores }
    }

    /// Begins to send requests to an instance that has none.
    pub fn open(&mut self, slot: usize, slowness: u64, now: u64) {
        match &mut self.path {
            Path::Fast(lanes) => lanes.open(slot, self.cores, slowness, now),
            Path::General(general) => general.open(slot, slowness, now),
            Path::Sharing(sharing) => sharing.open(slot, slowness, now),
        }
    }

    /// Sends no more requests to an instance; it finishes those that it has.
    pub fn close(&mut self, slot: usize) {
        match &mut self.path {
            Path::Fast(lanes) => lanes.close(slot),
            Path::General(general) => general.close(slot),
            Path::Sharing(sharing) => sharing.close(slot),
        }
    }

    /// How many requests an instance has.
    #[must_use]
    pub fn present(&self, slot: usize) -> u32 {
        match &self.path {
            Path::Fast(lanes) => lanes.present(slot),
            Path::General(general) => general.present(slot),
            Path::Sharing(sharing) => sharing.present(slot),
        }
    }

    /// When an instance has done all that it was given.
    #[must_use]
    pub fn done_at(&self, slot: usize) -> u64 {
        match &self.path {
            Path::Fast(lanes) => lanes.done_at(slot),
            Path::General(general) => general.done_at(slot),
            Path::Sharing(sharing) => sharing.done_at(slot),
        }
    }

    /// Work that was accepted and is not yet done, ticks of cores.
    #[must_use]
    pub fn backlog(&self, now: u64) -> u64 {
        match &self.path {
            Path::Fast(lanes) => lanes.backlog(now),
            Path::General(general) => general.backlog(now),
            Path::Sharing(_) => Sharing::backlog(),
        }
    }

    /// Ends an instance at once: what it has is lost. Where instances can fail, and only there.
    pub fn fail(&mut self, slot: usize, now: u64, tally: &mut Tally) {
        match &mut self.path {
            Path::Fast(lanes) => lanes.close(slot),
            Path::General(general) => general.fail(slot, now, tally),
            Path::Sharing(sharing) => sharing.fail(slot, now, tally),
        }
    }

    /// Requests that wait at the balancer.
    #[must_use]
    pub fn queued(&self) -> usize {
        match &self.path {
            Path::Fast(_) => 0,
            Path::General(general) => general.queued(),
            Path::Sharing(sharing) => sharing.queued(),
        }
    }

    /// Offers requests with their service times at speed 1, in the order in which they are due.
    pub fn offer(&mut self, due: &[u64], service: &[u64], tally: &mut Tally) {
        match &mut self.path {
            Path::Fast(lanes) => lanes.offer(due, service, tally),
            Path::General(general) => general.offer(due, service, tally),
            Path::Sharing(sharing) => sharing.offer(due, service, tally),
        }
    }

    /// Lets time pass without a request. Between two such moments lies no more than a minute.
    pub fn pass(&mut self, now: u64, tally: &mut Tally) {
        match &mut self.path {
            Path::Fast(lanes) => lanes.pass(now),
            Path::General(general) => general.pass(now, tally),
            Path::Sharing(sharing) => sharing.pass(now, tally),
        }
    }
}
