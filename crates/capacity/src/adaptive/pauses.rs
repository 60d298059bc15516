//! Servers that stand still every so often: for a collection of garbage, a checkpoint, a scheduler
//! that gives them no time.
//!
//! Where that comes less often than a window lasts, some windows have it in them and break the SLO,
//! and others at the same rates have nothing beyond it. Far below the saturation no queue makes
//! such windows. So those there that break the SLO by far, again and again, with others between
//! them that are calm at rates as high, are of a server that pauses; and a window tells what it can
//! do only where it is several times as long as these are apart.

use crate::goal::{Clause, Goal};
use crate::window::{Phase, Window};

/// Windows are looked at at whose rate a queue keeps all but this part of the share that is allowed
/// within the bound.
const NEGLIGIBLE: f64 = 0.01;
/// The saturation is at least so many times what was offered, where none was seen.
const BEYOND_OFFERED: f64 = 1.25;
/// So many completions in so many seconds tell it.
const ENOUGH_COMPLETIONS: u64 = 20;
const ENOUGH_S: f64 = 0.5;
/// A window is disturbed where so many times the share that is allowed is beyond the SLO, and so
/// many requests.
const DISTURBED: f64 = 2.0;
const LEAST_HITS: f64 = 3.0;
/// Windows between two such are calm where less than this part of that share is beyond it, and so
/// many requests would be allowed to be.
const CALM: f64 = 0.25;
const LEAST_ALLOWED: f64 = 2.0;
/// A calm window speaks for rates up to so far above its own.
const SPEAKS: f64 = 1.1;
/// Requests that are slow by themselves are not in clumps: those of windows scatter so many times
/// as much as theirs would, at least.
const CLUMPED: f64 = 3.0;
/// So many pauses, with calm windows between them, are no chance; so many may be some.
const LEAST: usize = 3;
const FEW: usize = 2;
/// A window is so many times as long as pauses are apart, and may be so much shorter.
const PERIODS: f64 = 4.0;
const LEAST_PERIODS: f64 = 2.0;
/// But no longer than this, seconds.
const LONGEST_S: f64 = 120.0;
/// So many long windows tell a load line.
pub(super) const LEAST_WINDOWS: usize = 4;

/// Pauses of a server.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Pauses {
    /// How far they are apart, seconds.
    pub(super) every_s: f64,
}

impl Pauses {
    /// Those that windows show, in the order of their time.
    pub(super) fn of(windows: &[Window], goal: &Goal) -> Option<Self> {
        let starts = IdleWindows::of(windows, goal)?.starts();
        let (first, last) = (starts.first()?, starts.last()?);
        (starts.len() >= LEAST).then(|| {
            let every_s = (last - first) / (starts.len() - 1) as f64;
            Self { every_s }
        })
    }

    /// Whether windows may show some.
    pub(super) fn may_be(windows: &[Window], goal: &Goal) -> bool {
        IdleWindows::of(windows, goal).is_some_and(|seen| seen.starts().len() >= FEW)
    }

    /// Clumps that come more often than windows of so many seconds.
    pub(super) fn within(window_s: f64) -> Self {
        Self { every_s: window_s / PERIODS }
    }

    /// How long windows are, seconds.
    pub(super) fn window_s(self) -> f64 {
        (PERIODS * self.every_s).min(LONGEST_S)
    }

    /// Whether a window is long enough to tell what such a server can do.
    pub(super) fn is_whole(self, window: &Window) -> bool {
        window.counted_s >= LEAST_PERIODS / PERIODS * self.window_s()
    }
}

/// Windows at which a queue would have nothing to wait for.
struct IdleWindows<'a> {
    windows: Vec<&'a Window>,
    slow: Clause,
}

impl<'a> IdleWindows<'a> {
    /// `None` where what is beyond the SLO in them comes in no clumps.
    fn of(windows: &'a [Window], goal: &Goal) -> Option<Self> {
        let slow = goal.clauses().next()?;
        let (saturation, bound_s) = (saturation(windows), goal.slo.1 as f64 / 1e9);
        // P(W > t) of M/M/c is at most exp(-(cμ - λ) t).
        let negligible = -(NEGLIGIBLE * slow.allowed).ln();
        let keeps = |of: &&Window| (saturation - of.rate_per_s) * bound_s > negligible;
        let is_of_use = |of: &&Window| of.phase != Phase::Recover && of.counted() > 0;
        let seen = Self { windows: windows.iter().filter(is_of_use).filter(keeps).collect(), slow };
        seen.is_clumped().then_some(seen)
    }

    fn is_clumped(&self) -> bool {
        let each = || self.windows.iter().map(|of| (of.counted() as f64, self.hits(of)));
        let (n, hits) = each().fold((0.0, 0.0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
        let p = hits / n;
        let squares = each().map(|(n, hits)| (hits - n * p).powi(2) / (n * p * (1.0 - p)));
        let freedom = self.windows.len().saturating_sub(1) as f64;
        p > 0.0 && p < 1.0 && squares.sum::<f64>() > CLUMPED * freedom
    }

    /// Requests that waited too long: those that failed did not wait for a pause to end.
    fn hits(&self, of: &Window) -> f64 {
        self.slow.hits(of).saturating_sub(of.counted_failed) as f64
    }

    /// When those that were disturbed began, each with calm ones before it.
    fn starts(&self) -> Vec<f64> {
        let allowed = self.slow.allowed;
        let mut starts: Vec<f64> = Vec::new();
        // Of the first nothing has to come before.
        let mut calm: Vec<&Window> = Vec::new();
        for window in &self.windows {
            let (n, hits) = (window.counted() as f64, self.hits(window));
            if hits <= DISTURBED * allowed * n || hits < LEAST_HITS {
                calm.push(window);
                continue;
            }
            let speaks = |of: &&&Window| SPEAKS * of.rate_per_s >= window.rate_per_s;
            let sum = |sum: (f64, f64), of: &&Window| {
                (sum.0 + of.counted() as f64, sum.1 + self.hits(of))
            };
            let (n, hits) = calm.iter().filter(speaks).fold((0.0, 0.0), sum);
            let is_calm = n * allowed >= LEAST_ALLOWED && hits < CALM * allowed * n;
            if is_calm || starts.is_empty() {
                starts.push(window.start_s);
                calm.clear();
            }
        }
        starts
    }
}

/// What a server completes at most: as it was seen, or as it is at least.
fn saturation(windows: &[Window]) -> f64 {
    let offered = windows.iter().map(|window| window.rate_per_s);
    let least = BEYOND_OFFERED * offered.filter(|rate| rate.is_finite()).fold(0.0, f64::max);
    let full = windows.iter().map(|window| window.saturated);
    let full = full.filter(|of| of.completions >= ENOUGH_COMPLETIONS && of.seconds >= ENOUGH_S);
    let mut seen: Vec<f64> = full.map(|of| of.per_s()).collect();
    seen.sort_by(f64::total_cmp);
    // Of several the middle one: it may have paused in some.
    seen.get(seen.len() / 2).copied().unwrap_or(least)
}
