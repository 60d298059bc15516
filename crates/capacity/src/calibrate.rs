//! A search that looks at low and middle loads as well when it has found what it was after, so that
//! its windows tell the load from the response times there ([`crate::infer`]).
//!
//! A search for a capacity measures where the capacity is; of low loads it sees the short windows
//! of its ramp. These are longer: [`REQUESTS`] each, but none longer than [`LONGEST_S`].

use crate::search::{Search, SearchEstimate, Step};
use crate::window::{Offer, Phase, Verdict, Window};

/// The shares of the estimate that are offered, in this order.
pub const SHARES: [f64; 5] = [0.1, 0.25, 0.45, 0.65, 0.85];
/// So many requests make a window.
pub const REQUESTS: f64 = 2000.0;
/// And it is at most so long, seconds; and at least so long.
pub const LONGEST_S: f64 = 30.0;
const SHORTEST_S: f64 = 4.0;
/// So much of a window comes first and is not counted: at first the server may still be busy with
/// what the search left it.
const SETTLE: f64 = 0.15;

/// A search and what comes after it.
pub struct Calibrating {
    search: Box<dyn Search>,
    /// What the search found, and how many windows have been offered since.
    done: Option<(SearchEstimate, usize)>,
    /// The SLO's share beyond its bound.
    share: f64,
    /// The shortest window of use, seconds: several times the SLO's bound.
    unit_s: f64,
    verdict: Verdict,
}

impl Calibrating {
    /// Goes on from a search; `slo` is its quantile and its bound in nanoseconds.
    #[must_use]
    pub fn after(search: Box<dyn Search>, slo: (f64, u64)) -> Self {
        let unit_s = (8.0 * slo.1 as f64 / 1e9).max(SHORTEST_S);
        Self { search, done: None, share: 1.0 - slo.0, unit_s, verdict: Verdict::Within }
    }

    /// The next window, after so many.
    fn offer(&self, estimate: f64, number: usize) -> Option<Offer> {
        let rate_per_s = SHARES.get(number)? * estimate;
        let seconds = (REQUESTS / rate_per_s).min(LONGEST_S).max(self.unit_s).ceil();
        let settle_s = SETTLE * seconds;
        let (phase, may_cut, fresh) = (Phase::Calibrate, true, false);
        Some(Offer { rate_per_s, seconds, settle_s, phase, may_cut, fresh })
    }
}

impl Search for Calibrating {
    fn next(&mut self, result: Option<&Window>) -> Step {
        if let Some((_, number)) = &mut self.done {
            let window = result.filter(|window| !window.was_cut);
            let beyond = result.and_then(Window::beyond_share).unwrap_or(0.0) > self.share;
            self.verdict = match (window, beyond) {
                (None, _) => Verdict::Cut,
                (_, true) => Verdict::Beyond,
                _ => Verdict::Within,
            };
            *number += 1;
        } else {
            match self.search.next(result) {
                Step::Done(found) => self.done = Some((found, 0)),
                step @ Step::Offer(_) => return step,
            }
            self.verdict = self.search.verdict();
        }
        let Some((found, number)) = &self.done else { return self.search.next(None) };
        let next = found.estimate_per_s.and_then(|estimate| self.offer(estimate, *number));
        next.map_or_else(|| Step::Done(found.clone()), Step::Offer)
    }

    fn verdict(&self) -> Verdict {
        if self.done.is_some() { self.verdict } else { self.search.verdict() }
    }

    fn so_far(&self) -> SearchEstimate {
        self.done.as_ref().map_or_else(|| self.search.so_far(), |(found, _)| found.clone())
    }
}
