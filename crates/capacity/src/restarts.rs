//! How far estimates lie apart by the restarts of the server before them.
//!
//! A server that is started again is not the same server: memory lies elsewhere, threads on other
//! cores, caches have filled in another order. What it then does it does until the next restart
//! (Zhang, Meisner, Mars & Tang 2016, "Treadmill: Attributing the Source of Tail Latency through
//! Precise Load Testing and Statistical Inference", ISCA: hysteresis). So the interval of one
//! search is of the server as it was started that time. What holds of the next one is known from
//! several restarts only.

use crate::series::SeriesRun;
use plimsoll_stats::heterogeneity::Heterogeneity;
use plimsoll_stats::interval::student;
use serde::{Deserialize, Serialize};

/// The level of the test: of so many servers that do not differ, one is said to.
pub const ALPHA: f64 = 0.05;

/// The spread between restarts. What rests on intervals is `None` where one of the estimates has
/// none: the ladder's have none.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Restarts {
    /// How many estimates it is of, bounds left out.
    pub n: usize,
    /// Their mean.
    pub mean_per_s: f64,
    /// Their standard deviation.
    pub between_sd_per_s: f64,
    /// That over the mean.
    pub between_cv: f64,
    /// The standard deviation that their own intervals explain: the root of the mean of (half the
    /// width / 1.96)².
    pub within_sd_per_s: Option<f64>,
    /// The standard deviation of the capacity from restart to restart: what remains without that of
    /// the searches; 0 where that explains it all.
    pub restart_sd_per_s: Option<f64>,
    /// That over the mean.
    pub restart_cv: Option<f64>,
    /// Cochran's Q, with one degree of freedom fewer than there are estimates.
    pub q: Option<f64>,
    /// How likely a Q as great is by chance.
    pub p_value: Option<f64>,
    /// Whether the estimates lie further apart than chance explains, at 5%.
    pub is_more_than_chance: Option<bool>,
    /// Where the capacity after a next restart lies with 95% probability: the mean and t times the
    /// deviation between, √(1 + 1/n) wider as the mean is not known either.
    pub next_95: (f64, f64),
}

impl Restarts {
    /// The spread between searches each of which came after a restart; `None` where one did not, or
    /// fewer than two have an estimate that is more than a bound.
    #[must_use]
    pub fn between(runs: &[SeriesRun]) -> Option<Self> {
        if !runs.iter().all(|run| run.restarted) {
            return None;
        }
        let found = runs.iter().filter(|run| run.bound.is_none());
        let found: Vec<(f64, Option<f64>)> =
            found.filter_map(|run| Some((run.estimate_per_s?, error(run)))).collect();
        let n = found.len() as f64;
        if found.len() < 2 {
            return None;
        }
        let mean = found.iter().map(|(estimate, _)| estimate).sum::<f64>() / n;
        let squares: f64 = found.iter().map(|(estimate, _)| (estimate - mean).powi(2)).sum();
        let between = (squares / (n - 1.0)).sqrt();
        let known: Option<Vec<(f64, f64)>> =
            found.iter().map(|&(estimate, error)| Some((estimate, error?))).collect();
        let tested = known.and_then(|known| Heterogeneity::of(&known));
        let half = student::quantile(0.975, n - 1.0) * between * (1.0 + 1.0 / n).sqrt();
        Some(Self {
            n: found.len(),
            mean_per_s: mean,
            between_sd_per_s: between,
            between_cv: between / mean,
            within_sd_per_s: tested.map(|tested| tested.within_sd),
            restart_sd_per_s: tested.map(|tested| tested.beneath_sd),
            restart_cv: tested.map(|tested| tested.beneath_sd / mean),
            q: tested.map(|tested| tested.q),
            p_value: tested.map(|tested| tested.p_value),
            is_more_than_chance: tested.map(|tested| tested.p_value < ALPHA),
            next_95: ((mean - half).max(0.0), mean + half),
        })
    }
}

/// The standard error of an estimate, from its interval.
fn error(run: &SeriesRun) -> Option<f64> {
    let (low, high) = run.ci95?;
    let error = (high - low) / (2.0 * student::quantile(0.975, f64::INFINITY));
    (error > 0.0).then_some(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::Bound;

    fn run(number: u32, estimate: Option<f64>, half: Option<f64>) -> SeriesRun {
        SeriesRun {
            number,
            run: None,
            started: String::new(),
            started_unix_us: u64::from(number),
            late_s: 0.0,
            ended: "found".to_owned(),
            estimate_per_s: estimate,
            bound: None,
            ci95: estimate.zip(half).map(|(rate, half)| (rate - half, rate + half)),
            why: None,
            restarted: true,
        }
    }

    fn runs(estimates: &[f64], half: Option<f64>) -> Vec<SeriesRun> {
        (1..).zip(estimates).map(|(number, &rate)| run(number, Some(rate), half)).collect()
    }

    #[test]
    fn a_spread_beyond_the_intervals_is_that_of_the_restarts() {
        let estimates = [900.0, 1000.0, 1100.0];
        let found = Restarts::between(&runs(&estimates, Some(19.6))).unwrap();
        assert!((found.between_sd_per_s - 100.0).abs() < 1e-9, "{found:?}");
        assert!((found.within_sd_per_s.unwrap() - 10.0).abs() < 1e-3, "{found:?}");
        assert!((found.restart_cv.unwrap() - 9900.0_f64.sqrt() / 1000.0).abs() < 1e-6);
        assert!((found.q.unwrap() - 200.0).abs() < 0.1 && found.p_value.unwrap() < 1e-40);
        assert_eq!(found.is_more_than_chance, Some(true));
        // 4.303 · 100 · √(4/3) to each side.
        assert!((found.next_95.1 - 1000.0 - 496.8).abs() < 0.1, "{found:?}");
        // The same estimates are chance where each may be wrong by as much.
        let chance = Restarts::between(&runs(&estimates, Some(300.0))).unwrap();
        assert_eq!(chance.is_more_than_chance, Some(false));
        assert_eq!((chance.restart_sd_per_s, chance.n), (Some(0.0), 3));
    }

    #[test]
    fn without_intervals_there_is_only_the_spread() {
        let found = Restarts::between(&runs(&[10.0, 12.0], None)).unwrap();
        assert!((found.between_sd_per_s - 2.0_f64.sqrt()).abs() < 1e-12);
        assert_eq!((found.p_value, found.is_more_than_chance, found.q), (None, None, None));
    }

    #[test]
    fn gaps_and_bounds_are_left_out_and_one_search_without_a_restart_spoils_it() {
        let mut all = runs(&[10.0, 11.0, 40.0], Some(1.0));
        all[2].bound = Some(Bound::AtLeast);
        all.push(run(4, None, None));
        assert_eq!(Restarts::between(&all).unwrap().n, 2);
        all[0].restarted = false;
        assert_eq!(Restarts::between(&all), None);
        assert_eq!(Restarts::between(&all[3..]), None);
        assert_eq!(Restarts::between(&[]), None);
    }
}
