//! Why an opening handshake fails, and what a server answers then.

use crate::extension::Disagreement;

/// Why there is no WebSocket.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// What came is no head of HTTP/1.1.
    #[error("it is not HTTP/1.1: {0}")]
    Malformed(&'static str),
    /// The server answers with another status than 101.
    #[error("the answer's status is {0}, not 101")]
    Status(u16),
    /// The server's answer is not one to this request.
    #[error("the answer makes no WebSocket: {0}")]
    Answer(&'static str),
    /// The server agrees to a compression that was not offered.
    #[error("the answer is not one to what was offered")]
    Extension(#[from] Disagreement),
    /// The client asks for something else than a WebSocket.
    #[error("the request asks for no WebSocket: {0}")]
    Request(&'static str),
    /// The client speaks another version of the protocol.
    #[error("the request's version of WebSocket is not 13")]
    Version,
}

impl Refusal {
    /// What a server answers to such a request, whole.
    #[must_use]
    pub fn answer(&self) -> Vec<u8> {
        let (status, more) = match self {
            Self::Version => ("426 Upgrade Required", "Sec-WebSocket-Version: 13\r\n"),
            _ => ("400 Bad Request", ""),
        };
        let body = format!("{self}\n");
        let length = body.len();
        let answer = format!(
            "HTTP/1.1 {status}\r\n{more}Connection: close\r\nContent-Type: text/plain\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        );
        answer.into_bytes()
    }
}
