//! Fits a [`Curve`] to windows, and tells where it crosses the SLO and how sure that is.
//!
//! Each window says which share of its requests exceeded a threshold; the curve says which share
//! should have. Thresholds are where the curve expects the SLO's share (at most the SLO's bound),
//! so that every window says something: a window far below the load line has no request beyond the
//! bound, but a tenth of them beyond *some* time. The squared differences over their variances are
//! minimised by Gauss and Newton's method over the logarithms of saturation, variability and
//! pooling (quasi-likelihood: R. W. M. Wedderburn, Biometrika 61, 1974).
//!
//! # Variances
//!
//! Requests of one queue are not independent: those that meet in one busy period are slow together.
//! The correlation lasts for the queue's relaxation time, v / (√X − √λ)² (for M/M/1: J. W. Cohen,
//! *The Single Server Queue*, II.2), so that a window holds about seconds / relaxation independent
//! observations. What the windows' own scatter says beyond that multiplies the variance. A curve is
//! also wrong, more so the farther from the line; windows far from it count for less.

use super::evidence::{Evidence, level_of};
use super::least_squares::{
    Matrix, OUTER_LASTS, Prior, Problem, Requests, STEP, Scatter, Vector, inverse, relaxation,
    unloaded, variances,
};
use super::moments::Moments;
use crate::curve::Curve;
use plimsoll_stats::Histogram;
use plimsoll_stats::interval::student;
use plimsoll_workload::service_model::{Quantiles, ServiceModel, ServiceTime};
use std::num::NonZeroU32;

/// Points of the service time.
const POINTS: usize = 20;
/// How far ln v and ln g may lie from what the service time at low load says of them, apart from
/// chance.
const PRIOR: f64 = 0.15;
/// How far ln X may lie from the first guess, where no saturation was seen: it keeps a fit to
/// little evidence from wandering off.
const SATURATION_PRIOR: f64 = 0.7;
/// Relative error of a service time that was measured at low load, apart from chance.
const SERVICE_ERROR: f64 = 0.05;
/// Up to this share of the line a load is low enough to tell the service time.
const LOW_LOAD: f64 = 0.35;
/// The greatest power by which long service times are stretched in a model.
const MOST_STRETCH: f64 = 2.5;

/// A fitted curve and its load line.
#[derive(Debug, Clone)]
pub struct Fit {
    /// The curve.
    pub curve: Curve,
    /// Where it crosses the SLO, per second.
    pub line_per_s: f64,
    /// Standard error of its logarithm.
    pub error: f64,
    /// Degrees of freedom of that error.
    pub freedom: f64,
    /// The service time as quantiles, probability and nanoseconds.
    service: Vec<(f64, u64)>,
    service_lacks: f64,
    is_strained: bool,
    z: Vector,
    covariance: Matrix,
    gradient: Vector,
    scatter: Scatter,
    slo: (f64, f64),
    /// Levels that were looked at, and how many requests were.
    levels: Vec<(i64, f64)>,
}

impl Fit {
    /// Half the width of the 95% interval of ln line.
    #[must_use]
    pub fn half_width(&self) -> f64 {
        student::quantile(0.975, self.freedom) * self.error
    }

    /// The 95% interval of the line.
    #[must_use]
    pub fn ci95(&self) -> (f64, f64) {
        let half = self.half_width();
        (self.line_per_s * libm::exp(-half), self.line_per_s * libm::exp(half))
    }

    /// By how much a window at a rate would lower the variance of ln line, if it scatters as
    /// expected (a rank-one update of the covariance: sequential c-optimal design, H. Chernoff,
    /// Ann. Math. Stat. 24, 1953).
    #[must_use]
    pub fn gain(&self, rate: f64, seconds: f64) -> f64 {
        let threshold = self.curve.quantile(self.slo.0, rate).min(self.slo.1);
        let expected = self.curve.beyond(threshold, rate).clamp(0.002, 0.95);
        let moved = |k: usize, by: f64| {
            let mut curve = self.curve.clone();
            match k {
                0 => curve.saturation *= by.exp(),
                1 => curve.variability *= by.exp(),
                2 => curve.pooling *= by.exp(),
                _ => curve.service_s.iter_mut().for_each(|s| *s *= by.exp()),
            }
            curve.beyond(threshold, rate)
        };
        let slope: Vector = std::array::from_fn(|k| (moved(k, STEP) - expected) / STEP);
        let before = self.levels.iter().find(|(level, _)| *level == level_of(rate));
        let before = before.map_or(0.0, |(_, n)| *n);
        let weight = |n: f64| {
            let of = Requests { rate, n, share: 1.0 };
            1.0 / variances(&self.curve, self.line_per_s, of, OUTER_LASTS, expected).1
        };
        let known = if before > 0.0 { weight(before) } else { 0.0 };
        let more = (weight(before + rate * seconds) - known).max(0.0);
        let along: Vector = std::array::from_fn(|k| dot(self.covariance[k], slope));
        let (aim, own) = (dot(along, self.gradient), dot(along, slope));
        aim * aim * more / (1.0 + more * own)
    }

