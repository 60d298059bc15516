//! The hold: what was found is offered for a while, and either holds or breaks.
//!
//! A search infers a load line from windows that it chose. The hold is the one look at the result
//! that was not chosen: a rate just below it, Poisson arrivals, for a length that was fixed
//! beforehand, with all failures and disturbances in it, and never cut short. A capacity is *found*
//! only where such a hold held ([`crate::verdict`]).

use crate::goal::{Clause, Goal, ROUNDING};
use crate::search::Check;
use crate::window::Window;
use plimsoll_stats::interval::student;

/// The hold is at the lower end of the interval, but not below this share of the estimate.
pub const LEAST_SHARE: f64 = 0.9;
/// A hold confirms an estimate of which it is this share at least: what it saw joins the fit, and
/// may move the estimate by a little.
pub const CONFIRMS: f64 = 0.88;
/// It lasts so many of the search's longest windows, within these bounds, seconds.
const WINDOWS: f64 = 10.0;
const SECONDS: (f64, f64) = (10.0, 30.0);
/// It is longer where fewer requests than these would be due in it, but not longer than this,
/// seconds.
const LEAST_REQUESTS: f64 = 20.0;
const LONGEST_S: f64 = 600.0;
/// A hold broke where the share beyond is above the allowed one by more than this quantile's worth
/// of standard errors: one-sided, 95%.
const QUANTILE: f64 = 0.95;

/// A hold that was made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hold {
    /// The rate that was offered, per second.
    pub rate_per_s: f64,
    /// Whether the SLO held.
    pub check: Check,
}

/// The rate to hold for an estimate and its interval.
#[must_use]
pub fn rate_for(estimate_per_s: f64, ci95: Option<(f64, f64)>) -> f64 {
    let low = ci95.map_or(0.0, |(low, _)| low);
    low.max(LEAST_SHARE * estimate_per_s).min(estimate_per_s)
}

/// For how long a rate is held after a search whose longest window took so long, seconds.
#[must_use]
pub fn seconds_for(rate_per_s: f64, longest_window_s: f64) -> f64 {
    let usual = (WINDOWS * longest_window_s).min(SECONDS.1).max(SECONDS.0);
    usual.max((LEAST_REQUESTS / rate_per_s).min(LONGEST_S))
}

/// What a window of a hold showed; `None` where nothing was counted in it.
#[must_use]
pub fn judge(window: &Window, goal: &Goal) -> Option<Check> {
    if window.counted() == 0 {
        return None;
    }
    let broke = goal.clauses().any(|clause| is_clearly_beyond(window, clause));
    Some(if broke { Check::Broken } else { Check::Held })
}

/// Whether a window exceeds a clause by more than its own scatter explains.
fn is_clearly_beyond(window: &Window, clause: Clause) -> bool {
    let (n, hits) = (window.counted(), clause.hits(window));
    let batches: Vec<(f64, f64)> = batches(window, clause).collect();
    let share = hits as f64 / n as f64;
    let margin = standard_error(&batches, share)
        .map_or(0.0, |(error, freedom)| student::quantile(QUANTILE, freedom) * error);
    // As in `Clause::is_beyond`: a share that is just allowed is allowed.
    share > clause.allowed + margin + ROUNDING
}

/// The whole seconds of a window's counted part: requests due in each, and those of them of the
/// clause's kind.
pub(crate) fn batches(window: &Window, clause: Clause) -> impl Iterator<Item = (f64, f64)> + '_ {
    const NEARLY: f64 = 0.01;
    let from = window.settle_s - NEARLY;
    let until = window.settle_s + window.counted_s + NEARLY;
    let seconds = window.each_second.iter().zip(0_u32..);
    let counted = seconds.filter(move |(_, k)| {
        let begins = f64::from(*k);
        begins >= from && begins + 1.0 <= until
    });
    counted.map(move |(second, _)| (second.due as f64, clause.hits_of(second) as f64))
}

/// The standard error of a share over batches (number, hits) that are as good as independent, with
/// its degrees of freedom: that of a ratio (W. G. Cochran, *Sampling Techniques*, 1977, 2.11).
/// `None` for less than two batches, or without a request.
pub(crate) fn standard_error(batches: &[(f64, f64)], share: f64) -> Option<(f64, f64)> {
    let count = batches.len() as f64;
    let n: f64 = batches.iter().map(|(n, _)| n).sum();
    if count < 2.0 || n <= 0.0 {
        return None;
    }
    let squares: f64 = batches.iter().map(|(n, hits)| (hits - share * n).powi(2)).sum();
    Some(((squares * count / (count - 1.0)).sqrt() / n, count - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::{Offer, Phase, Second};

    /// A window of thirty seconds of 100 requests; so many of each second's are beyond the bound.
    fn window(beyond: impl Fn(u64) -> u64) -> Window {
        let (rate_per_s, seconds, settle_s) = (100.0, 30.0, 0.0);
        let phase = Phase::Hold;
        let offer = Offer { rate_per_s, seconds, settle_s, phase, may_cut: false, fresh: false };
        let mut window = Window::begin(&offer, 0.0);
        (window.seconds, window.counted_s) = (30.0, 30.0);
        let second = |k| Second { p50_ns: None, due: 100, beyond: beyond(k), failed: 0, rtt_ns: 0 };
        window.each_second = (0..30).map(second).collect();
        window.beyond = (0..30).map(beyond).sum();
        window.response.times.record_n(1, 3000 - window.beyond);
        window.response.unanswered = window.beyond;
        window
    }

    const GOAL: Goal = Goal { slo: (0.9, 1_000_000), most_errors: None };

    #[test]
    fn a_share_within_its_scatter_holds_and_beyond_it_breaks() {
        assert_eq!(judge(&window(|_| 10), &GOAL), Some(Check::Held));
        assert_eq!(judge(&window(|_| 11), &GOAL), Some(Check::Broken), "no scatter at all");
        // 12% in the mean, by 0 and 24%: a standard error of 2.2%.
        assert_eq!(judge(&window(|k| 24 * (k % 2)), &GOAL), Some(Check::Held));
        assert_eq!(judge(&window(|k| 32 * (k % 2)), &GOAL), Some(Check::Broken));
        assert_eq!(judge(&window(|_| 100), &GOAL), Some(Check::Broken));
    }

    #[test]
    fn either_clause_breaks_it() {
        let errors = Goal { most_errors: Some(0.01), ..GOAL };
        assert_eq!(judge(&window(|_| 5), &GOAL), Some(Check::Held));
        let mut of = window(|_| 5);
        of.each_second.iter_mut().for_each(|second| second.failed = 5);
        of.counted_failed = 150;
        assert_eq!(judge(&of, &errors), Some(Check::Broken));
    }

    #[test]
    fn nothing_counted_is_no_verdict() {
        let mut none = window(|_| 0);
        none.response = crate::ranked::Ranked::default();
        assert_eq!(judge(&none, &GOAL), None);
    }

    #[test]
    fn it_is_at_the_lower_end_but_not_far_below_and_of_fixed_length() {
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} for {b}");
        near(rate_for(100.0, Some((96.0, 104.0))), 96.0);
        near(rate_for(100.0, Some((70.0, 140.0))), 90.0);
        near(rate_for(100.0, None), 90.0);
        near(seconds_for(100.0, 4.0), 30.0);
        near(seconds_for(100.0, 2.0), 20.0);
        near(seconds_for(100.0, 0.5), 10.0);
        near(seconds_for(0.1, 4.0), 200.0);
    }
}
