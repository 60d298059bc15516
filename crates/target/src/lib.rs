//! A server of known behaviour: an M/M/c queue and more, for tests, demonstrations and
//! calibration.
//!
//! Its queue is kept in computed time ([`queue`]), so that the truth about every request is known
//! twice: by the formulas of queueing theory, and exactly, by [`recursion`] on the log that the
//! server writes ([`log`]). [`server`] speaks HTTP/1.1 on TCP and Unix sockets, in one thread.
//!
//! ```
//! use std::sync::Arc;
//! use std::sync::atomic::{AtomicBool, Ordering};
//!
//! use plimsoll_target::{Options, Server};
//! use plimsoll_workload::distribution::Distribution;
//! use plimsoll_workload::service_model::ServiceTime;
//!
//! let service = ServiceTime::Law(Distribution::parse("exp:5ms")?);
//! let server = Server::bind(Options { service, ..Options::default() }, &"127.0.0.1:0".parse()?)?;
//! let address = server.local_addr().clone(); // the port that the system chose
//! let stop = Arc::new(AtomicBool::new(false));
//! let running = {
//!     let stop = Arc::clone(&stop);
//!     std::thread::spawn(move || server.run(stop))
//! };
//! // … load is driven to `address` …
//! stop.store(true, Ordering::Relaxed);
//! let stats = running.join().unwrap()?;
//! assert_eq!(stats.requests, 0);
//! # let _ = address;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod body;
pub mod counters;
pub mod draws;
pub mod error;
pub mod http;
pub mod log;
pub mod options;
pub mod paths;
pub mod queue;
pub mod recursion;
pub mod server;
pub mod sessions;
pub mod slow_start;
pub mod stall;
pub mod stats;
pub mod websocket;

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
pub use paths::PathService;
pub use server::Server;
pub use slow_start::SlowStart;
pub use stall::Stall;
pub use stats::Stats;
pub use websocket::WebSocketServer;
