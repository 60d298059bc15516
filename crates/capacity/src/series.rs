//! A series of searches: one target's capacity over time, with its gaps, and what is said of it.
//!
//! A search that found no estimate is a gap: it stands among the others with its reason, and in no
//! figure.

use crate::cost::Cost;
use crate::restarts::Restarts;
use crate::search::Bound;
use plimsoll_stats::Described;
use plimsoll_stats::change_points::{LONGEST, Segment, segments};
use plimsoll_stats::dips::{Dip, dips};
use serde::{Deserialize, Serialize};

/// The version of the format.
pub const SCHEMA: u32 = 1;
/// What the name of a series' file ends with; the file stands beside the folders of its runs.
pub const EXTENSION: &str = ".series.json";
/// The level of the tests for changes: of so many steady series, one is said to have changed.
pub const ALPHA: f64 = 0.01;

/// One search of a series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SeriesRun {
    /// Its number in the series, from 1.
    pub number: u32,
    /// The run's id; `None` where nothing was sent.
    pub run: Option<String>,
    /// When it began, ISO 8601 in UTC.
    pub started: String,
    /// The same in microseconds since 1970.
    pub started_unix_us: u64,
    /// How long after it was due.
    pub late_s: f64,
    /// How it ended: as a single search, `failed` where nothing was sent, or `incomplete` where it
    /// was killed.
    pub ended: String,
    /// The estimate; `None` is a gap.
    pub estimate_per_s: Option<f64>,
    /// Whether the estimate is no more than a bound, and which.
    #[serde(default)]
    pub bound: Option<Bound>,
    /// Its interval.
    pub ci95: Option<(f64, f64)>,
    /// Why there is no estimate, where there is more to say than how it ended.
    pub why: Option<String>,
    /// Whether the server was restarted before it.
    #[serde(default)]
    pub restarted: bool,
}

/// A series, as `plimsoll capacity --repeat --json` tells of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SeriesResult {
    /// The version of the format.
    pub schema: u32,
    /// What a reader has to know, one sentence each.
    pub warnings: Vec<String>,
    /// The series' id: its runs are named after it, with their number behind.
    pub series: String,
    /// What the plan calls it; may be empty.
    pub name: String,
    /// What the load is put on.
    pub target: String,
    /// `adaptive` or `ladder`.
    pub method: String,
    /// The SLO.
    pub slo: String,
    /// From the start of a search to that of the next; `None`: as soon as one has ended.
    pub every_s: Option<f64>,
    /// How many searches were asked for.
    pub repeat: u32,
    /// Whether the server is restarted before each.
    #[serde(default)]
    pub restarts: bool,
    /// The price of the target per hour.
    pub price_per_hour: Option<f64>,
    /// The searches, in order.
    pub runs: Vec<SeriesRun>,
    /// What they say together.
    pub summary: SeriesSummary,
}

/// A series' file: the series, and what it takes to go on with it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SeriesFile {
    /// The series.
    #[serde(flatten)]
    pub result: SeriesResult,
    /// The plan, complete but for its secrets.
    pub plan: String,
    /// How to search, as arguments of the command line.
    pub search: Vec<String>,
}

/// What searches say together.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct SeriesSummary {
    /// How many searches.
    pub searches: usize,
    /// How many of them found an estimate.
    pub found: usize,
    /// How many of these estimates are no more than a bound.
    #[serde(default)]
    pub bounds: usize,
    /// The estimates, per second; `None` where there is none.
    pub estimate_per_s: Option<Described>,
    /// The cost at the median estimate; `None` without a price.
    pub cost: Option<Cost>,
    /// Where the level changed.
    pub changes: Vec<Change>,
    /// Where it fell, and whether it came back.
    pub dips: Vec<DipFound>,
    /// How far the estimates lie apart by the restarts before them; `None` where there was none
    /// before one of them, or there are not two estimates.
    #[serde(default)]
    pub restarts: Option<Restarts>,
}

/// A change of the level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// The number of the first search at the new level.
    pub number: u32,
    /// When that search began.
    pub started: String,
    /// The same in microseconds since 1970.
    pub started_unix_us: u64,
    /// The mean estimate of the stretch before.
    pub before_per_s: f64,
    /// The mean estimate of the stretch after.
    pub after_per_s: f64,
    /// After over before.
    pub ratio: f64,
}

/// A dip.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DipFound {
    /// The number of its first search.
    pub number: u32,
    /// When that search began.
    pub started: String,
    /// When the first search after it began; `None` where it lasts to the end of the series.
    pub ended: Option<String>,
    /// From the start of its first search to that of the first after it, or of the last.
    pub length_s: f64,
    /// How many estimates lie in it.
    pub searches: usize,
    /// The level before it.
    pub before_per_s: f64,
    /// The mean estimate in it.
    pub level_per_s: f64,
    /// What was lost, as a share of the level before.
    pub depth: f64,
    /// The level after it.
    pub after_per_s: Option<f64>,
    /// What was regained, as a share of what was lost.
    pub recovery: Option<f64>,
}

