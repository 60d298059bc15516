//! How a peer can break the protocol. After such an error nothing more is read of the connection.

use crate::close::CloseCode;

/// What a peer did that ends the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A frame that may not be sent, or not now.
    #[error("the peer broke the protocol: {0}")]
    Protocol(&'static str),
    /// A text, or the reason of a close, is not UTF-8.
    #[error("a text is not UTF-8")]
    Text,
    /// A compressed message does not unpack.
    #[error("a compressed message does not unpack")]
    Deflate,
    /// A frame that announces more than is taken.
    #[error("a frame of {bytes} bytes is longer than the {limit} that are taken")]
    Frame {
        /// What it announces.
        bytes: u64,
        /// What is taken.
        limit: u64,
    },
    /// A message, unpacked where it was compressed, that is longer than is taken.
    #[error("a message is longer than the {limit} bytes that are taken")]
    Message {
        /// What is taken.
        limit: usize,
    },
}

impl Error {
    /// What the peer is told.
    #[must_use]
    pub fn code(self) -> CloseCode {
        match self {
            Self::Protocol(_) => CloseCode::PROTOCOL,
            Self::Text | Self::Deflate => CloseCode::INVALID_DATA,
            Self::Frame { .. } | Self::Message { .. } => CloseCode::TOO_BIG,
        }
    }
}
