//! Engines: requests in, response times and losses out.
//!
//! Most of them know a request's departure when it is accepted; the tally counts it when it has
//! left. All give the same figures on what several can run; [`Engine::new`] takes the fastest.

mod balancer;
mod compare;
mod departures;
mod dispatch;
mod general;
mod lanes;
mod levels;
mod queue;
mod sharing;
mod tally;
mod winner;

pub use crate::outcome::Loss;
pub(super) use compare::has_vectors;
pub(super) use tally::GREATEST;
pub use tally::{TICK_NS, Tally};

use dispatch::{Dispatcher, Instances};
use general::General;
use lanes::Lanes;
use plimsoll_workload::pool::{Choice, Ties};
use plimsoll_workload::random::Stream;
use sharing::Sharing;

/// Service times are multiplied by a slowness over this: at speed 1.
pub const ONE: u64 = 1 << 32;
/// No instance is slower or faster than by this factor.
const MOST_SLOW: u64 = 1 << 10;
/// The most cores of an instance.
pub const MOST_CORES: u32 = 256;

/// What is the same for all instances and does not change.
#[derive(Debug, Clone)]
pub struct Rules {
    /// Requests that an instance serves at once, from 1 to [`MOST_CORES`].
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
    pub slowdown: SlowdownTable,
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
            choice: Choice::Fair(Ties::First),
            queue_room: 0,
            queue_timeout: u64::MAX,
            client_timeout: u64::MAX,
            slowdown: SlowdownTable::default(),
            can_fail: false,
            is_shared: false,
        }
    }

    /// The same for a pool that never has more than one instance: there is nothing to choose.
    #[must_use]
    pub fn of_one_instance(self) -> Self {
        match self.limit {
            None => Self { choice: Choice::RoundRobin, ..self },
            Some(_) => self,
        }
    }

    /// With a number of cores that an engine can have.
    fn bounded(&self) -> Self {
        Self { cores: self.cores.clamp(1, MOST_CORES), ..self.clone() }
    }

    /// What a request is lost to whose instance fails: its client may have given up before.
    fn fails_as(&self, due: u64, now: u64) -> Loss {
        let is_waited_for = now - due < self.client_timeout;
        if is_waited_for { Loss::InstanceFailed } else { Loss::ClientTimeout }
    }

    /// Whether the fast path can run it, as long as there are no more instances than it can have.
    fn is_fast(&self) -> bool {
        let is_limited = self.limit.is_some_and(|limit| (1..=lanes::MOST).contains(&limit));
        (1..=2).contains(&self.cores)
            && is_limited
            && self.choice.ties() == Some(Ties::First)
            && self.queue_room == 0
            && self.client_timeout == u64::MAX
            && self.slowdown.is_none()
            && !self.can_fail
            && !self.is_shared
    }
}

/// Service times by the number of requests that an instance has: factors over [`ONE`]. First come
/// first served, the number when a request comes counts for all its service; where requests share
/// the cores, the number at each moment does.
#[derive(Debug, Clone, Default)]
pub struct SlowdownTable {
    /// For 1, 2, … requests; the last for all above.
    factors: Vec<u64>,
}

impl SlowdownTable {
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
        if self.is_none() {
            return slowness;
        }
        let place = (present as usize).saturating_sub(1).min(self.factors.len().saturating_sub(1));
        match self.factors.get(place) {
            None => slowness,
            Some(&factor) => scaled(slowness, factor).min(MOST_SLOW * ONE),
        }
    }
}

/// What was done at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Account {
    /// Requests that were served in time.
    pub served: u64,
    /// The time that requests were there, ticks modulo 2⁶⁴: differences over a time are what
    /// counts.
    pub stayed: u64,
}

/// A factor over [`ONE`].
#[must_use]
pub fn fixed(factor: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let fixed = (factor * ONE as f64).round() as u64;
    fixed
}

/// A number times a factor over [`ONE`].
#[inline(always)]
fn scaled(number: u64, factor: u64) -> u64 {
    #[expect(clippy::cast_possible_truncation, reason = "factors are at most 2¹⁰")]
    let scaled = ((u128::from(number) * u128::from(factor)) >> 32) as u64;
    scaled
}

/// A pool of instances behind a balancer. Instances have places, from 0; there is no end of them.
///
/// Times are ticks of [`TICK_NS`] and never go back. Service times are at most 2³⁸ ticks.
pub struct Engine {
    path: Path,
    rules: Rules,
    chance: Stream,
}

enum Path {
    Fast(Box<Lanes>),
    General(Box<Dispatcher<General>>),
    Sharing(Box<Dispatcher<Sharing>>),
}

/// Does the same on whichever path it is.
macro_rules! on_path {
    ($path:expr, $of:ident => $fast:expr, $general:expr) => {
        match $path {
            Path::Fast($of) => $fast,
            Path::General($of) => $general,
            Path::Sharing($of) => $general,
        }
    };
}

impl Engine {
    /// No instance is open; `chance` is what the balancer draws from.
    #[must_use]
    pub fn new(rules: &Rules, chance: Stream) -> Self {
        Self::fast(rules, chance, true)
    }

    /// The same without the machine's vector instructions.
    #[must_use]
    pub fn portable(rules: &Rules, chance: Stream) -> Self {
        Self::fast(rules, chance, false)
    }

    fn fast(rules: &Rules, chance: Stream, with_vectors: bool) -> Self {
        match rules.limit {
            Some(limit) if rules.is_fast() => {
                let path = Path::Fast(Box::new(Lanes::new(limit, with_vectors)));
                Self { path, rules: rules.bounded(), chance }
            }
            _ => Self::general(rules, chance),
        }
    }

