//! The cache lab: which cache, of which size, with which policy, misses how much of a trace.
//!
//! A [`trace::Trace`] is what was asked for, in order, with dense object numbers. An
//! [`eviction::Eviction`] is one policy, one file each, listed in [`eviction::KINDS`]. A
//! [`replay`] gives a trace to a policy of a capacity and counts. [`protocol`] is what caches of a
//! cluster say to each other.

pub mod capacity;
pub mod eviction;
mod prefetch;
pub mod protocol;
pub mod replay;
pub mod trace;
