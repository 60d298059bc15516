//! The instances behind a balancer, the places that they have, and who waits for one.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

use plimsoll_stats::Histogram;
use plimsoll_units::hash::fnv_1a;
use plimsoll_workload::balancer::Rule;
use serde::{Deserialize, Serialize};
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

use super::choose::{Candidate, Chooser};
use super::forward::Sender;
use super::health::{Health, Ill, fail_together};

/// Connections to one instance that are kept open while nobody uses them.
const MOST_IDLE: usize = 256;

/// How an instance stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It takes requests.
    In,
    /// Its health checks have failed; it takes none until one passes.
    Out,
    /// It is to go: it takes no more, and ends what it has.
    Draining,
}

/// What an instance did.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Requests that were given to it.
    pub(crate) taken: Cell<u64>,
    /// Those that it answered, whatever the status, to the last byte.
    pub(crate) answered: Cell<u64>,
    /// Those that it failed: no answer, or one that broke off.
    pub(crate) failed: Cell<u64>,
    /// Time from when a request was given to it to the last byte of its answer, microseconds.
    pub(crate) response_us: Cell<u64>,
    /// Health checks that failed.
    pub(crate) checks_failed: Cell<u64>,
}

/// Adds to a count.
pub(crate) fn add(count: &Cell<u64>, more: u64) {
    count.set(count.get().wrapping_add(more));
}

/// A server behind the balancer.
pub(crate) struct Instance {
    pub(crate) id: u64,
    pub(crate) name: String,
    hash: u64,
    pub(crate) address: SocketAddr,
    pub(crate) weight: Cell<f64>,
    pub(crate) state: Cell<State>,
    /// Requests that it has; each takes a place.
    pub(crate) active: Cell<u32>,
    /// Connections that were upgraded, as those of WebSockets: they take no place.
    pub(crate) upgraded: Cell<u32>,
    pub(crate) counts: Counts,
    /// What its health checks say, and when it was asked that has not answered yet.
    pub(crate) health: Cell<Health>,
    pub(crate) asked: Cell<Option<Instant>>,
    /// Whether its time is over as it leaves.
    pub(crate) is_cut: Cell<bool>,
    idle: RefCell<Vec<Sender>>,
    /// Told when it is out, so that what it has is given to another where that can be done.
    pub(crate) is_out: Notify,
    /// Told when upgraded connections are to be closed, and requests that are not answered.
    pub(crate) closes: Notify,
}

impl Instance {
    /// A connection that is open and that nobody uses.
    pub(crate) fn idle(&self) -> Option<Sender> {
        let mut idle = self.idle.borrow_mut();
        std::iter::from_fn(|| idle.pop()).find(|sender| !sender.is_closed() && sender.is_ready())
    }

    /// Keeps a connection for the next request.
    pub(crate) fn keep(&self, sender: Sender) {
        let mut idle = self.idle.borrow_mut();
        if idle.len() < MOST_IDLE && self.state.get() == State::In {
            idle.push(sender);
        }
    }

    /// What is wrong with it.
    pub(crate) fn ill(&self) -> Option<Ill> {
        self.health.get().ill(self.asked.get().map(|since| since.elapsed()))
    }

    /// Sets how it stands, and tells those whom it concerns.
    fn stand(&self, state: State) {
        self.state.set(state);
        if state != State::In {
            self.idle.borrow_mut().clear();
        }
        // Who answers checks, if wrongly, may answer what it has.
        if state == State::Out && !matches!(self.ill(), Some(Ill::Wrong(_))) {
            self.is_out.notify_waiters();
        }
    }
}

/// Why a request got no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// No instance had one, and no request may wait.
    NoSlot,
    /// As many wait as may.
    QueueFull,
    /// It waited as long as it may.
    QueueTimeout,
}

/// Requests that were lost at the balancer, by cause.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    /// No instance had a place, and no request may wait.
    pub no_slot: u64,
    /// As many waited as may.
    pub queue_full: u64,
    /// They waited as long as they may.
    pub queue_timeout: u64,
    /// The client was gone before the answer was.
    pub client_gone: u64,
    /// The instance failed, and the request could not be given to another.
    pub instance_failed: u64,
    /// The instance did not answer in time.
    pub timeout: u64,
    /// The instance was taken away, and the time was over that it had to end them.
    #[serde(default)]
    pub drained: u64,
}

