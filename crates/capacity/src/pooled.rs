//! What all windows of a search together say of failures: what was seen binds what is found.
//!
//! A single window is short. Where one request in thirty fails whatever the load is, few windows
//! see enough requests to tell that from one in a hundred. Together they do.

use crate::goal::{Clause, Goal, ROUNDING};
use crate::hold::standard_error;
use crate::search::SearchEstimate;
use crate::window::{Phase, Window};

/// Where fewer failures than these would be allowed, none says nothing.
const LEAST_ALLOWED: f64 = 3.0;

/// All windows of a search that were offered for it, and its goal.
pub(crate) struct Pooled<'a> {
    windows: Vec<&'a Window>,
    goal: Goal,
}

impl<'a> Pooled<'a> {
    /// Of all windows, those too that a search has set aside.
    pub(crate) fn of(windows: impl Iterator<Item = &'a Window>, goal: Goal) -> Self {
        let is_of_use = |of: &&Window| of.phase != Phase::Recover && of.counted() > 0;
        Self { windows: windows.filter(is_of_use).collect(), goal }
    }

    /// Whether more requests failed than are allowed, where it is not load that makes them fail,
    /// and up to a rate too few were seen to say that fewer do there.
    fn contradict(&self, rate_per_s: f64) -> bool {
        let Some(failed) = self.goal.clauses().nth(1) else { return false };
        let is_calm = |of: &&Window| {
            let slow = self.goal.clauses().next();
            let is_slow = slow.is_some_and(|slow| slow.is_beyond(of.counted(), slow.hits(of)));
            !of.was_cut && !is_slow
        };
        let calm = || self.windows.iter().copied().filter(is_calm);
        if !Share::of(calm(), failed).is_beyond(failed) {
            return false;
        }
        let below = calm().filter(|of| of.rate_per_s <= rate_per_s * (1.0 + ROUNDING));
        let below = Share::of(below, failed);
        below.requests * failed.allowed < LEAST_ALLOWED || below.share > failed.allowed
    }

    /// Takes out of what was found what the windows contradict, and says so.
    pub(crate) fn bind(&self, found: &mut SearchEstimate) {
        let held = found.held_per_s.filter(|held| self.contradict(*held));
        let estimate = found.estimate_per_s.filter(|estimate| self.contradict(*estimate));
        if held.is_none() && estimate.is_none() {
            return;
        }
        if held.is_some() {
            let mut lower: Vec<f64> = self.windows.iter().map(|of| of.rate_per_s).collect();
            lower.retain(|rate| Some(*rate) < held && self.is_within(*rate));
            lower.sort_by(f64::total_cmp);
            found.held_per_s = lower.into_iter().rev().find(|rate| !self.contradict(*rate));
        }
        if estimate.is_some() {
            (found.estimate_per_s, found.ci95, found.is_bound) = (None, None, false);
            (found.knee_per_s, found.saturation_per_s, found.model) = (None, None, None);
        }
        found.lower_bound_per_s = found.lower_bound_per_s.filter(|of| !self.contradict(*of));
        let text = "more requests failed than the SLO allows, over all windows that were not \
                    overloaded: where it was not seen of enough requests, no rate is said to hold";
        found.notes.push(text.to_owned());
    }

    /// Whether a window of that rate was not beyond the SLO.
    fn is_within(&self, rate_per_s: f64) -> bool {
        let of_it = |of: &&&Window| of.rate_per_s.to_bits() == rate_per_s.to_bits();
        self.windows.iter().filter(of_it).any(|of| !of.was_cut && !self.goal.is_beyond(of))
    }
}

/// A share of requests of a clause's kind, with its standard error by windows: what disturbed one
/// of them once is no more than its scatter.
struct Share {
    requests: f64,
    share: f64,
    error: f64,
}

impl Share {
    fn of<'a>(windows: impl Iterator<Item = &'a Window>, clause: Clause) -> Self {
        let of_one = |of: &Window| (of.counted() as f64, clause.hits(of) as f64);
        let each: Vec<(f64, f64)> = windows.map(of_one).collect();
        let requests: f64 = each.iter().map(|(requests, _)| requests).sum();
        let hits: f64 = each.iter().map(|(_, hits)| hits).sum();
        let share = if requests > 0.0 { hits / requests } else { 0.0 };
        let independent = clause.allowed * (1.0 - clause.allowed) / requests.max(1.0);
        let error = standard_error(&each, share).map_or(0.0, |(error, _)| error);
        Self { requests, share, error: error.max(libm::sqrt(independent)) }
    }

    /// Whether it is above the allowed one by more than its scatter, as a bracket has it.
    fn is_beyond(&self, clause: Clause) -> bool {
        self.share > clause.allowed + self.error + ROUNDING
    }
}
