//! Instances of any number of cores, first come first served: clients that give up, service that is
//! slower the more there is to do, instances that fail.
//!
//! As on the fast path ([`super::lanes`]) a request's departure is known when an instance accepts
//! it: first come first served, each core knows when it is free; and so it is known whether its
//! client will have given up before. What is looked at again is only the head of each core, in
//! [`Departures`]. Requests are handed to the tally when they are accepted; where instances can
//! fail, when they leave.
//!
//! A core goes on with a request whose client has given up; one that no core has begun by then
//! leaves, and costs no work.

use super::balancer::Balancer;
use super::departures::{Departures, LATEST};
use super::dispatch::Instances;
use super::queue::Request;
use super::tally::Tally;
use super::{Rules, scaled};
use crate::outcome::Loss;
use std::collections::VecDeque;

/// What a core has instead of a head without one.
const NONE: Held = Held { due: 0, at: u64::MAX };
/// Instead of when it was due, of a request that was counted as lost, and is still worked on.
const GIVEN_UP: u64 = u64::MAX;

/// A request at a core.
#[derive(Debug, Clone, Copy)]
struct Held {
    due: u64,
    /// When it leaves.
    at: u64,
}

/// The state of all instances.
pub(super) struct General {
    rules: Rules,
    /// Whether no client gives up, no instance fails, and none is slower the more it has to do.
    is_plain: bool,
    cores: usize,
    departures: Departures,
    /// Cores, `rules.cores` for each instance: when it is free, what it serves, and what waits.
    free: Vec<u64>,
    head: Vec<Held>,
    behind: Vec<VecDeque<Held>>,
    /// Of each core its instance.
    slots: Vec<usize>,
    /// Of each instance: how slow it is, and the work that it was given since it was opened.
    slowness: Vec<u64>,
    given: Vec<u64>,
    /// Of each place: requests that left it, or will, without being served in time.
    lost: Vec<u64>,
    /// Those at instances whose clients will give up before they are served: when, and where.
    leaving: VecDeque<(u64, usize)>,
}

impl General {
    /// No instance is open.
    pub(super) fn new(rules: &Rules) -> Self {
        let is_patient = rules.client_timeout == u64::MAX;
        Self {
            rules: rules.clone(),
            is_plain: is_patient && !rules.can_fail && rules.slowdown.is_none(),
            cores: rules.cores as usize,
            departures: Departures::new(),
            free: Vec::new(),
            head: Vec::new(),
            behind: Vec::new(),
            slots: Vec::new(),
            slowness: Vec::new(),
            given: Vec::new(),
            lost: Vec::new(),
            leaving: VecDeque::new(),
        }
    }

    /// Says what work an instance was given elsewhere.
    pub(super) fn set_given(&mut self, slot: usize, given: u64) {
        self.given[slot] = given;
    }

    /// Gives a core what it has had elsewhere, and the tally has from there: when each request
    /// leaves, and when the last of them does.
    pub(super) fn take_over(
        &mut self,
        slot: usize,
        core: usize,
        free: u64,
        leave: impl Iterator<Item = u64>,
    ) {
        let core = slot * self.cores + core;
        self.free[core] = free;
        for at in leave {
            self.hold(core, Held { due: at, at });
        }
    }

    /// The head of a core has left; what waits behind it follows, and may have left as well.
    #[inline(never)]
    fn follow(&mut self, core: usize, now: u64, balancer: &mut Balancer, tally: &mut Tally) {
        loop {
            if self.rules.can_fail {
                count(&self.rules, self.head[core], tally);
            }
            let next = self.behind[core].pop_front();
            self.head[core] = next.unwrap_or(NONE);
            match next {
                Some(next) if next.at <= now => balancer.remove(self.slots[core], next.at),
                Some(next) => return self.departures.set(core, Some(next.at)),
                None => return,
            }
        }
    }

    /// Accepts a request that may slow down, fail, or be given up by its client.
    #[inline(never)]
    fn accept_any(
        &mut self,
        slot: usize,
        request: Request,
        present: u32,
        now: u64,
        tally: &mut Tally,
    ) {
        let gives_up = request.due.saturating_add(self.rules.client_timeout);
        if now.max(self.free[self.first_free(slot)]) >= gives_up {
            self.leaving.push_back((gives_up, slot));
            return;
        }
        let slowness = self.rules.slowdown.at(present, self.slowness[slot]);
        let held = self.place(slot, request, slowness, now);
        self.lost[slot] += u64::from(self.is_late(&held));
        if !self.rules.can_fail {
            count(&self.rules, held, tally);
        }
    }

