//! Whether a connection was closed before its peer can have known of the request on it.
//!
//! A server may close an idle connection at the moment at which a request is sent on it. From
//! outside this looks like a server that takes a request, works on it and drops it; what tells them
//! apart is time (docs/counting.md, "Stale connections"). The evidence is gathered while the socket
//! is still there: how long the network takes, and how late the close was read.

use super::Worker;
use super::explain::Why;
use super::receive::End;
use crate::clock;
use crate::driver::{Driver, Slot};
use crate::sys;
use plimsoll_runs::ErrorKind;

/// A close this soon after the last byte of a request is the race, on whatever network.
const WINDOW_NS: u64 = 5_000_000;
/// On a slow network the race lasts so many of its round trips.
const ROUND_TRIPS: u64 = 3;
/// A connection was free at the last poll; after so much time it is looked at once more before a
/// request is sent on it.
const LOOK_AGAIN_NS: u64 = 250_000;
/// Why a request that lost the race has failed, where doing it twice may do more than once.
const NOT_REPEATED: &str = "closed as it was sent; not sent again";

/// When a connection was closed, and for how long before that a request may have been sent to have
/// crossed the close.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Close {
    /// When the peer's close arrived here, as far as is known.
    at: u64,
    /// The length of the race.
    window_ns: u64,
    /// When the last byte was written that the socket had not taken at once; 0 where it took all.
    wrote: u64,
}

impl Close {
    /// Whether a request whose first byte was sent then may have crossed it.
    fn crosses(self, sent: u64) -> bool {
        self.at <= sent.max(self.wrote).saturating_add(self.window_ns)
    }
}

/// By how much a close was read late, from what is known of it.
///
/// `ours` is the time since the connections were last looked at: the most that it can be. `heard`
/// is how long ago the kernel last heard from the peer, off by a `tick` at most. A FIN is what it
/// heard last; a reset is not noted, but came later than that.
fn lateness(ours: u64, heard: Option<u64>, tick: u64, by_fin: bool) -> u64 {
    match heard {
        // Half a tick less: rather a race counted as a failure than a failure hidden.
        Some(heard) if by_fin => {
            ours.min(heard.saturating_sub(tick / 2)).max(heard.saturating_sub(tick))
        }
        Some(heard) => ours.min(heard),
        None => ours,
    }
}

impl<D: Driver> Worker<D> {
    /// What is known of the close of a connection that is read now; `None` where it cannot be the
    /// race.
    pub(super) fn evidence(&self, at: u32, end: End) -> Option<Close> {
        let connection = &self.connections[at as usize];
        if connection.in_use == 0 || connection.answered == 0 {
            return None;
        }
        let trip = connection.socket().ok().and_then(sys::round_trip);
        let ours = self.now.saturating_sub(self.unread_since);
        let heard = trip.map(|trip| trip.heard_ns_ago);
        let late = lateness(ours, heard, clock::tick_ns(), end == End::Fin);
        let least = trip.map_or(0, |trip| trip.least_ns);
        Some(Close {
            at: self.now.saturating_sub(late),
            window_ns: WINDOW_NS.max(ROUND_TRIPS * least),
            // Of several requests on a connection it is not known whose byte that was.
            wrote: if D::GATHERS { 0 } else { connection.wrote },
        })
    }

    /// A request has lost its connection without a byte of an answer: it goes once more where it
    /// crossed the close and may be repeated, else it has failed.
    pub(super) fn lost(&mut self, slot: Slot, why: Why<'_>, close: Close) {
        let Some((sent, _)) = self.in_flight.get_mut(slot) else { return };
        let crossed = sent.first_byte == 0 && close.crosses(sent.sent);
        let request = sent.request;
        if crossed && !self.driver.is_repeatable(slot, request) {
            return self.fail(slot, ErrorKind::Reset, Why::Words(NOT_REPEATED));
        }
        if !crossed || !self.in_flight.may_retry(slot) {
            return self.fail(slot, ErrorKind::Reset, why);
        }
        self.recorder.at(self.now).stale += 1;
        if self.users().is_some() {
            self.open_again_for(slot);
        } else if D::GATHERS {
            // Many may have been on it: any connection with room will do.
            self.again.push_back(slot);
        } else {
            self.open_for(slot);
        }
    }

    /// Whether a free connection may have been closed since it was last looked at. Polling looks at
    /// all of them, so this costs a comparison unless the turn has lasted long, or more was ready
    /// than one poll reports.
    #[inline]
    pub(super) fn may_have_ended(&self, at: u32) -> bool {
        let connection = &self.connections[at as usize];
        connection.in_use == 0
            && connection.free_since < self.looked
            && self.now.saturating_sub(self.looked) > LOOK_AGAIN_NS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_close_is_the_race_within_the_window_only() {
        let close = |ms: u64| Close { at: ms * MS, window_ns: WINDOW_NS, wrote: 0 };
        assert!(close(105).crosses(100 * MS) && close(99).crosses(100 * MS));
        assert!(!close(106).crosses(100 * MS));
        let upload = Close { wrote: 150 * MS, ..close(153) };
        assert!(upload.crosses(100 * MS), "counted from the last byte");
    }

    #[test]
    fn lateness_is_what_the_kernel_and_the_polls_allow() {
        // Looked at every millisecond, and the kernel has just heard the FIN.
        assert_eq!(lateness(MS, Some(0), 4 * MS, true), 0);
        assert_eq!(lateness(MS, Some(4 * MS), 4 * MS, true), MS);
        // The thread was kept from its core for 50 ms, which the kernel knows to a tick.
        assert_eq!(lateness(50 * MS, Some(44 * MS), 4 * MS, true), 42 * MS);
        assert_eq!(lateness(0, Some(44 * MS), 4 * MS, true), 40 * MS);
        // A reset leaves no trace: what was heard before it is an upper bound.
        assert_eq!(lateness(50 * MS, Some(8 * MS), 4 * MS, false), 8 * MS);
        assert_eq!(lateness(MS, Some(8 * MS), 4 * MS, false), MS);
        // Not TCP.
        assert_eq!(lateness(2 * MS, None, 4 * MS, true), 2 * MS);
    }
}
