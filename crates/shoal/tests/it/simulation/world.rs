//! The simulated day: agents, a network that does what networks do, and an onlooker who knows
//! every delivery.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

use plimsoll_shoal::Now;
use plimsoll_shoal::geo::{Locate, Place, Spot};
use plimsoll_shoal::heartbeat::{Number, Refusal};
use plimsoll_shoal::registry::{Heard, Kept, Origin, Registry, Settings, Shelf, Source};
use plimsoll_workload::random::Stream;

use super::agent::{Agent, Delivered, SECOND};

/// One day to be run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scenario {
    /// How many agents.
    pub(crate) agents: u32,
    /// How long, seconds.
    pub(crate) seconds: u64,
    /// Of all that is drawn.
    pub(crate) seed: u64,
}

/// What happened in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) delivered: u64,
    pub(crate) renewed: u64,
    pub(crate) joined: u64,
    pub(crate) replaced: u64,
    pub(crate) expired: u64,
    pub(crate) goodbyes: u64,
    pub(crate) stale: u64,
    pub(crate) heals: u64,
    pub(crate) digest: u64,
}

#[derive(Debug, Clone, Copy)]
struct Event {
    at_ns: u64,
    agent: u32,
    what: What,
}

#[derive(Debug, Clone, Copy)]
enum What {
    Send {
        life: u32,
    },
    Deliver {
        life: u32,
        timestamp: f64,
    },
    Stop,
    Goodbye {
        life: u32,
        timestamp: f64,
    },
    Start,
    ClockJump,
    /// The onlooker looks whether it lives as it should.
    Look {
        life: u32,
    },
}

/// How bad the network of a day is.
struct Network {
    loss: f64,
    twice: f64,
    slow: f64,
    /// Each group of agents is cut off until then.
    cut_until_ns: [u64; GROUPS],
}

const GROUPS: usize = 8;
const EPOCH_S: f64 = 1_790_000_000.0;
const QUARTER: u64 = SECOND / 4;

/// Addresses of this world have no places.
struct Nowhere;

impl Locate for Nowhere {
    fn place(&self, _: IpAddr) -> Option<Arc<Place>> {
        None
    }

    fn spot(&self, _: IpAddr) -> Option<Spot> {
        None
    }
}

struct World {
    seed: u64,
    registry: Registry,
    shelf: Arc<Shelf>,
    agents: Vec<Agent>,
    network: Network,
    random: Stream,
    now_ns: u64,
    /// The registry's wall clock less the true one, seconds.
    clock_s: f64,
    /// By quarters of a second.
    later: Vec<Vec<Event>>,
    /// Emptied quarters, whose memory the next ones take.
    spare: Vec<Vec<Event>>,
    origin: Origin,
    outcome: Outcome,
}

/// Bits of an agent's number, and of an event's place in its quarter, beside 28 of its time there.
const BITS: u32 = 18;

/// The places of a quarter's events by time, then by agent, then as they were added. Each is one
/// number to the sort: whole events took it a seventh of a day's time.
fn in_order(events: &[Event]) -> impl Iterator<Item = usize> + use<> {
    assert!(events.len() <= 1 << BITS, "{} events in a quarter of a second", events.len());
    let number = |(place, event): (usize, &Event)| {
        (event.at_ns % QUARTER) << (2 * BITS) | u64::from(event.agent) << BITS | place as u64
    };
    let mut numbers: Vec<u64> = events.iter().enumerate().map(number).collect();
    numbers.sort_unstable();
    numbers.into_iter().map(|number| (number & ((1 << BITS) - 1)) as usize)
}

/// Runs a day.
///
/// # Panics
///
/// At the first thing that must not be, with the seed.
pub(crate) fn run(scenario: &Scenario) -> Outcome {
    let mut world = World::new(scenario);
    for second in 0..scenario.seconds {
        world.second(second);
        if second % 600 == 599 {
            world.compare_lists();
        }
    }
    world.outcome()
}

