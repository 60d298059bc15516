//! Whether the windows of a search agree with the line that was fitted to them.
//!
//! Windows are taken together in groups of about one rate each. In each group the requests beyond
//! the SLO are counted, and compared with how many there would be with this line, shifted by a part
//! of its interval to either side. The test is one at 1% for all groups together (C. E.
//! Bonferroni), and goes by the scatter of the group's seconds or of its windows, whichever is
//! greater.

use crate::goal::Clause;
use crate::hold::batches;
use crate::window::{Phase, Window};
use plimsoll_stats::interval::student;

/// Windows near the line are grouped between these distances from it, ln λ.
const GROUPS: [f64; 4] = [-0.25, -0.1, -0.03, 0.12];
/// The level of the test, and how many groups there are.
const LEVEL: f64 = 0.01;
const TESTS: f64 = 4.0;
/// A group may differ by as much as a shift of the line by this part of its interval does.
const SHIFT: f64 = 0.25;
/// Of windows far below the line, down to so far, it may by this part of the share that is allowed.
const FAR_BELOW: f64 = -1.5;
const FAR_SHARE: f64 = 0.2;
/// Requests beyond are in clumps that no queue makes where their squares are so many times what a
/// queue's are at most, in so many windows at least besides so many that were disturbed. Some wait
/// too long anywhere: this part of the share that is allowed.
const CLUMPED: f64 = 1.5;
const RECURS: usize = 3;
const LITTLE: f64 = 0.1;
const DISTURBED: usize = 2;
/// A group of fewer seconds says nothing; so many windows tell their own scatter.
const LEAST_SECONDS: usize = 10;
const LEAST_WINDOWS: usize = 4;
/// Where requests are alike for longer than this, a group's own scatter is not known: seconds.
const LONGEST_ALIKE_S: f64 = 1.0;

/// What a load line says of windows.
pub(super) struct Expectation<'a> {
    pub(super) line_per_s: f64,
    /// Half the width of its 95% interval, ln λ.
    pub(super) half: f64,
    pub(super) clause: Clause,
    /// The share of requests beyond at a rate.
    pub(super) share: Box<dyn Fn(f64) -> f64 + 'a>,
    /// The share beyond by their service alone, without a wait.
    pub(super) serves_beyond: f64,
    /// How long requests at a rate are alike, seconds: the relaxation time of a queue.
    pub(super) lasts: Box<dyn Fn(f64) -> f64 + 'a>,
    /// How many times the variance of independent requests that of requests beyond is, as these
    /// come in clumps.
    pub(super) clumps: Box<dyn Fn(f64) -> f64 + 'a>,
}

/// Requests counted, and those beyond.
type Counted = (f64, f64);

fn sum(of: &[Counted]) -> Counted {
    of.iter().fold((0.0, 0.0), |all, one| (all.0 + one.0, all.1 + one.1))
}

/// The variance of the hits of all, of which a share `p` is expected to be.
fn variance(of: &[Counted], p: f64) -> f64 {
    let count = of.len() as f64;
    let squares: f64 = of.iter().map(|(n, hits)| (hits - p * n).powi(2)).sum();
    squares * count / (count - 1.0)
}

