//! How far the windows' scatter moves the load line: the delete-a-group jackknife
//! (M. H. Quenouille, Biometrika 43, 1956; P. S. Kott, *The delete-a-group jackknife*, Journal of
//! Official Statistics 17, 2001).
//!
//! A fit takes each window to move the line as a straight line has it, at thresholds and weights
//! that stay as they are. Where the curve is not quite the server's, as with service times of a
//! heavy tail, these move with the windows, and the line's variance is half as great again. So
//! windows are dealt out to groups in turn, the curve is fitted anew without each of them, and the
//! variance of these lines is compared with what the fit says, relative to exponential service
//! times, where the fit is right: a jackknife's variance comes out too great in the mean (B. Efron
//! and C. Stein, *The jackknife estimate of variance*, Annals of Statistics 9, 1981).

use super::evidence::Evidence;
use super::fit::Fit;
use crate::window::{Phase, Window};

/// Groups: more say it more surely, and take as many fits.
const GROUPS: usize = 24;
/// Of fewer windows nothing is said.
const FEWEST: usize = 6;
/// Windows at less than this share of the line are in no group: what is said of low load and of
/// overload is one observation each.
const NEAR_LINE: f64 = 0.3;
/// Earlier looks count by this much less each time.
const EARLIER: f64 = 0.5;
/// What the groups show times the fit says, in the mean, of M/M/c: 1.0 to 1.2.
const CONSERVATIVE: f64 = 1.1;
/// Beyond these a ratio is chance.
const RATIOS: (f64, f64) = (0.5, 4.0);

/// What the looks so far say.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Jackknife {
    /// Variances of the line, as the groups show it and as the fits say it, both in those that
    /// fits expected.
    seen: f64,
    said: f64,
}

impl Jackknife {
    /// How many times the variance is that the windows' scatter is said to give the line; 1 before
    /// anything is known.
    pub(super) fn ratio(&self) -> f64 {
        if self.said <= 0.0 {
            return 1.0;
        }
        (self.seen / self.said / CONSERVATIVE).clamp(RATIOS.0, RATIOS.1)
    }

    /// Looks at the windows that a fit was made to.
    pub(super) fn look(&mut self, windows: &[Window], fit: &Fit, slo: (f64, f64), most: f64) {
        let is_dealt = |window: &Window| {
            matches!(window.phase, Phase::Search | Phase::Check)
                && window.rate_per_s > NEAR_LINE * fit.line_per_s
        };
        let (dealt, scatter) = (windows.iter().filter(|of| is_dealt(of)).count(), fit.scatter());
        if dealt < FEWEST || scatter.expected <= 0.0 {
            return;
        }
        let groups = GROUPS.min(dealt);
        let without = |group: usize| {
            let mut number = 0;
            let others = windows.iter().filter(|window| {
                let is_left_out = is_dealt(window) && number % groups == group;
                number += usize::from(is_dealt(window));
                !is_left_out
            });
            Some(Evidence::of(others).fit(slo, most, Some(fit))?.line_per_s.ln())
        };
        let lines: Option<Vec<f64>> = (0..groups).map(without).collect();
        let Some(lines) = lines else { return };
        let n = groups as f64;
        let mean = lines.iter().sum::<f64>() / n;
        let squares: f64 = lines.iter().map(|line| (line - mean).powi(2)).sum();
        self.seen = EARLIER * self.seen + (n - 1.0) / n * squares / scatter.expected;
        self.said = EARLIER * self.said + scatter.ratio;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conduct::Site;
    use crate::simulated::Simulated;
    use crate::window::Offer;
    use plimsoll_workload::distribution::Distribution;
    use plimsoll_workload::service_model::{ServiceModel, ServiceTime};
    use std::num::NonZeroU32;

    const SLO: (f64, f64) = (0.9, 0.03);

    /// Windows of a server: low load, an overload, and 40 of 4 s below its line.
    fn windows(law: &str, workers: u32, line: f64, seed: u64) -> Vec<Window> {
        let law = ServiceTime::Law(Distribution::parse(law).unwrap());
        let mut model = ServiceModel::new(law);
        model.cores = NonZeroU32::new(workers).unwrap();
        let mut world = Simulated::new(model, 30_000_000, seed);
        let mut window = |times: f64, seconds: f64, phase, fresh| {
            let (rate_per_s, settle_s, may_cut) = (times * line, 0.1, false);
            let offer = Offer { rate_per_s, seconds, settle_s, phase, may_cut, fresh };
            let Ok(window) = world.window(&offer);
            window
        };
        let mut all = vec![window(3.0, 4.0, Phase::Ramp, false)];
        all.push(window(0.05, 1.0, Phase::Recover, true));
        all.push(window(0.14, 20.0, Phase::Search, false));
        (0..40).for_each(|k| {
            all.push(window([0.85, 0.95][k % 2], 4.0, Phase::Search, false));
        });
        all
    }

    fn ratio(law: &str, workers: u32, line: f64) -> f64 {
        let mut jackknife = Jackknife::default();
        for seed in 0..20 {
            let windows = windows(law, workers, line, seed);
            let fit = Evidence::of(&windows).fit(SLO, 3.0 * line, None).unwrap();
            let mut one = Jackknife::default();
            one.look(&windows, &fit, SLO, 3.0 * line);
            jackknife.seen += one.seen;
            jackknife.said += one.said;
        }
        jackknife.ratio()
    }

    /// M/M/1 is what the curve says. A log-normal service time of σ = 1.5 is not.
    #[test]
    fn a_curve_that_is_the_servers_says_the_scatter_and_another_says_too_little() {
        let exponential = ratio("exp:4ms", 1, 173.2);
        assert!((0.8..1.3).contains(&exponential), "{exponential}");
        let heavy = ratio("lognormal:3ms,1.5", 2, 432.7);
        assert!((1.3..3.0).contains(&heavy), "{heavy}");
    }

    #[test]
    fn of_few_windows_nothing_is_said() {
        let windows = windows("exp:4ms", 1, 173.2, 1);
        let fit = Evidence::of(&windows).fit(SLO, 520.0, None).unwrap();
        let mut jackknife = Jackknife::default();
        jackknife.look(&windows[..8], &fit, SLO, 520.0);
        assert_eq!(jackknife, Jackknife::default());
        assert!((jackknife.ratio() - 1.0).abs() < 1e-12);
    }

    /// The second look counts twice as much as the first.
    #[test]
    fn looks_are_taken_together() {
        let windows = windows("exp:4ms", 1, 173.2, 1);
        let fit = Evidence::of(&windows).fit(SLO, 520.0, None).unwrap();
        let mut jackknife = Jackknife::default();
        jackknife.look(&windows, &fit, SLO, 520.0);
        let first = jackknife;
        jackknife.look(&windows, &fit, SLO, 520.0);
        assert!((jackknife.seen - 1.5 * first.seen).abs() < 1e-12);
        assert!((jackknife.ratio() - first.ratio()).abs() < 1e-12);
    }
}
