//! What the tests share: messages that are owned, ends over real sockets, and the programs that
//! they are tried against.

pub(crate) mod ends;
pub(crate) mod peers;

use plimsoll_websocket::{Close, CloseCode, Message};

/// A message of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Owned {
    Text(String),
    Binary(Vec<u8>),
    Ping(Vec<u8>),
    Pong(Vec<u8>),
    Close(Option<CloseCode>, String),
}

impl Owned {
    pub(crate) fn borrow(&self) -> Message<'_> {
        match self {
            Self::Text(text) => Message::Text(text),
            Self::Binary(bytes) => Message::Binary(bytes),
            Self::Ping(bytes) => Message::Ping(bytes),
            Self::Pong(bytes) => Message::Pong(bytes),
            Self::Close(code, reason) => Message::Close(Close { code: *code, reason }),
        }
    }
}

impl From<Message<'_>> for Owned {
    fn from(message: Message<'_>) -> Self {
        match message {
            Message::Text(text) => Self::Text(text.to_owned()),
            Message::Binary(bytes) => Self::Binary(bytes.to_vec()),
            Message::Ping(bytes) => Self::Ping(bytes.to_vec()),
            Message::Pong(bytes) => Self::Pong(bytes.to_vec()),
            Message::Close(close) => Self::Close(close.code, close.reason.to_owned()),
        }
    }
}
