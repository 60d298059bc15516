//! How many probes are sent: a state machine that is shown responses and asks for more, until it
//! can answer or sees that it cannot.
//!
//! It looks at what it has at a few numbers of probes only, each twice the one before: every look
//! is one more chance to stop at a fluke. It answers at the first at which the interval is narrow
//! enough, and declines where no load within the interval could be told by as many probes as may
//! be sent. It reads no clock, opens no socket and draws no random numbers.

use super::calibration::{Calibration, CalibrationError};
use super::estimate::{Estimate, Fits, Probe, Table};
use super::model::Model;

/// The first look.
const FIRST_LOOK: u64 = 200;
/// The usual rate of the probes, as a share of the capacity.
pub const USUAL_SHARE: f64 = 0.01;
/// An estimate is this many times as far as asked for, at most, from what is out of the question.
const FLUKE: f64 = 2.0;
/// Without windows for their own sake, loads below this share of the capacity are hardly seen: the
/// ramp passes them by in a second each.
const HARDLY_SEEN: f64 = 0.5;
/// Where this many times as many probes would not do, the curve is flat.
const A_FEW_TIMES: f64 = 20.0;
/// More than this share of the probes are explained by no load: they failed at once, or took far
/// longer than any response that the search saw.
const ODD: f64 = 0.01;
/// So many times the longest response of the search is far longer.
const FAR: f64 = 2.0;
/// It goes on where the interval could still come to within this factor of what is asked for.
const HOPE: f64 = 1.25;

/// How to probe.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// So many probes at most.
    pub probes: u64,
    /// Their rate, per second.
    pub rate_per_s: f64,
    /// Half the width of the interval that is asked for, as a share of the capacity.
    pub within: f64,
}

/// What is next.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// So many more probes, as Poisson arrivals of the settings' rate.
    Probe(u64),
    /// An answer.
    Done(Estimate),
    /// None.
    Declined(Declined),
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Declined {
    /// Why.
    pub why: Why,
    /// What is known all the same; `None` where nothing was answered.
    pub known: Option<Estimate>,
    /// How many probes would be needed; `None` where no number is enough.
    pub probes_needed: Option<u64>,
    /// How many would be needed were the fitted curve exact. Where it is flat its slope is hardly
    /// known: the true number may be a hundred times as great.
    pub probes_needed_at_best: Option<u64>,
}

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// Response times hardly depend on the load here.
    Flat,
    /// The calibration is too coarse here, whatever is probed.
    Coarse,
    /// It ended before enough was sent.
    Ended,
    /// Responses are faster than without load.
    Faster,
    /// Responses are slower than at any load that the server sustains.
    Slower,
    /// No probe was answered.
    Unanswered,
    /// Probes failed, and sooner than a slow server would have answered them.
    Failing,
    /// Responses took far longer than any that the search saw: the server stood still, or what had
    /// piled up was being answered.
    Stalled,
    /// More probes would tell it, a few times as many as there were.
    Few,
    /// The generator itself was late.
    Late,
}

impl Why {
    /// Every reason.
    pub const ALL: [Self; 10] = [
        Self::Flat,
        Self::Coarse,
        Self::Ended,
        Self::Faster,
        Self::Slower,
        Self::Unanswered,
        Self::Failing,
        Self::Stalled,
        Self::Few,
        Self::Late,
    ];

    /// The name in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Flat => "flat",
            Self::Coarse => "coarse_calibration",
            Self::Ended => "ended_early",
            Self::Faster => "faster_than_calibrated",
            Self::Slower => "slower_than_calibrated",
            Self::Unanswered => "unanswered",
            Self::Failing => "failing",
            Self::Stalled => "stalled",
            Self::Few => "too_few_probes",
            Self::Late => "generator_late",
        }
    }
}

/// The state machine.
#[derive(Debug)]
pub struct Probing {
    settings: Settings,
    table: Table,
    calibration: Calibration,
    probes: Vec<Probe>,
    look: u64,
}

