//! The instances of a live pool through their lives: each is started and ended on a thread of its
//! own, while the pool goes on.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use plimsoll_elastic::outcome::Churn;
use plimsoll_elastic::pool::Pool;
use plimsoll_elastic::simulated::Setup;
use plimsoll_load::clock::Clock;
use plimsoll_runs::Event;
use plimsoll_runs::event::Class;
use plimsoll_stats::figure::Round;
use plimsoll_testbed::balance::{Lost, State};
use plimsoll_testbed::balancers::{Balances, Newcomer, Seen as Look};
use plimsoll_testbed::crew::Crew;
use plimsoll_testbed::{Instance as Server, TestbedError};
use plimsoll_units::failure::chain;
use plimsoll_workload::random::Stream;

use super::patience::Patience;
use crate::world::watch::Gate;

/// The longest time until the balancer knows that an instance has failed, seconds: it asks once a
/// second, waits 2 s for the answer, and asks again for another second.
const DETECTED_S: f64 = 4.0;
/// The kind of the events that say what becomes of an instance, and how they begin: with its number
/// behind that, and then its state.
pub(crate) const EVENT: &str = "instance";
pub(crate) const NAME: &str = "instance ";
/// How long connections that were upgraded may stay where an instance is taken away.
const DRAIN: Duration = Duration::from_secs(30);

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

    fn is_away(&self, server: &Server) -> Option<TestbedError> {
        self.is_away(server)
    }
}

/// What instances are started with, and how far each is.
pub(super) struct Yard<'a> {
    crew: &'a dyn Servers,
    balancer: &'a dyn Balances,
    pub(super) setup: &'a Setup,
    life: Mutex<Life>,
    /// Where those that are ready are watched.
    gate: OnceLock<Gate>,
    /// Told when an instance is ready or has ended, and when all is over.
    pub(super) changed: Condvar,
    /// Whether somebody else starts and ends the instances.
    pub(super) is_followed: bool,
}

/// How far the pool is.
pub(super) struct Life {
    pub(super) pool: Pool,
    /// The servers of those that are ready, by their numbers in the pool.
    pub(super) servers: BTreeMap<usize, Server>,
    pub(super) clock: Clock,
    /// Where time begins on the clock: with the load.
    zero_ns: Option<u64>,
    pub(super) is_over: bool,
    /// What became of instances beside what was decided.
    pub(super) churn: Churn,
    /// What balancers counted as lost that are gone, and what the present one had counted before.
    pub(super) lost_before: Lost,
    pub(super) lost_from: Lost,
    /// How many instances are wanted, as was decided last.
    wanted: u32,
    /// How many failed, and have nobody in their place.
    pub(super) owed: u64,
    /// Those of somebody else's that are out, and are asked again whether they are well.
    pub(super) resting: BTreeSet<usize>,
    pub(super) patience: Patience,
    /// The end of the names of the figures that the policy goes by, where collectors watch them,
    /// and their sum within the tick, with how many values it is of.
    watched: Option<(String, f64, u32)>,
    last_fault: Option<TestbedError>,
    /// Why it is not known which instances there are that somebody else starts and ends.
    pub(super) unknown: Option<String>,
    pub(super) boot: Stream,
    pub(super) termination: Stream,
    events: Vec<Event>,
}

impl Life {
    /// Nanoseconds since the load began; 0 before that.
    pub(super) fn now_ns(&self) -> u64 {
        self.zero_ns.map_or(0, |zero_ns| self.clock.now().saturating_sub(zero_ns))
    }

    /// Notes what has become of an instance.
    pub(super) fn note(&mut self, number: usize, state: &str) {
        let (at_ns, text) = (self.now_ns(), format!("{NAME}{} {state}", number + 1));
        let kind = EVENT.to_owned();
        self.events.push(Event { at_ns, class: Class::Infrastructure, kind, text });
    }

    /// The servers that take requests.
    pub(super) fn servers(&self) -> Vec<Server> {
        self.servers.values().cloned().collect()
    }

    /// Whether an instance is to take requests, when it can.
    pub(super) fn is_wanted(&self, number: usize) -> bool {
        let of = &self.pool.instances()[number];
        !self.is_over && of.draining_ns.is_none() && of.ended_ns.is_none()
    }

