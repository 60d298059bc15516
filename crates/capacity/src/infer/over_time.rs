//! The load over time: one stretch after the other, each told from the probes that were due in it.
//!
//! Probes go on without a break. A stretch is judged when all of its probes have ended; of one that
//! says nothing it is said why.

use super::calibration::{Calibration, CalibrationError};
use super::estimate::Probe;
use super::live::{LATENESS_NS, probe_of};
use super::probing::{Declined, Probing, Settings, Step, Why};
use plimsoll_runs::{Interval, Sample, Tag};
use plimsoll_stats::Histogram;
use std::collections::VecDeque;

/// The generator is the limit, too, where it stood still for so long that it made the mean of a
/// stretch's responses longer by this share.
const STOOD_STILL: f64 = 0.02;
/// A stretch of fewer probes, in the mean, would mostly say nothing.
pub const LEAST_PROBES: f64 = 150.0;

/// What is told of a stretch.
#[derive(Debug, Clone, PartialEq)]
pub struct Stretch {
    /// Its number, from 1.
    pub number: u64,
    /// When it began, nanoseconds since the first probe could be due.
    pub from_ns: u64,
    /// When it ended.
    pub until_ns: u64,
    /// Probes of it whose response is known.
    pub probes: u64,
    /// Those of them that failed by the target's fault, before an answer would have been slow.
    pub failed: u64,
    /// The load, or why it is not told; never [`Step::Probe`].
    pub step: Step,
}

/// Judges stretches. It reads no clock.
#[derive(Debug)]
pub struct Stretches {
    probing: Probing,
    every_ns: u64,
    /// An answer that takes longer is slower than any that the calibration knows.
    bound_ns: u64,
    /// Probes that have ended, of stretches that are not judged yet.
    ended: Vec<Probe>,
    /// How late probes were sent, by the start and the end of the second.
    late: VecDeque<(u64, u64, Histogram)>,
    /// Until when what had piled up was answered, seconds.
    piled_up_s: f64,
    /// When the last probe was due that has ended, seconds.
    last_due_s: f64,
    judged: u64,
}

impl Stretches {
    /// Stretches of this length, each with as many probes as the settings' rate gives it.
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
            piled_up_s: 0.0,
            last_due_s: 0.0,
            judged: 0,
        })
    }

    /// Takes probes that have ended, in any order.
    pub fn take(&mut self, samples: &[Sample]) {
        let from_s = self.end_ns(self.judged) as f64 / 1e9;
        let bound_s = self.probing.bound_s();
        for probe in samples.iter().filter_map(|sample| probe_of(sample, bound_s)) {
            if probe.due_s < from_s {
                // What comes after its stretch was judged is of no other, but others waited for it.
                self.pile_up(&probe);
            } else {
                self.last_due_s = self.last_due_s.max(probe.due_s);
                self.ended.push(probe);
            }
        }
    }

    /// A probe of a stretch in which the server did not keep up: until it was answered, others
    /// waited.
    fn pile_up(&mut self, probe: &Probe) {
        let done_s = probe.due_s + probe.response_s.unwrap_or(0.0);
        self.piled_up_s = self.piled_up_s.max(done_s);
    }

    /// Takes a second, after the probes that ended in it. Returns the stretches that are over.
    pub fn second(&mut self, second: &Interval) -> Vec<Stretch> {
        let end_ns = second.start_ns + second.len_ns;
        self.late.push_back((second.start_ns, end_ns, second.all_phases(Tag::Lateness)));
        let is_any_out = second.in_flight + second.waiting > 0;
        let age_ns = if is_any_out { second.oldest_outstanding_ns } else { 0 };
        let is_stuck = age_ns >= self.bound_ns.max(self.every_ns);
        // Nobody sends what is due, though there are connections for it.
        let is_asleep = second.waiting > 0 && second.in_flight < second.connections;
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
            let stuck = if is_asleep { Why::Late } else { Why::Slower };
            over.push(self.judge((!is_whole).then_some(stuck)));
        }
        over
    }

    /// Ends, when probes were sent for so long and all have ended. Returns the stretches that were
    /// whole until then.
    pub fn end(&mut self, offered_ns: u64) -> Vec<Stretch> {
        let whole = offered_ns / self.every_ns;
        (self.judged..whole).map(|_| self.judge(None)).collect()
    }

    /// When a stretch ends.
    fn end_ns(&self, number: u64) -> u64 {
        self.every_ns.saturating_mul(number)
    }

    /// Judges the next stretch; `stuck` says why where it has probes of which nothing comes.
    fn judge(&mut self, stuck: Option<Why>) -> Stretch {
        let (from_ns, until_ns) = (self.end_ns(self.judged), self.end_ns(self.judged + 1));
        self.judged += 1;
        self.ended.sort_by(|a, b| a.due_s.total_cmp(&b.due_s));
        let until_s = until_ns as f64 / 1e9;
        let after = self.ended.partition_point(|probe| probe.due_s < until_s);
        let probes: Vec<Probe> = self.ended.drain(..after).collect();
        let count = probes.len() as u64;
        let failed = probes.iter().filter(|probe| probe.response_s.is_none()).count() as u64;
        let is_after = self.piled_up_s > from_ns as f64 / 1e9 + self.probing.bound_s();
        let why = match stuck {
            None if self.is_late((from_ns, until_ns), &probes) => Some(Why::Late),
            None if is_after => Some(Why::Stalled),
            stuck => stuck,
        };
        let step = match why {
            Some(why) => {
                let (known, probes_needed, probes_needed_at_best) = (None, None, None);
                Step::Declined(Declined { why, known, probes_needed, probes_needed_at_best })
            }
            None => self.probing.judge_all(probes.clone()),
        };
        if let Step::Declined(Declined { why: Why::Slower | Why::Stalled, .. }) = step {
            probes.iter().for_each(|probe| self.pile_up(probe));
        }
        Stretch { number: self.judged, from_ns, until_ns, probes: count, failed, step }
    }

    /// Whether this program was too late itself between two times, by the seconds that lie between
    /// them, also in part. Where it stood still, those due meanwhile were late by half of it in the
    /// mean.
    fn is_late(&mut self, (from_ns, until_ns): (u64, u64), probes: &[Probe]) -> bool {
        while self.late.front().is_some_and(|(_, end_ns, _)| *end_ns <= from_ns) {
            self.late.pop_front();
        }
        let mut all = Histogram::default();
        let mut stood_still = 0.0;
        for (_, _, late) in self.late.iter().filter(|(start_ns, ..)| *start_ns < until_ns) {
            all.add(late);
            let longest_s = late.max().unwrap_or(0) as f64 / 1e9;
            stood_still += longest_s * longest_s / 2.0;
        }
        let seconds = (until_ns - from_ns) as f64 / 1e9;
        let bound_s = self.probing.bound_s();
        let responses = probes.iter().filter_map(|probe| probe.response_s);
        let sum: f64 = responses.map(|response_s| response_s.min(bound_s)).sum();
        let mean_s = sum / (probes.len() as f64).max(1.0);
        let is_mostly_late = all.value_at_quantile(0.9).is_some_and(|late| late > LATENESS_NS);
        is_mostly_late || (mean_s > 0.0 && stood_still / seconds > STOOD_STILL * mean_s)
    }
}
