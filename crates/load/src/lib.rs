//! The load engine: pacing, a driver a protocol, recorders.
//!
//! One [`session::Session`] is threads with connections, to which a rate is offered and from which
//! slices of 250 ms are taken; [`run`] is one use of it. The engine writes no files: it is handed a
//! `runs::Sink`.
//!
//! What is counted, and why so: docs/counting.md; how requests are paced: docs/method/pacing.md.

#[cfg(feature = "cassandra")]
pub mod cassandra;
pub mod clock;
pub mod config;
pub mod driver;
pub mod errno;
pub mod http1;
pub mod http2;
pub mod memcached;
#[cfg(feature = "mysql")]
pub mod mysql;
#[cfg(feature = "postgres")]
pub mod postgres;
pub mod redis;
pub mod run;
pub mod session;
pub mod store;
pub mod sys;

mod connection;
mod in_flight;
mod pick;
mod recorder;
mod source;
mod worker;

pub use config::{Config, Endpoint, Expected, Pacing, Protocol, Tls};
pub use recorder::{SLICE_NS, Slice};
pub use session::{Session, SessionError};
pub use source::Times;
