//! The instances of a live pool through their lives: each is started and ended on a thread of its
//! own, while the pool goes on.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Scope;
use std::time::Duration;

use plimsoll_elastic::simulated::Setup;
use plimsoll_testbed::balance::State;
use plimsoll_testbed::balancers::{Balances, Newcomer};
use plimsoll_testbed::crew::Crew;
use plimsoll_testbed::{Instance as Server, TestbedError};
use plimsoll_units::failure::chain;

use super::life::{Leaver, Life};
use super::time::Time;

/// How long what an instance has may take to end where it is taken away, and nothing else is said.
const DRAIN: Duration = Duration::from_secs(30);
/// A load that is to end does so with the second that begins next, of which its threads have heard
/// so long before.
const AHEAD_NS: u64 = 300_000_000;
const SECOND_NS: u64 = 1_000_000_000;
/// How often whoever waits for other threads looks whether they are through.
const LOOK: Duration = Duration::from_secs(1);

/// Starts servers, and ends them.
pub(super) trait Servers: Sync {
    /// Starts one more. Returns when it is ready; `tells` is told what happens meanwhile.
    fn launch(&self, tells: &dyn Fn(&str)) -> Result<Server, TestbedError>;

    /// Ends one, by its number.
    fn end(&self, number: u32) -> Result<(), TestbedError>;

    /// Makes a server of another role anew in its place. Returns when it is ready.
    fn again(&self, server: &Server) -> Result<(), TestbedError>;

    /// How fast one is, beside the others.
    fn weight(&self, _: &Server) -> f64 {
        1.0
    }

    /// Whether one that somebody else has started answers as one that is well.
    fn is_well(&self, _: &Server) -> bool {
        true
    }

    /// How one has ended by itself, where that is known.
    fn ended(&self, _: &Server) -> Option<String> {
        None
    }

    /// Whether one is known to run.
    fn runs(&self, _: &Server) -> bool {
        false
    }

    /// Why one can neither be ended nor asked any more, as the host that it stands on is gone.
    fn is_away(&self, _: &Server) -> Option<TestbedError> {
        None
    }
}

impl Servers for Crew<'_> {
    fn launch(&self, _: &dyn Fn(&str)) -> Result<Server, TestbedError> {
        self.launch()
    }

    fn end(&self, number: u32) -> Result<(), TestbedError> {
        self.end(number)
    }

    fn again(&self, server: &Server) -> Result<(), TestbedError> {
        self.again(server)
    }

    fn ended(&self, server: &Server) -> Option<String> {
        self.ended(server)
    }

    fn runs(&self, server: &Server) -> bool {
        self.runs(server)
    }

    fn is_away(&self, server: &Server) -> Option<TestbedError> {
        self.is_away(server)
    }
}

/// What instances are started with, and how far each is.
pub(super) struct Yard<'a> {
    pub(super) crew: &'a dyn Servers,
    pub(super) balancer: &'a dyn Balances,
    pub(super) setup: &'a Setup,
    pub(super) time: Arc<dyn Time>,
    life: Mutex<Life>,
    /// How long what an instance has may take to end where it is taken away.
    pub(super) drain: Duration,
    /// Whether somebody else starts and ends the instances.
    pub(super) is_followed: bool,
}

/// What came of giving an instance requests.
pub(super) enum Admission {
    /// It takes them.
    In,
    /// It is not to take them any more.
    Unwanted,
    /// The balancer does not give it any.
    Refused(TestbedError),
}

/// A thread of the pool at its work.
struct Work<'a> {
    yard: &'a Yard<'a>,
    at: Option<String>,
    thread: u64,
}

impl Drop for Work<'_> {
    fn drop(&mut self) {
        let mut life = self.yard.life();
        let count = life.at_work.remove(&self.at).unwrap_or(1);
        if count > 1 {
            life.at_work.insert(self.at.take(), count - 1);
        }
        drop(life);
        self.yard.wake();
        self.yard.time.ends(self.thread);
    }
}

