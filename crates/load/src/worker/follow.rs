//! Redirects: a request goes on where its answer has led it.
//!
//! Its due time stays, and so does all that was counted of it: it was offered once and sent once.
//! What was answered on the way is counted under `redirects`, with its bytes. Service time and
//! first byte are those of the last answer.

use super::Worker;
use super::explain::Why;
use crate::driver::{Driver, Follow, Slot};
use crate::recorder::Under;
use plimsoll_runs::ErrorKind;

impl<D: Driver> Worker<D> {
    /// Whether an answer is none that ends its request as every other does: it leads elsewhere, and
    /// the request goes on there, or has failed as it may not.
    #[inline]
    pub(super) fn is_followed(&mut self, slot: Slot, code: u16, bytes: u64) -> bool {
        self.config.follow > 0 && (301..=308).contains(&code) && self.lead_on(slot, code, bytes)
    }

    fn lead_on(&mut self, slot: Slot, code: u16, bytes: u64) -> bool {
        let Some((sent, _)) = self.in_flight.get_mut(slot) else { return false };
        let (request, phase, under) = (sent.request, sent.phase, Under::from(&*sent));
        match self.driver.follow(slot, request, code) {
            Follow::Answer => false,
            Follow::Again => {
                self.recorder.redirected(self.now, phase, under, bytes);
                let holder = self.in_flight.lead_on(slot);
                let connection = holder.and_then(|at| self.connections.get_mut(at as usize));
                if let Some(connection) = connection {
                    connection.in_use = connection.in_use.saturating_sub(1);
                    connection.answered += 1;
                }
                self.again.push_back(slot);
                true
            }
            Follow::Astray => {
                self.explain(slot, ErrorKind::Redirect, Some(code), Why::Driver);
                self.end_request(slot, Some(code), bytes, Some(ErrorKind::Redirect));
                true
            }
        }
    }
}
