//! Time that is moved by hand, and turns: of the threads of a pool one runs at a time, the one that
//! the test gives the turn to. So every order of what they do can be had, and is had again by the
//! same seed.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::Thread;
use std::time::Duration;

use plimsoll_load::clock::Clock;
use plimsoll_testing::PATIENCE;

use super::super::life::Life;
use super::super::time::Time;

thread_local! {
    /// The number of this thread of the pool; 0 of the test's own.
    static OWN: Cell<u64> = const { Cell::new(0) };
}

/// How a thread of the pool stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stands {
    /// It has the turn.
    Runs,
    /// It goes on when it gets the turn.
    Ready,
    /// It waits for a change, or until a time.
    Waits(u64),
    /// It waits for what the test says of what it has asked.
    Held,
}

struct Turns {
    now_ns: u64,
    last: u64,
    threads: BTreeMap<u64, (Stands, Option<Thread>)>,
    /// The test has failed: all run to their end.
    is_given_up: bool,
}

/// Time that is moved by hand.
pub(super) struct ByHand {
    turns: Mutex<Turns>,
    test: Thread,
}

impl ByHand {
    /// Moved by the thread that calls.
    pub(super) fn new() -> Self {
        // Time has begun before the pool has.
        let now_ns = 7_000_000_000;
        let turns = Turns { now_ns, last: 0, threads: BTreeMap::new(), is_given_up: false };
        Self { turns: Mutex::new(turns), test: std::thread::current() }
    }

    fn turns(&self) -> MutexGuard<'_, Turns> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// This thread gives the turn away, and goes on when it has it again.
    fn gives_turn(&self, stands: Stands) {
        let own = OWN.get();
        if own == 0 {
            return;
        }
        let mut turns = self.turns();
        if let (true, Stands::Waits(until_ns)) = (turns.is_given_up, stands) {
            turns.now_ns = turns.now_ns.max(until_ns);
        }
        turns.threads.insert(own, (stands, Some(std::thread::current())));
        self.test.unpark();
        while turns.threads[&own].0 != Stands::Runs && !turns.is_given_up {
            drop(turns);
            std::thread::park();
            turns = self.turns();
        }
    }

    /// Others may have the turn before this thread goes on.
    pub(super) fn yields(&self) {
        self.gives_turn(Stands::Ready);
    }

    /// This thread waits for what the test says of what it has asked.
    pub(super) fn holds(&self) {
        self.gives_turn(Stands::Held);
    }

    /// The number of this thread.
    pub(super) fn own() -> u64 {
        OWN.get()
    }

    /// A thread that was held goes on when it gets the turn.
    pub(super) fn releases(&self, thread: u64) {
        if let Some(of) = self.turns().threads.get_mut(&thread).filter(|of| of.0 == Stands::Held) {
            of.0 = Stands::Ready;
        }
    }

    /// The threads that could go on.
    pub(super) fn ready(&self) -> Vec<u64> {
        let turns = self.turns();
        let ready = turns.threads.iter().filter(|(_, of)| of.0 == Stands::Ready);
        ready.map(|(thread, _)| *thread).collect()
    }

    /// How many threads there are.
    pub(super) fn count(&self) -> usize {
        self.turns().threads.len()
    }

    /// Gives a thread the turn, and waits until it gives it away.
    pub(super) fn turn(&self, thread: u64) {
        let mut turns = self.turns();
        let of = turns.threads.get_mut(&thread).unwrap();
        assert_eq!(of.0, Stands::Ready, "thread {thread}");
        of.0 = Stands::Runs;
        if let Some(thread) = &of.1 {
            thread.unpark();
        }
        let clock = Clock::start();
        while turns.threads.values().any(|of| of.0 == Stands::Runs) {
            drop(turns);
            std::thread::park_timeout(PATIENCE);
            assert!(Duration::from_nanos(clock.now()) < PATIENCE, "thread {thread} gives no turn");
            turns = self.turns();
        }
    }

    /// The next time for which a thread waits.
    pub(super) fn next_ns(&self) -> Option<u64> {
        let turns = self.turns();
        let until = turns.threads.values().filter_map(|of| match of.0 {
            Stands::Waits(until_ns) => Some(until_ns),
            _ => None,
        });
        until.min()
    }

    /// So much time passes.
    pub(super) fn passes(&self, ns: u64) {
        let mut turns = self.turns();
        turns.now_ns += ns;
        let now_ns = turns.now_ns;
        for of in turns.threads.values_mut() {
            if matches!(of.0, Stands::Waits(until_ns) if until_ns <= now_ns) {
                of.0 = Stands::Ready;
            }
        }
    }

    /// The test has failed: whoever waits goes on.
    pub(super) fn gives_up(&self) {
        let mut turns = self.turns();
        turns.is_given_up = true;
        turns.threads.values().filter_map(|of| of.1.as_ref()).for_each(Thread::unpark);
    }
}

impl Time for ByHand {
    /// Nothing happens at the same time as anything else.
    fn now(&self) -> u64 {
        let mut turns = self.turns();
        turns.now_ns += 1;
        turns.now_ns
    }

    fn wait<'g>(
        &self,
        all: &'g Mutex<Life>,
        life: MutexGuard<'g, Life>,
        limit: Duration,
    ) -> MutexGuard<'g, Life> {
        assert_ne!(Self::own(), 0, "the test itself waits for nobody");
        // Nobody else runs until the turn is given away.
        drop(life);
        let until_ns = self.now() + u64::try_from(limit.as_nanos()).unwrap();
        self.gives_turn(Stands::Waits(until_ns));
        all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self) {
        for of in self.turns().threads.values_mut() {
            if matches!(of.0, Stands::Waits(_)) {
                of.0 = Stands::Ready;
            }
        }
    }

    fn starts(&self) -> u64 {
        let mut turns = self.turns();
        turns.last += 1;
        let thread = turns.last;
        turns.threads.insert(thread, (Stands::Ready, None));
        thread
    }

    fn begins(&self, thread: u64) {
        OWN.set(thread);
        let mut turns = self.turns();
        turns.threads.get_mut(&thread).unwrap().1 = Some(std::thread::current());
        while turns.threads[&thread].0 != Stands::Runs && !turns.is_given_up {
            drop(turns);
            std::thread::park();
            turns = self.turns();
        }
    }

    fn ends(&self, thread: u64) {
        OWN.set(0);
        self.turns().threads.remove(&thread);
        self.test.unpark();
    }
}