impl Expectation<'_> {
    /// Whether any group differs.
    pub(super) fn differs(&self, windows: &[Window]) -> bool {
        let near = |ends: &[f64]| {
            let group = self.group(windows, (ends[0], ends[1]));
            self.is_outside(&group, SHIFT * self.half, 0.0)
        };
        self.differs_far_below(windows) || GROUPS.windows(2).any(near)
    }

    /// Whether windows far below the line do.
    pub(super) fn differs_far_below(&self, windows: &[Window]) -> bool {
        let group = self.group(windows, (FAR_BELOW, GROUPS[0]));
        self.is_outside(&group, 0.0, FAR_SHARE * self.clause.allowed)
    }

    /// Whether requests beyond come in clumps far below the line, again and again, that no queue
    /// makes there: it would have worked them off. As many as a disturbance or two may have made
    /// are left out.
    pub(super) fn is_clumped_far_below(&self, windows: &[Window]) -> bool {
        let mut squares: Vec<Counted> = self
            .group(windows, (FAR_BELOW, GROUPS[0]))
            .iter()
            .map(|window| self.squares(window))
            .collect();
        squares.sort_by(|a, b| (b.0 - b.1).total_cmp(&(a.0 - a.1)));
        let rest = squares.get(DISTURBED..).unwrap_or(&[]);
        let recurs = rest.iter().filter(|(seen, most)| seen > most).count() >= RECURS;
        let (seen, most) = sum(rest);
        recurs && seen > CLUMPED * most
    }

    /// The squares of what a window's seconds differ by from what is expected, and what these are
    /// at most in a queue's mean. Where it has no two whole seconds it is taken as one.
    fn squares(&self, window: &Window) -> Counted {
        let rate = window.rate_per_s;
        let seconds: Vec<Counted> = batches(window, self.clause).collect();
        let whole = [(window.counted() as f64, self.clause.hits(window) as f64)];
        let pieces = if seconds.len() < 2 { &whole[..] } else { &seconds };
        let p = (self.share)(rate);
        // What is beyond by its own service is independent; what waits clumps.
        let waits = (p - self.serves_beyond).max(LITTLE * self.clause.allowed);
        let of = |&(n, hits): &Counted| {
            let clumps = (self.clumps)(rate).min(n);
            ((hits - p * n).powi(2), (1.0 - p) * n * (self.serves_beyond + clumps * waits))
        };
        sum(&pieces.iter().map(of).collect::<Vec<_>>())
    }

    fn group<'w>(&self, windows: &'w [Window], (from, to): (f64, f64)) -> Vec<&'w Window> {
        let is_in = |window: &&Window| {
            let away = (window.rate_per_s / self.line_per_s).ln();
            let counts = !window.was_cut && window.phase != Phase::Recover && window.counted() > 0;
            counts && from <= away && away < to
        };
        windows.iter().filter(is_in).collect()
    }

    /// Whether a group has more requests beyond, or fewer, than there are with the line shifted by
    /// so much, and the share by `slack`.
    fn is_outside(&self, group: &[&Window], shift: f64, slack: f64) -> bool {
        let seconds: Vec<Counted> =
            group.iter().flat_map(|window| batches(window, self.clause)).collect();
        if seconds.len() < LEAST_SECONDS {
            return false;
        }
        let of = |window: &&Window| (window.counted() as f64, self.clause.hits(window) as f64);
        let windows: Vec<Counted> = group.iter().map(of).collect();
        let (n, hits) = sum(&windows);
        let expected = |times: f64| -> f64 {
            let each = |window: &&Window| {
                window.counted() as f64 * (self.share)(window.rate_per_s * times)
            };
            group.iter().map(each).sum()
        };
        let most = expected(shift.exp()) + slack * n;
        let least = expected((-shift).exp()) - slack * n;
        let (outside, is_fewer) = ((hits - most).max(least - hits), hits < least);
        // The seconds are of whole ones only: scaled to all requests.
        let scale = n / sum(&seconds).0.max(1.0);
        // Seconds, and windows, that follow each other are alike for so long.
        let lasts = group.iter().map(|of| (self.lasts)(of.rate_per_s)).sum::<f64>();
        let (lasts, count) = (lasts / windows.len() as f64, windows.len() as f64);
        if lasts > LONGEST_ALIKE_S {
            return false;
        }
        let window_s = group.iter().map(|of| of.counted_s).sum::<f64>() / count;
        let by_seconds = scale * variance(&seconds, hits / n) * (1.0 + 2.0 * lasts);
        let tells = windows.len() >= LEAST_WINDOWS;
        let of_windows = variance(&windows, hits / n) * (1.0 + 2.0 * lasts / window_s);
        let by_windows = if tells { of_windows } else { 0.0 };
        // Where few are beyond, their own scatter does not show how they clump.
        let clumps = group.iter().map(|of| (self.clumps)(of.rate_per_s)).sum::<f64>() / count;
        let clumps = if is_fewer { clumps.max(1.0) } else { 1.0 };
        let expected = clumps * most.max(1.0) * (1.0 - most / n).max(0.0);
        let error = by_seconds.max(by_windows).max(expected).sqrt();
        let freedom = if by_windows > by_seconds { windows.len() } else { seconds.len() };
        outside > student::quantile(1.0 - LEVEL / (2.0 * TESTS), freedom as f64 - 1.0) * error
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conduct::Site;
    use crate::goal::Goal;
    use crate::simulated::Simulated;
    use crate::window::Offer;
    use plimsoll_workload::distribution::Distribution;
    use plimsoll_workload::service_model::{ServiceModel, ServiceTime};

    const GOAL: Goal = Goal { slo: (0.9, 20_000_000), most_errors: None };
    /// The line of M/M/1 of 4 ms.
    const LINE: f64 = 134.9;

    /// Windows of M/M/1 at some shares of its line, which at times pauses.
    fn windows(seed: u64, pauses: bool) -> Vec<Window> {
        let law = ServiceTime::Law(Distribution::parse("exp:4ms").unwrap());
        let mut world = Simulated::new(ServiceModel::new(law), GOAL.slo.1, seed);
        if pauses {
            world = world.with_pauses(1.0, 4.0, 0.8);
        }
        let shares = [0.4, 0.5, 0.8, 0.85, 0.92, 0.95, 0.98, 1.0];
        let window = |share: f64| {
            let (rate_per_s, seconds, settle_s) = (share * LINE, 5.0, 0.5);
            let (phase, may_cut, fresh) = (Phase::Search, false, false);
            let Ok(window) =
                world.window(&Offer { rate_per_s, seconds, settle_s, phase, may_cut, fresh });
            window
        };
        shares.iter().cycle().take(160).copied().map(window).collect()
    }

    /// P(T > t) = exp(−(μ − λ) t).
    fn expectation(line_per_s: f64) -> Expectation<'static> {
        let clause = GOAL.clauses().next().unwrap();
        let share = move |rate: f64| (-(250.0 - rate * LINE / line_per_s) * 0.02).exp().min(1.0);
        let (lasts, clumps) = (Box::new(|_| 0.0), Box::new(|_| 1.0));
        Expectation {
            line_per_s,
            half: 0.04,
            clause,
            share: Box::new(share),
            serves_beyond: 0.0,
            lasts,
            clumps,
        }
    }

    /// A hundred and twenty tests at 1%, of windows whose scatter is not quite known.
    #[test]
    fn what_is_the_servers_line_seldom_differs() {
        let seeds = 0..120;
        let differ = seeds.filter(|seed| expectation(LINE).differs(&windows(*seed, false)));
        assert!(differ.count() <= 5);
    }

    #[test]
    fn a_line_that_is_far_too_high_or_too_low_differs() {
        for line in [0.8 * LINE, 1.25 * LINE] {
            let differ = (0..20).filter(|seed| expectation(line).differs(&windows(*seed, false)));
            assert!(differ.count() >= 19, "{line}");
        }
    }

    #[test]
    fn pauses_are_seen_far_below_the_line() {
        let differ =
            (0..20).filter(|seed| expectation(LINE).differs_far_below(&windows(*seed, true)));
        assert!(differ.count() >= 19);
    }
}
