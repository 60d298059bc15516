//! What speaks over sockets and is shared by the crates above: URLs, TLS, HTTP, AMQP.
//!
//! Nothing here knows what is said over a connection, or by whom.

#[cfg(feature = "amqp")]
pub mod amqp;
pub mod door;
mod file_version;
pub mod http;
pub mod prometheus;
pub mod resolve;
#[cfg(feature = "tls")]
pub mod tls;
pub mod url;

pub use file_version::FileVersion;
