//! The adaptive method: what is offered next is what tells most about the load line while staying
//! below it.
//!
//! 1. *Ramp.* The rate doubles in short windows until one is clearly too much.
//! 2. *Low load.* Where the ramp has not shown the service time well enough, one window does.
//! 3. *Search.* A curve is fitted to all that was seen ([`fit`]); the next window is offered so far
//!    below the curve's load line as that is unsure: the escalation with overdose control of
//!    clinical trials (J. Babb, A. Rogatko, S. Zacks, *Cancer phase I clinical trials*, Statistics
//!    in Medicine 17, 1998), where a dose is the highest one that harms with a small probability.
//! 4. *Hold.* When the line is known as precisely as asked, what was found is held
//!    ([`crate::hold`]). Where that breaks, and where anything else contradicts the curve, the
//!    search goes on without one (`holding`).
//! 5. *Check.* A window just above it.
//!
//! Whenever a window was cut, the server is let recover before anything else is measured. What was
//! too much because something was disturbed is found out, and forgotten.

mod bootstrap;
mod doubt;
pub mod evidence;
pub mod fit;
mod holding;
mod jackknife;
pub(crate) mod least_squares;
mod local;
mod moments;
mod next_window;
mod pauses;
mod residuals;

use crate::goal::Goal;
use crate::hold::Hold;
use crate::search::{Check, Search, SearchEstimate, Step};
use crate::window::{Offer, Phase, Verdict, Window};
use bootstrap::Replicates;
use evidence::Evidence;
use fit::Fit;
use holding::WithoutCurve;
use jackknife::Jackknife;

/// How the search goes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// The SLO: a quantile of the response time, and its bound in nanoseconds.
    pub slo: (f64, u64),
    /// The greatest share of requests that may fail; `None`: as many as may be slow.
    pub most_errors: Option<f64>,
    /// The first rate, per second.
    pub start_per_s: f64,
    /// Half the width of the 95% interval, as a share of the estimate, at which it ends.
    pub precision: f64,
    /// The highest rate that may be offered.
    pub max_rate_per_s: Option<f64>,
}

/// The interval ends up narrower than asked for by this: the check may widen it.
const SPARE: f64 = 0.95;
/// A search ends at the look that claims the least error, less than it is where there were many
/// looks: beyond so many windows the error is taken to be greater, as this power of how many times
/// as many there are, at most by so much (of simulated searches: benches/capacity/RESULTS.md).
const LOOKS: f64 = 20.0;
const FOR_LOOKS: f64 = 0.1;
const MOST_FOR_LOOKS: f64 = 1.05;
/// The curve is that of a server to within this standard error, ln λ. A hold has so many requests
/// that what they say of the line is not much less sure than that.
const CURVE_ERROR: f64 = 0.004;
/// By what a fit's error may be off, and how much more is to be seen before that is looked at
/// again.
const INFLATIONS: (f64, f64) = (0.6, 4.0);
const AGAIN: f64 = 1.5;
/// Wider intervals than this are no more than rough: windows are the shortest, and what such an
/// error is worth is not looked at.
const ROUGH: f64 = 0.25;
/// Recovery is given up after so many windows.
const MOST_RECOVERIES: u32 = 60;
/// A search that has not become precise by then ends with what it has.
const MOST_SECONDS: f64 = 900.0;
/// So many requests show that a rate keeps the SLO.
const ENOUGH: u64 = 50;
/// Rates that differ by less than this share are near each other.
const NEAR: f64 = 0.15;
/// After so many windows that no curve fits the search goes on without one.
const MOST_BLIND: u32 = 8;
/// So many requests make a window of use, and so many units it may take for them.
const FEW: f64 = 2.0;
const LONGEST_RAMP: f64 = 4.0;
/// Rates below this are not tried, per second.
const LEAST_RATE: f64 = 0.05;
/// Windows of the search are from so many to so many times as long as they might be.
const VARIED: (f64, f64) = (0.85, 1.15);
const GOLDEN: f64 = 0.618_033_988_749_895;

#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    Ramp {
        rate: f64,
    },
    /// The first rate was too much already.
    Down {
        rate: f64,
    },
    /// What was found is held; or the highest rate allowed, at which the ramp ended.
    Hold {
        rate: f64,
        seconds: f64,
        is_most: bool,
    },
    Recover {
        tries: u32,
    },
    Search,
    /// What was too much is offered once more.
    Again {
        rate: f64,
    },
    CheckAbove {
        rate: f64,
    },
    Done,
}

