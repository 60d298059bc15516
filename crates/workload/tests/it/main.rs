//! Tests of the crate's public face: oracles, properties, golden streams.

mod access_log;
mod arrivals;
mod distribution;
mod log_lines;
mod mutation;
mod profile;
mod random;
mod request;
mod schedule;
mod service_model;
mod statistics;
mod store;
mod trace;