impl<'a> Yard<'a> {
    pub(super) fn new(
        (crew, balancer): (&'a dyn Servers, &'a dyn Balances),
        setup: &'a Setup,
        seed: u64,
        time: Arc<dyn Time>,
    ) -> Self {
        let life = Mutex::new(Life::new(Arc::clone(&time), seed));
        Self { crew, balancer, setup, time, life, drain: DRAIN, is_followed: false }
    }

    /// What an instance has that is taken away has so long to end.
    pub(super) fn draining(self, drain: Duration) -> Self {
        Self { drain, ..self }
    }

    /// The instances are somebody else's to start and to end.
    pub(super) fn followed(self) -> Self {
        Self { is_followed: true, ..self }
    }

    pub(super) fn life(&self) -> MutexGuard<'_, Life> {
        self.life.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until something changes, no longer than `limit`.
    pub(super) fn wait<'g>(
        &'g self,
        life: MutexGuard<'g, Life>,
        limit: Duration,
    ) -> MutexGuard<'g, Life> {
        self.time.wait(&self.life, life, limit)
    }

    /// Something has changed: an instance is ready or has ended, or all is over.
    pub(super) fn wake(&self) {
        self.time.wake();
    }

    /// Does some work on a thread of its own; at a server of a name, where there is one so far.
    pub(super) fn spawn<'scope, 'env>(
        &'env self,
        scope: &'scope Scope<'scope, 'env>,
        at: Option<&str>,
        work: impl FnOnce() + Send + 'scope,
    ) {
        let at = at.map(str::to_owned);
        *self.life().at_work.entry(at.clone()).or_default() += 1;
        let thread = self.time.starts();
        scope.spawn(move || {
            self.time.begins(thread);
            let _at_work = Work { yard: self, at, thread };
            work();
        });
    }

    /// Waits until all threads are through.
    fn rests(&self) {
        let mut life = self.life();
        while !life.at_work.is_empty() {
            life = self.wait(life, LOOK);
        }
    }

    /// Takes in the servers that a killed process has left. The balancer is told of those that it
    /// does not know, and of those that are gone; those that were leaving it are ended.
    ///
    /// # Errors
    /// Where the balancer does not answer.
    pub(super) fn adopt(&self, servers: Vec<Server>) -> Result<(), TestbedError> {
        let look = self.balancer.look()?;
        {
            let mut life = self.life();
            (life.lost_from, life.lost_last) = (look.lost, look.lost);
        }
        let is_there = |name: &str| servers.iter().any(|of| of.name == name);
        for gone in look.instances.iter().filter(|of| !is_there(&of.name)) {
            self.balancer.remove(&gone.name)?;
        }
        let known = |name: &str| look.instances.iter().find(|of| of.name == name);
        let (leaving, staying): (Vec<_>, Vec<_>) = servers
            .into_iter()
            .partition(|of| known(&of.name).is_some_and(|of| of.state == State::Draining));
        std::thread::scope(|scope| {
            for server in leaving {
                let mut life = self.life();
                let number = life.pool.launch(0, 0, 1.0).number;
                life.pool.drain(number, 0);
                life.note(number, &format!("draining: {}", server.name));
                let leaver = Leaver { number, server, revivals: life.revivals };
                drop(life);
                self.spawn(scope, None, move || self.lower(&leaver));
            }
            self.rests();
        });
        for server in staying {
            let is_known = known(&server.name).is_some();
            if !is_known {
                self.balancer.add(&self.newcomer(&server)?)?;
            }
            let mut life = self.life();
            let number = life.pool.launch(0, 0, 1.0).number;
            life.note(number, &format!("adopted: {}", server.name));
            life.note(number, &format!("ready: {}", server.name));
            life.churn.adopted += 1;
            life.takes_in(number, server);
        }
        Ok(())
    }

    /// Starts the instances that are lacking at the beginning, and waits for them; ends those that
    /// are too many.
    ///
    /// # Errors
    /// One that did not come to stand.
    pub(super) fn begin(&self, count: u32) -> Result<(), TestbedError> {
        self.life().wants(count);
        let there = self.life().servers.len();
        std::thread::scope(|scope| {
            for _ in count as usize..there {
                let mut life = self.life();
                let last = life.servers.keys().next_back().copied();
                let Some(leaver) = last.and_then(|number| life.takes_out(number)) else { break };
                life.pool.drain(leaver.number, 0);
                life.note(leaver.number, "draining");
                drop(life);
                self.spawn(scope, None, move || self.lower(&leaver));
            }
            for _ in there..count as usize {
                let number = self.life().pool.launch(0, u64::MAX, 1.0).number;
                let asked_ns = self.time.now();
                self.spawn(scope, None, move || self.raise(number, asked_ns, Duration::ZERO));
            }
            self.rests();
        });
        match self.life().last_fault.take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Time has begun so long ago.
    pub(super) fn starts(&self, since_ns: u64) {
        self.life().begins(since_ns);
        self.wake();
    }

    /// The load ends then, in the pool's time.
    pub(super) fn lasts_until(&self, until_ns: u64) {
        let mut life = self.life();
        life.until_ns = life.until_ns.min(until_ns);
        drop(life);
        self.wake();
    }

    /// The load is to end now, or with the second that begins next.
    pub(super) fn is_to_end(&self, now: bool) {
        let now_ns = self.life().now_ns();
        let second_ns = (now_ns + AHEAD_NS).next_multiple_of(SECOND_NS);
        self.lasts_until(if now { now_ns } else { second_ns });
    }

    /// All is over: nothing is launched any more.
    pub(super) fn ends(&self) {
        self.life().is_over = true;
        self.wake();
    }

    /// Starts the server of an instance that was asked for, and gives it requests when it has taken
    /// the least time that booting takes. One that is not wanted any more by then is ended.
    pub(super) fn raise(&self, number: usize, asked_ns: u64, least: Duration) {
        let mut life = self.life();
        if !life.is_wanted(number) {
            // Nobody was asked for it.
            life.patience.spared(asked_ns);
            life.admission.spared(asked_ns);
            life.ends(number);
            life.note(number, "terminated");
            drop(life);
            return self.wake();
        }
        life.note(number, "pending");
        drop(life);
        let server = match self.crew.launch(&|text| self.life().note(number, text)) {
            Ok(server) => server,
            Err(error) => {
                let mut life = self.life();
                life.admission.spared(asked_ns);
                let known_ns = life.time.now();
                life.patience.refused(asked_ns, known_ns);
                life.refused(&error);
                return self.fails(life, number, error);
            }
        };
        let mut life = self.life();
        life.patience.granted();
        life.is_spent = false;
        if life.is_wanted(number) {
            life.note(number, &format!("running: {}", server.name));
        }
        let until_ns = asked_ns.saturating_add(nanoseconds(least));
        while let left_ns = until_ns.saturating_sub(life.time.now())
            && life.is_wanted(number)
            && left_ns > 0
        {
            life = self.wait(life, Duration::from_nanos(left_ns));
        }
        drop(life);
        match self.goes_in(number, &server) {
            Admission::In => return self.wake(),
            Admission::Unwanted => self.life().admission.spared(asked_ns),
            Admission::Refused(error) => {
                let mut life = self.life();
                let known_ns = life.time.now();
                life.admission.refused(asked_ns, known_ns);
                self.fails(life, number, error);
            }
        }
        self.end(number, &server);
    }

    /// The start of an instance has failed.
    fn fails(&self, mut life: MutexGuard<'_, Life>, number: usize, error: TestbedError) {
        life.ends(number);
        life.note(number, &format!("failed: {}", chain(&error)));
        life.churn.start_failures += 1;
        life.last_fault = Some(error);
        drop(life);
        self.wake();
    }

    /// Gives an instance requests. What a balancer was told while it was made anew counts for
    /// nothing: the new one is told again.
    pub(super) fn goes_in(&self, number: usize, server: &Server) -> Admission {
        let newcomer = match self.newcomer(server) {
            Ok(newcomer) => newcomer,
            Err(error) => return Admission::Refused(error),
        };
        let mut is_again = false;
        loop {
            let life = self.stands();
            let (is_wanted, revivals) = (life.is_wanted(number), life.revivals);
            drop(life);
            if is_again {
                drop(self.balancer.remove(&server.name));
            }
            if !is_wanted {
                return Admission::Unwanted;
            }
            let added = self.balancer.add(&newcomer);
            // Where the balancer obeys nothing, it is made anew, and that is not its instance's
            // failure.
            let look = added.as_ref().err().map(|error| (error, self.balancer.look()));
            let mut life = self.life();
            let is_same = !life.is_reviving && life.revivals == revivals;
            match look {
                Some((_, Ok(seen))) if is_same => life.has_lost(&seen.lost),
                Some((error, Err(_))) if is_same && life.has_begun() && life.is_wanted(number) => {
                    life.note(number, &format!("waits: {}", chain(error)));
                    life = self.awaits_another(life, revivals);
                    if life.is_over {
                        return Admission::Unwanted;
                    }
                }
                _ => {}
            }
            if life.is_reviving || life.revivals != revivals {
                is_again = true;
                continue;
            }
            if let Err(error) = added {
                return Admission::Refused(error);
            }
            if !life.is_wanted(number) {
                // It was taken away meanwhile.
                drop(life);
                drop(self.balancer.drain(&server.name, self.drain));
                return Admission::Unwanted;
            }
            let now_ns = life.now_ns();
            life.admission.granted();
            life.pool.ready(number, now_ns);
            life.note(number, &format!("ready: {}", server.name));
            life.takes_in(number, server.clone());
            return Admission::In;
        }
    }

    /// Waits until the balancer is being made anew that was made so often before, or all is over.
    fn awaits_another<'g>(
        &'g self,
        mut life: MutexGuard<'g, Life>,
        revivals: u64,
    ) -> MutexGuard<'g, Life> {
        while !(life.is_over || life.is_reviving) && life.revivals == revivals {
            life = self.wait(life, LOOK);
        }
        life
    }

    /// Waits until the balancer stands, where it is being made anew.
    fn stands(&self) -> MutexGuard<'_, Life> {
        let mut life = self.life();
        while life.is_reviving {
            life = self.wait(life, LOOK);
        }
        life
    }

    /// Whether the balancer has to be told that one leaves it. One that was made anew since does
    /// not know it.
    pub(super) fn knows(&self, leaver: &Leaver) -> bool {
        self.stands().revivals == leaver.revivals
    }

    /// Ends the server of an instance.
    pub(super) fn end(&self, number: usize, server: &Server) {
        let ended = self.crew.end(server.number);
        let mut life = self.life();
        life.ends(number);
        match ended {
            Ok(()) => life.note(number, "terminated"),
            // It stands in the ledger, and is undone with the bed.
            Err(error) => life.note(number, &format!("could not be ended: {}", chain(&error))),
        }
        drop(life);
        self.wake();
    }

    /// Takes requests from an instance, and ends it when it has answered what it has.
    pub(super) fn lower(&self, leaver: &Leaver) {
        let Leaver { number, server, .. } = leaver;
        if self.knows(leaver)
            && let Err(error) = self.balancer.drain(&server.name, self.drain)
        {
            self.life().note(*number, &format!("was not drained: {}", chain(&error)));
        }
        self.end(*number, server);
    }

    /// A server as its balancer is told of it.
    pub(super) fn newcomer(&self, server: &Server) -> Result<Newcomer, TestbedError> {
        let (name, at) = (server.name.clone(), format!("{}:{}", server.address, server.port));
        let Ok(address) = at.parse() else {
            let text = format!("give requests to {name}: {at} is no address");
            return Err(TestbedError::Wrong(text));
        };
        Ok(Newcomer { name, address, weight: self.crew.weight(server) })
    }
}

pub(super) fn nanoseconds(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}
