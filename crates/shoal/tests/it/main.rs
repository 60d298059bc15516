//! What the registry must do.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(clippy::cast_possible_truncation, reason = "figures of tests are small")]

mod geo;
mod index;
mod members;
mod order;
mod shared;
