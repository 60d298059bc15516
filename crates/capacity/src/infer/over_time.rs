//! The load over time: one moment after the other, each told from the probes that were due in it.
//!
//! Probes go on without a break. A moment is judged when all of its probes have ended; of one that
//! says nothing it is said why.

use super::calibration::{Calibration, CalibrationError};
use super::estimate::Probe;
use super::live::probe_of;
use super::probing::{Declined, Probing, Settings, Step, Why};
use plimsoll_runs::{Interval, Sample, Tag};
use plimsoll_stats::Histogram;
use std::collections::VecDeque;

/// The generator is the limit where a tenth of a moment's probes is later than this, nanoseconds.
const LATENESS_NS: u64 = super::live::LATENESS_NS;
/// A moment of fewer probes, in the mean, would mostly say nothing.
pub const LEAST_PROBES: f64 = 150.0;

/// What is told of a moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Moment {
    /// Its number, from 1.
    pub number: u64,
    /// When it began, nanoseconds since the first probe could be due.
    pub from_ns: u64,
    /// When it ended.
    pub until_ns: u64,
    /// Probes of it whose response is known.
    pub probes: u64,
    /// Those of them that failed by the target's fault.
    pub failed: u64,
    /// The load, or why it is not told; never [`Step::Probe`].
    pub step: Step,
}

/// Judges moments. It reads no clock.
#[derive(Debug)]
pub struct Moments {
    probing: Probing,
    every_ns: u64,
    /// An answer that takes longer is slower than any that the calibration knows.
    bound_ns: u64,
    /// Probes that have ended, of moments that are not judged yet.
    ended: Vec<Probe>,
    /// How late probes were sent, by the start of the second.
    late: VecDeque<(u64, Histogram)>,
    /// When the last probe was due that has ended, seconds.
    last_due_s: f64,
    judged: u64,
}

impl Moments {
    /// Moments of this length, each with as many probes as the settings' rate gives it.
    ///
    /// # Errors
    /// [`CalibrationError::NoCurve`].
    pub fn new(
        calibration: &Calibration,
        settings: Settings,
        every_ns: u64,
    ) -> Result<Self, CalibrationError> {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "seconds")]
        let bound_ns = (calibration.bound_s.min(1e6) * 1e9) as u64;
        Ok(Self {
            probing: Probing::new(calibration, settings)?,
            every_ns: every_ns.max(1),
            bound_ns,
            ended: Vec::new(),
            late: VecDeque::new(),
            last_due_s: 0.0,
            judged: 0,
        })
    }

    /// Takes probes that have ended, in any order.
    pub fn take(&mut self, samples: &[Sample]) {
        let from_s = self.end_ns(self.judged) as f64 / 1e9;
        // What comes after its moment was judged is of no other.
        for probe in samples.iter().filter_map(probe_of).filter(|probe| probe.due_s >= from_s) {
            self.last_due_s = self.last_due_s.max(probe.due_s);
            self.ended.push(probe);
        }
    }

    /// Takes a second, after the probes that ended in it. Returns the moments that are over.
    pub fn second(&mut self, second: &Interval) -> Vec<Moment> {
        self.late.push_back((second.start_ns, second.all_phases(Tag::Lateness)));
        let end_ns = second.start_ns + second.len_ns;
        let is_any_out = second.in_flight + second.waiting > 0;
        let age_ns = if is_any_out { second.oldest_outstanding_ns } else { 0 };
        let is_stuck = age_ns >= self.bound_ns.max(self.every_ns);
        let mut over = Vec::new();
        while let until_ns = self.end_ns(self.judged + 1)
            && until_ns <= end_ns
        {
            let is_whole = until_ns <= end_ns.saturating_sub(age_ns);
            // Where none is due behind it, it may have been cut.
            let goes_on = self.last_due_s * 1e9 >= until_ns as f64;
            if !(is_whole && goes_on) && (is_whole || !is_stuck) {
                break;
            }
            over.push(self.judge(!is_whole));
        }
        over
    }

    /// Ends, when probes were sent for so long and all have ended. Returns the moments that were
    /// whole until then.
    pub fn end(&mut self, offered_ns: u64) -> Vec<Moment> {
        let whole = offered_ns / self.every_ns;
        (self.judged..whole).map(|_| self.judge(false)).collect()
    }

    /// When a moment ends.
    fn end_ns(&self, number: u64) -> u64 {
        self.every_ns.saturating_mul(number)
    }

    /// Judges the next moment; `is_stuck` where it has probes that nobody answers.
    fn judge(&mut self, is_stuck: bool) -> Moment {
        let (from_ns, until_ns) = (self.end_ns(self.judged), self.end_ns(self.judged + 1));
        self.judged += 1;
        self.ended.sort_by(|a, b| a.due_s.total_cmp(&b.due_s));
        let until_s = until_ns as f64 / 1e9;
        let after = self.ended.partition_point(|probe| probe.due_s < until_s);
        let probes: Vec<Probe> = self.ended.drain(..after).collect();
        let mut late = Histogram::default();
        while self.late.front().is_some_and(|(start_ns, _)| *start_ns < until_ns) {
            self.late.pop_front().iter().for_each(|(_, second)| late.add(second));
        }
        let count = probes.len() as u64;
        let failed = probes.iter().filter(|probe| probe.response_s.is_none()).count() as u64;
        let nothing = |why| {
            let (probes_needed, probes_needed_at_best) = (None, None);
            Step::Declined(Declined { why, known: None, probes_needed, probes_needed_at_best })
        };
        let is_late = late.value_at_quantile(0.9).is_some_and(|late_ns| late_ns > LATENESS_NS);
        let step = match (is_stuck, is_late) {
            (true, _) => nothing(Why::Slower),
            (false, true) => nothing(Why::Late),
            (false, false) => self.probing.judge_all(probes),
        };
        Moment { number: self.judged, from_ns, until_ns, probes: count, failed, step }
    }
}