impl Probing {
    /// Fits the model, before the first probe.
    ///
    /// # Errors
    /// [`CalibrationError::NoCurve`].
    pub fn new(calibration: &Calibration, settings: Settings) -> Result<Self, CalibrationError> {
        let model = Model::fit(calibration)?;
        let seconds = settings.probes as f64 / settings.rate_per_s;
        let table = Table::of(&model, settings.rate_per_s, seconds, calibration.bound_s);
        let calibration = calibration.clone();
        let look = FIRST_LOOK.min(settings.probes);
        Ok(Self { settings, table, calibration, probes: Vec::new(), look })
    }

    /// An answer that takes longer is slow, seconds.
    #[must_use]
    pub fn bound_s(&self) -> f64 {
        self.calibration.bound_s
    }

    /// So many responses are known.
    #[must_use]
    pub fn probes(&self) -> u64 {
        self.probes.len() as u64
    }

    /// Half the width that is asked for, in requests a second.
    fn half(&self) -> f64 {
        self.settings.within * self.calibration.capacity_per_s
    }

    /// Takes the responses to the probes that were asked for, in the order in which they were due
    /// (fewer where fewer were sent: none ends it), and says what is next.
    pub fn next(&mut self, responses: Option<&[Probe]>) -> Step {
        if let Some(responses) = responses {
            self.probes.extend_from_slice(responses);
            if responses.is_empty() {
                return self.conclude();
            }
        }
        let known = self.probes();
        if known < self.look {
            return Step::Probe(self.look - known);
        }
        let estimate = match self.estimate() {
            Ok(estimate) => estimate,
            Err(why) => return self.decline(why, None),
        };
        match self.judge(&estimate) {
            Some(step) => step,
            None if known >= self.settings.probes || !self.has_hope(&estimate) => {
                self.decline_at(estimate)
            }
            None => {
                // A last look that is hardly more than the one before is left out.
                let next = 2 * known;
                let most = self.settings.probes;
                self.look = if 5 * next >= 4 * most { most } else { next };
                Step::Probe(self.look - known)
            }
        }
    }

    /// What is to be said where it has to end now.
    #[must_use]
    pub fn conclude(&self) -> Step {
        let estimate = match self.estimate() {
            Ok(estimate) => estimate,
            Err(why) => return self.decline(why, None),
        };
        if self.probes() >= FIRST_LOOK / 2
            && let Some(step) = self.judge(&estimate)
        {
            return step;
        }
        self.decline(Why::Ended, Some(estimate))
    }

    /// What probes say that are all that there will be, and the only ones; never [`Step::Probe`].
    pub fn judge_all(&mut self, probes: Vec<Probe>) -> Step {
        self.probes = probes;
        let estimate = match self.estimate() {
            Ok(estimate) => estimate,
            Err(why) => return self.decline(why, None),
        };
        let known = self.probes();
        if known < FIRST_LOOK / 2 {
            return self.decline(Why::Few, Some(estimate));
        }
        self.judge(&estimate).unwrap_or_else(|| match self.needed(&estimate) {
            (Some(needed), _) if needed <= A_FEW_TIMES * known as f64 => {
                self.decline(Why::Few, Some(estimate))
            }
            _ => self.decline_at(estimate),
        })
    }

    /// What the probes say, or why they say nothing of a load.
    fn estimate(&self) -> Result<Estimate, Why> {
        let responses = || self.probes.iter().filter_map(|probe| probe.response_s);
        let (all, answered) = (self.probes.len(), responses().count());
        if answered == 0 {
            return Err(Why::Unanswered);
        }
        let most = ODD * all as f64;
        if (all - answered) as f64 > most {
            return Err(Why::Failing);
        }
        let estimate = self.table.estimate(&self.probes).ok_or(Why::Unanswered)?;
        // Who is overloaded answers late, too.
        let far = responses().filter(|of| *of > FAR * self.calibration.longest_s).count();
        if far as f64 > most && estimate.fits != Fits::Slower {
            return Err(Why::Stalled);
        }
        Ok(estimate)
    }

