//! One replication: from the first request to the end of the load.
//!
//! What happens in a tick belongs to it: work when it is done, answers when they are given, losses
//! when the client knows. What is in flight when the load ends is neither served nor lost.

mod places;
mod ticks;

use self::places::Places;
use super::engine::{Engine, Rules, TICK_NS, Tally, fixed};
use super::requests::Requests;
use super::setup::Setup;
use crate::books::{Books, OfTick};
use crate::controller::{Controller, Plant};
use crate::demand::Demand;
use crate::observation::Instance as ObservedInstance;
use crate::outcome::Outcome;
use crate::policy::Decider;
use crate::pool::{Instance, Pool};
use plimsoll_workload::random::{Stream, seed_of};
use plimsoll_workload::schedule::Schedule;

/// How often an instance that has just begun changes its speed, nanoseconds.
const STEP_NS: u64 = 1_000_000_000;

/// Runs a replication under a policy. The same arguments give the same outcome, bit for bit.
#[must_use]
pub fn run(setup: &Setup, demand: &Demand, policy: &mut dyn Decider, replication: u64) -> Outcome {
    World::new(setup, demand, replication).run(policy)
}

/// The schedule of a replication.
#[must_use]
pub fn schedule(setup: &Setup, replication: u64) -> std::sync::Arc<Schedule> {
    (setup.load)(seed_of(setup.seed, replication))
}

struct World<'a> {
    setup: &'a Setup,
    demand: &'a Demand,
    requests: Requests,
    engine: Engine,
    pool: Pool,
    /// Of each instance, when it fails, and whether it has begun to take requests.
    fails_ns: Vec<Option<u64>>,
    has_begun: Vec<bool>,
    /// The work that it had done by the last tick, ticks of cores.
    worked: Vec<u64>,
    /// The time that requests had been at instances by the last tick: see [`Engine::presence`].
    presence: u64,
    now_ns: u64,
    tally: Tally,
    /// Of the present tick; `books` has those before.
    of_tick: OfTick,
    /// The work of instances that failed in it, ticks of cores.
    failed_work: u64,
    books: Books,
    controller: Controller,
    streams: Streams,
    /// What has been done at each place behind the balancer.
    places: Places,
    duration_ns: u64,
}

struct Streams {
    boot: Stream,
    speed: Stream,
    failure: Stream,
    termination: Stream,
    noise: Stream,
}

impl<'a> World<'a> {
    fn new(setup: &'a Setup, demand: &'a Demand, replication: u64) -> Self {
        let seed = seed_of(setup.seed, replication);
        let schedule = (setup.load)(seed);
        let duration_ns = schedule.duration_ns();
        let can_fail = setup.rules.can_fail || setup.failures.is_some();
        let rules = Rules { can_fail, ..setup.rules.clone() };
        let rules = if setup.most <= 1 { rules.of_one_instance() } else { rules };
        let stream = |name| Stream::named(seed, name);
        let mut world = Self {
            setup,
            demand,
            requests: Requests::new(schedule, setup.arrivals, &setup.service, seed),
            engine: Engine::new(&rules, stream("balancer")),
            pool: Pool::default(),
            fails_ns: Vec::new(),
            has_begun: Vec::new(),
            worked: Vec::new(),
            presence: 0,
            now_ns: 0,
            tally: Tally::default(),
            of_tick: OfTick::default(),
            failed_work: 0,
            books: Books::default(),
            controller: Controller::default(),
            streams: Streams {
                boot: stream("boot"),
                speed: stream("speed"),
                failure: stream("failure"),
                termination: stream("termination"),
                noise: stream("noise"),
            },
            places: Places::new(duration_ns.div_ceil(setup.tick_ns.max(1)), setup.most),
            duration_ns,
        };
        for _ in 0..setup.start {
            world.boot(0);
        }
        world.change();
        world
    }