    /// The policy goes by a figure of instances that collectors watch.
    pub(super) fn watches(&mut self, figure: &str) {
        self.watched = Some((format!(".{figure}"), 0.0, 0));
    }

    /// Takes the figures of a period.
    pub(super) fn hears(&mut self, round: &Round) {
        let names: Vec<String> =
            self.servers.values().map(|of| format!("instance.{}", of.name)).collect();
        let Some((end, sum, count)) = &mut self.watched else { return };
        for name in names {
            if let Some(value) = round.figures.get(&format!("{name}{end}")) {
                (*sum, *count) = (*sum + value, *count + 1);
            }
        }
    }

    /// Ends a tick: the mean of what was watched in it; not a number where nothing was.
    pub(super) fn take_watched(&mut self) -> f64 {
        let Some((_, sum, count)) = &mut self.watched else { return f64::NAN };
        let mean = *sum / f64::from(*count);
        (*sum, *count) = (0.0, 0);
        mean
    }

    /// So many instances are wanted from now on.
    pub(super) fn wants(&mut self, wanted: u32) {
        self.wanted = wanted;
        if !self.lacks() {
            self.owed = 0;
        }
    }

    /// Whether there are fewer instances than are wanted.
    pub(super) fn lacks(&self) -> bool {
        !self.is_over && self.pool.wanted().count() < self.wanted as usize
    }

    /// What has become of instances since the last time.
    pub(super) fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }
}

impl<'a> Yard<'a> {
    pub(super) fn new(
        crew: &'a dyn Servers,
        balancer: &'a dyn Balances,
        setup: &'a Setup,
        seed: u64,
    ) -> Self {
        let stream = |name| Stream::named(seed, name);
        let life = Life {
            pool: Pool::default(),
            servers: BTreeMap::new(),
            clock: Clock::start(),
            zero_ns: None,
            is_over: false,
            churn: Churn::default(),
            lost_before: Lost::default(),
            lost_from: Lost::default(),
            wanted: 0,
            owed: 0,
            resting: BTreeSet::new(),
            patience: Patience::default(),
            watched: None,
            last_fault: None,
            unknown: None,
            boot: stream("boot"),
            termination: stream("termination"),
            events: Vec::new(),
        };
        let (gate, changed) = (OnceLock::new(), Condvar::new());
        let life = Mutex::new(life);
        Self { crew, balancer, setup, life, gate, changed, is_followed: false }
    }

    /// The instances are somebody else's to start and to end.
    pub(super) fn followed(self) -> Self {
        Self { is_followed: true, ..self }
    }

    /// Has instances watched that are ready from now on.
    pub(super) fn watched_at(&self, gate: Gate) {
        // It is done once.
        let _ = self.gate.set(gate);
    }

