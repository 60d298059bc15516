//! Verification at work: a thread with an event loop of its own.
//!
//! Who joined is read from the published snapshot, without a lock. The registry's lock is taken for
//! a moment to set a state, and for none while anybody is waited for.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Duration;

use plimsoll_workload::random::Stream;
use tokio::task::LocalSet;

use super::{Shared, StartError};
use crate::registry::{Cache, Snapshot};
use crate::verify::{Aim, Finding, Joined, NotAllowed, Outcome, Settings, Turns, probe};

/// How often it is looked whose turn it is. With [`crate::verify::IN_FLIGHT`] it bounds what is
/// asked to 1,000 a second.
const TICK: Duration = Duration::from_millis(50);

/// How it stands with the object itself.
#[derive(Debug, Default)]
pub(super) struct ObjectState(AtomicBool);

impl ObjectState {
    /// Whether caches of several networks answer alike, and none with the object.
    pub(super) fn is_suspected(&self) -> bool {
        self.0.load(Relaxed)
    }
}

/// What verification did so far.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// By [`Outcome`].
    outcomes: [AtomicU64; Outcome::ALL.len()],
    /// States set that were others before: verified, failing.
    changes: [AtomicU64; 2],
    /// Caches not asked: by address, by port.
    not_allowed: [AtomicU64; 2],
    aims: AtomicU64,
    in_flight: AtomicU64,
}

impl Counts {
    /// Questions asked, by what came of them.
    pub(super) fn outcomes(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let counts = self.outcomes.iter().map(|count| count.load(Relaxed));
        Outcome::ALL.iter().map(|outcome| outcome.name()).zip(counts)
    }

    /// Caches whose state changed, by the new one.
    pub(super) fn changes(&self) -> [(&'static str, u64); 2] {
        let [good, bad] = &self.changes;
        [("verified", good.load(Relaxed)), ("failing", bad.load(Relaxed))]
    }

    /// Caches that joined and are never asked, by why.
    pub(super) fn not_allowed(&self) -> [(&'static str, u64); 2] {
        let [address, port] = &self.not_allowed;
        [
            (NotAllowed::Address.name(), address.load(Relaxed)),
            (NotAllowed::Port.name(), port.load(Relaxed)),
        ]
    }

    /// Addresses and ports that are asked in turn.
    pub(super) fn aims(&self) -> u64 {
        self.aims.load(Relaxed)
    }

    /// Questions that are not over.
    pub(super) fn in_flight(&self) -> u64 {
        self.in_flight.load(Relaxed)
    }
}

/// Starts it, where it is wanted.
pub(super) fn spawn(shared: &Arc<Shared>) -> Result<Option<JoinHandle<()>>, StartError> {
    let Some(settings) = shared.verify.clone() else { return Ok(None) };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .map_err(StartError::Thread)?;
    let shared = Arc::clone(shared);
    let run = move || LocalSet::new().block_on(&runtime, Verifier::new(shared, settings).run());
    let spawned = std::thread::Builder::new().name("verify".to_owned()).spawn(run);
    spawned.map(Some).map_err(StartError::Thread)
}

struct Verifier {
    shared: Arc<Shared>,
    settings: Rc<Settings>,
    turns: Turns,
    /// The membership that was last looked at, and the number of the next to join.
    generation: u64,
    next_number: u64,
    /// Answers that came since they were last looked at.
    answers: Rc<RefCell<Vec<(Aim, Outcome)>>>,
}

impl Verifier {
    #[expect(clippy::cast_possible_truncation, reason = "584 years")]
    fn new(shared: Arc<Shared>, settings: Settings) -> Self {
        // Any seed will do: it decides who of many is asked a little later.
        let seed = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), "verify");
        let random = Stream::named(seed, "verify");
        let every_ns = settings.every.as_nanos() as u64;
        let turns = Turns::new(settings.allowed.clone(), every_ns, random);
        Self {
            shared,
            settings: Rc::new(settings),
            turns,
            generation: 0,
            next_number: 0,
            answers: Rc::default(),
        }
    }

