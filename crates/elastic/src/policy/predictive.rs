//! A forecast of the rate, and then the fewest instances for which the queueing model predicts that
//! the SLO holds.
//!
//! - *last-day*, *last-week*: what was at the same time a day or a week before, scaled by how the
//!   last hour compares with the same hour then.
//! - *trend*: a straight line through the last so many steps (least squares).
//! - *holt-winters*: level, trend and a season that multiplies, smoothed exponentially (P. R.
//!   Winters, *Forecasting sales by exponentially weighted moving averages*, Management Science 6,
//!   1960).
//!
//! Where there is no season yet, the trend stands in.

mod seasonal;

use super::window::Recommended;
use super::{
    Bound, Decision, Facts, Kind, MINUTE_S, Maker, Parameters, Policy, maker, parameter, tried,
};
use crate::demand::Demand;
use crate::observation::{Metric, Observation};
use plimsoll_units::parameter::ANY_DURATION;
use plimsoll_units::parameter::Takes::{Count, Duration, Number, Word};
use seasonal::{Seasonal, Smoothing};
use serde::{Deserialize, Serialize};

pub(super) static KIND: Kind = Kind {
    name: "predictive",
    about: "a forecast of the rate, and the fewest instances that hold the SLO then",
    parameters: &[
        parameter(
            "forecast",
            Word(&["last-day", "last-week", "trend", "holt-winters"]),
            "last-day",
            "The method.",
        ),
        parameter("step", Duration(1.0, HOUR_S), "5m", "Rates are means over this time."),
        parameter(
            "ahead",
            Duration(0.0, DAY_S),
            "boot time and a step",
            "How far ahead it forecasts.",
        ),
        parameter("steps", Count(2, 1000), "6", "Number of steps that the trend is fitted to."),
        tried(
            parameter(
                "headroom",
                Number(0.0, 10.0),
                "0.1",
                "The forecast is increased by this share.",
            ),
            &["0", "0.1", "0.2", "0.3"],
        ),
        parameter("alpha", Number(0.0, 1.0), "0.3", "How fast the level follows (holt-winters)."),
        parameter("beta", Number(0.0, 1.0), "0.05", "How fast the trend follows (holt-winters)."),
        parameter("gamma", Number(0.0, 1.0), "0.2", "How fast the season follows (holt-winters)."),
        parameter(
            "down_window",
            ANY_DURATION,
            "5m",
            "Scale-down uses the highest need of this time.",
        ),
    ],
    pace_s: MINUTE_S,
    goes_by_day: false,
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
    smoothing: Smoothing,
    down_s: f64,
}

/// What is remembered: the season, and what was needed of late.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Past {
    seasonal: Seasonal,
    needed: Recommended,
}

fn make(parameters: &mut Parameters<'_>, facts: &Facts) -> Option<Maker> {
    let methods = [
        ("last-day", Method::Season(DAY_S)),
        ("last-week", Method::Season(7.0 * DAY_S)),
        ("trend", Method::Trend),
        ("holt-winters", Method::HoltWinters),
    ];
    let method = parameters.word("forecast", &methods).unwrap_or(Method::Season(DAY_S));
    let step_s = parameters.seconds("step").unwrap_or(300.0);
    let season = (DAY_S / step_s).round();
    if method == Method::HoltWinters && (season * step_s - DAY_S).abs() > 1e-6 {
        let message = format!("expected a `step` that divides a day, found {step_s} s");
        parameters.fault("step", message, None);
        return None;
    }
    let mut smooth = |name: &str, usual: f64| parameters.number(name).unwrap_or(usual);
    let [alpha, beta, gamma] =
        [("alpha", 0.3), ("beta", 0.05), ("gamma", 0.2)].map(|(name, usual)| smooth(name, usual));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a day of seconds")]
    let smoothing = Smoothing { season: season as usize, step_s, alpha, beta, gamma };
    Some(maker(Predictive {
        demand: Demand::new(facts),
        method,
        step_s,
        ahead_s: parameters.seconds("ahead").unwrap_or(facts.boot_s + step_s),
        steps: parameters.whole("steps").unwrap_or(6),
        headroom: parameters.number("headroom").unwrap_or(0.1),
        smoothing,
        down_s: parameters.seconds("down_window").unwrap_or(300.0),
    }))
}

