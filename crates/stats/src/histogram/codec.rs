//! HdrHistogram's V2 payload, plain and compressed: what `latency.hlog` keeps.
//!
//! Format: G. Tene, HdrHistogram (Java), `AbstractHistogram.encodeIntoByteBuffer` and
//! `ZigZagEncoding`; the test oracle is the `hdrhistogram` crate. All header fields big-endian:
//!
//! | bytes | field | ours |
//! | --- | --- | --- |
//! | 4 | cookie | `0x1c849313` (`0x1c849314` compressed) |
//! | 4 | length of the payload (of the zlib stream, if compressed) | |
//! | 4 | normalizing index offset | 0 |
//! | 4 | significant digits | 3 |
//! | 8 | lowest discernible value | 1 |
//! | 8 | highest trackable value | [`MAX_VALUE`] |
//! | 8 | integer to double ratio | 1.0 |
//!
//! Then one ZigZag LEB128 number (seven bits a byte, the ninth byte whole) a count, in the order of
//! buckets up to the last occupied one; a negative number stands for that many empty buckets. The
//! compressed form is a cookie, a length and a zlib stream of the whole plain form.
//!
//! What the format does not carry: the extremes and the sums ([`super::Exact`]). Decoded, the least
//! and greatest value are the bounds of the outer occupied buckets (off by less than 0.1%), and the
//! sums take the middle of each bucket, until [`Histogram::restore`] is given the exact ones.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;

use super::{Histogram, LEN, MAX_VALUE, highest_at, lowest_at};

const COOKIE: u32 = 0x1c84_9303 | 0x10;
const COMPRESSED_COOKIE: u32 = 0x1c84_9304 | 0x10;
const DIGITS: u32 = 3;
const HEADER_LEN: usize = 40;
/// Four times as fast as the default on a second of 20,000 answers, and 1% larger.
const LEVEL: Compression = Compression::new(3);
/// Nine bytes a count, and no more counts than buckets: no valid payload is longer.
const MAX_PAYLOAD: usize = LEN * 9;

/// Why bytes are no histogram of ours.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The bytes end before the header or the payload it announces does.
    #[error("expected {wanted} bytes of histogram, found {found}: the text was cut")]
    Cut {
        /// Bytes needed.
        wanted: usize,
        /// Bytes there.
        found: usize,
    },
    /// More bytes than the header announces.
    #[error("expected {wanted} bytes of histogram, found {found}: two payloads were joined")]
    Long {
        /// Bytes announced.
        wanted: usize,
        /// Bytes there.
        found: usize,
    },
    /// Not a V2 payload.
    #[error(
        "expected cookie 1c849313 or 1c849314 (HdrHistogram V2), found {found:08x}: write it in V2"
    )]
    Cookie {
        /// What the first four bytes say.
        found: u32,
    },
    /// A header field that this program's histograms have otherwise.
    #[error(
        "expected {field} {wanted}, found {found}: record it with 3 digits from 1 ns, unscaled"
    )]
    Layout {
        /// Which field.
        field: &'static str,
        /// What ours have.
        wanted: String,
        /// What it has.
        found: String,
    },
    /// A count for a value that cannot be held.
    #[error("expected values up to {MAX_VALUE} ns (4.9 h), found a greater one")]
    Range,
    /// The counts together exceed 64 bits.
    #[error("expected counts that sum to less than 2^64, found more: the payload is damaged")]
    Sum,
    /// The compressed stream cannot be inflated, or gives more than any histogram needs.
    #[error("inflate the histogram")]
    Inflate(#[source] std::io::Error),
}

