//! The load line without a curve: a straight line through what was seen near it.
//!
//! The curve of [`super::fit`] is that of a queue. Servers that refuse what they cannot do, that
//! pause every so often, or whose requests are of two kinds have none such, and windows far from
//! their line say nothing of it. Near the line the logit of the share of requests beyond the SLO
//! rises in proportion to the logarithm of the rate, whatever the server is:
//!
//! ```text
//! logit p(λ) = logit p₀ + b (ln λ − ln λ₀)      p₀: the share that is allowed, λ₀: the load line
//! ```
//!
//! λ₀ and b are found by Gauss and Newton's method (quasi-likelihood: R. W. M. Wedderburn,
//! Biometrika 61, 1974). What is far from the line counts for less, as the logit is no straight
//! line there. By how much windows scatter more than independent requests would is seen from their
//! seconds and from the windows themselves. Of several clauses the one that breaks first counts.

use crate::goal::{Clause, Goal};
use crate::hold::batches;
use crate::window::{Phase, Window};
use plimsoll_stats::interval::student;

/// What ln b is taken to be, and how far it may lie from that, before anything is seen: of a server
/// that is loaded too much, and of one that pauses, which does so at any rate.
pub(super) const STEEP: (f64, f64) = (1.4, 1.0);
pub(super) const FLAT: (f64, f64) = (-0.5, 0.7);
/// Bounds of ln b.
const STEEPNESSES: (f64, f64) = (-1.2, 6.0);
/// The logit is no straight line: at a distance of one in ln λ it is off by so much.
const BENT: f64 = 0.8;
/// Windows within this distance of the line, in ln λ, tell the scatter.
const NEAR: f64 = 0.3;
/// The scatter of seconds counts as so many windows.
const SECONDS_WEIGHT: f64 = 6.0;
/// Degrees of freedom of that scatter.
const SECONDS_FREEDOM: f64 = 4.0;
/// The least share that is worth looking for, where none at all is allowed.
const LEAST_SHARE: f64 = 1e-4;
const ROUNDS: usize = 40;
/// Windows below this share of a rate that held for a whole hold are far from the line: what broke
/// the SLO there, for a second of the ramp, was no load.
const FAR_BELOW: f64 = 0.5;
/// The line is sought up to so far outside of the rates that were offered, ln λ.
const BEYOND: f64 = 0.1;

/// A load line, as it was seen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Local {
    /// Where the SLO's share is reached, per second.
    pub(super) line_per_s: f64,
    /// Standard error of its logarithm, and degrees of freedom of that.
    pub(super) error: f64,
    pub(super) freedom: f64,
    /// The rise of the logit over ln λ.
    pub(super) steepness: f64,
    /// How many times the variance of independent requests that of requests beyond is.
    pub(super) scatter: f64,
    allowed: f64,
    pub(super) clause: Clause,
}

impl Local {
    /// The line of the clause that is broken first; `None` where none is broken anywhere.
    pub(super) fn of(windows: &[Window], goal: &Goal, steepness: (f64, f64)) -> Option<Self> {
        let lines =
            goal.clauses().filter_map(|clause| ClausePoints::of(windows, clause)?.fit(steepness));
        lines.min_by(|a, b| a.line_per_s.total_cmp(&b.line_per_s))
    }

    /// Half the width of the 95% interval of ln line.
    pub(super) fn half_width(&self) -> f64 {
        student::quantile(0.975, self.freedom) * self.error
    }

    /// The 95% interval of the line.
    pub(super) fn ci95(&self) -> (f64, f64) {
        let half = self.half_width();
        (self.line_per_s * libm::exp(-half), self.line_per_s * libm::exp(half))
    }

    /// The share beyond at a rate.
    pub(super) fn share(&self, rate: f64) -> f64 {
        logistic(logit(self.allowed) + self.steepness * (rate / self.line_per_s).ln())
    }
}

/// A window: ln rate, requests, those beyond, and the same of its seconds.
struct Point {
    x: f64,
    n: f64,
    hits: f64,
    seconds: Vec<(f64, f64)>,
}

/// What was seen of a clause.
struct ClausePoints {
    points: Vec<Point>,
    clause: Clause,
    allowed: f64,
}

fn logit(p: f64) -> f64 {
    (p / (1.0 - p)).ln()
}

fn logistic(y: f64) -> f64 {
    1.0 / (1.0 + libm::exp(-y))
}

