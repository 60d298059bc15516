//! Least squares over the logarithms of a curve's parameters (Gauss and Newton), and the variances
//! of what a level says: see [`super::fit`] for the reasons.

use super::evidence::{Evidence, Level};
use crate::curve::Curve;
use crate::ranked::Ranked;

/// Relative error of a saturation that was seen, apart from chance.
const SATURATION_ERROR: f64 = 0.008;
/// Relative error of the curve's share where the rate is off by a factor e.
const CURVE_ERROR: f64 = 0.12;
/// How many relaxation times an independent observation takes: of the share beyond the inner
/// threshold, of the share of these beyond the outer one, and of the share beyond the outer one. As
/// simulated for M/M/1 at 49 to 90% load: 0.4 to 0.7, 1.5 to 1.6, 0.7 to 1.0.
const INNER_LASTS: f64 = 0.6;
const RATIO_LASTS: f64 = 1.5;
pub(super) const OUTER_LASTS: f64 = 1.0;
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

/// Which requests a share is of.
#[derive(Clone, Copy)]
pub(super) struct Requests {
    /// The rate they were offered at, how many there were, and the share of them that counts.
    pub(super) rate: f64,
    pub(super) n: f64,
    pub(super) share: f64,
}

/// The variance of a share that is `expected`.
pub(super) fn variance_of(
    curve: &Curve,
    line: f64,
    of: Requests,
    lasts: f64,
    expected: f64,
) -> f64 {
    let Requests { rate, n, share } = of;
    let lasting = lasts * rate * relaxation(curve, rate);
    let independent = (n * share / (1.0 + lasting * share)).max(0.2);
    let curve_error = CURVE_ERROR * expected * (rate / line).ln();
    expected * (1.0 - expected) / independent + curve_error * curve_error
}

pub(crate) fn relaxation(curve: &Curve, rate: f64) -> f64 {
    let gap = curve.saturation.sqrt() - rate.min(0.9999 * curve.saturation).sqrt();
    curve.variability / (gap * gap)
}

/// The share of what was measured at low load that was not waiting.
pub(super) fn unloaded(curve: &Curve, rate: f64, mean: f64) -> f64 {
    let (waits, wait) = curve.wait(rate);
    let waited = if wait.is_finite() { waits * wait } else { 0.0 };
    1.0 - (waited / mean).clamp(0.0, 0.5)
}

/// What is expected before windows are looked at.
#[derive(Clone, Copy)]
pub(super) struct Prior {
    pub(super) mean: Vector,
    pub(super) deviation: Vector,
}

/// Least squares over ln saturation, ln variability, ln pooling.
pub(super) struct Problem<'a> {
    pub(super) evidence: &'a Evidence<'a>,
    pub(super) measured: &'a [f64],
    pub(super) prior: Prior,
    pub(super) slo: (f64, f64),
    pub(super) share: f64,
}

/// ln saturation, ln variability, ln pooling, ln of the service time over what was measured.
pub(crate) type Vector = [f64; 4];
pub(crate) type Matrix = [Vector; 4];
pub(crate) const N: usize = 4;

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
    pub(super) fn curve(&self, z: Vector) -> Curve {
        Curve {
            service_s: self.measured.iter().map(|s| s * z[3].exp()).collect(),
            saturation: z[0].exp(),
            variability: z[1].exp(),
            pooling: z[2].exp(),
        }
    }

    /// The least squares' parameters, half their second derivatives, and the scatter: how much
    /// greater the variance is than expected, with its degrees of freedom.
    pub(super) fn solve(&self, mut z: Vector) -> (Vector, Matrix, (f64, f64)) {
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
            if longest * scale < 1e-3 {
                break;
            }
        }
        let scatter = self.scatter(z, line);
        (z, hessian, scatter)
    }

    fn points(&self, curve: &Curve, line: f64) -> Vec<Point> {
        let steady = |level: &&Level<'_>| level.rate < STEADY * curve.saturation;
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

pub(crate) const STEP: f64 = 1e-4;

pub(crate) fn damped(matrix: &Matrix) -> Matrix {
    let mut damped = *matrix;
    for (k, row) in damped.iter_mut().enumerate() {
        row[k] = row[k] * 1.001 + 1e-9;
    }
    damped
}

/// The inverse of a positive definite matrix by Gauss and Jordan; `None` where it has none.
pub(crate) fn inverse(mut m: Matrix) -> Option<Matrix> {
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
