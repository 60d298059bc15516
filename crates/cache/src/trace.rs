//! A trace in memory: which object each request asks for, objects numbered densely by their first
//! appearance, and what is known of objects and requests beside that.
//!
//! Dense numbers are what makes replays fast: the state of a policy is an array, 4 bytes a request
//! stream by, and popular objects, which appear early, lie close together.
//!
//! [`read::read`] makes one of a file, whatever its format; [`reference::Reference`] makes one of
//! numbers, [`synthetic::Synthetic`] of a web workload's description. [`compiled`] and
//! [`oracle_general`] write one.

pub mod access_log;
mod address;
mod collect;
pub mod compiled;
pub mod csv;
mod error;
mod format;
mod hash;
pub mod info;
pub mod input;
mod largest_size;
mod names;
pub mod oracle_general;
pub mod read;
mod read_summary;
pub mod reference;
mod sampled;
mod save;
pub mod synthetic;
mod table;
mod tally;

use std::ops::Range;

pub use error::TraceError;
pub use format::{Format, UnknownFormat};
pub use read_summary::{ReadSummary, Skipped, UnreadableLine};
pub use sampled::{RateError, Sampling};
pub use tally::Tally;

/// Requests to objects, and what is known of them.
///
/// *Shape*: `objects[i]` is the object of request `i`, below [`Trace::distinct`]; numbers are given
/// in the order of first appearance, so `objects[0] == 0` and every number up to the greatest
/// appears. Whoever makes a trace keeps this: [`Trace::new`] checks it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    requests: Vec<u32>,
    distinct: u32,
    /// Size of each object in bytes.
    sizes: Option<SizeTable>,
    /// When each request came, seconds since the first, never falling.
    seconds: Option<Vec<u32>>,
    /// Who asked, densely numbered.
    clients: Option<Vec<u32>>,
    /// What each object is called where the trace came from.
    names: Names,
}

/// Sizes of objects, in as few bytes as they need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SizeTable {
    /// Every size is below 4 GiB.
    Narrow(Vec<u32>),
    /// Some is not.
    Wide(Vec<u64>),
}

/// What objects are called: needed for samples by hash, wire formats, and lists of the popular.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Names {
    /// Numbers, as binary formats have them.
    Numbers(Vec<u64>),
    /// Text: all of it, and where each begins; the last place is the end.
    Text {
        /// The names one after another.
        bytes: Vec<u8>,
        /// `ends[object]` is where its name ends, and the next begins.
        ends: Vec<u64>,
    },
}

/// A trace whose parts do not fit each other: a fault of the reader that made it, or of a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected parts of a trace that fit each other, found {0}")]
pub struct Misfit(pub String);

/// The most bytes that one object may have: 2^48, 256 TiB. What is larger is a mistake.
pub const MAX_OBJECT_BYTES: u64 = 1 << 48;

impl Trace {
    /// Puts a trace together, and checks that its parts fit each other.
    ///
    /// *Errors*: object numbers that are not in the order of first appearance, a table of another
    /// length, an object above [`MAX_OBJECT_BYTES`], times that fall, requested bytes above 2^63.
    pub fn new(requests: Vec<u32>, names: Names) -> Result<Self, Misfit> {
        let mut distinct = 0u32;
        for (at, &object) in requests.iter().enumerate() {
            if object > distinct || distinct == u32::MAX {
                return Err(Misfit(format!("object {object} as new at request {at}")));
            }
            distinct += u32::from(object == distinct);
        }
        let trace = Self { requests, distinct, sizes: None, seconds: None, clients: None, names };
        trace.names.check()?;
        let named = trace.names.len();
        if named != distinct as usize {
            return Err(Misfit(format!("{named} names of {distinct} objects")));
        }
        Ok(trace)
    }

    /// The same trace with a size for each object.
    ///
    /// *Errors*: as [`Trace::new`].
    pub fn with_sizes(self, sizes: Vec<u64>) -> Result<Self, Misfit> {
        self.with_size_table(SizeTable::Wide(sizes))
    }

    /// As [`Trace::with_sizes`], of a table as it is; it is kept in as few bytes as it needs.
    ///
    /// *Errors*: as [`Trace::new`].
    pub fn with_size_table(mut self, sizes: SizeTable) -> Result<Self, Misfit> {
        if sizes.len() != self.distinct as usize {
            return Err(Misfit(format!("{} sizes of {} objects", sizes.len(), self.distinct)));
        }
        let largest = sizes.largest();
        if largest > MAX_OBJECT_BYTES {
            return Err(Misfit(format!("an object of {largest} bytes")));
        }
        let all_largest = u128::from(largest) * self.requests.len() as u128;
        if all_largest >= 1 << 63 {
            let requested = self.requests.iter().try_fold(0u64, |sum, &object| {
                sum.checked_add(sizes.of(object)).filter(|&sum| sum < 1 << 63)
            });
            if requested.is_none() {
                return Err(Misfit("2^63 bytes requested, or more".into()));
            }
        }
        self.sizes = Some(sizes.narrowed());
        Ok(self)
    }