impl ClausePoints {
    /// Windows that were not cut: to end where many are slow is to choose. `None` where the clause
    /// is not broken anywhere.
    fn of(windows: &[Window], clause: Clause) -> Option<Self> {
        let allowed = clause.allowed.max(LEAST_SHARE);
        let held = |window: &&Window| {
            let (n, hits) = (window.counted() as f64, clause.hits(window) as f64);
            window.phase == Phase::Hold && n > 0.0 && hits <= allowed * n
        };
        let held = windows.iter().filter(held).map(|window| window.rate_per_s);
        let far_below = FAR_BELOW * held.fold(0.0, f64::max);
        let of_use = |window: &&Window| {
            let is_far = window.rate_per_s < far_below;
            window.phase != Phase::Recover && !is_far && !window.was_cut && window.counted() > 0
        };
        let point = |window: &Window| {
            let (n, hits) = (window.counted() as f64, clause.hits(window) as f64);
            // The rate as it was, not as it was asked for.
            let rate = n / window.counted_s.max(f64::MIN_POSITIVE);
            Point { x: rate.ln(), n, hits, seconds: batches(window, clause).collect() }
        };
        let mut points: Vec<Point> = windows.iter().filter(of_use).map(point).collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        let is_broken = points.iter().any(|point| point.hits > allowed * point.n);
        is_broken.then_some(Self { points, clause, allowed })
    }

    /// Where the shares, made to rise with the rate, cross the one that is allowed: pool adjacent
    /// violators (M. Ayer et al., Annals of Mathematical Statistics 26, 1955).
    fn first_guess(&self) -> f64 {
        // Number, hits, and the last point of each block.
        let mut blocks: Vec<(f64, f64, usize)> = Vec::new();
        for (at, point) in self.points.iter().enumerate() {
            blocks.push((point.n, point.hits, at));
            while let [.., (m, k, _), (n, l, _)] = blocks[..]
                && k * n >= l * m
            {
                blocks.pop();
                if let Some(last) = blocks.last_mut() {
                    *last = (m + n, k + l, at);
                }
            }
        }
        let is_within = |block: &&(f64, f64, usize)| block.1 <= self.allowed * block.0;
        let within = blocks.iter().take_while(is_within).last();
        let x = |at: usize| self.points.get(at).map(|point| point.x);
        match within {
            None => x(0).unwrap_or(0.0),
            Some(&(_, _, at)) => {
                let below = x(at).unwrap_or(0.0);
                f64::midpoint(below, x(at + 1).unwrap_or(below))
            }
        }
    }

    fn share(&self, z: [f64; 2], x: f64) -> f64 {
        logistic(logit(self.allowed) + z[1].exp() * (x - z[0])).clamp(1e-9, 1.0 - 1e-9)
    }

    fn fit(&self, steepness: (f64, f64)) -> Option<Local> {
        let mut z = [self.first_guess(), steepness.0];
        // No farther than what was seen reaches.
        let ends = [self.points.first()?.x, self.points.last()?.x];
        let (least, most) = (ends[0] - BEYOND, ends[1] + BEYOND);
        let mut scatter = self.scatter(z);
        let mut second = [[0.0; 2]; 2];
        for round in 0..ROUNDS {
            let gradient;
            (gradient, second) = self.derivatives(z, scatter.0, steepness);
            let inverse = inverse(second)?;
            let step = |k: usize| -(inverse[k][0] * gradient[0] + inverse[k][1] * gradient[1]);
            z[0] = (z[0] + step(0).clamp(-0.1, 0.1)).clamp(least, most);
            z[1] = (z[1] + step(1).clamp(-0.3, 0.3)).clamp(STEEPNESSES.0, STEEPNESSES.1);
            if round % 5 == 4 {
                scatter = self.scatter(z);
            }
        }
        let error = inverse(second)?[0][0].sqrt();
        (error.is_finite() && z[0].is_finite()).then(|| Local {
            line_per_s: z[0].exp(),
            error,
            freedom: scatter.1,
            steepness: z[1].exp(),
            scatter: scatter.0,
            allowed: self.allowed,
            clause: self.clause,
        })
    }

    /// Half the gradient of the weighted squares over (ln line, ln b), and half their second
    /// derivatives.
    fn derivatives(
        &self,
        z: [f64; 2],
        scatter: f64,
        steepness: (f64, f64),
    ) -> ([f64; 2], [[f64; 2]; 2]) {
        let b = z[1].exp();
        let prior = 1.0 / (steepness.1 * steepness.1);
        let mut gradient = [0.0, prior * (z[1] - steepness.0)];
        let mut second = [[0.0, 0.0], [0.0, prior]];
        for point in &self.points {
            let p = self.share(z, point.x);
            let (binomial, away) = (p * (1.0 - p), point.x - z[0]);
            let slope = [-binomial * b, binomial * b * away];
            let bent = binomial * BENT * away;
            let weight = 1.0 / (scatter * binomial / point.n + bent * bent);
            let off = p - point.hits / point.n;
            for k in 0..2 {
                gradient[k] += weight * slope[k] * off;
                for l in 0..2 {
                    second[k][l] += weight * slope[k] * slope[l];
                }
            }
        }
        (gradient, second)
    }

