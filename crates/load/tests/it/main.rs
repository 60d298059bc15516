//! The engine over real sockets: every test drives servers of its own on the loopback, and every
//! run has its books balanced by [`books`].

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod answers;
mod books;
mod codes;
mod connections;
mod drive;
mod drops;
mod endpoints;
mod gone;
mod http1;
mod http2;
mod mutation;
mod pacing;
mod phases;
mod play;
mod reasons;
mod retry;
mod schemes;
mod server;
mod session;
#[cfg(any(feature = "mysql", feature = "postgres", feature = "cassandra"))]
mod sql;
mod stale;
mod store;
mod threads;
mod timed;
mod timeout;
mod tls;
mod waiting;
