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

use crate::curve::Curve;
use crate::ranked::Ranked;
use crate::window::{Phase, Saturated, Window};
use plimsoll_stats::Histogram;
use plimsoll_stats::interval::student;
use std::collections::BTreeMap;

/// Points of the service time.
const POINTS: usize = 20;
/// How far ln v and ln g may lie from what the service time at low load says of them, apart from
/// chance.
const PRIOR: f64 = 0.15;
/// Relative error of a service time that was measured at low load, and of a saturation, apart from
/// chance.
const SERVICE_ERROR: f64 = 0.05;
const SATURATION_ERROR: f64 = 0.008;
/// Relative error of the curve's share where the rate is off by a factor e.
const CURVE_ERROR: f64 = 0.12;
/// How many relaxation times an independent observation takes: of the share beyond the inner
/// threshold, of the share of these beyond the outer one, and of the share beyond the outer one. As
/// simulated for M/M/1 at 49 to 90% load: 0.4 to 0.7, 1.5 to 1.6, 0.7 to 1.0.
const INNER_LASTS: f64 = 0.6;
const RATIO_LASTS: f64 = 1.5;
const OUTER_LASTS: f64 = 1.0;
/// The correlation of the first two, simulated likewise: 0.5 to 0.7.
const TOGETHER: f64 = 0.5;
/// The inner threshold is where this many times the SLO's share is expected beyond it, and at most
/// this part of the outer one.
const INNER: f64 = 3.5;
const INNER_BOUND: f64 = 0.7;
/// The scatter that is expected counts as so many windows.
const SCATTER_WEIGHT: f64 = 10.0;
/// Beyond this load a window is a transient that no curve describes.
const STEADY: f64 = 0.985;

/// What has been seen, made ready for fitting.
#[derive(Debug)]
pub struct Evidence<'a> {
    levels: Vec<Level<'a>>,
    saturated: Saturated,
    service: Histogram,
    /// The mean rate at which `service` was measured.
    service_rate: f64,
}

/// Windows at nearly the same rate, taken together.
#[derive(Debug, Default)]
struct Level<'a> {
    /// Mean rate of the counted requests.
    rate: f64,
    response: Ranked,
    windows: Vec<&'a Window>,
}

/// Rates that differ by less than this share are one level.
const SAME: f64 = 0.01;

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
    z: Vector,
    covariance: Matrix,
    gradient: Vector,
    slo: (f64, f64),
    /// Rates that were looked at, and how many requests were.
    levels: Vec<(f64, f64)>,
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
        let before = self.levels.iter().find(|(other, _)| (other / rate).ln().abs() < 0.5 * SAME);
        let before = before.map_or(0.0, |(_, n)| *n);
        let weight = |n: f64| {
            let of = Requests { rate, n, share: 1.0 };
            1.0 / variance_of(&self.curve, self.line_per_s, of, OUTER_LASTS, expected)
        };
        let known = if before > 0.0 { weight(before) } else { 0.0 };
        let more = (weight(before + rate * seconds) - known).max(0.0);
        let along: Vector =
            std::array::from_fn(|k| self.covariance[k].iter().zip(slope).map(|(a, b)| a * b).sum());
        let aim: f64 = along.iter().zip(self.gradient).map(|(a, b)| a * b).sum();
        let own: f64 = along.iter().zip(slope).map(|(a, b)| a * b).sum();
        aim * aim * more / (1.0 + more * own)
    }

    /// The relaxation time at a rate, seconds.
    #[must_use]
    pub fn relaxation_s(&self, rate: f64) -> f64 {
        relaxation(&self.curve, rate)
    }
}

/// Which requests a share is of.
#[derive(Clone, Copy)]
struct Requests {
    /// The rate they were offered at, how many there were, and the share of them that counts.
    rate: f64,
    n: f64,
    share: f64,
}

