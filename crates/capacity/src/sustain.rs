//! Holds what a search has found, for as long as asked: a capacity that rests on savings (processor
//! credits, `cpu.cfs_burst_us`, a write-back cache, a warm accelerator) falls when they are spent.
//!
//! 1. *Search* as ever.
//! 2. *Hold* a rate just below the estimate, window by window.
//! 3. Where the SLO is clearly broken, the server rests until it answers as usual, and the rate is
//!    held again. What broke twice has fallen. It is searched anew below what it completed while it
//!    was overloaded, never resting for longer than it takes, since it saves while it rests.
//! 4. Hold what was found then; what has been held to the end is the sustained capacity.

use crate::adaptive::{Adaptive, Settings};
use crate::conduct::Ended;
use crate::hold::Hold;
use crate::search::{Check, Search, SearchEstimate, Step, Sustained};
use crate::verdict;
use crate::window::{Offer, Phase, Saturated, Verdict, Window};

/// So many windows in a row beyond the SLO break a hold.
const MOST_BEYOND: usize = 3;
/// In these, at least so many times the share of requests that the SLO allows is beyond it: less is
/// an estimate that was a little too high.
const CLEARLY: f64 = 2.0;
/// A rate that broke so often has fallen: once may be a dip.
const MOST_BREAKS: u32 = 2;
/// After so many falls the search ends with what it has.
const MOST_FALLS: u32 = 8;
/// What is held at last is held for so many windows at least.
const LEAST_WINDOWS: f64 = 10.0;
/// The server rests at this share of what it completes, and is searched from it.
const REST: f64 = 0.5;
/// It rests for so many windows, and for as many again at a tenth of that.
const MOST_RESTS: u32 = 20;
/// So many completions of an overloaded server tell how many it completes.
const ENOUGH: u64 = 100;
/// And so many tell it to 3%; fewer are taken together with those of the windows that broke.
const MANY: u64 = 1200;
/// It is searched up to so many times that.
const ROOM: f64 = 1.05;

#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    Search,
    Hold { rate: f64 },
    Rest { rate: f64, tries: u32, then: Then },
    Done,
}

/// What follows a rest.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Then {
    Hold { rate: f64 },
    Search { most: f64 },
}

/// The state machine.
#[derive(Debug)]
pub struct Sustain {
    settings: Settings,
    hold_s: f64,
    inner: Adaptive,
    state: State,
    verdict: Verdict,
    /// What the last search found.
    found: SearchEstimate,
    sustained: Sustained,
    /// Windows of this hold that were beyond the SLO, in a row: requests and those beyond.
    beyond: Vec<(u64, u64)>,
    /// How long was held when the row began, seconds.
    row_began_s: f64,
    /// What the server completed while it was overloaded at this rate, and while it rested after
    /// that.
    saturated: Saturated,
    drained: Saturated,
    /// How often this rate broke, after how many seconds it did first, and how long it was held.
    breaks: u32,
    first_break_s: f64,
    /// When it broke last, and how often it had before it was held for long again.
    last_break_s: f64,
    dips: u32,
    level_s: f64,
}

impl Sustain {
    /// A search that holds what it finds for `hold_s` seconds in all.
    #[must_use]
    pub fn new(settings: Settings, hold_s: f64) -> Self {
        Self {
            settings,
            hold_s,
            inner: Adaptive::new(settings),
            state: State::Search,
            verdict: Verdict::Within,
            found: SearchEstimate::default(),
            sustained: Sustained::default(),
            beyond: Vec::new(),
            row_began_s: 0.0,
            saturated: Saturated::default(),
            drained: Saturated::default(),
            breaks: 0,
            first_break_s: 0.0,
            last_break_s: 0.0,
            dips: 0,
            level_s: 0.0,
        }
    }

    /// The share of requests beyond the bound that the SLO allows.
    fn share(&self) -> f64 {
        1.0 - self.settings.slo.0
    }

    /// The length of a window of a hold: as long as those that the estimate came from.
    fn window_s(&self) -> f64 {
        4.0 * self.inner.unit_s()
    }