    async fn run(mut self) {
        let mut stops = self.shared.stops();
        loop {
            self.tick();
            tokio::select! {
                _ = stops.wait_for(|stop| *stop) => return,
                () = tokio::time::sleep(TICK) => {}
            }
        }
    }

    fn tick(&mut self) {
        self.learn();
        let now_ns = self.shared.clock.now().elapsed_ns;
        for (aim, outcome) in self.answers.take() {
            let counts = &self.shared.metrics.verify;
            counts.outcomes[outcome as usize].fetch_add(1, Relaxed);
            if let Some(found) = self.turns.done(now_ns, aim, outcome) {
                self.tell(aim, outcome, &found);
            }
            self.suspect();
        }
        while let Some(aim) = self.turns.next(now_ns) {
            let (settings, answers) = (Rc::clone(&self.settings), Rc::clone(&self.answers));
            tokio::task::spawn_local(async move {
                let outcome = probe(aim, &settings.object).await;
                answers.borrow_mut().push((aim, outcome));
            });
        }
        let counts = &self.shared.metrics.verify;
        counts.aims.store(self.turns.aims() as u64, Relaxed);
        counts.in_flight.store(self.turns.in_flight() as u64, Relaxed);
    }

    /// Takes in who joined since.
    fn learn(&mut self) {
        let snapshot = self.shared.shelf.load_full();
        if snapshot.generation == self.generation {
            return;
        }
        self.generation = snapshot.generation;
        let now_ns = self.shared.clock.now().elapsed_ns;
        for cache in joined_since(&snapshot, self.next_number) {
            self.next_number = cache.number + 1;
            match self.turns.join(now_ns, cache) {
                Joined::Waits => {}
                Joined::Known(good) => {
                    set(&self.shared, cache, good);
                }
                Joined::NotAllowed(reason) => {
                    let counts = &self.shared.metrics.verify.not_allowed;
                    counts[reason as usize].fetch_add(1, Relaxed);
                }
            }
        }
    }

    /// Says when the object does not answer as it should, and when it does again.
    fn suspect(&self) {
        let suspicion = self.turns.suspicion();
        let before = self.shared.object.0.swap(suspicion.is_some(), Relaxed);
        match suspicion {
            Some((outcome, networks)) if !before => self.shared.say(&format!(
                "--verify: the object does not answer as it should ({} from caches of {networks} \
                 networks, and nobody delivers it): no cache is judged by it",
                outcome.name()
            )),
            None if before => self.shared.say("--verify: the object answers as it should again"),
            _ => {}
        }
    }

    /// Sets what was found, and says what changed by it.
    fn tell(&self, aim: Aim, outcome: Outcome, found: &Finding) {
        for cache in &found.caches {
            if set(&self.shared, cache, found.good) {
                let at = SocketAddr::new(aim.address, aim.port);
                let (id, host, why) = (cache.id, cache.hostname(), outcome.name());
                let state = cache.state().name();
                self.shared.say(&format!("cache {id:016x} {host} at {at}: {state} ({why})"));
            }
        }
    }
}

/// Sets the state of a cache that still stands for itself, unless an operator decided about it.
/// Whether that is another one than before.
fn set(shared: &Shared, cache: &Arc<Cache>, good: bool) -> bool {
    let before = {
        let mut registry = shared.registry();
        // Under the lock: it may have left, and its name be another's by now.
        if registry.find(cache.id).is_none_or(|found| found.number != cache.number) {
            return false;
        }
        let before = cache.state();
        registry.verified(cache.id, good);
        before
    };
    let changed = cache.state() != before;
    if changed {
        shared.metrics.verify.changes[usize::from(!good)].fetch_add(1, Relaxed);
    }
    changed
}

/// Members from that number on, in the order in which they joined; who comes with the next base
/// only is not among them yet.
fn joined_since(snapshot: &Snapshot, number: u64) -> impl Iterator<Item = &Arc<Cache>> {
    let since = move |caches: &[Arc<Cache>]| caches.partition_point(|one| one.number < number);
    let (base, joined) = (&snapshot.base.caches[..], &snapshot.joined[..]);
    let new = base[since(base)..].iter().chain(&joined[since(joined)..]);
    new.filter(|cache| cache.alive())
}
