//! How a thread waits: for events, and for the next due request.
//!
//! `precise` polls without blocking while a request is due within [`SPIN_NS`], or while answers are
//! on their way and less than [`SPINS`] polls in a row were empty: a thread that falls asleep makes
//! the server's next send pay for waking it, and wakes late. What has arrived while it slept counts
//! from the kernel's stamp; where broadcasts are heard, all that arrives does. `thrifty` sleeps,
//! and starts requests at ticks of one millisecond.

use super::{EVENTS, Worker};
use crate::clock::timespec;
use crate::config::Pacing;
use crate::driver::Driver;
use crate::source::Source;
use crate::way::Endpoint;
use rustix::event::{PollFd, PollFlags, epoll, poll};
use rustix::thread::nanosleep;

/// Below this distance a precise thread does not sleep: waking takes about 50 µs.
const SPIN_NS: u64 = 150_000;
/// Empty polls before a precise thread sleeps.
const SPINS: u32 = 200;
/// The tick of a thrifty thread.
const TICK_NS: u64 = 1_000_000;
/// So long after it was to wake a thread has stood still.
const OVERSLEPT_NS: u64 = 10_000_000;
/// The longest sleep.
const LONGEST_NS: u64 = 50_000_000;

/// What polling found.
pub(super) struct Poll {
    /// How many events.
    pub(super) events: usize,
    /// Until when the thread was idle by its own wish: when it began to poll, or woke from sleep,
    /// or was to wake.
    pub(super) idle_until: u64,
}

impl<D: Driver> Worker<D> {
    /// Polls, waiting as the pacing says. Sets `now` to the time after it.
    pub(super) fn poll(&mut self) -> Poll {
        if self.config.pacing == Pacing::Precise && !self.hears_broadcasts {
            self.stamps = None;
        }
        let events = self.ready();
        self.has_looked(events, self.looked, self.begin_turn);
        if events > 0 {
            self.spins = 0;
            self.now = self.clock.now();
            return Poll { events, idle_until: self.begin_turn };
        }
        let wait = self.how_long();
        if wait == 0 {
            self.now = self.clock.now();
            return Poll { events: 0, idle_until: self.begin_turn };
        }
        let mut until = self.now + wait;
        let mut asleep_to_events = false;
        if self.sleeps_to_tick() {
            until = (self.now / TICK_NS + 1) * TICK_NS;
            let _ = nanosleep(&timespec(until - self.now));
        } else {
            // It wakes as soon as there is something.
            asleep_to_events = true;
            let mut waited_for = [PollFd::new(&self.epoll, PollFlags::IN)];
            // An interrupted wait is a short wait.
            let _ = poll(&mut waited_for, Some(&timespec(wait)));
        }
        let events = self.ready();
        self.spins = 0;
        self.now = self.clock.now();
        // A thread that was to wake long before has stood still: what is there may be as old.
        let is_punctual = self.now <= until.saturating_add(OVERSLEPT_NS);
        let since = if asleep_to_events && is_punctual { self.now } else { self.looked };
        self.has_looked(events, since, self.now);
        if matches!(self.config.endpoint, Endpoint::Tcp(_)) {
            self.sleeps |= self.in_flight.len() > 0;
            self.stamps = Some(self.clock.wall_offset());
        }
        Poll { events, idle_until: self.now.min(until) }
    }

    /// Whether a thrifty thread may let answers lie until the next tick: nobody waits for a
    /// connection that they would free, no user for what he asks next, and the kernel stamps when
    /// they arrived. Where no answers are on their way, it waits in a way in which it hears of
    /// commands.
    fn sleeps_to_tick(&self) -> bool {
        self.config.pacing == Pacing::Thrifty
            && self.in_flight.len() > 0
            && self.source.waiting() == 0
            && !matches!(self.source, Source::Users(_))
            && self.stamps.is_some()
    }

    /// Notes that a poll begun at `at` has reported so many events, which may have been there since
    /// `since`. One that reports as many as it can has not told of all.
    fn has_looked(&mut self, events: usize, since: u64, at: u64) {
        self.unread_since = since;
        if events < EVENTS {
            self.looked = at;
        }
    }

