//! Least squares over the logarithms of a curve's parameters (Gauss and Newton), and the variances
//! of what a level says: see [`super::fit`] for the reasons.

use super::evidence::{Evidence, Level};
use crate::curve::Curve;
use crate::ranked::Ranked;
use crate::window::Window;

/// Relative error of a saturation that was seen, apart from chance.
const SATURATION_ERROR: f64 = 0.008;
/// The same of a server that had so much to do by chance, for each unit by which the variability
/// exceeds that of exponential service times: such a server is slow, as long requests hold some of
/// its workers.
const BY_CHANCE_ERROR: f64 = 0.01;
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
/// From so many standard deviations on a residual counts in proportion only.
const FAR: f64 = 6.0;
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

/// The variance of a share that is `expected`: by chance, and by that and what the curve is wrong
/// by.
pub(super) fn variances(
    curve: &Curve,
    line: f64,
    of: Requests,
    lasts: f64,
    expected: f64,
) -> (f64, f64) {
    let Requests { rate, n, share } = of;
    let lasting = lasts * rate * relaxation(curve, rate);
    let independent = (n * share / (1.0 + lasting * share)).max(0.2);
    let chance = expected * (1.0 - expected) / independent;
    let curve_error = CURVE_ERROR * expected * (rate / line).ln();
    (chance, chance + curve_error * curve_error)
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

/// A level, and what was observed at it: one share, or two.
struct Looked<'a> {
    level: &'a Level<'a>,
    points: Vec<Point>,
}

/// One share that was observed at a level: of the requests beyond the first threshold (of all where
/// that is 0), those beyond the second.
struct Point {
    thresholds: (f64, f64),
    observed: f64,
    /// The first threshold, where it is one.
    of: Option<f64>,
    /// Its variance, and the part of that which is chance.
    variance: f64,
    chance: f64,
}

impl Point {
    fn expected(&self, curve: &Curve, rate: f64) -> f64 {
        let beyond = curve.beyond(self.thresholds.1, rate);
        match self.of {
            None => beyond,
            Some(inner) => beyond / curve.beyond(inner, rate).max(1e-9),
        }
    }

    /// Of how many responses the share is, and what it is of these.
    fn seen(&self, response: &Ranked) -> (f64, f64) {
        let of = self.of.map_or(response.count() as f64, |inner| beyond(response, inner));
        (of, beyond(response, self.thresholds.1) / of.max(1.0))
    }

    /// What is left of a difference without what the first one of its level explains.
    fn own(&self, difference: f64, first: f64) -> f64 {
        match self.of {
            None => difference,
            Some(_) => (difference - TOGETHER * first) / (1.0 - TOGETHER * TOGETHER).sqrt(),
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

    /// The least squares' parameters, and half their second derivatives.
    pub(super) fn solve(&self, mut z: Vector) -> (Vector, Matrix) {
        let curve = self.curve(z);
        let line = self.line(&curve);
        let mut looked = self.look(&curve, line);
        let mut hessian = [[0.0; N]; N];
        for round in 0..12 {
            let (cost, gradient, second) = self.derivatives(z, &looked);
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
                if self.cost(moved, &looked) <= cost {
                    break;
                }
                scale *= 0.4;
            }
            z = moved;
            if round % 3 == 2 {
                // Variances follow the curve.
                self.weigh(&mut looked, &self.curve(z), line);
            }
            if longest * scale < 1e-3 {
                break;
            }
        }
        (z, hessian)
    }

    fn line(&self, curve: &Curve) -> f64 {
        curve.rate_at(self.slo.1, self.share).unwrap_or(curve.saturation)
    }

    fn look(&self, curve: &Curve, line: f64) -> Vec<Looked<'_>> {
        let steady = |level: &&Level<'_>| level.rate < STEADY * curve.saturation;
        let mut looked: Vec<Looked<'_>> = Vec::with_capacity(self.evidence.levels.len());
        for level in self.evidence.levels.iter().filter(steady) {
            let outer = curve.quantile(self.slo.0, level.rate).min(self.slo.1);
            let inner = curve.quantile(1.0 - INNER * self.share, level.rate);
            let inner = inner.min(INNER_BOUND * outer);
            let point = |thresholds, of| {
                let empty = Point { thresholds, observed: 0.0, of, variance: 0.0, chance: 0.0 };
                let (n, observed) = empty.seen(&level.response);
                (n > 0.0).then_some(Point { observed, ..empty })
            };
            let points = [point((0.0, inner), None), point((inner, outer), Some(inner))];
            looked.push(Looked { level, points: points.into_iter().flatten().collect() });
        }
        self.weigh(&mut looked, curve, line);
        looked
    }

