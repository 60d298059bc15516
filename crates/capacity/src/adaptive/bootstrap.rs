//! How far the error that a fit claims is from the error that it makes: the parametric bootstrap
//! (B. Efron, R. Tibshirani, *An Introduction to the Bootstrap*, 1993, 6.5 and 12.5).
//!
//! The server that was fitted is simulated under the same windows, many times, and fitted anew each
//! time. So what the variances of a fit only approximate, how requests of one queue cluster, is
//! there as it would be. How far each of these lines is from their mean, in standard errors that
//! its own fit claims, says by how much such claims are wrong.
//!
//! The simulated server has a whole number of workers, and so a line that may lie a tenth from the
//! fitted one. Windows near a line say more than those far from it, so they are offered as far from
//! its line as they were from the fitted one.

use super::evidence::Evidence;
use super::fit::Fit;
use crate::conduct::Site;
use crate::simulated::Simulated;
use crate::window::{Offer, Phase, Window};
use std::ops::Range;

/// Replicates; fewer where windows hold so many requests that these would take long.
const REPLICATES: u64 = 32;
const FEWEST: u64 = 12;
const MOST_REQUESTS: u64 = 4_000_000;

/// What replicates say. Earlier looks count half as much each time: one look is noisy, and a search
/// that ends where one says little error would end by its noise.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Replicates {
    /// How many were made.
    n: u64,
    /// Degrees of freedom: one less than replicates for each look.
    pub(super) freedom: f64,
    /// The squared differences of their lines from their look's mean, in the standard errors that
    /// they claim.
    squares: f64,
    /// How far the line of the simulated server is from that of the fitted curve, of which it is
    /// but like: ln of the ratio, as the last look found it.
    aside: Option<f64>,
}

impl Replicates {
    /// By which factor a fit's error is greater than it claims; 1 before anything is known.
    pub(super) fn inflation(&self) -> f64 {
        if self.freedom > 0.0 { (self.squares / self.freedom).sqrt() } else { 1.0 }
    }

    /// Replicates the windows that a fit was made to. Where that is of no server that can be
    /// simulated, nothing is added.
    pub(super) fn look(&mut self, windows: &[Window], fit: &Fit, slo: (f64, u64), most: f64) {
        let Some(model) = fit.model() else { return };
        let requests: u64 = windows.iter().map(|window| window.due).sum();
        let replicates = (MOST_REQUESTS / requests.max(1)).clamp(FEWEST, REPLICATES);
        let bound_s = slo.1 as f64 / 1e9;
        let lines = |seeds: Range<u64>, aside: f64| -> Vec<(f64, f64)> {
            let line = |seed| {
                let mut world = Simulated::new(model.clone(), slo.1, seed);
                let again = |window| replicate(window, aside.exp(), &mut world, bound_s);
                let again: Vec<Window> = windows.iter().map(again).collect();
                let most = most * aside.exp();
                let other = Evidence::of(&again).fit((slo.0, bound_s), most, Some(fit))?;
                (other.error > 0.0).then_some((other.line_per_s.ln(), other.error))
            };
            seeds.filter_map(line).collect()
        };
        let known = fit.line_per_s.ln();
        let aside = self.aside.or_else(|| Some(mean(&lines(0..FEWEST, 0.0))? - known));
        let lines = lines(self.n..self.n + replicates, aside.unwrap_or(0.0));
        self.n += replicates;
        // Of few that can be fitted nothing is learnt: they are of another server.
        let are_alike = 2 * lines.len() as u64 > replicates;
        let Some(mean) = mean(&lines).filter(|_| are_alike) else { return };
        self.aside = Some(mean - known);
        let off = |&(line, error): &(f64, f64)| ((line - mean) / error).powi(2);
        let n = lines.len() as f64;
        self.squares = 0.5 * self.squares + lines.iter().map(off).sum::<f64>();
        self.freedom = 0.5 * self.freedom + n - 1.0;
    }
}

/// The mean line; `None` of less than two.
fn mean(lines: &[(f64, f64)]) -> Option<f64> {
    let sum: f64 = lines.iter().map(|(line, _)| line).sum();
    (lines.len() > 1).then_some(sum / lines.len() as f64)
}

