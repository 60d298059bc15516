//! When an agent does what: a state machine that looks at no clock and opens no socket.
//!
//! [`Pace::acts`] says what is to be begun at a moment; what comes of it is told back by
//! [`Pace::probed`] and [`Pace::sent`]. Each registry has a schedule of its own, so that one which
//! is away delays no other: after a failure it is tried again after 1 s, 2 s, 4 s … up to the
//! interval, each times a factor drawn from [0.5, 1.5), lest all agents return at once.
//!
//! The cache is announced from its first good probe on, once there is a network: the first
//! heartbeat at once, the second a second later because only then there is a load to tell, then
//! each interval ± 10%. After [`FAILURES`] bad probes in a row, and at the end, a goodbye is sent,
//! and repeated where it does not arrive, until the cache's life is over anyway.

use plimsoll_workload::random::Stream;

/// Bad probes in a row after which a cache is not announced any more.
pub const FAILURES: u32 = 2;

const SECOND: u64 = 1_000_000_000;
/// After which a registry has forgotten a cache that says nothing.
const FORGOTTEN_NS: u64 = 180 * SECOND;
/// What the last goodbyes may take.
const END_NS: u64 = 3 * SECOND;
/// How soon the wish to end is noticed.
const GLANCE_NS: u64 = 100_000_000;

/// Something to begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Ask the cache whether it is alive.
    Probe,
    /// Send a heartbeat to the registry of this index.
    Announce(usize),
    /// Send a goodbye to the registry of this index.
    Goodbye(usize),
}

/// What came of a heartbeat or a goodbye.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// It was taken.
    Taken,
    /// It arrived and was refused: saying it again at once would not help. A registry may say how
    /// many nanoseconds to wait.
    Refused(Option<u64>),
    /// It did not arrive, or nobody knows.
    Failed,
}

/// Whether the cache answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    /// Not asked yet, or asked once in vain.
    Unknown,
    /// Its last probe, or the one before, was good.
    Alive,
    /// [`FAILURES`] probes in a row were bad.
    Dead,
}

#[derive(Debug, Clone, Default)]
struct Registry {
    due_ns: u64,
    begun_ns: u64,
    busy: bool,
    /// It may know the cache.
    told: bool,
    /// Heartbeats taken since the cache was announced.
    taken: u32,
    failures: u32,
}

/// An agent's schedule.
#[derive(Debug, Clone)]
pub struct Pace {
    interval_ns: u64,
    probe_ns: u64,
    random: Stream,
    registries: Vec<Registry>,
    health: Health,
    failures: u32,
    next_probe_ns: u64,
    probing: bool,
    network: bool,
    network_ns: u64,
    gone_ns: u64,
    end_ns: Option<u64>,
}

impl Pace {
    /// A schedule of so many registries, at its start; `random` spreads it.
    #[must_use]
    pub fn new(registries: usize, interval_ns: u64, probe_ns: u64, random: Stream) -> Self {
        Self {
            interval_ns,
            probe_ns,
            random,
            registries: vec![Registry::default(); registries],
            health: Health::Unknown,
            failures: 0,
            next_probe_ns: 0,
            probing: false,
            network: false,
            network_ns: 0,
            gone_ns: 0,
            end_ns: None,
        }
    }

    /// Whether the cache answers.
    #[must_use]
    pub fn health(&self) -> Health {
        self.health
    }

    /// What to begin now; each act is given once, until its outcome is told.
    pub fn acts(&mut self, now_ns: u64) -> Vec<Act> {
        let mut acts = Vec::new();
        if self.end_ns.is_none() && !self.probing && now_ns >= self.next_probe_ns {
            self.probing = true;
            self.next_probe_ns = now_ns + self.probe_ns;
            acts.push(Act::Probe);
        }
        let present = self.is_present();
        let forgotten = now_ns >= self.gone_ns + FORGOTTEN_NS;
        for (index, registry) in self.registries.iter_mut().enumerate() {
            if !present && forgotten {
                registry.told = false;
            }
            let wanted = if present { self.network } else { registry.told };
            if wanted && !registry.busy && now_ns >= registry.due_ns {
                registry.busy = true;
                registry.begun_ns = now_ns;
                // From here on it may have arrived, whatever becomes of the answer.
                registry.told = true;
                acts.push(if present { Act::Announce(index) } else { Act::Goodbye(index) });
            }
        }
        acts
    }

