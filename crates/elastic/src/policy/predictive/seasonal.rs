//! Exponential smoothing after Holt and Winters, with a season of a day that multiplies:
//!
//! ```text
//! level   l ← α·y/s + (1 − α)(l + b)
//! trend   b ← β·(l − l before) + (1 − β)·b
//! season  s ← γ·y/l + (1 − γ)·s
//! and in k steps  (l + k·b)·s of then
//! ```
//!
//! The first day gives the level, its mean, and the season; there is no trend then.

use crate::observation::{Metric, Series};
use serde::{Deserialize, Serialize};

/// How it is smoothed.
pub(super) struct Smoothing {
    /// Steps of a season.
    pub(super) season: usize,
    pub(super) step_s: f64,
    pub(super) alpha: f64,
    pub(super) beta: f64,
    pub(super) gamma: f64,
}

/// Level, trend and season.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Seasonal {
    /// Steps taken in.
    steps: u32,
    level: f64,
    trend: f64,
    season: Vec<f64>,
    /// Rates of the first season, until it is whole; nothing where none was seen.
    first: Vec<Option<f64>>,
}

/// A factor below this says nothing about the level: hardly anybody came at that time of the day.
const LEAST_FACTOR: f64 = 1e-3;

impl Seasonal {
    /// Takes in all steps that have been seen to their ends.
    pub(super) fn take(&mut self, by: &Smoothing, series: &Series) {
        let Some(end_s) = series.end_s() else { return };
        let is_of_another_season =
            ![0, by.season].contains(&self.season.len()) || self.first.len() >= by.season;
        if is_of_another_season {
            *self = Self::default();
        }
        loop {
            let from_s = f64::from(self.steps) * by.step_s;
            if from_s + by.step_s > end_s + 1e-6 {
                return;
            }
            let rate = series.average(from_s, from_s + by.step_s, Metric::Rate);
            if self.season.is_empty() {
                self.begin(by, rate);
            } else {
                self.follow(by, rate);
            }
            self.steps += 1;
        }
    }

    /// A step of the first season.
    fn begin(&mut self, by: &Smoothing, rate: Option<f64>) {
        self.first.push(rate);
        if self.first.len() < by.season {
            return;
        }
        let (sum, count) =
            self.first.iter().flatten().fold((0.0, 0.0), |(sum, n), rate| (sum + rate, n + 1.0));
        self.level = if count > 0.0 { sum / count } else { 0.0 };
        let level = self.level;
        let factor = |rate: Option<f64>| match rate {
            Some(rate) if level > 0.0 => rate / level,
            _ => 1.0,
        };
        self.season = self.first.drain(..).map(factor).collect();
    }

    /// A step of a later one.
    fn follow(&mut self, by: &Smoothing, rate: Option<f64>) {
        let before = self.level;
        let expected = (before + self.trend).max(0.0);
        let place = self.steps as usize % by.season;
        let factor = self.season[place];
        let Some(rate) = rate else {
            self.level = expected;
            return;
        };
        let seen = if factor > LEAST_FACTOR { rate / factor } else { expected };
        self.level = by.alpha * seen + (1.0 - by.alpha) * expected;
        self.trend = by.beta * (self.level - before) + (1.0 - by.beta) * self.trend;
        if self.level > 0.0 {
            self.season[place] = by.gamma * rate / self.level + (1.0 - by.gamma) * factor;
        }
    }

    /// The greatest rate of the steps that a time touches; `None` before the first season.
    pub(super) fn most(&self, by: &Smoothing, from_s: f64, to_s: f64) -> Option<f64> {
        if self.season.len() != by.season {
            return None;
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        let (first, end) = (
            ((from_s / by.step_s + 1e-9).floor() as u32).max(self.steps),
            (to_s / by.step_s - 1e-9).ceil() as u32,
        );
        let rate = |step: u32| {
            let ahead = f64::from(step - self.steps) + 1.0;
            let level = (self.level + ahead * self.trend).max(0.0);
            level * self.season[step as usize % by.season]
        };
        (first..end.max(first.saturating_add(1))).map(rate).reduce(f64::max)
    }
}
