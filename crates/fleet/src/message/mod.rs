//! What a controller and its workers say to each other: a line of JSON each.
//!
//! The session begins with a greeting of each side, which every version can read; whoever speaks
//! another version of it is refused by name. Offsets are nanoseconds since the load's first due
//! time, moments those of a host's monotonic clock.

mod cells;

pub use cells::{CellAnswer, CellsJob, Fault, FigureOf, Lease, LeaseEnd, LeasedCell, Piece, RunOf};

use crate::host::Host;
use plimsoll_load::{Part, Slice};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// How the greeting of a worker begins: what stands before it is not ours (a login's banner).
pub const GREETING: &str = "plimsoll-worker ";
/// The version of what is said after the greetings.
pub const SCHEMA: u32 = 4;
/// The longest line.
pub const LONGEST: usize = 16 << 20;

/// The first that each side says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Greeting {
    /// The version of the program.
    pub version: String,
    /// The version of what is said.
    pub schema: u32,
}

impl Greeting {
    /// That of a version of this program.
    #[must_use]
    pub fn of(version: &str) -> Self {
        Self { version: version.to_owned(), schema: SCHEMA }
    }

    /// Why a session with whoever says this cannot be; `None` where it can.
    #[must_use]
    pub fn refusal(&self, other: &Self) -> Option<String> {
        (self != other).then(|| {
            let Self { version, schema } = self;
            format!(
                "the versions differ: {version} (session {schema}) here, {} (session {}) there",
                other.version, other.schema
            )
        })
    }
}

/// The part of a load that a worker is to have.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Job {
    /// The plan's text.
    pub plan: String,
    /// The part.
    pub part: PartOf,
    /// How many threads have it.
    pub threads: u32,
    /// Whether they spin before a request is due, rather than sleep; `None` where that is for the
    /// worker to decide by its own cores.
    pub is_precise: Option<bool>,
    /// Whether a capacity is searched for: rates come one by one then, until it is to stop.
    pub is_search: bool,
    /// The protocol that is spoken with the target, where that was left open.
    pub protocol: String,
    /// The addresses that may be asked.
    pub may_ask: Vec<IpAddr>,
}

/// A [`Part`], as it is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartOf {
    process: u32,
    processes: u32,
    before: u32,
    after: u32,
}

impl From<Part> for PartOf {
    fn from(part: Part) -> Self {
        let Part { process, processes, before, after } = part;
        Self { process, processes, before, after }
    }
}

impl From<PartOf> for Part {
    fn from(part: PartOf) -> Self {
        let PartOf { process, processes, before, after } = part;
        Self { process, processes, before, after }
    }
}

/// What a controller tells a worker.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// A piece of a file that the plan reads, before the job.
    Input {
        /// The file's name among those that the plan reads.
        name: String,
        /// The piece, in base64.
        base64: String,
    },
    /// Make ready for this; comes once.
    Job(Box<Job>),
    /// Make ready for cells; comes once, instead of a job.
    Cells(Box<CellsJob>),
    /// Execute these cells, behind those of the leases before.
    Lease(Lease),
    /// Say what time it is; also a sign of life.
    Ping {
        /// When it was sent, by the controller's clock.
        sent_ns: u64,
    },
    /// The load begins.
    Begin {
        /// When, by the worker's clock.
        at_ns: u64,
    },
    /// A part of the load's offer is offered from an offset on, instead of what was before.
    Offer {
        /// The offset.
        from_ns: u64,
        /// Which part of the offer.
        part: usize,
    },
    /// A rate is offered from an offset on, for so long, by chance.
    OfferRate {
        /// The offset.
        from_ns: u64,
        /// Of all workers together, requests a second.
        rate_per_s: f64,
        /// How long, nanoseconds.
        length_ns: u64,
    },
    /// What waits for a connection is not sent any more.
    DiscardWaiting,
    /// What is due from an offset on is of the measured phase.
    MeasureFrom(u64),
    /// The load ends at an offset, when all is answered, or the drain time later.
    EndAt(u64),
    /// Offer no more, finish what is in flight, end.
    Stop,
    /// End at once.
    Abort,
}

/// What a worker answers.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// What time it is.
    Pong {
        /// When the ping was sent, as it says.
        sent_ns: u64,
        /// When it was received, by the worker's clock.
        received_ns: u64,
        /// When it was answered, by the worker's clock.
        answered_ns: u64,
    },
    /// Connections are open; the load can begin.
    Ready {
        /// Where.
        host: Host,
    },
    /// It cannot do what it was asked to.
    Refused {
        /// Why.
        why: String,
        /// What could be done about it.
        hint: Option<String>,
        /// Whether what was asked for is wrong.
        is_usage: bool,
    },
    /// The load has begun.
    Begun {
        /// How much later than it was told, by its own clock.
        late_ns: u64,
    },
    /// What was observed in a slice of the load.
    Slice(Box<Slice>),
    /// A piece of the run of a cell, before what came of the cell.
    Piece(Piece),
    /// What came of a cell.
    Cell(Box<CellAnswer>),
    /// No more comes of a lease.
    LeaseEnded(LeaseEnd),
    /// All slices were told.
    Ended {
        /// The processor time that its process has used, nanoseconds.
        cpu_ns: u64,
        /// The most memory that it had, bytes.
        max_rss_bytes: Option<u64>,
    },
}
