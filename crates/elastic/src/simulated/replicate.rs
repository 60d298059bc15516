//! Replications over all cores: each is a function of its number, so that the result is the same
//! however they are divided.

use super::outcome::Outcome;
use super::setup::Setup;
use super::world::run;
use crate::demand::Demand;
use crate::policy::Maker;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Runs so many replications of each policy, on so many threads; a row for each policy, in order.
#[must_use]
pub fn replicate(
    setup: &Setup,
    demand: &Demand,
    policies: &[Maker],
    replications: usize,
    threads: usize,
    on_done: &(dyn Fn() + Sync),
) -> Vec<Vec<Outcome>> {
    let all = policies.len() * replications;
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= all {
                return done;
            }
            // Replication by replication: those of one number see the same requests.
            let (replication, policy) = (number / policies.len(), number % policies.len());
            let mut decider = policies[policy]();
            let outcome = run(setup, demand, decider.as_mut(), replication as u64);
            done.push((number, outcome));
            on_done();
        }
    };
    let mut outcomes = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (1..threads.clamp(1, all.max(1))).map(|_| scope.spawn(work)).collect();
        let mut outcomes = work();
        for thread in threads {
            outcomes.extend(thread.join().unwrap_or_else(|e| std::panic::resume_unwind(e)));
        }
        outcomes
    });
    outcomes.sort_by_key(|(number, _)| *number);
    let mut rows: Vec<Vec<Outcome>> = policies.iter().map(|_| Vec::new()).collect();
    for (number, outcome) in outcomes {
        rows[number % policies.len()].push(outcome);
    }
    rows
}
