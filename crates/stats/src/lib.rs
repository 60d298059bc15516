//! Statistics without I/O: histograms and the percentile object, SLOs, availability, intervals.
//!
//! One idea a module; every formula's source stands in its module's header.

pub mod histogram;

pub use histogram::Histogram;
