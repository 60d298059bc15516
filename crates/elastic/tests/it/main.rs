//! Tests of the elastic pool as a whole.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod alike;
mod demand;
mod documented;
mod paths;
mod policies;
mod queues;
mod waiting;
mod world;
