//! Time that is moved by hand.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::{Clock, Time};

/// Something that is done when a moment has come.
type Deed = Box<dyn FnOnce() + Send>;

/// A clock that stands still, but for those who wait by it, and where it is moved.
#[derive(Default)]
pub(crate) struct Hand(Mutex<Moved>);

#[derive(Default)]
struct Moved {
    now: Duration,
    rests: Vec<Duration>,
    deeds: Vec<(Duration, Deed)>,
}

impl Hand {
    /// One that lasts as long as the process, as limits are handed on freely.
    pub(crate) fn new() -> &'static Self {
        Box::leak(Box::default())
    }

    pub(crate) fn time(&'static self) -> Time {
        Time::of(self)
    }

    fn moved(&self) -> MutexGuard<'_, Moved> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves it, and does what was to be done by then.
    pub(crate) fn passes(&self, span: Duration) {
        let due: Vec<Deed> = {
            let mut moved = self.moved();
            moved.now += span;
            let now = moved.now;
            moved.deeds.extract_if(.., |(at, _)| *at <= now).map(|(_, deed)| deed).collect()
        };
        due.into_iter().for_each(|deed| deed());
    }

    /// Has something done at a moment.
    pub(crate) fn at(&self, moment: Duration, deed: impl FnOnce() + Send + 'static) {
        self.moved().deeds.push((moment, Box::new(deed)));
    }

    /// How long was waited each time, so far.
    pub(crate) fn rests(&self) -> Vec<Duration> {
        self.moved().rests.clone()
    }
}

impl Clock for Hand {
    fn now(&self) -> Duration {
        self.moved().now
    }

    fn rest(&self, span: Duration) {
        self.moved().rests.push(span);
        self.passes(span);
    }
}
