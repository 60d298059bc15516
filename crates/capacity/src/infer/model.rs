//! The monotone model: mean response time, cut off at the SLO's bound, as a function of the load.
//!
//! ```text
//! m(λ) = a + C(λ) B(w(λ)),   B(w) = E min(Exp(w), (b − S)⁺) = E w (1 − e^(−(b − S)⁺ / w))
//! ```
//!
//! with the wait of [`crate::curve`]: C = (λ/X)^g, w = v / (X − λ). Each of a, X, v and g rises or
//! falls with the load line in one direction, and for any of them m rises with λ. They are fitted
//! by weighted least squares over their logarithms (Gauss and Newton).
//!
//! # Variances
//!
//! The variance of a mean over n responses in a time is s²/n · (1 + ω κ r τ): r is their rate, τ
//! the relaxation time v / (√X − √λ)² (J. W. Cohen, *The Single Server Queue*, II.2), ω the part of
//! the variance that waits make up, and κ τ twice the integral of the autocorrelation: for the
//! number in M/M/1 that is 2(1 + ρ) / (1 + √ρ)² τ, from 1.15 τ at a fifth of the load down to τ.
//! The same formula holds for windows and for probes, whose rate is their own: Poisson arrivals see
//! time averages (R. W. Wolff, *Poisson arrivals see time averages*, Operations Research 30, 1982),
//! and those far apart are nearly independent.
//!
//! The curve itself is wrong by a share of the wait; where windows differ from it by more than all
//! that, all variances grow by as much.
//!
//! A search that did not look at low loads for their own sake has a second or two of the ramp there
//! and all the rest near the line. What lies between stands on single windows, and the covariance
//! says too little of that: the groups that are left out in turn show it (delete-a-group jackknife:
//! P. S. Kott, Journal of Official Statistics 17, 2001).

use super::calibration::{Calibration, CalibrationError, Level};
use crate::adaptive::least_squares::{Matrix, N, STEP, Vector, damped, inverse, relaxation};
use crate::curve::Curve;

/// Relative error of the mean wait on the curve, apart from chance.
const CURVE_ERROR: f64 = 0.06;
/// Twice the integral of the waits' autocorrelation, in relaxation times.
const LASTS: f64 = 1.15;
/// How far ln v and ln g may lie from what the service time says of them.
const PRIOR: f64 = 0.3;
/// How far ln X may lie from the saturation that a search found, at least; and where it found none.
const SATURATION_ERROR: f64 = 0.03;
const SATURATION_UNKNOWN: f64 = 0.5;
/// Of a response at low load, at least so much is service.
const LEAST_SERVICE: f64 = 0.5;
/// Groups of windows that are left out in turn.
const GROUPS: usize = 24;
/// The scatter that is expected counts as so many windows.
const SCATTER_WEIGHT: f64 = 10.0;
/// The least deviation, as a share of the mean.
const LEAST_SD: f64 = 0.01;

/// A fitted model.
#[derive(Debug, Clone)]
pub struct Model {
    curve: Curve,
    bound_s: f64,
    z: Vector,
    covariance: Matrix,
    /// Degrees of freedom of the covariance.
    freedom: f64,
    /// Standard deviation of a response as a power of the mean: ln factor, and exponent.
    spread: (f64, f64),
    /// Variance of the service time.
    service_variance: f64,
    /// Curves without a group of the windows each, and their means without load.
    without: Vec<(Curve, f64)>,
}

impl Model {
    /// Fits a model.
    ///
    /// # Errors
    /// [`CalibrationError::NoCurve`].
    pub fn fit(calibration: &Calibration) -> Result<Self, CalibrationError> {
        let seen = &calibration.service_s;
        let first = Self::fit_with(calibration, seen.clone())?;
        // At low load some wait already: what was seen is longer than the service by as much as
        // the curve rises to there.
        let (mean, _) = moments(seen, calibration.bound_s);
        let scale = (first.unloaded() / mean).clamp(LEAST_SERVICE, 1.0);
        let service_s: Vec<f64> = seen.iter().map(|s| s * scale).collect();
        let mut model = Self::fit_with(calibration, service_s.clone())?;
        if !calibration.has_low_loads {
            model.without = without_groups(calibration, &service_s);
        }
        Ok(model)
    }