    /// Gives a request to the core of an instance that is free first.
    #[inline(always)]
    fn place(&mut self, slot: usize, request: Request, slowness: u64, now: u64) -> Held {
        let core = self.first_free(slot);
        let work = scaled(request.service, slowness);
        let at = (now.max(self.free[core]) + work).min(LATEST);
        let held = Held { due: request.due, at };
        self.given[slot] += work;
        self.free[core] = at;
        self.hold(core, held);
        held
    }

    /// The core of an instance that is free first.
    #[inline(always)]
    fn first_free(&self, slot: usize) -> usize {
        let first = slot * self.cores;
        let free = &self.free[first..first + self.cores];
        let (mut core, mut earliest) = (0, free[0]);
        for (other, &at) in free.iter().enumerate().skip(1) {
            // Either is as likely: a branch would be guessed wrong half of the time.
            core = std::hint::select_unpredictable(at < earliest, other, core);
            earliest = earliest.min(at);
        }
        first + core
    }

    /// A core has one request more.
    #[inline(always)]
    fn hold(&mut self, core: usize, held: Held) {
        if self.head[core].at == NONE.at {
            self.head[core] = held;
            self.departures.set(core, Some(held.at));
        } else {
            self.behind[core].push_back(held);
        }
    }

    /// Whether a request's client will have given up, or has, before it is served.
    fn is_late(&self, held: &Held) -> bool {
        held.due == GIVEN_UP || held.at - held.due > self.rules.client_timeout
    }

    /// What the cores of an instance have.
    fn held(&self, slot: usize) -> impl Iterator<Item = &Held> {
        let cores = self.cores_of(slot);
        let heads = self.head.get(cores.clone()).unwrap_or_default().iter();
        let behind = self.behind.get(cores).unwrap_or_default().iter().flatten();
        heads.filter(|head| head.at != NONE.at).chain(behind)
    }

    fn cores_of(&self, slot: usize) -> std::ops::Range<usize> {
        slot * self.cores..(slot + 1) * self.cores
    }
}

/// Counts a request that an instance serves: in time, or for nobody.
#[inline(always)]
fn count(rules: &Rules, held: Held, tally: &mut Tally) {
    let Held { due, at } = held;
    if due == GIVEN_UP {
        return;
    }
    if at - due > rules.client_timeout {
        tally.lose_at(Loss::ClientTimeout, due, due + rules.client_timeout);
    } else {
        tally.serve_at(due, at);
    }
}

impl Instances for General {
    fn grow(&mut self, slots: usize) {
        if slots > self.slowness.len() {
            self.slowness.resize(slots, super::ONE);
            self.given.resize(slots, 0);
            self.lost.resize(slots, 0);
            self.free.resize(slots * self.cores, 0);
            self.head.resize(slots * self.cores, NONE);
            self.behind.resize(slots * self.cores, VecDeque::new());
            self.slots.extend((self.slots.len()..slots * self.cores).map(|core| core / self.cores));
            self.departures.grow(slots * self.cores);
        }
    }

    fn open(&mut self, slot: usize, slowness: u64, now: u64) {
        for core in self.cores_of(slot) {
            self.free[core] = now;
        }
        self.slowness[slot] = slowness;
        self.given[slot] = 0;
    }

    fn set_slowness(&mut self, slot: usize, slowness: u64) {
        self.slowness[slot] = slowness;
    }

    fn fail(&mut self, slot: usize, now: u64, tally: &mut Tally) {
        // None of what it has is served; of that the late ones are counted already.
        let leaving = self.leaving.iter().filter(|(_, of)| *of == slot).count();
        let in_time = self.held(slot).filter(|held| !self.is_late(held)).count();
        self.lost[slot] += (leaving + in_time) as u64;
        self.given[slot] = self.worked(slot, now);
        for core in self.cores_of(slot) {
            let head = Some(std::mem::replace(&mut self.head[core], NONE));
            let has_it = head.into_iter().filter(|head| head.at != NONE.at);
            let left = has_it.chain(self.behind[core].drain(..));
            for held in left.filter(|held| held.due != GIVEN_UP) {
                tally.lose(self.rules.fails_as(held.due, now), 1);
            }
            self.free[core] = now;
            self.departures.set(core, None);
        }
        let before = self.leaving.len();
        self.leaving.retain(|&(_, of)| of != slot);
        tally.lose(Loss::InstanceFailed, (before - self.leaving.len()) as u64);
    }

