//! A pool whose time, servers and balancer obey the test, and what its threads are given to do.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::Scope;

use plimsoll_elastic::books::{Books, Terms};
use plimsoll_elastic::controller::Decided;
use plimsoll_elastic::observation::{Instance, Observation};
use plimsoll_elastic::outcome::Tick;
use plimsoll_elastic::policy::{Decider, Verdict};
use plimsoll_elastic::simulated::Setup;
use plimsoll_plan::Written;
use plimsoll_runs::Event;
use plimsoll_testbed::balance::State;
use plimsoll_testbed::{Instance as Server, TestbedError};

use super::super::steer::Steered;
use super::super::time::Time;
use super::super::yard::{Servers, Yard};
use super::balancer::{Board, Manner};
use super::servers::{Ask, Works, server};
use super::time::ByHand;
use crate::plans;
use crate::world::pool::model::{Model, model};

pub(super) const SECOND: u64 = 1_000_000_000;

/// A pool of one to six that is looked at once a second.
const PLAN: &str = "\
name = 'by hand'
[testbed]
provider = 'process'
[role.web]
recipe = 'target'
[pool]
role = 'web'
min = 1
max = 6
decide_every = '5s'
[instance]
service = 'const:20ms'
cores = 2
boot = 'BOOT'
[load]
rate = '10/s'
for = '1h'
[policy.one]
kind = 'fixed'
instances = 2
";

/// The model of a pool whose instances take so long to boot.
pub(super) fn model_of(boot: &str) -> Model {
    let text = PLAN.replace("BOOT", boot);
    let plan = plans::read(&Written::text(&text, "plan.toml", &[]).stored()).unwrap();
    model(&plan).unwrap()
}

/// How many instances boot, are ready and drain.
pub(super) type States = [usize; 3];

/// Counts instances by their states.
pub(super) fn states<'i>(all: impl IntoIterator<Item = &'i Instance>) -> States {
    let mut states = [0; 3];
    all.into_iter().for_each(|of| states[of.state as usize] += 1);
    states
}

/// Wants what the test wants.
struct Wish<'a> {
    wish: &'a AtomicU32,
    /// What was seen at each decision.
    seen: &'a Mutex<Vec<States>>,
}

impl Decider for Wish<'_> {
    fn decide(&mut self, seen: &Observation<'_>) -> Verdict {
        self.seen.lock().unwrap().push(states(seen.instances));
        let wish = self.wish.load(Ordering::Relaxed);
        let desired = wish.clamp(seen.bounds.0, seen.bounds.1);
        Verdict { desired, limited_by: None, reason: "the test wants it".to_owned() }
    }

    fn save(&self) -> serde_json::Result<String> {
        Ok(String::new())
    }

    fn restore(&mut self, _: &str) -> serde_json::Result<()> {
        Ok(())
    }
}

/// What a pool stands on.
pub(super) struct Ground {
    pub(super) time: Arc<ByHand>,
    pub(super) board: Arc<Board>,
    pub(super) works: Works,
    pub(super) balancer: Server,
    pub(super) model: Model,
    /// What the policy wants.
    pub(super) wish: AtomicU32,
    /// What it saw at each decision.
    pub(super) seen: Mutex<Vec<States>>,
    /// What came of the steering.
    pub(super) steered: Mutex<Option<Result<Books, TestbedError>>>,
    pub(super) ticks: Mutex<Vec<Tick>>,
}

impl Ground {
    pub(super) fn new(manner: Manner, boot: &str) -> Self {
        let time = Arc::new(ByHand::new());
        let board = Arc::new(Board::new(&time, manner));
        let works = Works::new(&time, &board);
        Self {
            works,
            time,
            board,
            balancer: server("balancer-1", 1, 999),
            model: model_of(boot),
            wish: AtomicU32::new(2),
            seen: Mutex::default(),
            steered: Mutex::default(),
            ticks: Mutex::default(),
        }
    }

    /// Its pool, of servers that somebody else starts where `followed` says which.
    pub(super) fn yard<'a>(&'a self, servers: &'a dyn Servers) -> Yard<'a> {
        let time: Arc<ByHand> = Arc::clone(&self.time);
        Yard::new((servers, &*self.board), &self.model.setup, 1, time)
    }

