//! A forecast of the rate, and then the fewest instances for which the queueing model predicts that the
//! SLO holds.
//!
//! - *last-day*, *last-week*: what was at the same time a day or a week before, scaled by how the
//!   last hour compares with the same hour then.
//! - *trend*: a straight line through the last so many steps (least squares).
//! - *holt-winters*: level, trend and a season that multiplies, smoothed exponentially (P. R. Winters,
//!   *Forecasting sales by exponentially weighted moving averages*, Management Science 6, 1960).
//!
//! Where there is no season yet, the trend stands in.

use super::{Decision, Facts, Kind, Maker, Parameters, Policy, maker, parameter};
use crate::demand::Demand;
use crate::observation::{Metric, Observation, Series};
use serde::{Deserialize, Serialize};

pub(super) static KIND: Kind = Kind {
    name: "predictive",
    about: "a forecast of the rate, and the fewest instances that hold the SLO then",
    parameters: &[
        parameter("forecast", "last-day, last-week, trend or holt-winters", "last-day", "Its method."),
        parameter("step", "duration", "5m", "Rates are means over this."),
        parameter("ahead", "duration", "boot time and a step", "So far ahead, and all before that."),
        parameter("steps", "count", "6", "The trend is of so many steps."),
        parameter("headroom", "number", "0.1", "The forecast is taken for greater by this share."),
        parameter("alpha", "number", "0.3", "How fast the level follows (holt-winters)."),
        parameter("beta", "number", "0.05", "How fast the trend follows (holt-winters)."),
        parameter("gamma", "number", "0.2", "How fast the season follows (holt-winters)."),
    ],
    knows_future: false,
    make,
};

const DAY_S: f64 = 86_400.0;
const HOUR_S: f64 = 3600.0;

#[derive(Clone, Copy, PartialEq)]
enum Method {
    /// A season before, seconds.
    Season(f64),
    Trend,
    HoltWinters,
}

struct Predictive {
    demand: Demand,
    method: Method,
    step_s: f64,
    ahead_s: f64,
    steps: u32,
    headroom: f64,
    /// α, β, γ.
    smoothing: [f64; 3],
}

/// Level, trend and season of Holt and Winters, and the time they have come to.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Smoothed {
    until_s: f64,
    level: f64,
    trend: f64,
    season: Vec<f64>,
    /// Rates of the first season, until it is whole.
    first: Vec<f64>,
}

fn make(parameters: &mut Parameters<'_>, facts: &Facts) -> Option<Maker> {
    let methods = [
        ("last-day", Method::Season(DAY_S)),
        ("last-week", Method::Season(7.0 * DAY_S)),
        ("trend", Method::Trend),
        ("holt-winters", Method::HoltWinters),
    ];
    let step_s = parameters.seconds("step").unwrap_or(300.0);
    if !(1.0..=HOUR_S).contains(&step_s) {
        let message = format!("expected `step` from 1s to 1h, found {step_s} s");
        parameters.fault("step", message, None);
        return None;
    }
    let usual = [("alpha", 0.3), ("beta", 0.05), ("gamma", 0.2)];
    Some(maker(Predictive {
        demand: Demand::new(facts),
        method: parameters.word("forecast", &methods).unwrap_or(Method::Season(DAY_S)),
        step_s,
        ahead_s: parameters.seconds("ahead").unwrap_or(facts.boot_s + step_s),
        steps: parameters.whole("steps", 2, 1000).unwrap_or(6),
        headroom: parameters.number("headroom", 0.0, 10.0).unwrap_or(0.1),
        smoothing: usual.map(|(name, usual)| parameters.number(name, 0.0, 1.0).unwrap_or(usual)),
    }))
}

impl Predictive {
    /// The greatest rate forecast for the time ahead, and by what.
    fn forecast(&self, state: &mut Smoothed, seen: &Observation<'_>) -> Option<(f64, &'static str)> {
        let found = match self.method {
            Method::Season(season_s) => self.of_season(seen, season_s).map(|rate| (rate, "season")),
            Method::HoltWinters => {
                self.smooth(state, seen);
                self.of_smoothed(state).map(|rate| (rate, "Holt-Winters"))
            }
            Method::Trend => None,
        };
        found.or_else(|| self.of_trend(seen).map(|rate| (rate, "trend")))
    }