    /// An answer, or none at any number of probes.
    fn judge(&self, estimate: &Estimate) -> Option<Step> {
        let (low, high) = estimate.ci95;
        match estimate.fits {
            Fits::Faster => Some(self.decline(Why::Faster, None)),
            Fits::Slower => Some(self.decline(Why::Slower, None)),
            Fits::Well => {
                let narrow = 0.5 * (high - low) <= self.half() && self.is_told(estimate);
                narrow.then_some(Step::Done(*estimate))
            }
        }
    }

    /// Whether what is narrow is no fluke. Where the curve is flat the interval is narrow only for
    /// those whose probes were slow by chance, and where it is cut off at no load at all only for
    /// those whose probes were fast: such an interval is told where a load at its upper end could
    /// be. The same holds for one that is cut off at the saturation, and its lower end. Where low
    /// loads were hardly seen, a curve that is too low by chance makes such a load seem high enough
    /// to be told.
    fn is_told(&self, estimate: &Estimate) -> bool {
        let (low, high) = estimate.ci95;
        let at_high = || self.table.half_width(high, self.probes() as f64);
        let below = estimate.load_per_s - estimate.conceivable_from;
        let at_low = || self.table.half_width(low, self.probes() as f64);
        let is_whole = (low > 0.0 || at_high() <= self.half())
            && (high < self.table.highest() || at_low() <= self.half());
        below <= FLUKE * self.half() && is_whole && self.is_seen(low)
    }

    /// Whether the search has seen more of such a load, and of those about it, than a second.
    fn is_seen(&self, load: f64) -> bool {
        self.calibration.has_low_loads || load >= HARDLY_SEEN * self.calibration.capacity_per_s
    }

    /// Whether as many probes as may be sent could tell some load within the interval.
    fn has_hope(&self, estimate: &Estimate) -> bool {
        let (low, high) = estimate.ci95;
        [low, estimate.load_per_s, high].into_iter().any(|load| {
            let half = self.table.half_width(load, self.settings.probes as f64);
            half <= HOPE * self.half() && self.is_seen(load)
        })
    }

    fn decline_at(&self, estimate: Estimate) -> Step {
        let (needed, _) = self.needed(&estimate);
        let why = if needed.is_some() { Why::Flat } else { Why::Coarse };
        self.decline(why, Some(estimate))
    }

    /// How many probes are needed, by this calibration and by an exact one.
    fn needed(&self, estimate: &Estimate) -> (Option<f64>, Option<f64>) {
        let (load, (low, high)) = (estimate.load_per_s, estimate.ci95);
        let (needed, at_best) = self.table.needed(load, self.half());
        let needed = needed.filter(|_| self.is_seen(low));
        if low > 0.0 {
            return (needed, at_best);
        }
        // To be told it takes as many as a load at its upper end, too.
        let (at_high, best_at_high) = self.table.needed(high, self.half());
        let more = |(a, b): (f64, f64)| a.max(b);
        (needed.zip(at_high).map(more), at_best.zip(best_at_high).map(more))
    }

    fn decline(&self, why: Why, known: Option<Estimate>) -> Step {
        let asked = matches!(why, Why::Flat | Why::Coarse | Why::Ended | Why::Few);
        let needed = known.filter(|_| asked).map(|estimate| {
            let (needed, at_best) = self.needed(&estimate);
            (needed.map(rounded), at_best.map(rounded))
        });
        let (probes_needed, probes_needed_at_best) = needed.unwrap_or((None, None));
        Step::Declined(Declined { why, known, probes_needed, probes_needed_at_best })
    }
}

/// A number to two digits, upwards: more would be make-believe.
fn rounded(n: f64) -> u64 {
    let unit = libm::pow(10.0, (n.log10().floor() - 1.0).max(0.0));
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a billion at most"
    )]
    let whole = ((n / unit).ceil() * unit) as u64;
    whole
}
