//! The course of a cluster over a trace: counts of its parts, and when spools were full, so that
//! the transient state of caches that fill and the steady state after it are told apart.

use serde::{Deserialize, Serialize};

use super::counts::{Counts, NodeCounts, SOURCES, Source};

/// What is full: of a capacity, so many hundredths. What is larger than the rest does not come in
/// without another leaving, so all of it is seldom used.
const FULL_PERCENT: u128 = 95;

/// When a spool was full, that is, held 95% of its capacity, in bytes or in objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Full {
    /// The request that made it so, from 0.
    pub request: usize,
    /// Its second, where the trace has times.
    pub second: Option<u32>,
}

/// What a cluster, a node or a parent did in some stretch of a trace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Requests: of clients to a cluster or a node, of nodes to a parent.
    pub requests: u64,
    /// Bytes of these.
    pub requested_bytes: u64,
    /// Those answered by who was asked first, from what it held itself.
    pub hits: u64,
    /// Bytes of these.
    pub hit_bytes: u64,
    /// Those whose answer came from the origin.
    pub origin: u64,
    /// Bytes of these.
    pub origin_bytes: u64,
}

/// Parts of a trace, as many as the cluster says, of about as many requests each.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Courses {
    /// Of the cluster.
    pub cluster: Vec<Part>,
    /// Of each node.
    pub nodes: Vec<Vec<Part>>,
    /// Of each parent.
    pub parents: Vec<Vec<Part>>,
}

/// Requests of clients and their answers in some stretch of a trace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Requests.
    pub requests: u64,
    /// Bytes asked for.
    pub requested_bytes: u64,
    /// Answers by where they came from, in the order of [`SOURCES`].
    pub answers: [u64; SOURCES.len()],
    /// Bytes of these.
    pub bytes: [u64; SOURCES.len()],
}

/// Whether so much of a capacity makes it full.
pub(super) fn is_full(used: u64, capacity: u64) -> bool {
    u128::from(used) * 100 >= u128::from(capacity) * FULL_PERCENT
}

impl Part {
    /// What a member has done until now.
    pub(super) fn of_member(counts: &NodeCounts) -> Self {
        Self {
            requests: counts.requests,
            requested_bytes: counts.requested_bytes,
            hits: counts.hits,
            hit_bytes: counts.hit_bytes,
            origin: counts.origin,
            origin_bytes: counts.origin_bytes,
        }
    }

    /// What a cluster has done until now.
    pub(super) fn of_cluster(counts: &Counts) -> Self {
        let own = |of: &[u64]| of[Source::Memory as usize] + of[Source::Disk as usize];
        Self {
            requests: counts.requests,
            requested_bytes: counts.requested_bytes,
            hits: own(&counts.answers),
            hit_bytes: own(&counts.bytes),
            origin: counts.answers[Source::Origin as usize],
            origin_bytes: counts.bytes[Source::Origin as usize],
        }
    }

    /// What has come since an earlier state of the same.
    pub(super) fn since(&self, before: &Self) -> Self {
        Self {
            requests: self.requests - before.requests,
            requested_bytes: self.requested_bytes - before.requested_bytes,
            hits: self.hits - before.hits,
            hit_bytes: self.hit_bytes - before.hit_bytes,
            origin: self.origin - before.origin,
            origin_bytes: self.origin_bytes - before.origin_bytes,
        }
    }
}

impl Totals {
    pub(super) fn of(counts: &Counts) -> Self {
        let Counts { requests, requested_bytes, answers, bytes, .. } = *counts;
        Self { requests, requested_bytes, answers, bytes }
    }

    /// What has come since an earlier state of the same.
    pub(super) fn since(&self, before: &Self) -> Self {
        let since = |now: &[u64; SOURCES.len()], then: &[u64; SOURCES.len()]| {
            std::array::from_fn(|source| now[source] - then[source])
        };
        Self {
            requests: self.requests - before.requests,
            requested_bytes: self.requested_bytes - before.requested_bytes,
            answers: since(&self.answers, &before.answers),
            bytes: since(&self.bytes, &before.bytes),
        }
    }
}

/// Takes the parts of a course as a trace is replayed.
#[derive(Debug)]
pub(super) struct Recorder {
    /// Of the cluster, and of each member in order.
    before: Vec<Part>,
    parts: Vec<Vec<Part>>,
}

impl Recorder {
    pub(super) fn new(members: usize) -> Self {
        Self { before: vec![Part::default(); members + 1], parts: vec![Vec::new(); members + 1] }
    }

    /// A part is over; `now` are the states of the cluster and of each member at its end.
    pub(super) fn end_part(&mut self, now: impl Iterator<Item = Part>) {
        for ((before, parts), now) in self.before.iter_mut().zip(&mut self.parts).zip(now) {
            parts.push(now.since(before));
            *before = now;
        }
    }

    /// All parts; so many of the members are nodes.
    pub(super) fn courses(mut self, nodes: usize) -> Courses {
        let parents = self.parts.split_off(nodes + 1);
        let of_nodes = self.parts.split_off(1);
        Courses { cluster: self.parts.pop().unwrap_or_default(), nodes: of_nodes, parents }
    }
}
