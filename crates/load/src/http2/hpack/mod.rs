//! Header compression (RFC 7541), as far as a client of one kind of answer needs it.

pub(super) mod decode;
pub(super) mod encode;
mod huffman;
mod known;
pub(super) mod texts;

/// A header block that breaks the rules; the connection cannot go on (RFC 9113, section 4.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Malformed;

/// The size of the table that each side keeps unless it is told otherwise (RFC 9113, section
/// 6.5.2).
pub(super) const TABLE_SIZE: usize = 4096;

/// What an entry of the table counts beyond its name and its value (RFC 7541, section 4.1).
pub(super) const ENTRY_OVERHEAD: usize = 32;
