//! Runs tasks side by side, but never two at once that claim the same.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Condvar, Mutex, PoisonError};

/// What a task needs for itself while it runs.
type Claims = BTreeSet<String>;

/// Tasks that wait, by their place, and what those that run have claimed.
struct Turns {
    waiting: BTreeMap<usize, Claims>,
    held: Claims,
}

impl Turns {
    /// The first task that waits and claims nothing that is held.
    fn next(&mut self) -> Option<(usize, Claims)> {
        let free = |claims: &Claims| claims.is_disjoint(&self.held);
        let place = *self.waiting.iter().find(|(_, claims)| free(claims))?.0;
        let claims = self.waiting.remove(&place)?;
        self.held.extend(claims.iter().cloned());
        Some((place, claims))
    }
}

/// The claims of a task, until it ends or panics.
struct Held<'a> {
    claims: Claims,
    turns: &'a Mutex<Turns>,
    ended: &'a Condvar,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        turns.held.retain(|claim| !self.claims.contains(claim));
        self.ended.notify_all();
    }
}

/// Runs `task` with the place of each set of claims, at most `side_by_side` at once, the first
/// that can begin first. What the tasks return comes in the order of their places.
pub(crate) fn in_turns<T: Send>(
    claims: Vec<Claims>,
    side_by_side: usize,
    task: impl Fn(usize) -> T + Sync,
) -> Vec<T> {
    let turns = Turns { waiting: claims.into_iter().enumerate().collect(), held: Claims::new() };
    let (turns, ended) = (Mutex::new(turns), Condvar::new());
    let work = || {
        let mut done = BTreeMap::new();
        let mut state = turns.lock().unwrap_or_else(PoisonError::into_inner);
        while !state.waiting.is_empty() {
            let Some((place, claims)) = state.next() else {
                state = ended.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            drop(state);
            let held = Held { claims, turns: &turns, ended: &ended };
            done.insert(place, task(place));
            drop(held);
            state = turns.lock().unwrap_or_else(PoisonError::into_inner);
        }
        done
    };
    let mut done = BTreeMap::new();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..side_by_side).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            done.extend(worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
    });
    done.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn claims(names: &[&str]) -> Claims {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn what_claims_the_same_never_runs_at_once() {
        let all = vec![claims(&["a"]), claims(&["a", "b"]), claims(&["b"]), claims(&["a"])];
        let running = [AtomicUsize::new(0), AtomicUsize::new(0)];
        let done = in_turns(all.clone(), 3, |place| {
            let held: Vec<_> = ["a", "b"]
                .iter()
                .zip(&running)
                .filter(|(name, _)| all[place].contains(**name))
                .collect();
            for (name, count) in &held {
                assert_eq!(count.fetch_add(1, Ordering::SeqCst), 0, "{name} at {place}");
            }
            std::thread::yield_now();
            for (_, count) in &held {
                count.fetch_sub(1, Ordering::SeqCst);
            }
            place * 10
        });
        assert_eq!(done, [0, 10, 20, 30]);
    }

    #[test]
    fn what_claims_nothing_of_each_other_runs_at_once() {
        // Each waits for the other: one after the other would never end.
        let both = Barrier::new(2);
        let all = vec![claims(&["a"]), claims(&["a"]), claims(&[])];
        let first_two = in_turns(all, 2, |place| {
            if place != 1 {
                both.wait();
            }
        });
        assert_eq!(first_two.len(), 3);
    }

    #[test]
    fn a_panic_of_a_task_is_passed_on() {
        let caught = std::panic::catch_unwind(|| in_turns(vec![claims(&[])], 2, |_| panic!("why")));
        assert!(caught.is_err());
    }
}
