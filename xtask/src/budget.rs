//! What runs at once: everything that the checks start says what it weighs, and no more runs than
//! the budget carries, nor two things that claim the same.
//!
//! The runner takes turns for what it starts itself (test binaries, pages, examples). Tests of the
//! whole program ask for theirs over a Unix socket, as `plimsoll_testing::Turn` has it: one line
//! `WEIGHT NAME`, an answer of one line, and the end of the connection gives the turn back. So a
//! test that dies keeps nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Context as _;

use crate::clock;

/// What may run at once, on two cores. The same stands in `plimsoll_testing`.
pub(crate) const WHOLE: u32 = 12;
/// What mostly waits, as a page of the manual does.
pub(crate) const WAITS: u32 = 1;
/// What keeps a core busy: a build, a simulation, a search.
pub(crate) const COMPUTES: u32 = 4;
/// What needs a calm machine, as far as the pages that wait for it allow that.
pub(crate) const CALM: u32 = 7;
/// A binary of many small tests, of which as many run at once as there are cores.
pub(crate) const BINARY: u32 = 5;

/// What nobody else may have meanwhile.
pub(crate) type Claims = BTreeSet<String>;

/// Gives turns out, and remembers when each was asked for, given and ended.
pub(crate) struct Budget {
    state: Mutex<State>,
    changed: Condvar,
    /// Seconds that a turn of this name took in an earlier run: the longest begin first.
    expected: BTreeMap<String, f64>,
}

struct State {
    free: u32,
    claimed: Claims,
    waiting: BTreeMap<usize, Wish>,
    turns: Vec<Times>,
}

struct Wish {
    weight: u32,
    claims: Claims,
    expected: f64,
}

/// When a turn was asked for, given and ended, since the runner began.
#[derive(Clone, Debug)]
pub(crate) struct Times {
    pub(crate) name: String,
    pub(crate) asked: Duration,
    pub(crate) began: Option<Duration>,
    pub(crate) ended: Option<Duration>,
}

impl Times {
    /// How long the turn took, where it has ended.
    pub(crate) fn took(&self) -> Option<Duration> {
        Some(self.ended?.saturating_sub(self.began?))
    }
}

/// A turn, until it is dropped.
pub(crate) struct Turn<'a> {
    budget: &'a Budget,
    number: usize,
    weight: u32,
    claims: Claims,
}

impl Budget {
    pub(crate) fn new(expected: BTreeMap<String, f64>) -> Self {
        let state = State {
            free: WHOLE,
            claimed: Claims::new(),
            waiting: BTreeMap::new(),
            turns: Vec::new(),
        };
        Self { state: Mutex::new(state), changed: Condvar::new(), expected }
    }

    /// Waits for a turn.
    pub(crate) fn take(&self, name: &str, weight: u32, claims: Claims) -> Turn<'_> {
        let weight = weight.min(WHOLE);
        let mut state = self.state();
        let number = state.turns.len();
        let (name, asked) = (name.to_owned(), clock::now());
        let expected = self.expected.get(&name).copied().unwrap_or(0.0);
        state.turns.push(Times { name, asked, began: None, ended: None });
        state.waiting.insert(number, Wish { weight, claims, expected });
        let is_kept = |state: &mut State| state.next() != Some(number);
        let state = self.changed.wait_while(state, is_kept);
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        let claims = state.waiting.remove(&number).map(|wish| wish.claims).unwrap_or_default();
        state.free -= weight;
        state.claimed.extend(claims.iter().cloned());
        state.turns[number].began = Some(clock::now());
        drop(state);
        // What is left may be enough for another.
        self.changed.notify_all();
        Turn { budget: self, number, weight, claims }
    }

    /// Gives turns out at a socket, until the process ends.
    pub(crate) fn serve(self: &Arc<Self>, socket: &Path) -> anyhow::Result<()> {
        let listener = UnixListener::bind(socket)
            .with_context(|| format!("listen at {}", socket.display()))?;
        let budget = Arc::clone(self);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let budget = Arc::clone(&budget);
                // Who does not ask in form gets no turn.
                std::thread::spawn(move || budget.serve_one(&stream));
            }
        });
        Ok(())
    }

    fn serve_one(&self, mut stream: &UnixStream) -> std::io::Result<()> {
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line)?;
        let asked = line.trim_end().split_once(' ');
        let asked = asked.and_then(|(weight, name)| Some((weight.parse().ok()?, name)));
        let Some((weight, name)) = asked else { return Ok(()) };
        let turn = self.take(name, weight, Claims::new());
        stream.write_all(b"go\n")?;
        // The end of the connection is the end of the turn.
        let ended = stream.read_to_end(&mut Vec::new());
        drop(turn);
        ended.map(|_| ())
    }

    /// All turns so far, in the order in which they were asked for.
    pub(crate) fn turns(&self) -> Vec<Times> {
        self.state().turns.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The wish that is served next: of those for which enough is free, the one that is expected
    /// to take longest; of equals the first. Who claims something comes before: it is one at a
    /// time, and small wishes would take what it needs again and again.
    fn next(&self) -> Option<usize> {
        let may = |wish: &Wish| wish.claims.is_disjoint(&self.claimed);
        let claims = |wish: &Wish| !wish.claims.is_empty() && may(wish);
        if let Some((number, wish)) = self.waiting.iter().find(|(_, wish)| claims(wish)) {
            return (wish.weight <= self.free).then_some(*number);
        }
        let fits = |wish: &Wish| wish.weight <= self.free && may(wish);
        let fitting = self.waiting.iter().filter(|(_, wish)| fits(wish));
        let longest = fitting
            .max_by(|(a, of_a), (b, of_b)| of_a.expected.total_cmp(&of_b.expected).then(b.cmp(a)));
        longest.map(|(number, _)| *number)
    }
}

