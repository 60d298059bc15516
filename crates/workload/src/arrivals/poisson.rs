//! Poisson arrivals: the points of a Poisson process of rate one, taken through Λ⁻¹.

use std::sync::Arc;

use super::Share;
use crate::random::Stream;
use crate::schedule::{Inverse, Schedule, period_ns, whole_ns};

#[derive(Clone, Debug)]
pub(super) struct Poisson {
    schedule: Arc<Schedule>,
    stream: Stream,
    /// The last point drawn, in requests since the start of the segment.
    point: f64,
    segment: usize,
    /// Points of other shares to pass before the next of this one.
    to_pass: u64,
    others: u64,
    present: Present,
}

/// What the loop needs of the present segment.
#[derive(Clone, Copy, Debug)]
struct Present {
    start_ns: u64,
    /// The last instant within.
    last_ns: u64,
    area: f64,
    inverse: Inverse,
}

impl Present {
    fn of(schedule: &Schedule, segment: usize) -> Self {
        let found = schedule.segments()[segment];
        Self {
            start_ns: found.start_ns,
            last_ns: found.start_ns + found.length_ns - 1,
            area: found.shape.area(found.length_ns, found.length_ns),
            inverse: found.shape.inverse(found.length_ns),
        }
    }
}

impl Poisson {
    pub(super) fn new(schedule: Arc<Schedule>, mut stream: Stream, share: Share) -> Self {
        let (index, of) = share.normal();
        let present = Present::of(&schedule, 0);
        let point = stream.exponential();
        Self { schedule, stream, point, segment: 0, to_pass: index, others: of - 1, present }
    }

    pub(super) fn fill(&mut self, out: &mut [u64]) -> usize {
        let mut filled = 0;
        while filled < out.len() {
            filled += match self.present.inverse {
                Inverse::Constant { period } => {
                    let ns = period_ns(period);
                    self.fill_within(&mut out[filled..], |point| whole_ns(point * ns))
                }
                inverse => self.fill_within(&mut out[filled..], |point| inverse.offset_of(point)),
            };
            if self.point >= self.present.area && !self.advance() {
                break;
            }
        }
        filled
    }

    /// Due times that fall into the present segment; `self.point` is the next one, and at the end
    /// of the segment lies beyond it.
    fn fill_within(&mut self, out: &mut [u64], offset_ns: impl Fn(f64) -> u64) -> usize {
        let Present { start_ns, last_ns, area, .. } = self.present;
        // Copies, so that the loop keeps them in registers.
        let (mut stream, mut point) = (self.stream.clone(), self.point);
        let mut filled = 0;
        if self.others == 0 {
            for out in out {
                if point >= area {
                    break;
                }
                *out = (start_ns + offset_ns(point)).min(last_ns);
                filled += 1;
                point += stream.exponential();
            }
        } else {
            while point < area && filled < out.len() {
                if self.to_pass == 0 {
                    out[filled] = (start_ns + offset_ns(point)).min(last_ns);
                    filled += 1;
                    self.to_pass = self.others;
                } else {
                    self.to_pass -= 1;
                }
                point += stream.exponential();
            }
        }
        (self.stream, self.point) = (stream, point);
        filled
    }

    /// Goes to the next segment; false after the last.
    fn advance(&mut self) -> bool {
        if self.segment + 1 >= self.schedule.segments().len() {
            return false;
        }
        self.point -= self.present.area;
        self.segment += 1;
        self.present = Present::of(&self.schedule, self.segment);
        true
    }
}
