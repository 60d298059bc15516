//! What clients counted of a load by its end: what came after that is in no figure of the pool.

use plimsoll_runs::{Counters, ErrorKind, Interval, Tag};
use plimsoll_stats::Histogram;

/// What clients counted in some stretch.
#[derive(Debug, Clone, Default)]
pub(super) struct Part {
    start_ns: u64,
    events: Counters,
    response: Histogram,
    waits_ns: u64,
}

impl Part {
    pub(super) fn of(interval: &Interval) -> Self {
        // Of what was served, as in the simulator: who is refused at once has not been fast.
        let mut response = interval.all_phases(Tag::Response);
        response.subtract(&interval.all_phases(Tag::FailedResponse));
        Self {
            start_ns: interval.start_ns,
            events: interval.events.clone(),
            response,
            waits_ns: interval.oldest_outstanding_ns,
        }
    }
}

/// What clients counted.
#[derive(Debug, Default)]
pub(super) struct Counting {
    sum: Part,
    /// Seconds since the last request was due: the load may have ended before them.
    later: Vec<Part>,
}

impl Counting {
    /// Counts a second. `until_end`: what came in it until the load's end, where that is within.
    pub(super) fn add(&mut self, second: Part, until_end: Option<Part>) {
        if second.events.offered > 0 {
            let later = std::mem::take(&mut self.later);
            later.iter().for_each(|part| self.sums(part));
        }
        match until_end.filter(|part| part.start_ns == second.start_ns) {
            Some(part) => {
                // What is due in it was due before the end.
                self.sums(&part);
                let rest = second.events.offered.saturating_sub(part.events.offered);
                self.sum.events.offered += rest;
            }
            None if second.events.offered > 0 => self.sums(&second),
            None => self.later.push(second),
        }
    }

    fn sums(&mut self, part: &Part) {
        self.sum.events.add(&part.events);
        self.sum.response.add(&part.response);
        self.sum.waits_ns = part.waits_ns;
    }

    /// The load has ended at a time: what came after it is not counted.
    pub(super) fn ends(&mut self, end_ns: u64) {
        let later = std::mem::take(&mut self.later);
        let before = later.iter().filter(|part| part.start_ns < end_ns);
        before.for_each(|part| self.sums(part));
    }

    pub(super) fn events(&self) -> &Counters {
        &self.sum.events
    }

    /// The response times of what was served.
    pub(super) fn response(&self) -> &Histogram {
        &self.sum.response
    }

    /// Requests that were neither answered nor lost.
    pub(super) fn in_flight(&self) -> u64 {
        let of = &self.sum.events;
        let failed = of.errors_of_all(&ErrorKind::NEVER_SENT)
            + of.errors_of_all(&ErrorKind::UNANSWERED)
            - of.errors_of(ErrorKind::InFlightAtEnd);
        of.offered.saturating_sub(of.completed + failed)
    }

    /// How long these have waited, nanoseconds, ascending: the oldest is known, and the others are
    /// taken to have come evenly since then.
    pub(super) fn waited(&self) -> Vec<u64> {
        let (count, oldest_ns) = (self.in_flight(), u128::from(self.sum.waits_ns));
        let of = |place: u64| oldest_ns * u128::from(place) / u128::from(count.max(1));
        (1..=count).map(|place| u64::try_from(of(place)).unwrap_or(u64::MAX)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND_NS: u64 = 1_000_000_000;

    /// A part of a second in which requests were due, answered and lost.
    fn part(start_s: u64, [offered, served, lost]: [u64; 3]) -> Part {
        let mut events = Counters { offered, ..Counters::default() };
        (events.sent, events.completed, events.succeeded) = (offered, served, served);
        events.errors[ErrorKind::Timeout as usize] = lost;
        let mut response = Histogram::default();
        response.record_n(1000, served);
        let (start_ns, waits_ns) = (start_s * SECOND_NS, (start_s + 1) * SECOND_NS);
        Part { start_ns, events, response, waits_ns }
    }

    proptest! {
        /// A load of some seconds, the last of which it fills by half or wholly, and what comes
        /// after it.
        #[test]
        fn what_came_after_the_end_is_not_counted(
            load in prop::collection::vec([0..9_u64, 0..3, 0..3], 1..12),
            first in [1..9_u64, 0..3, 0..3],
            after in prop::collection::vec([0..3_u64, 0..3], 0..12),
            half in any::<bool>(),
        ) {
            let mut load = load;
            load[0][0] += 20;
            let mut counting = Counting::default();
            let (mut all, mut now_s) = ([0; 3], 0);
            for of in &load {
                counting.add(part(now_s, *of), None);
                all.iter_mut().zip(of).for_each(|(all, of)| *all += of);
                now_s += 1;
            }
            if half {
                let [_, served, lost] = first;
                let whole = [first[0], served + 5, lost + 7];
                counting.add(part(now_s, whole), Some(part(now_s, first)));
                all.iter_mut().zip(first).for_each(|(all, of)| *all += of);
            }
            let end_ns = now_s * SECOND_NS + if half { SECOND_NS / 2 } else { 0 };
            now_s += u64::from(half);
            for [served, lost] in after {
                counting.add(part(now_s, [0, served, lost]), None);
                now_s += 1;
            }
            counting.ends(end_ns);
            let [offered, served, lost] = all;
            prop_assert_eq!(counting.events().offered, offered);
            prop_assert_eq!(counting.events().succeeded, served);
            prop_assert_eq!(counting.response().count(), served);
            prop_assert_eq!(counting.in_flight(), offered.saturating_sub(served + lost));
            let waited = counting.waited();
            prop_assert_eq!(waited.len() as u64, counting.in_flight());
            prop_assert!(waited.is_sorted());
            prop_assert!(waited.last().is_none_or(|last| *last <= end_ns + SECOND_NS));
        }
    }
}