/// The plain V2 payload. Costs the occupied range.
#[must_use]
pub fn encode_v2(histogram: &Histogram) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER_LEN + 256);
    bytes.extend_from_slice(&COOKIE.to_be_bytes());
    bytes.extend_from_slice(&[0; 4]);
    bytes.extend_from_slice(&0_u32.to_be_bytes());
    bytes.extend_from_slice(&DIGITS.to_be_bytes());
    bytes.extend_from_slice(&1_u64.to_be_bytes());
    bytes.extend_from_slice(&MAX_VALUE.to_be_bytes());
    bytes.extend_from_slice(&1.0_f64.to_be_bytes());
    let occupied = histogram.occupied();
    if !histogram.is_empty() {
        push_empty(occupied.start, &mut bytes);
    }
    let mut empty = 0;
    for &count in histogram.occupied_counts() {
        if count == 0 {
            empty += 1;
            continue;
        }
        push_empty(empty, &mut bytes);
        empty = 0;
        // A count of 2^63 and more has no place in the format; nothing counts that far.
        push_number(i64::try_from(count).unwrap_or(i64::MAX), &mut bytes);
    }
    if histogram.is_empty() {
        push_number(0, &mut bytes);
    }
    let payload = u32::try_from(bytes.len() - HEADER_LEN).unwrap_or(u32::MAX);
    bytes[4..8].copy_from_slice(&payload.to_be_bytes());
    bytes
}

/// The V2 payload, compressed by zlib: what interval logs carry in base64.
#[must_use]
pub fn encode_v2_compressed(histogram: &Histogram) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(256);
    bytes.extend_from_slice(&COMPRESSED_COOKIE.to_be_bytes());
    bytes.extend_from_slice(&[0; 4]);
    let mut encoder = ZlibEncoder::new(bytes, LEVEL);
    let written = encoder.write_all(&encode_v2(histogram)).and_then(|()| encoder.finish());
    let Ok(mut bytes) = written else { unreachable!("a vector takes what is written to it") };
    let length = u32::try_from(bytes.len() - 8).unwrap_or(u32::MAX);
    bytes[4..8].copy_from_slice(&length.to_be_bytes());
    bytes
}

/// A run of empty buckets: a single one is a count of zero, as the reference writes it.
fn push_empty(buckets: usize, bytes: &mut Vec<u8>) {
    match buckets {
        0 => {}
        1 => push_number(0, bytes),
        n => push_number(-i64::try_from(n).unwrap_or(i64::MAX), bytes),
    }
}

fn push_number(number: i64, bytes: &mut Vec<u8>) {
    let mut rest = ((number << 1) ^ (number >> 63)).cast_unsigned();
    for _ in 0..8 {
        if rest < 0x80 {
            break;
        }
        bytes.push((rest & 0x7f) as u8 | 0x80);
        rest >>= 7;
    }
    #[expect(clippy::cast_possible_truncation, reason = "seven bits are left, or a ninth byte")]
    bytes.push(rest as u8);
}

/// Reads a V2 payload, plain or compressed. Allocates one histogram and at most 0.4 MB, whatever
/// the bytes.
///
/// # Errors
/// Bytes that are no V2 payload, are cut or damaged, or have another precision, unit or range.
pub fn decode(bytes: &[u8]) -> Result<Histogram, DecodeError> {
    let (cookie, rest) = take::<4>(bytes, 8)?;
    match u32::from_be_bytes(cookie) {
        COOKIE => decode_plain(bytes),
        COMPRESSED_COOKIE => {
            let (length, stream) = take::<4>(rest, 4)?;
            let stream = exactly(stream, u32::from_be_bytes(length))?;
            let mut plain = Vec::new();
            let limit = (HEADER_LEN + MAX_PAYLOAD + 1) as u64;
            ZlibDecoder::new(stream)
                .take(limit)
                .read_to_end(&mut plain)
                .map_err(DecodeError::Inflate)?;
            decode_plain(&plain)
        }
        found => Err(DecodeError::Cookie { found }),
    }
}

fn decode_plain(bytes: &[u8]) -> Result<Histogram, DecodeError> {
    let (cookie, rest) = take::<4>(bytes, HEADER_LEN)?;
    let (length, rest) = take::<4>(rest, HEADER_LEN)?;
    let (offset, rest) = take::<4>(rest, HEADER_LEN)?;
    let (digits, rest) = take::<4>(rest, HEADER_LEN)?;
    let (lowest, rest) = take::<8>(rest, HEADER_LEN)?;
    let (_highest, rest) = take::<8>(rest, HEADER_LEN)?;
    let (ratio, rest) = take::<8>(rest, HEADER_LEN)?;
    let found = u32::from_be_bytes(cookie);
    if found != COOKIE {
        return Err(DecodeError::Cookie { found });
    }
    same("normalizing index offset", u32::from_be_bytes(offset).into(), 0)?;
    same("significant digits", u32::from_be_bytes(digits).into(), DIGITS.into())?;
    same("lowest discernible value", u64::from_be_bytes(lowest), 1)?;
    if u64::from_be_bytes(ratio) != 1.0_f64.to_bits() {
        let found = f64::from_be_bytes(ratio).to_string();
        return Err(DecodeError::Layout { field: "unit ratio", wanted: "1".to_owned(), found });
    }
    decode_counts(exactly(rest, u32::from_be_bytes(length))?)
}

