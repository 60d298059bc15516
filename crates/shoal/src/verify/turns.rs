//! Who is asked when.
//!
//! A network (a /24, of IPv6 a /56) is asked at most once an interval; the interval is drawn out by
//! up to a fifth, so that questions spread. Within a network three turns of four are of aims not
//! looked at yet; the others alternate between those that wait for a second look and those known,
//! oldest look first. Between networks turns alternate between those never asked and the others:
//! neither a crowd of new ones nor the many known hold anybody up. Each call does a bounded amount
//! of work, whatever the number of caches.
//!
//! Two failures in a row make a cache `failing`, one success `verified`. Silence and a gateway's
//! error may be the origin's fault or that of the way there: as a second failure they count only
//! where another cache has delivered since the first, so that an origin that is away takes no cache
//! off the list. Another answer than the object may be the origin's fault, too: where caches of
//! other networks are asked, it counts once another one has delivered since, or with the third
//! failure in a row; and never while several networks answer alike and nobody delivers.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

use indexmap::IndexMap;
use indexmap::map::Entry;
use ipnet::IpNet;
use plimsoll_workload::random::Stream;

use super::opinions::Opinions;
use super::{Aim, Allowed, IN_FLIGHT, NotAllowed, Outcome, Weight};
use crate::address::network24;
use crate::registry::Cache;

/// The most of an interval by which it is drawn out.
const JITTER: f64 = 0.2;

/// The most of an interval that a network never asked waits, so that a crowd spreads.
const FIRST: f64 = 0.05;

/// Failures in a row that speak against a cache whose answer might be the object's fault, while
/// others were asked.
const PATIENCE: u32 = 3;

/// Of so many turns of a network, one is not for aims that were never looked at.
const CYCLE: u8 = 4;

/// The most aims and networks that one call passes over, as those whose caches have left.
const LOOKS: usize = 64;

/// Who is asked when. Times are of a monotonic clock, nanoseconds.
#[derive(Debug)]
pub struct Turns {
    allowed: Allowed,
    every_ns: u64,
    random: Stream,
    aims: IndexMap<Aim, Known>,
    networks: IndexMap<IpNet, Network>,
    /// Networks that were never asked, by when they are due.
    fresh: BinaryHeap<Reverse<(u64, IpNet)>>,
    /// The others.
    rest: BinaryHeap<Reverse<(u64, IpNet)>>,
    rest_is_next: bool,
    in_flight: usize,
    /// When the last answer was good.
    good_ns: Option<u64>,
    /// What is said of the object itself.
    opinions: Opinions,
}

#[derive(Debug, Default)]
struct Known {
    caches: Vec<Arc<Cache>>,
    /// What was last found.
    good: Option<bool>,
    /// When the first failure after the last success was.
    failing_since: Option<u64>,
    /// Failures after the last success.
    failures: u32,
}

/// Aims of one network that wait for their turn.
#[derive(Debug, Default)]
struct Network {
    /// Never looked at.
    fresh: VecDeque<Aim>,
    /// That failed once.
    again: VecDeque<Aim>,
    others: VecDeque<Aim>,
    /// Of [`CYCLE`].
    turn: u8,
    others_are_next: bool,
    /// Aims being asked.
    asked: usize,
}

/// What became of a cache that joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Joined {
    /// It will be asked.
    Waits,
    /// What is at its address and port was asked before, and was found good or not.
    Known(bool),
    /// It will never be asked.
    NotAllowed(NotAllowed),
}

/// What was found out.
#[derive(Debug, Clone)]
pub struct Finding {
    /// About whom.
    pub caches: Vec<Arc<Cache>>,
    /// Whether they deliver.
    pub good: bool,
}

impl Turns {
    /// Nobody's turn yet.
    #[must_use]
    pub fn new(allowed: Allowed, every_ns: u64, random: Stream) -> Self {
        Self {
            allowed,
            every_ns,
            random,
            aims: IndexMap::new(),
            networks: IndexMap::new(),
            fresh: BinaryHeap::new(),
            rest: BinaryHeap::new(),
            rest_is_next: false,
            in_flight: 0,
            good_ns: None,
            opinions: Opinions::default(),
        }
    }

