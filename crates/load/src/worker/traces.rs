//! Under which ids the requests on their way are traced, of those that servers are asked to record.
//!
//! What is sent again, or on behind a redirect, is recorded under the id that was sent last, as that
//! is the one which stands at the server that has answered.

use super::Worker;
use crate::driver::{Driver, Slot};
use crate::source::Source;
use plimsoll_runs::TraceId;
use std::collections::BTreeMap;

/// The traces of the requests on their way.
#[derive(Debug, Default)]
pub(super) struct Traces {
    is_on: bool,
    of: BTreeMap<Slot, TraceId>,
}

impl Traces {
    /// None yet; none ever where no request is traced.
    pub(super) fn new(is_on: bool) -> Self {
        Self { is_on, of: BTreeMap::new() }
    }

    /// Whether requests are traced at all.
    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.is_on
    }

    /// That of a request that has ended, if servers were asked to record it.
    #[inline]
    pub(super) fn take(&mut self, slot: Slot) -> Option<TraceId> {
        if self.of.is_empty() { None } else { self.of.remove(&slot) }
    }
}

impl<D: Driver> Worker<D> {
    /// A request was sent: its trace is the one that it says it is. Where it says nothing new, it
    /// was sent before, as it is.
    pub(super) fn note_trace(&mut self, slot: Slot, request: u32) {
        let said = match &self.source {
            Source::Users(users) => users.message(request).and_then(|of| of.traceparent),
            Source::Open(_) | Source::Closed(_) => self.driver.take_traceparent(),
        };
        let Some(said) = said else { return };
        match said.is_sampled {
            true => self.traces.of.insert(slot, TraceId(said.trace_id)),
            false => self.traces.of.remove(&slot),
        };
    }
}
