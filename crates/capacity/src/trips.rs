//! Round trips of the network at low and at high load: whether the network itself grew slower with
//! the load, and how often it had spikes.
//!
//! Of a window's own seconds the guard keeps means ([`crate::guard`]); these are single handshakes,
//! as a mean hides a spike. The published figure to hold the share of spikes against is 1.45%, of
//! round trips more than 15 ms above the baseline.

use crate::conduct::{Judged, Outcome};
use plimsoll_stats::histogram::rank;
use plimsoll_stats::percentiles::is_stated;
use serde::{Deserialize, Serialize};

/// So far above the baseline a round trip is a spike, nanoseconds.
pub const SPIKE_NS: u64 = 15_000_000;
/// Up to this share of the estimate the load is low: with one worker and exponential service times
/// two of three requests find the server idle there.
pub const LOW: f64 = 1.0 / 3.0;
/// From this share on it is high.
pub const HIGH: f64 = 0.8;
/// So many round trips of a window are kept: those of half a minute.
pub const MOST_SAMPLES: usize = 120;

/// How loaded the server was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Load {
    /// Up to [`LOW`].
    Low,
    /// From [`HIGH`] on.
    High,
}

impl Load {
    /// What the load of a window was, by its phase and rate; `None` between the two, and of a
    /// window of recovery, whose rate does not say what the server still has to do.
    #[must_use]
    pub fn of(phase: &str, offered_per_s: f64, estimate_per_s: f64) -> Option<Self> {
        match offered_per_s / estimate_per_s {
            _ if phase == "recover" => None,
            share if share <= LOW => Some(Self::Low),
            share if share >= HIGH => Some(Self::High),
            _ => None,
        }
    }
}

/// Handshakes of windows of one load; times in microseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AtLoad {
    /// How many windows, discarded ones among them: what made them so is often the network.
    pub windows: usize,
    /// How many handshakes.
    pub handshakes: usize,
    /// Median; as every percentile `None` where fewer than ten lie beyond it.
    pub p50: Option<f64>,
    /// 90th percentile.
    pub p90: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// The longest.
    pub max: f64,
    /// The share of them that were spikes; `None` without a baseline.
    pub spike_share: Option<f64>,
}

impl AtLoad {
    /// Those of a search at one load; `None` without an estimate, or a handshake.
    #[must_use]
    pub fn of(outcome: &Outcome, load: Load) -> Option<Self> {
        let estimate = outcome.found.estimate_per_s?;
        let is_it = |judged: &&Judged| {
            let window = &judged.window;
            Load::of(window.phase.name(), window.rate_per_s, estimate) == Some(load)
        };
        let windows: Vec<&Judged> = outcome.windows.iter().filter(is_it).collect();
        let all = windows.iter().flat_map(|judged| &judged.window.handshakes_ns).copied();
        let all = sorted(all);
        let baseline = outcome.rtt_baseline_ns;
        Some(Self {
            windows: windows.len(),
            handshakes: all.len(),
            p50: stated_us(&all, 0.5),
            p90: stated_us(&all, 0.9),
            p99: stated_us(&all, 0.99),
            max: *all.last()? as f64 / 1e3,
            spike_share: baseline.and_then(|baseline| spike_share(&all, baseline)),
        })
    }
}

/// Values in ascending order.
pub(crate) fn sorted(values: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut values: Vec<u64> = values.collect();
    values.sort_unstable();
    values
}

/// A quantile of sorted values.
pub(crate) fn at(sorted: &[u64], q: f64) -> Option<u64> {
    let rank = usize::try_from(rank(q, sorted.len() as u64)).ok()?;
    sorted.get(rank.checked_sub(1)?).copied()
}

/// A percentile of sorted nanoseconds in microseconds; `None` where it may not be stated.
pub(crate) fn stated_us(sorted: &[u64], q: f64) -> Option<f64> {
    let ns = at(sorted, q).filter(|_| is_stated(q, sorted.len() as u64));
    ns.map(|ns| ns as f64 / 1e3)
}

/// The share of sorted round trips that are spikes above a baseline; `None` of none.
pub(crate) fn spike_share(sorted: &[u64], baseline_ns: u64) -> Option<f64> {
    let usual = sorted.partition_point(|&ns| ns <= baseline_ns + SPIKE_NS);
    (!sorted.is_empty()).then(|| (sorted.len() - usual) as f64 / sorted.len() as f64)
}

/// Of many values every second, third, … one, so that they are `most` at most.
pub(crate) fn thinned(values: &[u64], most: usize) -> impl Iterator<Item = u64> + '_ {
    values.iter().step_by(values.len().div_ceil(most).max(1)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conduct::Ended;
    use crate::search::SearchEstimate;
    use crate::window::{Offer, Phase, Verdict, Window};

    fn judged(rate_per_s: f64, phase: Phase, handshakes_ns: Vec<u64>) -> Judged {
        let (may_cut, fresh) = (false, false);
        let offer = Offer { rate_per_s, seconds: 1.0, settle_s: 0.0, phase, may_cut, fresh };
        let window = Window { handshakes_ns, ..Window::begin(&offer, 0.0) };
        Judged { window, verdict: Verdict::Within }
    }

    #[test]
    fn low_and_high_load_are_apart() {
        const MS: u64 = 1_000_000;
        let windows = vec![
            judged(100.0, Phase::Ramp, vec![MS, 2 * MS, 3 * MS]),
            judged(33.0, Phase::Recover, vec![90 * MS]),
            judged(200.0, Phase::Ramp, vec![50 * MS]),
            judged(240.0, Phase::Search, vec![MS, 17 * MS]),
            judged(600.0, Phase::Ramp, vec![MS, 16 * MS]),
        ];
        let found = SearchEstimate { estimate_per_s: Some(300.0), ..SearchEstimate::default() };
        let (ended, rtt_baseline_ns) = (Ended::Found, Some(MS));
        let outcome = Outcome { ended, found, windows, rtt_baseline_ns };
        let low = AtLoad::of(&outcome, Load::Low).unwrap();
        assert_eq!((low.windows, low.handshakes, low.spike_share), (1, 3, Some(0.0)));
        assert_eq!((low.p50, low.p99, low.max), (None, None, 3000.0), "three handshakes");
        let high = AtLoad::of(&outcome, Load::High).unwrap();
        // 16 ms is 15 ms above the baseline, and not more.
        assert_eq!((high.windows, high.handshakes, high.spike_share), (2, 4, Some(0.25)));
        let nothing = Outcome { found: SearchEstimate::default(), ..outcome };
        assert_eq!(AtLoad::of(&nothing, Load::Low), None);
    }

    #[test]
    fn percentiles_of_round_trips_are_stated_where_ten_lie_beyond() {
        let trips: Vec<u64> = (1..=1000).map(|us| 1000 * us).collect();
        assert_eq!(stated_us(&trips, 0.99), Some(990.0));
        assert_eq!(stated_us(&trips[..999], 0.99), None);
        assert_eq!((stated_us(&trips[..20], 0.5), stated_us(&[], 0.5)), (Some(10.0), None));
    }

    #[test]
    fn many_are_thinned_evenly() {
        let values: Vec<u64> = (0..250).collect();
        let kept: Vec<u64> = thinned(&values, 120).collect();
        assert_eq!((kept.len(), &kept[..3]), (84, &[0, 3, 6][..]));
        assert_eq!(thinned(&values[..120], 120).count(), 120);
        assert_eq!(thinned(&[], 120).count(), 0);
        assert_eq!(spike_share(&[], 5), None);
    }
}
