//! The published method: doubling while latency stays near the network's round trip, then steps of
//! a fixed size until a window breaks the SLO.
//!
//! Faithful to the listing and the text of *black-box latency-based throughput estimation*, where
//! these differ by choice of [`StepOf`]; two cases for which it has no answer are answered here: a
//! first window that is refused (it halves), and a last accepted rate that does not keep the SLO
//! when it is looked at again (it is the estimate then, marked as a bound).

use crate::bracket::{Bracket, By, RateCheck};
use crate::hold::Hold;
use crate::search::{Check, Search, SearchEstimate, Step};
use crate::window::{Offer, Phase, SLICE_S, Verdict, Window};
use plimsoll_stats::slo::Comparison;
pub use plimsoll_workload::search::StepOf;

/// How often the first rate is halved before giving up.
const HALVINGS: u32 = 10;
/// The rate at which nothing is left to halve, per second.
const LEAST_RATE: f64 = 0.01;

/// How the ladder climbs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// The SLO: a quantile of the response time, and its bound in nanoseconds.
    pub slo: (f64, u64),
    /// Whether the bound itself is allowed.
    pub comparison: Comparison,
    /// The first rate, per second.
    pub start_per_s: f64,
    /// The length of a window, seconds.
    pub window_s: f64,
    /// The fine-tuning rate.
    pub tuning: f64,
    /// How far the median may exceed the round trip in the ramp, nanoseconds; `None`: the SLO's
    /// own percentile decides.
    pub near_rtt_ns: Option<u64>,
    /// What a step is a share of.
    pub step_of: StepOf,
    /// The highest rate that may be offered.
    pub max_rate_per_s: Option<f64>,
}

/// Where the ladder stands.
#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    /// Doubling; the rate accepted before.
    Ramp { rate: f64, accepted: Option<f64> },
    /// Halving, since the very first window was refused.
    Down { rate: f64, left: u32 },
    /// Raising by steps; the rate that kept the SLO last.
    Tune { rate: f64, step: f64, kept: Option<f64>, accepted: bool },
    /// At an end.
    Done,
}

/// The state machine.
#[derive(Debug, Clone)]
pub struct Ladder {
    settings: Settings,
    state: State,
    verdict: Verdict,
    /// The rates of whole windows that kept the SLO, and of those that did not, so far.
    seen: Vec<RateCheck>,
    notes: Vec<String>,
}

impl Ladder {
    /// A ladder at its foot.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let state = State::Ramp { rate: settings.start_per_s, accepted: None };
        Self { settings, state, verdict: Verdict::Accepted, seen: Vec::new(), notes: Vec::new() }
    }

    /// Takes over the verdict on the last window of a ladder before this one.
    pub(crate) fn begin_with(&mut self, verdict: Verdict) {
        self.verdict = verdict;
    }

    fn offer(&self, rate: f64, phase: Phase) -> Step {
        Step::Offer(Offer {
            rate_per_s: rate,
            seconds: self.settings.window_s,
            settle_s: 0.0,
            phase,
            may_cut: false,
            // The published windows are runs of their own: a queue of one is not the next one's.
            fresh: true,
        })
    }

    fn keeps_slo(&self, window: &Window) -> bool {
        let (quantile, bound) = self.settings.slo;
        let within = |ns: u64| self.settings.comparison.holds(ns as f64, bound as f64);
        window.response.quantile_ns(quantile).is_some_and(within)
    }

    /// Whether more than half of the window's seconds stayed near the round trip.
    fn accepts(&self, window: &Window) -> bool {
        let Some(allowance) = self.settings.near_rtt_ns else { return self.keeps_slo(window) };
        let near = |ns: u64, rtt: u64| ns.saturating_sub(rtt) <= allowance;
        let passes = |second: &&crate::window::Second| {
            second.due == 0 || second.p50_ns.is_some_and(|p50| near(p50, second.rtt_ns))
        };
        let passed = window.each_second.iter().filter(passes).count();
        2 * passed > window.each_second.len()
    }

    fn judge(&mut self, window: &Window) {
        if window.seconds + SLICE_S < self.settings.window_s {
            // The search's time cut it short: it has kept nothing for as long as it is to.
            self.verdict = Verdict::Discarded;
            return;
        }
        let ramping = matches!(self.state, State::Ramp { .. } | State::Down { .. });
        let keeps = self.keeps_slo(window);
        let good = if ramping { self.accepts(window) } else { keeps };
        let check = if keeps { Check::Held } else { Check::Broken };
        self.seen.push(RateCheck { rate_per_s: window.rate_per_s, check, by: By::Windows });
        self.verdict = match (ramping, good) {
            (true, true) => Verdict::Accepted,
            (true, false) => Verdict::Refused,
            (false, true) => Verdict::Within,
            (false, false) => Verdict::Beyond,
        };
        self.state = match self.state {
            State::Ramp { rate, .. } if good => self.double(rate),
            State::Ramp { rate, accepted: Some(accepted) } => {
                let gap = match self.settings.step_of {
                    StepOf::Gap => rate - accepted,
                    StepOf::Half => accepted / 2.0,
                };
                let step = self.settings.tuning * gap;
                State::Tune { rate: accepted, step, kept: None, accepted: true }
            }
            State::Ramp { rate, accepted: None } => {
                State::Down { rate: rate / 2.0, left: HALVINGS - 1 }
            }
            State::Down { rate, .. } if good => self.tune_from(rate, true),
            State::Down { rate, left } if left > 0 && rate / 2.0 >= LEAST_RATE => {
                State::Down { rate: rate / 2.0, left: left - 1 }
            }
            State::Down { rate, .. } => {
                self.notes.push(
                    "every window was slower than the near-RTT allowance: fine tuning began at \
                     the least rate"
                        .to_owned(),
                );
                self.tune_from(rate, false)
            }
            State::Tune { rate, step, .. } if good => {
                let next = rate + step;
                match self.settings.max_rate_per_s {
                    Some(most) if next > most => State::Done,
                    _ => State::Tune { rate: next, step, kept: Some(rate), accepted: true },
                }
            }
            State::Tune { .. } | State::Done => State::Done,
        };
    }

    fn double(&mut self, rate: f64) -> State {
        let most = self.settings.max_rate_per_s.unwrap_or(f64::INFINITY);
        if rate * 2.0 > most {
            self.notes.push("the ramp ended at the highest rate allowed".to_owned());
            let step = self.settings.tuning * rate;
            return State::Tune { rate, step, kept: None, accepted: true };
        }
        State::Ramp { rate: rate * 2.0, accepted: Some(rate) }
    }

    fn tune_from(&mut self, rate: f64, accepted: bool) -> State {
        self.notes.push("the first window was refused: the search went down first".to_owned());
        State::Tune { rate, step: self.settings.tuning * rate, kept: None, accepted }
    }
}

