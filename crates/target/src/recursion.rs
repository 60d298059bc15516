//! The truth about a run, computed anew from its arrivals and services: what the server's queue
//! made of them, request by request, by the plainest means.
//!
//! It shares no code with [`crate::queue`], on purpose: here every worker's state stands in a
//! list, stalls are walked through one by one, and nothing is forgotten. So one checks the other,
//! and a test may call what it says the truth. Percentiles are exact: the value of rank
//! max(1, ⌈q·n⌉) among the sorted ones, as HdrHistogram counts ranks.

use std::num::NonZeroU32;

use crate::log::Record;
use crate::stall::Stall;

/// One request as it came: arrival, and the service it needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// When it arrived, nanoseconds since time zero.
    pub at_ns: u64,
    /// What it needed of one worker, nanoseconds.
    pub service_ns: u64,
}

impl From<&Record> for Arrival {
    fn from(record: &Record) -> Self {
        Self { at_ns: record.arrival_ns, service_ns: record.service_ns }
    }
}

/// The server that the requests met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct System {
    /// Workers that serve at once.
    pub workers: NonZeroU32,
    /// How many may wait; `None` for any number.
    pub bound: Option<u64>,
    /// When it freezes.
    pub stall: Option<Stall>,
}

impl System {
    /// Workers without a bound and without stalls: an M/G/c queue where arrivals are Poisson.
    #[must_use]
    pub fn of(workers: NonZeroU32) -> Self {
        Self { workers, bound: None, stall: None }
    }
}

/// When each request departs, in order of arrival; `None` where it was refused.
///
/// *Shape*: one element an arrival; arrivals in order. *Cost*: O(n · workers), with a
/// bound O(n · (workers + bound)).
#[must_use]
pub fn departures(system: System, arrivals: &[Arrival]) -> Vec<Option<u64>> {
    let mut free_at = vec![0_u64; system.workers.get() as usize];
    // Start of every admitted request; those that start after an arrival wait at it.
    let mut starts: Vec<(u64, bool)> = Vec::new();
    let mut first_waiting = 0;
    let mut departures = Vec::with_capacity(arrivals.len());
    for arrival in arrivals {
        let Some(worker) = free_at.iter_mut().min() else { unreachable!("at least one worker") };
        let must_wait = *worker > arrival.at_ns;
        while starts.get(first_waiting).is_some_and(|&(start, _)| start <= arrival.at_ns) {
            first_waiting += 1;
        }
        let waiting = || starts[first_waiting..].iter().filter(|(_, waits)| *waits).count();
        if must_wait && system.bound.is_some_and(|bound| waiting() as u64 >= bound) {
            departures.push(None);
            continue;
        }
        let start = thawed(system.stall, arrival.at_ns.max(*worker));
        *worker = serve(system.stall, start, arrival.service_ns);
        starts.push((start, must_wait));
        departures.push(Some(*worker));
    }
    departures
}

/// The instant itself, or the end of the stall it falls into.
fn thawed(stall: Option<Stall>, at_ns: u64) -> u64 {
    match stall {
        Some(stall) if stall.is_frozen(at_ns) => {
            at_ns - at_ns % stall.every_ns() + stall.length_ns()
        }
        _ => at_ns,
    }
}

/// When `service_ns` of work is done that begins at `start_ns`, a stall at a time.
fn serve(stall: Option<Stall>, start_ns: u64, service_ns: u64) -> u64 {
    let Some(stall) = stall else { return start_ns.saturating_add(service_ns) };
    let (mut at, mut left) = (start_ns, service_ns);
    loop {
        let next_stall = (at / stall.every_ns() + 1) * stall.every_ns();
        if at + left < next_stall {
            return at + left;
        }
        left -= next_stall - at;
        at = next_stall + stall.length_ns();
    }
}

/// Exact figures of the response times that the server's queue made, nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Truth {
    /// Response times in ascending order, departure − arrival, of the requests that were served.
    sorted: Vec<u64>,
    /// How many were refused.
    refused: u64,
}

impl Truth {
    /// What the system makes of the arrivals.
    #[must_use]
    pub fn of(system: System, arrivals: &[Arrival]) -> Self {
        let departures = departures(system, arrivals);
        Self::from_responses(
            arrivals
                .iter()
                .zip(departures)
                .map(|(arrival, departure)| Some(departure? - arrival.at_ns)),
        )
    }

    /// What the server computed, and wrote into its log: its truth while it ran. Requests without
    /// an answer of their own (503) count as refused.
    #[must_use]
    pub fn logged(records: &[Record]) -> Self {
        Self::from_responses(records.iter().map(|record| {
            (record.status != 503).then_some(record.depart_ns.saturating_sub(record.arrival_ns))
        }))
    }

    /// Of known response times; `None` for a refused request.
    #[must_use]
    pub fn from_responses(responses: impl IntoIterator<Item = Option<u64>>) -> Self {
        let mut refused = 0;
        let mut sorted: Vec<u64> = responses
            .into_iter()
            .filter_map(|response| {
                refused += u64::from(response.is_none());
                response
            })
            .collect();
        sorted.sort_unstable();
        Self { sorted, refused }
    }

    /// How many were served.
    #[must_use]
    pub fn count(&self) -> usize {
        self.sorted.len()
    }

    /// How many were refused.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Mean response time; `None` when nothing was served.
    #[must_use]
    pub fn mean_ns(&self) -> Option<f64> {
        let sum: u128 = self.sorted.iter().map(|&response| u128::from(response)).sum();
        (!self.sorted.is_empty()).then(|| sum as f64 / self.sorted.len() as f64)
    }

    /// The response time of rank max(1, ⌈q·n⌉), `q` in 0..=1; `None` when nothing was served.
    #[must_use]
    pub fn quantile_ns(&self, q: f64) -> Option<u64> {
        let n = self.sorted.len();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within 0..=n")]
        let rank = ((q.clamp(0.0, 1.0) * n as f64).ceil() as usize).clamp(1, n.max(1));
        self.sorted.get(rank - 1).copied()
    }

    /// The greatest response time; `None` when nothing was served.
    #[must_use]
    pub fn max_ns(&self) -> Option<u64> {
        self.sorted.last().copied()
    }
}

/// What a server of constant service time makes of requests that are due at known instants and
/// sent on time: the truth of `--stall` under an even schedule.
///
/// `due_ns` counts from time zero of the server, the arrival of its first request.
///
/// ```
/// use std::num::NonZeroU32;
///
/// use plimsoll_target::Stall;
/// use plimsoll_target::recursion::{System, truth};
///
/// // Frozen for 1 s every 10 s, 0.1 ms a request, 1,000 requests a second for 20 s.
/// let stall = Stall::new(10_000_000_000, 1_000_000_000);
/// let system = System { stall, ..System::of(NonZeroU32::MIN) };
/// let truth = truth(system, 100_000, (0..20_000).map(|request| request * 1_000_000));
/// assert_eq!(truth.quantile_ns(0.5), Some(100_000));
/// assert_eq!(truth.quantile_ns(0.99), Some(820_100_000));
/// assert_eq!(truth.max_ns(), Some(1_000_100_000));
/// ```
#[must_use]
pub fn truth(system: System, service_ns: u64, due_ns: impl IntoIterator<Item = u64>) -> Truth {
    let arrivals: Vec<Arrival> =
        due_ns.into_iter().map(|at_ns| Arrival { at_ns, service_ns }).collect();
    Truth::of(system, &arrivals)
}
