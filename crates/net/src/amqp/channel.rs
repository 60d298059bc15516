//! What is done on a connection's channel: declarations, messages, and what the broker says.

use super::connection::{BODY, Connection, HEADER, METHOD};
use super::wire::Value;
use super::{Error, method};
use crate::http::client::Deadline;

/// An exchange that is declared. Another declaration of its name is refused.
#[derive(Debug, Clone, Copy)]
pub struct Exchange<'a> {
    /// Its name.
    pub name: &'a str,
    /// `topic`, `direct`, `fanout`.
    pub kind: &'a str,
    /// Whether it outlives the broker's end.
    pub is_durable: bool,
}

/// A queue that is declared. Another declaration of its name is refused.
#[derive(Debug, Clone, Copy)]
pub struct Queue<'a> {
    /// Its name.
    pub name: &'a str,
    /// Whether it outlives the broker's end.
    pub is_durable: bool,
    /// Whether it is for this connection only, and is deleted with it.
    pub is_exclusive: bool,
    /// Its arguments: `x-message-ttl`, `x-max-length`, `x-queue-type` …
    pub arguments: &'a [(&'a str, Value<'a>)],
}

/// A message that is sent. It comes back where no queue takes it.
#[derive(Debug, Clone, Copy)]
pub struct Message<'a> {
    /// The exchange; the default one where it is empty.
    pub exchange: &'a str,
    /// The key by which the exchange finds queues.
    pub key: &'a str,
    /// The type of its body.
    pub content_type: &'a str,
    /// Headers, of texts.
    pub headers: &'a [(&'a str, String)],
    /// Its body.
    pub body: &'a [u8],
}

/// A message that has come.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Delivery {
    /// By which it is acknowledged.
    pub tag: u64,
    /// The key that it was sent with.
    pub key: String,
    /// The table of its headers, as it is: publishers write it, so it may be broken.
    pub headers: Vec<u8>,
    /// How many bytes its body has.
    pub length: u64,
    /// The body; empty where it is longer than its reader keeps.
    pub body: Vec<u8>,
}

/// What a broker says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// A message has come.
    Delivery(Delivery),
    /// A message of ours came back: no queue takes it.
    Returned,
    /// A message of ours is in its queues.
    Confirmed,
    /// The broker could not take a message of ours.
    NotTaken,
}

/// What of a message is still to come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Awaited {
    #[default]
    Nothing,
    Header,
    /// So many bytes.
    Body(u64),
}

/// A message of which parts have come.
#[derive(Debug, Default)]
pub(super) struct Arriving {
    awaited: Awaited,
    delivery: Delivery,
    /// Whether it is one of ours that comes back.
    is_returned: bool,
}

impl Connection {
    /// Declares an exchange.
    ///
    /// # Errors
    /// [`Error`]; 406 where it is there and is another.
    pub fn declare_exchange(
        &mut self,
        exchange: Exchange<'_>,
        deadline: &Deadline,
    ) -> Result<(), Error> {
        let payload = method::exchange_declare(exchange);
        self.call(&payload, method::EXCHANGE_DECLARE_OK, deadline)
    }

    /// Declares a queue.
    ///
    /// # Errors
    /// [`Error`]; 405 where it is another connection's own, 406 where it is there and is another.
    pub fn declare_queue(&mut self, queue: Queue<'_>, deadline: &Deadline) -> Result<(), Error> {
        self.call(&method::queue_declare(queue), method::QUEUE_DECLARE_OK, deadline)
    }

    /// Has a queue take messages of an exchange that have a key.
    ///
    /// # Errors
    /// [`Error`].
    pub fn bind(
        &mut self,
        queue: &str,
        exchange: &str,
        key: &str,
        deadline: &Deadline,
    ) -> Result<(), Error> {
        let payload = method::queue_bind(queue, exchange, key);
        self.call(&payload, method::QUEUE_BIND_OK, deadline)
    }