    fn run(mut self, policy: &mut dyn Decider) -> Outcome {
        while self.now_ns < self.duration_ns {
            let end_ns = (self.now_ns + self.setup.tick_ns.max(1)).min(self.duration_ns);
            self.tally.until(end_ns / TICK_NS);
            while self.now_ns < end_ns {
                self.advance(self.next_change().min(end_ns));
                self.change();
            }
            self.tick();
            self.count_places(end_ns == self.duration_ns);
            if end_ns < self.duration_ns {
                self.decide(policy);
                self.change();
            }
        }
        self.finish()
    }

    /// The next moment at which an instance becomes ready, fails, or changes its speed.
    fn next_change(&self) -> u64 {
        let ready = self.pool.alive().map(|of| of.ready_ns).filter(|&ns| ns > self.now_ns);
        let fails = self.pool.alive().filter_map(|of| self.fails_ns[of.number]);
        let changes = ready.chain(fails.filter(|&ns| ns > self.now_ns)).min();
        changes.unwrap_or(u64::MAX).min(self.next_step())
    }

    /// The next moment at which an instance that has just begun is a little faster.
    fn next_step(&self) -> u64 {
        let Some(slow_start) = self.setup.boot.slow_start else { return u64::MAX };
        let since = self.pool.wanted().filter(|of| self.is_new(of) && of.ready_ns <= self.now_ns);
        let next = since.filter_map(|of| {
            let since_ns = self.now_ns - of.ready_ns;
            let step_ns = (since_ns + 1).next_multiple_of(STEP_NS).min(slow_start.for_ns);
            (since_ns < slow_start.for_ns).then_some(of.ready_ns + step_ns)
        });
        next.min().unwrap_or(u64::MAX)
    }

    /// Whether an instance was not there from the start.
    fn is_new(&self, of: &Instance) -> bool {
        of.number >= self.setup.start as usize
    }

    /// How slow an instance is now.
    fn slowness(&self, of: &Instance) -> u64 {
        let slow_start = self.setup.boot.slow_start.filter(|_| self.is_new(of));
        let factor = slow_start.map_or(1.0, |slow| slow.factor_at(self.now_ns - of.ready_ns));
        fixed(factor / of.speed)
    }

    /// Lets time and requests pass.
    fn advance(&mut self, to_ns: u64) {
        let ready = self.pool.wanted().filter(|of| of.ready_ns <= self.now_ns).count();
        self.of_tick.supplied(u32::try_from(ready).unwrap_or(u32::MAX), to_ns - self.now_ns);
        loop {
            let (due, service) = self.requests.until(to_ns);
            if due.is_empty() {
                break;
            }
            self.engine.offer(due, service, &mut self.tally);
            if self.tally.is_full() {
                self.take_in();
            }
        }
        self.engine.pass(to_ns / TICK_NS, &mut self.tally);
        self.now_ns = to_ns;
    }

    /// What happens to instances now: some are ready, fail, or have finished.
    fn change(&mut self) {
        let now = self.now_ns / TICK_NS;
        let alive: Vec<Instance> = self.pool.alive().copied().collect();
        for of in alive {
            let is_ready = of.draining_ns.is_none() && of.ready_ns <= self.now_ns;
            if is_ready && !self.has_begun[of.number] {
                self.has_begun[of.number] = true;
                let slowness = self.slowness(&of);
                self.engine.open(of.slot, slowness, now, &mut self.tally);
                self.mark(&of);
            } else if self.steps_up(&of) {
                let slowness = self.slowness(&of);
                self.engine.set_slowness(of.slot, slowness);
            }
            // What has done all before it would have failed has ended, and not failed.
            match of.draining_ns {
                Some(since) if self.engine.present(of.slot) == 0 => {
                    self.look_at(&of);
                    self.pool.end(of.number, since.max(self.engine.done_at(of.slot) * TICK_NS));
                }
                _ if self.fails_ns[of.number] == Some(self.now_ns) => self.fail(of),
                _ => {}
            }
        }
    }

