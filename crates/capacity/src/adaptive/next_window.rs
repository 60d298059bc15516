//! The rate and the length of the next window: what tells most about the line while staying below
//! it (the escalation with overdose control of [`super`]).

use super::fit::Fit;
use super::{Adaptive, ENOUGH, LEAST_RATE, ROUGH};
use crate::window::Window;
use plimsoll_stats::interval::student;

/// So many of the shortest windows may be spent above the line by misjudgement, in the mean.
const OVERLOADS: f64 = 1.6;
/// And at least so far below it.
const LEAST_DISTANCE: f64 = 0.01;
/// Of that rate, the shares that are considered: what is further below says more of the curve than
/// of the line, and the window at low load says that better.
const SHARES: [f64; 3] = [1.0, 0.9, 0.8];
/// So many windows that leave the interval as wide as it was stall a search, where they are this
/// far below the line: a little more than was seen to keep the SLO is offered then.
const STALLED: u32 = 8;
const NARROWER: f64 = 0.97;
const FAR_BELOW: f64 = 0.75;
const BEYOND_KEPT: f64 = 1.1;
const JUST_BELOW: f64 = 0.95;
/// The service time is looked at with a load of this share of the line, for so many units at most.
const LOW: f64 = 0.14;
const LONGEST_LOW: f64 = 20.0;
/// So many requests at low load, where no curve says how many are needed.
const LOW_REQUESTS: f64 = 100.0;

impl Adaptive {
    /// A window at low load, where the service time is not known well enough yet: all that is said
    /// of the line rests on it. Where no curve fits, what the ramp took for the service time was
    /// waiting, by chance or for a disturbance.
    pub(super) fn low_window(&self) -> Option<(f64, f64)> {
        let lacking = self.fit.as_ref().map_or(LOW_REQUESTS, Fit::service_lacks);
        if self.was_low || lacking <= 0.0 {
            return None;
        }
        let rate = (LOW * self.line().min(self.most())).max(LEAST_RATE);
        Some((rate, (lacking / rate).clamp(self.unit_s(), LONGEST_LOW * self.unit_s()).ceil()))
    }

    /// The next rate and for how long.
    pub(super) fn next_window(&self) -> (f64, f64) {
        let Some(fit) = &self.fit else {
            // More is to be seen between what was kept and what was not.
            let kept = self.kept.unwrap_or(self.settings.start_per_s);
            let rate = (kept * self.broken(kept)).sqrt().min(1.5 * kept).min(self.most());
            return (rate, 2.0 * self.unit_s());
        };
        let half = fit.half_width();
        let distance = (self.caution(fit) * fit.error).clamp(LEAST_DISTANCE, 1.0);
        let mut rate = fit.line_per_s * libm::exp(-distance);
        // Whatever a curve says: below what was too much, and no leap beyond what was kept.
        rate = rate.min(0.98 * self.too_much).min(2.0 * self.kept.unwrap_or(f64::INFINITY));
        rate = rate.min(self.most());
        if self.stalled >= STALLED && rate < FAR_BELOW * fit.line_per_s {
            return (self.unstalled(fit, rate), self.unit_s());
        }
        let units = if half > ROUGH {
            1.0
        } else if half > 0.12 {
            2.0
        } else {
            4.0
        };
        let seconds = units * self.unit_s();
        let (mut best, mut most) = (rate, 0.0);
        for share in SHARES {
            let candidate = share * rate;
            let gain = fit.gain(candidate, 0.75 * seconds);
            if gain > most {
                (best, most) = (candidate, gain);
            }
        }
        (best.max(LEAST_RATE), seconds)
    }

    /// The least rate above `kept` at which the SLO did not hold.
    pub(super) fn broken(&self, kept: f64) -> f64 {
        let share = self.share();
        let is_broken = |window: &&Window| {
            window.rate_per_s > kept
                && window.counted() >= ENOUGH
                && window.beyond_share().is_some_and(|beyond| beyond > share)
        };
        let broken = self.windows.iter().filter(is_broken).map(|window| window.rate_per_s);
        broken.fold(self.too_much, f64::min)
    }

    /// What is offered where windows far below an uncertain line say nothing of it, and would leave
    /// it as uncertain for ever: rates that rise from what was seen to keep the SLO.
    fn unstalled(&self, fit: &Fit, careful: f64) -> f64 {
        let kept = BEYOND_KEPT * self.kept.unwrap_or(careful);
        let rate = kept.min(JUST_BELOW * fit.line_per_s).min(0.98 * self.too_much);
        rate.max(careful).min(self.most())
    }

    /// Counts windows that left the interval as wide as it was.
    pub(super) fn count_stalled(&mut self) {
        let Some(fit) = &self.fit else { return };
        let half = fit.half_width();
        if half < NARROWER * self.narrowest {
            (self.narrowest, self.stalled) = (half, 0);
        } else {
            self.stalled += 1;
        }
    }

    /// How many standard errors below the line the next window is: so that over the time that the
    /// search will probably take, what is spent above the line stays within what is allowed.
    fn caution(&self, fit: &Fit) -> f64 {
        let whole = self.seconds * (fit.half_width() / self.wanted()).powi(2).max(1.0);
        let risk = (OVERLOADS * self.unit_s() / whole).clamp(0.003, 0.1);
        student::quantile(1.0 - risk, fit.freedom)
    }

    /// How long a window's beginning is left out, seconds: a queue takes its time to be what it is
    /// at a rate.
    pub(super) fn settle(&self, rate: f64, seconds: f64) -> f64 {
        let relaxation = self.fit.as_ref().map_or(0.0, |fit| fit.relaxation_s(rate));
        (2.0 * relaxation).clamp(0.1 * self.unit_s(), 0.25 * seconds)
    }
}
