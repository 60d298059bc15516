//! Internet Cache Protocol, version 2: one datagram asks a cache for a URL, one answers.
//!
//! # Format
//!
//! All numbers in network byte order:
//!
//! | bytes | field |
//! | --- | --- |
//! | 0 | opcode |
//! | 1 | version, 2 |
//! | 2–3 | length of the whole message |
//! | 4–7 | request number, which the answer repeats |
//! | 8–11 | options |
//! | 12–15 | option data |
//! | 16–19 | sender's IPv4 address, in practice zero |
//! | 20–23 | in queries alone: requester's IPv4 address, in practice zero |
//! | then | the URL and a zero byte; after it, in `HIT_OBJ` alone, a length (2 bytes) and an object |
//!
//! A query takes 25 bytes and its URL, an answer 21 and the URL.
//!
//! # Sources
//!
//! RFC 2186. That the upper half of the option data counts hops is Squid's (`icp_v2.cc`); RFC 2186
//! speaks of the lower half alone. Squid 5.7 never sends `HIT_OBJ`.

use std::net::Ipv4Addr;

use super::bytes::Cursor;
use super::{DecodeError, EncodeError};

/// What precedes every payload.
pub const HEADER_BYTES: usize = 20;

/// The longest message (RFC 2186, section 1).
pub const MOST_BYTES: usize = 16_384;

const VERSION: u8 = 2;

const OPCODES: &str = "0, 1, 2, 3, 4, 10, 11, 21, 22 or 23";

/// One message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    /// What the answer to a query repeats.
    pub number: u32,
    /// Flags.
    pub options: Options,
    /// What some options add: see [`Message::source_rtt`].
    pub option_data: u32,
    /// Who sends; not to be trusted, and in practice unspecified.
    pub sender: Ipv4Addr,
    /// The URL, without zero bytes.
    pub url: &'a [u8],
    /// Which message it is, and what it has beside a URL.
    pub body: Body<'a>,
}

/// What is said of a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body<'a> {
    /// Opcode 0: never sent on purpose.
    Invalid,
    /// Opcode 1: is it with you?
    Query {
        /// The client for whom it is asked; unspecified where it is not said.
        requester: Ipv4Addr,
    },
    /// Opcode 2: it is here.
    Hit,
    /// Opcode 3: it is not here; it may be fetched through here.
    Miss,
    /// Opcode 4: the query was not understood.
    Error,
    /// Opcode 10: goes to an origin's echo port.
    SourceEcho,
    /// Opcode 11: goes to the echo port of a cache without ICP.
    CacheEcho,
    /// Opcode 21: it is not here, and is not to be fetched through here now.
    MissNoFetch,
    /// Opcode 22: you may not ask for it.
    Denied,
    /// Opcode 23: it is here, and this is it.
    HitObject(&'a [u8]),
}

/// Flags of a message; bits without a meaning are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options(pub u32);

impl Options {
    /// In a query: an answer may bring the object.
    pub const HIT_OBJECT: Self = Self(0x8000_0000);
    /// In a query: how far is the origin from you? In an answer: so far.
    pub const SOURCE_RTT: Self = Self(0x4000_0000);

    /// Whether all flags of `other` are set.
    #[must_use]
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The flags of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// How far an origin is from the cache that answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceRtt {
    /// Routers in between; 0 where it is not known. Squid's addition.
    pub hops: u16,
    /// Round trip, milliseconds.
    pub rtt_ms: u16,
}

impl Body<'_> {
    /// The number that tells messages apart.
    #[must_use]
    pub fn opcode(&self) -> u8 {
        match self {
            Self::Invalid => 0,
            Self::Query { .. } => 1,
            Self::Hit => 2,
            Self::Miss => 3,
            Self::Error => 4,
            Self::SourceEcho => 10,
            Self::CacheEcho => 11,
            Self::MissNoFetch => 21,
            Self::Denied => 22,
            Self::HitObject(_) => 23,
        }
    }
}

impl<'a> Message<'a> {
    /// A query without options.
    #[must_use]
    pub fn query(number: u32, url: &'a [u8]) -> Self {
        let body = Body::Query { requester: Ipv4Addr::UNSPECIFIED };
        let (options, sender) = (Options::default(), Ipv4Addr::UNSPECIFIED);
        Self { number, options, option_data: 0, sender, url, body }
    }

    /// The answer to this message: its number, its URL, no options.
    #[must_use]
    pub fn answer(&self, body: Body<'a>) -> Self {
        Self { body, ..Self::query(self.number, self.url) }
    }

    /// The same message with the distance to the origin.
    #[must_use]
    pub fn with_source_rtt(self, rtt: SourceRtt) -> Self {
        let option_data = (u32::from(rtt.hops) << 16) | u32::from(rtt.rtt_ms);
        Self { options: self.options.and(Options::SOURCE_RTT), option_data, ..self }
    }

