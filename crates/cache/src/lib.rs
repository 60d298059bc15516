//! The cache lab: which cache, of which size, with which policy, misses how much of a trace.
//!
//! A [`trace::Trace`] is what was asked for, in order, with dense object numbers. An
//! [`eviction::Eviction`] is one policy, one file each, listed in [`eviction::KINDS`]. A
//! [`replay`] gives a trace to a policy of a capacity and counts.

pub mod admission;
pub mod capacity;
pub mod eviction;
mod prefetch;
pub mod replay;
pub mod simulate;
pub mod trace;
