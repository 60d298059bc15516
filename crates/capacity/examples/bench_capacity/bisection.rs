//! The baseline: doubling, then bisection, in windows of five seconds, for a given load time.

use plimsoll_capacity::hold::Hold;
use plimsoll_capacity::search::{Check, Search, SearchEstimate, Step};
use plimsoll_capacity::window::{Offer, Phase, Verdict, Window};

const WINDOW_S: f64 = 5.0;

/// The state machine.
pub(crate) struct Bisection {
    slo: (f64, u64),
    rate: f64,
    low: f64,
    high: Option<f64>,
    left_s: f64,
    verdict: Verdict,
}

impl Bisection {
    pub(crate) fn new(slo: (f64, u64), start_per_s: f64, seconds: f64) -> Self {
        let verdict = Verdict::Within;
        Self { slo, rate: start_per_s, low: 0.0, high: None, left_s: seconds, verdict }
    }

    fn middle(&self) -> f64 {
        self.high.map_or(2.0 * self.rate, |high| f64::midpoint(self.low, high))
    }
}

impl Search for Bisection {
    fn next(&mut self, result: Option<&Window>) -> Step {
        if let Some(window) = result {
            let p90 = window.response.quantile_ns(self.slo.0);
            let within = p90.is_some_and(|ns| ns < self.slo.1) || window.counted() == 0;
            self.verdict = if within { Verdict::Within } else { Verdict::Beyond };
            match within {
                true => self.low = self.rate,
                false => self.high = Some(self.rate),
            }
            self.left_s -= window.seconds;
            self.rate = self.middle();
            // A bracket is found whatever it takes; after it, time counts.
            if self.left_s < 0.5 * WINDOW_S && self.high.is_some() {
                return Step::Done(self.so_far());
            }
        }
        Step::Offer(Offer {
            rate_per_s: self.rate,
            seconds: WINDOW_S,
            settle_s: 0.0,
            phase: Phase::Search,
            may_cut: false,
            fresh: false,
        })
    }

    fn verdict(&self) -> Verdict {
        self.verdict
    }

    fn so_far(&self) -> SearchEstimate {
        // It holds nothing: what it claims is taken as it is.
        let holds = vec![Hold { rate_per_s: self.middle(), check: Check::Held }];
        SearchEstimate { estimate_per_s: Some(self.middle()), holds, ..SearchEstimate::default() }
    }
}
