//! What `plimsoll capacity --json` says: one object a search, times in microseconds.

use crate::conduct::{Judged, Outcome};
use crate::cost::Cost;
use crate::search::{Bound, Sustained};
use crate::trips::{AtLoad, Load, MOST_SAMPLES, at, sorted, spike_share, stated_us, thinned};
use crate::window::Verdict;
use plimsoll_runs::{FigureRow, WindowRow};
use plimsoll_stats::Percentiles;
use plimsoll_stats::figure::{self, Figure};
use serde::{Deserialize, Serialize};

/// The version of the format.
pub const SCHEMA: u32 = 1;

/// The result's place in a run folder.
pub const RESULT: &str = "artifacts/capacity.json";
/// That of the windows, a line each.
pub const WINDOWS: &str = "artifacts/windows.jsonl";

/// A search for a capacity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CapacityResult {
    /// The version of the format.
    pub schema: u32,
    /// What a reader has to know, one sentence each.
    pub warnings: Vec<String>,
    /// `adaptive` or `ladder`.
    pub method: String,
    /// The SLO.
    pub slo: String,
    /// Of a store: `cold` where caches were emptied before the search, `warm` otherwise.
    #[serde(default)]
    pub caches: Option<String>,
    /// `found`, `bracketed`, `slo_unreachable`, `generator_limited`, `unstable_network`,
    /// `target_lost` or `budget`.
    pub ended: String,
    /// The highest rate that keeps the SLO.
    pub estimate_per_s: Option<f64>,
    /// Whether the estimate is no more than a bound, and which: the search could not go beyond it.
    #[serde(default)]
    pub bound: Option<Bound>,
    /// Where it lies with 95% confidence.
    pub ci95: Option<(f64, f64)>,
    /// A rate that was seen to keep the SLO.
    pub lower_bound_per_s: Option<f64>,
    /// The highest rate that held.
    #[serde(default)]
    pub held_per_s: Option<f64>,
    /// The lowest rate above it that broke.
    #[serde(default)]
    pub broken_per_s: Option<f64>,
    /// The rate with the greatest ratio of rate to mean response time.
    pub knee_per_s: Option<f64>,
    /// What the target completes at most.
    pub saturation_per_s: Option<f64>,
    /// What a request costs at the estimate; `None` without a price.
    #[serde(default)]
    pub cost: Option<Cost>,
    /// Load time.
    pub seconds: f64,
    /// Requests that were due.
    pub requests: u64,
    /// Of these, how many the SLO's bound was not kept for.
    pub requests_beyond_slo: u64,
    /// Load time at rates above the estimate; `None` without one.
    pub seconds_above_estimate: Option<f64>,
    /// The hold just below the estimate, and the window just above it.
    pub check: CheckResult,
    /// What became of the estimate while it was held; `None` where that was not asked for.
    #[serde(default)]
    pub sustained: Option<Sustained>,
    /// The network's round trip.
    pub rtt_us: RoundTrips,
    /// All windows, in order.
    pub windows: Vec<WindowRow>,
}

/// `held` or `broken`; `None` where there was no such window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckResult {
    /// The verdict of the last hold, just below the estimate.
    pub below: Option<String>,
    /// Just above it.
    pub above: Option<String>,
}

/// The network's round trip over the seconds of all windows; `None` where none was seen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoundTrips {
    /// The least median of a steady window.
    pub baseline: Option<f64>,
    /// Median; as every percentile `None` where fewer than ten lie beyond it.
    pub p50: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// The share of handshakes, over all windows, whose round trip was a spike: more than 15 ms
    /// above the baseline.
    #[serde(default)]
    pub spike_share: Option<f64>,
    /// Handshakes at low load: at rates up to a third of the estimate.
    #[serde(default)]
    pub low: Option<AtLoad>,
    /// Handshakes at high load: at rates from 80% of the estimate on.
    #[serde(default)]
    pub high: Option<AtLoad>,
}

fn us(ns: u64) -> f64 {
    ns as f64 / 1e3
}

/// What is to be said of windows in which the generator was late, and that count.
fn late(outcome: &Outcome) -> Option<String> {
    let of = outcome.windows.iter().filter(|judged| judged.window.generator_late);
    let count = of.filter(|judged| judged.verdict != Verdict::Discarded).count();
    (count > 0).then(|| {
        format!(
            "In {count} of {} windows the generator was late for more requests than the SLO \
             allows to be slow: their verdicts are the server's all the same, but the estimate may \
             be low.",
            outcome.windows.len()
        )
    })
}

/// Takes a figure's value from a result; `None` where there is none.
type Take = fn(&CapacityResult) -> Option<f64>;

