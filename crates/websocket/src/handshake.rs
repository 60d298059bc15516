//! The opening handshake: an HTTP/1.1 request, and the answer that makes a WebSocket of its
//! connection.
//!
//! A client writes an [`Opening`], reads a [`Head`] and has the opening [check](Opening::check) it.
//! A server reads a head and [accepts](accept) it.
//!
//! Source: RFC 6455, sections 4.1, 4.2 and 11.3.

use crate::extension::{Deflate, Disagreement};
use crate::head::Head;
use crate::refusal::Refusal;
use crate::token::{has_word, is_token, split};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha1::{Digest as _, Sha1};

/// What every key is hashed with: no server answers with the result by chance.
const MAGIC: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// Fields that the handshake itself has.
const OWN: &[&str] = &["host", "upgrade", "connection"];

/// What both ends agreed on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Agreed {
    /// The protocol within the messages, one of those that the client named.
    pub protocol: Option<String>,
    /// How both compress, where they do.
    pub deflate: Option<Deflate>,
}

/// A part of a request that may not stand in one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} may not stand in a request for a WebSocket")]
pub struct Unusable(String);

/// A client's request.
#[derive(Debug, Clone, Copy)]
pub struct Opening<'a> {
    /// The path, with the query.
    pub target: &'a str,
    /// The value of `Host`.
    pub host: &'a str,
    /// More fields, such as `Authorization`, `Cookie` and `Origin`.
    pub fields: &'a [(&'a str, &'a str)],
    /// The protocols that the client speaks, the dearest first; often none.
    pub protocols: &'a [&'a str],
    /// The compression that is offered.
    pub deflate: Option<Deflate>,
    /// Sixteen bytes from [`Masks::key`](crate::Masks::key), new for each connection.
    pub key: [u8; 16],
}

impl Opening<'_> {
    /// Adds the bytes of the request.
    ///
    /// # Errors
    /// [`Unusable`], and nothing added, where a control character or, but in a value, a blank would
    /// bend it, and for a field that the handshake has itself.
    pub fn write(&self, out: &mut Vec<u8>) -> Result<(), Unusable> {
        let is_word = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_graphic());
        for word in [self.target, self.host] {
            if !is_word(word) {
                return Err(Unusable(word.to_owned()));
            }
        }
        if let Some(word) = self.protocols.iter().find(|protocol| !is_token(protocol)) {
            return Err(Unusable((*word).to_owned()));
        }
        for (name, value) in self.fields {
            let lower = name.to_ascii_lowercase();
            let is_own = OWN.contains(&lower.as_str()) || lower.starts_with("sec-websocket-");
            if !is_token(name) || is_own || value.bytes().any(|b| b.is_ascii_control()) {
                return Err(Unusable((*name).to_owned()));
            }
        }
        let mut put = |line: &str| out.extend_from_slice(line.as_bytes());
        put(&format!("GET {} HTTP/1.1\r\nHost: {}\r\n", self.target, self.host));
        put("Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n");
        put(&format!("Sec-WebSocket-Key: {}\r\n", STANDARD.encode(self.key)));
        if !self.protocols.is_empty() {
            put(&format!("Sec-WebSocket-Protocol: {}\r\n", self.protocols.join(", ")));
        }
        if let Some(deflate) = self.deflate {
            put(&format!("Sec-WebSocket-Extensions: {}\r\n", deflate.offer()));
        }
        for (name, value) in self.fields {
            put(&format!("{name}: {value}\r\n"));
        }
        put("\r\n");
        Ok(())
    }

    /// What the server's answer comes to.
    ///
    /// # Errors
    /// [`Refusal`] where it is not the answer to this request: nothing more must be sent.
    pub fn check(&self, head: &Head) -> Result<Agreed, Refusal> {
        let status = head.status().ok_or(Refusal::Malformed("it has no status"))?;
        if status != 101 {
            return Err(Refusal::Status(status));
        }
        if !head.only("upgrade").is_some_and(|value| value.eq_ignore_ascii_case("websocket")) {
            return Err(Refusal::Answer("its Upgrade is not websocket"));
        }
        if !has_word(&head.list("connection"), "upgrade") {
            return Err(Refusal::Answer("its Connection is not Upgrade"));
        }
        let key = STANDARD.encode(self.key);
        if head.only("sec-websocket-accept") != Some(accepted(key.as_bytes()).as_str()) {
            return Err(Refusal::Answer("its Sec-WebSocket-Accept is not that of the key"));
        }
        let protocol = match head.list("sec-websocket-protocol") {
            protocol if protocol.is_empty() => None,
            protocol if self.protocols.contains(&protocol.as_str()) => Some(protocol),
            _ => return Err(Refusal::Answer("its protocol was not asked for")),
        };
        let answer = head.list("sec-websocket-extensions");
        let deflate = match self.deflate {
            Some(deflate) => deflate.agree(&answer)?,
            None if answer.is_empty() => None,
            None => return Err(Disagreement::Extension.into()),
        };
        Ok(Agreed { protocol, deflate })
    }
}

