//! Heartbeats by a message broker: AMQP 0-9-1 as RabbitMQ speaks it.
//!
//! A [`Consumer`] hears agents for a server, a [`Publisher`] speaks for an agent. Both are blocking
//! clients of a small part of the protocol: one connection, one channel, no runtime. So the agent
//! stays below its 8 MB, and a registry reads a message of any length while it holds 8 KiB of it.
//!
//! # On the wire
//!
//! The exchange is a topic exchange as Shoal's own server declares it. Heartbeats have the key
//! `info` or `<cloud>.info`, errors of agents `<cloud>.error`, goodbyes `<cloud>.bye`; without a
//! cloud, `error` and `bye`. Every server has a queue of its own, because every one must hear every
//! heartbeat. Passwords come from files or the environment, never in the URL.
//!
//! Source: the specification AMQP 0-9-1 of the AMQP Working Group, 2008, and RabbitMQ's extensions.

mod broker;
mod connection;
mod consumer;
mod method;
mod publisher;
mod wire;

use std::io;
use std::time::Duration;

pub use broker::{Broker, BrokerError};
pub use consumer::{Consumer, Options};
pub use plimsoll_net::tls::{Tls, TlsError};
pub use publisher::Publisher;

use plimsoll_net::http::client as http;
use plimsoll_net::tls::is_certificate;

/// The exchange's name where nothing is said.
pub const EXCHANGE: &str = "shoal";

/// Why a broker does not serve.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no connection.
    #[error("connect to the broker")]
    Connect(#[source] http::Error),
    /// The connection broke.
    #[error("talk to the broker")]
    Io(#[source] io::Error),
    /// The broker ended the connection without a word.
    #[error("the broker ended the connection")]
    Ended,
    /// The time was over.
    #[error("no answer of the broker in {} ms", .0.as_millis())]
    Late(Duration),
    /// It is not AMQP 0-9-1.
    #[error("what the broker says is not AMQP 0-9-1: {0}")]
    Malformed(&'static str),
    /// It speaks TLS.
    #[error("the broker speaks TLS at this port")]
    Encrypted,
    /// The broker did not let us in.
    #[error("the broker refused user and password: {0}")]
    Login(String),
    /// The broker takes no messages.
    #[error("the broker takes no messages: {0}")]
    Blocked(String),
    /// The broker said no. The code is as in HTTP: 403 no permission, 404 no such exchange, 406
    /// declared otherwise, 530 no such virtual host, or not for this user.
    #[error("the broker refused with {code}: {text}")]
    Refused {
        /// Of the protocol's own list.
        code: u16,
        /// What the broker says, printable and short.
        text: String,
    },
    /// The broker took the queue away.
    #[error("the broker took the queue away")]
    Cancelled,
    /// A message came back: no registry has a queue there.
    #[error("no registry listens at the broker")]
    Unrouted,
    /// The broker could not take a message.
    #[error("the broker did not take the message")]
    NotTaken,
}

impl Error {
    /// The word by which it is counted.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Connect(http::Error::Handshake { source, .. }) if is_certificate(source) => {
                "certificate"
            }
            Self::Connect(http::Error::Handshake { .. }) | Self::Encrypted => "tls",
            Self::Connect(_) | Self::Io(_) | Self::Ended | Self::Late(_) => "away",
            Self::Blocked(_) => "blocked",
            Self::Login(_) => "credentials",
            Self::Refused { code: 403, .. } => "permission",
            Self::Refused { code: 530, .. } => "vhost",
            Self::Refused { code: 404 | 406, .. } => "exchange",
            Self::Refused { .. } | Self::Cancelled | Self::Unrouted | Self::NotTaken => "refused",
            Self::Malformed(_) => "protocol",
        }
    }

    /// What an operator can do about it.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Connect(http::Error::Handshake { source, .. }) if is_certificate(source) => {
                Some("do --amqp-ca and --amqp-cert name the files that belong to this broker?")
            }
            Self::Connect(http::Error::Handshake { .. }) => {
                Some("is that its port for TLS, 5671? Without TLS it is amqp://")
            }
            Self::Encrypted => Some("with TLS it is amqps://"),
            Self::Login(_) => {
                Some("is the user right, and the password in the file or the environment?")
            }
            Self::Blocked(_) => Some("it is short of memory or disk: `rabbitmqctl status` says"),
            Self::Refused { code: 403, .. } => Some(
                "the user lacks a permission: `rabbitmqctl set_permissions` gives those to \
                 configure, write and read the exchange and its queues",
            ),
            Self::Refused { code: 530, .. } => {
                Some("is there such a virtual host, for this user? The one called `/` is /%2f")
            }
            Self::Refused { code: 406, .. } => Some(
                "another program has declared the exchange otherwise: delete it at the broker, or \
                 choose another by --amqp-exchange",
            ),
            Self::Refused { code: 404, .. } => {
                Some("it is declared by a registry: is one running?")
            }
            _ => None,
        }
    }

    /// Whether trying again at once is no use.
    fn is_lasting(&self) -> bool {
        matches!(
            self,
            Self::Refused { code: 403 | 404 | 406 | 530, .. }
                | Self::Login(_)
                | Self::Encrypted
                | Self::Malformed(_)
        )
    }
}