/// All figures of a search, each with the function that takes it.
const TAKEN: [(&Figure, Take); 20] = [
    (figure::ESTIMATE_PER_S, |of| of.estimate_per_s),
    (figure::LOWER_BOUND_PER_S, |of| of.lower_bound_per_s),
    (figure::HELD_PER_S, |of| of.held_per_s),
    (figure::BROKEN_PER_S, |of| of.broken_per_s),
    (figure::KNEE_PER_S, |of| of.knee_per_s),
    (figure::SATURATION_PER_S, |of| of.saturation_per_s),
    (figure::BURST_PER_S, |of| of.sustained?.burst_per_s),
    (figure::SUSTAINED_PER_S, |of| of.sustained?.sustained_per_s),
    (figure::EXHAUSTED_AFTER_S, |of| of.sustained?.exhausted_after_s),
    (figure::HELD_S, |of| Some(of.sustained?.held_s)),
    (figure::SECONDS, |of| Some(of.seconds)),
    (figure::REQUESTS, |of| Some(of.requests as f64)),
    (figure::REQUESTS_BEYOND_SLO, |of| Some(of.requests_beyond_slo as f64)),
    (figure::SECONDS_ABOVE_ESTIMATE, |of| of.seconds_above_estimate),
    (figure::COST_PER_REQUEST, |of| Some(of.cost?.per_request)),
    (figure::COST_PER_MILLION, |of| Some(of.cost?.per_million)),
    (figure::RTT_US_BASELINE, |of| of.rtt_us.baseline),
    (figure::RTT_US_P50, |of| of.rtt_us.p50),
    (figure::RTT_US_P99, |of| of.rtt_us.p99),
    (figure::RTT_US_SPIKE_SHARE, |of| of.rtt_us.spike_share),
];

impl CapacityResult {
    /// The value of a figure; `None` where there is none, and for figures that no search has.
    #[must_use]
    pub fn value(&self, figure: &Figure) -> Option<f64> {
        let (_, take) = TAKEN.iter().find(|(of, _)| *of == figure)?;
        take(self)
    }

    /// The figures of a run's own table; none for what was not found. An interval that is open at
    /// an end is none.
    #[must_use]
    pub fn figures(&self) -> Vec<FigureRow> {
        let ends = self.ci95.filter(|(low, high)| low.is_finite() && high.is_finite());
        let row = |(of, value): (&'static Figure, f64)| match ends {
            Some(ends) if of == figure::ESTIMATE_PER_S => FigureRow::within(of.name, value, ends),
            _ => FigureRow::new(of.name, value),
        };
        figure::valued(|of| self.value(of)).map(row).collect()
    }

    /// The result of a search by `method` for `slo`.
    #[must_use]
    pub fn of(outcome: &Outcome, method: &str, slo: &str) -> Self {
        let found = &outcome.found;
        let windows = || outcome.windows.iter().map(|judged| &judged.window);
        let seconds = || windows().flat_map(|window| &window.each_second);
        let trips = sorted(seconds().map(|s| s.rtt_ns).filter(|&ns| ns > 0));
        let check =
            |check: Option<crate::search::Check>| check.map(|check| check.name().to_owned());
        Self {
            schema: SCHEMA,
            warnings: found.notes.iter().cloned().chain(late(outcome)).collect(),
            method: method.to_owned(),
            slo: slo.to_owned(),
            caches: None,
            ended: outcome.ended.name().to_owned(),
            estimate_per_s: found.estimate_per_s,
            bound: found.bound(),
            ci95: found.ci95,
            lower_bound_per_s: found.lower_bound_per_s,
            held_per_s: found.held_per_s,
            broken_per_s: found.broken_per_s,
            knee_per_s: found.knee_per_s,
            saturation_per_s: found.saturation_per_s,
            cost: None,
            seconds: outcome.seconds(),
            requests: windows().map(|window| window.due).sum(),
            requests_beyond_slo: seconds().map(|second| second.beyond).sum(),
            seconds_above_estimate: found.estimate_per_s.map(|rate| outcome.seconds_above(rate)),
            check: CheckResult { below: check(found.check.0), above: check(found.check.1) },
            sustained: found.sustained.as_deref().copied(),
            rtt_us: RoundTrips {
                baseline: outcome.rtt_baseline_ns.map(us),
                p50: stated_us(&trips, 0.5),
                p99: stated_us(&trips, 0.99),
                spike_share: {
                    let all = sorted(windows().flat_map(|window| window.handshakes_ns.clone()));
                    outcome.rtt_baseline_ns.and_then(|baseline| spike_share(&all, baseline))
                },
                low: AtLoad::of(outcome, Load::Low),
                high: AtLoad::of(outcome, Load::High),
            },
            windows: outcome.windows.iter().map(WindowRow::from).collect(),
        }
    }
}

/// What is said of a window that was judged.
impl From<&Judged> for WindowRow {
    fn from(judged: &Judged) -> Self {
        let window = &judged.window;
        let percentile = |p: u32| {
            let ns = window.response.quantile_ns(f64::from(p) / 100.0);
            (p, ns.map(us))
        };
        let trips = sorted(window.each_second.iter().map(|s| s.rtt_ns).filter(|&ns| ns > 0));
        Self {
            start_s: window.start_s,
            seconds: window.seconds,
            phase: window.phase.name().to_owned(),
            offered_per_s: window.rate_per_s,
            achieved_per_s: window.achieved_per_s(),
            rtt_us: at(&trips, 0.5).map(us),
            rtt_samples_us: thinned(&window.handshakes_ns, MOST_SAMPLES).map(us).collect(),
            response_us: Percentiles::of(&window.response.times),
            percentiles_us: (1..=99).map(percentile).collect(),
            errors: window.failed,
            verdict: judged.verdict.name().to_owned(),
        }
    }
}
