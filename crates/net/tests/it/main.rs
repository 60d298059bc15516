//! What clients, servers and URLs must do.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod http_client;
mod prometheus;
#[cfg(feature = "respond")]
mod respond;
mod serve;