    /// The same on the general path, whatever the fast one can do.
    #[must_use]
    pub fn general(rules: &Rules, chance: Stream) -> Self {
        let (rules, drawn) = (rules.bounded(), chance.clone());
        let path = if rules.is_shared {
            Path::Sharing(Box::new(Dispatcher::new(&rules, Sharing::new(&rules), drawn)))
        } else {
            Path::General(Box::new(Dispatcher::new(&rules, General::new(&rules), drawn)))
        };
        Self { path, rules, chance }
    }

    /// Begins to send requests to an instance that has none: first those that wait at the balancer.
    pub fn open(&mut self, slot: usize, slowness: u64, now: u64, tally: &mut Tally) {
        let slowness = bounded(slowness);
        if slot >= lanes::SLOTS
            && let Path::Fast(lanes) = &self.path
        {
            self.path = Path::General(Box::new(self.beyond(lanes)));
        }
        let cores = self.rules.cores;
        on_path!(&mut self.path, of => of.open(slot, cores, slowness, now),
            of.open(slot, slowness, now, tally));
    }

    /// What the fast path has, on the general one, which gives the same figures from here on.
    fn beyond(&self, lanes: &Lanes) -> Dispatcher<General> {
        let general = General::new(&self.rules);
        let mut path = Dispatcher::new(&self.rules, general, self.chance.clone());
        let mut nothing = Tally::default();
        for slot in 0..lanes::SLOTS {
            if lanes.free(slot).next().is_none() {
                continue;
            }
            path.open(slot, lanes.slowness(slot), 0, &mut nothing);
            path.instances.set_given(slot, lanes.given(slot).work);
            path.set_present(slot, lanes.present(slot));
            path.set_given(slot, lanes.given(slot).count, lanes.stay_origin(slot));
            for (core, free) in lanes.free(slot).enumerate() {
                path.instances.take_over(slot, core, free, lanes.held(slot, core));
            }
            if !lanes.is_open(slot) {
                path.close(slot);
            }
        }
        path
    }

    /// Changes the speed of an instance, for requests that it accepts from now on.
    pub fn set_slowness(&mut self, slot: usize, slowness: u64) {
        let slowness = bounded(slowness);
        on_path!(&mut self.path, of => of.set_slowness(slot, slowness),
            of.instances.set_slowness(slot, slowness));
    }

    /// Sends no more requests to an instance; it finishes those that it has.
    pub fn close(&mut self, slot: usize) {
        on_path!(&mut self.path, of => of.close(slot), of.close(slot));
    }

    /// How many requests an instance has.
    #[must_use]
    pub fn present(&self, slot: usize) -> u32 {
        on_path!(&self.path, of => of.present(slot), of.present(slot))
    }

    /// When an instance has done all that it was given.
    #[must_use]
    pub fn done_at(&self, slot: usize) -> u64 {
        on_path!(&self.path, of => of.free(slot).max().unwrap_or(0),
            of.instances.done_at(slot))
    }

    /// The work that an instance has done since it was opened, ticks of cores. `now` is the time
    /// up to which [`Engine::pass`] went last.
    #[must_use]
    pub fn worked(&self, slot: usize, now: u64) -> u64 {
        on_path!(&self.path, of => of.worked(slot, now),
            of.instances.worked(slot, now))
    }

    /// The time that requests were at instances since the beginning, ticks modulo 2⁶⁴: differences
    /// over a time are what counts. `now` is the time up to which [`Engine::pass`] went last.
    #[must_use]
    pub fn presence(&self, now: u64) -> u64 {
        let places = on_path!(&self.path, _of => lanes::SLOTS, _of.places());
        let stayed = (0..places).map(|slot| self.account(slot, now).stayed);
        stayed.fold(0, u64::wrapping_add)
    }

    /// What was done at a place since the beginning, whichever instances stood there. `now` is the
    /// time up to which [`Engine::pass`] went last.
    #[must_use]
    pub fn account(&self, slot: usize, now: u64) -> Account {
        on_path!(&self.path, of => of.account(slot, now), of.account(slot, now))
    }

    /// Ends a stretch of time at which [`Engine::pass`] and the tally's horizon are: counts clients
    /// who have given up by now.
    pub fn settle(&mut self, now: u64, tally: &mut Tally) {
        on_path!(&mut self.path, _of => {}, _of.instances.settle(now, tally));
    }

    /// Says of each request that has neither been served nor lost when it was due.
    pub fn in_flight(&self, tally: &Tally, each: &mut dyn FnMut(u64)) {
        on_path!(&self.path, _of => tally.waiting().for_each(each), _of.in_flight(tally, each));
    }

    /// Ends an instance at once: what it has is lost. Only by rules under which instances can fail.
    pub fn fail(&mut self, slot: usize, now: u64, tally: &mut Tally) {
        on_path!(&mut self.path,
            _of => unreachable!("the fast path has counted what is lost: see `Rules::can_fail`"),
            _of.fail(slot, now, tally));
    }

    /// Requests that wait at the balancer.
    #[must_use]
    pub fn queued(&self) -> usize {
        on_path!(&self.path, _of => 0, _of.queued())
    }

    /// Offers requests with their service times at speed 1, as many, in the order in which they are
    /// due.
    pub fn offer(&mut self, due: &[u64], service: &[u64], tally: &mut Tally) {
        on_path!(&mut self.path, of => of.offer(due, service, tally),
            of.offer(due, service, tally));
    }

    /// Lets time pass without a request.
    pub fn pass(&mut self, now: u64, tally: &mut Tally) {
        on_path!(&mut self.path, of => of.pass(now), of.pass(now, tally));
    }
}

/// A slowness within bounds: so no sum of times is too large for its number.
fn bounded(slowness: u64) -> u64 {
    slowness.clamp(ONE / MOST_SLOW, ONE * MOST_SLOW)
}