    /// A server of the fitted service time, with as many workers as its saturation takes, and of
    /// the speed at which they complete just that; `None` where nothing took any time. Where the
    /// waits say that service times scatter more than the few that were measured at low load, its
    /// long ones are longer by as much.
    #[must_use]
    pub fn model(&self) -> Option<ServiceModel> {
        let measured = Quantiles::new(self.service.clone()).ok()?;
        let work = self.curve.saturation * measured.mean();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
        let cores = NonZeroU32::new(work.round().clamp(1.0, 1e6) as u32)?;
        let scattered = with_spread(&self.service, 2.0 * self.curve.variability - 1.0);
        let table = Quantiles::new(scattered).ok()?;
        let work = self.curve.saturation * table.mean();
        let mut model = ServiceModel::new(ServiceTime::Table(table));
        model.speed = work / f64::from(cores.get());
        model.cores = cores;
        (model.speed > 0.0).then_some(model)
    }

    pub(super) fn scatter(&self) -> Scatter {
        self.scatter
    }

    /// Takes the windows' scatter to move the line with so many times the variance.
    pub(super) fn take_scatter(&mut self, times: f64) {
        let more = self.scatter.beyond(times) - self.scatter.beyond(1.0);
        self.error = (self.error * self.error + more).sqrt();
    }

    /// Whether anything differs from the curve by so much that it counts less than in full: a
    /// level, what was seen of the saturation, or what the service time says of the waits.
    #[must_use]
    pub fn is_strained(&self) -> bool {
        self.is_strained
    }

    /// How many more requests at low load would tell the service time well enough: with a standard
    /// error that is no greater than what it may be off by anyway.
    #[must_use]
    pub fn service_lacks(&self) -> f64 {
        self.service_lacks
    }

    /// The relaxation time at a rate, seconds.
    #[must_use]
    pub fn relaxation_s(&self, rate: f64) -> f64 {
        relaxation(&self.curve, rate)
    }
}

impl Evidence<'_> {
    /// Fits; `None` where nothing has been seen. `slo` is the quantile and the bound in seconds.
    #[must_use]
    pub fn fit(&self, slo: (f64, f64), most: f64, before: Option<&Fit>) -> Option<Fit> {
        if self.service.is_empty() {
            return None;
        }
        let share = 1.0 - slo.0;
        let measured = points(&self.service);
        let service = Moments::of(&self.service)?;
        let expected_v = service.variability.clamp(0.5, 6.0);
        let start = self.first_saturation(most);
        let mut prior = Prior {
            mean: [start.ln(), expected_v.ln(), Curve::pooling_of(start * service.mean).ln(), 0.0],
            deviation: [
                SATURATION_PRIOR,
                PRIOR.hypot(service.variability_error),
                PRIOR.hypot(0.7 * service.mean_error),
                service.mean_error.hypot(SERVICE_ERROR),
            ],
        };
        // From the fit before it is not far; anew, thresholds and curve have to find each other.
        let mut z = before.map_or([start.ln(), prior.mean[1], prior.mean[2], 0.0], |fit| fit.z);
        let mut solved = None;
        for _ in 0..if before.is_some() { 2 } else { 4 } {
            let problem = Problem { evidence: self, measured: &measured, prior, slo, share };
            let (next, hessian) = problem.solve(z);
            z = next;
            let curve = problem.curve(z);
            prior.mean[3] = unloaded(&curve, self.service_rate, service.mean).ln();
            solved = Some((curve, hessian));
        }
        let (curve, hessian) = solved?;
        let line = curve.rate_at(slo.1, share)?;
        let enough = self.service.count() as f64 * (service.mean_error / SERVICE_ERROR).powi(2);
        // What was measured at no low load is waiting in part: it is measured anew.
        let is_low = self.service_rate <= LOW_LOAD * line;
        let lacks = if is_low { enough - self.service.count() as f64 } else { enough };
        let problem = Problem { evidence: self, measured: &measured, prior, slo, share };
        let slope = |k: usize| {
            let aside = |by: f64| {
                let mut z = z;
                z[k] += by;
                problem.curve(z).rate_at(slo.1, share).unwrap_or(line)
            };
            (aside(STEP) / aside(-STEP)).ln() / (2.0 * STEP)
        };
        let gradient: Vector = std::array::from_fn(slope);
        let covariance = inverse(hessian)?;
        let along: Vector = std::array::from_fn(|k| dot(covariance[k], gradient));
        let scatter = problem.scatter(z, along);
        let is_strained = problem.is_strained(z);
        let error = (dot(along, gradient) + scatter.beyond(1.0)).sqrt();
        let service = quantiles(&self.service, z[3].exp());
        let levels = self.levels.iter().map(|l| (l.number, l.response.count() as f64)).collect();
        Some(Fit {
            curve,
            service,
            service_lacks: lacks,
            line_per_s: line,
            error,
            freedom: scatter.freedom(),
            is_strained,
            z,
            covariance,
            gradient,
            scatter,
            slo,
            levels,
        })
    }
}

