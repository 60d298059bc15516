//! When a client that runs as a service asks again.
//!
//! Each interval is drawn anew from [1 − jitter, 1 + jitter) times the one that is wanted, so that
//! hosts that were started together do not ask a registry together. The draws come from a seed:
//! the same seed, the same intervals.

use plimsoll_workload::random::Stream;
use std::time::Duration;

/// The intervals of a client.
#[derive(Debug)]
pub struct Rounds {
    every: Duration,
    jitter: f64,
    random: Stream,
}

impl Rounds {
    /// Intervals of this length, each varied by at most this share of it, 0 to 1.
    #[must_use]
    pub fn new(every: Duration, jitter: f64, seed: u64) -> Self {
        Self { every, jitter: jitter.clamp(0.0, 1.0), random: Stream::named(seed, "rounds") }
    }
}

impl Iterator for Rounds {
    type Item = Duration;

    /// How long to wait until the next question.
    fn next(&mut self) -> Option<Duration> {
        let factor = 1.0 + self.jitter * (2.0 * self.random.uniform() - 1.0);
        Some(self.every.mul_f64(factor.max(0.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_stay_within_their_jitter_and_are_spread_over_it() {
        let every = Duration::from_secs(300);
        let all: Vec<f64> =
            Rounds::new(every, 0.1, 7).take(10_000).map(|wait| wait.as_secs_f64()).collect();
        assert!(all.iter().all(|wait| (270.0..330.0).contains(wait)));
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        // Uniform over 60 s: a standard deviation of 17.3 s, of the mean 0.17 s.
        assert!((mean - 300.0).abs() < 1.0, "{mean}");
        let early = all.iter().filter(|wait| **wait < 285.0).count();
        assert!((2300..2700).contains(&early), "{early}");
        assert!(Rounds::new(every, 0.0, 7).take(5).all(|wait| wait == every));
        let again = Rounds::new(every, 0.1, 7).take(3).map(|wait| wait.as_secs_f64());
        assert!(again.eq(all[..3].iter().copied()));
    }
}
