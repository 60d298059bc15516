//! One of several generators of a load: what it did by the second, and whether its own figures
//! would make a run not valid.

use plimsoll_stats::Histogram;

use crate::validity::{BUSY_SHARE, DENIED_SHARE, Health};
use crate::{Interval, Phase, Tag};

/// One second.
const SECOND_NS: u64 = 1_000_000_000;

/// What a generator did in a second.
#[derive(Debug, Clone, PartialEq)]
pub struct PartSecond {
    /// The end of the second, nanoseconds since the load's first due time.
    pub at_ns: u64,
    /// Requests that it sent.
    pub sent: u64,
    /// The 99th percentile of the lateness of requests that were due in the measured phase,
    /// nanoseconds; `None` where there was none.
    pub late_p99_ns: Option<u64>,
    /// The share of its threads' time that went into events rather than waiting.
    pub busy_share: f64,
    /// The share of their time in which they wanted to run and were not let.
    pub denied_share: f64,
    /// The processors that they used, spinning included.
    pub cores: f64,
}

/// The health of a generator, over a load.
#[derive(Debug, Default)]
pub struct PartHealth {
    lateness: Histogram,
    response: Histogram,
    busy_behind_s: u64,
    denied_behind_s: u64,
    second: Second,
}

#[derive(Debug, Default)]
struct Second {
    lateness: Histogram,
    sent: u64,
    busy_ns: u64,
    thread_ns: u64,
    denied_ns: u64,
    cpu_ns: u64,
    len_ns: u64,
    behind: bool,
}

impl PartHealth {
    /// Takes what it did next. `measured_from_ns` is where the measured phase begins. Returns a
    /// second that is whole with it.
    pub fn add(&mut self, stretch: &Interval, measured_from_ns: u64) -> Option<PartSecond> {
        let measured = &stretch.phases[Phase::Measured as usize];
        let second = &mut self.second;
        second.lateness.add(measured.histogram(Tag::Lateness));
        self.response.add(measured.histogram(Tag::Response));
        second.sent += stretch.events.sent;
        second.busy_ns += stretch.busy_ns;
        second.thread_ns += stretch.thread_ns;
        second.denied_ns += stretch.denied_ns;
        second.cpu_ns += stretch.cpu_ns;
        second.len_ns += stretch.len_ns;
        second.behind = stretch.behind;
        let at_ns = stretch.start_ns.saturating_add(stretch.len_ns);
        at_ns.is_multiple_of(SECOND_NS).then(|| self.end_second(at_ns, measured_from_ns))
    }

    fn end_second(&mut self, at_ns: u64, measured_from_ns: u64) -> PartSecond {
        let second = std::mem::take(&mut self.second);
        let share = |ns: u64, of: u64| if of > 0 { ns as f64 / of as f64 } else { 0.0 };
        let busy_share = share(second.busy_ns, second.thread_ns);
        let denied_share = share(second.denied_ns, second.thread_ns);
        if second.behind && at_ns >= measured_from_ns.saturating_add(SECOND_NS) {
            self.busy_behind_s += u64::from(busy_share > BUSY_SHARE);
            self.denied_behind_s += u64::from(denied_share > DENIED_SHARE);
        }
        self.lateness.add(&second.lateness);
        PartSecond {
            at_ns,
            sent: second.sent,
            late_p99_ns: second.lateness.value_at_quantile(0.99),
            busy_share,
            denied_share,
            cores: share(second.cpu_ns, second.len_ns),
        }
    }

    /// Why its own figures would make a run not valid, by the rules of one: a plain sentence each.
    #[must_use]
    pub fn complaints(&self) -> Vec<String> {
        let mut lateness = self.lateness.clone();
        lateness.add(&self.second.lateness);
        let (busy_behind_s, denied_behind_s) = (self.busy_behind_s, self.denied_behind_s);
        let response = &self.response;
        Health { lateness: &lateness, response, busy_behind_s, denied_behind_s }.complaints()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A quarter of a second of a thread that was late by so much, and busy for so much of it.
    fn stretch(number: u64, late_ns: u64, busy_ns: u64, behind: bool) -> Interval {
        let mut stretch = Interval { start_ns: number * 250_000_000, ..Interval::default() };
        stretch.len_ns = 250_000_000;
        let measured = &mut stretch.phases[Phase::Measured as usize];
        measured.histograms[Tag::Lateness as usize].record_n(late_ns, 300);
        measured.histograms[Tag::Response as usize].record_n(1_000_000, 300);
        stretch.events.sent = 300;
        (stretch.busy_ns, stretch.thread_ns) = (busy_ns, 250_000_000);
        (stretch.cpu_ns, stretch.behind) = (125_000_000, behind);
        stretch
    }

    #[test]
    fn seconds_are_told_when_they_are_whole() {
        let mut health = PartHealth::default();
        let told: Vec<_> =
            (0..9).filter_map(|n| health.add(&stretch(n, 10_000, 0, false), 0)).collect();
        assert_eq!(told.iter().map(|of| of.at_ns).collect::<Vec<_>>(), [SECOND_NS, 2 * SECOND_NS]);
        assert_eq!((told[0].sent, told[0].cores), (1200, 0.5));
        assert!(told[0].late_p99_ns.unwrap().abs_diff(10_000) < 100);
        assert!(health.complaints().is_empty());
    }

    #[test]
    fn a_generator_that_was_late_or_busy_complains_by_itself() {
        let mut late = PartHealth::default();
        for n in 0..4 {
            late.add(&stretch(n, 5_000_000, 0, false), 0);
        }
        assert!(late.complaints()[0].contains("lateness p99"), "{:?}", late.complaints());
        let busy_from = |from_ns| {
            let mut busy = PartHealth::default();
            for n in 0..16 {
                busy.add(&stretch(n, 10_000, 245_000_000, true), from_ns);
            }
            busy.complaints()
        };
        assert!(busy_from(0)[0].contains("in 4 seconds"), "{:?}", busy_from(0));
        assert!(busy_from(2 * SECOND_NS).is_empty(), "two seconds of a warm-up");
    }
}
