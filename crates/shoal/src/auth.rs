//! Signed announcements: HMAC-SHA-256 (RFC 2104, FIPS 198-1) over `key_id\nunix_ms\nbody`.
//!
//! The three values travel as [`HEADERS`], in HTTP and in AMQP alike. [`Keys::verify`] answers for
//! the signature and its time only; when a message has been believed altogether, [`LastSeen`] says
//! whether it is newer than what the same key signed for the same uuid before, so that nobody can
//! replay it; [`KeyUse::may_announce`] says whether the key may speak for that cache.

mod hex;
mod key;
mod keys;
mod last_seen;
mod signature;

pub use key::{Key, KeyUse, MIN_SECRET_BYTES};
pub use keys::{Keys, KeysError, LineFault};
pub use last_seen::LastSeen;
pub use signature::{HEADERS, KEY_HEADER, SIGNATURE_HEADER, Signature, TIME_HEADER};

/// How far a signature's time may be from ours, either way, in milliseconds.
pub const WINDOW_MS: u64 = 120_000;
