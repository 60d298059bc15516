//! The load engine: pacing, a driver a protocol, recorders.
//!
//! One [`session::Session`] is threads with connections, to which a rate is offered and from which
//! slices of 250 ms are taken; [`run`] is one use of it. The engine writes no files: it is handed a
//! `runs::Sink`.
//!
//! What is counted, and why so: docs/counting.md; how requests are paced: docs/method/pacing.md.

// Before the modules that it declares.
#[macro_use]
mod stores;

pub mod ask;
pub mod clock;
pub mod config;
pub mod driver;
mod drivers;
mod engine;
pub mod errno;
pub mod http1;
pub mod http2;
pub mod protocol;
pub mod run;
pub mod session;
pub mod store;
pub mod sys;
pub mod way;

pub use worker::tunnel::answered as tunnel_answered;

mod connection;
mod in_flight;
mod pick;
mod recorder;
mod redirects;
mod source;
mod tls;
mod worker;

// A new store is a folder and a line here.
stores! {
    redis: Redis;
    memcached: Memcached;
    mysql: Mysql, of feature "mysql", without it "mysql/scheme.rs";
    postgres: Postgres, of feature "postgres", without it "postgres/scheme.rs";
    cassandra: Cassandra, of feature "cassandra", without it "cassandra/scheme.rs";
}

pub use config::{Config, Expected, Pacing, Part, Users};
pub use protocol::{Protocol, schemes};
pub use recorder::{SLICE_NS, Slice};
pub use session::{Session, SessionError};
pub use source::Times;
pub use tls::Tls;
pub use way::Endpoint;
