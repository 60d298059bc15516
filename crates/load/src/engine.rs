//! What offers a load: the threads of this process, or processes that have a part of it each.

use crate::clock::Clock;
use crate::recorder::Slice;
use crate::session::Session;
use crate::source::Times;
use plimsoll_runs::{PartSecond, Sink, SinkError};
use plimsoll_units::show_duration;
use plimsoll_workload::schedule::ScheduleError;
use std::time::Duration;

/// By so much the threads of this process have to be told earlier of what begins.
const LEAD_NS: u64 = 1_000_000;

/// A process that had a part of a load is lost: the load has ended, as nobody else can send what
/// was its part.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "go on with the load without {worker}, which was lost after {}: {cause}",
    show_duration(*.after_ns)
)]
pub struct Lost {
    /// Which one.
    pub worker: String,
    /// How it was lost, as far as that is known.
    pub cause: String,
    /// When that was noticed, nanoseconds since the load began.
    pub after_ns: u64,
}

/// What offers a load: the threads of this process ([`Session`]), or other processes that have a
/// part of it each.
pub trait Engine {
    /// The load's time.
    fn clock(&self) -> Clock;
    /// From `from_ns` on, offers the part of the load's [`Offer`](crate::run::Offer) with this
    /// number, whose times these are.
    fn offer(&mut self, from_ns: u64, part: usize, times: &Times);
    /// From `from_ns` on, offers a rate for so long, by chance.
    ///
    /// # Errors
    /// A rate that no schedule can have.
    fn offer_rate(
        &mut self,
        from_ns: u64,
        rate_per_s: f64,
        length_ns: u64,
    ) -> Result<(), ScheduleError>;
    /// How much earlier than an offset all of it have to be told of what begins there.
    fn lead_ns(&self) -> u64 {
        LEAD_NS
    }
    /// What waits for a connection is not sent any more.
    fn discard_waiting(&mut self);
    /// What is due from `at_ns` on is of the measured phase.
    fn measure_from(&mut self, at_ns: u64);
    /// The load ends at `at_ns`, when all is answered, or the drain time later.
    fn end_at(&mut self, at_ns: u64);
    /// Offers no more, finishes what is in flight, ends.
    fn stop(&mut self);
    /// Ends at once.
    fn abort(&mut self);
    /// The next slice of all, waiting for it up to `patience`.
    fn next_slice(&mut self, patience: Duration) -> Option<&Slice>;
    /// Whether all is over and all slices are taken.
    fn has_ended(&self) -> bool;
    /// What each of its parts did in the seconds that became whole since this was asked last, with
    /// the part's name. One that is whole itself tells nothing.
    fn parts(&mut self) -> Vec<(String, PartSecond)> {
        Vec::new()
    }
    /// Who was lost, where somebody was: all others end then.
    fn lost(&self) -> Option<Lost> {
        None
    }
}

impl Engine for Session {
    fn clock(&self) -> Clock {
        Self::clock(self)
    }

    fn offer(&mut self, from_ns: u64, _part: usize, times: &Times) {
        Self::offer(self, from_ns, times);
    }

    fn offer_rate(
        &mut self,
        from_ns: u64,
        rate_per_s: f64,
        length_ns: u64,
    ) -> Result<(), ScheduleError> {
        Self::offer(self, from_ns, &Times::at_rate(rate_per_s, length_ns)?);
        Ok(())
    }

    fn discard_waiting(&mut self) {
        Self::discard_waiting(self);
    }

    fn measure_from(&mut self, at_ns: u64) {
        Self::measure_from(self, at_ns);
    }

    fn end_at(&mut self, at_ns: u64) {
        Self::end_at(self, at_ns);
    }

    fn stop(&mut self) {
        Self::stop(self);
    }

    fn abort(&mut self) {
        Self::abort(self);
    }

    fn next_slice(&mut self, patience: Duration) -> Option<&Slice> {
        Self::next_slice(self, patience)
    }

    fn has_ended(&self) -> bool {
        Self::has_ended(self)
    }
}

/// Stores what the parts of an engine did in the seconds that have become whole, as series.
///
/// # Errors
/// The sink's.
pub fn store_parts(session: &mut dyn Engine, sink: &mut dyn Sink) -> Result<(), SinkError> {
    for (name, second) in session.parts() {
        let late_us = second.late_p99_ns.map_or(f64::NAN, |ns| ns as f64 / 1e3);
        for (series, value) in [
            ("plimsoll_worker_sent_per_s", second.sent as f64),
            ("plimsoll_worker_lateness_p99_us", late_us),
            ("plimsoll_worker_busy_share", second.busy_share),
            ("plimsoll_worker_denied_share", second.denied_share),
            ("plimsoll_worker_cores", second.cores),
        ] {
            sink.series(series, &[("worker", &name)], second.at_ns, value)?;
        }
    }
    Ok(())
}
