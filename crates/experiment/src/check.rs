//! What a plan would do, without doing it: requests, peak, connections, descriptors, threads.

use crate::mix::Mix;
use crate::prepare::Prepared;
use plimsoll_load::Times;
use plimsoll_load::run::Offer;

/// The figures of a plan that is not run.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// Requests in the measured phase; `None` in a closed loop, where the target decides.
    pub requests: Option<u64>,
    /// Length of the measured phase, seconds.
    pub duration_s: f64,
    /// Greatest rate, per second; `None` in a closed loop.
    pub peak_per_s: Option<f64>,
    /// Connections at the start, and at most.
    pub connections: (u32, u32),
    /// Descriptors the process needs at most.
    pub descriptors: u64,
    /// Threads that generate the load.
    pub threads: u32,
    /// `precise` or `thrifty`.
    pub pacing: &'static str,
    /// What is asked for, where it is more than one thing.
    pub mix: Option<Mix>,
    /// What was noticed while preparing, one sentence each.
    pub notes: Vec<String>,
}

impl Check {
    /// The figures of a prepared plan.
    #[must_use]
    pub fn of(prepared: &Prepared) -> Self {
        let (requests, peak) = match &prepared.offer {
            Offer::Closed(..) => (None, None),
            Offer::Open { parts, limit } => {
                let measured = parts.last();
                let total = measured.map_or(0, |times| match times {
                    Times::Schedule(schedule, _) => schedule.total(),
                    Times::Listed(times) => times.len() as u64,
                });
                let total = limit.map_or(total, |limit| total.min(limit));
                (Some(total), measured.and_then(prepare_peak))
            }
        };
        let config = &prepared.config;
        Self {
            requests,
            duration_s: prepared.duration_ns as f64 / 1e9,
            peak_per_s: peak,
            connections: config.connections,
            descriptors: config.descriptors() + plimsoll_load::session::OTHER_DESCRIPTORS,
            threads: config.threads,
            pacing: config.pacing.name(),
            mix: Mix::of(&config.requests, config.sequence.as_deref()),
            notes: prepared.notes.clone(),
        }
    }
}

fn prepare_peak(times: &Times) -> Option<f64> {
    crate::prepare::peak(times)
}
