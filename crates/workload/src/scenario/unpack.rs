//! Answers that are packed, unpacked within bounds for `take` and `check`.
//!
//! A few kilobytes of gzip may unpack to gigabytes: no more is unpacked than is kept, and what
//! would be longer is refused, not cut.

use std::io::Read as _;

use crate::gzip::Gunzip;

/// What is kept of an answer where a scenario says nothing else, bytes.
pub const KEEP: usize = 1 << 20;

/// Why an answer cannot be searched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UnpackError {
    /// It is longer than what is kept.
    #[error("expected an answer of at most {keep} bytes: raise `keep` to search longer ones")]
    TooLong {
        /// Bytes that are kept.
        keep: usize,
    },
    /// It is damaged, or cut off.
    #[error("unpack the answer")]
    Damaged(#[source] std::io::Error),
    /// It is packed by something other than gzip.
    #[error("expected an answer that is plain or packed by gzip, found `{found}`")]
    Unknown {
        /// What its `Content-Encoding` says, cut to 64 characters.
        found: String,
    },
}

/// The bytes of an answer as they were before packing, by its `Content-Encoding`, which is empty
/// where there is none. `room` is where they are unpacked to; its former content is gone.
///
/// # Errors
/// An answer that is longer than `keep` bytes, packed or unpacked, that is damaged, or that is
/// packed by something else.
///
/// # Cost
/// `room` grows to at most `keep` + 1 bytes; what is not packed is not copied.
pub fn unpack<'a>(
    encoding: &[u8],
    body: &'a [u8],
    keep: usize,
    room: &'a mut Vec<u8>,
) -> Result<&'a [u8], UnpackError> {
    if body.len() > keep {
        return Err(UnpackError::TooLong { keep });
    }
    match encoding.trim_ascii().to_ascii_lowercase().as_slice() {
        b"" | b"identity" => Ok(body),
        b"gzip" | b"x-gzip" => {
            room.clear();
            let mut unpacked = Gunzip::strict(body).take(keep as u64 + 1);
            unpacked.read_to_end(room).map_err(UnpackError::Damaged)?;
            if room.len() > keep { Err(UnpackError::TooLong { keep }) } else { Ok(room) }
        }
        other => {
            let found = String::from_utf8_lossy(other).chars().take(64).collect();
            Err(UnpackError::Unknown { found })
        }
    }
}