    /// Whether there is a network, and whether it is another than before.
    pub fn network(&mut self, now_ns: u64, there: bool, changed: bool) {
        if there && (changed || !self.network) {
            self.network_ns = now_ns;
            self.all_due(now_ns);
        }
        self.network = there;
    }

    /// What a probe came to. Answers the cache's state if that is another now.
    pub fn probed(&mut self, now_ns: u64, alive: bool) -> Option<Health> {
        self.probing = false;
        self.failures = if alive { 0 } else { self.failures + 1 };
        let before = self.health;
        if alive {
            self.health = Health::Alive;
        } else if self.failures >= FAILURES {
            self.health = Health::Dead;
        }
        if self.health == before {
            return None;
        }
        self.turned(now_ns);
        Some(self.health)
    }

    /// What a heartbeat or a goodbye came to.
    pub fn sent(&mut self, now_ns: u64, act: Act, sent: Sent) {
        let (index, announced) = match act {
            Act::Probe => return,
            Act::Announce(index) => (index, true),
            Act::Goodbye(index) => (index, false),
        };
        let present = self.is_present();
        let pause = self.pause_ns(now_ns, index, announced, sent);
        let Some(registry) = self.registries.get_mut(index) else { return };
        registry.busy = false;
        registry.failures = if sent == Sent::Failed { registry.failures + 1 } else { 0 };
        if announced && sent == Sent::Taken {
            registry.taken += 1;
        }
        if !announced && sent != Sent::Failed {
            registry.told = false;
        }
        // While it was on its way the cache may have gone or come, or the network.
        let overtaken =
            announced != present || (sent == Sent::Failed && self.network_ns > registry.begun_ns);
        registry.due_ns = if overtaken { now_ns } else { pause.max(now_ns) };
    }

    /// Ends it: from now on there are goodbyes only.
    pub fn end(&mut self, now_ns: u64) {
        if self.end_ns.is_none() {
            self.end_ns = Some(now_ns);
            self.turned(now_ns);
        }
    }

    /// Whether, after [`Pace::end`], every registry knows or the time for that is over.
    #[must_use]
    pub fn is_over(&self, now_ns: u64) -> bool {
        let is_done = |registry: &Registry| !registry.busy && !registry.told;
        self.end_ns.is_some_and(|end| now_ns >= end + END_NS)
            || (self.end_ns.is_some() && self.registries.iter().all(is_done))
    }

    /// How long nothing is to be begun, unless an outcome is told before: at most 100 ms.
    #[must_use]
    pub fn rest_ns(&self, now_ns: u64) -> u64 {
        let present = self.is_present();
        let probe = (!self.probing && self.end_ns.is_none()).then_some(self.next_probe_ns);
        let wanted = self.registries.iter().filter(|registry| {
            !registry.busy && if present { self.network } else { registry.told }
        });
        let next = wanted.map(|registry| registry.due_ns).chain(probe).min();
        next.map_or(GLANCE_NS, |next| next.saturating_sub(now_ns).min(GLANCE_NS))
    }

    fn is_present(&self) -> bool {
        self.health == Health::Alive && self.end_ns.is_none()
    }

    fn turned(&mut self, now_ns: u64) {
        self.gone_ns = now_ns;
        for registry in &mut self.registries {
            registry.taken = 0;
        }
        self.all_due(now_ns);
    }

    fn all_due(&mut self, now_ns: u64) {
        for registry in &mut self.registries {
            registry.due_ns = now_ns;
            registry.failures = 0;
        }
    }

    /// Until when a registry rests after this.
    fn pause_ns(&mut self, now_ns: u64, index: usize, announced: bool, sent: Sent) -> u64 {
        let Some(registry) = self.registries.get(index) else { return 0 };
        let begun = registry.begun_ns;
        let (pause, spread) = match sent {
            Sent::Failed => {
                let doubled = SECOND << registry.failures.min(16);
                return now_ns + self.spread(doubled.min(self.interval_ns), 0.5);
            }
            Sent::Taken if announced && registry.taken == 0 => (SECOND.min(self.interval_ns), 0.1),
            Sent::Refused(Some(wait)) if wait > self.interval_ns => return begun + wait,
            Sent::Taken | Sent::Refused(_) => (self.interval_ns, 0.1),
        };
        begun + self.spread(pause, spread)
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "above zero and at most hours in nanoseconds"
    )]
    fn spread(&mut self, pause_ns: u64, share: f64) -> u64 {
        let factor = 1.0 - share + 2.0 * share * self.random.uniform();
        (pause_ns as f64 * factor) as u64
    }
}
