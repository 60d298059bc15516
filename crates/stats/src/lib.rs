//! Statistics without I/O: histograms and the percentile object, SLOs, availability, intervals.
//!
//! One idea a module; every formula's source stands in its module's header.

pub mod availability;
pub mod histogram;
pub mod interval;
pub mod percentiles;
pub mod slo;

pub use availability::Availability;
pub use histogram::Histogram;
pub use percentiles::Percentiles;
pub use slo::Slo;