    pub(super) fn life(&self) -> MutexGuard<'_, Life> {
        self.life.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until something changes, no longer than `limit`.
    pub(super) fn wait<'g>(
        &self,
        life: MutexGuard<'g, Life>,
        limit: Duration,
    ) -> MutexGuard<'g, Life> {
        let waited = self.changed.wait_timeout(life, limit);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Takes in the servers that a killed process has left. The balancer is told of those that it
    /// does not know, and of those that are gone; those that were leaving it are ended.
    ///
    /// # Errors
    /// Where the balancer does not answer.
    pub(super) fn adopt(&self, servers: Vec<Server>) -> Result<(), TestbedError> {
        let look = self.balancer.look()?;
        self.life().lost_from = look.lost;
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
                scope.spawn(move || self.lower(number, &server));
            }
        });
        for server in staying {
            let is_known = known(&server.name).is_some();
            if let Some(newcomer) = self.newcomer(&server).filter(|_| !is_known) {
                self.balancer.add(&newcomer)?;
            }
            let mut life = self.life();
            let number = life.pool.launch(0, 0, 1.0).number;
            life.note(number, &format!("adopted: {}", server.name));
            life.note(number, &format!("ready: {}", server.name));
            life.churn.adopted += 1;
            life.servers.insert(number, server);
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
                let Some((number, server)) = life.servers.pop_last() else { break };
                life.pool.drain(number, 0);
                life.note(number, "draining");
                scope.spawn(move || self.lower(number, &server));
            }
            for _ in there..count as usize {
                let number = self.life().pool.launch(0, u64::MAX, 1.0).number;
                scope.spawn(move || self.raise(number, Duration::ZERO));
            }
        });
        match self.life().last_fault.take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Time has begun so long ago.
    pub(super) fn starts(&self, since_ns: u64) {
        let mut life = self.life();
        let zero_ns = life.clock.now().saturating_sub(since_ns);
        life.zero_ns.get_or_insert(zero_ns);
        drop(life);
        self.changed.notify_all();
    }

    /// All is over: nothing is launched any more.
    pub(super) fn ends(&self) {
        self.life().is_over = true;
        self.changed.notify_all();
    }

    /// Starts the server of an instance, and gives it requests when it has taken the least time
    /// that booting takes. One that is not wanted any more by then is ended.
    pub(super) fn raise(&self, number: usize, least: Duration) {
        let clock = Clock::start();
        let asked_ns = {
            let mut life = self.life();
            life.note(number, "pending");
            life.clock.now()
        };
        let launched = self.crew.launch(&|text| self.life().note(number, text));
        let server = match launched {
            Ok(server) => server,
            Err(error) => {
                let mut life = self.life();
                let now_ns = life.now_ns();
                if life.pool.instances()[number].ended_ns.is_none() {
                    life.pool.end(number, now_ns);
                }
                life.note(number, &format!("failed: {}", chain(&error)));
                life.churn.start_failures += 1;
                let known_ns = life.clock.now();
                life.patience.refused(asked_ns, known_ns);
                life.last_fault = Some(error);
                drop(life);
                return self.changed.notify_all();
            }
        };
        let mut life = self.life();
        life.note(number, &format!("running: {}", server.name));
        life.patience.granted();
        while let left = least.saturating_sub(Duration::from_nanos(clock.now()))
            && !life.is_over
            && !left.is_zero()
        {
            life = self.wait(life, left);
        }
        let is_wanted = life.is_wanted(number);
        drop(life);
        match is_wanted && self.goes_in(number, &server) {
            true => self.changed.notify_all(),
            false => self.end(number, &server),
        }
    }

    /// Gives an instance requests. Returns whether it takes them.
    pub(super) fn goes_in(&self, number: usize, server: &Server) -> bool {
        let Some(newcomer) = self.newcomer(server) else { return false };
        let added = self.balancer.add(&newcomer);
        let mut life = self.life();
        if let Err(error) = added {
            life.note(number, &format!("failed: {}", chain(&error)));
            life.churn.start_failures += 1;
            return false;
        }
        if !life.is_wanted(number) {
            // It was taken away meanwhile.
            drop(life);
            drop(self.balancer.drain(&server.name, DRAIN));
            return false;
        }
        let now_ns = life.now_ns();
        life.pool.ready(number, now_ns);
        life.note(number, &format!("ready: {}", server.name));
        life.servers.insert(number, server.clone());
        drop(life);
        self.gate.get().into_iter().for_each(|gate| gate.joins(server));
        true
    }

    /// Ends the server of an instance.
    pub(super) fn end(&self, number: usize, server: &Server) {
        self.gate.get().into_iter().for_each(|gate| gate.leaves(server));
        let ended = self.crew.end(server.number);
        let mut life = self.life();
        let now_ns = life.now_ns();
        if life.pool.instances()[number].ended_ns.is_none() {
            life.pool.end(number, now_ns);
        }
        match ended {
            Ok(()) => life.note(number, "terminated"),
            // It stands in the ledger, and is undone with the bed.
            Err(error) => life.note(number, &format!("could not be ended: {}", chain(&error))),
        }
        drop(life);
        self.changed.notify_all();
    }

    /// Takes requests from an instance, and ends it when it has answered what it has.
    pub(super) fn lower(&self, number: usize, server: &Server) {
        if let Err(error) = self.balancer.drain(&server.name, DRAIN) {
            self.life().note(number, &format!("was not drained: {}", chain(&error)));
        }
        self.end(number, server);
    }
}