    /// By how much the variance of a share is greater than that of independent requests, and its
    /// degrees of freedom: of the seconds near the line, and of the windows.
    fn scatter(&self, z: [f64; 2]) -> (f64, f64) {
        let near = || self.points.iter().filter(|point| (point.x - z[0]).abs() < NEAR);
        let (mut seconds, mut expected) = (0.0, 0.0);
        let (mut windows, mut all, mut count) = (0.0, 0.0, 0.0);
        for point in near() {
            let p = self.share(z, point.x);
            let square = |(n, hits): (f64, f64)| (hits - n * p).powi(2);
            seconds += point.seconds.iter().copied().map(square).sum::<f64>();
            expected += point.seconds.iter().map(|(n, _)| n * p * (1.0 - p)).sum::<f64>();
            windows += square((point.n, point.hits));
            all += point.n * p * (1.0 - p);
            count += 1.0;
        }
        let of_seconds = if expected > 0.0 { seconds / expected } else { 1.0 };
        if count < 3.0 || all <= 0.0 {
            return (of_seconds.max(1.0), SECONDS_FREEDOM);
        }
        // Two parameters were fitted to these windows.
        let of_windows = windows / all * count / (count - 2.0);
        let weight = SECONDS_WEIGHT + count;
        let scatter = (SECONDS_WEIGHT * of_seconds + count * of_windows) / weight;
        (scatter.max(1.0), SECONDS_FREEDOM + count)
    }
}

fn inverse(m: [[f64; 2]; 2]) -> Option<[[f64; 2]; 2]> {
    let det = m[0][0] * m[1][1] - m[0][1] * m[1][0];
    (det.is_finite() && det > 0.0)
        .then(|| [[m[1][1] / det, -m[0][1] / det], [-m[1][0] / det, m[0][0] / det]])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conduct::Site;
    use crate::simulated::Simulated;
    use crate::simulated::admission::Admission;
    use crate::window::Offer;
    use plimsoll_workload::distribution::Distribution;
    use plimsoll_workload::service_model::{ServiceModel, ServiceTime};

    const GOAL: Goal = Goal { slo: (0.9, 200_000_000), most_errors: None };

    /// Windows of M/M/1/6 of 100/s, a tenth of whose requests are refused at 89.5/s.
    fn windows(seed: u64, count: usize) -> Vec<Window> {
        let law = ServiceTime::Law(Distribution::parse("exp:10ms").unwrap());
        let mut world = Simulated::new(ServiceModel::new(law), GOAL.slo.1, seed)
            .with_admission(Admission::UpTo { most: 6 });
        let mut window = |rate_per_s| {
            let (seconds, settle_s) = (5.0, 0.5);
            let (phase, may_cut, fresh) = (Phase::Search, false, false);
            let Ok(window) =
                world.window(&Offer { rate_per_s, seconds, settle_s, phase, may_cut, fresh });
            window
        };
        (0..count).map(|k| window([80.0, 87.0, 92.0][k % 3])).collect()
    }

    #[test]
    fn lines_of_a_refusing_server_scatter_as_they_claim() {
        let (mut off, mut covered) = (0.0, 0);
        for seed in 0..40 {
            let local = Local::of(&windows(seed, 24), &GOAL, STEEP).unwrap();
            off += (local.line_per_s / 89.5).ln() / 40.0;
            let (low, high) = local.ci95();
            covered += u32::from(low < 89.5 && 89.5 < high);
            assert!(local.half_width() < 0.15, "{local:?}");
        }
        assert!(off.abs() < 0.03, "{off}");
        assert!(covered >= 34, "{covered} of 40");
    }

    #[test]
    fn where_nothing_is_beyond_there_is_no_line() {
        let mut none = windows(1, 3);
        none.iter_mut().for_each(|window| (window.beyond, window.counted_failed) = (0, 0));
        assert_eq!(Local::of(&none, &GOAL, STEEP), None);
        assert_eq!(Local::of(&[], &GOAL, STEEP), None);
    }

    #[test]
    fn the_clause_that_breaks_first_counts() {
        let windows = windows(2, 24);
        let both = Goal { most_errors: Some(0.05), ..GOAL };
        let (one, other) = (Local::of(&windows, &GOAL, STEEP), Local::of(&windows, &both, STEEP));
        assert!(other.unwrap().line_per_s < one.unwrap().line_per_s);
    }
}
