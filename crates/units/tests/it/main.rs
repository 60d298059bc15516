//! Properties and hostile input: what is shown is read back, and any text gets an answer.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod hostile;
mod round_trip;