    /// Whether an instance is a little faster from now on.
    fn steps_up(&self, of: &Instance) -> bool {
        let Some(slow_start) = self.setup.boot.slow_start else { return false };
        let is_ready = of.draining_ns.is_none() && of.ready_ns < self.now_ns;
        is_ready && self.is_new(of) && {
            let since_ns = self.now_ns - of.ready_ns;
            since_ns == slow_start.for_ns
                || (since_ns < slow_start.for_ns && since_ns.is_multiple_of(STEP_NS))
        }
    }

    /// An instance fails, and another one takes its place after the time of a repair.
    fn fail(&mut self, of: Instance) {
        let Some(failures) = self.setup.failures else { return };
        if of.draining_ns.is_none() {
            self.failed_work += self.work_of(&of);
        }
        self.engine.fail(of.slot, self.now_ns / TICK_NS, &mut self.tally);
        self.look_at(&of);
        self.pool.end(of.number, self.now_ns);
        if of.draining_ns.is_none() {
            self.books.churn.replaced += 1;
            let repair_ns = nanoseconds(failures.mttr_s * self.streams.failure.exponential());
            self.begin(self.now_ns.saturating_add(repair_ns));
        }
    }

    /// Launches an instance, which is ready when it has booted.
    fn boot(&mut self, now_ns: u64) {
        let boot = &self.setup.boot;
        let stream = &mut self.streams.boot;
        let takes_ns = boot.boot.sample_ns(stream) + boot.configure.sample_ns(stream);
        // Those of the start are there already.
        let is_there = self.books.are_empty() && now_ns == 0;
        self.begin(if is_there { 0 } else { now_ns.saturating_add(takes_ns) });
    }

    /// Launches an instance that is ready at a time.
    fn begin(&mut self, ready_ns: u64) {
        let speed = self.speed();
        self.pool.launch(self.now_ns, ready_ns, speed);
        let fails = self.setup.failures.map(|failures| {
            let after_ns = nanoseconds(failures.mttf_s * self.streams.failure.exponential());
            ready_ns.saturating_add(after_ns.max(1))
        });
        self.fails_ns.push(fails);
        self.has_begun.push(false);
        self.worked.push(0);
    }

    /// The speed of the next instance: log-normal with mean 1.
    fn speed(&mut self) -> f64 {
        let variation = self.setup.speed_variation;
        if variation <= 0.0 {
            return 1.0;
        }
        let variance = libm::log1p(variation * variation);
        libm::exp(variance.sqrt() * self.streams.speed.normal() - 0.5 * variance)
    }

    /// Lets the policy decide, and does what it says.
    fn decide(&mut self, policy: &mut dyn Decider) {
        let terms = self.setup.terms();
        let mut controller = std::mem::take(&mut self.controller);
        let decided = controller.step(&terms, policy, self);
        self.controller = controller;
        if decided.changes() {
            self.books.decisions.push(decided);
        }
    }
}

impl Plant for World<'_> {
    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn instances(&self) -> Vec<ObservedInstance> {
        self.pool.seen(self.now_ns)
    }

    fn launch(&mut self) -> bool {
        self.boot(self.now_ns);
        self.books.scaled.0 += 1;
        true
    }

    fn remove(&mut self) -> bool {
        let setup = self.setup;
        let stream = &mut self.streams.termination;
        let chosen = self.pool.choose(setup.termination, &setup.prices, self.now_ns, stream);
        let Some(of) = chosen else { return false };
        self.books.scaled.1 += 1;
        self.pool.drain(of.number, self.now_ns);
        if of.ready_ns > self.now_ns {
            self.pool.end(of.number, self.now_ns);
        } else {
            self.engine.close(of.slot);
        }
        true
    }
}

/// Seconds as nanoseconds.
fn nanoseconds(seconds: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let ns = (seconds * 1e9) as u64;
    ns
}
