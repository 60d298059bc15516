//! A server of known behaviour: an M/M/c queue and more, for tests, demonstrations and
//! calibration.
//!
//! Its queue is kept in computed time ([`queue`]), so that the truth about every request is known
//! twice: by the formulas of queueing theory, and exactly, by [`recursion`] on the log that the
//! server writes ([`log`]). [`server`] speaks HTTP/1.1 on TCP and Unix sockets, in one thread.

pub mod body;
pub mod draws;
pub mod error;
pub mod http;
pub mod log;
pub mod options;
pub mod queue;
pub mod recursion;
pub mod server;
pub mod slow_start;
pub mod stall;
pub mod stats;

mod burn;
mod clock;
mod connection;
mod desk;
mod listen;
mod slab;
mod timers;

pub use body::BodySize;
pub use error::TargetError;
pub use options::{Address, Options, Timers};
pub use server::Server;
pub use slow_start::SlowStart;
pub use stall::Stall;
pub use stats::Stats;