impl World {
    fn new(scenario: &Scenario) -> Self {
        assert!(scenario.agents <= 1 << BITS, "{} agents", scenario.agents);
        let mut random = Stream::named(scenario.seed, "registry day");
        let registry = Registry::new(Settings::default(), [7; 32], Kept::default());
        let network = Network {
            loss: 0.3 * random.uniform(),
            twice: 0.1 * random.uniform(),
            slow: 0.1 * random.uniform(),
            cut_until_ns: [0; GROUPS],
        };
        // Most say nothing of their interval, which is 30 s then.
        let intervals = [Some(3), Some(10), Some(30), Some(120)];
        let agents: Vec<_> = (0..scenario.agents)
            .map(|number| {
                let said = intervals.get(random.below(40) as usize).copied();
                Agent::new(number, said.flatten())
            })
            .collect();
        let mut world = Self {
            seed: scenario.seed,
            shelf: registry.shelf(),
            registry,
            agents,
            network,
            random,
            now_ns: 0,
            clock_s: 0.0,
            later: vec![Vec::new(); 4 * scenario.seconds as usize],
            spare: Vec::new(),
            origin: Origin { source: Source::Broker, trusted: false },
            outcome: Outcome::default(),
        };
        for agent in 0..scenario.agents {
            let first = world.random.below(30 * SECOND);
            world.add(first, agent, What::Send { life: 1 });
            world.trouble(agent);
        }
        world
    }

    fn add(&mut self, at_ns: u64, agent: u32, what: What) {
        if let Some(quarter) = self.later.get_mut((at_ns / QUARTER) as usize) {
            if quarter.capacity() == 0 {
                *quarter = self.spare.pop().unwrap_or_default();
            }
            quarter.push(Event { at_ns, agent, what });
        }
    }

    /// Draws when this agent's next trouble comes, and what it is.
    fn trouble(&mut self, agent: u32) {
        let at = self.now_ns + (4.0 * 3600e9 * self.random.exponential()) as u64;
        let what = if self.random.below(3) == 0 { What::ClockJump } else { What::Stop };
        self.add(at, agent, what);
    }

    fn now(&self) -> Now {
        let true_s = self.true_unix_s();
        Now { elapsed_ns: self.now_ns, unix_s: true_s + self.clock_s }
    }

    fn true_unix_s(&self) -> f64 {
        EPOCH_S + self.now_ns as f64 / 1e9
    }

    fn second(&mut self, second: u64) {
        self.weather();
        for quarter in 4 * second..4 * second + 4 {
            self.events(quarter as usize);
            self.now_ns = (quarter + 1) * QUARTER;
            while self.registry.sweep(self.now(), 1000).more {}
            self.registry.publish(self.now());
            if let Some(rebuild) = self.registry.rebuild() {
                let rebuilt = rebuild.build();
                self.registry.adopt(self.now(), rebuilt);
            }
        }
    }

    /// Partitions begin, and the registry's wall clock is set.
    fn weather(&mut self) {
        let group = self.random.below(GROUPS as u64) as usize;
        if self.random.below(1800) == 0 {
            let cut = &mut self.network.cut_until_ns[group];
            *cut = self.now_ns + (30 + self.random.below(1200)) * SECOND;
        }
        if self.random.below(3600) == 0 {
            self.clock_s = 60.0 * self.random.uniform() - 30.0;
        }
        let heals = self.network.cut_until_ns.iter();
        let second = self.now_ns / SECOND;
        let heals = heals.filter(|until| second > 0 && **until / SECOND == second).count();
        self.outcome.heals += heals as u64;
    }

    /// What happens in a quarter of a second, also what is added meanwhile.
    fn events(&mut self, quarter: usize) {
        loop {
            let mut ready = std::mem::take(&mut self.later[quarter]);
            if ready.is_empty() {
                return;
            }
            self.fetch(&ready);
            for place in in_order(&ready) {
                let event = ready[place];
                self.now_ns = event.at_ns.max(self.now_ns);
                self.happen(event);
            }
            ready.clear();
            self.spare.push(ready);
        }
    }

