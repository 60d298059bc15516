//! How many instances a rate needs: the least number that the queueing model says holds the SLO.
//!
//! The pool is taken as one queue for all its cores (M/G/m, [`plimsoll_stats::queueing::Waiting`]),
//! which a balancer by least connections comes near. Without an SLO a pool holds that is not
//! saturated. With a limit of requests an instance, one request in a thousand may be lost.

use crate::policy::Facts;
use plimsoll_stats::queueing::{Finite, Waiting};
use std::sync::OnceLock;

/// The most instances that are looked at.
pub const MOST: u32 = 100_000;
/// Of requests that find no place, so many are as good as none.
pub(crate) const LOST: f64 = 0.001;
/// Of so many instances the greatest rate that they hold is remembered, once it was asked for.
const REMEMBERED: usize = 1024;
/// It is known to this share of itself.
const PRECISION: f64 = 1e-6;

/// The rule by which demand is told.
#[derive(Debug, Clone)]
pub struct Demand {
    facts: Facts,
    /// The squared coefficient of variation of the service time.
    squared: f64,
    /// The greatest rate that 1, 2, … instances of speed 1 hold: asked for at every tick.
    greatest: Box<[OnceLock<f64>]>,
}

impl Demand {
    /// The rule of a pool.
    #[must_use]
    pub fn new(facts: &Facts) -> Self {
        let points = &facts.service_points_s;
        let count = points.len().max(1) as f64;
        let mean = points.iter().sum::<f64>() / count;
        let variance = points.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / count;
        let squared = if mean > 0.0 { variance / (mean * mean) } else { 0.0 };
        let greatest = std::iter::repeat_with(OnceLock::new).take(REMEMBERED).collect();
        Self { facts: facts.clone(), squared, greatest }
    }

    /// The rule in words.
    #[must_use]
    pub fn describe(&self) -> String {
        let cores = self.facts.cores;
        match self.facts.slo {
            Some((quantile, bound_s)) => format!(
                "the least n for which M/G/m with {cores} servers each keeps p{} below {} ms",
                100.0 * quantile,
                1e3 * bound_s
            ),
            None => format!("the least n that is not saturated, with {cores} servers an instance"),
        }
    }

    /// The least number of instances of some speed for a rate per second, at least 1; `None` where
    /// no number up to [`MOST`] is enough.
    #[must_use]
    pub fn instances(&self, rate_per_s: f64, speed: f64) -> Option<u32> {
        if !self.can_hold(speed) {
            return None;
        }
        let service_s = self.facts.service_s / speed;
        let cores = f64::from(self.facts.cores);
        let saturated = rate_per_s * service_s / cores;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded")]
        let mut low = (saturated.floor().clamp(0.0, f64::from(MOST)) as u32).max(1);
        if self.holds_known(low, rate_per_s, speed) {
            return Some(low);
        }
        let mut step = 1;
        while low + step < MOST && !self.holds_known(low + step, rate_per_s, speed) {
            low += step;
            step *= 2;
        }
        let mut high = (low + step).min(MOST);
        if high == MOST && !self.holds_known(MOST, rate_per_s, speed) {
            return None;
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.holds_known(middle, rate_per_s, speed) { high = middle } else { low = middle }
        }
        Some(high)
    }

    /// As [`Demand::instances`], as a number to be brought within the bounds of a pool: without
    /// end where no number is enough.
    pub(crate) fn wanted(&self, rate_per_s: f64, speed: f64) -> f64 {
        self.instances(rate_per_s, speed).map_or(f64::INFINITY, f64::from)
    }

    /// As [`Demand::holds`], by what was computed before where that helps.
    fn holds_known(&self, instances: u32, rate_per_s: f64, speed: f64) -> bool {
        let is_usual = speed.to_bits() == 1.0_f64.to_bits();
        match self.greatest.get(instances as usize).filter(|_| is_usual) {
            Some(known) => rate_per_s <= *known.get_or_init(|| self.greatest(instances)),
            None => self.holds(instances, rate_per_s, speed),
        }
    }

    /// The greatest rate that so many instances of speed 1 hold, per second; 0 for none.
    #[must_use]
    pub fn greatest(&self, instances: u32) -> f64 {
        let servers = f64::from(instances) * f64::from(self.facts.cores);
        let (mut low, mut high) = (0.0, servers / self.facts.service_s.max(1e-12));
        while high - low > PRECISION * high {
            let middle = f64::midpoint(low, high);
            if self.holds(instances, middle, 1.0) { low = middle } else { high = middle }
        }
        low
    }

    /// Whether any number can hold the SLO: where nobody waits.
    fn can_hold(&self, speed: f64) -> bool {
        self.facts.slo.is_none_or(|(quantile, bound_s)| {
            let points = &self.facts.service_points_s;
            let longer = points.iter().filter(|&&s| s / speed > bound_s).count();
            longer as f64 <= (1.0 - quantile) * points.len() as f64
        })
    }

    /// Whether so many instances hold the SLO at a rate.
    #[must_use]
    pub fn holds(&self, instances: u32, rate_per_s: f64, speed: f64) -> bool {
        let facts = &self.facts;
        let service_s = facts.service_s / speed;
        let servers = instances.saturating_mul(facts.cores);
        let Some(waiting) = Waiting::of(rate_per_s, servers, service_s, self.squared) else {
            return false;
        };
        if let Some(limit) = facts.limit {
            let room = instances.saturating_mul(limit);
            let queue = Finite::of(rate_per_s * service_s, servers, room);
            if queue.is_none_or(|queue| queue.lost > LOST) {
                return false;
            }
        }
        facts.slo.is_none_or(|(quantile, bound_s)| {
            let points = &facts.service_points_s;
            let longer: f64 =
                points.iter().map(|s| waiting.longer(bound_s - s / speed)).sum::<f64>();
            longer / points.len().max(1) as f64 <= 1.0 - quantile
        })
    }
}
