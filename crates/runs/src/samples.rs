//! `artifacts/samples.bin`: every request of a run, compactly.
//!
//! # Format, version 3
//!
//! All fixed-size numbers are little-endian. The file starts with eight bytes: `PLSAMPLE`, then a
//! `u32` version and a `u32` 0. Blocks follow until the end of the file:
//!
//! | bytes | what |
//! | --- | --- |
//! | 4 | `u32` length of the payload in bytes, never 0 |
//! | 4 | `u32` number of records |
//! | 8 | `u64` checksum of the payload ([`checksum`]) |
//! | … | the payload |
//!
//! A block stands for itself; a last one that is shorter than it says, or whose checksum differs,
//! was torn by a crash and ends the file. Records are in no particular order. A record is
//!
//! 1. `u16` flags: bit 0: due in the measured phase; bits 1 to 5: 0, or one more than the
//!    [`ErrorKind`]; bits 6, 7, 8: it was sent, a first byte came, it was done; bit 9: the status
//!    is that of the record before (0 before the first); bit 10: so is the request (0 as well);
//!    bit 11: so is the name (65535, which is none, before the first); bit 12: servers were asked
//!    to record it;
//! 2. due, less the due time of the record before (0 before the first); then, each only where its
//!    flag is set, sent less due, first byte less sent (or due, unsent), done less due: offsets in
//!    nanoseconds, as zigzag variable-length integers (LEB128);
//! 3. bytes, connection, then, where bits 9, 10 and 11 are not set, status, request and the number
//!    of the name: unsigned variable-length integers;
//! 4. where bit 12 is set, the id of its trace: 16 bytes, little-endian.
//!
//! About 18 bytes a request, where the bare struct has 56.
//!
//! Versions 1 and 2 are read too. Version 2 has no traces. Version 1 has no names either, and four
//! bits for the kind of failure: bits 1 to 4, so that bits 5 to 9 of it are bits 6 to 10 here.

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::num::NonZeroU128;
use std::path::{Path, PathBuf};

use crate::error::RunError;
use crate::names::NO_NAME;
use crate::{ErrorKind, Phase, Sample, TraceId};

/// The file's place in a run folder.
pub(crate) const FILE: &str = "artifacts/samples.bin";

const MAGIC: [u8; 8] = *b"PLSAMPLE";
const VERSION: u32 = 3;
/// The first version, which knew no names.
const FIRST_VERSION: u32 = 1;
const HEADER: usize = 16;
const BLOCK_HEADER: usize = 16;
/// A block is written when its payload reaches this; it may exceed it by one record.
const BLOCK: usize = 64 * 1024;
/// The longest record: flags, six integers of at most ten bytes, three of at most five, a trace.
const LONGEST: usize = 2 + 6 * 10 + 3 * 5 + 16;
/// A longer payload is not one of ours.
const LONGEST_PAYLOAD: usize = BLOCK + LONGEST;

const SENT: u16 = 1 << 6;
const FIRST_BYTE: u16 = 1 << 7;
const DONE: u16 = 1 << 8;
const SAME_STATUS: u16 = 1 << 9;
const SAME_REQUEST: u16 = 1 << 10;
const SAME_NAME: u16 = 1 << 11;
const TRACED: u16 = 1 << 12;

/// The flags of version 1 as those of version 2.
fn widened(flags: u16) -> u16 {
    const KIND: u16 = 0b1_1111;
    const REST: u16 = 0b11_1110_0000;
    flags & KIND | (flags & REST) << 1 | SAME_NAME
}

/// FNV-1a over little-endian words of eight bytes, the last one filled up with zeros, then over
/// the length; after each word the upper half is folded into the lower.
///
/// # Source
/// G. Fowler, L. C. Noll, K.-P. Vo: FNV-1a, 64 bits; here over words for speed.
#[must_use]
pub fn checksum(payload: &[u8]) -> u64 {
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let mut sum = 0xcbf2_9ce4_8422_2325;
    for chunk in payload.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        sum = (sum ^ u64::from_le_bytes(word)).wrapping_mul(PRIME);
        sum ^= sum >> 32;
    }
    (sum ^ payload.len() as u64).wrapping_mul(PRIME)
}