    /// Reads a little of each agent that something happens to. Its memory lies anywhere, and is
    /// waited for here for many at a time: one after another that was a third of a day's time.
    fn fetch(&self, events: &[Event]) {
        let read = |event: &Event| {
            let agent = &self.agents[event.agent as usize];
            let uuid = agent.beat.uuid.as_bytes().first().map_or(0, |first| u64::from(*first));
            let heard = agent.seen.as_ref().map_or(0, |seen| seen.cache.heard_ns());
            uuid ^ heard ^ u64::from(agent.life)
        };
        std::hint::black_box(events.iter().map(read).fold(0, |all, one| all ^ one));
    }

    fn happen(&mut self, event: Event) {
        let number = event.agent;
        let running = self.agents[number as usize].running;
        match event.what {
            What::Send { life } if running && life == self.life(number) => self.send(number),
            What::Send { .. } => {}
            What::Deliver { life, timestamp } if life == self.life(number) => {
                self.deliver(number, timestamp);
            }
            // Of an earlier life: its uuid is not known any more, and it would be a twin.
            What::Deliver { .. } => {}
            What::Goodbye { life, timestamp } if life == self.life(number) => {
                self.goodbye(number, timestamp);
            }
            What::Goodbye { .. } => {}
            What::Stop => self.stop(number),
            What::Start => {
                self.agents[number as usize].start(number);
                self.agents[number as usize].clock_s = 40.0 * self.random.uniform() - 20.0;
                self.send(number);
                self.trouble(number);
            }
            What::ClockJump => {
                self.agents[number as usize].clock_s = 120.0 * self.random.uniform() - 60.0;
                self.trouble(number);
            }
            What::Look { life } if life == self.life(number) => self.look(number),
            What::Look { .. } => {}
        }
    }

    fn life(&self, number: u32) -> u32 {
        self.agents[number as usize].life
    }

    fn send(&mut self, number: u32) {
        let true_s = self.true_unix_s();
        let agent = &mut self.agents[number as usize];
        let timestamp = agent.stamp(true_s);
        let (life, interval) = (agent.life, agent.interval_ns);
        let jitter = 0.9 + 0.2 * self.random.uniform();
        self.add(self.now_ns + (interval as f64 * jitter) as u64, number, What::Send { life });
        let copies = 1 + u32::from(self.random.uniform() < self.network.twice);
        for _ in 0..copies {
            let cut = self.network.cut_until_ns[number as usize % GROUPS];
            if self.now_ns < cut || self.random.uniform() < self.network.loss {
                continue;
            }
            let mean = if self.random.uniform() < self.network.slow { 5e9 } else { 5e7 };
            let delay = (mean * self.random.exponential()).min(20e9) as u64;
            self.add(self.now_ns + delay, number, What::Deliver { life, timestamp });
        }
    }

    /// An agent stops: it is killed, or says goodbye. It starts again later.
    fn stop(&mut self, number: u32) {
        let true_s = self.true_unix_s();
        let agent = &mut self.agents[number as usize];
        agent.running = false;
        let (life, timestamp) = (agent.life, agent.stamp(true_s));
        if self.random.below(2) == 0 {
            self.add(self.now_ns + SECOND / 20, number, What::Goodbye { life, timestamp });
        }
        let away = self.random.below(900) * SECOND + SECOND / 2;
        self.add(self.now_ns + away, number, What::Start);
    }