    /// Fits a model with these points of the service time.
    fn fit_with(calibration: &Calibration, service_s: Vec<f64>) -> Result<Self, CalibrationError> {
        let (mean, variance) = moments(&service_s, calibration.bound_s);
        if !(mean > 0.0 && mean.is_finite()) {
            return Err(CalibrationError::NoCurve);
        }
        let prior = Prior::of(calibration, mean, variance);
        let mut model = Self {
            curve: Curve { service_s, saturation: 1.0, variability: 1.0, pooling: 1.0 },
            bound_s: calibration.bound_s,
            z: prior.mean,
            covariance: [[0.0; N]; N],
            freedom: SCATTER_WEIGHT,
            spread: spread(calibration),
            service_variance: variance,
            without: Vec::new(),
        };
        model.place(prior.mean);
        model.solve(calibration, &prior).ok_or(CalibrationError::NoCurve)?;
        Ok(model)
    }

    fn place(&mut self, z: Vector) {
        self.z = z;
        self.curve.saturation = z[0].exp();
        self.curve.variability = z[1].exp();
        self.curve.pooling = z[2].exp();
    }

    /// The saturation, per second: no load is higher.
    #[must_use]
    pub fn saturation(&self) -> f64 {
        self.curve.saturation
    }

    /// The mean response time without load, seconds.
    #[must_use]
    pub fn unloaded(&self) -> f64 {
        self.z[3].exp()
    }

    /// The mean response time at a rate, cut off at the bound; seconds.
    #[must_use]
    pub fn mean(&self, rate: f64) -> f64 {
        self.mean_of(&self.curve, self.z[3].exp(), rate)
    }

    fn mean_of(&self, curve: &Curve, unloaded: f64, rate: f64) -> f64 {
        let (waits, wait) = curve.wait(rate.max(0.0));
        let room = |s: f64| (self.bound_s - s).max(0.0);
        let cut = |s: f64| match wait {
            w if w.is_infinite() => room(s),
            w => w * (1.0 - libm::exp(-room(s) / w)),
        };
        let waited: f64 = curve.service_s.iter().map(|&s| cut(s)).sum();
        unloaded + waits * waited / curve.service_s.len() as f64
    }

    /// The mean at a rate with other parameters.
    fn mean_at(&self, z: Vector, rate: f64) -> f64 {
        let curve = Curve {
            service_s: self.curve.service_s.clone(),
            saturation: z[0].exp(),
            variability: z[1].exp(),
            pooling: z[2].exp(),
        };
        self.mean_of(&curve, z[3].exp(), rate)
    }

    /// The variance of a mean over `n` responses to requests of rate `own` at a load `rate`, in
    /// which they lie `seconds` at most.
    #[must_use]
    pub fn variance_of_mean(&self, rate: f64, own: f64, n: f64, seconds: f64) -> f64 {
        let mean = self.mean(rate);
        let sd = (self.spread.0 + self.spread.1 * mean.ln()).exp().max(LEAST_SD * mean);
        let waits = (1.0 - self.service_variance / (sd * sd)).clamp(0.0, 1.0);
        let lasts = LASTS * relaxation(&self.curve, rate).min(seconds);
        sd * sd / n * (1.0 + waits * own * lasts)
    }

    /// The variance of the model's mean at a rate: that of the fit, and that of the curve.
    #[must_use]
    pub fn variance(&self, rate: f64) -> f64 {
        let here = self.mean(rate);
        let slope: Vector = std::array::from_fn(|k| {
            let mut z = self.z;
            z[k] += STEP;
            (self.mean_at(z, rate) - here) / STEP
        });
        let mut variance = 0.0;
        for (row, a) in self.covariance.iter().zip(slope) {
            variance += row.iter().zip(slope).map(|(value, b)| a * value * b).sum::<f64>();
        }
        variance.max(self.jackknife(rate)) + self.curve_variance(here)
    }

