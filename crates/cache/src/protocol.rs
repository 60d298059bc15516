//! What caches of a cluster say to each other, as bytes: encoders, decoders and choices that are
//! pure functions. Sockets, clocks and retries belong to whoever calls.
//!
//! - [`icp`]: Internet Cache Protocol, version 2 (RFC 2186): is this URL with you?
//! - [`htcp`]: Hyper Text Caching Protocol (RFC 2756): the same with headers, and forget this URL.
//! - [`digest`]: Cache Digest, version 5 (Squid): all that a cache has, as a Bloom filter.
//! - [`carp`]: Cache Array Routing Protocol (draft-vinod-carp-v1-03): who of you has this URL?
//! - [`sizes`]: how many bytes each of them takes.
//!
//! Decoders borrow from the datagram they are given. No length is believed before the bytes are
//! there, so that none of them takes more memory than its input has bytes.

mod bytes;
pub mod carp;
pub mod digest;
pub mod htcp;
pub mod icp;
pub mod sizes;

/// Why bytes are not a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The bytes end too soon.
    #[error("expected {wanted} bytes of {what} at byte {at}, found {found}")]
    Short {
        /// The field.
        what: &'static str,
        /// Where it begins.
        at: usize,
        /// Its length.
        wanted: usize,
        /// What is left.
        found: usize,
    },
    /// A field that says how long something is says another length than there is.
    #[error("expected {what} of {wanted} at byte {at}, found {found}")]
    Length {
        /// The field.
        what: &'static str,
        /// Where it begins.
        at: usize,
        /// What it should say.
        wanted: u64,
        /// What it says.
        found: u64,
    },
    /// A field has a value that means nothing here.
    #[error("expected {what} {wanted} at byte {at}, found {found}")]
    Value {
        /// The field.
        what: &'static str,
        /// Where it begins.
        at: usize,
        /// What it may be.
        wanted: &'static str,
        /// What it is.
        found: u64,
    },
    /// Text that no zero byte ends.
    #[error("expected a zero byte after {what} from byte {at} on, found none")]
    Unended {
        /// The text.
        what: &'static str,
        /// Where it begins.
        at: usize,
    },
    /// More than one message.
    #[error("expected the end of the message at byte {at}, found {found} more bytes")]
    Rest {
        /// Where it should end.
        at: usize,
        /// How much more there is.
        found: usize,
    },
}

/// Why a message cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// A URL that would end before its end.
    #[error("expected a URL without zero bytes, found one at its byte {at}: percent-encode it")]
    Zero {
        /// Where in the URL.
        at: usize,
    },
    /// More than the protocol's lengths can say.
    #[error("expected a message of at most {most} bytes, found {found}: ask by another protocol")]
    Long {
        /// The most there may be.
        most: usize,
        /// How many there would be.
        found: usize,
    },
}
