//! One end of an open connection: pings are answered, and the closing handshake is kept to.
//!
//! Source: RFC 6455, sections 5.5 and 7.

use crate::decode::{Decoder, Limits};
use crate::encode::{self, Encoder};
use crate::extension::Deflate;
use crate::frame::Opcode;
use crate::{Close, CloseCode, Error, Masks, Message, Role};

/// One end of a connection, from the opening handshake on.
///
/// It has no socket: what it would send is added to the buffers that it is handed.
pub struct Connection {
    role: Role,
    masks: Masks,
    decoder: Decoder,
    encoder: Encoder,
    has_sent_close: bool,
    has_received_close: bool,
    has_failed: bool,
}

/// A close was sent: nothing may be sent after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the connection is being closed")]
pub struct Closing;

impl Connection {
    /// The client's end, with what was agreed on in the opening handshake.
    #[must_use]
    pub fn client(deflate: Option<Deflate>, limits: Limits, masks: Masks) -> Self {
        let (own, other) = deflate.map(|agreed| (agreed.client, agreed.server)).unzip();
        Self {
            role: Role::Client,
            masks,
            decoder: Decoder::new(Role::Client, limits, other),
            encoder: Encoder::new(own),
            has_sent_close: false,
            has_received_close: false,
            has_failed: false,
        }
    }

    /// The server's end, with what was agreed on in the opening handshake.
    #[must_use]
    pub fn server(deflate: Option<Deflate>, limits: Limits) -> Self {
        let (own, other) = deflate.map(|agreed| (agreed.server, agreed.client)).unzip();
        Self {
            role: Role::Server,
            // A server masks nothing.
            masks: Masks::seeded(0),
            decoder: Decoder::new(Role::Server, limits, other),
            encoder: Encoder::new(own),
            has_sent_close: false,
            has_received_close: false,
            has_failed: false,
        }
    }

    /// The next message of what was received, taken from the front of `input`; `None` once all of
    /// it is taken. Answers to pings and to a close are added to `out`.
    ///
    /// Messages may still come after a close was sent, until the peer's own close.
    ///
    /// # Errors
    /// Where the peer broke the protocol or a limit. A close that says so is added to `out`, and
    /// the connection [is over](Self::is_over).
    pub fn receive<'m, 'i: 'm>(
        &'m mut self,
        input: &mut &'i [u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<Message<'m>>, Error> {
        let message = self.decoder.next(input);
        let is_silent = self.has_sent_close;
        let mut mask = || (self.role == Role::Client).then(|| self.masks.draw());
        match message {
            Ok(Some(Message::Ping(payload))) if !is_silent => {
                encode::control(Opcode::Pong, payload, mask(), out);
            }
            Ok(Some(Message::Close(Close { code, .. }))) => {
                self.has_received_close = true;
                if !is_silent {
                    encode::close(Close { code, reason: "" }, mask(), out);
                    self.has_sent_close = true;
                }
            }
            Err(error) => {
                self.has_failed = true;
                if !is_silent {
                    let code = Some(error.code());
                    encode::close(Close { code, reason: "" }, mask(), out);
                    self.has_sent_close = true;
                }
            }
            Ok(_) => {}
        }
        message
    }

    /// Adds a message to what is to be sent. A close begins the closing handshake.
    ///
    /// # Errors
    /// [`Closing`] after a close was sent, by this call or as an answer.
    pub fn send(&mut self, message: Message<'_>, out: &mut Vec<u8>) -> Result<(), Closing> {
        self.send_in_parts(message, usize::MAX, out)
    }

    /// The same, in frames of at most so many bytes each.
    ///
    /// # Errors
    /// As [`Connection::send`].
    pub fn send_in_parts(
        &mut self,
        message: Message<'_>,
        most: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Closing> {
        if self.has_sent_close {
            return Err(Closing);
        }
        self.has_sent_close = matches!(message, Message::Close(_));
        let (is_client, masks) = (self.role == Role::Client, &mut self.masks);
        self.encoder.parts(message, most, || is_client.then(|| masks.draw()), out);
        Ok(())
    }

    /// Begins the closing handshake, unless it has begun.
    pub fn close(&mut self, code: CloseCode, reason: &str, out: &mut Vec<u8>) {
        let _is_closing = self.send(Message::Close(Close { code: Some(code), reason }), out);
    }

    /// Whether nothing more may be sent.
    #[must_use]
    pub fn is_closing(&self) -> bool {
        self.has_sent_close
    }

    /// Whether nothing more will be received or sent: once `out` is written, a server closes the
    /// connection below, and a client waits a moment for that.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.has_failed || self.has_sent_close && self.has_received_close
    }
}