fn dot(a: Vector, b: Vector) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The quantiles of a histogram, stretched.
fn quantiles(histogram: &Histogram, factor: f64) -> Vec<(f64, u64)> {
    let inner = (1..40).map(|k| f64::from(k) / 40.0);
    let all = std::iter::once(0.0).chain(inner).chain([0.99, 0.995, 0.999, 1.0]);
    let point = |q: f64| {
        let ns = if q >= 1.0 { histogram.max() } else { histogram.value_at_quantile(q) };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "nanoseconds")]
        ns.map(|ns| (q, (ns as f64 * factor) as u64))
    };
    let mut points: Vec<(f64, u64)> = all.filter_map(point).collect();
    // A bucket's upper end may lie above the exact greatest value.
    let most = points.last().map_or(0, |last| last.1);
    points.iter_mut().for_each(|point| point.1 = point.1.min(most));
    points
}

/// Quantiles whose upper half is stretched, as a power of what it is of the median, until the
/// squared coefficient of variation is at least `squared`.
fn with_spread(quantiles: &[(f64, u64)], squared: f64) -> Vec<(f64, u64)> {
    let median = quantiles.iter().find(|(q, _)| *q >= 0.5).map_or(1, |point| point.1.max(1)) as f64;
    if squared_variation(quantiles) >= squared {
        return quantiles.to_vec();
    }
    let stretched = |power: f64| -> Vec<(f64, u64)> {
        let longer = |&(q, ns): &(f64, u64)| {
            let times = ns as f64 / median;
            let ns = if times > 1.0 { median * libm::pow(times, power) } else { ns as f64 };
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "ns")]
            (q, ns as u64)
        };
        quantiles.iter().map(longer).collect()
    };
    let (mut low, mut high) = (1.0, MOST_STRETCH);
    for _ in 0..30 {
        let middle = f64::midpoint(low, high);
        if squared_variation(&stretched(middle)) < squared { low = middle } else { high = middle }
    }
    stretched(low)
}

/// The squared coefficient of variation of a service time whose quantiles are joined by straight
/// lines.
fn squared_variation(quantiles: &[(f64, u64)]) -> f64 {
    let (mut first, mut second) = (0.0, 0.0);
    for pair in quantiles.windows(2) {
        let (share, low, high) = (pair[1].0 - pair[0].0, pair[0].1 as f64, pair[1].1 as f64);
        first += share * f64::midpoint(low, high);
        second += share * (low * low + low * high + high * high) / 3.0;
    }
    second / (first * first).max(f64::MIN_POSITIVE) - 1.0
}

fn points(histogram: &Histogram) -> Vec<f64> {
    let point = |k: usize| {
        let q = (k as f64 + 0.5) / POINTS as f64;
        histogram.value_at_quantile(q).map(|ns| ns as f64 / 1e9)
    };
    (0..POINTS).filter_map(point).collect()
}
