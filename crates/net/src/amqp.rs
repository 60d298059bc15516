//! AMQP 0-9-1, as RabbitMQ speaks it: a small part of it, blocking.
//!
//! A [`Connection`] has one channel and no runtime: who waits for messages blocks in
//! [`Connection::read`], and takes what has come by [`Connection::next`]. What a broker says is
//! bounded: frames to 16 KiB, of a message as much as its reader keeps.
//!
//! Source: the specification AMQP 0-9-1 of the AMQP Working Group, 2008, and RabbitMQ's extensions
//! (publisher confirms, `basic.nack`, `basic.cancel` by the broker, `connection.blocked`).

mod broker;
mod channel;
mod connection;
mod error;
mod method;
mod wire;

pub use broker::{Broker, BrokerError};
pub use channel::{Delivery, Exchange, Heard, Message, Queue};
pub use connection::Connection;
pub use error::Error;
pub use wire::{Entry, Fields, Value};
