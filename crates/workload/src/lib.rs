//! What is offered, and when: schedules of rates, the instants of single requests, traces,
//! distributions, and what to request.
//!
//! Everything here is a pure function of its parameters and a seed. Nothing looks at a clock; the
//! only I/O is reading a trace, a list or a log that the caller names.

pub mod access_log;
pub mod arrivals;
pub mod balancer;
pub mod check;
pub mod distribution;
mod gzip;
pub mod instance_type;
mod json;
pub mod objects;
pub mod pool;
pub mod profile;
pub mod random;
pub mod request;
pub mod scenario;
pub mod schedule;
pub mod search;
pub mod service_model;
pub mod size;
pub mod store;
pub mod trace;
pub mod traceparent;
