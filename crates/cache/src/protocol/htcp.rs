//! Hyper Text Caching Protocol: a cache is asked for a request with its headers, and told to
//! forget what it has.
//!
//! # Format
//!
//! A datagram has three parts, each beginning with its length in bytes (2, its own included); all
//! numbers are in network byte order:
//!
//! - header: length of the datagram, major version 0, minor version (1 each);
//! - data: length, opcode and response (4 bits each), six bits of nothing with F1 and RR as the
//!   lowest two, transaction (4), what the opcode wants;
//! - authentication: its length alone, 2, where there is none.
//!
//! RR tells answers from requests. F1 is "answer me" in a request; in an answer it says that the
//! response is about the whole message, which was not understood or not allowed. Texts are counted
//! (2 bytes). Parts may be longer than what is in them.
//!
//! # Squid
//!
//! Squid 5.7 sends minor version 1 with the layout of RFC 2756. It takes minor version 0, which is
//! the RFC's own, for the layout of older Squids, whose bits were in the order of a little-endian
//! compiler: response before opcode, and RR and F1 as the highest two. Here as well, for decoding;
//! what is encoded has minor version 1. A miss of Squid's has the three texts of a hit, empty; the
//! RFC has one (CACHE-HDRS). Both are read; Squid's is written. Squid knows `TST` and `CLR` alone,
//! and reads no more than 8,191 bytes. Its own questions have the version `1/1` (or `1/0`) and no
//! headers; its answers in the old layout have no transaction.
//!
//! # Sources
//!
//! RFC 2756, sections 2 to 6; Squid 5.7, `htcp.cc`.

mod wire;

/// Header, data and authentication, with nothing in them: a `NOP`.
pub const FIXED_BYTES: usize = 4 + 8 + 2;

/// The longest message: lengths have 16 bits.
pub const MOST_BYTES: usize = 0xffff;

/// One message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    /// What the answer to a request repeats.
    pub transaction: u32,
    /// What is said.
    pub body: Body<'a>,
    /// Who says it.
    pub authentication: Option<Authentication<'a>>,
}

/// What is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body<'a> {
    /// `NOP`: are you there?
    Ping {
        /// Whether an answer is wanted; without one it is for nothing.
        answer: bool,
    },
    /// The answer to it.
    Pong,
    /// `TST`: is it with you?
    Test {
        /// Whether an answer is wanted; without one it is for nothing, and a Squid says nothing.
        answer: bool,
        /// The request for which it is asked.
        request: Specifier<'a>,
    },
    /// It is here.
    Hit(Detail<'a>),
    /// It is not here.
    Miss(Detail<'a>),
    /// `CLR`: forget it.
    Clear {
        /// Whether an answer is wanted.
        answer: bool,
        /// Why.
        reason: Reason,
        /// A request that it would answer.
        request: Specifier<'a>,
    },
    /// The answer to it.
    Cleared(Cleared),
    /// The request was not understood, or not allowed.
    Refused {
        /// What was wanted.
        opcode: Opcode,
        /// Why it is refused.
        refusal: Refusal,
    },
}

/// What is wanted. RFC 2756 has `MON` (2) and `SET` (3) besides, which no Squid knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opcode {
    /// A sign of life.
    Nop = 0,
    /// Whether an object is there.
    Test = 1,
    /// To forget an object.
    Clear = 4,
}

/// A request, as its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Specifier<'a> {
    /// `GET`.
    pub method: &'a [u8],
    /// All of it.
    pub url: &'a [u8],
    /// `1.1`, or `HTTP/1.1` by the RFC; Squid does not look at it.
    pub version: &'a [u8],
    /// Lines of headers, each with its end.
    pub headers: &'a [u8],
}

/// What is known of an object, as lines of headers, each with its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Detail<'a> {
    /// Of the response: `Age`.
    pub response: &'a [u8],
    /// Of the entity: `Expires`, `Last-Modified`.
    pub entity: &'a [u8],
    /// What caches say to caches: `Cache-to-Origin`.
    pub cache: &'a [u8],
}

/// Why an object is to be forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Some other reason; numbers without a meaning are taken for it.
    Other = 0,
    /// The origin said that it does not exist.
    Gone = 1,
}

/// What became of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cleared {
    /// It was there, and is no more.
    Forgotten = 0,
    /// It was there, and is kept.
    Kept = 1,
    /// It was not there.
    Absent = 2,
}

/// Why a message is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Authentication is wanted, and there was none.
    Unauthenticated = 0,
    /// There was, and it was not good enough.
    Mistrusted = 1,
    /// The opcode is not implemented.
    Opcode = 2,
    /// The major version is not supported.
    Major = 3,
    /// The minor version is not supported.
    Minor = 4,
    /// The opcode is not allowed.
    Undesired = 5,
}

/// Who says it, by a secret that both sides share. The signature is carried, not checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Authentication<'a> {
    /// When it was signed, seconds since 1970.
    pub signed: u32,
    /// Until when that holds, seconds since 1970.
    pub expires: u32,
    /// The secret's name.
    pub key: &'a [u8],
    /// HMAC-MD5 over addresses, ports, versions, times, data and the secret's name.
    pub signature: &'a [u8],
}

impl<'a> Message<'a> {
    /// Asks whether an object is there, without headers and authentication.
    #[must_use]
    pub fn test(transaction: u32, url: &'a [u8]) -> Self {
        let request = Specifier { method: b"GET", url, version: b"1.1", headers: b"" };
        Self { transaction, body: Body::Test { answer: true, request }, authentication: None }
    }

    /// The answer to this message.
    #[must_use]
    pub fn answer(&self, body: Body<'a>) -> Self {
        Self { body, authentication: None, ..*self }
    }
}
