//! What broke the SLO because the server, or the machine that searches, was disturbed for a while:
//! how that is noticed, and forgotten.
//!
//! By one rule: the share of slow responses rises with the rate. So where the SLO holds at a rate,
//! what broke it there or below was no lack of capacity, and is left out from then on. A rate at
//! which it holds is found in three ways:
//!
//! - *Above the line*, by the last check: where the SLO holds far above it, the line is wrong.
//! - *Once more*, while the search goes on: where what was seen is in conflict, the lowest rate
//!   that was clearly too much is offered again. An overload that comes again is one.
//! - *Seen before*, of a ramp that was disturbed and went on.
//!
//! In conflict is what differs from the curve by so much that Huber's loss limits it, what no curve
//! fits, and a line far below a rate that holds. It does not say which side was disturbed, so it
//! only leads to a look. Without one such a search would come to the line at last, but late: what a
//! stalled server completes while it has a backlog looks like its saturation, and the curve follows
//! the windows that say otherwise by some per cent each.
//!
//! Overloads of the ramp are suspected without a conflict too: each is one short look at a rate. Of
//! the search's windows near the line some break the SLO by chance, and to leave these out would be
//! to choose.

use super::bootstrap::Replicates;
use super::fit::Fit;
use super::jackknife::Jackknife;
use super::{Adaptive, ENOUGH, State, is_clearly_too_much};
use crate::search::Check;
use crate::window::{Phase, Verdict, Window};

/// Windows above the line that hold are followed by others, each so much higher, up to so far
/// above; what they contradict is forgotten so often.
const HIGHER: f64 = 1.15;
const FAR_ABOVE: f64 = 1.3;
const MOST_FORGOTTEN: u32 = 3;
/// So many units the window takes that makes a line wrong: shorter ones of a server whose
/// percentile rises slowly hold far above it by chance, in some searches of a hundred.
const LONGER: f64 = 4.0;

impl Adaptive {
    /// The window above the line at a rate; none beyond the highest that is allowed.
    pub(super) fn check_above(&self, rate: f64) -> State {
        if rate > self.most() { State::Done } else { State::CheckAbove { rate } }
    }

    /// How many units a window above the line takes.
    pub(super) fn units_above(&self, rate: f64) -> f64 {
        if let Some(units) = self.units_for_pauses() {
            return units;
        }
        if rate < FAR_ABOVE * self.line() { 1.0 } else { LONGER }
    }

    /// After a window above the line. Where the SLO held there by chance, it does not somewhat
    /// higher; where it holds far above, the line is wrong.
    pub(super) fn checked_above(&mut self, rate: f64, window: &Window, beyond: bool) -> State {
        let line = self.line();
        // The last one counts: where the SLO held by chance, a higher rate is looked at.
        self.check.1 = Some(if beyond { Check::Broken } else { Check::Held });
        let is_over = self.forgotten >= MOST_FORGOTTEN || self.without_curve.is_some();
        if beyond || window.counted() < ENOUGH || is_over {
            self.refit();
            return State::Done;
        }
        if rate < FAR_ABOVE * line {
            return self.check_above(HIGHER * rate);
        }
        self.forget(rate)
    }

    /// The lowest rate that was clearly too much, of such windows as are asked for.
    pub(super) fn lowest_overload(&self, is_asked: impl Fn(&Window) -> bool) -> f64 {
        let is_overload =
            |of: &&Window| of.phase != Phase::Recover && is_clearly_too_much(of) && is_asked(of);
        let overloads = self.windows.iter().filter(is_overload).map(|window| window.rate_per_s);
        overloads.fold(f64::INFINITY, f64::min)
    }

    /// Whether what was seen is in conflict with the curve, or its line with a rate far above it
    /// that was seen to keep the SLO.
    fn is_conflict(&self) -> bool {
        let is_low = |fit: &Fit| self.kept.is_some_and(|kept| kept > FAR_ABOVE * fit.ci95().1);
        self.misfit || self.fit.as_ref().is_none_or(is_low)
    }