/// The variance of a share that is `expected`.
fn variance_of(curve: &Curve, line: f64, of: Requests, lasts: f64, expected: f64) -> f64 {
    let Requests { rate, n, share } = of;
    let lasting = lasts * rate * relaxation(curve, rate);
    let independent = (n * share / (1.0 + lasting * share)).max(0.2);
    let curve_error = CURVE_ERROR * expected * (rate / line).ln();
    expected * (1.0 - expected) / independent + curve_error * curve_error
}

fn relaxation(curve: &Curve, rate: f64) -> f64 {
    let gap = curve.saturation.sqrt() - rate.min(0.9999 * curve.saturation).sqrt();
    curve.variability / (gap * gap)
}

impl<'a> Evidence<'a> {
    /// Takes what is of use from all windows.
    #[must_use]
    pub fn of(windows: &'a [Window]) -> Self {
        let mut saturated = Saturated::default();
        windows.iter().for_each(|window| saturated.add(window.saturated));
        let usable = |window: &&Window| window.phase != Phase::Recover && window.counted() > 0;
        let mut levels: BTreeMap<i64, Level> = BTreeMap::new();
        for window in windows.iter().filter(usable) {
            #[expect(clippy::cast_possible_truncation, reason = "some thousands at most")]
            let number = (window.rate_per_s.ln() / SAME).round() as i64;
            let level = levels.entry(number).or_default();
            let (before, more) = (level.response.count() as f64, window.counted() as f64);
            level.rate = (level.rate * before + window.rate_per_s * more) / (before + more);
            level.response.add(&window.response);
            level.windows.push(window);
        }
        let levels: Vec<Level> = levels.into_values().collect();
        let (service, service_rate) = service(&levels);
        Self { levels, saturated, service, service_rate }
    }

    /// Fits; `None` where nothing has been seen. `slo` is the quantile and the bound in seconds.
    #[must_use]
    pub fn fit(&self, slo: (f64, f64), most: f64, before: Option<&Fit>) -> Option<Fit> {
        if self.service.is_empty() {
            return None;
        }
        let share = 1.0 - slo.0;
        let measured = points(&self.service);
        let mean = measured.iter().sum::<f64>() / measured.len() as f64;
        let variance =
            measured.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / measured.len() as f64;
        let squared = variance / (mean * mean);
        let expected_v = (0.5 * (1.0 + squared)).clamp(0.5, 6.0);
        let start = self.first_saturation(most);
        // The relative error of a mean; that of a variance is greater (exponential: 2.8 of it).
        let spread = (squared / self.service.count() as f64).sqrt();
        let mut prior = Prior {
            mean: [0.0, expected_v.ln(), Curve::pooling_of(start * mean).ln(), 0.0],
            deviation: [
                f64::INFINITY,
                PRIOR.hypot(1.4 * spread * squared.max(1.0).sqrt()),
                PRIOR.hypot(0.7 * spread),
                spread.hypot(SERVICE_ERROR),
            ],
        };
        // From the fit before it is not far; anew, thresholds and curve have to find each other.
        let mut z = before.map_or([start.ln(), prior.mean[1], prior.mean[2], 0.0], |fit| fit.z);
        let mut solved = None;
        for _ in 0..if before.is_some() { 2 } else { 4 } {
            let problem = Problem { evidence: self, measured: &measured, prior, slo, share };
            let (next, hessian, scatter) = problem.solve(z);
            z = next;
            let curve = problem.curve(z);
            prior.mean[3] = unloaded(&curve, self.service_rate, mean).ln();
            solved = Some((curve, hessian, scatter));
        }
        let (curve, hessian, (scatter, freedom)) = solved?;
        let line = curve.rate_at(slo.1, share)?;
        let problem = Problem { evidence: self, measured: &measured, prior, slo, share };
        let slope = |k: usize| {
            let aside = |by: f64| {
                let mut z = z;
                z[k] += by;
                problem.curve(z).rate_at(slo.1, share).unwrap_or(line)
            };
            (aside(STEP) / aside(-STEP)).ln() / (2.0 * STEP)
        };
        let gradient = std::array::from_fn(slope);
        let covariance = inverse(hessian)?;
        let mut variance = 0.0;
        for (row, a) in covariance.iter().zip(gradient) {
            for (value, b) in row.iter().zip(gradient) {
                variance += a * value * b;
            }
        }
        let error = (variance * scatter).sqrt();
        let levels = self.levels.iter().map(|l| (l.rate, l.response.count() as f64)).collect();
        Some(Fit { curve, line_per_s: line, error, freedom, z, covariance, gradient, slo, levels })
    }