    /// Aims that are asked, or wait for it.
    #[must_use]
    pub fn aims(&self) -> usize {
        self.aims.len()
    }

    /// Questions that are not over.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Takes a cache in. One that has left is forgotten when its turn comes.
    pub fn join(&mut self, now_ns: u64, cache: &Arc<Cache>) -> Joined {
        let identity = cache.identity();
        let Some(address) = identity.address.or(identity.private_ip) else {
            return Joined::NotAllowed(NotAllowed::Address);
        };
        if let Err(reason) = self.allowed.check(address, identity.port) {
            return Joined::NotAllowed(reason);
        }
        let aim = Aim { address, port: identity.port, kind: cache.kind };
        match self.aims.entry(aim) {
            Entry::Occupied(mut known) => {
                let known = known.get_mut();
                known.caches.retain(|cache| cache.alive());
                known.caches.push(Arc::clone(cache));
                known.good.map_or(Joined::Waits, Joined::Known)
            }
            Entry::Vacant(place) => {
                place.insert(Known { caches: vec![Arc::clone(cache)], ..Known::default() });
                self.wait(now_ns, aim);
                Joined::Waits
            }
        }
    }

    /// Has an aim that is new wait for its turn.
    fn wait(&mut self, now_ns: u64, aim: Aim) {
        let network = network24(aim.address);
        match self.networks.entry(network) {
            Entry::Occupied(mut known) => known.get_mut().fresh.push_back(aim),
            Entry::Vacant(place) => {
                place.insert(Network { fresh: [aim].into(), ..Network::default() });
                let due_ns = now_ns + self.part(FIRST);
                self.fresh.push(Reverse((due_ns, network)));
            }
        }
    }

    /// Up to that part of an interval.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below 584 years")]
    fn part(&mut self, most: f64) -> u64 {
        (self.random.uniform() * most * self.every_ns as f64) as u64
    }

    /// Whom to ask now, if it is anybody's turn; to be called until it is nobody's. Each is told
    /// of by [`Turns::done`].
    pub fn next(&mut self, now_ns: u64) -> Option<Aim> {
        for _ in 0..LOOKS {
            if self.in_flight >= IN_FLIGHT {
                return None;
            }
            let network = self.due(now_ns)?;
            let Some(members) = self.networks.get_mut(&network) else { continue };
            let taken = members.take(&mut self.aims);
            match taken {
                Taken::Aim(aim) => {
                    self.in_flight += 1;
                    let due_ns = now_ns + self.every_ns + self.part(JITTER);
                    self.rest.push(Reverse((due_ns, network)));
                    return Some(aim);
                }
                // Its turn is not used up.
                Taken::More => self.rest.push(Reverse((now_ns, network))),
                Taken::Later => self.rest.push(Reverse((now_ns + self.every_ns, network))),
                // It may come back as a new one: an interval has passed since it was asked.
                Taken::Empty => {
                    self.networks.swap_remove(&network);
                    self.opinions.forget(network);
                }
            }
        }
        None
    }

    /// Takes a network whose time has come.
    fn due(&mut self, now_ns: u64) -> Option<IpNet> {
        let is_due = |heap: &BinaryHeap<Reverse<(u64, IpNet)>>| {
            heap.peek().is_some_and(|Reverse((due_ns, _))| *due_ns <= now_ns)
        };
        let (fresh, rest) = (is_due(&self.fresh), is_due(&self.rest));
        let takes_rest = rest && (self.rest_is_next || !fresh);
        self.rest_is_next = !takes_rest;
        let heap = match (takes_rest, fresh) {
            (true, _) => &mut self.rest,
            (false, true) => &mut self.fresh,
            (false, false) => return None,
        };
        heap.pop().map(|Reverse((_, network))| network)
    }

