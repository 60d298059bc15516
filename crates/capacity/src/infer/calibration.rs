//! What the windows of a search say of the server: the mean response time at each load, cut off at
//! the SLO's bound.
//!
//! A response counts as min(T, bound). That mean exists whatever the tail, one stray second cannot
//! spoil it, requests without an answer have a place in it, and it can be told for every counted
//! request of a window: those were due at least the bound before its end. It rises with the load
//! wherever response times do (stochastic order), whatever the service time is.
//!
//! Only windows in a steady state calibrate: none that was discarded or cut, none of a recovery,
//! none at which the server was nearly saturated, and none of the ramp that was short beside the
//! queue's relaxation time.

use crate::calibrate::SHARES;
use crate::result::CapacityResult;
use plimsoll_runs::WindowRow;
use plimsoll_stats::slo::Slo;

/// So many windows are needed, and so many requests in them.
const LEAST_WINDOWS: usize = 4;
const LEAST_REQUESTS: f64 = 200.0;
/// One of them is at most at this share of the capacity.
const LOW: f64 = 0.6;
/// Loads beyond the capacity by this factor are not asked for.
const HIGHEST: f64 = 1.2;
/// Beyond this share of the saturation a window is a transient.
const STEADY: f64 = 0.97;
/// A window of the ramp comes from half its rate: it lasts for so many relaxation times.
const RAMP_LASTS: f64 = 10.0;
/// The response times of so many requests at low load stand for the service time, and of those up
/// to this share of the capacity.
const ENOUGH_SERVICE: f64 = 1000.0;
const LOW_SERVICE: f64 = 0.22;
/// Points of the service time.
const POINTS: usize = 20;
/// A file with more windows is none of ours.
const MOST_WINDOWS: usize = 100_000;
/// No time in it is longer: a year, in microseconds.
const LONGEST_US: f64 = 3.2e13;

/// Why a run does not calibrate.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CalibrationError {
    /// The search found no capacity.
    #[error(
        "expected a search that found a capacity, found one that ended `{ended}` without: search \
         once more, for longer or with another SLO"
    )]
    NoCapacity {
        /// How it ended.
        ended: String,
    },
    /// Too little was seen of low and middle loads.
    #[error(
        "expected at least {LEAST_WINDOWS} steady windows with {LEAST_REQUESTS} requests, one of \
         them at {LOW} of the capacity or less; found {windows} with {requests}, the lowest at \
         {lowest:.2} of it: search once more with --calibrate"
    )]
    TooFewWindows {
        /// How many there are.
        windows: usize,
        /// Requests in them.
        requests: u64,
        /// The lowest rate as a share of the capacity; infinite without a window.
        lowest: f64,
    },
    /// A value that no search writes.
    #[error("{place}: expected {wanted}, found {found}: the file was changed or is damaged")]
    Damaged {
        /// Which value.
        place: String,
        /// What it should be.
        wanted: &'static str,
        /// What it is.
        found: String,
    },
    /// No curve fits.
    #[error("no curve of response times over the load fits its windows: search once more")]
    NoCurve,
}

/// A steady window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Level {
    /// The rate that was offered.
    pub rate: f64,
    /// For how long.
    pub seconds: f64,
    /// Requests counted.
    pub n: f64,
    /// The mean of their response times, cut off at the bound; seconds.
    pub mean: f64,
    /// Their standard deviation.
    pub sd: f64,
}

/// What is known of a server from a search for its capacity.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibration {
    /// The capacity that was found.
    pub capacity_per_s: f64,
    /// Half its 95% interval, as a share of it; `None` where it has none.
    pub uncertainty: Option<f64>,
    /// The saturation that was found.
    pub saturation_per_s: Option<f64>,
    /// Response times count up to here: the SLO's bound, seconds.
    pub bound_s: f64,
    /// Steady windows, by rising rate.
    pub levels: Vec<Level>,
    /// The longest response in them, at least the bound; seconds.
    pub longest_s: f64,
    /// Response times at the lowest loads, rising, of equal weight.
    pub service_s: Vec<f64>,
    /// Whether the search looked at low and middle loads for their own sake, at each of [`SHARES`].
    pub has_low_loads: bool,
}

