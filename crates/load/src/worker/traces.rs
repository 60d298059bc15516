//! Under which ids the requests on their way are traced, of those that servers are asked to record.
//!
//! What is sent again, or on behind a redirect, is recorded under the id that was sent last: that
//! is the one which stands at the server that has answered.

use super::Worker;
use crate::driver::{Driver, Slot};
use crate::source::Source;
use plimsoll_runs::TraceId;

impl<D: Driver> Worker<D> {
    /// A request was sent: its trace is the one that it says it is. Where it says nothing new, it
    /// was sent before, as it is.
    pub(super) fn note_trace(&mut self, slot: Slot, request: u32) {
        let said = match &self.source {
            Source::Users(users) => users.message(request).and_then(|of| of.traceparent),
            Source::Open(_) | Source::Closed(_) => self.driver.take_traceparent(),
        };
        if let Some(said) = said {
            let trace = TraceId(said.trace_id);
            self.in_flight.traces.note(slot, Some(trace).filter(|_| said.is_sampled));
        }
    }
}