    /// Takes in what came of a question, and says what it means for whom, if it means anything.
    pub fn done(&mut self, now_ns: u64, aim: Aim, outcome: Outcome) -> Option<Finding> {
        self.in_flight = self.in_flight.saturating_sub(1);
        let home = network24(aim.address);
        self.opinions.note(home, outcome);
        let delivered_since = |since: u64| self.good_ns.is_some_and(|good_ns| good_ns > since);
        let (is_alone, are_alike) = (self.networks.len() < 2, self.opinions.are_alike(outcome));
        let known = self.aims.get_mut(&aim)?;
        known.failures = if outcome == Outcome::Good { 0 } else { known.failures + 1 };
        let mut is_first_failure = false;
        let good = match (outcome.weight(), known.failing_since) {
            (Weight::Good, _) => {
                known.failing_since = None;
                self.good_ns = Some(now_ns);
                Some(true)
            }
            (_, None) => {
                known.failing_since = Some(now_ns);
                is_first_failure = true;
                None
            }
            (Weight::Bad, Some(_)) => Some(false),
            (Weight::Doubtful, Some(since)) => delivered_since(since).then_some(false),
            (Weight::Either, Some(since)) => {
                let is_its_own = is_alone || (known.failures >= PATIENCE && !are_alike);
                (delivered_since(since) || is_its_own).then_some(false)
            }
        };
        known.good = good.or(known.good);
        known.caches.retain(|cache| cache.alive());
        let caches = known.caches.clone();
        if let Some(network) = self.networks.get_mut(&home) {
            network.asked = network.asked.saturating_sub(1);
            if is_first_failure {
                network.again.push_back(aim);
            } else {
                network.others.push_back(aim);
            }
        }
        good.filter(|_| !caches.is_empty()).map(|good| Finding { caches, good })
    }

    /// What caches of several networks answer alike while nobody delivers, and how many networks
    /// do: the object does not answer as it should.
    #[must_use]
    pub fn suspicion(&self) -> Option<(Outcome, usize)> {
        self.opinions.suspicion()
    }
}

enum Taken {
    Aim(Aim),
    /// There may be one, but enough were passed over.
    More,
    /// None can be asked now.
    Later,
    /// There is none.
    Empty,
}

impl Network {
    /// Takes the aim whose turn it is; forgets those whose caches have left, and passes over those
    /// that an operator took out of service.
    fn take(&mut self, aims: &mut IndexMap<Aim, Known>) -> Taken {
        let waiting = self.waiting();
        let mut left = 0;
        for _ in 0..LOOKS.min(waiting) {
            let Some(aim) = self.pop() else { break };
            let Some(known) = aims.get_mut(&aim) else { continue };
            known.caches.retain(|cache| cache.alive());
            if known.caches.is_empty() {
                aims.swap_remove(&aim);
                left += 1;
            } else if known.caches.iter().all(|cache| cache.state().is_operators()) {
                self.others.push_back(aim);
            } else {
                self.asked += 1;
                return Taken::Aim(aim);
            }
        }
        match (self.waiting() == 0, self.asked) {
            (true, 0) => Taken::Empty,
            (false, _) if left > 0 => Taken::More,
            _ => Taken::Later,
        }
    }

    fn waiting(&self) -> usize {
        self.fresh.len() + self.again.len() + self.others.len()
    }

    fn pop(&mut self) -> Option<Aim> {
        self.turn = (self.turn + 1) % CYCLE;
        let is_of_fresh = self.turn != 0 || (self.again.is_empty() && self.others.is_empty());
        if is_of_fresh && let Some(aim) = self.fresh.pop_front() {
            return Some(aim);
        }
        let takes_others =
            !self.others.is_empty() && (self.others_are_next || self.again.is_empty());
        self.others_are_next = !takes_others;
        if takes_others { self.others.pop_front() } else { self.again.pop_front() }
    }
}
