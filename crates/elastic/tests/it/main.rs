//! Tests of the elastic pool as a whole.

#![expect(clippy::unwrap_used, clippy::cast_possible_truncation, reason = "a test fails on these")]

mod alike;
mod paths;
mod queues;
mod waiting;