impl Turn<'_> {
    /// When it began, since the runner did.
    pub(crate) fn began(&self) -> Duration {
        self.budget.state().turns[self.number].began.unwrap_or_default()
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut state = self.budget.state();
        state.free += self.weight;
        state.claimed.retain(|claim| !self.claims.contains(claim));
        state.turns[self.number].ended = Some(clock::now());
        drop(state);
        self.budget.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicU32, Ordering};

    fn claims(names: &[&str]) -> Claims {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn no_more_runs_at_once_than_the_budget_carries() {
        let (budget, running) = (Budget::new(BTreeMap::new()), AtomicU32::new(0));
        std::thread::scope(|scope| {
            for weight in [1, 4, 6, 6, 12, 4, 4, 1, 99] {
                let (budget, running) = (&budget, &running);
                scope.spawn(move || {
                    let turn = budget.take("a", weight, Claims::new());
                    let weight = weight.min(WHOLE);
                    assert!(running.fetch_add(weight, Ordering::SeqCst) + weight <= WHOLE);
                    std::thread::yield_now();
                    running.fetch_sub(weight, Ordering::SeqCst);
                    drop(turn);
                });
            }
        });
        assert!(budget.turns().iter().all(|times| times.took().is_some()));
    }

    #[test]
    fn what_claims_the_same_never_runs_at_once() {
        let budget = Budget::new(BTreeMap::new());
        let held = AtomicU32::new(0);
        // Both of these two must run at once, or the barrier is never passed.
        let both = Barrier::new(2);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let turn = budget.take("a", 1, claims(&["searches"]));
                    assert_eq!(held.fetch_add(1, Ordering::SeqCst), 0);
                    std::thread::yield_now();
                    held.fetch_sub(1, Ordering::SeqCst);
                    drop(turn);
                });
            }
            for name in ["b", "c"] {
                let (budget, both) = (&budget, &both);
                scope.spawn(move || {
                    let _turn = budget.take(name, 1, claims(&[name]));
                    both.wait();
                });
            }
        });
    }

    #[test]
    fn who_claims_something_is_not_passed_by() {
        let budget = Budget::new(BTreeMap::new());
        let half = budget.take("half", WHOLE / 2, Claims::new());
        std::thread::scope(|scope| {
            scope.spawn(|| drop(budget.take("measures", WHOLE, claims(&["measuring"]))));
            while budget.state().waiting.is_empty() {
                std::thread::yield_now();
            }
            let small = scope.spawn(|| budget.take("small", 1, Claims::new()).began());
            while budget.state().waiting.len() < 2 {
                std::thread::yield_now();
            }
            assert!(budget.state().next().is_none(), "a small one would fit");
            drop(half);
            let began = small.join().expect("it begins");
            let measured = budget.turns()[1].ended.expect("it ended before");
            assert!(measured <= began);
        });
    }

    #[test]
    fn the_longest_begins_first() {
        let expected = BTreeMap::from([("long".to_owned(), 9.0), ("short".to_owned(), 1.0)]);
        let budget = Budget::new(expected);
        let all = budget.take("all", WHOLE, Claims::new());
        let order = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for name in ["unknown", "short", "long"] {
                let (budget, order) = (&budget, &order);
                scope.spawn(move || {
                    let _turn = budget.take(name, WHOLE, Claims::new());
                    order.lock().expect("no test panics").push(name);
                });
            }
            while budget.state().waiting.len() < 3 {
                std::thread::yield_now();
            }
            drop(all);
        });
        assert_eq!(*order.lock().expect("no test panics"), ["long", "short", "unknown"]);
    }

    #[test]
    fn a_turn_over_the_socket_ends_with_its_connection() {
        let folder = std::env::temp_dir().join(format!("xtask-turns-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let budget = Arc::new(Budget::new(BTreeMap::new()));
        let socket = folder.join("turns");
        budget.serve(&socket).expect("it listens");
        for _ in 0..2 {
            let mut stream = UnixStream::connect(&socket).expect("it answers");
            stream.write_all(b"12 it::a test\n").expect("it reads");
            let mut line = String::new();
            BufReader::new(&stream).read_line(&mut line).expect("it answers");
            assert_eq!(line, "go\n");
        }
        assert_eq!(budget.turns()[1].name, "it::a test");
        let mut wrong = UnixStream::connect(&socket).expect("it answers");
        wrong.write_all(b"much\n").expect("it reads");
        assert_eq!(wrong.read_to_end(&mut Vec::new()).expect("it ends"), 0);
        std::fs::remove_dir_all(&folder).expect("the folder was made above");
    }
}