fn push_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        #[expect(clippy::cast_possible_truncation, reason = "seven bits and the flag")]
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    #[expect(clippy::cast_possible_truncation, reason = "below 0x80")]
    out.push(value as u8);
}

fn push_difference(out: &mut Vec<u8>, value: u64, base: u64) {
    let difference = value.wrapping_sub(base).cast_signed();
    push_varint(out, ((difference << 1) ^ (difference >> 63)).cast_unsigned());
}

/// Encodes samples into blocks and hands the blocks on.
pub(crate) struct Encoder {
    /// The block's header, filled in when it is closed, and its payload so far.
    block: Vec<u8>,
    records: u32,
    due_ns: u64,
    status: u16,
    request: u32,
    name: u16,
}

impl Encoder {
    pub(crate) fn new() -> Self {
        let mut block = Vec::with_capacity(BLOCK_HEADER + LONGEST_PAYLOAD);
        block.resize(BLOCK_HEADER, 0);
        Self { block, records: 0, due_ns: 0, status: 0, request: 0, name: NO_NAME }
    }

    /// What a file starts with.
    pub(crate) fn header() -> [u8; HEADER] {
        let mut header = [0; HEADER];
        header[..8].copy_from_slice(&MAGIC);
        header[8..12].copy_from_slice(&VERSION.to_le_bytes());
        header
    }

    /// Adds samples; whole blocks go to `out`.
    pub(crate) fn push(&mut self, samples: &[Sample], out: &mut impl Write) -> io::Result<()> {
        for sample in samples {
            self.push_one(sample);
            if self.block.len() - BLOCK_HEADER >= BLOCK {
                self.flush(out)?;
            }
        }
        Ok(())
    }

    fn push_one(&mut self, sample: &Sample) {
        let error = sample.error.map_or(0, |kind| kind as u16 + 1);
        let mut flags = u16::from(sample.phase == Phase::Measured) | error << 1;
        for (set, flag) in [
            (sample.sent_ns > 0, SENT),
            (sample.first_byte_ns > 0, FIRST_BYTE),
            (sample.done_ns > 0, DONE),
            (sample.status == self.status, SAME_STATUS),
            (sample.request == self.request, SAME_REQUEST),
            (sample.name == self.name, SAME_NAME),
            (sample.trace.is_some(), TRACED),
        ] {
            flags |= if set { flag } else { 0 };
        }
        let out = &mut self.block;
        out.extend(flags.to_le_bytes());
        push_difference(out, sample.due_ns, self.due_ns);
        let mut base = sample.due_ns;
        if flags & SENT != 0 {
            push_difference(out, sample.sent_ns, sample.due_ns);
            base = sample.sent_ns;
        }
        if flags & FIRST_BYTE != 0 {
            push_difference(out, sample.first_byte_ns, base);
        }
        if flags & DONE != 0 {
            push_difference(out, sample.done_ns, sample.due_ns);
        }
        push_varint(out, sample.bytes);
        push_varint(out, u64::from(sample.connection));
        if flags & SAME_STATUS == 0 {
            push_varint(out, u64::from(sample.status));
        }
        if flags & SAME_REQUEST == 0 {
            push_varint(out, u64::from(sample.request));
        }
        if flags & SAME_NAME == 0 {
            push_varint(out, u64::from(sample.name));
        }
        out.extend(sample.trace.iter().flat_map(|id| id.0.get().to_le_bytes()));
        (self.due_ns, self.status, self.request) = (sample.due_ns, sample.status, sample.request);
        self.name = sample.name;
        self.records += 1;
    }

    /// Writes what has gathered as one block, in one write. On an error the block is given up.
    pub(crate) fn flush(&mut self, out: &mut impl Write) -> io::Result<()> {
        if self.records == 0 {
            return Ok(());
        }
        let payload = &self.block[BLOCK_HEADER..];
        let sum = checksum(payload);
        let len = u32::try_from(payload.len()).map_err(io::Error::other)?;
        self.block[0..4].copy_from_slice(&len.to_le_bytes());
        self.block[4..8].copy_from_slice(&self.records.to_le_bytes());
        self.block[8..16].copy_from_slice(&sum.to_le_bytes());
        let written = out.write_all(&self.block);
        self.block.truncate(BLOCK_HEADER);
        (self.records, self.due_ns, self.status, self.request) = (0, 0, 0, 0);
        self.name = NO_NAME;
        written
    }
}

