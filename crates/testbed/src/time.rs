//! Time as the test-bed needs it: limits of steps, and waiting. The one place of this crate that
//! reads the clock.
//!
//! A limit knows where its time comes from: the host's clock, where nothing else is said. What is
//! told no limit, and waits by itself, holds a [`Time`]. So whatever waits can be shown that hours
//! pass, or that a host stood still for a minute, at once.

#[cfg(test)]
pub(crate) mod hand;

use std::convert::Infallible;
use std::fmt;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// How often what may have happened is looked at.
const STEP: Duration = Duration::from_millis(10);

/// What tells time, and waits.
pub trait Clock: Sync {
    /// How long it is since some moment. It never goes back.
    fn now(&self) -> Duration;

    /// Waits for so long.
    fn rest(&self, span: Duration);
}

/// The clock of this host.
struct Host;

/// When this process looked at the clock first.
#[expect(clippy::disallowed_methods, reason = "steps are limited by the clock")]
static BEGUN: LazyLock<Instant> = LazyLock::new(Instant::now);

impl Clock for Host {
    fn now(&self) -> Duration {
        BEGUN.elapsed()
    }

    #[expect(clippy::disallowed_methods, reason = "waits for other processes")]
    fn rest(&self, span: Duration) {
        std::thread::sleep(span);
    }
}

/// Where time comes from.
#[derive(Clone, Copy)]
pub struct Time(&'static dyn Clock);

impl Time {
    /// From the clock of this host.
    pub const HOST: Self = Self(&Host);

    /// From a clock that is given.
    #[must_use]
    pub fn of(clock: &'static dyn Clock) -> Self {
        Self(clock)
    }

    /// A limit that begins now.
    #[must_use]
    pub fn within(self, limit: Duration) -> Deadline {
        Deadline { time: self, begun: self.0.now(), limit }
    }
}

impl Default for Time {
    fn default() -> Self {
        Self::HOST
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Time").field(&self.0.now()).finish()
    }
}

/// A moment after which a step has taken too long.
#[derive(Debug, Clone, Copy)]
pub struct Deadline {
    time: Time,
    begun: Duration,
    limit: Duration,
}

impl Deadline {
    /// A limit that begins now, by the clock of this host.
    #[must_use]
    pub fn within(limit: Duration) -> Self {
        Time::HOST.within(limit)
    }

    /// A limit that begins now, for a part of what this one limits: it is over no later.
    #[must_use]
    pub fn part(&self, limit: Duration) -> Self {
        self.time.within(limit.min(self.left()))
    }

    /// How long it is since the step began.
    #[must_use]
    pub fn passed(&self) -> Duration {
        self.time.0.now().saturating_sub(self.begun)
    }

    /// How long it may still take; zero when it is over.
    #[must_use]
    pub fn left(&self) -> Duration {
        self.limit.saturating_sub(self.passed())
    }

    /// How long it may take in all.
    #[must_use]
    pub fn limit(&self) -> Duration {
        self.limit
    }

    /// Whether it is over.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.left().is_zero()
    }

    /// Waits a moment, until something is looked at again.
    pub fn pause(&self) {
        self.time.0.rest(STEP.min(self.left()));
    }

    /// Looks again and again, until something is there; `None` where it is not in time. The last
    /// look begins when the limit is over: where this host stood still for longer than that, what
    /// was looked at before says nothing of now.
    ///
    /// # Errors
    /// Those of a look, which end it.
    pub fn until<T, E>(
        &self,
        mut look: impl FnMut() -> Result<Option<T>, E>,
    ) -> Result<Option<T>, E> {
        loop {
            let is_last = self.is_over();
            match look()? {
                None if !is_last => self.pause(),
                found => return Ok(found),
            }
        }
    }

    /// As [`Deadline::until`], of what is there or not.
    pub fn until_there<T>(&self, mut look: impl FnMut() -> Option<T>) -> Option<T> {
        let found = self.until(|| Ok::<_, Infallible>(look()));
        found.unwrap_or_else(|never| match never {})
    }
}

#[cfg(test)]
mod tests {
    use super::hand::Hand;
    use super::*;

    fn ms(of: u64) -> Duration {
        Duration::from_millis(of)
    }

    #[test]
    fn a_limit_is_over_with_its_last_nanosecond_and_stays_so() {
        let hand = Hand::new();
        let deadline = hand.time().within(ms(25));
        hand.passes(ms(25) - Duration::from_nanos(1));
        assert_eq!((deadline.is_over(), deadline.left()), (false, Duration::from_nanos(1)));
        hand.passes(Duration::from_nanos(1));
        assert_eq!((deadline.is_over(), deadline.passed()), (true, ms(25)));
        hand.passes(ms(60_000));
        assert_eq!((deadline.left(), deadline.limit()), (Duration::ZERO, ms(25)));
        assert!(!hand.time().within(Duration::MAX).is_over());
    }

    #[test]
    fn a_pause_ends_with_the_limit_and_a_part_no_later() {
        let hand = Hand::new();
        let deadline = hand.time().within(ms(25));
        let part = deadline.part(ms(12));
        assert_eq!(deadline.part(ms(60)).limit(), ms(25));
        part.pause();
        part.pause();
        part.pause();
        assert!(part.is_over() && !deadline.is_over());
        deadline.pause();
        deadline.pause();
        let rests = [10, 2, 0, 10, 3].map(ms);
        assert_eq!((hand.rests(), deadline.is_over()), (rests.to_vec(), true));
    }

    #[test]
    fn what_is_there_in_time_is_found_and_looked_for_no_more() {
        for there_ms in 0..=40 {
            let hand = Hand::new();
            let (deadline, mut looks) = (hand.time().within(ms(25)), Vec::new());
            let found = deadline.until(|| {
                looks.push(deadline.passed());
                Ok::<_, ()>((deadline.passed() >= ms(there_ms)).then_some("there"))
            });
            assert_eq!(found == Ok(Some("there")), there_ms <= 25, "{there_ms}");
            let all = [0, 10, 20, 25].map(ms);
            let enough = all.iter().position(|at| *at >= ms(there_ms)).map_or(4, |at| at + 1);
            assert_eq!(looks, all[..enough], "{there_ms}");
        }
    }

    /// A host stands still while something is looked at, which comes to be there meanwhile.
    #[test]
    fn a_host_that_stood_still_looks_once_more() {
        for still in [ms(20), ms(60_000)] {
            let hand = Hand::new();
            let (deadline, mut looks) = (hand.time().within(ms(15)), 0);
            let found = deadline.until(|| {
                looks += 1;
                if looks == 1 {
                    hand.passes(still);
                    return Ok::<_, ()>(None);
                }
                Ok(Some(looks))
            });
            assert_eq!(found, Ok(Some(2)), "{still:?}");
        }
    }

    #[test]
    fn an_error_ends_it() {
        let hand = Hand::new();
        let found = hand.time().within(ms(15)).until::<(), _>(|| Err("it is gone"));
        assert_eq!((found, hand.rests().len()), (Err("it is gone"), 0));
    }
}
