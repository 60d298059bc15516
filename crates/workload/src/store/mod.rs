//! What a store is asked for: workloads as YCSB defines them (Cooper, Silberstein, Tam,
//! Ramakrishnan, Sears: Benchmarking cloud serving systems with YCSB, SoCC 2010).
//!
//! A [`Workload`] says how many records there are, how large their values are, which operations
//! come in which shares, and how popular each record is. [`Operations`] makes of it the operation
//! of each request, a function of the seed and of the request's number alone: several threads that
//! share a load ask together for exactly what one would have asked for, and a request that is sent
//! once more asks for the same again.

mod consistency;
mod keys;
mod mix;
mod operations;

pub use consistency::Consistency;
pub use keys::{Keys, THETA};
pub use mix::{Mix, Named};
pub use operations::{Kind, LAG, MOST_KEY, Operation, Operations, Wanted};

use std::ops::RangeInclusive;

use crate::size::Sizes;

/// The most records of a data set.
pub const RECORDS: RangeInclusive<u64> = 1..=1_000_000_000;
/// The size of a value, bytes.
pub const VALUE_BYTES: RangeInclusive<u64> = 1..=100 * 1024;

/// What a store is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Workload {
    /// Which operations, in which shares.
    pub mix: Mix,
    /// How popular each record is.
    pub keys: Keys,
    /// Records of the data set, within [`RECORDS`]; they are numbered from 0.
    pub records: u64,
    /// How large a value is; each is bounded to [`VALUE_BYTES`].
    pub value_size: Sizes,
}