impl Yard<'_> {
    /// Takes out the instances that take requests no more, as their balancer says. Returns them.
    pub(super) fn failed(&self, before: &Look, look: &Look, seconds: f64) -> Vec<(usize, Server)> {
        let mut life = self.life();
        let is_out =
            |name: &str| look.instances.iter().any(|of| of.name == name && of.state == State::Out);
        let found: Vec<(usize, Server)> = life
            .servers
            .iter()
            .filter(|(_, server)| is_out(&server.name))
            .map(|(number, server)| (*number, server.clone()))
            .collect();
        let now_ns = life.now_ns();
        for (number, server) in &found {
            life.servers.remove(number);
            let state = if self.is_followed {
                // It is somebody else's, and goes on: it comes in again when it is well.
                life.pool.out(*number, now_ns);
                "out"
            } else {
                life.pool.end(*number, now_ns);
                life.owed += 1;
                "failed"
            };
            let taken = |of: &Look| {
                let member = of.instances.iter().find(|of| of.name == server.name);
                member.map_or((0, 0.0), |member| (member.ended(), of.active_at(member)))
            };
            let (was, is) = (taken(before), taken(look));
            let rate = is.0.saturating_sub(was.0) as f64 / seconds.max(1e-3);
            let most = rate * DETECTED_S + was.1.max(is.1);
            life.note(*number, &format!(
                "{state}: {} answered no health check in time; it may have lost {most:.0} requests \
                 until then ({rate:.1}/s for {DETECTED_S} s, and what it had)",
                server.name
            ));
        }
        found
    }

    /// Takes out the instances whose host is gone: whatever they answer, they can be ended no more.
    /// Returns them.
    pub(super) fn stranded(&self) -> Vec<(usize, Server)> {
        let mut life = self.life();
        let away = |(number, server): (&usize, &Server)| {
            Some((*number, server.clone(), self.crew.is_away(server)?))
        };
        let found: Vec<_> = life.servers.iter().filter_map(away).collect();
        let now_ns = life.now_ns();
        for (number, server, error) in &found {
            life.servers.remove(number);
            life.pool.end(*number, now_ns);
            life.owed += 1;
            life.note(*number, &format!("failed: {}: {}", server.name, chain(error)));
        }
        found.into_iter().map(|(number, server, _)| (number, server)).collect()
    }

    /// Removes a server that takes no requests any more.
    pub(super) fn bury(&self, number: usize, server: &Server) {
        // A balancer that was made anew does not know it.
        drop(self.balancer.remove(&server.name));
        self.end(number, server);
    }

    /// Removes a server of somebody else's that takes no requests, until it is well again.
    pub(super) fn rest(&self, number: usize, server: &Server) {
        drop(self.balancer.remove(&server.name));
        self.gate.get().into_iter().for_each(|gate| gate.leaves(server));
        self.life().resting.insert(number);
        self.changed.notify_all();
    }

    /// Makes the balancer anew in its place, with the instances that take requests. `lost` is what
    /// it had counted.
    ///
    /// # Errors
    /// Where it does not come to stand.
    pub(super) fn revive(&self, balancer: &Server, lost: &Lost) -> Result<(), TestbedError> {
        let name = &balancer.name;
        let clock = Clock::start();
        self.note_balancer(&format!("{name} failed: it obeys no order"));
        self.crew.again(balancer)?;
        self.balancer.forget()?;
        let mut life = self.life();
        life.lost_before = life.lost_before.plus(&lost.less(&life.lost_from));
        life.lost_from = Lost::default();
        let servers = life.servers();
        drop(life);
        for newcomer in servers.iter().filter_map(|server| self.newcomer(server)) {
            self.balancer.add(&newcomer)?;
        }
        let took = plimsoll_units::show_duration(clock.now());
        self.note_balancer(&format!(
            "{name} is there again after {took}, with {} instances",
            servers.len()
        ));
        Ok(())
    }

    /// A server as its balancer is told of it.
    pub(super) fn newcomer(&self, server: &Server) -> Option<Newcomer> {
        let address = format!("{}:{}", server.address, server.port).parse().ok()?;
        let weight = self.crew.weight(server);
        Some(Newcomer { name: server.name.clone(), address, weight })
    }

    /// Notes what has become of the balancer.
    pub(super) fn note_balancer(&self, text: &str) {
        self.note("balancer", text);
    }

    /// Notes what has happened to the pool.
    pub(super) fn note(&self, kind: &str, text: &str) {
        let mut life = self.life();
        let (at_ns, kind, text) = (life.now_ns(), kind.to_owned(), text.to_owned());
        life.events.push(Event { at_ns, class: Class::Infrastructure, kind, text });
    }
}