    /// What a search has found is held, where it has found something.
    fn begin_hold(&mut self, mut found: SearchEstimate) {
        self.beyond.clear();
        if verdict::ending(&found) != Ended::Found {
            if self.sustained.falls == 0 {
                // What was not found is not held.
                self.found = found;
                self.state = State::Done;
                return;
            }
            // A server that saves while it is searched contradicts itself: what held is held on.
            (found.estimate_per_s, found.ci95) = (found.held_per_s, None);
            found.disagrees = false;
        }
        let below = 1.0 - self.settings.precision;
        let is_held = found.is_bound && self.sustained.falls > 0;
        if self.sustained.falls > 0 {
            // It saved while it rested, and could keep more for a while: no more than it completes
            // when it is overloaded can last. Where it kept all that was allowed, what is known is
            // the rate that is held now.
            let most = found.estimate_per_s.map(|rate| self.completes(rate));
            set_estimate(&mut found, most.map(|most| if is_held { below * most } else { most }));
        }
        (self.breaks, self.dips, self.level_s) = (0, 0, 0.0);
        (self.saturated, self.drained) = (Saturated::default(), Saturated::default());
        let Some(estimate) = found.estimate_per_s else {
            self.found = found;
            self.state = State::Done;
            return;
        };
        let low = found.ci95.map_or(estimate, |(low, _)| low);
        let rate = if is_held { estimate } else { low.min(below * estimate) };
        if self.sustained.burst_per_s.is_none() {
            self.sustained.burst_per_s = Some(estimate);
            self.sustained.burst_ci95 = found.ci95;
        }
        self.found = found;
        self.state = State::Hold { rate };
    }

    fn held(&mut self, rate: f64, window: &Window) {
        let share = window.beyond_share().unwrap_or(0.0);
        let beyond = share > self.share();
        self.verdict = match (window.was_cut, beyond) {
            (true, _) => Verdict::Cut,
            (_, true) => Verdict::Beyond,
            _ => Verdict::Within,
        };
        if self.beyond.is_empty() {
            self.row_began_s = self.sustained.held_s;
        }
        self.sustained.held_s += window.seconds;
        self.level_s += window.seconds;
        if self.verdict == Verdict::Within {
            self.beyond.clear();
        } else {
            self.beyond.push((window.counted(), window.beyond));
        }
        if self.is_broken(window.was_cut) {
            self.broken(rate, window);
        } else if self.sustained.held_s >= self.hold_s && self.level_s >= self.least_s() {
            if self.sustained.falls > 0 {
                // It may have broken at this rate too: what that shows holds for it as well.
                let most = self.found.estimate_per_s.map(|rate| self.completes(rate));
                set_estimate(&mut self.found, most);
            }
            self.sustained.sustained_per_s = self.found.estimate_per_s;
            self.found.held_per_s = Some(self.found.held_per_s.map_or(rate, |held| held.max(rate)));
            self.found.holds.push(Hold { rate_per_s: rate, check: Check::Held });
            self.sustained.dips = self.dips + self.breaks;
            self.state = State::Done;
        }
    }

    /// How long the last rate is held at least.
    fn least_s(&self) -> f64 {
        (LEAST_WINDOWS * self.window_s()).min(self.hold_s)
    }

    /// An overload so clear that a window was cut, or several windows clearly beyond.
    fn is_broken(&self, was_cut: bool) -> bool {
        let (counted, beyond) = self.beyond.iter().fold((0, 0), |(n, k), (m, l)| (n + m, k + l));
        let clearly = beyond as f64 > CLEARLY * self.share() * counted as f64;
        was_cut || (self.beyond.len() >= MOST_BEYOND && clearly)
    }

    fn broken(&mut self, rate: f64, window: &Window) {
        self.beyond.clear();
        if self.row_began_s - self.last_break_s >= self.least_s() {
            // It was held for long since the last one: that was a dip.
            self.dips += self.breaks;
            self.breaks = 0;
        }
        self.breaks += 1;
        if self.breaks == 1 {
            self.first_break_s = self.row_began_s;
        }
        self.last_break_s = self.sustained.held_s;
        self.saturated.add(window.saturated);
        let completes = self.completes(rate);
        let mut then = Then::Hold { rate };
        if self.breaks >= MOST_BREAKS {
            self.sustained.falls += 1;
            self.sustained.exhausted_after_s.get_or_insert(self.first_break_s);
            if self.sustained.falls >= MOST_FALLS {
                self.state = State::Done;
                return;
            }
            then = Then::Search { most: (ROOM * completes).min(rate) };
        }
        self.state = State::Rest { rate: REST * completes, tries: 0, then };
    }

