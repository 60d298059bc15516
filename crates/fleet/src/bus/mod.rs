//! Workers that can only call out: sessions over a broker of messages.
//!
//! The session is the one over a pipe. Between both ends stand a broker and whoever operates it,
//! who may lose, repeat, delay, read and change everything. So each message is signed, for one
//! session; what is lost is said again, what comes twice is dropped. Nothing depends on what a
//! broker keeps or confirms.
//!
//! - A controller *calls*; workers that trust its key say *hello*, with a nonce. It *takes* as many
//!   as it wants, by a message that is signed over both nonces. A call that somebody repeats makes
//!   workers say hello once more; a take that somebody repeats is none.
//! - A worker's process ([`serve`]) has the key, the list of whom it trusts and the way to the
//!   broker. What a controller asks for is done by another process, its *servant*, which is started
//!   for one session and has none of these: the words of a command, and a pipe.
//! - A broker that is away is no silence: cells go on, and what came of them is said later.
//!
//! | module | what |
//! | --- | --- |
//! | `key` | keys, their files, and lists of whom one knows |
//! | `envelope` | what is put around a message: who, for which session, signed |
//! | `stream` | bytes in their order over messages that are lost or come twice |
//! | `post` | connections to the broker |
//! | `desk` | which message is for which session |
//! | `session` | a session, read and written as a pipe |
//! | `greeting` | what is said before a session begins |
//! | `call` | a controller's side: workers that are there |
//! | `relay` | a worker's side: between the bus and its servant |
//! | `confine` | what keeps the servant from its host |
//! | `servant` | the process that does what a controller asks for |

mod call;
mod confine;
mod desk;
mod envelope;
mod greeting;
mod key;
mod post;
mod relay;
mod servant;
mod session;
mod stream;

pub use call::{Call, Called, Present, Seen, Waits};
pub use confine::{ConfineError, confine};
pub use key::{KeyError, Keyring, Known, PublicKey, Secret, label_of};
pub use post::Bus;
pub use relay::{Relay, serve};
pub(crate) use session::Door;

use plimsoll_net::amqp;
use plimsoll_units::failure::{Failure, Kind};

/// Why a bus does not serve.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BusError {
    /// The broker does not.
    #[error("use the broker {broker}")]
    Broker {
        /// Which one.
        broker: String,
        /// Why.
        #[source]
        source: amqp::Error,
    },
    /// Another worker has the same key.
    #[error("serve by the broker {broker}: another worker serves there with the same key")]
    Twice {
        /// Which one.
        broker: String,
    },
    /// The system has no randomness to give.
    #[error("draw a nonce: the system has no randomness")]
    Random,
}

impl BusError {
    fn of(bus: &Bus) -> impl Fn(amqp::Error) -> Self + use<> {
        let broker = bus.broker.to_string();
        move |source| Self::Broker { broker: broker.clone(), source }
    }
}

impl Failure for BusError {
    fn kind(&self) -> Kind {
        match self {
            Self::Broker { source, .. } if source.is_lasting() => Kind::Usage,
            Self::Twice { .. } => Kind::Usage,
            _ => Kind::Incomplete,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Broker { source: amqp::Error::Login(_), .. } => {
                Some("is the user right, and the password in PLIMSOLL_BUS_PASSWORD?".to_owned())
            }
            Self::Broker { source, .. } => source.hint().map(str::to_owned),
            Self::Twice { .. } => {
                Some("each worker has a key of its own: `plimsoll fleet key NAME`".to_owned())
            }
            Self::Random => None,
        }
    }
}