    pub(super) fn setup(&self) -> &Setup {
        &self.model.setup
    }

    fn steered(&self) -> MutexGuard<'_, Option<Result<Books, TestbedError>>> {
        self.steered.lock().unwrap()
    }
}

/// A pool at work, whose threads have the turn when the test gives it to them.
pub(super) struct World<'scope, 'env, 'a> {
    pub(super) ground: &'env Ground,
    pub(super) yard: &'env Yard<'a>,
    pub(super) scope: &'scope Scope<'scope, 'env>,
    pub(super) events: Receiver<Event>,
    pub(super) decisions: Receiver<Decided>,
    /// The thread that steers.
    steers: Option<u64>,
    /// What has happened so far, in order.
    pub(super) told: Vec<Event>,
    pub(super) decided: Vec<Decided>,
}

impl Drop for World<'_, '_, '_> {
    /// Where the test has failed, the threads are let go.
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.yard.ends();
            self.ground.time.gives_up();
        }
    }
}

impl<'scope, 'env, 'a> World<'scope, 'env, 'a> {
    pub(super) fn new(
        ground: &'env Ground,
        yard: &'env Yard<'a>,
        scope: &'scope Scope<'scope, 'env>,
    ) -> Self {
        let (events, decisions) = (channel().1, channel().1);
        let (told, decided) = (Vec::new(), Vec::new());
        Self { ground, yard, scope, events, decisions, steers: None, told, decided }
    }