impl SeriesSummary {
    /// What searches in the order of time say together, at a price per hour.
    ///
    /// *Cost:* that of the tests for changes ([`plimsoll_stats::change_points`]).
    #[must_use]
    pub fn of(runs: &[SeriesRun], price_per_hour: Option<f64>) -> Self {
        let found: Vec<(&SeriesRun, f64)> =
            runs.iter().filter_map(|run| Some((run, run.estimate_per_s?))).collect();
        let values: Vec<f64> = found.iter().map(|(_, estimate)| *estimate).collect();
        let estimate_per_s = Described::of(&values);
        let median = estimate_per_s.as_ref().map(|described| described.spread.median);
        let segments = segments(&values, ALPHA);
        let starts: Vec<&SeriesRun> = found.iter().map(|(run, _)| *run).collect();
        Self {
            searches: runs.len(),
            found: found.len(),
            bounds: found.iter().filter(|(run, _)| run.bound.is_some()).count(),
            restarts: Restarts::between(runs),
            cost: price_per_hour.zip(median).and_then(|(price, rate)| Cost::of(price, rate)),
            changes: segments.windows(2).map(|two| change(&starts, &two[0], &two[1])).collect(),
            dips: dips(&segments).iter().map(|dip| dip_found(&starts, dip)).collect(),
            estimate_per_s,
        }
    }

    /// What a reader has to know of estimates that are no more than bounds; `None` where none is.
    #[must_use]
    pub fn warn_of_bounds(&self) -> Option<String> {
        let (bounds, found) = (self.bounds, self.found);
        (bounds > 0).then(|| {
            let are = if bounds == 1 { "is" } else { "are" };
            format!(
                "Of {found} estimates, {bounds} {are} no more than a bound, such as the highest \
                 rate allowed: median, spread and cost are of what was found, not of the capacity."
            )
        })
    }

    /// Whether the series was too long to be searched for changes.
    #[must_use]
    pub fn is_too_long(&self) -> bool {
        self.found > LONGEST
    }
}

fn change(runs: &[&SeriesRun], before: &Segment, after: &Segment) -> Change {
    let first = runs[after.from];
    Change {
        number: first.number,
        started: first.started.clone(),
        started_unix_us: first.started_unix_us,
        before_per_s: before.level,
        after_per_s: after.level,
        ratio: after.level / before.level,
    }
}

fn dip_found(runs: &[&SeriesRun], dip: &Dip) -> DipFound {
    let first = runs[dip.from];
    let next = dip.to.map(|to| runs[to]);
    let last = next.unwrap_or_else(|| runs[runs.len() - 1]);
    let length_us = last.started_unix_us.saturating_sub(first.started_unix_us);
    DipFound {
        number: first.number,
        started: first.started.clone(),
        ended: next.map(|run| run.started.clone()),
        length_s: length_us as f64 / 1e6,
        searches: dip.to.unwrap_or(runs.len()) - dip.from,
        before_per_s: dip.before,
        level_per_s: dip.level,
        depth: dip.depth,
        after_per_s: dip.after,
        recovery: dip.recovery,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(estimates: &[Option<f64>]) -> Vec<SeriesRun> {
        let run = |(at, estimate): (usize, &Option<f64>)| SeriesRun {
            number: u32::try_from(at).unwrap() + 1,
            run: Some(format!("day-{}", at + 1)),
            started: format!("start {}", at + 1),
            started_unix_us: at as u64 * 900_000_000,
            late_s: 0.0,
            ended: if estimate.is_some() { "found" } else { "target_lost" }.to_owned(),
            estimate_per_s: *estimate,
            bound: None,
            ci95: None,
            why: None,
            restarted: false,
        };
        estimates.iter().enumerate().map(run).collect()
    }

    #[test]
    fn a_gap_is_no_value_and_keeps_its_time() {
        // 20 at about 28, a gap, 8 at about 20, 20 at about 28.
        let at = |n: usize, level: f64| Some(level + [0.2, -0.1, 0.0, -0.3][n % 4]);
        let mut estimates: Vec<Option<f64>> = (0..20).map(|n| at(n, 28.0)).collect();
        estimates.push(None);
        estimates.extend((0..8).map(|n| at(n, 20.0)));
        estimates.extend((0..20).map(|n| at(n, 28.0)));
        let summary = SeriesSummary::of(&runs(&estimates), Some(0.17));
        assert_eq!((summary.searches, summary.found), (49, 48));
        assert_eq!(summary.changes.len(), 2);
        let dip = &summary.dips[0];
        assert_eq!((dip.number, dip.searches), (22, 8));
        assert_eq!((dip.started.as_str(), dip.ended.as_deref()), ("start 22", Some("start 30")));
        assert!((dip.length_s - 7200.0).abs() < 1e-9, "eight quarters of an hour");
        assert!((dip.depth - 8.0 / 27.95).abs() < 1e-3, "{dip:?}");
        let cost = summary.cost.unwrap();
        let median = summary.estimate_per_s.unwrap().spread.median;
        assert!((cost.per_request - 0.17 / (median * 3600.0)).abs() < 1e-18);
    }

    #[test]
    fn nothing_but_gaps_says_nothing() {
        let summary = SeriesSummary::of(&runs(&[None, None]), Some(0.17));
        assert_eq!((summary.searches, summary.found), (2, 0));
        assert!(summary.estimate_per_s.is_none() && summary.cost.is_none());
        assert!(summary.changes.is_empty() && summary.dips.is_empty());
        assert_eq!(SeriesSummary::of(&[], None), SeriesSummary::default());
    }
}