    fn lost(&self, slot: usize) -> u64 {
        let ever = self.lost.get(slot).copied().unwrap_or(0);
        if self.rules.client_timeout == u64::MAX {
            return ever;
        }
        // Those that are still there have not left.
        ever - self.held(slot).filter(|held| self.is_late(held)).count() as u64
    }

    fn done_at(&self, slot: usize) -> u64 {
        let cores = self.free.get(self.cores_of(slot)).unwrap_or_default();
        cores.iter().copied().max().unwrap_or(0)
    }

    fn worked(&self, slot: usize, now: u64) -> u64 {
        let cores = self.free.get(self.cores_of(slot)).unwrap_or_default();
        let backlog: u64 = cores.iter().map(|at| at.saturating_sub(now)).sum();
        // It was given all that keeps its cores from being free.
        self.given.get(slot).map_or(0, |given| given - backlog)
    }

    fn settle(&mut self, now: u64, tally: &mut Tally) {
        let timeout = self.rules.client_timeout;
        if !self.rules.can_fail || timeout == u64::MAX {
            return;
        }
        let heads = self.head.iter_mut().filter(|head| head.at != NONE.at);
        for held in heads.chain(self.behind.iter_mut().flatten()) {
            if held.due != GIVEN_UP && now - held.due >= timeout {
                held.due = GIVEN_UP;
                tally.lose(Loss::ClientTimeout, 1);
            }
        }
    }

    fn in_flight(&self, tally: &Tally, each: &mut dyn FnMut(u64)) {
        self.leaving.iter().for_each(|(at, _)| each(at - self.rules.client_timeout));
        if self.rules.can_fail {
            let heads = self.head.iter().filter(|head| head.at != NONE.at);
            let all = heads.chain(self.behind.iter().flatten());
            all.filter(|held| held.due != GIVEN_UP).for_each(|held| each(held.due));
        } else {
            tally.waiting().for_each(each);
        }
    }

    /// The head of a core that has been served, or one whose client has given up.
    #[inline(always)]
    fn leave(&mut self, now: u64, tally: &mut Tally) -> Option<(usize, u64)> {
        let served = self.departures.come(now);
        if let Some(&(at, slot)) = self.leaving.front()
            && at <= now
            && served.is_none_or(|(_, served_at)| at < served_at)
        {
            self.leaving.pop_front();
            self.lost[slot] += 1;
            tally.lose(Loss::ClientTimeout, 1);
            return Some((slot, at));
        }
        let (core, at) = served?;
        if self.rules.can_fail {
            count(&self.rules, self.head[core], tally);
        }
        let next = self.behind[core].pop_front();
        self.head[core] = next.unwrap_or(NONE);
        self.departures.set(core, next.map(|next| next.at));
        Some((self.slots[core], at))
    }

    #[inline(always)]
    fn leave_all(&mut self, now: u64, balancer: &mut Balancer, tally: &mut Tally) {
        let Departures::Few(few) = &mut self.departures else {
            while let Some((slot, at)) = self.leave(now, tally) {
                balancer.remove(slot, at);
            }
            return;
        };
        let mut come = few.take_all(now);
        while come != 0 {
            let core = come.trailing_zeros() as usize;
            come &= come - 1;
            balancer.remove(self.slots[core], self.head[core].at);
            if self.rules.can_fail || !self.behind[core].is_empty() {
                self.follow(core, now, balancer, tally);
            } else {
                self.head[core].at = NONE.at;
            }
        }
        while let Some(&(at, slot)) = self.leaving.front()
            && at <= now
        {
            self.leaving.pop_front();
            self.lost[slot] += 1;
            tally.lose(Loss::ClientTimeout, 1);
            balancer.remove(slot, at);
        }
    }

    #[inline(always)]
    fn look_ahead(&mut self, next: u64) {
        if let Departures::Few(few) = &mut self.departures {
            few.look(next);
        }
    }

    #[inline(always)]
    fn accept(&mut self, slot: usize, request: Request, present: u32, now: u64, tally: &mut Tally) {
        if self.is_plain {
            let held = self.place(slot, request, self.slowness[slot], now);
            tally.serve_at(held.due, held.at);
        } else {
            self.accept_any(slot, request, present, now, tally);
        }
    }
}