    /// A first guess of the saturation.
    fn first_saturation(&self, most: f64) -> f64 {
        let highest = self.levels.last().map_or(0.0, |level| level.rate);
        if self.saturated.completions >= 20 {
            let seen = self.saturated.completions as f64 / self.saturated.seconds;
            return seen.max(1.02 * highest);
        }
        if most.is_finite() { (1.05 * highest).max(0.9 * most) } else { 1.5 * highest }
    }
}

/// The response times at the lowest rates, and their mean rate.
fn service(levels: &[Level<'_>]) -> (Histogram, f64) {
    let highest = levels.last().map_or(0.0, |level| level.rate);
    let (mut sum, mut weighted) = (Histogram::new(), 0.0);
    for level in levels {
        if sum.count() >= ENOUGH_SERVICE && level.rate > 0.15 * highest {
            break;
        }
        sum.add(&level.response.times);
        weighted += level.rate * level.response.times.count() as f64;
    }
    let rate = weighted / (sum.count().max(1)) as f64;
    (sum, rate)
}

/// So many requests tell the service time well enough.
const ENOUGH_SERVICE: u64 = 100;

fn points(histogram: &Histogram) -> Vec<f64> {
    let point = |k: usize| {
        let q = (k as f64 + 0.5) / POINTS as f64;
        histogram.value_at_quantile(q).map(|ns| ns as f64 / 1e9)
    };
    (0..POINTS).filter_map(point).collect()
}

/// The share of what was measured at low load that was not waiting.
fn unloaded(curve: &Curve, rate: f64, mean: f64) -> f64 {
    let (waits, wait) = curve.wait(rate);
    let waited = if wait.is_finite() { waits * wait } else { 0.0 };
    1.0 - (waited / mean).clamp(0.0, 0.5)
}

/// What is expected before windows are looked at.
#[derive(Clone, Copy)]
struct Prior {
    mean: Vector,
    deviation: Vector,
}

/// Least squares over ln saturation, ln variability, ln pooling.
struct Problem<'a> {
    evidence: &'a Evidence<'a>,
    measured: &'a [f64],
    prior: Prior,
    slo: (f64, f64),
    share: f64,
}

/// ln saturation, ln variability, ln pooling, ln of the service time over what was measured.
type Vector = [f64; 4];
type Matrix = [Vector; 4];
const N: usize = 4;

/// One share that was observed at a level: of the requests beyond the first threshold (of all where
/// that is 0), those beyond the second.
struct Point {
    thresholds: (f64, f64),
    rate: f64,
    observed: f64,
    /// Requests of the level.
    n: f64,
    /// The first threshold, where it is one.
    of: Option<f64>,
    variance: f64,
}

impl Point {
    fn expected(&self, curve: &Curve) -> f64 {
        let beyond = curve.beyond(self.thresholds.1, self.rate);
        match self.of {
            None => beyond,
            Some(inner) => beyond / curve.beyond(inner, self.rate).max(1e-9),
        }
    }
}

