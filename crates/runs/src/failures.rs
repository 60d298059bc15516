//! The causes of all failures of a run so far, as its folder keeps them: their counts in the table
//! `reason`, and an event for each that is new.

use crate::schema::{self, Place};
use crate::{Class, Event, Interval, Phase, Reasons};
use rusqlite::Connection;

/// What the table calls causes of requests that failed.
pub(crate) const OF_REQUESTS: &str = "request";
/// And those of attempts to connect that failed.
pub(crate) const OF_CONNECTIONS: &str = "connection";

/// The causes of a run's failures.
#[derive(Default)]
pub(crate) struct Failures {
    /// Of requests, by the phase in which they were due.
    requests: [Reasons; Phase::ALL.len()],
    /// Of attempts to connect.
    connections: Reasons,
}

impl Failures {
    /// Adds those of a second; returns an event for each cause that was not there before.
    pub(crate) fn add(&mut self, interval: &Interval) -> Vec<Event> {
        let mut events = Vec::new();
        for (all, slice) in self.requests.iter_mut().zip(&interval.phases) {
            merge(all, &slice.reasons, "failed", &mut events);
        }
        merge(&mut self.connections, &interval.refusals, "not connected", &mut events);
        events
    }

    /// Writes all there are, and the events of those that are new.
    pub(crate) fn write(
        &self,
        database: &Connection,
        place: Place,
        events: &[Event],
    ) -> rusqlite::Result<()> {
        for phase in Phase::ALL {
            let place = Place { phase, ..place };
            let reasons = &self.requests[phase as usize];
            if !reasons.is_empty() {
                schema::replace_reasons(database, place, OF_REQUESTS, reasons)?;
            }
        }
        if !self.connections.is_empty() {
            let place = Place { phase: Phase::Measured, ..place };
            schema::replace_reasons(database, place, OF_CONNECTIONS, &self.connections)?;
        }
        events.iter().try_for_each(|event| schema::insert_event(database, place, event))
    }
}

/// Adds `new` to `all`, and an event for each cause that a run keeps and had not met.
fn merge(all: &mut Reasons, new: &Reasons, name: &str, events: &mut Vec<Event>) {
    if new.is_empty() {
        return;
    }
    let before: Vec<u64> = all.first().iter().map(|reason| reason.key).collect();
    all.add(new);
    let fresh = all.first().into_iter().filter(|reason| !before.contains(&reason.key));
    events.extend(fresh.map(|reason| Event {
        at_ns: reason.first_ns,
        class: Class::Failure,
        kind: name.to_owned(),
        text: format!("{}: {}", reason.kind.name(), reason.text),
    }));
}