    fn weigh(&self, looked: &mut [Looked<'_>], curve: &Curve, line: f64) {
        for Looked { level, points } in looked {
            let (rate, n) = (level.rate, level.response.count() as f64);
            for point in points {
                let share = point.of.map_or(1.0, |inner| curve.beyond(inner, rate).max(0.01));
                let expected = point.expected(curve, rate).clamp(0.002, 0.97);
                let lasts = if point.of.is_some() { RATIO_LASTS } else { INNER_LASTS };
                let of = Requests { rate, n, share };
                (point.chance, point.variance) = variances(curve, line, of, lasts, expected);
            }
        }
    }

    /// Differences from the curve in standard deviations; the second of a level without what the
    /// first explains of it.
    fn residuals(&self, curve: &Curve, looked: &[Looked<'_>]) -> Vec<f64> {
        let mut residuals = Vec::with_capacity(2 * looked.len() + N);
        for Looked { level, points } in looked {
            let mut first = 0.0;
            for point in points {
                let off = point.expected(curve, level.rate) - point.observed;
                let difference = off / point.variance.sqrt();
                residuals.push(point.own(difference, first));
                first = difference;
            }
        }
        residuals
    }

    /// What is expected beforehand, as residuals; and in the place of a first guess of the
    /// saturation what was seen of it.
    fn priors(&self, z: Vector) -> impl Iterator<Item = f64> {
        let prior = self.prior;
        let (overloaded, by_chance) = (&self.evidence.overloaded, &self.evidence.by_chance);
        let guessed = usize::from(!overloaded.is_empty() || !by_chance.is_empty());
        let guesses = (guessed..N).map(move |k| (z[k] - prior.mean[k]) / prior.deviation[k]);
        let variability = z[1].exp();
        let service_variance = (2.0 * variability - 1.0).max(0.3);
        let slow = BY_CHANCE_ERROR * (variability - 1.0).max(0.0);
        let kinds = [(overloaded, SATURATION_ERROR), (by_chance, SATURATION_ERROR.hypot(slow))];
        let seen = kinds.into_iter().flat_map(move |(all, error)| {
            // All of them are off by this together.
            let together = error * (all.len() as f64).sqrt();
            all.iter().map(move |seen| {
                let chance = (service_variance / seen.completions as f64).sqrt();
                (z[0] - seen.per_s().ln()) / chance.hypot(together)
            })
        });
        guesses.chain(seen)
    }

    fn cost(&self, z: Vector, looked: &[Looked<'_>]) -> f64 {
        let curve = self.curve(z);
        let windows: f64 = self.residuals(&curve, looked).iter().map(|r| loss(*r)).sum();
        windows + self.priors(z).map(loss).sum::<f64>()
    }

    /// The cost, half its gradient, and half its second derivatives (Gauss and Newton's).
    fn derivatives(&self, z: Vector, looked: &[Looked<'_>]) -> (f64, Vector, Matrix) {
        let all = |z: Vector| {
            let curve = self.curve(z);
            let mut values = self.residuals(&curve, looked);
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
            cost += loss(*value);
            let weight = weight(*value);
            let slope: Vector = std::array::from_fn(|k| (aside[k][n] - value) / STEP);
            for k in 0..N {
                gradient[k] += weight * slope[k] * value;
                for l in 0..N {
                    second[k][l] += weight * slope[k] * slope[l];
                }
            }
        }
        (cost, gradient, second)
    }

    /// Whether anything is so far from the curve that it counts in proportion only.
    pub(super) fn is_strained(&self, z: Vector) -> bool {
        let curve = self.curve(z);
        let looked = self.look(&curve, self.line(&curve));
        let mut all = self.residuals(&curve, &looked).into_iter().chain(self.priors(z));
        all.any(|residual| residual.abs() > FAR)
    }

    /// How far the windows' scatter moves the line: the robust variance (P. J. Huber, Fifth
    /// Berkeley Symposium 1, 1967). Each window, as far as it differs from the curve, moves the
    /// line along `along`, the covariance of the parameters times the line's gradient; the squares
    /// of these moves are compared with what the windows' chance explains.
    pub(super) fn scatter(&self, z: Vector, along: Vector) -> Scatter {
        let curve = self.curve(z);
        let looked = self.look(&curve, self.line(&curve));
        let aside = self.curve(std::array::from_fn(|k| z[k] + STEP * along[k]));
        let here = self.residuals(&curve, &looked);
        let there = self.residuals(&aside, &looked);
        let mut pulls =
            here.iter().zip(there).map(|(here, there)| weight(*here) * (there - here) / STEP);
        let (mut seen, mut expected, mut squares) = (0.0, 0.0, 0.0);
        for looked in &looked {
            let pulls: Vec<f64> = pulls.by_ref().take(looked.points.len()).collect();
            for window in &looked.level.windows {
                let (moves, variance) = looked.moves(window, &curve, &pulls);
                seen += moves * moves;
                expected += variance;
                squares += variance * variance;
            }
        }
        // So many windows of equal weight say as much; one is what the fit itself takes.
        let windows = (expected * expected / squares.max(f64::MIN_POSITIVE)).max(1.0);
        Scatter { expected, windows, ratio: seen / expected.max(f64::MIN_POSITIVE) }
    }
}

/// How far the windows' scatter moves the line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scatter {
    /// The variance of ln line that is expected of the windows.
    pub(super) expected: f64,
    /// Of so many windows of equal weight.
    windows: f64,
    /// How many times that was seen.
    pub(super) ratio: f64,
}

impl Scatter {
    /// By how much the variance of ln line is greater than expected, where what was seen moves it
    /// so many times as much.
    pub(super) fn beyond(&self, times: f64) -> f64 {
        let (weight, ratio) = (SCATTER_WEIGHT + self.windows, times * self.ratio);
        let scatter = ((SCATTER_WEIGHT + self.windows * ratio) / (weight - 1.0)).max(1.0);
        (scatter - 1.0) * self.expected
    }

    /// With how many degrees of freedom that is known. Of a mean only the windows' part varies,
    /// with a variance of 2 windows / weight²; a variance that varies so has 2 / that degrees of
    /// freedom (F. E. Satterthwaite, Biometrics Bulletin 2, 1946).
    pub(super) fn freedom(&self) -> f64 {
        (SCATTER_WEIGHT + self.windows).powi(2) / self.windows
    }
}

impl Looked<'_> {
    /// How far a window of the level moves what its points pull, each by so much for a standard
    /// deviation; and the variance of that by chance.
    fn moves(&self, window: &Window, curve: &Curve, pulls: &[f64]) -> (f64, f64) {
        let (mut moves, mut variance, mut first) = (0.0, 0.0, 0.0);
        let rate = window.counted() as f64 / window.counted_s;
        let part = window.counted() as f64 / self.level.response.count() as f64;
        for (point, pull) in self.points.iter().zip(pulls) {
            let (of, share) = point.seen(&window.response);
            let (all, _) = point.seen(&self.level.response);
            let off = of / all * (point.expected(curve, rate) - share);
            let difference = off / point.variance.sqrt();
            moves += pull * point.own(difference, first);
            variance += pull * pull * part * point.chance / point.variance;
            first = difference;
        }
        (moves, variance)
    }
}

/// The cost of a residual (P. J. Huber, *Robust estimation of a location parameter*, Annals of
/// Mathematical Statistics 35, 1964): its square, and beyond some deviations no more than in
/// proportion. A server or a machine that was disturbed for a while then does not outweigh all else
/// that was seen.
fn loss(residual: f64) -> f64 {
    let size = residual.abs();
    if size <= FAR { size * size } else { FAR * (2.0 * size - FAR) }
}

/// What is left of a residual's weight.
fn weight(residual: f64) -> f64 {
    (FAR / residual.abs()).min(1.0)
}

/// How many responses exceed a time in seconds.
fn beyond(response: &Ranked, seconds: f64) -> f64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "nanoseconds")]
    let ns = (seconds * 1e9) as u64;
    response.beyond(ns) as f64
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
