//! When users arrive, and which number each has: from 0 in the order of arrival, over all threads.

use super::broadcasts::Waves;
use super::server_clock::ServerClock;
use crate::source::Open;
use plimsoll_runs::Labelling;
use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// What the threads of a load of users share.
pub(crate) struct Numbers {
    /// The number of the next user who takes another's place.
    next: AtomicU64,
    /// How far the number after it is, as other processes have those between.
    step: u64,
    /// So many users arrive at most.
    limit: u64,
    /// How many users there are.
    pub(crate) active: AtomicU32,
    /// The broadcasts of the last seconds.
    pub(super) waves: Mutex<Waves>,
    /// The labels that users have had.
    pub(super) labels: Mutex<Labelling>,
    /// What is known of the server's clock.
    pub(super) clock: Mutex<ServerClock>,
}

impl Numbers {
    /// With `first` the number of the first user who takes another's place, and how far the next
    /// one's is.
    #[must_use]
    pub(crate) fn new((first, step): (u64, u64), limit: Option<u64>) -> Self {
        let limit = limit.unwrap_or(u64::MAX);
        Self {
            next: AtomicU64::new(first),
            step: step.max(1),
            limit,
            active: AtomicU32::new(0),
            waves: Mutex::default(),
            labels: Mutex::default(),
            clock: Mutex::default(),
        }
    }

    /// Whether nobody will take another's place any more.
    fn are_used_up(&self) -> bool {
        self.next.load(Ordering::Relaxed) >= self.limit
    }
}

/// Where the users of a thread come from.
pub(crate) enum Arrivals {
    /// By the clock; each is a new one.
    Open {
        /// When.
        open: Box<Open>,
        /// The number of the next, and how far the one after it is.
        next: u64,
        /// How many threads there are.
        step: u64,
    },
    /// So many at a time: who ends is replaced.
    Closed {
        /// The first ones who have not arrived: when, and which number.
        first: VecDeque<(u64, u64)>,
        /// When those arrive who take another's place.
        replacing: VecDeque<u64>,
        /// The number of the one who was taken last.
        number: Option<u64>,
        /// How many may take another's place yet.
        used_up: bool,
    },
}

impl Arrivals {
    /// Those of a share of `users`, who begin at `per_s`, or all at once; `limit` bounds them.
    #[must_use]
    pub(crate) fn closed(
        users: u64,
        (index, of): (u64, u64),
        per_s: Option<f64>,
        limit: Option<u64>,
    ) -> Self {
        let users = users.min(limit.unwrap_or(u64::MAX));
        let at = |number: u64| match per_s {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                clippy::cast_precision_loss,
                reason = "numbers of users are far below 2^53, and the cast saturates"
            )]
            Some(per_s) => (number as f64 / per_s * 1e9) as u64,
            None => 0,
        };
        let own = (index..users).step_by(usize::try_from(of).unwrap_or(1).max(1));
        let first = own.map(|number| (at(number), number)).collect();
        Self::Closed { first, replacing: VecDeque::new(), number: None, used_up: false }
    }

    /// When the next one who has arrived by now did.
    pub(crate) fn take(&mut self, now: u64, end_ns: u64) -> Option<u64> {
        match self {
            Self::Open { open, .. } => {
                open.poll(now, || u64::MAX, |_, _| {});
                open.take().map(|due| due.at)
            }
            Self::Closed { first, replacing, number, .. } => {
                if let Some(at) = replacing.pop_front() {
                    *number = None;
                    return Some(at);
                }
                let (at, own) = first.front().copied().filter(|(at, _)| *at <= now)?;
                first.pop_front();
                *number = Some(own);
                (at < end_ns).then_some(at)
            }
        }
    }

    /// The number of the one who was taken last; `None` where there are no more.
    pub(crate) fn number(&mut self, numbers: &Numbers) -> Option<u64> {
        match self {
            Self::Open { next, step, .. } => {
                let number = *next;
                *next += *step;
                Some(number)
            }
            Self::Closed { number: Some(number), .. } => Some(*number),
            Self::Closed { number: None, used_up, .. } => {
                let number = numbers.next.fetch_add(numbers.step, Ordering::Relaxed);
                *used_up |= number >= numbers.limit || numbers.are_used_up();
                (number < numbers.limit).then_some(number)
            }
        }
    }

    /// One has ended at `at`; another takes his place where it is so.
    pub(crate) fn replace(&mut self, at: u64) {
        match self {
            Self::Closed { replacing, used_up: false, .. } => replacing.push_back(at),
            Self::Closed { .. } | Self::Open { .. } => {}
        }
    }

    /// When the next one arrives who has not.
    pub(crate) fn next_due(&mut self) -> Option<u64> {
        match self {
            Self::Open { open, .. } => match open.waiting() {
                0 => open.next_due(),
                _ => Some(0),
            },
            Self::Closed { first, replacing, .. } => {
                replacing.front().copied().or_else(|| first.front().map(|(at, _)| *at))
            }
        }
    }

    /// Whether nobody will arrive any more, where nobody is there to be replaced.
    pub(crate) fn is_used_up(&self) -> bool {
        match self {
            Self::Open { open, .. } => open.is_used_up() && open.waiting() == 0,
            Self::Closed { first, replacing, .. } => first.is_empty() && replacing.is_empty(),
        }
    }

    /// Nobody arrives from then on.
    pub(crate) fn end_at(&mut self, at: u64) {
        if let Self::Open { open, .. } = self {
            open.end_ns = at;
        }
    }

    /// Nobody arrives any more.
    pub(crate) fn stop(&mut self) {
        match self {
            Self::Open { open, .. } => {
                open.stop();
                while open.take().is_some() {}
            }
            Self::Closed { first, replacing, used_up, .. } => {
                first.clear();
                replacing.clear();
                *used_up = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_ends_is_replaced_until_so_many_have_arrived() {
        let numbers = Numbers::new((3, 1), Some(5));
        let mut arrivals = Arrivals::closed(3, (0, 1), Some(10.0), Some(5));
        assert_eq!(arrivals.take(0, 1000), Some(0));
        assert_eq!(arrivals.number(&numbers), Some(0));
        assert_eq!(arrivals.take(0, u64::MAX), None, "the second comes after 100 ms");
        assert_eq!(arrivals.next_due(), Some(100_000_000));
        arrivals.replace(50);
        assert_eq!((arrivals.take(60, 1000), arrivals.number(&numbers)), (Some(50), Some(3)));
        arrivals.replace(70);
        assert_eq!((arrivals.take(80, 1000), arrivals.number(&numbers)), (Some(70), Some(4)));
        arrivals.replace(90);
        assert_eq!(arrivals.take(90, 1000), None, "five are five");
        assert!(!arrivals.is_used_up(), "two of the first are to come");
    }

    #[test]
    fn shares_have_every_number_once() {
        let all = |of: u64| {
            let mut numbers: Vec<u64> = (0..of)
                .flat_map(|index| match Arrivals::closed(10, (index, of), None, None) {
                    Arrivals::Closed { first, .. } => first,
                    Arrivals::Open { .. } => VecDeque::new(),
                })
                .map(|(_, number)| number)
                .collect();
            numbers.sort_unstable();
            numbers
        };
        assert_eq!(all(3), (0..10).collect::<Vec<_>>());
        assert_eq!(all(1), all(4));
    }
}
