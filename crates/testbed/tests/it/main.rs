//! Beds of real servers: made, watched while a step fails or hangs, killed, and undone.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(clippy::disallowed_methods, reason = "tests wait for other processes")]

mod beds;
mod documented;
mod erasing;
mod failures;
mod host;
mod standing;
