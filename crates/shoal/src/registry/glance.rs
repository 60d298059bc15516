//! How caches fare at a glance: a byte each, all in one array.
//!
//! A look-up among many asks some twenty caches whether they may be served and how loaded they
//! are, and answers with five. Asked of the caches themselves, that is twenty looks at cold
//! memory; their bytes stand in an array that is small enough to stay warm. Heartbeats, verdicts
//! and ends write through to it under the registry's lock.

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use super::State;

/// How one cache fares: its state and load class, that it is gone, or that it has to be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Glance(u8);

impl Glance {
    /// No longer a member.
    pub(crate) const GONE: Self = Self(0xff);
    /// Not to be told at a glance.
    pub(crate) const ASK: Self = Self(0xfe);

    /// Of a living cache; its load class is at most 10.
    pub(crate) fn of(state: State, class: u8) -> Self {
        Self((state as u8) << 4 | class)
    }

    /// State and load class of a living cache.
    #[inline]
    pub(crate) fn living(self) -> Option<(State, u8)> {
        (self.0 < Self::ASK.0).then(|| (State::from_u8(self.0 >> 4), self.0 & 0xf))
    }
}

/// The place of a cache's byte. Seat 0 is nobody's: such a cache has to be asked.
pub type Seat = u32;

/// All bytes.
#[derive(Debug, Default)]
pub struct Glances(Box<[AtomicU8]>);

impl Glances {
    /// With so many seats, numbered from 1.
    #[must_use]
    pub fn new(seats: usize) -> Self {
        Self((0..=seats).map(|_| AtomicU8::new(Glance::ASK.0)).collect())
    }

    #[inline]
    pub(crate) fn at(&self, seat: Seat) -> Glance {
        self.0.get(seat as usize).map_or(Glance::ASK, |byte| Glance(byte.load(Relaxed)))
    }

    pub(super) fn set(&self, seat: Seat, glance: Glance) {
        if seat > 0
            && let Some(byte) = self.0.get(seat as usize)
        {
            byte.store(glance.0, Relaxed);
        }
    }
}

/// Who sits where.
///
/// Trees of a base name seats. That of a member which left is free again once a base is in force
/// that was begun after it left: until then its byte says that it is gone. A reader that still has
/// the snapshot before asks the cache itself before it serves it.
#[derive(Debug, Default)]
pub(super) struct Seats {
    free: Vec<Seat>,
    /// Left since the last base was begun, and before that.
    left: Vec<Seat>,
    left_before: Vec<Seat>,
    /// The first that was never taken, and how many there are.
    fresh: Seat,
    most: Seat,
}

impl Seats {
    pub(super) fn new(most: Seat) -> Self {
        Self { fresh: 1, most, ..Self::default() }
    }

    /// One that is free; 0 where none is.
    pub(super) fn take(&mut self) -> Seat {
        if let Some(seat) = self.free.pop() {
            return seat;
        }
        if self.fresh > self.most {
            return 0;
        }
        self.fresh += 1;
        self.fresh - 1
    }

    pub(super) fn leave(&mut self, seat: Seat) {
        if seat > 0 {
            self.left.push(seat);
        }
    }

    /// A base is begun, of the members there are now.
    pub(super) fn base_begun(&mut self) {
        self.left_before.append(&mut self.left);
    }

    /// The base that was begun is in force.
    pub(super) fn base_in_force(&mut self) {
        self.free.append(&mut self.left_before);
    }
}