    fn deliver(&mut self, number: u32, timestamp: f64) {
        let (now, load) = (self.now(), self.random.below(100_000));
        let agent = &mut self.agents[number as usize];
        agent.beat.timestamp = timestamp;
        agent.beat.load = Number::Int(load);
        let heard = self.registry.heard(now, &self.origin, &agent.beat, &Nowhere);
        self.outcome.delivered += 1;
        self.outcome.digest = self.outcome.digest.rotate_left(5) ^ (now.elapsed_ns + load);
        let seed = self.seed;
        let end_ns = now.elapsed_ns + agent.ttl_ns();
        let (cache, renewed) = match (heard, &agent.seen) {
            (Err(Refusal::Stale(_)), Some(seen)) => {
                assert!(timestamp <= seen.timestamp, "seed {seed}: news was called stale");
                return;
            }
            (Err(Refusal::Stale(_)), None) => {
                let farewell = agent.farewell_s.is_some_and(|said| timestamp <= said);
                assert!(farewell, "seed {seed}: agent {number} was refused");
                return;
            }
            (Err(refusal), _) => panic!("seed {seed}: agent {number}: {refusal}"),
            (Ok(Heard::Renewed(cache)), _) => (cache, true),
            (Ok(Heard::Joined(cache)), _) => (cache, false),
        };
        let left = agent.farewell_s.is_some_and(|said| timestamp <= said);
        assert!(!left, "seed {seed}: agent {number} came back after its goodbye");
        let known = agent.seen.as_ref().filter(|seen| seen.end_ns > now.elapsed_ns);
        assert!(renewed || known.is_none(), "seed {seed}: agent {number} was missing");
        assert!(cache.alive() && cache.load() == Number::Int(load), "seed {seed}: {cache:?}");
        let first = agent.seen.replace(Delivered { cache, timestamp, end_ns }).is_none();
        if first || !renewed {
            let life = agent.life;
            self.add(end_ns - 1, number, What::Look { life });
        }
    }

    fn goodbye(&mut self, number: u32, timestamp: f64) {
        let now = self.now();
        let agent = &mut self.agents[number as usize];
        let known = agent.seen.as_ref().is_some_and(|seen| seen.cache.alive());
        let said = self.registry.goodbye(now, &self.origin.source, &agent.beat.uuid, timestamp);
        assert_eq!(said.is_ok(), known, "seed {}: goodbye of {number}: {said:?}", self.seed);
        if known {
            agent.seen = None;
            agent.farewell_s = Some(timestamp);
        }
    }

    /// Just before its end it must be there, a second after it must not.
    fn look(&mut self, number: u32) {
        let agent = &self.agents[number as usize];
        let Some(seen) = &agent.seen else { return };
        let (life, end_ns, alive) = (agent.life, seen.end_ns, seen.cache.alive());
        let seed = self.seed;
        if self.now_ns < end_ns {
            assert!(alive, "seed {seed}: agent {number} was gone before its end");
            let next = if self.now_ns == end_ns - 1 { end_ns + SECOND } else { end_ns - 1 };
            self.add(next, number, What::Look { life });
        } else if self.now_ns >= end_ns + SECOND {
            assert!(!alive, "seed {seed}: agent {number} stayed after its end");
        }
    }

    /// Readers' list is what was delivered: each cache once, none missing, none beyond its end.
    fn compare_lists(&self) {
        let snapshot = self.shelf.load();
        let listed: Vec<_> = snapshot.caches().map(|cache| cache.identity()).collect();
        let set: BTreeSet<_> = listed.iter().copied().collect();
        assert_eq!(listed.len(), set.len(), "seed {}: a cache is listed twice", self.seed);
        let ids: BTreeSet<_> = snapshot.caches().map(|cache| cache.id).collect();
        for (number, agent) in self.agents.iter().enumerate() {
            let Some(seen) = &agent.seen else { continue };
            if seen.end_ns > self.now_ns {
                let listed = ids.contains(&seen.cache.id);
                assert!(listed, "seed {}: agent {number} is not listed", self.seed);
            } else if seen.end_ns + SECOND <= self.now_ns {
                let listed = ids.contains(&seen.cache.id);
                assert!(!listed, "seed {}: agent {number} is still listed", self.seed);
            }
        }
    }

    fn outcome(mut self) -> Outcome {
        let counts = self.registry.counts();
        self.outcome.renewed = counts.renewed;
        self.outcome.joined = counts.joined;
        self.outcome.replaced = counts.replaced;
        self.outcome.expired = counts.expired;
        self.outcome.goodbyes = counts.goodbyes;
        self.outcome.stale = counts.refused.get("stale").copied().unwrap_or(0);
        self.outcome
    }
}