    fn ready(&mut self) -> usize {
        self.epoll_events.clear();
        let spare = rustix::buffer::spare_capacity(&mut self.epoll_events);
        let none = timespec(0);
        epoll::wait(&self.epoll, spare, Some(&none)).unwrap_or(0)
    }

    fn how_long(&mut self) -> u64 {
        let mut until = self.recorder.end_ns().min(self.end_at.max(self.now + 1_000_000));
        if let Some(due) = self.source.next_due() {
            until = until.min(match self.config.pacing {
                Pacing::Precise => due,
                Pacing::Thrifty => due.div_ceil(TICK_NS) * TICK_NS,
            });
        }
        if let Some((_, sent, _)) = self.in_flight.oldest() {
            until = until.min(sent.sent.saturating_add(self.config.timeout_ns));
        }
        if let Some(&(began, ..)) = self.opening.front() {
            until = until.min(began.saturating_add(self.config.timeout_ns));
        }
        if self.source.waiting() > 0 && self.back_off_until > self.now {
            until = until.min(self.back_off_until);
        }
        let left = until.saturating_sub(self.now);
        let awaits = || self.in_flight.len() > 0 || self.source.awaiting() > 0;
        sleep_ns(self.config.pacing, left, awaits, &mut self.spins)
    }
}

/// How long a thread sleeps that has so much time until something is due; 0 where it polls on.
/// `awaits` tells whether answers are on their way, and `spins` how many polls in a row were empty.
#[inline]
fn sleep_ns(pacing: Pacing, left: u64, awaits: impl FnOnce() -> bool, spins: &mut u32) -> u64 {
    if pacing == Pacing::Thrifty {
        return left.clamp(1, LONGEST_NS);
    }
    if left <= SPIN_NS {
        return 0;
    }
    if *spins < SPINS && awaits() {
        *spins += 1;
        return 0;
    }
    (left - SPIN_NS / 2).min(LONGEST_NS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_units::hash::mix;

    const US: u64 = 1000;

    #[test]
    fn a_precise_thread_polls_where_a_request_is_due_soon_or_an_answer_on_its_way() {
        let mut spins = 0;
        for left in [0, 1, 149 * US, 150 * US] {
            assert_eq!(sleep_ns(Pacing::Precise, left, || true, &mut spins), 0, "{left}");
        }
        assert_eq!(spins, 0, "what is due soon is polled for without counting");
        for _ in 0..200 {
            assert_eq!(sleep_ns(Pacing::Precise, 1000 * US, || true, &mut spins), 0);
        }
        assert_eq!(sleep_ns(Pacing::Precise, 1000 * US, || true, &mut spins), 925 * US);
        assert_eq!(sleep_ns(Pacing::Precise, 1000 * US, || false, &mut 0), 925 * US);
        assert_eq!(sleep_ns(Pacing::Precise, u64::MAX, || false, &mut 0), 50_000 * US);
    }

    #[test]
    fn a_thrifty_thread_always_sleeps_and_no_longer_than_it_may() {
        for (left, slept) in [(0, 1), (1, 1), (700 * US, 700 * US), (u64::MAX, 50_000 * US)] {
            assert_eq!(sleep_ns(Pacing::Thrifty, left, || true, &mut 0), slept);
        }
    }

    /// A thread whose sleeps last up to 60 µs longer than it asks, by a clock that is moved by
    /// hand: a precise one is awake when a request is due, and none polls longer than it has to.
    #[test]
    fn nobody_sleeps_over_what_is_due() {
        for seed in 0..256_u64 {
            let (mut now, mut spins, mut polls) = (0, 0, 0);
            let due = mix(seed) % 200_000_000;
            let awaits = seed % 2 == 0;
            while now < due {
                let sleep = sleep_ns(Pacing::Precise, due - now, || awaits, &mut spins);
                if sleep == 0 {
                    (now, polls) = (now + US, polls + 1);
                } else {
                    spins = 0;
                    now += sleep + mix(seed ^ now) % (60 * US);
                    assert!(now < due, "{seed}: it woke {} ns late", now - due);
                }
            }
            let sleeps = due / LONGEST_NS + 2;
            let most = SPIN_NS / US + u64::from(awaits) * sleeps * u64::from(SPINS);
            assert!(polls <= most, "{seed}: {polls} polls");
        }
    }
}
