//! Mutants of valid messages against each decoder: whatever the bytes, it ends, and what it
//! believes it says again in no more bytes, and believes again. Used by the tests and by
//! `examples/mutate_protocols.rs`, which runs as long as it is told.

use std::net::Ipv4Addr;

use plimsoll_cache::protocol::digest::{Digest, Key};
use plimsoll_cache::protocol::htcp::{self, Authentication, Cleared, Detail, Reason, Specifier};
use plimsoll_cache::protocol::{DecodeError, icp};
use plimsoll_workload::random::Stream;

/// Whose decoder.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Protocol {
    Icp,
    Htcp,
    Digest,
}

impl Protocol {
    pub(crate) const ALL: [(&'static str, Self); 3] =
        [("icp", Self::Icp), ("htcp", Self::Htcp), ("digest", Self::Digest)];
}

/// Numbers at which lengths break.
const EDGES: [u16; 10] = [0, 1, 2, 7, 8, 0x7fff, 0x8000, 0xfffe, 0xffff, 0x0100];

fn text(most: u64, stream: &mut Stream) -> Vec<u8> {
    let length = stream.below(most);
    (0..length).map(|_| 1 + stream.below(255) as u8).collect()
}

/// A number below 2^32, now and then with few bits.
fn number(stream: &mut Stream) -> u32 {
    (stream.next_u64() >> (32 + stream.below(32))) as u32
}

fn valid_icp(stream: &mut Stream) -> Vec<u8> {
    let (url, object) = (text(60, stream), text(60, stream));
    let requester = Ipv4Addr::from(number(stream));
    let bodies = [
        icp::Body::Query { requester },
        icp::Body::Hit,
        icp::Body::Miss,
        icp::Body::Error,
        icp::Body::MissNoFetch,
        icp::Body::Denied,
        icp::Body::HitObject(&object),
    ];
    let message = icp::Message {
        options: icp::Options(number(stream)),
        option_data: number(stream),
        ..icp::Message::query(number(stream), &url).answer(bodies[stream.below(7) as usize])
    };
    let mut bytes = Vec::new();
    message.encode(&mut bytes).unwrap();
    bytes
}

fn valid_htcp(stream: &mut Stream) -> Vec<u8> {
    let texts: [Vec<u8>; 4] = std::array::from_fn(|_| text(40, stream));
    let [method, url, version, headers] = texts.each_ref().map(Vec::as_slice);
    let request = Specifier { method, url, version, headers };
    let detail = Detail { response: method, entity: url, cache: version };
    let answer = stream.below(2) == 0;
    let bodies = [
        htcp::Body::Ping { answer },
        htcp::Body::Pong,
        htcp::Body::Test { answer, request },
        htcp::Body::Hit(detail),
        htcp::Body::Miss(detail),
        htcp::Body::Clear { answer, reason: Reason::Gone, request },
        htcp::Body::Cleared(Cleared::Absent),
        htcp::Body::Refused { opcode: htcp::Opcode::Test, refusal: htcp::Refusal::Minor },
    ];
    let (signed, expires) = (number(stream), number(stream));
    let authentication = Authentication { signed, expires, key: version, signature: headers };
    let message = htcp::Message {
        transaction: number(stream),
        body: bodies[stream.below(8) as usize],
        authentication: (stream.below(3) == 0).then_some(authentication),
    };
    let mut bytes = Vec::new();
    message.encode(&mut bytes).unwrap();
    if stream.below(4) == 0 {
        // As an old Squid lays it out.
        bytes[3] = 0;
        bytes[6] = bytes[6].rotate_left(4);
        bytes[7] = bytes[7].reverse_bits();
    }
    bytes
}

fn valid_digest(stream: &mut Stream) -> Vec<u8> {
    let capacity = 1 + stream.below(100) as u32;
    let mut digest = Digest::new(capacity, 1 + stream.below(12) as u8).unwrap();
    for _ in 0..stream.below(40) {
        digest.insert(Key::of(&text(30, stream)));
    }
    let mut bytes = Vec::new();
    digest.encode(&mut bytes);
    bytes
}

/// One change.
fn mutate(bytes: &mut Vec<u8>, stream: &mut Stream) {
    let length = bytes.len() as u64;
    let at = stream.below(length + 1) as usize;
    let end = (at + stream.below(20) as usize).min(bytes.len());
    match stream.below(7) {
        0 if at < bytes.len() => bytes[at] ^= 1 << stream.below(8),
        1 if at < bytes.len() => bytes[at] = stream.next_u64() as u8,
        2 => drop(bytes.drain(at..end)),
        3 => bytes.truncate(at),
        4 => {
            let again = bytes[at..end].to_vec();
            bytes.splice(at..at, again);
        }
        5 => {
            let new = text(20, stream);
            bytes.splice(at..at, new);
        }
        _ if at + 2 <= bytes.len() => {
            let edge = match stream.below(3) {
                0 => EDGES[stream.below(10) as usize],
                1 => (bytes.len() as u16).wrapping_add(stream.below(5) as u16).wrapping_sub(2),
                _ => stream.below(64) as u16,
            };
            bytes[at..at + 2].copy_from_slice(&edge.to_be_bytes());
        }
        _ => (),
    }
}

/// Makes the length of the whole right again, so that what is behind it is read.
fn mend(protocol: Protocol, bytes: &mut [u8]) {
    let length = bytes.len();
    let (at, whole) = match protocol {
        Protocol::Icp => (2..4, (length as u16).to_be_bytes().to_vec()),
        Protocol::Htcp => (0..2, (length as u16).to_be_bytes().to_vec()),
        Protocol::Digest => {
            // The mask's length, and a capacity that makes it, at 8 bits an entry.
            let mask = (length.saturating_sub(128) as u32).to_be_bytes();
            if let Some(field) = bytes.get_mut(4..8) {
                field.copy_from_slice(&mask);
            }
            if let Some(bits) = bytes.get_mut(20) {
                *bits = 8;
            }
            (16..20, mask.to_vec())
        }
    };
    if let Some(field) = bytes.get_mut(at) {
        field.copy_from_slice(&whole);
    }
}

/// The bytes of a seed.
pub(crate) fn mutant(protocol: Protocol, seed: u64) -> Vec<u8> {
    let mut stream = Stream::named(seed, "mutants");
    let mut bytes = match protocol {
        Protocol::Icp => valid_icp(&mut stream),
        Protocol::Htcp => valid_htcp(&mut stream),
        Protocol::Digest => valid_digest(&mut stream),
    };
    for _ in 0..stream.below(5) {
        mutate(&mut bytes, &mut stream);
    }
    if stream.below(2) == 0 {
        mend(protocol, &mut bytes);
    }
    bytes
}

/// Whether the bytes of a seed are believed; or what is wrong with that.
pub(crate) fn check(protocol: Protocol, seed: u64) -> Result<bool, String> {
    let bytes = mutant(protocol, seed);
    let mut again = Vec::new();
    let outcome = match protocol {
        Protocol::Icp => icp::Message::decode(&bytes).map(|message| {
            message.encode(&mut again).map_err(|error| error.to_string())?;
            same(&icp::Message::decode(&again), &message)
        }),
        Protocol::Htcp => htcp::Message::decode(&bytes).map(|message| {
            message.encode(&mut again).map_err(|error| error.to_string())?;
            same(&htcp::Message::decode(&again), &message)
        }),
        Protocol::Digest => Digest::decode(&bytes).map(|digest| {
            digest.encode(&mut again);
            same(&Digest::decode(&again), &digest)
        }),
    };
    // A miss of one text is written with three.
    if again.len() > bytes.len() + 4 {
        return Err(format!("{} bytes are {} when written again", bytes.len(), again.len()));
    }
    match outcome {
        Ok(same) => same.map(|()| true),
        Err(error) if error.to_string().len() < 200 => Ok(false),
        Err(error) => Err(format!("too long an error: {error}")),
    }
}

fn same<T: PartialEq + std::fmt::Debug>(
    again: &Result<T, DecodeError>,
    first: &T,
) -> Result<(), String> {
    if again.as_ref() == Ok(first) {
        return Ok(());
    }
    Err(format!("{first:?} is {again:?} when written and read again"))
}