impl Calibration {
    /// What a result says.
    ///
    /// # Errors
    /// [`CalibrationError`], for a result that does not calibrate, and one that no search wrote.
    pub fn of(result: &CapacityResult) -> Result<Self, CalibrationError> {
        check(result)?;
        let bound = Slo::parse(&result.slo).ok().and_then(|slo| slo.response_bound());
        let (_, bound_ns) = bound.ok_or_else(|| {
            damaged("slo", "a percentile of the response time", result.slo.clone())
        })?;
        let capacity = result.estimate_per_s.ok_or_else(|| {
            let ended = result.ended.clone();
            CalibrationError::NoCapacity { ended }
        })?;
        let bound_s = bound_ns as f64 / 1e9;
        let steady = |window: &&WindowRow| is_steady(window, capacity, result.saturation_per_s);
        let mut windows: Vec<&WindowRow> = result.windows.iter().filter(steady).collect();
        windows.sort_by(|a, b| a.offered_per_s.total_cmp(&b.offered_per_s));
        let levels: Vec<Level> = windows.iter().map(|window| level(window, bound_s)).collect();
        let longest_us = windows.iter().filter_map(|window| window.response_us.max);
        let longest_s = longest_us.fold(bound_s, |longest, us| longest.max(us / 1e6));
        let requests: f64 = levels.iter().map(|level| level.n).sum();
        let lowest = levels.first().map_or(f64::INFINITY, |level| level.rate / capacity);
        if levels.len() < LEAST_WINDOWS || requests < LEAST_REQUESTS || lowest > LOW {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
            let requests = requests as u64;
            return Err(CalibrationError::TooFewWindows {
                windows: levels.len(),
                requests,
                lowest,
            });
        }
        // Fewer where it was interrupted. One that was cut is near the line, where others are.
        let looked =
            |window: &&WindowRow| window.phase == "calibrate" && window.verdict != "discarded";
        Ok(Self {
            capacity_per_s: capacity,
            uncertainty: result.ci95.map(|(low, high)| (high - low) / (2.0 * capacity)),
            saturation_per_s: result.saturation_per_s,
            bound_s,
            longest_s,
            service_s: service(&windows, capacity),
            has_low_loads: result.windows.iter().filter(looked).count() >= SHARES.len(),
            levels,
        })
    }
}

fn damaged(place: impl Into<String>, wanted: &'static str, found: String) -> CalibrationError {
    CalibrationError::Damaged { place: place.into(), wanted, found }
}

/// Refuses what no search writes, so that nothing after this has to.
fn check(result: &CapacityResult) -> Result<(), CalibrationError> {
    let above_zero = |value: f64| value.is_finite() && value > 0.0;
    if result.windows.len() > MOST_WINDOWS {
        let found = result.windows.len().to_string();
        return Err(damaged("windows", "100,000 at most", found));
    }
    let rates = [
        ("estimate_per_s", result.estimate_per_s),
        ("saturation_per_s", result.saturation_per_s),
        ("ci95", result.ci95.map(|(low, _)| low)),
        ("ci95", result.ci95.map(|(low, high)| if high >= low { high } else { f64::NAN })),
    ];
    for (place, value) in rates {
        if let Some(value) = value.filter(|&value| !above_zero(value)) {
            return Err(damaged(place, "a rate above zero", value.to_string()));
        }
    }
    for (number, window) in result.windows.iter().enumerate() {
        let place = |key: &str| format!("window {} of `windows`, `{key}`", number + 1);
        for (key, value) in [("offered_per_s", window.offered_per_s), ("seconds", window.seconds)] {
            if !above_zero(value) {
                return Err(damaged(place(key), "a number above zero", value.to_string()));
            }
        }
        let times = window.percentiles_us.values().flatten();
        let summary = &window.response_us;
        let summary = [summary.min, summary.mean, summary.stddev, summary.max];
        let whole = |us: &f64| (0.0..LONGEST_US).contains(us);
        if let Some(us) = times.chain(summary.iter().flatten()).find(|us| !whole(us)) {
            return Err(damaged(place("response_us"), "microseconds", us.to_string()));
        }
        if !percentiles(window).is_sorted() {
            return Err(damaged(place("percentiles_us"), "rising values", "others".to_owned()));
        }
    }
    Ok(())
}

