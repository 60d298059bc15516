//! Replications over all cores: each is a function of its number, so that the result is the same
//! however they are divided.

use super::outcome::Outcome;
use super::setup::Setup;
use super::world::run;
use crate::demand::Demand;
use crate::policy::Decider;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Begins a policy, by its number, for a replication; and says with how many instances, where that
/// is not the setup's number.
pub type Begin<'a> = &'a (dyn Fn(usize, u64) -> (Box<dyn Decider>, Option<u32>) + Sync);

/// What is kept of an outcome, by the number of its policy and of its replication.
pub type Keep<'a, T> = &'a (dyn Fn(usize, u64, Outcome) -> T + Sync);

/// What is run again and again.
#[derive(Clone, Copy)]
pub struct Replications<'a> {
    /// The pool and its load.
    pub setup: &'a Setup,
    /// How many instances a rate needs.
    pub demand: &'a Demand,
    /// How many policies.
    pub policies: usize,
    /// Begins them.
    pub begin: Begin<'a>,
    /// Threads; at least 1.
    pub threads: usize,
}

impl Replications<'_> {
    /// Runs replications of each policy, and keeps of each outcome what `keep` makes of it: a row
    /// for each policy, in order. `keep` is told the number of the policy and that of the
    /// replication, on the thread that simulated it. After each, `goes_on` says whether to go on;
    /// then replications that not all policies have are left out.
    #[must_use]
    pub fn run<T: Send>(
        &self,
        replications: Range<u64>,
        keep: Keep<'_, T>,
        goes_on: &(dyn Fn() -> bool + Sync),
    ) -> Vec<Vec<T>> {
        let policies = self.policies as u64;
        let all = policies * replications.end.saturating_sub(replications.start);
        let next = AtomicU64::new(0);
        let work = || {
            let mut done = Vec::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= all {
                    return done;
                }
                // Replication by replication: those of one number see the same requests.
                let replication = replications.start + number / policies;
                let policy = usize::try_from(number % policies).unwrap_or(usize::MAX);
                let outcome = self.one(policy, replication);
                done.push((number, keep(policy, replication, outcome)));
                if !goes_on() {
                    next.store(all, Ordering::Relaxed);
                }
            }
        };
        let mut outcomes = std::thread::scope(|scope| {
            let others = (1..self.threads as u64).take_while(|&thread| thread < all);
            let threads: Vec<_> = others.map(|_| scope.spawn(work)).collect();
            let mut outcomes = work();
            for thread in threads {
                outcomes.extend(thread.join().unwrap_or_else(|e| std::panic::resume_unwind(e)));
            }
            outcomes
        });
        outcomes.sort_by_key(|(number, _)| *number);
        let is_next = |(place, (number, _)): &(usize, &(u64, T))| *place as u64 == *number;
        let whole = outcomes.iter().enumerate().take_while(is_next).count();
        let whole = whole / self.policies.max(1) * self.policies;
        let mut rows: Vec<Vec<T>> = (0..self.policies).map(|_| Vec::new()).collect();
        for (place, (_, outcome)) in outcomes.into_iter().take(whole).enumerate() {
            rows[place % self.policies].push(outcome);
        }
        rows
    }

    fn one(&self, policy: usize, replication: u64) -> Outcome {
        let (mut decider, start) = (self.begin)(policy, replication);
        let start = start.unwrap_or(self.setup.start);
        let setup = Setup { start, ..self.setup.clone() };
        run(&setup, self.demand, decider.as_mut(), replication)
    }
}