    fn of_season(&self, seen: &Observation<'_>, season_s: f64) -> Option<f64> {
        let then_s = seen.now_s - season_s;
        let now = Series::mean(seen.series.within(seen.now_s - HOUR_S, seen.now_s), Metric::Rate)?;
        let past = seen.series.within(then_s - HOUR_S, then_s);
        let then = Series::mean(past, Metric::Rate).filter(|rate| *rate > 0.0)?;
        let ahead = seen.series.within(then_s, then_s + self.ahead_s);
        let rates = ahead.iter().map(|point| point.of(Metric::Rate)).filter(|rate| rate.is_finite());
        rates.reduce(f64::max).map(|rate| rate * now / then)
    }

    fn of_trend(&self, seen: &Observation<'_>) -> Option<f64> {
        let rates: Vec<f64> = (0..self.steps)
            .filter_map(|k| {
                let end_s = seen.now_s - f64::from(k) * self.step_s;
                let points = seen.series.within(end_s - self.step_s, end_s);
                Series::mean(points, Metric::Rate)
            })
            .collect();
        let count = rates.len() as f64;
        let last = *rates.first()?;
        if rates.len() < 2 {
            return Some(last);
        }
        // Steps back in time: the slope forward is the negative of theirs.
        let mean_x = 0.5 * (count - 1.0);
        let mean_y = rates.iter().sum::<f64>() / count;
        let of = |k: usize| k as f64 - mean_x;
        let covariance: f64 = rates.iter().enumerate().map(|(k, y)| of(k) * (y - mean_y)).sum();
        let variance: f64 = (0..rates.len()).map(|k| of(k) * of(k)).sum();
        let slope = -covariance / variance;
        let at_end = mean_y + slope * (mean_x + 0.5 + self.ahead_s / self.step_s);
        Some(at_end.max(mean_y + slope * mean_x).max(0.0))
    }

    /// Takes in all steps that are whole by now.
    fn smooth(&self, state: &mut Smoothed, seen: &Observation<'_>) {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a day of steps")]
        let season = (DAY_S / self.step_s).round().max(1.0) as usize;
        let [alpha, beta, gamma] = self.smoothing;
        while state.until_s + self.step_s <= seen.now_s + 1e-6 {
            let points = seen.series.within(state.until_s, state.until_s + self.step_s);
            let Some(rate) = Series::mean(points, Metric::Rate) else { break };
            state.until_s += self.step_s;
            if state.season.is_empty() {
                state.first.push(rate);
                if state.first.len() == season {
                    state.level = state.first.iter().sum::<f64>() / season as f64;
                    let level = state.level.max(1e-9);
                    state.season = state.first.drain(..).map(|rate| rate / level).collect();
                }
                continue;
            }
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "steps")]
            let place = (state.until_s / self.step_s).round() as usize % season;
            // The step that ends now is the one before this place.
            let place = (place + season - 1) % season;
            let factor = state.season[place].max(1e-9);
            let before = state.level;
            state.level = alpha * rate / factor + (1.0 - alpha) * (before + state.trend);
            state.trend = beta * (state.level - before) + (1.0 - beta) * state.trend;
            state.season[place] = gamma * rate / state.level.max(1e-9) + (1.0 - gamma) * factor;
        }
    }

    fn of_smoothed(&self, state: &Smoothed) -> Option<f64> {
        let season = state.season.len();
        if season == 0 {
            return None;
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "steps")]
        let (now, ahead) = (
            (state.until_s / self.step_s).round() as usize,
            (self.ahead_s / self.step_s).ceil().max(1.0) as usize,
        );
        let at = |k: usize| {
            (state.level + (k + 1) as f64 * state.trend) * state.season[(now + k) % season]
        };
        (0..ahead).map(at).reduce(f64::max).map(|rate| rate.max(0.0))
    }
}

impl Policy for Predictive {
    type State = Smoothed;

    fn decide(&self, state: &mut Smoothed, seen: &Observation<'_>) -> Decision {
        let Some((rate, by)) = self.forecast(state, seen) else {
            return Decision { desired: seen.wanted(), reason: "no rate yet".to_owned() };
        };
        let expected = rate * (1.0 + self.headroom);
        let desired = seen.clamp(f64::from(self.demand.instances(expected, seen.speed())));
        let reason = format!("{rate:.1}/s by {by} within {:.0} s needs {desired}", self.ahead_s);
        Decision { desired, reason }
    }
}
