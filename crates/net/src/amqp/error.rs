//! Why a broker does not serve.

use std::io;
use std::time::Duration;

use crate::http::client as http;
use crate::tls::is_certificate;

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
    /// A message came back: no queue takes it.
    #[error("nobody listens at the broker")]
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
            Self::Connect(http::Error::Handshake { source, .. }) if is_certificate(source) => Some(
                "do the authority and the certificate that it was given belong to this broker?",
            ),
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
                "another program has declared it otherwise: delete it at the broker, or choose \
                 another name",
            ),
            Self::Refused { code: 404, .. } => {
                Some("who reads there declares it: is a server running?")
            }
            _ => None,
        }
    }

    /// Whether trying again at once is no use.
    #[must_use]
    pub fn is_lasting(&self) -> bool {
        matches!(
            self,
            Self::Refused { code: 403 | 404 | 406 | 530, .. }
                | Self::Login(_)
                | Self::Encrypted
                | Self::Malformed(_)
        )
    }
}
