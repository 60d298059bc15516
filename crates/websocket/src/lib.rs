//! WebSocket without sockets: frames, messages, compression and both handshakes, for clients and
//! servers.
//!
//! Nothing here opens a socket, looks at a clock or starts a thread. Bytes that were received go
//! in, and messages come out; messages go in, and bytes to send come out. So the load engine, a
//! server and the tests share one implementation, and all of it is tested on plain bytes.
//!
//! [`Connection`] is what most need: it answers pings, keeps to the closing handshake and says when
//! a connection is over. Below it, [`decode::Decoder`] and [`encode::Encoder`] can be used alone.
//! [`handshake`] has the two HTTP messages with which a connection begins.
//!
//! What a peer sends is bounded by [`Limits`], and nothing is reserved for what it only announces.
//!
//! ```
//! use plimsoll_websocket::{Connection, Limits, Masks, Message};
//!
//! let mut client = Connection::client(None, Limits::default(), Masks::secure());
//! let mut server = Connection::server(None, Limits::default());
//! let (mut up, mut down) = (Vec::new(), Vec::new());
//! client.send(Message::Text("Hello"), &mut up)?;
//! let mut received = &up[..];
//! while let Some(message) = server.receive(&mut received, &mut down)? {
//!     assert_eq!(message, Message::Text("Hello"));
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Source: RFC 6455 (the protocol) and RFC 7692 (permessage-deflate).

mod close;
pub mod connection;
pub mod decode;
mod deflate;
pub mod encode;
mod error;
pub mod extension;
pub mod frame;
pub mod handshake;
mod head;
pub mod mask;
mod message;
mod refusal;
mod role;
mod token;
mod utf8;

pub use close::CloseCode;
pub use connection::Connection;
pub use decode::Limits;
pub use error::Error;
pub use head::Head;
pub use mask::Masks;
pub use message::{Close, Message, REASON_BYTES};
pub use refusal::Refusal;
pub use role::Role;