/// The highest trackable value may differ: the layout below it is the same.
fn decode_counts(mut payload: &[u8]) -> Result<Histogram, DecodeError> {
    let mut histogram = Histogram::new();
    let (mut index, mut total) = (0_usize, 0_u64);
    let (mut first, mut last) = (None, 0);
    while !payload.is_empty() {
        let (number, rest) = number(payload)?;
        payload = rest;
        if number > 0 {
            if index >= LEN {
                return Err(DecodeError::Range);
            }
            let count = number.unsigned_abs();
            *histogram.slot(index) = count;
            total = total.checked_add(count).ok_or(DecodeError::Sum)?;
            first = first.or(Some(index));
            last = index;
        }
        // A count, zero too, is one bucket; a negative number is that many.
        let buckets = if number < 0 { number.unsigned_abs() } else { 1 };
        index = index.saturating_add(usize::try_from(buckets).unwrap_or(usize::MAX));
        if index > LEN {
            return Err(DecodeError::Range);
        }
    }
    if let Some(first) = first {
        histogram.total = total;
        histogram.min = lowest_at(first);
        histogram.max = highest_at(last);
        histogram.sum_buckets();
    }
    Ok(histogram)
}

/// One ZigZag LEB128 number, and what follows it.
#[inline]
fn number(bytes: &[u8]) -> Result<(i64, &[u8]), DecodeError> {
    let (zigzag, rest) = match bytes {
        // Nearly all numbers of a payload are so short.
        [one @ 0..0x80, rest @ ..] => (u64::from(*one), rest),
        [one, two @ 0..0x80, rest @ ..] => (u64::from(one & 0x7f) | u64::from(*two) << 7, rest),
        _ => long_number(bytes)?,
    };
    Ok(((zigzag >> 1).cast_signed() ^ -(zigzag & 1).cast_signed(), rest))
}

fn long_number(bytes: &[u8]) -> Result<(u64, &[u8]), DecodeError> {
    let mut zigzag = 0;
    for (at, &byte) in bytes.iter().take(9).enumerate() {
        let bits = if at == 8 { byte } else { byte & 0x7f };
        zigzag |= u64::from(bits) << (7 * at);
        if at == 8 || byte < 0x80 {
            return Ok((zigzag, &bytes[at + 1..]));
        }
    }
    Err(DecodeError::Cut { wanted: bytes.len() + 1, found: bytes.len() })
}

/// The first `N` bytes; `wanted` is what the whole needs, for the message.
fn take<const N: usize>(bytes: &[u8], wanted: usize) -> Result<([u8; N], &[u8]), DecodeError> {
    let (first, rest) =
        bytes.split_first_chunk().ok_or(DecodeError::Cut { wanted, found: bytes.len() })?;
    Ok((*first, rest))
}

fn exactly(bytes: &[u8], length: u32) -> Result<&[u8], DecodeError> {
    let (wanted, found) = (length as usize, bytes.len());
    match found.cmp(&wanted) {
        std::cmp::Ordering::Less => Err(DecodeError::Cut { wanted, found }),
        std::cmp::Ordering::Equal => Ok(bytes),
        std::cmp::Ordering::Greater => Err(DecodeError::Long { wanted, found }),
    }
}

fn same(field: &'static str, found: u64, ours: u64) -> Result<(), DecodeError> {
    if found == ours {
        return Ok(());
    }
    Err(DecodeError::Layout { field, wanted: ours.to_string(), found: found.to_string() })
}