impl Problem<'_> {
    fn curve(&self, z: Vector) -> Curve {
        Curve {
            service_s: self.measured.iter().map(|s| s * z[3].exp()).collect(),
            saturation: z[0].exp(),
            variability: z[1].exp(),
            pooling: z[2].exp(),
        }
    }

    /// The least squares' parameters, half their second derivatives, and the scatter: how much
    /// greater the variance is than expected, with its degrees of freedom.
    fn solve(&self, mut z: Vector) -> (Vector, Matrix, (f64, f64)) {
        let curve = self.curve(z);
        let line = curve.rate_at(self.slo.1, self.share).unwrap_or(curve.saturation);
        let mut points = self.points(&curve, line);
        let mut hessian = [[0.0; N]; N];
        for round in 0..12 {
            let (cost, gradient, second) = self.derivatives(z, &points);
            hessian = second;
            let Some(inverse) = inverse(damped(&second)) else { break };
            let mut step = [0.0; N];
            for (row, slot) in inverse.iter().zip(&mut step) {
                *slot = -row.iter().zip(gradient).map(|(a, b)| a * b).sum::<f64>();
            }
            let longest = step.iter().fold(0.0, |most: f64, s| most.max(s.abs()));
            let mut scale = if longest > 0.3 { 0.3 / longest } else { 1.0 };
            let mut moved = z;
            for _ in 0..6 {
                for k in 0..N {
                    moved[k] = z[k] + scale * step[k];
                }
                if self.cost(moved, &points) <= cost {
                    break;
                }
                scale *= 0.4;
            }
            z = moved;
            if round % 3 == 2 {
                // Variances follow the curve.
                self.weigh(&mut points, &self.curve(z), line);
            }
            if longest * scale < 1e-4 {
                break;
            }
        }
        let scatter = self.scatter(z, line);
        (z, hessian, scatter)
    }

    fn points(&self, curve: &Curve, line: f64) -> Vec<Point> {
        let steady = |level: &&Level| level.rate < STEADY * curve.saturation;
        let mut points = Vec::with_capacity(2 * self.evidence.levels.len());
        for level in self.evidence.levels.iter().filter(steady) {
            let rate = level.rate;
            let n = level.response.count() as f64;
            let outer = curve.quantile(self.slo.0, rate).min(self.slo.1);
            let inner = curve.quantile(1.0 - INNER * self.share, rate).min(INNER_BOUND * outer);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "ns")]
            let beyond = |s: f64| level.response.beyond((s * 1e9) as u64) as f64;
            let (many, few) = (beyond(inner), beyond(outer));
            let point = |thresholds, observed, of| Point {
                thresholds,
                rate,
                observed,
                n,
                of,
                variance: 0.0,
            };
            points.push(point((0.0, inner), many / n, None));
            if many > 0.0 {
                points.push(point((inner, outer), few / many, Some(inner)));
            }
        }
        self.weigh(&mut points, curve, line);
        points
    }

    fn weigh(&self, points: &mut [Point], curve: &Curve, line: f64) {
        for point in points {
            let share = point.of.map_or(1.0, |inner| curve.beyond(inner, point.rate).max(0.01));
            let expected = point.expected(curve).clamp(0.002, 0.97);
            let lasts = if point.of.is_some() { RATIO_LASTS } else { INNER_LASTS };
            let of = Requests { rate: point.rate, n: point.n, share };
            point.variance = variance_of(curve, line, of, lasts, expected);
        }
    }

    /// Differences from the curve in standard deviations; the second of a level without what the
    /// first explains of it.
    fn residuals(&self, curve: &Curve, points: &[Point]) -> Vec<f64> {
        let mut residuals = Vec::with_capacity(points.len() + N);
        let mut first = 0.0;
        for point in points {
            let own = (point.expected(curve) - point.observed) / point.variance.sqrt();
            if point.of.is_some() {
                residuals.push((own - TOGETHER * first) / (1.0 - TOGETHER * TOGETHER).sqrt());
            } else {
                residuals.push(own);
                first = own;
            }
        }
        residuals
    }

    /// What is expected beforehand, as residuals.
    fn priors(&self, z: Vector) -> Vector {
        let mut residuals: Vector =
            std::array::from_fn(|k| (z[k] - self.prior.mean[k]) / self.prior.deviation[k]);
        let saturated = self.evidence.saturated;
        if saturated.completions >= 20 {
            let n = saturated.completions as f64;
            let service_variance = (2.0 * z[1].exp() - 1.0).max(0.3);
            let deviation = (service_variance / n).sqrt().hypot(SATURATION_ERROR);
            residuals[0] = (z[0] - (n / saturated.seconds).ln()) / deviation;
        }
        residuals
    }

    fn cost(&self, z: Vector, points: &[Point]) -> f64 {
        let curve = self.curve(z);
        let windows: f64 = self.residuals(&curve, points).iter().map(|r| r * r).sum();
        windows + self.priors(z).iter().map(|r| r * r).sum::<f64>()
    }

    /// The cost, half its gradient, and half its second derivatives (Gauss and Newton's).
    fn derivatives(&self, z: Vector, points: &[Point]) -> (f64, Vector, Matrix) {
        let all = |z: Vector| {
            let curve = self.curve(z);
            let mut values = self.residuals(&curve, points);
            values.extend(self.priors(z));
            values
        };
        let here = all(z);
        let aside: [Vec<f64>; N] = std::array::from_fn(|k| {
            let mut moved = z;
            moved[k] += STEP;
            all(moved)
        });
        let (mut cost, mut gradient, mut second) = (0.0, [0.0; N], [[0.0; N]; N]);
        for (n, value) in here.iter().enumerate() {
            cost += value * value;
            let slope: Vector = std::array::from_fn(|k| (aside[k][n] - value) / STEP);
            for k in 0..N {
                gradient[k] += slope[k] * value;
                for l in 0..N {
                    second[k][l] += slope[k] * slope[l];
                }
            }
        }
        (cost, gradient, second)
    }

    /// How much more the windows of one level differ than they should, and how sure that is.
    fn scatter(&self, z: Vector, line: f64) -> (f64, f64) {
        let curve = self.curve(z);
        let (mut sum, mut freedom) = (0.0, 0.0);
        for level in &self.evidence.levels {
            if level.windows.len() < 2 || level.rate >= STEADY * curve.saturation {
                continue;
            }
            let threshold = curve.quantile(self.slo.0, level.rate).min(self.slo.1);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "ns")]
            let beyond = |response: &Ranked| {
                response.beyond((threshold * 1e9) as u64) as f64 / response.count() as f64
            };
            let mean = beyond(&level.response);
            let expected = curve.beyond(threshold, level.rate).clamp(0.002, 0.97);
            for window in &level.windows {
                let n = window.counted() as f64;
                let of = Requests { rate: level.rate, n, share: 1.0 };
                let variance = variance_of(&curve, line, of, OUTER_LASTS, expected);
                let difference = beyond(&window.response) - mean;
                sum += difference * difference / variance;
            }
            freedom += level.windows.len() as f64 - 1.0;
        }
        let freedom = SCATTER_WEIGHT + freedom;
        (((SCATTER_WEIGHT + sum) / freedom).max(1.0), freedom)
    }
}

const STEP: f64 = 1e-4;

fn damped(matrix: &Matrix) -> Matrix {
    let mut damped = *matrix;
    for (k, row) in damped.iter_mut().enumerate() {
        row[k] = row[k] * 1.001 + 1e-9;
    }
    damped
}

/// The inverse of a positive definite matrix by Gauss and Jordan; `None` where it has none.
fn inverse(mut m: Matrix) -> Option<Matrix> {
    let mut inverse: Matrix =
        std::array::from_fn(|r| std::array::from_fn(|c| if r == c { 1.0 } else { 0.0 }));
    for column in 0..N {
        let pivot = m[column][column];
        if !(pivot.is_finite() && pivot > 1e-300) {
            return None;
        }
        for k in 0..N {
            m[column][k] /= pivot;
            inverse[column][k] /= pivot;
        }
        for row in (0..N).filter(|&row| row != column) {
            let factor = m[row][column];
            for k in 0..N {
                m[row][k] -= factor * m[column][k];
                inverse[row][k] -= factor * inverse[column][k];
            }
        }
    }
    Some(inverse)
}