    /// Takes what a queue has, alone, at most so many messages before they are acknowledged.
    ///
    /// # Errors
    /// [`Error`]; 403 where another one takes it.
    pub fn consume(&mut self, queue: &str, most: u16, deadline: &Deadline) -> Result<(), Error> {
        self.call(&method::basic_qos(most), method::BASIC_QOS_OK, deadline)?;
        self.call(&method::basic_consume(queue), method::BASIC_CONSUME_OK, deadline)
    }

    /// Has the broker say of each message whether it is in its queues.
    ///
    /// # Errors
    /// [`Error`].
    pub fn confirm(&mut self, deadline: &Deadline) -> Result<(), Error> {
        self.call(&method::confirm_select(), method::CONFIRM_SELECT_OK, deadline)
    }

    /// Sends a message.
    ///
    /// # Errors
    /// [`Error`]: whether it has come anywhere is not known then.
    pub fn publish(&mut self, message: &Message<'_>) -> Result<(), Error> {
        let Message { exchange, key, content_type, headers, body } = message;
        let publish = method::basic_publish(exchange, key);
        let header = method::content_header(body.len(), content_type, headers);
        self.send_message(&publish, &header, body)
    }

    /// Acknowledges all messages up to the one with this tag.
    ///
    /// # Errors
    /// [`Error`].
    pub fn acknowledge(&mut self, tag: u64) -> Result<(), Error> {
        self.tell(&method::basic_ack(tag))
    }

    /// What the broker has said next, of what has been read; `None` where it has to be read first.
    /// Bodies of more than `most` bytes are not kept.
    ///
    /// # Errors
    /// [`Error`]; that it has closed the channel or the connection.
    pub fn next(&mut self, most: usize) -> Result<Option<Heard>, Error> {
        while let Some(frame) = self.next_frame()? {
            let mut arriving = std::mem::take(&mut self.arriving);
            let heard = arriving.take(frame.kind, self.payload(&frame), most)?;
            self.arriving = arriving;
            if heard.is_some() {
                return Ok(heard);
            }
        }
        Ok(None)
    }
}

impl Arriving {
    fn take(&mut self, kind: u8, payload: &[u8], most: usize) -> Result<Option<Heard>, Error> {
        match (self.awaited, kind) {
            (_, METHOD) => {
                let (called, mut fields) = method::split(payload)?;
                let (tag, is_returned) = match called {
                    method::BASIC_ACK => return Ok(Some(Heard::Confirmed)),
                    method::BASIC_NACK => return Ok(Some(Heard::NotTaken)),
                    method::BASIC_RETURN => {
                        fields.short()?;
                        fields.short_string()?;
                        (0, true)
                    }
                    method::BASIC_DELIVER => {
                        fields.short_string()?;
                        let tag = fields.longlong()?;
                        fields.octet()?;
                        (tag, false)
                    }
                    _ => return Ok(None),
                };
                fields.short_string()?;
                let key = String::from_utf8_lossy(fields.short_string()?).into_owned();
                self.delivery = Delivery { tag, key, ..Delivery::default() };
                (self.awaited, self.is_returned) = (Awaited::Header, is_returned);
                Ok(None)
            }
            (Awaited::Header, HEADER) => {
                let (length, headers) = method::read_content_header(payload)?;
                self.delivery.length = length;
                self.delivery.headers = headers.to_owned();
                self.awaited = Awaited::Body(length);
                Ok(self.whole())
            }
            (Awaited::Body(left), BODY) => {
                if self.delivery.length <= most as u64 && !self.is_returned {
                    self.delivery.body.extend_from_slice(payload);
                }
                let left = left
                    .checked_sub(payload.len() as u64)
                    .ok_or(Error::Malformed("a body is longer than was said"))?;
                self.awaited = Awaited::Body(left);
                Ok(self.whole())
            }
            _ => Err(Error::Malformed("a part of a message that was not announced")),
        }
    }

    /// The message, where all of it has come.
    fn whole(&mut self) -> Option<Heard> {
        if self.awaited != Awaited::Body(0) {
            return None;
        }
        self.awaited = Awaited::Nothing;
        let delivery = std::mem::take(&mut self.delivery);
        Some(if self.is_returned { Heard::Returned } else { Heard::Delivery(delivery) })
    }
}
