//! Compression of messages by DEFLATE: each ends in an empty block, whose last four bytes are left
//! out.
//!
//! A compressor has 310 kB and a decompressor up to 48 kB. One that keeps no context is needed
//! while it works on a message only, so each thread has a few that its connections share.
//!
//! Source: RFC 7692, section 7.2, and RFC 1951.

use crate::error::Error;
use crate::extension::Side;
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use std::cell::RefCell;

/// How every flushed block ends. It stands at the end of no message.
const TAIL: [u8; 4] = [0x00, 0x00, 0xff, 0xff];

/// The smallest window that the library compresses with. A peer that asks for one of 2⁸ bytes is
/// sent messages that are not compressed, which is allowed.
const LEAST_BITS: u8 = 9;

/// How many of each kind a thread keeps.
const SPARE: usize = 4;

/// By how much a message grows at once while it is unpacked, bytes.
const STEP: usize = 16 * 1024;

thread_local! {
    static COMPRESSORS: RefCell<Vec<(u8, Compress)>> = const { RefCell::new(Vec::new()) };
    static DECOMPRESSORS: RefCell<Vec<Decompress>> = const { RefCell::new(Vec::new()) };
}

/// Compresses what one side sends.
pub(crate) struct Deflater {
    side: Side,
    kept: Option<Compress>,
}

impl Deflater {
    pub(crate) fn new(side: Side) -> Self {
        Self { side, kept: None }
    }

    /// Adds a message, compressed; `false`, and nothing, where it must go as it is.
    pub(crate) fn compress(&mut self, message: &[u8], out: &mut Vec<u8>) -> bool {
        if self.side.window_bits < LEAST_BITS {
            return false;
        }
        if message.is_empty() {
            // An empty block without its last four bytes (section 7.2.3.6).
            out.push(0);
            return true;
        }
        let bits = self.side.window_bits;
        let mut compressor = self.kept.take().unwrap_or_else(|| compressor(bits));
        deflate(&mut compressor, message, out);
        if self.side.keeps_context {
            self.kept = Some(compressor);
        } else {
            compressor.reset();
            COMPRESSORS.with_borrow_mut(|spare| {
                if spare.len() < SPARE {
                    spare.push((bits, compressor));
                }
            });
        }
        true
    }
}

/// One without context, for windows of 2^bits bytes.
fn compressor(bits: u8) -> Compress {
    let spare = COMPRESSORS.with_borrow_mut(|spare| {
        let at = spare.iter().position(|(own, _)| *own == bits)?;
        Some(spare.swap_remove(at).1)
    });
    // A generator's time is dearer than the bytes that a better compression saves.
    spare.unwrap_or_else(|| Compress::new_with_window_bits(Compression::fast(), false, bits))
}

fn deflate(compressor: &mut Compress, mut message: &[u8], out: &mut Vec<u8>) {
    loop {
        out.reserve(message.len() / 4 + 64);
        let before = compressor.total_in();
        let done = compressor.compress_vec(message, out, FlushCompress::Sync);
        debug_assert!(done.is_ok(), "a compressor takes any bytes");
        let taken = usize::try_from(compressor.total_in() - before).unwrap_or(usize::MAX);
        message = &message[taken.min(message.len())..];
        // All is written once there is room left.
        if message.is_empty() && out.len() < out.capacity() {
            break;
        }
    }
    if out.ends_with(&TAIL) {
        out.truncate(out.len() - TAIL.len());
    }
}

/// Unpacks what the other side sent.
pub(crate) struct Inflater {
    side: Side,
    kept: Option<Decompress>,
}

impl Inflater {
    pub(crate) fn new(side: Side) -> Self {
        Self { side, kept: None }
    }

    /// Adds what a part of a message says, until the message has more than `limit` bytes.
    pub(crate) fn inflate(
        &mut self,
        part: &[u8],
        message: &mut Vec<u8>,
        limit: usize,
    ) -> Result<(), Error> {
        let (keeps, bits) = (self.side.keeps_context, self.side.window_bits.max(LEAST_BITS));
        let inflater = self.kept.get_or_insert_with(|| {
            if keeps {
                return Decompress::new_with_window_bits(false, bits);
            }
            let spare = DECOMPRESSORS.with_borrow_mut(Vec::pop);
            spare.unwrap_or_else(|| Decompress::new(false))
        });
        inflate(inflater, part, message, limit)
    }

    /// The message is over: adds what was left out of it.
    pub(crate) fn finish(&mut self, message: &mut Vec<u8>, limit: usize) -> Result<(), Error> {
        self.inflate(&TAIL, message, limit)?;
        if !self.side.keeps_context
            && let Some(mut inflater) = self.kept.take()
        {
            inflater.reset(false);
            DECOMPRESSORS.with_borrow_mut(|spare| {
                if spare.len() < SPARE {
                    spare.push(inflater);
                }
            });
        }
        Ok(())
    }
}

fn inflate(
    inflater: &mut Decompress,
    mut part: &[u8],
    message: &mut Vec<u8>,
    limit: usize,
) -> Result<(), Error> {
    loop {
        message.reserve(part.len().saturating_mul(4).clamp(64, STEP));
        let (taken, given) = (inflater.total_in(), inflater.total_out());
        let status = inflater.decompress_vec(part, message, FlushDecompress::Sync);
        let status = status.map_err(|_| Error::Deflate)?;
        let moved = inflater.total_in() - taken;
        let has_moved = moved > 0 || inflater.total_out() > given;
        part = &part[usize::try_from(moved).unwrap_or(usize::MAX).min(part.len())..];
        if message.len() > limit {
            return Err(Error::Message { limit });
        }
        if status == Status::StreamEnd {
            // A last block ends a stream, not the message: another may follow (section 7.2.3.4).
            inflater.reset(false);
        }
        let is_full = message.len() == message.capacity();
        if part.is_empty() && !is_full {
            return Ok(());
        }
        if !has_moved && !is_full {
            return Err(Error::Deflate);
        }
    }
}
