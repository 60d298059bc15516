//! The cache lab: which cache, of which size, with which policy, misses how much of a trace.
//!
//! A [`trace::Trace`] is what was asked for, in order, with dense object numbers. An
//! [`eviction::Eviction`] is one policy, one file each, listed in [`eviction::KINDS`]. A
//! [`replay`] gives a trace to a policy of a capacity and counts; [`simulate`] does so for many,
//! and a [`curve`] tells all capacities at once. [`size_class`] tells which
//! objects were missed. [`bound`] says what no policy undercuts. A
//! [`cluster`] is caches that ask each other, as [`protocol`] says.

pub mod about;
pub mod admission;
pub mod bound;
pub mod capacity;
pub mod cluster;
pub mod curve;
pub mod eviction;
#[cfg(test)]
mod made;
mod mix;
mod prefetch;
pub mod protocol;
pub mod replay;
pub mod simulate;
pub mod size_class;
pub mod trace;
