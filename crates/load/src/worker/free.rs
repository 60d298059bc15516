//! Which connection a request goes on.
//!
//! Of those with nothing on them the one used last goes first, and of those never used the one
//! opened first: a pool that is larger than the load needs then leaves the rest of it alone, as a
//! server may keep a thread or a process for each connection that it has once heard from. Only
//! where none is idle do requests share one, where the protocol lets them, turn by turn.

use super::Worker;
use crate::connection::State;
use crate::driver::Driver;
use crate::in_flight::NOBODY;
use std::collections::VecDeque;

/// The connections that can take a request. Entries whose connection has been closed are passed
/// over when their turn comes.
#[derive(Default)]
pub(super) struct Free {
    /// Idle ones: at the front those never used, the one opened last first; behind them the others,
    /// the one used last at the back. They are taken from the back.
    idle: VecDeque<u32>,
    /// Those with requests on them and room for more, taken from the front.
    shared: VecDeque<u32>,
    /// How many entries' connections have been closed.
    closed: u32,
}

impl Free {
    /// How many connections can take a request.
    pub(super) fn len(&self) -> u32 {
        let entries = self.idle.len() + self.shared.len();
        u32::try_from(entries).unwrap_or(u32::MAX).saturating_sub(self.closed)
    }

    /// The connections of all entries; one may be there twice.
    pub(super) fn all(&self) -> impl Iterator<Item = u32> + '_ {
        self.idle.iter().chain(&self.shared).copied()
    }

    /// So many entries' connections have been closed, or are open again.
    pub(super) fn note_closed(&mut self, entries: u32) {
        self.closed += entries;
    }
    pub(super) fn note_opened(&mut self, entries: u32) {
        self.closed = self.closed.saturating_sub(entries);
    }

    fn first(&self) -> Option<(u32, bool)> {
        let idle = self.idle.back().map(|&at| (at, false));
        idle.or_else(|| self.shared.front().map(|&at| (at, true)))
    }

    fn remove_first(&mut self) {
        if self.idle.pop_back().is_none() {
            self.shared.pop_front();
        }
    }
}

impl<D: Driver> Worker<D> {
    /// The connection that the next request goes on.
    pub(super) fn next_free(&mut self) -> Option<u32> {
        while let Some((at, shares)) = self.free.first() {
            if self.may_have_ended(at) {
                self.readable(at);
            }
            self.free.remove_first();
            let room = self.room(at);
            let connection = &mut self.connections[at as usize];
            if shares {
                connection.shared = false;
            } else {
                connection.queued = false;
            }
            self.free.note_opened(u32::from(connection.state != State::Open));
            if room > 1 && !connection.shared {
                connection.shared = true;
                self.free.shared.push_back(at);
            }
            if room > 0 {
                return Some(at);
            }
        }
        None
    }

    /// How many requests a connection can take now.
    #[inline]
    pub(super) fn room(&self, at: u32) -> u32 {
        let connection = &self.connections[at as usize];
        match &connection.protocol {
            Some(protocol) if connection.state == State::Open => self.driver.room(protocol),
            _ => 0,
        }
    }

    /// Makes the connection available if it has become so.
    pub(super) fn offer_room(&mut self, at: u32) {
        if self.connections[at as usize].owner != NOBODY {
            return self.offer_to_owner(at);
        }
        let connection = &self.connections[at as usize];
        let is_idle = connection.in_use == 0;
        let known = if is_idle { connection.queued } else { connection.shared };
        if known || connection.reserved.is_some() || self.room(at) == 0 {
            return;
        }
        let connection = &mut self.connections[at as usize];
        if !connection.queued && !connection.shared {
            connection.free_since = self.now;
        }
        if !is_idle {
            connection.shared = true;
            self.free.shared.push_back(at);
            return;
        }
        connection.queued = true;
        if connection.answered > 0 {
            self.free.idle.push_back(at);
        } else {
            self.free.idle.push_front(at);
        }
    }
}
