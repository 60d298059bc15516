//! Tests of the crate's public face: oracles, properties, golden streams.

mod arrivals;
mod distribution;
mod profile;
mod random;
mod request;
mod schedule;
mod service_model;
mod statistics;
mod trace;
