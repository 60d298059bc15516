//! Shoal: every client's nearest, least loaded, living caches.
//!
//! Caches announce themselves by a [`heartbeat`]; the [`registry`] keeps those that live; a
//! client's question is answered from the registry's latest [`registry::Snapshot`] by [`order`],
//! with the [`geo`]graphy of its address, as one of the bodies of [`answer`].
//!
//! Time is passed in as [`Now`], randomness as a stream: the registry looks at no clock, draws
//! nothing by itself and opens no socket, so a day of it is simulated in seconds.

pub mod address;
pub mod agent;
#[cfg(feature = "amqp")]
pub mod amqp;
pub mod answer;
pub mod auth;
pub mod client;
pub mod fixed;
pub mod geo;
pub mod heartbeat;
pub mod index;
mod now;
pub mod order;
pub mod page;
mod prefetch;
pub mod registry;
pub mod server;
pub mod verify;

pub use now::Now;