/// The value of `Sec-WebSocket-Accept` for that of `Sec-WebSocket-Key`.
fn accepted(key: &[u8]) -> String {
    let mut hash = Sha1::new();
    hash.update(key);
    hash.update(MAGIC);
    STANDARD.encode(hash.finalize())
}

/// What a server allows.
#[derive(Debug, Clone, Copy, Default)]
pub struct Policy<'a> {
    /// The protocols that it speaks.
    pub protocols: &'a [&'a str],
    /// The compression that it allows.
    pub deflate: Option<Deflate>,
}

/// Accepts a client's request: adds the answer to `out`. Of the client's protocols the first that
/// the server speaks is taken, or none.
///
/// # Errors
/// [`Refusal`] where the request asks for no WebSocket; [`Refusal::answer`] is what to answer.
pub fn accept(head: &Head, policy: Policy<'_>, out: &mut Vec<u8>) -> Result<Agreed, Refusal> {
    if head.target().is_none() {
        return Err(Refusal::Request("it is no GET of HTTP/1.1"));
    }
    if head.only("host").is_none() {
        return Err(Refusal::Request("it has not one Host"));
    }
    if !has_word(&head.list("upgrade"), "websocket") {
        return Err(Refusal::Request("its Upgrade is not websocket"));
    }
    if !has_word(&head.list("connection"), "upgrade") {
        return Err(Refusal::Request("its Connection is not Upgrade"));
    }
    if head.only("sec-websocket-version") != Some("13") {
        return Err(Refusal::Version);
    }
    let key = head.only("sec-websocket-key").unwrap_or_default();
    if !STANDARD.decode(key).is_ok_and(|bytes| bytes.len() == 16) {
        return Err(Refusal::Request("its Sec-WebSocket-Key is not 16 bytes in base64"));
    }
    let asked = head.list("sec-websocket-protocol");
    let protocol = split(&asked, ',').find(|asked| policy.protocols.contains(asked));
    let protocol = protocol.map(str::to_owned);
    let offers = head.list("sec-websocket-extensions");
    let deflate = policy.deflate.and_then(|allowed| allowed.accept(&offers));
    let mut put = |line: &str| out.extend_from_slice(line.as_bytes());
    put("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n");
    put(&format!("Sec-WebSocket-Accept: {}\r\n", accepted(key.as_bytes())));
    if let Some(protocol) = &protocol {
        put(&format!("Sec-WebSocket-Protocol: {protocol}\r\n"));
    }
    if let Some((_, text)) = &deflate {
        put(&format!("Sec-WebSocket-Extensions: {text}\r\n"));
    }
    put("\r\n");
    Ok(Agreed { protocol, deflate: deflate.map(|(agreed, _)| agreed) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_answered_as_the_rfc_has_it() {
        assert_eq!(accepted(b"dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }
}