    /// Does something on a thread of its own. Returns its number.
    pub(super) fn does(&self, what: impl FnOnce() + Send + 'scope) -> u64 {
        let (time, thread) = (&self.ground.time, self.ground.time.starts());
        self.scope.spawn(move || {
            time.begins(thread);
            let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(what));
            time.ends(thread);
            ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        });
        thread
    }

    /// The load begins, and the policy is in charge.
    pub(super) fn steers(&mut self) {
        let (ground, yard, scope) = (self.ground, self.yard, self.scope);
        let (events, told) = channel();
        let (decisions, decided) = channel();
        (self.events, self.decisions) = (told, decided);
        yard.starts(0);
        let thread = self.does(move || {
            let hears = |tick: &Tick| ground.ticks.lock().unwrap().push(*tick);
            let steered = Steered {
                balancer: &*ground.board,
                server: &ground.balancer,
                setup: ground.setup(),
                role: None,
                has_processors: false,
                terms: Terms {
                    demand: &ground.model.demand,
                    slo: None,
                    cores: 2,
                    prices: &ground.model.setup.prices,
                },
                events,
                decisions,
                tells: &|_| {},
                hears: &hears,
            };
            let mut wish = Wish { wish: &ground.wish, seen: &ground.seen };
            let books = steered.run(&mut wish, scope, yard);
            *ground.steered() = Some(books);
        });
        self.steers = Some(thread);
    }

    /// The thread that steers.
    pub(super) fn steering(&self) -> u64 {
        self.steers.unwrap()
    }

    /// Whether the steering has ended, with an error or at the end.
    pub(super) fn has_steered(&self) -> bool {
        self.ground.steered().is_some()
    }

    /// Takes note of what has happened.
    pub(super) fn listens(&mut self) {
        let last = self.yard.life().take_events();
        self.told.extend(self.events.try_iter());
        self.told.extend(last);
        self.decided.extend(self.decisions.try_iter());
    }

    /// Gives all threads the turn that could go on, one after the other, until none could.
    pub(super) fn settles(&mut self) {
        while let Some(thread) = self.ground.time.ready().first() {
            self.ground.time.turn(*thread);
        }
        self.listens();
    }

    /// Gives one thread the turn as long as it could go on. Returns whether it had it.
    pub(super) fn only(&self, thread: u64) -> bool {
        let has_turn = || self.ground.time.ready().contains(&thread);
        let had_turn = has_turn();
        while has_turn() {
            self.ground.time.turn(thread);
        }
        had_turn
    }

    /// The thread that steers has the turn until a second has passed for it, and no other.
    pub(super) fn looks(&self) {
        self.ground.time.passes(SECOND);
        assert!(self.only(self.steers.unwrap()), "it steers");
    }

    /// As [`World::settles`], and whatever is asked for is had, and what drains has drained.
    pub(super) fn obeys(&mut self) {
        loop {
            self.settles();
            let asked = self.ground.works.asked();
            let draining: Vec<u64> = self.ground.board.table().draining.keys().copied().collect();
            if asked.is_empty() && draining.is_empty() {
                return;
            }
            asked.iter().for_each(|(thread, _)| self.ground.works.says(*thread, true));
            draining.iter().for_each(|thread| self.ground.board.drained(*thread));
        }
    }

    /// So many seconds pass in which all is obeyed.
    pub(super) fn lasts(&mut self, seconds: u64) {
        let until_ns = self.ground.time.now() + seconds * SECOND;
        self.obeys();
        while let now_ns = self.ground.time.now()
            && now_ns < until_ns
        {
            let next_ns = self.ground.time.next_ns().unwrap_or(until_ns).clamp(now_ns, until_ns);
            self.ground.time.passes(next_ns - now_ns);
            self.obeys();
        }
    }

    /// So many seconds pass in which nothing that is asked for is said.
    pub(super) fn waits(&mut self, seconds: u64) {
        let until_ns = self.ground.time.now() + seconds * SECOND;
        self.settles();
        while let now_ns = self.ground.time.now()
            && now_ns < until_ns
        {
            let next_ns = self.ground.time.next_ns().unwrap_or(until_ns).clamp(now_ns, until_ns);
            self.ground.time.passes(next_ns - now_ns);
            self.settles();
        }
    }

    /// What is asked for of a kind is had, or is not.
    pub(super) fn says(&self, is_it: impl Fn(Ask) -> bool, is_had: bool) {
        let asking = self.asking(is_it);
        assert!(!asking.is_empty(), "nobody asks for that");
        asking.into_iter().for_each(|thread| self.ground.works.says(thread, is_had));
    }

    /// The threads that ask for something of a kind.
    pub(super) fn asking(&self, is_it: impl Fn(Ask) -> bool) -> Vec<u64> {
        let asked = self.ground.works.asked();
        asked.into_iter().filter(|(_, ask)| is_it(*ask)).map(|(thread, _)| thread).collect()
    }

    /// All is over: it is waited for all threads.
    pub(super) fn ends(&mut self) {
        self.yard.ends();
        let mut stock = self.ground.works.stock();
        stock.is_closed = true;
        drop(stock);
        self.lasts(1);
        assert_eq!(self.ground.time.count(), 0, "threads go on after the end");
        self.listens();
    }

    /// The policy wants so many.
    pub(super) fn wants(&self, count: u32) {
        self.ground.wish.store(count, Ordering::Relaxed);
    }

    /// Begins with so many instances, and has the policy want as many.
    pub(super) fn begins(&mut self, count: u32) {
        let yard = self.yard;
        self.wants(count);
        self.does(move || yard.begin(count).unwrap());
        self.obeys();
        self.steers();
        self.settles();
    }

    /// The names of the servers that take requests, as the pool has it.
    pub(super) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> =
            self.yard.life().servers().into_iter().map(|of| of.name).collect();
        names.sort();
        names
    }

    /// A server fails: its health check does.
    pub(super) fn fails(&self, name: &str) {
        self.ground.board.checks(name, State::Out);
    }

    /// The texts of what has happened to instances.
    pub(super) fn texts(&self) -> Vec<&str> {
        self.told.iter().map(|of| of.text.as_str()).collect()
    }

    /// How often something of this kind was told.
    pub(super) fn told_times(&self, what: &str) -> usize {
        self.told.iter().filter(|of| of.text.contains(what)).count()
    }
}

/// Does something with a pool that stands on a ground.
pub(super) fn with_world<T>(
    ground: &Ground,
    yard: &Yard<'_>,
    with: impl FnOnce(World<'_, '_, '_>) -> T,
) -> T {
    std::thread::scope(|scope| with(World::new(ground, yard, scope)))
}