/// Reads a run's samples one by one, a block in memory at a time.
pub struct SampleReader {
    path: PathBuf,
    reader: BufReader<File>,
    payload: Vec<u8>,
    at: usize,
    left: u32,
    blocks: u64,
    due_ns: u64,
    status: u16,
    request: u32,
    name: u16,
    version: u32,
    over: bool,
}

impl SampleReader {
    /// Opens a file of samples.
    ///
    /// # Errors
    /// Where it cannot be read or is not such a file, or of a later version.
    pub fn open(path: &Path) -> Result<Self, RunError> {
        let file = File::open(path).map_err(RunError::file("read", path))?;
        let mut reader = BufReader::with_capacity(1 << 16, file);
        let mut header = [0; HEADER];
        let len = read_up_to(&mut reader, &mut header).map_err(RunError::file("read", path))?;
        let version = u32::from_le_bytes([header[8], header[9], header[10], header[11]]);
        if len == HEADER && header[..8] != MAGIC {
            return Err(RunError::Damaged {
                path: path.to_path_buf(),
                at: "byte 0".to_owned(),
                problem: "it does not start with PLSAMPLE".to_owned(),
            });
        }
        if len == HEADER && !(FIRST_VERSION..=VERSION).contains(&version) {
            return Err(RunError::Format {
                path: path.to_path_buf(),
                found: i64::from(version),
                known: i64::from(VERSION),
            });
        }
        Ok(Self {
            path: path.to_path_buf(),
            reader,
            payload: Vec::new(),
            at: 0,
            left: 0,
            blocks: 0,
            due_ns: 0,
            status: 0,
            request: 0,
            name: NO_NAME,
            version,
            // A header that was torn: nothing was ever written after it.
            over: len < HEADER,
        })
    }

    /// Reads the next whole block; `false` at the end of the file or at a torn block.
    fn next_block(&mut self) -> io::Result<bool> {
        let mut header = [0; BLOCK_HEADER];
        if read_up_to(&mut self.reader, &mut header)? < BLOCK_HEADER {
            return Ok(false);
        }
        let word = |at: usize| {
            u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
        };
        let (len, records) = (word(0) as usize, word(4));
        let sum = u64::from(word(8)) | u64::from(word(12)) << 32;
        if len == 0 || len > LONGEST_PAYLOAD {
            return Ok(false);
        }
        self.payload.resize(len, 0);
        if read_up_to(&mut self.reader, &mut self.payload)? < len || checksum(&self.payload) != sum
        {
            return Ok(false);
        }
        self.blocks += 1;
        (self.at, self.left) = (0, records);
        (self.due_ns, self.status, self.request, self.name) = (0, 0, 0, NO_NAME);
        Ok(true)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = *self.payload.get(self.at)?;
            self.at += 1;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn difference(&mut self, base: u64) -> Option<u64> {
        let zigzag = self.varint()?;
        let difference = (zigzag >> 1) ^ (zigzag & 1).wrapping_neg();
        Some(base.wrapping_add(difference))
    }

    fn trace(&mut self) -> Option<TraceId> {
        let bytes = self.payload.get(self.at..)?.first_chunk()?;
        self.at += bytes.len();
        NonZeroU128::new(u128::from_le_bytes(*bytes)).map(TraceId)
    }

    fn record(&mut self) -> Option<Sample> {
        let flags =
            u16::from_le_bytes([*self.payload.get(self.at)?, *self.payload.get(self.at + 1)?]);
        self.at += 2;
        let flags = if self.version == FIRST_VERSION { widened(flags) } else { flags };
        let error = match usize::from(flags >> 1 & 0x1f) {
            0 => None,
            kind => Some(*ErrorKind::ALL.get(kind - 1)?),
        };
        let due_ns = self.difference(self.due_ns)?;
        let part = |reader: &mut Self, flag: u16, base: u64| match flags & flag {
            0 => Some(0),
            _ => reader.difference(base),
        };
        let sent_ns = part(self, SENT, due_ns)?;
        let base = if flags & SENT == 0 { due_ns } else { sent_ns };
        let first_byte_ns = part(self, FIRST_BYTE, base)?;
        let done_ns = part(self, DONE, due_ns)?;
        let bytes = self.varint()?;
        let connection = u32::try_from(self.varint()?).ok()?;
        if flags & SAME_STATUS == 0 {
            self.status = u16::try_from(self.varint()?).ok()?;
        }
        if flags & SAME_REQUEST == 0 {
            self.request = u32::try_from(self.varint()?).ok()?;
        }
        if flags & SAME_NAME == 0 {
            self.name = u16::try_from(self.varint()?).ok()?;
        }
        let trace = if flags & TRACED == 0 { None } else { Some(self.trace()?) };
        self.due_ns = due_ns;
        let phase = if flags & 1 == 1 { Phase::Measured } else { Phase::WarmUp };
        let (status, request) = (self.status, self.request);
        Some(Sample {
            due_ns,
            sent_ns,
            first_byte_ns,
            done_ns,
            bytes,
            request,
            name: self.name,
            connection,
            status,
            phase,
            error,
            trace,
        })
    }
}

impl Iterator for SampleReader {
    type Item = Result<Sample, RunError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.over && self.left == 0 {
            match self.next_block() {
                Ok(found) => self.over = !found,
                Err(source) => {
                    self.over = true;
                    return Some(Err(RunError::file("read", &self.path)(source)));
                }
            }
        }
        if self.over {
            return None;
        }
        self.left -= 1;
        let record = self.record().ok_or_else(|| RunError::Damaged {
            path: self.path.clone(),
            at: format!("block {}", self.blocks),
            problem: "its checksum is right and its records are not".to_owned(),
        });
        self.over = record.is_err();
        Some(record)
    }
}

