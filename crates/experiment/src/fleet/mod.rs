//! What a worker makes of what it is told: a part of a load, or cells; and how those are called that
//! wait at a broker.

#[cfg(feature = "amqp")]
mod bus;
mod cells;
mod folder;
mod rules;
mod worker;

#[cfg(feature = "amqp")]
pub(crate) use bus::called;
#[cfg(feature = "amqp")]
pub use bus::{PASSWORD, bus};
pub use folder::WorkerFolder;
pub use rules::{May, Rules};
pub use worker::Worker;