/// The state machine.
#[derive(Debug)]
pub struct Adaptive {
    settings: Settings,
    state: State,
    windows: Vec<Window>,
    /// Whether the last fit failed or was strained, the lowest rate that was too much again, and
    /// how often what broke the SLO was forgotten.
    misfit: bool,
    confirmed: f64,
    forgotten: u32,
    /// The least rate that was clearly too much and that a curve does not contradict.
    too_much: f64,
    fit: Option<Fit>,
    base_p50_ns: u64,
    verdict: Verdict,
    check: (Option<Check>, Option<Check>),
    seconds: f64,
    /// The highest rate that was seen to keep the SLO, by more than a few requests or by any.
    kept: Option<f64>,
    has_kept: bool,
    /// The narrowest interval so far, and for how many windows it has been that.
    narrowest: f64,
    stalled: u32,
    /// Windows of the search that no curve could be fitted to.
    blind: u32,
    /// Whether the highest rate allowed keeps the SLO.
    reached_most: bool,
    /// What says by how much a fit's error is greater than it claims, and after how many seconds
    /// that was looked at.
    replicates: Replicates,
    jackknife: Jackknife,
    calibrated_s: f64,
    /// Whether a window at low load was offered.
    was_low: bool,
    /// The holds so far; how the search goes where it has no curve.
    holds: Vec<Hold>,
    without_curve: Option<WithoutCurve>,
    /// Windows that were forgotten, and after how many seconds of load they were first.
    set_aside: Vec<Window>,
    set_aside_s: f64,
    /// After how many seconds windows far below the line were looked at.
    looked_s: f64,
}