    /// The lowest rate that is to be offered once more: with a conflict, of all that were clearly
    /// too much; without one, of those of the ramp that are below the line's interval.
    fn suspect(&self) -> f64 {
        if self.is_conflict() {
            return self.lowest_overload(|_| true);
        }
        let low = self.fit.as_ref().map_or(0.0, |fit| fit.ci95().0);
        self.lowest_overload(|window| window.phase == Phase::Ramp && window.rate_per_s < low)
    }

    /// Forgets what broke the SLO far below a rate that was seen to keep it, where the ramp's end
    /// is among that, or what was seen is in conflict.
    pub(super) fn contradict(&mut self) -> Option<State> {
        if self.without_curve.is_some() {
            return None;
        }
        let held = self.kept.unwrap_or(0.0) / FAR_ABOVE;
        let is_far_below = |of: &Window| of.phase != Phase::Recover && self.is_wrong(of, held);
        let is_contradicted = self.lowest_overload(|window| window.phase == Phase::Ramp) <= held
            || (self.is_conflict() && self.windows.iter().any(is_far_below));
        (is_contradicted && self.forgotten < MOST_FORGOTTEN).then(|| self.forget(held))
    }

    /// What is done after a window of the search about what may have been disturbed; `None` where
    /// nothing is suspected, or nothing can be done now.
    pub(super) fn doubt(&mut self) -> Option<State> {
        let contradicted = self.contradict();
        if contradicted.is_some() || self.without_curve.is_some() {
            return contradicted;
        }
        let is_clear = self.verdict == Verdict::Within && self.forgotten < MOST_FORGOTTEN;
        let rate = self.suspect();
        (is_clear && rate < self.confirmed).then_some(State::Again { rate })
    }

    /// After a window at a rate that was too much before.
    pub(super) fn tried_again(&mut self, rate: f64, window: &Window, clearly: bool) -> State {
        if self.verdict == Verdict::Within && window.counted() >= ENOUGH {
            return self.forget(rate);
        }
        self.confirmed = rate;
        self.refit();
        if clearly { State::Recover { tries: 0 } } else { State::Search }
    }

    fn is_wrong(&self, of: &Window, held_per_s: f64) -> bool {
        let beyond = || of.beyond_share().is_some_and(|share| share > self.share());
        of.rate_per_s <= held_per_s && (of.was_cut || beyond())
    }

    /// The SLO holds at a rate: what broke it there and below is forgotten, and how the server
    /// recovered from it. Where nothing is left that was too much, the ramp was not at its end.
    ///
    /// What comes again is no disturbance: where windows that began after the first were forgotten
    /// are to be forgotten as well, all of them are the server's, and no curve is.
    fn forget(&mut self, held_per_s: f64) -> State {
        let is_later = |of: &Window| of.start_s > self.set_aside_s && of.phase != Phase::Recover;
        if self.windows.iter().any(|of| is_later(of) && self.is_wrong(of, held_per_s)) {
            self.leave_curve();
            return State::Search;
        }
        self.forgotten += 1;
        let last = self.windows.last().map_or(0.0, |of| of.start_s + of.seconds);
        self.set_aside_s = self.set_aside_s.min(last);
        let mut windows = std::mem::take(&mut self.windows);
        let mut is_gone = false;
        windows.retain(|window| {
            if window.phase != Phase::Recover {
                is_gone = self.is_wrong(window, held_per_s);
            }
            if is_gone && window.phase != Phase::Recover {
                self.set_aside.push(window.clone());
            }
            !is_gone
        });
        self.windows = windows;
        self.too_much = self.lowest_overload(|_| true);
        let is_bounded = self.too_much.is_finite();
        self.kept = Some(self.kept.unwrap_or(0.0).max(held_per_s));
        (self.fit, self.check, self.blind) = (None, (None, None), 0);
        (self.replicates, self.jackknife) = (Replicates::default(), Jackknife::default());
        self.calibrated_s = 0.0;
        (self.narrowest, self.stalled) = (f64::INFINITY, 0);
        self.refit();
        let kept = self.kept.unwrap_or(held_per_s);
        if is_bounded { State::Search } else { self.higher(kept, false) }
    }
}
