//! The timer probe: that it measures, hands over each value once, and ends. How late the timers of
//! the machine that runs the tests are is not asserted.

use std::time::Duration;

use plimsoll_monitor::{TimerError, TimerProbe};
use plimsoll_stats::Histogram;
use rustix::time::{ClockId, clock_gettime};

/// Takes until `count` values have come; fails after a minute, which no host needs.
fn take_at_least(probe: &TimerProbe, count: u64) -> Histogram {
    let start = clock_gettime(ClockId::Monotonic).tv_sec;
    let mut sum = Histogram::new();
    while sum.count() < count {
        sum.add(&probe.take());
        assert!(
            clock_gettime(ClockId::Monotonic).tv_sec < start + 60,
            "the probe measures nothing"
        );
        std::thread::yield_now();
    }
    sum
}

#[test]
fn an_idle_timer_is_measured_until_the_probe_is_dropped() {
    let probe = TimerProbe::start(Duration::from_micros(100)).expect("a thread can be started");
    let lateness = take_at_least(&probe, 20);
    // A lateness is far below the machine's uptime: it is a difference, not a moment.
    assert!(lateness.max().is_some_and(|max| max < 60_000_000_000), "{lateness:?}");
    drop(probe);
}

#[test]
fn what_was_taken_is_not_counted_again() {
    let start = clock_gettime(ClockId::Monotonic);
    let probe = TimerProbe::start(Duration::from_millis(1)).expect("a thread can be started");
    let mut sum = take_at_least(&probe, 10);
    sum.add(&probe.take());
    sum.add(&probe.take());
    let end = clock_gettime(ClockId::Monotonic);
    let passed_ms = (end.tv_sec - start.tv_sec) * 1000 + (end.tv_nsec - start.tv_nsec) / 1_000_000;
    // One deadline a millisecond: a value handed over twice would exceed the time that passed.
    assert!(i64::try_from(sum.count()).is_ok_and(|count| count <= passed_ms + 1), "{sum:?}");
}

#[test]
fn a_period_of_zero_is_refused() {
    let refused = TimerProbe::start(Duration::ZERO);
    assert!(matches!(refused, Err(TimerError::NoPeriod)), "{refused:?}");
}