impl Predictive {
    /// The greatest rate forecast for the time ahead, and by what.
    fn forecast(&self, state: &mut Past, seen: &Observation<'_>) -> Option<(f64, &'static str)> {
        let found = match self.method {
            Method::Season(season_s) => self.of_season(seen, season_s).map(|rate| (rate, "season")),
            Method::HoltWinters => {
                state.seasonal.take(&self.smoothing, seen.series);
                let until_s = seen.now_s + self.ahead_s;
                let rate = state.seasonal.most(&self.smoothing, seen.now_s, until_s);
                rate.map(|rate| (rate, "Holt-Winters"))
            }
            Method::Trend => None,
        };
        found.or_else(|| self.of_trend(seen).map(|rate| (rate, "trend")))
    }

    /// What was ahead a season ago, scaled.
    fn of_season(&self, seen: &Observation<'_>, season_s: f64) -> Option<f64> {
        let (series, then_s) = (seen.series, seen.now_s - season_s);
        // The same stretch of both, an hour or as much as was seen then, but a step at least.
        let from_s = (then_s - HOUR_S).max(series.start_s()?);
        if then_s - from_s < self.step_s - 1e-6 {
            return None;
        }
        let then = series.average(from_s, then_s, Metric::Rate).filter(|rate| *rate > 0.0)?;
        let now = series.average(from_s + season_s, seen.now_s, Metric::Rate)?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a day of steps"
        )]
        let count = (self.ahead_s / self.step_s).ceil().max(1.0) as u32;
        let rates = (0..count).filter_map(|k| {
            let from_s = then_s + f64::from(k) * self.step_s;
            series.average(from_s, from_s + self.step_s, Metric::Rate)
        });
        rates.reduce(f64::max).map(|rate| rate * now / then)
    }

    /// The greatest of a straight line, from now on.
    fn of_trend(&self, seen: &Observation<'_>) -> Option<f64> {
        let end_s = seen.series.end_s()?;
        let points: Vec<(f64, f64)> = (0..self.steps)
            .filter_map(|k| {
                let to_s = end_s - f64::from(k) * self.step_s;
                let rate = seen.series.average(to_s - self.step_s, to_s, Metric::Rate)?;
                Some((to_s - 0.5 * self.step_s, rate))
            })
            .collect();
        let count = points.len() as f64;
        let (t, y) = points.iter().fold((0.0, 0.0), |(t, y), of| (t + of.0, y + of.1));
        let (t, y) = (t / count, y / count);
        if points.len() < 2 {
            return (!points.is_empty()).then_some(y);
        }
        let covariance: f64 = points.iter().map(|of| (of.0 - t) * (of.1 - y)).sum();
        let variance: f64 = points.iter().map(|of| (of.0 - t) * (of.0 - t)).sum();
        let at = |at_s: f64| y + covariance / variance * (at_s - t);
        Some(at(seen.now_s).max(at(seen.now_s + self.ahead_s)).max(0.0))
    }
}

impl Policy for Predictive {
    type State = Past;

    fn decide(&self, state: &mut Past, seen: &Observation<'_>) -> Decision {
        let (wanted, now_s) = (seen.wanted(), seen.now_s);
        let Some((rate, by)) = self.forecast(state, seen) else {
            return Decision::of(wanted, "no rate yet".to_owned());
        };
        let expected = rate * (1.0 + self.headroom);
        let needed = seen.clamp(self.demand.wanted(expected, seen.speed()));
        if state.needed.is_empty() {
            state.needed.add(now_s, wanted, 0.0, self.down_s);
        }
        state.needed.add(now_s, needed, 0.0, self.down_s);
        let desired = wanted.max(needed).min(state.needed.most(needed));
        let reason = format!("{rate:.1}/s by {by} within {:.0} s needs {needed}", self.ahead_s);
        let held_by = (desired != needed).then_some(Bound::Window);
        Decision::of(desired, reason).held_by(held_by)
    }
}
