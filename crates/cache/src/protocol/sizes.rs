//! How many bytes the protocols put on the wire, without writing them: what a simulated cluster
//! counts. Each is equal to the length of the message that its module encodes.
//!
//! Sources: the formats of [`super::icp`], [`super::htcp`] and [`super::digest`]. UDP's and IP's
//! headers are apart, as [`DATAGRAM_BYTES`].

use super::{digest, htcp, icp};

/// What IPv4 without options (20) and UDP (8) put before each datagram.
pub const DATAGRAM_BYTES: u64 = 28;

/// An ICP query for a URL of so many bytes.
#[must_use]
pub fn icp_query(url_bytes: u64) -> u64 {
    icp::HEADER_BYTES as u64 + 4 + url_bytes + 1
}

/// Any ICP answer without an object: hit, miss, denied.
#[must_use]
pub fn icp_answer(url_bytes: u64) -> u64 {
    icp::HEADER_BYTES as u64 + url_bytes + 1
}

/// An HTCP test: four counted texts. A Squid asks with 3 bytes of method (`GET`), 3 of version
/// (`1/1`) and no headers.
#[must_use]
pub fn htcp_query(method_bytes: u64, url_bytes: u64, version_bytes: u64, header_bytes: u64) -> u64 {
    htcp::FIXED_BYTES as u64 + 4 * 2 + method_bytes + url_bytes + version_bytes + header_bytes
}

/// An HTCP hit, with so many bytes of headers in its three counted texts together.
#[must_use]
pub fn htcp_hit(header_bytes: u64) -> u64 {
    htcp::FIXED_BYTES as u64 + 3 * 2 + header_bytes
}

/// An HTCP miss, as Squid sends it: three empty texts.
#[must_use]
pub fn htcp_miss() -> u64 {
    htcp_hit(0)
}

/// The body of a digest with room for so many entries; HTTP's header comes before it.
#[must_use]
pub fn digest_document(capacity: u32, bits_per_entry: u8) -> u64 {
    digest::CONTROL_BYTES as u64 + digest::mask_bytes(capacity, bits_per_entry)
}