    /// The same trace with a second for each request.
    ///
    /// *Errors*: as [`Trace::new`].
    pub fn with_seconds(mut self, seconds: Vec<u32>) -> Result<Self, Misfit> {
        if seconds.len() != self.requests.len() {
            return Err(Misfit(format!("{} times of {} requests", seconds.len(), self.len())));
        }
        if let Some(at) = (1..seconds.len()).find(|&at| seconds[at] < seconds[at - 1]) {
            return Err(Misfit(format!("a time that falls at request {at}")));
        }
        self.seconds = Some(seconds);
        Ok(self)
    }

    /// The same trace with a client for each request.
    ///
    /// *Errors*: as [`Trace::new`].
    pub fn with_clients(mut self, clients: Vec<u32>) -> Result<Self, Misfit> {
        if clients.len() != self.requests.len() {
            return Err(Misfit(format!("{} clients of {} requests", clients.len(), self.len())));
        }
        self.clients = Some(clients);
        Ok(self)
    }

    /// How many requests there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.requests.len()
    }

    /// Whether nothing is asked for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// How many objects there are.
    #[must_use]
    pub fn distinct(&self) -> u32 {
        self.distinct
    }

    /// The object of each request.
    #[must_use]
    pub fn requests(&self) -> &[u32] {
        &self.requests
    }

    /// Sizes of objects, where the trace has any.
    #[must_use]
    pub fn sizes(&self) -> Option<&SizeTable> {
        self.sizes.as_ref()
    }

    /// Seconds since the first request, where the trace has times.
    #[must_use]
    pub fn seconds(&self) -> Option<&[u32]> {
        self.seconds.as_deref()
    }

    /// Who asked, where the trace says so.
    #[must_use]
    pub fn clients(&self) -> Option<&[u32]> {
        self.clients.as_deref()
    }

    /// What objects are called.
    #[must_use]
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// Sum of the sizes of all objects, bytes; `None` where the trace has no sizes.
    #[must_use]
    pub fn footprint_bytes(&self) -> Option<u64> {
        Some(match self.sizes.as_ref()? {
            SizeTable::Narrow(sizes) => sizes.iter().map(|&size| u64::from(size)).sum(),
            SizeTable::Wide(sizes) => sizes.iter().sum(),
        })
    }

    /// For each request the index of the next one to its object, [`NEVER`] where there is none.
    ///
    /// *Cost*: one pass backwards, 4 bytes a request and an object.
    #[must_use]
    pub fn next_uses(&self) -> Vec<u32> {
        let mut coming = vec![NEVER; self.distinct as usize];
        let mut next = vec![NEVER; self.requests.len()];
        for (at, &object) in self.requests.iter().enumerate().rev() {
            let index = u32::try_from(at).unwrap_or(NEVER);
            next[at] = std::mem::replace(&mut coming[object as usize], index);
        }
        next
    }
}

/// No next request: an index that no request has.
pub const NEVER: u32 = u32::MAX;

/// The most requests of one trace: their indices are below [`NEVER`].
pub const MAX_REQUESTS: usize = (u32::MAX - 1) as usize;

impl SizeTable {
    /// How many objects have one.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Narrow(sizes) => sizes.len(),
            Self::Wide(sizes) => sizes.len(),
        }
    }

    /// Whether none has.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The largest, bytes; zero of none.
    #[must_use]
    pub fn largest(&self) -> u64 {
        match self {
            Self::Narrow(sizes) => u64::from(sizes.iter().copied().max().unwrap_or(0)),
            Self::Wide(sizes) => sizes.iter().copied().max().unwrap_or(0),
        }
    }

    /// The same in as few bytes as it needs.
    fn narrowed(self) -> Self {
        let Self::Wide(sizes) = self else { return self };
        let narrow: Option<Vec<u32>> = sizes.iter().map(|&size| size.try_into().ok()).collect();
        narrow.map_or(Self::Wide(sizes), Self::Narrow)
    }

    /// The size of one object, bytes.
    #[must_use]
    pub fn of(&self, object: u32) -> u64 {
        match self {
            Self::Narrow(sizes) => u64::from(sizes[object as usize]),
            Self::Wide(sizes) => sizes[object as usize],
        }
    }
}

impl Names {
    /// How many objects are named.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Numbers(numbers) => numbers.len(),
            Self::Text { ends, .. } => ends.len(),
        }
    }

    /// Whether none is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether each text begins where the one before it ends, and the last where all text does.
    fn check(&self) -> Result<(), Misfit> {
        let Self::Text { bytes, ends } = self else { return Ok(()) };
        let falls = (1..ends.len()).find(|&at| ends[at] < ends[at - 1]);
        if let Some(at) = falls {
            return Err(Misfit(format!("a name that ends before it begins, of object {at}")));
        }
        let end = ends.last().copied().unwrap_or(0);
        if end != bytes.len() as u64 {
            return Err(Misfit(format!("{} bytes of names that end at {end}", bytes.len())));
        }
        Ok(())
    }

    /// The name of an object where names are text.
    #[must_use]
    pub fn text(&self, object: u32) -> Option<&[u8]> {
        let Self::Text { bytes, ends } = self else { return None };
        let object = object as usize;
        let start = object.checked_sub(1).map_or(Some(0), |before| ends.get(before).copied())?;
        let range: Range<usize> =
            usize::try_from(start).ok()?..usize::try_from(*ends.get(object)?).ok()?;
        bytes.get(range)
    }
}