impl Lost {
    /// Both together.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        self.with(other, u64::saturating_add)
    }

    /// Those that were not among others, of an earlier time.
    #[must_use]
    pub fn less(&self, other: &Self) -> Self {
        self.with(other, u64::saturating_sub)
    }

    fn with(&self, other: &Self, of: fn(u64, u64) -> u64) -> Self {
        Self {
            no_slot: of(self.no_slot, other.no_slot),
            queue_full: of(self.queue_full, other.queue_full),
            queue_timeout: of(self.queue_timeout, other.queue_timeout),
            client_gone: of(self.client_gone, other.client_gone),
            instance_failed: of(self.instance_failed, other.instance_failed),
            timeout: of(self.timeout, other.timeout),
            drained: of(self.drained, other.drained),
        }
    }
}

/// The instances, and who waits for a place of one.
pub(crate) struct Pool {
    instances: RefCell<Vec<Rc<Instance>>>,
    chooser: RefCell<Chooser>,
    limit: u32,
    queue: u32,
    queue_timeout: Option<Duration>,
    waiting: RefCell<VecDeque<(IpAddr, oneshot::Sender<Place>)>>,
    last_id: Cell<u64>,
    /// Connections of clients that are open.
    pub(crate) connections: Cell<u64>,
    pub(crate) requests: Cell<u64>,
    pub(crate) lost: Cell<Lost>,
    /// Of all instances, those too that are gone: as [`Counts`] has it.
    pub(crate) answered: Cell<u64>,
    pub(crate) response_us: Cell<u64>,
    /// Response times since they were taken, nanoseconds.
    pub(crate) times: RefCell<Histogram>,
}

/// A place of an instance; it is given back when this is dropped.
pub(crate) struct Place {
    pub(crate) instance: Rc<Instance>,
    pool: Rc<Pool>,
}

impl Place {
    /// Counts that its request is answered, and in which time.
    pub(crate) fn answered(&self, took: Duration) {
        let took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let took_ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.pool.times.borrow_mut().record(took_ns);
        let (of, all) = (&self.instance.counts, &self.pool);
        for (answered, response_us) in
            [(&of.answered, &of.response_us), (&all.answered, &all.response_us)]
        {
            add(answered, 1);
            add(response_us, took_us);
        }
    }

    /// Counts that its request is lost.
    pub(crate) fn lose(&self, cause: impl FnOnce(&mut Lost) -> &mut u64) {
        self.pool.lose(cause);
    }
}

/// A connection of a client, counted as long as it is open.
pub(crate) struct Connected(Rc<Pool>);

impl Drop for Connected {
    fn drop(&mut self) {
        self.0.connections.set(self.0.connections.get().saturating_sub(1));
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.instance.active.set(self.instance.active.get().saturating_sub(1));
        self.pool.serve_waiting();
    }
}

impl Pool {
    pub(crate) fn new(rule: Rule, limit: u32, queue: u32, queue_timeout: Option<Duration>) -> Self {
        Self {
            instances: RefCell::default(),
            chooser: RefCell::new(Chooser::new(rule, 1)),
            limit,
            queue,
            queue_timeout,
            waiting: RefCell::default(),
            last_id: Cell::new(0),
            connections: Cell::new(0),
            requests: Cell::new(0),
            lost: Cell::new(Lost::default()),
            answered: Cell::new(0),
            response_us: Cell::new(0),
            times: RefCell::default(),
        }
    }

    /// A connection of a client is open, until this is dropped.
    pub(crate) fn connected(self: &Rc<Self>) -> Connected {
        add(&self.connections, 1);
        Connected(Rc::clone(self))
    }

    /// Counts a request that is lost.
    pub(crate) fn lose(&self, cause: impl FnOnce(&mut Lost) -> &mut u64) {
        let mut lost = self.lost.get();
        *cause(&mut lost) += 1;
        self.lost.set(lost);
    }

    /// The instances there are.
    pub(crate) fn instances(&self) -> Vec<Rc<Instance>> {
        self.instances.borrow().clone()
    }

    /// The instance of a name.
    pub(crate) fn named(&self, name: &str) -> Option<Rc<Instance>> {
        self.instances.borrow().iter().find(|of| of.name == name).cloned()
    }

    /// Adds an instance; `None` where one of that name is there.
    pub(crate) fn add(
        self: &Rc<Self>,
        name: &str,
        address: SocketAddr,
        weight: f64,
    ) -> Option<Rc<Instance>> {
        if self.named(name).is_some() {
            return None;
        }
        self.last_id.set(self.last_id.get() + 1);
        let instance = Rc::new(Instance {
            id: self.last_id.get(),
            name: name.to_owned(),
            hash: fnv_1a(name.as_bytes()),
            address,
            weight: Cell::new(weight),
            state: Cell::new(State::In),
            active: Cell::new(0),
            upgraded: Cell::new(0),
            counts: Counts::default(),
            health: Cell::default(),
            asked: Cell::default(),
            is_cut: Cell::default(),
            idle: RefCell::default(),
            is_out: Notify::new(),
            closes: Notify::new(),
        });
        self.instances.borrow_mut().push(Rc::clone(&instance));
        self.serve_waiting();
        Some(instance)
    }