    /// The variance of the mean at a rate as the curves without a group show it; 0 without any.
    fn jackknife(&self, rate: f64) -> f64 {
        let n = self.without.len().max(1) as f64;
        let curves = self.without.iter();
        let means: Vec<f64> = curves.map(|(curve, a)| self.mean_of(curve, *a, rate)).collect();
        let mean = means.iter().sum::<f64>() / n;
        (n - 1.0) / n * means.iter().map(|one| (one - mean).powi(2)).sum::<f64>()
    }

    fn curve_variance(&self, mean: f64) -> f64 {
        (CURVE_ERROR * (mean - self.unloaded())).powi(2)
    }

    /// Degrees of freedom of [`Model::variance`].
    #[must_use]
    pub fn freedom(&self) -> f64 {
        self.freedom
    }

    fn solve(&mut self, calibration: &Calibration, prior: &Prior) -> Option<()> {
        let mut second = [[0.0; N]; N];
        for _ in 0..4 {
            let weights = self.weights(calibration);
            for _ in 0..8 {
                let (cost, gradient, hessian) = self.derivatives(calibration, prior, &weights);
                second = hessian;
                let inverse = inverse(damped(&hessian))?;
                let step: Vector = std::array::from_fn(|k| {
                    -inverse[k].iter().zip(gradient).map(|(a, b)| a * b).sum::<f64>()
                });
                let longest = step.iter().fold(0.0, |most: f64, s| most.max(s.abs()));
                let mut scale = if longest > 0.3 { 0.3 / longest } else { 1.0 };
                let from = self.z;
                for _ in 0..6 {
                    self.place(std::array::from_fn(|k| from[k] + scale * step[k]));
                    if self.residuals(self.z, calibration, prior, &weights).1 <= cost {
                        break;
                    }
                    scale *= 0.4;
                }
                if longest * scale < 1e-5 {
                    break;
                }
            }
        }
        let weights = self.weights(calibration);
        let (residuals, _) = self.residuals(self.z, calibration, prior, &weights);
        let sum: f64 = residuals[..calibration.levels.len()].iter().map(|r| r * r).sum();
        let freedom = (calibration.levels.len() as f64 - N as f64).max(0.0);
        self.freedom = SCATTER_WEIGHT + freedom;
        let scatter = ((SCATTER_WEIGHT + sum) / self.freedom).max(1.0);
        self.covariance = inverse(second)?;
        self.covariance.iter_mut().flatten().for_each(|value| *value *= scatter);
        let sound = self.covariance.iter().flatten().chain(&self.z).all(|value| value.is_finite());
        sound.then_some(())
    }

    /// One over the standard deviation of each level's mean.
    fn weights(&self, calibration: &Calibration) -> Vec<f64> {
        let levels = calibration.levels.iter();
        let variance = levels.map(|level| {
            let chance = self.variance_of_mean(level.rate, level.rate, level.n, f64::INFINITY);
            chance + self.curve_variance(self.mean(level.rate))
        });
        variance.map(|variance| 1.0 / variance.sqrt()).collect()
    }

    /// Differences from the levels, then from what is expected beforehand, in standard deviations;
    /// and the sum of their squares.
    fn residuals(
        &self,
        z: Vector,
        calibration: &Calibration,
        prior: &Prior,
        weights: &[f64],
    ) -> (Vec<f64>, f64) {
        let levels = calibration.levels.iter().zip(weights);
        let mut all: Vec<f64> =
            levels.map(|(l, weight)| (self.mean_at(z, l.rate) - l.mean) * weight).collect();
        all.extend((0..N).map(|k| (z[k] - prior.mean[k]) / prior.deviation[k]));
        let cost = all.iter().map(|r| r * r).sum();
        (all, cost)
    }

