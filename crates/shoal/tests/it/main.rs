//! What the registry must do.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod address;
mod auth;
mod heartbeat;
mod mutants;
mod mutation;
mod python;
