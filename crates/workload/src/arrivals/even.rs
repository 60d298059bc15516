//! Even arrivals: request n is due at Λ⁻¹(n).

use std::sync::Arc;

use super::Share;
use crate::schedule::{Count, Inverse, Schedule, fixed_offset, high};

#[derive(Clone, Debug)]
pub(super) struct Even {
    schedule: Arc<Schedule>,
    /// Number of the next request of this share.
    next: u64,
    /// Shares.
    of: u64,
    total: u64,
    /// The segment that `next` falls in, or one before it.
    segment: usize,
}

impl Even {
    pub(super) fn new(schedule: Arc<Schedule>, share: Share) -> Self {
        let (next, of) = share.normal();
        Self { next, of, total: schedule.total(), segment: 0, schedule }
    }

    pub(super) fn fill(&mut self, out: &mut [u64]) -> usize {
        let mut filled = 0;
        while filled < out.len() && self.next < self.total {
            let end = self.schedule.after(self.segment).ceil().min(self.total);
            if self.next >= end {
                // Past the last segment there are no requests: `end` is then the total.
                self.segment += 1;
                continue;
            }
            let left = (end - self.next).div_ceil(self.of);
            let room = out.len() - filled;
            let n = usize::try_from(left).unwrap_or(room).min(room);
            self.fill_within(&mut out[filled..filled + n]);
            filled += n;
            self.next += n as u64 * self.of;
        }
        filled
    }

    /// Due times that all fall into the present segment.
    fn fill_within(&self, out: &mut [u64]) {
        let segment = self.schedule.segments()[self.segment];
        let inverse = segment.shape.inverse(segment.length_ns);
        let (whole, part) = Count { whole: self.next, part: 0.0 }.since(segment.before);
        if let Inverse::Constant { period } = inverse {
            // Sums of a fixed-point number are products of it, bit for bit.
            let mut due = (u128::from(segment.start_ns) << 64) + fixed_offset(period, whole, part);
            let step = period * u128::from(self.of);
            for out in out {
                *out = high(due);
                due += step;
            }
        } else {
            let mut whole = whole;
            for out in out {
                let offset = inverse.offset_ns(whole, part);
                *out = segment.start_ns + offset.min(segment.length_ns);
                whole += self.of;
            }
        }
    }
}