/// The same offer again, at so many times the rate. Recovery begins with nothing left to do: how
/// much of an overload was left when it was cut is not known, and windows are counted only after it
/// is gone.
fn replicate(window: &Window, times: f64, world: &mut Simulated, bound_s: f64) -> Window {
    let settle_s = (window.seconds - bound_s - window.counted_s).max(0.0);
    let Ok(again) = world.window(&Offer {
        rate_per_s: times * window.rate_per_s,
        seconds: window.seconds,
        settle_s,
        phase: window.phase,
        may_cut: false,
        fresh: window.phase == Phase::Recover,
    });
    again
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_workload::distribution::Distribution;
    use plimsoll_workload::service_model::{ServiceModel, ServiceTime};

    const SLO: (f64, u64) = (0.9, 30_000_000);

    /// Windows of M/M/1 with a service time of 4 ms, whose line is at 173.2/s.
    fn windows() -> Vec<Window> {
        let law = ServiceTime::Law(Distribution::parse("exp:4ms").unwrap());
        let mut world = Simulated::new(ServiceModel::new(law), SLO.1, 3);
        let offer = |rate_per_s| Offer {
            rate_per_s,
            seconds: 10.0,
            settle_s: 1.0,
            phase: Phase::Search,
            may_cut: false,
            fresh: false,
        };
        [20.0, 30.0, 100.0, 150.0, 160.0, 160.0, 165.0]
            .map(|rate| {
                let Ok(window) = world.window(&offer(rate));
                window
            })
            .to_vec()
    }

    #[test]
    fn nothing_is_known_without_a_look_and_looks_are_taken_together() {
        let windows = windows();
        let fit = Evidence::of(&windows).fit((SLO.0, 0.03), f64::INFINITY, None).unwrap();
        let mut replicates = Replicates::default();
        assert!((replicates.inflation() - 1.0).abs() < 1e-12);
        replicates.look(&windows, &fit, SLO, f64::INFINITY);
        let first = replicates;
        assert!((first.freedom - 31.0).abs() < 1e-9, "{}", first.freedom);
        assert!((0.5..2.0).contains(&first.inflation()), "{}", first.inflation());
        replicates.look(&windows, &fit, SLO, f64::INFINITY);
        assert!((replicates.freedom - 46.5).abs() < 1e-9, "{}", replicates.freedom);
        // Other seeds: a second look says something of its own.
        assert!((replicates.inflation() - first.inflation()).abs() > 1e-9);
    }

    /// A live overload ends with what waits for a connection dropped: the queue that it would have
    /// left must not be in the replicates of the windows after it.
    #[test]
    fn what_an_overload_leaves_is_not_in_the_windows_after_it() {
        let law = ServiceTime::Law(Distribution::parse("exp:4ms").unwrap());
        let mut world = Simulated::new(ServiceModel::new(law), SLO.1, 3);
        let mut window = |rate_per_s, seconds, phase, fresh| {
            let settle_s = 0.1;
            let may_cut = false;
            let offer = Offer { rate_per_s, seconds, settle_s, phase, may_cut, fresh };
            let Ok(window) = world.window(&offer);
            window
        };
        let mut windows = vec![window(150.0, 4.0, Phase::Ramp, false)];
        windows.push(window(2000.0, 2.0, Phase::Ramp, false));
        windows[1].was_cut = true;
        windows.push(window(10.0, 0.5, Phase::Recover, true));
        windows.push(window(30.0, 4.0, Phase::Search, false));
        windows.push(window(160.0, 4.0, Phase::Search, false));
        let fit = Evidence::of(&windows).fit((SLO.0, 0.03), 2000.0, None).unwrap();
        let mut replicates = Replicates::default();
        replicates.look(&windows, &fit, SLO, 2000.0);
        // Of 32, nearly all have a line, and near the fitted one.
        assert!(replicates.freedom > 24.0, "{replicates:?}");
        assert!(replicates.aside.unwrap().abs() < 0.2, "{replicates:?}");
    }

    #[test]
    fn a_look_is_the_same_each_time() {
        let windows = windows();
        let fit = Evidence::of(&windows).fit((SLO.0, 0.03), f64::INFINITY, None).unwrap();
        let looked = || {
            let mut replicates = Replicates::default();
            replicates.look(&windows, &fit, SLO, f64::INFINITY);
            replicates
        };
        assert_eq!(looked(), looked());
    }
}