/// Fills `buffer` as far as the file goes.
fn read_up_to(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match reader.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    prop_compose! {
        fn any_sample()(
            times in prop::array::uniform4(
                prop_oneof![Just(0), 0..u64::MAX, 0..10_000_000_000_u64],
            ),
            bytes in any::<u64>(),
            request in any::<u32>(),
            connection in any::<u32>(),
            name in prop_oneof![Just(NO_NAME), 0..1001_u16],
            status in prop_oneof![Just(0), Just(200), any::<u16>()],
            measured in any::<bool>(),
            error in prop::option::of(0..ErrorKind::ALL.len()),
            trace: Option<NonZeroU128>,
        ) -> Sample {
            let [due_ns, sent_ns, first_byte_ns, done_ns] = times;
            Sample {
                due_ns, sent_ns, first_byte_ns, done_ns, bytes, request, name, connection,
                status, phase: if measured { Phase::Measured } else { Phase::WarmUp },
                error: error.map(|kind| ErrorKind::ALL[kind]), trace: trace.map(TraceId),
            }
        }
    }

    proptest! {
        #[test]
        fn whatever_goes_in_comes_out(
            parts in prop::collection::vec(prop::collection::vec(any_sample(), 0..300), 0..9),
        ) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("samples.bin");
            let mut bytes = Encoder::header().to_vec();
            let mut encoder = Encoder::new();
            for part in &parts {
                encoder.push(part, &mut bytes).unwrap();
                if part.len() % 2 == 0 {
                    encoder.flush(&mut bytes).unwrap();
                }
            }
            encoder.flush(&mut bytes).unwrap();
            std::fs::write(&path, bytes).unwrap();
            let read: Result<Vec<Sample>, _> = SampleReader::open(&path).unwrap().collect();
            prop_assert_eq!(read.unwrap(), parts.concat());
        }
    }

    #[test]
    fn the_checksum_is_the_one_stated() {
        // By hand: one word, then the length.
        const PRIME: u64 = 0x0100_0000_01b3;
        let word =
            (0xcbf2_9ce4_8422_2325 ^ u64::from_le_bytes(*b"abc\0\0\0\0\0")).wrapping_mul(PRIME);
        let word = word ^ word >> 32;
        assert_eq!(checksum(b"abc"), (word ^ 3).wrapping_mul(PRIME));
        assert_ne!(checksum(b"abc"), checksum(b"abc\0"), "the length tells them apart");
    }
}