impl Search for Ladder {
    fn next(&mut self, result: Option<&Window>) -> Step {
        let before = self.state;
        if let Some(window) = result {
            self.judge(window);
        }
        match self.state {
            State::Ramp { rate, .. } | State::Down { rate, .. } => self.offer(rate, Phase::Ramp),
            State::Tune { rate, .. } => self.offer(rate, Phase::Tune),
            State::Done => Step::Done(self.found(before)),
        }
    }

    fn verdict(&self) -> Verdict {
        self.verdict
    }

    fn so_far(&self) -> SearchEstimate {
        // What the ramp accepts may have broken the SLO: it goes by the median.
        let Bracket { held_per_s, broken_per_s } = Bracket::between(&self.seen);
        SearchEstimate {
            estimate_per_s: held_per_s,
            lower_bound_per_s: held_per_s,
            held_per_s,
            broken_per_s,
            is_bound: true,
            notes: self.notes.clone(),
            ..SearchEstimate::default()
        }
    }
}

impl Ladder {
    /// The estimate: the rate before the one that broke the SLO. `last` is the state in which the
    /// last window was judged.
    ///
    /// The published method holds nothing afterwards. But its last window that kept the SLO is what
    /// a hold is: at the estimate itself, of a length that was fixed beforehand, on a server
    /// without work, and never cut.
    fn found(&self, last: State) -> SearchEstimate {
        let mut found = SearchEstimate { notes: self.notes.clone(), ..SearchEstimate::default() };
        let State::Tune { rate, kept, accepted, .. } = last else { return found };
        if kept.is_none() && !accepted && self.verdict != Verdict::Within {
            return found;
        }
        if self.verdict == Verdict::Within {
            found.notes.push("the search ended at the highest rate allowed".to_owned());
            found.estimate_per_s = Some(rate);
            found.lower_bound_per_s = Some(rate);
            found.held_per_s = Some(rate);
            found.holds.push(Hold { rate_per_s: rate, check: Check::Held });
            found.is_bound = true;
            return found;
        }
        found.lower_bound_per_s = kept;
        (found.held_per_s, found.broken_per_s) = (kept, Some(rate));
        let held = kept.map(|rate_per_s| Hold { rate_per_s, check: Check::Held });
        found.holds.extend(held);
        found.is_bound = kept.is_none();
        // The ramp accepted the rate; fine tuning, which looked at it again, did not.
        found.estimate_per_s = kept.or(Some(rate));
        if kept.is_none() {
            found.notes.push(
                "the last accepted rate did not keep the SLO when it was looked at again: the \
                 estimate is an upper bound"
                    .to_owned(),
            );
        }
        found
    }
}