    /// The distance to the origin, where an answer tells it.
    #[must_use]
    pub fn source_rtt(&self) -> Option<SourceRtt> {
        let told =
            matches!(self.body, Body::Hit | Body::Miss | Body::MissNoFetch | Body::HitObject(_))
                && self.options.has(Options::SOURCE_RTT);
        let [hops_high, hops_low, rtt_high, rtt_low] = self.option_data.to_be_bytes();
        told.then_some(SourceRtt {
            hops: u16::from_be_bytes([hops_high, hops_low]),
            rtt_ms: u16::from_be_bytes([rtt_high, rtt_low]),
        })
    }

    /// How many bytes the message takes.
    #[must_use]
    pub fn encoded_bytes(&self) -> usize {
        let more = match self.body {
            Body::Query { .. } => 4,
            Body::HitObject(object) => 2 + object.len(),
            _ => 0,
        };
        HEADER_BYTES + more + self.url.len() + 1
    }

    /// Writes the message behind what is in `out`.
    ///
    /// # Errors
    /// A URL with a zero byte, or more than [`MOST_BYTES`]; nothing is written then.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        if let Some(at) = memchr::memchr(0, self.url) {
            return Err(EncodeError::Zero { at });
        }
        let found = self.encoded_bytes();
        let length = u16::try_from(found).ok().filter(|_| found <= MOST_BYTES);
        let length = length.ok_or(EncodeError::Long { most: MOST_BYTES, found })?;
        out.reserve(found);
        out.extend([self.body.opcode(), VERSION]);
        out.extend(length.to_be_bytes());
        out.extend(self.number.to_be_bytes());
        out.extend(self.options.0.to_be_bytes());
        out.extend(self.option_data.to_be_bytes());
        out.extend(self.sender.octets());
        if let Body::Query { requester } = self.body {
            out.extend(requester.octets());
        }
        out.extend(self.url);
        out.push(0);
        if let Body::HitObject(object) = self.body {
            // It is shorter than the whole message, whose length fits.
            out.extend(u16::try_from(object.len()).unwrap_or(u16::MAX).to_be_bytes());
            out.extend(object);
        }
        Ok(())
    }

    /// Reads a datagram, all of it.
    ///
    /// A `HIT_OBJ` with less of an object than it says is a hit, as RFC 2186 wants it.
    ///
    /// # Errors
    /// Another version, an opcode that is not one, a length that is not the datagram's, a URL
    /// without its zero byte, bytes after the end.
    pub fn decode(datagram: &'a [u8]) -> Result<Self, DecodeError> {
        let mut cursor = Cursor::new(datagram);
        let opcode = cursor.u8("an ICP opcode")?;
        let version = cursor.u8("an ICP version")?;
        if version != VERSION {
            let (what, found) = ("an ICP version", version.into());
            return Err(DecodeError::Value { what, at: 1, wanted: "2", found });
        }
        let length = u64::from(cursor.u16("an ICP length")?);
        if length != datagram.len() as u64 {
            let (what, wanted) = ("an ICP length", datagram.len() as u64);
            return Err(DecodeError::Length { what, at: 2, wanted, found: length });
        }
        if datagram.len() > MOST_BYTES {
            let (what, wanted) = ("an ICP length", "of at most 16384");
            return Err(DecodeError::Value { what, at: 2, wanted, found: length });
        }
        let number = cursor.u32("a request number")?;
        let options = Options(cursor.u32("ICP options")?);
        let option_data = cursor.u32("ICP option data")?;
        let sender = Ipv4Addr::from(cursor.u32("a sender's address")?);
        let body = match opcode {
            0 => Body::Invalid,
            1 => Body::Query { requester: Ipv4Addr::from(cursor.u32("a requester's address")?) },
            2 => Body::Hit,
            3 => Body::Miss,
            4 => Body::Error,
            10 => Body::SourceEcho,
            11 => Body::CacheEcho,
            21 => Body::MissNoFetch,
            22 => Body::Denied,
            23 => Body::HitObject(&[]),
            found => {
                let (what, found) = ("an ICP opcode of", found.into());
                return Err(DecodeError::Value { what, at: 0, wanted: OPCODES, found });
            }
        };
        let url = cursor.ended("a URL")?;
        let body = if body == Body::HitObject(&[]) { object(&mut cursor)? } else { body };
        cursor.end()?;
        Ok(Self { number, options, option_data, sender, url, body })
    }
}

/// What follows the URL of a `HIT_OBJ`.
fn object<'a>(cursor: &mut Cursor<'a>) -> Result<Body<'a>, DecodeError> {
    let whole = *cursor;
    let object = cursor.u16("an object's length");
    match object.and_then(|length| cursor.take(length.into(), "an object")) {
        Ok(object) => Ok(Body::HitObject(object)),
        Err(_) => {
            *cursor = whole;
            cursor.take(whole.left(), "an object")?;
            Ok(Body::Hit)
        }
    }
}