impl Adaptive {
    /// A search at its beginning.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            state: State::Ramp { rate: settings.start_per_s },
            windows: Vec::new(),
            misfit: false,
            confirmed: f64::INFINITY,
            forgotten: 0,
            too_much: f64::INFINITY,
            fit: None,
            base_p50_ns: 0,
            verdict: Verdict::Within,
            check: (None, None),
            seconds: 0.0,
            kept: None,
            has_kept: false,
            narrowest: f64::INFINITY,
            stalled: 0,
            blind: 0,
            reached_most: false,
            replicates: Replicates::default(),
            jackknife: Jackknife::default(),
            calibrated_s: 0.0,
            was_low: false,
            holds: Vec::new(),
            without_curve: None,
            set_aside: Vec::new(),
            set_aside_s: f64::INFINITY,
            looked_s: 0.0,
        }
    }

    /// The last fit, if there is one.
    #[must_use]
    pub fn fit(&self) -> Option<&Fit> {
        self.fit.as_ref()
    }

    fn goal(&self) -> Goal {
        Goal { slo: self.settings.slo, most_errors: self.settings.most_errors }
    }

    fn share(&self) -> f64 {
        1.0 - self.settings.slo.0
    }

    fn bound_s(&self) -> f64 {
        self.settings.slo.1 as f64 / 1e9
    }

    /// The shortest window of use: several times the bound, and whole seconds.
    pub(crate) fn unit_s(&self) -> f64 {
        (4.0 * self.bound_s()).max(1.0).ceil()
    }

    fn refit(&mut self) {
        if self.refit_without_curve() {
            return;
        }
        let evidence = Evidence::of(&self.windows);
        let slo = (self.settings.slo.0, self.bound_s());
        let fit = evidence.fit(slo, self.too_much, self.fit.as_ref());
        self.misfit = fit.as_ref().is_none_or(Fit::is_strained);
        if let Some(mut fit) = fit {
            fit.take_scatter(self.jackknife.ratio());
            fit.error *= self.inflation() * self.for_looks();
            if !self.holds.is_empty() {
                fit.error = libm::hypot(fit.error, CURVE_ERROR);
            }
            fit.freedom = self.freedom(fit.freedom);
            // What was too much well below the line was disturbed, and would be forbidden for ever.
            let low = fit.line_per_s * libm::exp(-fit.half_width());
            self.too_much = self.lowest_overload(|window| window.rate_per_s >= low);
            self.fit = Some(fit);
        }
    }

    /// Half the width of the interval that ends the search.
    fn wanted(&self) -> f64 {
        SPARE * self.settings.precision
    }

    /// By how much an error is greater than what it is claimed to be, as the search ends where that
    /// is little.
    fn for_looks(&self) -> f64 {
        libm::pow(self.windows.len() as f64 / LOOKS, FOR_LOOKS).clamp(1.0, MOST_FOR_LOOKS)
    }

    /// By how much a fit's error is greater than it claims.
    fn inflation(&self) -> f64 {
        self.replicates.inflation().clamp(INFLATIONS.0, INFLATIONS.1)
    }

    /// Degrees of freedom of an error that is a product of two, the fit's and the inflation: their
    /// relative variances are added.
    fn freedom(&self, fit: f64) -> f64 {
        let own = self.replicates.freedom;
        if own > 0.0 { 1.0 / (1.0 / fit + 1.0 / own) } else { fit }
    }

    /// Looks at what a fit's error is worth, and again where much was seen since.
    fn calibrate(&mut self) {
        let Some(fit) = &self.fit else { return };
        // By its own claim: an inflation that made it rough would never be looked at again.
        let is_rough = fit.half_width() > ROUGH * self.inflation().max(1.0);
        if !is_rough && self.seconds >= AGAIN * self.calibrated_s {
            self.replicates.look(&self.windows, fit, self.settings.slo, self.too_much);
            let slo = (self.settings.slo.0, self.bound_s());
            self.jackknife.look(&self.windows, fit, slo, self.too_much);
            self.calibrated_s = self.seconds;
            self.refit();
        }
    }

    pub(crate) fn offer(&self) -> Step {
        let unit = self.unit_s();
        let is_down = matches!(self.state, State::Down { .. });
        let offer = |rate_per_s: f64, seconds: f64, settle_s: f64, phase| {
            // Without a curve nothing is cut, nor is a hold: to end early is to choose. What a
            // first rate that was too much left behind is answered before a lower one is looked at.
            let may_cut = self.without_curve.is_none() && phase != Phase::Hold;
            let fresh = is_down;
            Step::Offer(Offer { rate_per_s, seconds, settle_s, phase, may_cut, fresh })
        };
        match self.state {
            State::Ramp { rate } | State::Down { rate } => {
                // Slow servers: some requests are needed to say anything.
                let seconds = unit.max((FEW / rate).min(LONGEST_RAMP * unit));
                offer(rate, seconds, 0.1 * unit, Phase::Ramp)
            }
            State::Recover { .. } => {
                offer((0.05 * self.line()).max(LEAST_RATE), 0.5 * unit, 0.0, Phase::Recover)
            }
            State::Search => {
                let (rate, seconds) = self.next();
                let seconds = self.varied(seconds);
                offer(rate, seconds, self.settle(rate, seconds), Phase::Search)
            }
            State::Hold { rate, seconds, .. } => offer(rate, seconds, 0.0, Phase::Hold),
            State::Again { rate } => offer(rate, unit, 0.25 * unit, Phase::Search),
            State::CheckAbove { rate } => {
                let seconds = self.varied(self.units_above(rate) * unit);
                offer(rate, seconds, 0.25 * unit, Phase::Check)
            }
            State::Done => Step::Done(self.found()),
        }
    }

    fn next(&self) -> (f64, f64) {
        match &self.without_curve {
            Some(without) => self.next_without_curve(without),
            None => self.low_window().unwrap_or_else(|| self.next_window()),
        }
    }

    /// A window's length, varied: what is periodic in the server must not keep step with the
    /// windows. Their lengths, and so their starts, follow the multiples of the golden ratio.
    fn varied(&self, seconds: f64) -> f64 {
        let turn = (self.windows.len() as f64 * GOLDEN).fract();
        seconds * (VARIED.0 + (VARIED.1 - VARIED.0) * turn)
    }

    /// The load line as far as it is known: never above what was clearly too much.
    fn line(&self) -> f64 {
        if let Some(line) = self.without_curve.as_ref().and_then(|without| without.line) {
            return line.line_per_s;
        }
        let fitted = self.fit.as_ref().map_or(f64::INFINITY, |fit| fit.line_per_s);
        let line = fitted.min(self.too_much);
        if line.is_finite() { line } else { self.kept.unwrap_or(self.settings.start_per_s) }
    }

    /// The rate just above the line, for the check.
    fn above(&self) -> f64 {
        self.line() * (1.0 + self.settings.precision)
    }

    /// The highest rate that may be offered.
    fn most(&self) -> f64 {
        self.settings.max_rate_per_s.unwrap_or(f64::INFINITY)
    }

    fn judge(&mut self, window: &Window) {
        self.seconds += window.seconds;
        let beyond = self.goal().is_beyond(window);
        self.verdict = match (window.was_cut, beyond) {
            (true, _) => Verdict::Cut,
            (_, true) => Verdict::Beyond,
            _ => Verdict::Within,
        };
        if self.base_p50_ns == 0 && window.counted() >= 1 {
            self.base_p50_ns = window.response.quantile_ns(0.5).unwrap_or(0);
        }
        self.has_kept |= !beyond && window.counted() > 0;
        self.windows.push(window.clone());
        if window.phase != Phase::Recover && self.is_kept(window.rate_per_s) {
            self.kept = Some(self.kept.unwrap_or(0.0).max(window.rate_per_s));
        }
        let clearly = is_clearly_too_much(window);
        if clearly && window.phase != Phase::Recover {
            self.too_much = self.too_much.min(window.rate_per_s);
        }
        self.state = match self.state {
            State::Ramp { rate } => {
                if clearly && !self.has_kept {
                    State::Down { rate: rate / 4.0 }
                } else if clearly {
                    self.refit();
                    State::Recover { tries: 0 }
                } else {
                    self.higher(rate, beyond)
                }
            }
            State::Down { rate } if !beyond && window.counted() > 0 => State::Ramp { rate },
            State::Down { rate } if rate / 4.0 >= LEAST_RATE => State::Down { rate: rate / 4.0 },
            State::Down { .. } => State::Done,
            State::Hold { rate, seconds, is_most: true } => self.held_most(rate, seconds, window),
            State::Hold { rate, seconds, .. } => self.held(rate, seconds, window),
            State::Recover { tries } => self.recovering(window, tries),
            State::Search => {
                self.was_low = true;
                self.refit();
                if self.without_curve.is_some() {
                    self.state = self.searched_without_curve(clearly);
                    return;
                }
                self.blind += u32::from(self.fit.is_none());
                self.calibrate();
                if self.find_pauses() || self.leave_far_off() {
                    self.state = State::Search;
                    return;
                }
                self.count_stalled();
                // A server that is overloaded by every window ends too.
                let is_over = self.seconds >= MOST_SECONDS;
                if clearly && !is_over { State::Recover { tries: 0 } } else { self.search_on() }
            }
            State::Again { rate } => self.tried_again(rate, window, clearly),
            State::CheckAbove { rate } => self.checked_above(rate, window, beyond),
            State::Done => State::Done,
        };
    }

    /// Whether enough requests show that a rate keeps the SLO: those of all windows near it, since
    /// the short ones of a slow server have too few each.
    fn is_kept(&self, rate_per_s: f64) -> bool {
        let near = |window: &&Window| {
            window.phase != Phase::Recover && (window.rate_per_s / rate_per_s).ln().abs() < NEAR
        };
        let sum = |(n, beyond): (u64, u64), window: &Window| {
            (n + window.counted(), beyond + window.beyond)
        };
        let (n, beyond) = self.windows.iter().filter(near).fold((0, 0), sum);
        n >= ENOUGH && beyond as f64 <= self.share() * n as f64
    }

    fn higher(&mut self, rate: f64, beyond: bool) -> State {
        let next = 2.0 * rate;
        match self.settings.max_rate_per_s {
            Some(most) if rate >= most && beyond => {
                self.refit();
                State::Search
            }
            Some(most) if rate >= most => self.hold_most(most),
            Some(most) => State::Ramp { rate: next.min(most) },
            None => State::Ramp { rate: next },
        }
    }

    fn recovering(&mut self, window: &Window, tries: u32) -> State {
        let p50 = window.response.quantile_ns(0.5);
        // Too few requests to tell: one that was answered at once tells enough.
        let usual = 2 * self.base_p50_ns.max(1);
        let recovered = match p50 {
            Some(p50) => p50 <= usual.max(self.settings.slo.1 / 4),
            None => window.counted() == 0 && tries > 0,
        };
        if recovered || tries >= MOST_RECOVERIES {
            self.refit();
            return self.contradict().unwrap_or(State::Search);
        }
        State::Recover { tries: tries + 1 }
    }

    fn search_on(&mut self) -> State {
        if let Some(next) = self.doubt() {
            return next;
        }
        let precise = self.fit.as_ref().is_some_and(|fit| fit.half_width() <= self.wanted());
        match () {
            () if self.blind >= MOST_BLIND => {
                self.leave_curve();
                State::Search
            }
            () if precise || self.seconds >= MOST_SECONDS => self.begin_hold(),
            () => State::Search,
        }
    }
}

/// Whether a window was cut, or half of its requests were beyond the bound.
fn is_clearly_too_much(window: &Window) -> bool {
    let share = window.beyond_share().unwrap_or(0.0);
    window.was_cut || (share > 0.5 && window.counted() >= 10)
}

impl Search for Adaptive {
    fn next(&mut self, result: Option<&Window>) -> Step {
        if let Some(window) = result {
            self.judge(window);
        }
        self.offer()
    }

    fn verdict(&self) -> Verdict {
        self.verdict
    }

    fn so_far(&self) -> SearchEstimate {
        self.found()
    }
}