    /// The cost, half its gradient, and half its second derivatives (Gauss and Newton's).
    fn derivatives(
        &self,
        calibration: &Calibration,
        prior: &Prior,
        weights: &[f64],
    ) -> (f64, Vector, Matrix) {
        let (here, cost) = self.residuals(self.z, calibration, prior, weights);
        let aside: [Vec<f64>; N] = std::array::from_fn(|k| {
            let mut z = self.z;
            z[k] += STEP;
            self.residuals(z, calibration, prior, weights).0
        });
        let (mut gradient, mut second) = ([0.0; N], [[0.0; N]; N]);
        for (n, value) in here.iter().enumerate() {
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
}

/// Curves fitted without a group of the levels each; without those that do not fit.
fn without_groups(calibration: &Calibration, service_s: &[f64]) -> Vec<(Curve, f64)> {
    let groups = GROUPS.min(calibration.levels.len());
    let without = |group: usize| {
        let levels = calibration.levels.iter().enumerate();
        let others = levels.filter(|(at, _)| at % groups != group).map(|(_, level)| *level);
        let others = Calibration { levels: others.collect(), ..calibration.clone() };
        let model = Model::fit_with(&others, service_s.to_vec()).ok()?;
        let unloaded = model.unloaded();
        Some((model.curve, unloaded))
    };
    (0..groups).filter_map(without).collect()
}

/// What is expected before windows are looked at: ln X, ln v, ln g, ln a.
struct Prior {
    mean: Vector,
    deviation: Vector,
}

impl Prior {
    fn of(calibration: &Calibration, mean: f64, variance: f64) -> Self {
        let highest = calibration.levels.last().map_or(0.0, |level| level.rate);
        let unknown = 1.3 * highest.max(calibration.capacity_per_s);
        let saturation = calibration.saturation_per_s.unwrap_or(unknown);
        let error = match (calibration.saturation_per_s, calibration.uncertainty) {
            (Some(_), uncertainty) => uncertainty.unwrap_or(0.0).max(SATURATION_ERROR),
            (None, _) => SATURATION_UNKNOWN,
        };
        let squared = variance / (mean * mean);
        let variability = (0.5 * (1.0 + squared)).clamp(0.5, 6.0);
        Self {
            mean: [
                saturation.ln(),
                variability.ln(),
                Curve::pooling_of(saturation * mean).ln(),
                mean.ln(),
            ],
            // Of the unloaded mean nothing is known beforehand.
            deviation: [error, PRIOR, PRIOR, 1.0],
        }
    }
}

/// Mean and variance of points cut off at a bound.
fn moments(points: &[f64], bound_s: f64) -> (f64, f64) {
    let n = points.len() as f64;
    let cut = || points.iter().map(|s| s.min(bound_s));
    let mean = cut().sum::<f64>() / n;
    (mean, cut().map(|s| (s - mean).powi(2)).sum::<f64>() / n)
}

/// The standard deviation of responses as a power of their mean: the logarithms of factor and
/// exponent, by least squares over the windows. A window of many requests has seen few busy
/// periods: it counts for the root of their number.
fn spread(calibration: &Calibration) -> (f64, f64) {
    let of_use = |level: &&Level| level.n >= 20.0 && level.sd > 0.0 && level.mean > 0.0;
    let levels = || calibration.levels.iter().filter(of_use);
    let weight: f64 = levels().map(|level| level.n.sqrt()).sum();
    if weight <= 0.0 {
        return (0.0, 1.0);
    }
    let over = |of: &dyn Fn(f64, f64) -> f64| {
        levels().map(|l| l.n.sqrt() * of(l.mean.ln(), l.sd.ln())).sum::<f64>() / weight
    };
    let (mean, sd) = (over(&|mean, _| mean), over(&|_, sd| sd));
    let along = over(&|m, s| (m - mean) * (s - sd));
    let square = over(&|m, _| (m - mean).powi(2));
    let exponent = if square > 1e-6 { (along / square).clamp(0.0, 2.0) } else { 0.0 };
    (sd - exponent * mean, exponent)
}