    /// Sets how an instance stands; one that is draining stays so.
    pub(crate) fn stand(self: &Rc<Self>, instance: &Instance, state: State) {
        if instance.state.get() != State::Draining && instance.state.get() != state {
            instance.stand(state);
            self.serve_waiting();
        }
    }

    /// Judges by their health checks which instances take requests.
    pub(crate) fn judge(self: &Rc<Self>) {
        let mut there = self.instances();
        there.retain(|of| of.state.get() != State::Draining);
        let failing = there.iter().filter(|of| of.ill().is_some()).count();
        let together = fail_together(failing, there.len());
        for of in &there {
            let is_out = of.health.get().is_out(together);
            self.stand(of, if is_out { State::Out } else { State::In });
        }
    }

    /// Takes an instance from the list. What it has is still answered.
    pub(crate) fn remove(&self, instance: &Instance) {
        self.instances.borrow_mut().retain(|of| of.id != instance.id);
    }

    /// A place for a request of a client, at once, from those that were not tried.
    fn free(self: &Rc<Self>, client: IpAddr, tried: &[u64]) -> Option<Place> {
        let instances = self.instances.borrow();
        let is_free = |of: &Instance| {
            of.state.get() == State::In && of.active.get() < self.limit && !tried.contains(&of.id)
        };
        let (free, candidates): (Vec<&Rc<Instance>>, Vec<Candidate>) = instances
            .iter()
            .filter(|of| is_free(of))
            .map(|of| {
                let (active, weight) = (of.active.get(), of.weight.get());
                (of, Candidate { id: of.id, name: of.hash, active, weight })
            })
            .unzip();
        let at = self.chooser.borrow_mut().choose(&candidates, client)?;
        let instance = Rc::clone(free[at]);
        instance.active.set(instance.active.get() + 1);
        Some(Place { instance, pool: Rc::clone(self) })
    }

    /// A place for a request of a client; it waits for one as far as it may.
    pub(crate) async fn place(
        self: &Rc<Self>,
        client: IpAddr,
        tried: &[u64],
    ) -> Result<Place, Refusal> {
        // Who waits goes before who comes.
        let is_first = self.waiting.borrow().is_empty() || !tried.is_empty();
        if let Some(place) = is_first.then(|| self.free(client, tried)).flatten() {
            return Ok(place);
        }
        if self.queue == 0 {
            return Err(Refusal::NoSlot);
        }
        let receives = {
            let mut waiting = self.waiting.borrow_mut();
            waiting.retain(|(_, gets)| !gets.is_closed());
            if waiting.len() >= self.queue as usize {
                return Err(Refusal::QueueFull);
            }
            let (gets, receives) = oneshot::channel();
            waiting.push_back((client, gets));
            receives
        };
        let waited = match self.queue_timeout {
            Some(limit) => tokio::time::timeout(limit, receives).await,
            None => Ok(receives.await),
        };
        waited.ok().and_then(Result::ok).ok_or(Refusal::QueueTimeout)
    }