    /// What the server completes when it is overloaded; a rate where too little was seen of that.
    fn completes(&self, rate: f64) -> f64 {
        // What drains while it rests has nothing saved; a window that broke may have begun with
        // some.
        let mut of = self.drained;
        if of.completions < MANY {
            of.add(self.saturated);
        }
        let Saturated { completions, seconds } = of;
        if completions >= ENOUGH { (completions as f64 / seconds).min(rate) } else { rate }
    }

    fn rested(&mut self, rate: f64, tries: u32, then: Then, window: &Window) {
        self.drained.add(window.saturated);
        let p50 = window.response.quantile_ns(0.5);
        let recovered = p50.is_some_and(|p50| p50 <= self.settings.slo.1 / 2);
        self.verdict = if recovered { Verdict::Within } else { Verdict::Beyond };
        if !recovered && tries < 2 * MOST_RESTS {
            let rate = if tries == MOST_RESTS { 0.1 * rate } else { rate };
            self.state = State::Rest { rate, tries: tries + 1, then };
            return;
        }
        match then {
            Then::Hold { rate } => self.state = State::Hold { rate },
            Then::Search { most } => {
                self.inner = Adaptive::new(Settings {
                    start_per_s: REST * most,
                    max_rate_per_s: Some(most),
                    ..self.settings
                });
                self.state = State::Search;
                self.search(None);
            }
        }
    }

    fn search(&mut self, result: Option<&Window>) -> Option<Offer> {
        match self.inner.next(result) {
            Step::Offer(offer) => Some(offer),
            Step::Done(found) => {
                self.begin_hold(found);
                None
            }
        }
    }

    fn whole(&self) -> SearchEstimate {
        let mut found = self.found.clone();
        found.sustained = Some(Box::new(self.sustained));
        if let Some(after) = self.sustained.exhausted_after_s {
            let text = if self.sustained.sustained_per_s.is_some() {
                format!(
                    "the capacity fell after {after:.0} s at a rate just below the first \
                     estimate: the estimate is what was held afterwards"
                )
            } else {
                // What fell last is no capacity.
                (found.estimate_per_s, found.ci95) = (None, None);
                format!(
                    "the capacity fell after {after:.0} s, and what was found then was not held"
                )
            };
            found.notes.push(text);
        }
        found
    }
}

/// Changes an estimate; an interval that is above it is not of it any more.
fn set_estimate(found: &mut SearchEstimate, estimate_per_s: Option<f64>) {
    found.estimate_per_s = estimate_per_s;
    let least = estimate_per_s.unwrap_or(0.0);
    found.ci95 = found.ci95.filter(|(low, _)| *low <= least);
}

impl Search for Sustain {
    fn next(&mut self, result: Option<&Window>) -> Step {
        match (self.state, result) {
            (State::Search, _) => {
                let offer = self.search(result);
                self.verdict = self.inner.verdict();
                if let Some(offer) = offer {
                    return Step::Offer(offer);
                }
            }
            (State::Hold { rate }, Some(window)) => self.held(rate, window),
            (State::Rest { rate, tries, then }, Some(window)) => {
                self.rested(rate, tries, then, window);
            }
            (State::Hold { .. } | State::Rest { .. }, None) | (State::Done, _) => {}
        }
        let offer = |rate_per_s, seconds, settle_s, phase| {
            let (may_cut, fresh) = (true, false);
            Step::Offer(Offer { rate_per_s, seconds, settle_s, phase, may_cut, fresh })
        };
        let unit = self.inner.unit_s();
        match self.state {
            State::Hold { rate } => offer(rate, self.window_s(), 0.0, Phase::Hold),
            State::Rest { rate, .. } => offer(rate, 0.5 * unit, 0.0, Phase::Recover),
            State::Search => self.inner.offer(),
            State::Done => Step::Done(self.whole()),
        }
    }

    fn verdict(&self) -> Verdict {
        self.verdict
    }

    fn so_far(&self) -> SearchEstimate {
        match self.state {
            State::Search if self.sustained.burst_per_s.is_none() => self.inner.so_far(),
            _ => self.whole(),
        }
    }
}
