//! Heartbeats by a message broker: AMQP 0-9-1 as RabbitMQ speaks it.
//!
//! A [`Consumer`] hears agents for a server, a [`Publisher`] speaks for an agent. Both are blocking
//! clients: one connection, one channel, no runtime. So the agent stays below its 8 MB, and a
//! registry reads a message of any length while it holds 8 KiB of it.
//!
//! # On the wire
//!
//! The exchange is a topic exchange as Shoal's own server declares it. Heartbeats have the key
//! `info` or `<cloud>.info`, errors of agents `<cloud>.error`, goodbyes `<cloud>.bye`; without a
//! cloud, `error` and `bye`. Every server has a queue of its own, because every one must hear every
//! heartbeat. Passwords come from files or the environment, never in the URL.

mod consumer;
mod publisher;

pub use consumer::{Consumer, Options};
pub use plimsoll_net::amqp::{Broker, BrokerError, Error};
pub use plimsoll_net::tls::{Tls, TlsError};
pub use publisher::Publisher;

/// The exchange's name where nothing is said.
pub const EXCHANGE: &str = "shoal";

/// What an operator can do about a broker that does not serve, by the flags that say how it is
/// reached.
fn hint(error: &Error) -> Option<&'static str> {
    match error {
        Error::Refused { code: 406, .. } => Some(
            "another program has declared the exchange otherwise: delete it at the broker, or \
             choose another by --amqp-exchange",
        ),
        Error::Refused { code: 404, .. } => Some("it is declared by a registry: is one running?"),
        error if error.reason() == "certificate" => {
            Some("do --amqp-ca and --amqp-cert name the files that belong to this broker?")
        }
        error => error.hint(),
    }
}