    /// How many wait for a place.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.borrow().iter().filter(|(_, gets)| !gets.is_closed()).count()
    }

    /// Gives places that are free to those who wait.
    fn serve_waiting(self: &Rc<Self>) {
        loop {
            let client = {
                let mut waiting = self.waiting.borrow_mut();
                while waiting.front().is_some_and(|(_, gets)| gets.is_closed()) {
                    waiting.pop_front();
                }
                let Some((client, _)) = waiting.front() else { return };
                *client
            };
            let Some(place) = self.free(client, &[]) else { return };
            let taken = self.waiting.borrow_mut().pop_front();
            let Some((_, gets)) = taken else { return };
            if let Err(place) = gets.send(place) {
                // Gone in between; the place is given back, which serves the next.
                drop(place);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_workload::pool::{Choice, Ties};

    const CLIENT: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn pool(limit: u32, queue: u32, instances: u16) -> Rc<Pool> {
        let rule = Rule::Pool(Choice::Fair(Ties::First));
        let pool = Rc::new(Pool::new(rule, limit, queue, Some(Duration::from_secs(1))));
        for port in 1..=instances {
            pool.add(&format!("web-{port}"), ([127, 0, 0, 1], port).into(), 1.0).unwrap();
        }
        pool
    }

    fn run<T>(what: impl Future<Output = T>) -> T {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_time().start_paused(true).build().unwrap();
        tokio::task::LocalSet::new().block_on(&runtime, what)
    }

    #[test]
    fn no_instance_has_more_than_its_limit() {
        run(async {
            let pool = pool(2, 0, 2);
            let mut places = Vec::new();
            for _ in 0..4 {
                places.push(pool.place(CLIENT, &[]).await.ok().unwrap());
            }
            let of: Vec<u64> = places.iter().map(|place| place.instance.id).collect();
            assert_eq!(of, [1, 2, 1, 2]);
            assert_eq!(pool.place(CLIENT, &[]).await.err(), Some(Refusal::NoSlot));
            places.remove(1);
            assert_eq!(pool.place(CLIENT, &[]).await.ok().unwrap().instance.id, 2);
        });
    }

    #[test]
    fn who_waits_is_served_in_turn_or_refused_in_time() {
        run(async {
            let pool = pool(1, 2, 1);
            let held = pool.place(CLIENT, &[]).await.ok().unwrap();
            let wait = || {
                let pool = Rc::clone(&pool);
                tokio::task::spawn_local(async move {
                    let place = pool.place(CLIENT, &[]).await;
                    place.map(|place| place.instance.id)
                })
            };
            let (first, second) = (wait(), wait());
            tokio::task::yield_now().await;
            assert_eq!(pool.waiting(), 2);
            assert_eq!(wait().await.unwrap(), Err(Refusal::QueueFull));
            drop(held);
            assert_eq!((first.await.unwrap(), second.await.unwrap()), (Ok(1), Ok(1)));
            let _held = pool.place(CLIENT, &[]).await.ok().unwrap();
            assert_eq!(wait().await.unwrap(), Err(Refusal::QueueTimeout));
            assert_eq!(pool.waiting(), 0);
        });
    }

    #[test]
    fn who_waits_gets_the_place_of_a_newcomer() {
        run(async {
            let pool = pool(1, 5, 0);
            let waits = {
                let pool = Rc::clone(&pool);
                tokio::task::spawn_local(async move { pool.place(CLIENT, &[]).await.is_ok() })
            };
            tokio::task::yield_now().await;
            pool.add("late", ([127, 0, 0, 1], 9).into(), 1.0).unwrap();
            assert!(waits.await.unwrap());
            assert!(pool.add("late", ([127, 0, 0, 1], 9).into(), 1.0).is_none());
        });
    }

    #[test]
    fn who_fails_alone_is_out_and_who_fails_with_most_is_not() {
        run(async {
            let pool = pool(9, 0, 3);
            let answers = |name: &str, answer: Result<(), Ill>, times: usize| {
                let of = pool.named(name).unwrap();
                for _ in 0..times {
                    let mut health = of.health.get();
                    health.heard(answer);
                    of.health.set(health);
                }
                pool.judge();
                pool.instances().iter().filter(|of| of.state.get() == State::Out).count()
            };
            let wrong = Err(Ill::Wrong(Some(500)));
            assert_eq!(answers("web-1", wrong, 2), 0);
            assert_eq!(answers("web-1", wrong, 1), 1);
            assert_eq!(answers("web-2", wrong, 1), 0, "two of three");
            assert_eq!(answers("web-2", Ok(()), 1), 1);
            assert_eq!(answers("web-1", Ok(()), 1), 0);
            assert_eq!(answers("web-1", Err(Ill::Gone), 1), 1);
            assert_eq!(answers("web-2", Err(Ill::Gone), 1), 2, "nobody can ask them anything");
            assert_eq!(answers("web-3", Err(Ill::Late), 1), 2, "it may answer yet");
        });
    }

    #[test]
    fn one_that_is_out_or_draining_takes_none() {
        run(async {
            let pool = pool(9, 0, 2);
            let [first, second] = [pool.named("web-1").unwrap(), pool.named("web-2").unwrap()];
            pool.stand(&first, State::Out);
            assert_eq!(pool.place(CLIENT, &[]).await.ok().unwrap().instance.id, 2);
            pool.stand(&second, State::Draining);
            pool.stand(&second, State::In);
            assert_eq!(pool.place(CLIENT, &[]).await.err(), Some(Refusal::NoSlot));
            pool.stand(&first, State::In);
            assert_eq!(pool.place(CLIENT, &[]).await.ok().unwrap().instance.id, 1);
            // One that was tried is not tried again.
            assert_eq!(pool.place(CLIENT, &[1]).await.err(), Some(Refusal::NoSlot));
        });
    }
}
