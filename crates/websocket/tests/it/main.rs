//! What WebSocket must do, on plain bytes and over real sockets.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod bounds;
mod conformance;
mod frames;
mod opening;
mod others;
mod round_trip;
mod support;
