//! Clusters of caches: one cache, a mesh of siblings, or a hierarchy of children and parents, with
//! the protocol by which they find what another holds.
//!
//! A request goes to one node. What that node does not hold, it asks for as the protocol says: a
//! sibling gives what it holds and fetches nothing for others; a parent gives what it holds and
//! fetches the rest from the origin. Every step costs time by a [`Latency`] model, and messages and
//! bytes by the formats of [`crate::protocol`].
//!
//! # What is simplified
//!
//! Requests are served one after the other: none waits, none is merged with another to the same
//! object that is on its way. All members are as far from each other as the model says, and no
//! message is lost.

mod counts;
mod course;
mod figures;
mod latency;
mod life;
mod locate;
mod member;
mod moves;
mod spread;
mod words;
mod world;

pub use counts::{Counts, Messages, NodeCounts, SOURCES, Source};
pub use course::{Courses, Full, Part, Totals};
pub use latency::{Latency, Leg};
pub use life::{Life, Periods};
pub use moves::Moves;
pub use world::simulate;

use crate::admission::{Admission, NoSizes};
use crate::capacity::{CapacityError, Size};
use crate::eviction::{Policy, SettingError};
use crate::protocol::carp::Variant;

/// How caches stand to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Architecture {
    /// Nodes that are siblings of each other; one node alone is a single cache.
    Mesh,
    /// Nodes that are siblings of each other, and so many parents between them and the origin.
    Hierarchy {
        /// How many parents, at least one.
        parents: usize,
        /// Whether the children ask each other too, or only their parents.
        siblings: bool,
    },
}

/// How a node finds out who holds an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// It does not: the origin is asked, or the parents in turn.
    None,
    /// ICP queries to all, for every miss (RFC 2186).
    Icp,
    /// HTCP tests to all, for every miss (RFC 2756).
    Htcp,
    /// Digests of all, made anew at an interval.
    Digest {
        /// Bits of the filter for each entry; Squid's default is 5.
        bits_per_entry: u8,
        /// Seconds of the trace from one making to the next; Squid's default is 3600.
        every_s: u32,
    },
    /// A parent by the hash of its name and the URL, in a hierarchy only.
    Carp(Variant),
}

/// Which node a client's request goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spread {
    /// One after the other.
    RoundRobin,
    /// By the object: each has one node.
    Hash,
    /// By the client: each has one node. Needs a trace with clients.
    Sticky,
}

/// A cluster.
#[derive(Debug, Clone)]
pub struct Cluster {
    /// Nodes that clients ask, at least one.
    pub nodes: usize,
    /// How they stand to each other.
    pub architecture: Architecture,
    /// How they find what others hold.
    pub protocol: Protocol,
    /// Which of them a request goes to.
    pub spread: Spread,
    /// The policy of every node.
    pub policy: Policy,
    /// The size of each node.
    pub size: Size,
    /// The policy and size of each parent; those of the nodes where there is none.
    pub parent: Option<(Policy, Size)>,
    /// Which objects that came from elsewhere each node and parent keeps, all alike, but each by
    /// what it was asked for itself; all without one.
    pub admission: Option<Admission>,
    /// Of each node so much is in memory, by LRU; the rest is on disk. All is on disk without.
    pub memory: Option<Size>,
    /// Whether what comes from a sibling is kept too; Squid does, unless `proxy-only`.
    pub keeps_siblings: bool,
    /// What each step costs.
    pub latency: Latency,
    /// How objects change and how long copies are fresh; without it nothing changes.
    pub life: Option<Life>,
    /// Whether misses are counted by the size of objects as well, where the trace has sizes.
    pub by_size: bool,
    /// In so many parts the trace is counted, at least 1: for lines over time.
    pub parts: usize,
}

/// A cluster that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClusterError {
    /// No node, or no parent.
    #[error("expected at least one {0}, found none")]
    None(&'static str),
    /// More members than a cluster has.
    #[error("expected at most {MOST_MEMBERS} nodes and parents, found {0}")]
    TooMany(usize),
    /// CARP without parents.
    #[error("expected a hierarchy for CARP, which chooses among parents, found a mesh")]
    CarpInMesh,
    /// By client, of a trace without clients.
    #[error("expected a trace with clients to spread them sticky, found one without")]
    NoClients,
    /// What goes by the clock, of a trace without times.
    #[error("expected a trace with times for {0}, found one without")]
    NoTimes(&'static str),
    /// A policy that knows the future: nodes see only a part of it.
    #[error("expected a policy that does not need the future, found {0}: a node sees a part of it")]
    Future(String),
    /// A digest that cannot be.
    #[error("expected 1 to 64 bits an entry and an interval above zero for digests, found {0}")]
    Digest(String),
    /// A life that says too little of the trace's objects, or what cannot be.
    #[error("expected {0}")]
    Life(String),
    /// A size that cannot be, for this trace.
    #[error(transparent)]
    Capacity(#[from] CapacityError),
    /// A filter by size, of a trace without sizes.
    #[error(transparent)]
    Admission(#[from] NoSizes),
    /// A setting that a policy cannot take.
    #[error(transparent)]
    Setting(#[from] SettingError),
}

/// The most nodes and parents together.
pub const MOST_MEMBERS: usize = 256;
