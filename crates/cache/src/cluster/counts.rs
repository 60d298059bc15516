//! What a simulated cluster counts.

use plimsoll_stats::histogram::Histogram;
use plimsoll_stats::percentiles::is_stated;
use serde::{Deserialize, Serialize};

use crate::size_class::SizeClass;

use super::course::{Courses, Full, Part, Totals};

/// Where the bytes of an answer came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The node's memory.
    Memory,
    /// The node's disk.
    Disk,
    /// A sibling that held it.
    Sibling,
    /// A parent that held it.
    Parent,
    /// The origin, asked by the node or by its parent.
    Origin,
}

/// All sources with their names.
pub const SOURCES: [(Source, &str); 5] = [
    (Source::Memory, "memory"),
    (Source::Disk, "disk"),
    (Source::Sibling, "sibling"),
    (Source::Parent, "parent"),
    (Source::Origin, "origin"),
];

/// What one node, or one parent, did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeCounts {
    /// Requests to it: of clients to a node, of nodes to a parent.
    pub requests: u64,
    /// Those it answered from what it held.
    pub hits: u64,
    /// Bytes asked of it.
    pub requested_bytes: u64,
    /// Those it held.
    pub hit_bytes: u64,
    /// Its answers that came from the origin, fetched by itself or by a parent.
    pub origin: u64,
    /// Bytes of these.
    pub origin_bytes: u64,
    /// What siblings asked of it and got.
    pub given: u64,
    /// Objects that its admission filter refused, each time that one did.
    pub refused: u64,
    /// Objects that left.
    pub evictions: u64,
    /// Objects that it holds at the end.
    pub held: u64,
    /// When its spool was full first; never without.
    pub full: Option<Full>,
    /// What it did after the last of all members was full; none without.
    pub steady: Option<Part>,
}

/// Messages between caches, without the answers that carry objects.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Messages {
    /// Queries and tests.
    pub queries: u64,
    /// Answers to them.
    pub answers: u64,
    /// Digests that were sent from one cache to another.
    pub digests: u64,
    /// Bytes of all, without the headers of UDP, TCP and IP.
    pub bytes: u64,
}

/// What a cluster did.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Counts {
    /// Requests of clients.
    pub requests: u64,
    /// Bytes asked for by them; each 1 in a trace without sizes.
    pub requested_bytes: u64,
    /// Answers by where they came from, in the order of [`SOURCES`].
    pub answers: [u64; 5],
    /// Bytes of these.
    pub bytes: [u64; 5],
    /// Nodes, in order.
    pub nodes: Vec<NodeCounts>,
    /// Parents, in order.
    pub parents: Vec<NodeCounts>,
    /// Messages between them.
    pub messages: Messages,
    /// A digest said that a cache holds what it did not.
    pub false_hits: u64,
    /// An object was held where no digest said so, and fetched from farther away.
    pub missed_chances: u64,
    /// Answers of an old version, from a copy that was taken to be fresh.
    pub stale_hits: u64,
    /// Copies that were no longer fresh and were confirmed by the origin.
    pub confirmed: u64,
    /// Such that had changed, and were fetched again: misses.
    pub changed: u64,
    /// Objects held by more than one node at the end, counted once for each copy beyond the first.
    pub duplicates: u64,
    /// Their bytes.
    pub duplicate_bytes: u64,
    /// Response times by the latency model, nanoseconds. A file of counts is without them.
    #[serde(skip)]
    pub response_ns: Histogram,
    /// By the size of objects; misses are answers from the origin. Empty where that was not asked
    /// for or is not known.
    pub by_size: Vec<SizeClass>,
    /// For each part of the trace: requests, and answers from the origin.
    pub course: Vec<(u64, u64)>,
    /// More of each part, and of each member.
    pub courses: Courses,
    /// When the spool of the last node or parent was full: until then the state is transient,
    /// afterwards it is steady. None where one never was.
    pub full: Option<Full>,
    /// What followed; none where one never was full.
    pub steady: Option<Totals>,
}

impl Counts {
    pub(super) fn answered(&mut self, source: Source, bytes: u64) {
        self.requests += 1;
        self.requested_bytes += bytes;
        self.answers[source as usize] += 1;
        self.bytes[source as usize] += bytes;
    }

    /// Share of requests that came from the origin; 0 of none.
    #[must_use]
    pub fn miss_ratio(&self) -> f64 {
        ratio(self.answers[Source::Origin as usize], self.requests)
    }

    /// A percentile of response times, nanoseconds; `None` where it may not be stated, as fewer
    /// than ten requests lie beyond it ([`is_stated`]).
    #[must_use]
    pub fn response_percentile(&self, quantile: f64) -> Option<u64> {
        let is_stated = is_stated(quantile, self.response_ns.count());
        if is_stated { self.response_ns.value_at_quantile(quantile) } else { None }
    }

    /// Messages between caches for each request; 0 of none.
    #[must_use]
    pub fn messages_per_request(&self) -> f64 {
        let Messages { queries, answers, digests, .. } = self.messages;
        ratio(queries + answers + digests, self.requests)
    }

    /// Share of bytes that came from the origin; 0 of none.
    #[must_use]
    pub fn byte_miss_ratio(&self) -> f64 {
        ratio(self.bytes[Source::Origin as usize], self.requested_bytes)
    }
}

#[expect(clippy::cast_precision_loss, reason = "a share is shown with fewer digits")]
fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_told_where_ten_lie_beyond_it() {
        let mut counts = Counts::default();
        assert_eq!(counts.response_percentile(0.5), None);
        for ns in 1..=999 {
            counts.response_ns.record(ns);
        }
        assert_eq!(
            (counts.response_percentile(0.99), counts.response_percentile(0.9)),
            (None, Some(900))
        );
        counts.response_ns.record(1_000);
        assert_eq!(counts.response_percentile(0.99), Some(990));
        assert_eq!(counts.response_percentile(1.0), None);
    }
}