/// The 99 percentiles; infinite where they fall to a request without an answer.
fn percentiles(window: &WindowRow) -> Vec<f64> {
    let at = |p: u32| window.percentiles_us.get(&p).copied().flatten().unwrap_or(f64::INFINITY);
    (1..=99).map(at).collect()
}

fn is_steady(window: &WindowRow, capacity: f64, saturation: Option<f64>) -> bool {
    let of_use = !matches!(window.verdict.as_str(), "discarded" | "cut" | "refused")
        && window.phase != "recover"
        && window.response_us.count > 0
        && window.offered_per_s <= HIGHEST * capacity;
    let Some(saturation) = saturation else { return of_use };
    let gap = saturation.sqrt() - window.offered_per_s.min(saturation).sqrt();
    // The relaxation time of M/M/1 of that saturation.
    let settles = window.phase != "ramp" || window.seconds * gap * gap >= RAMP_LASTS;
    of_use && settles && window.offered_per_s < STEADY * saturation
}

/// Mean and deviation of a window's response times, cut off at the bound.
fn level(window: &WindowRow, bound_s: f64) -> Level {
    let summary = &window.response_us;
    let quantiles: Vec<f64> = percentiles(window).iter().map(|us| us / 1e6).collect();
    let answered = quantiles.iter().filter(|q| q.is_finite()).count().max(1) as f64;
    // Of the percentiles, those that are infinite are without an answer.
    let n = summary.count as f64 * (quantiles.len() as f64 / answered);
    let exact = summary.mean.zip(summary.stddev).zip(summary.max);
    let (rate, seconds) = (window.offered_per_s, window.seconds);
    let (mean, square) = match exact {
        Some(((mean, sd), max)) if answered >= 99.0 && quantiles[98] <= bound_s => {
            let (mean, sd, max) = (mean / 1e6, sd / 1e6, max / 1e6);
            // Beyond the 99th percentile the tail goes on as between the 90th and it.
            let scale = (quantiles[98] - quantiles[89]) / std::f64::consts::LN_10;
            let share = if max <= bound_s || scale <= 0.0 {
                0.0
            } else {
                0.01 * libm::exp(-(bound_s - quantiles[98]) / scale)
            };
            let more = share * 2.0 * scale * (bound_s + scale);
            (mean - share * scale, sd * sd + mean * mean - more)
        }
        _ => {
            // Each percentile stands for a hundredth, and the two ends for half of one.
            let end = |us: Option<f64>| us.map_or(bound_s, |us| (us / 1e6).min(bound_s));
            let ends = [end(summary.min), if answered < 99.0 { bound_s } else { end(summary.max) }];
            let weighted = quantiles.iter().map(|q| (q.min(bound_s), 0.01));
            let weighted = weighted.chain(ends.into_iter().map(|q| (q, 0.005)));
            weighted.fold((0.0, 0.0), |(s, t), (q, w)| (s + w * q, t + w * q * q))
        }
    };
    let sd = (square - mean * mean).max(0.0).sqrt();
    Level { rate, seconds, n, mean, sd }
}

/// The response times at the lowest loads, as points of equal weight.
fn service(windows: &[&WindowRow], capacity: f64) -> Vec<f64> {
    let mut all: Vec<(f64, f64)> = Vec::new();
    let mut requests = 0.0;
    for window in windows {
        if requests >= ENOUGH_SERVICE && window.offered_per_s > LOW_SERVICE * capacity {
            break;
        }
        let n = window.response_us.count as f64;
        requests += n;
        let finite = percentiles(window).into_iter().filter(|us| us.is_finite());
        all.extend(finite.map(|us| (us / 1e6, n)));
    }
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let weight: f64 = all.iter().map(|(_, n)| n).sum();
    let (mut points, mut so_far) = (Vec::with_capacity(POINTS), 0.0);
    for (value, n) in all {
        so_far += n;
        while points.len() < POINTS
            && so_far >= (points.len() as f64 + 0.5) / POINTS as f64 * weight
        {
            points.push(value);
        }
    }
    points
}
