//! memcached: its text protocol (protocol.txt of memcached 1.6). A read is `get`, a write `set`
//! with no flags and no expiry; a value goes as a block with its length, so it may hold any byte. A
//! connection begins with `version`, and counts as open when that is answered, as a server that has
//! too many connections says so only then.
//!
//! Answers to these are `VALUE key flags bytes`, a block and `END`; `END` alone for no such record;
//! `STORED`, `VERSION …`, and errors; anything else is refused.

use crate::store::Opening;
use crate::store::frames::{Malformed, length, push_decimal};
use crate::store::{Dialect, Next, Reply, Spoken, Transport};
use plimsoll_workload::request::{Scheme, StoreScheme};
use plimsoll_workload::store::{Kind, Operation};

/// The longest key (protocol.txt).
const MAX_KEY: usize = 250;

/// How memcached speaks.
#[derive(Debug, Clone, Copy)]
pub struct Memcached;

/// Where in an answer the next line stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Place {
    /// It is the first.
    #[default]
    First,
    /// It follows a value.
    BehindValue,
}

/// What there is to `memcached://`.
const STORE: StoreScheme =
    StoreScheme { refuses_login: Some("its text protocol has none"), ..StoreScheme::PLAIN };
/// `memcached://`.
pub static SCHEME: Scheme =
    Scheme { over_tls: Some(&SECURE), ..Scheme::plain("memcached", 11211, Some(STORE)) };
/// `memcacheds://`, the same over TLS. Version 1.6.18 at least does not look at what OpenSSL has
/// read of a pipeline beyond its own buffer, until more comes.
static SECURE: Scheme =
    Scheme::secure("memcacheds", 11211, Some(StoreScheme { leaves_lying: true, ..STORE }));

impl Spoken for Memcached {
    const NAME: &'static str = "memcached's text protocol";

    fn begun(_: Opening, _: Transport) -> Self {
        Self
    }

    fn hint(code: u16, _: &str) -> Option<&'static str> {
        let hint = "it wants its clients to authenticate, which is not spoken here: start it \
                    without -Y and -S";
        (code == 401).then_some(hint)
    }
}

impl Dialect for Memcached {
    type State = Place;

    fn greet(&self, out: &mut Vec<u8>) -> u32 {
        out.extend_from_slice(b"version\r\n");
        1
    }

    /// Something that stands before it may not know its version.
    fn lets_in(error: &[u8]) -> bool {
        error == b"ERROR"
    }

    fn command(operation: &Operation, value: &[u8], out: &mut Vec<u8>) {
        let key = operation.key();
        match operation.kind {
            Kind::Read => {
                out.extend_from_slice(b"get ");
                out.extend_from_slice(&key);
            }
            Kind::Update | Kind::Insert => {
                out.extend_from_slice(b"set ");
                out.extend_from_slice(&key);
                out.extend_from_slice(b" 0 0 ");
                push_decimal(value.len(), out);
                out.extend_from_slice(b"\r\n");
                out.extend_from_slice(value);
            }
        }
        out.extend_from_slice(b"\r\n");
    }

    fn line(place: &mut Place, text: &[u8]) -> Result<Next, Malformed> {
        let before = std::mem::take(place);
        let reply = |reply| Ok(Next::Reply(reply));
        match (before, text) {
            (Place::BehindValue, b"END") => return reply(Reply::Found),
            (Place::BehindValue, _) => return Err(Malformed),
            (Place::First, b"END") => return reply(Reply::Missing),
            (Place::First, b"STORED") => return reply(Reply::Done),
            (Place::First, b"NOT_STORED") => return reply(Reply::Error(409)),
            (Place::First, b"ERROR") => return reply(Reply::Error(400)),
            (Place::First, b"CLIENT_ERROR unauthenticated") => return reply(Reply::Error(401)),
            (Place::First, b"ERROR Too many open connections") => return reply(Reply::Final(503)),
            (Place::First, _) => {}
        }
        if text.starts_with(b"VERSION ") {
            return reply(Reply::Greeted);
        }
        if let Some(value) = text.strip_prefix(b"VALUE ") {
            return block_of(value).map(Next::Block);
        }
        if text.starts_with(b"CLIENT_ERROR ") {
            return reply(Reply::Error(400));
        }
        let error = text.strip_prefix(b"SERVER_ERROR ").ok_or(Malformed)?;
        reply(Reply::Error(match error {
            error if error.starts_with(b"out of memory") => 507,
            error if error.starts_with(b"object too large") => 413,
            _ => 500,
        }))
    }

    fn block(place: &mut Place) -> Next {
        *place = Place::BehindValue;
        Next::Line
    }
}

/// The length in `key flags bytes`.
fn block_of(value: &[u8]) -> Result<u64, Malformed> {
    let mut words = value.split(|&byte| byte == b' ');
    let (key, flags, bytes) = (words.next(), words.next(), words.next());
    let (Some(key), Some(flags), Some(bytes), None) = (key, flags, bytes, words.next()) else {
        return Err(Malformed);
    };
    if key.is_empty() || key.len() > MAX_KEY || length(flags)? > u64::from(u32::MAX) {
        return Err(Malformed);
    }
    length(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_lines_and_blocks() {
        let mut out = Vec::new();
        let mut insert = Operation::read(7);
        insert.kind = Kind::Insert;
        Memcached::command(&Operation::read(7), b"", &mut out);
        Memcached::command(&insert, b"a\r\n\0b", &mut out);
        let wanted = b"get plimsoll:000000000007\r\n\
                       set plimsoll:000000000007 0 0 5\r\na\r\n\0b\r\n";
        assert_eq!(out, wanted);
    }

    #[test]
    fn answers_are_what_they_say() {
        let line = |text: &str| Memcached::line(&mut Place::First, text.as_bytes());
        for (text, reply) in [
            ("END", Reply::Missing),
            ("STORED", Reply::Done),
            ("NOT_STORED", Reply::Error(409)),
            ("ERROR", Reply::Error(400)),
            ("CLIENT_ERROR bad data chunk", Reply::Error(400)),
            ("SERVER_ERROR out of memory storing object", Reply::Error(507)),
            ("SERVER_ERROR object too large for cache", Reply::Error(413)),
            ("SERVER_ERROR anything else", Reply::Error(500)),
        ] {
            assert_eq!(line(text), Ok(Next::Reply(reply)), "{text}");
        }
        assert_eq!(line("VALUE key 0 5"), Ok(Next::Block(5)));
        let mut place = Place::First;
        assert_eq!(Memcached::block(&mut place), Next::Line);
        assert_eq!(Memcached::line(&mut place, b"END"), Ok(Next::Reply(Reply::Found)));
        assert_eq!(place, Place::First);
        for text in [
            "",
            "end",
            "VALUE key 0",
            "VALUE  0 5",
            "VALUE key 0 5 6 7",
            "VALUE key -1 5",
            "VALUE key 4294967296 5",
            "VALUE key 0 x",
            "STORED ",
            "HD",
        ] {
            assert_eq!(line(text), Err(Malformed), "{text}");
        }
        assert_eq!(Memcached::line(&mut Place::BehindValue, b"STORED"), Err(Malformed));
    }
}
