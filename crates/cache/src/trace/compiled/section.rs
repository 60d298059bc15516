//! Reads the sections of a compiled trace: nothing is made larger than the file says it is and is.

use std::fmt::Display;
use std::path::Path;

use super::checksum::Checksum;
use super::{MAGIC, VERSION};
use crate::trace::TraceError;
use crate::trace::input::Input;

/// Bytes read at a time; whole stripes of the checksum.
const BLOCK: usize = 256 * 1024;

const HEAD_BYTES: usize = 40;
const SECTION_HEAD_BYTES: usize = 16;

/// What stands at the beginning.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
    pub sections: u32,
    pub requests: u64,
    pub objects: u64,
}

pub(super) struct Sections {
    input: Input,
    head: Head,
    block: Vec<u8>,
    /// Of the section that was begun.
    bytes: u64,
    checksum: Checksum,
}

/// What a section may be made of.
pub(super) trait Values: Sized {
    fn values(sections: &mut Sections, bytes: u64) -> Result<Vec<Self>, TraceError>;
}

impl Sections {
    pub(super) fn begin(mut input: Input) -> Result<Self, TraceError> {
        let mut start = [0; HEAD_BYTES];
        let filled = input.fill(&mut start)?;
        let mut sections = Self {
            input,
            head: Head { sections: 0, requests: 0, objects: 0 },
            block: vec![0; BLOCK],
            bytes: 0,
            checksum: Checksum::new(),
        };
        if !start[..filled].starts_with(&MAGIC) {
            return Err(sections.wrong("a compiled trace", "another beginning"));
        }
        if filled < HEAD_BYTES {
            return Err(sections.wrong("a head of 40 bytes", filled));
        }
        let version = u32_at(&start, 8);
        if version != VERSION {
            return Err(sections.wrong("version 1 of compiled traces", version));
        }
        let mut checksum = Checksum::new();
        checksum.update(&start[..32]);
        if checksum.finish() != u64_at(&start, 32) {
            return Err(sections.wrong("a head with its checksum", "another"));
        }
        let (requests, objects) = (u64_at(&start, 16), u64_at(&start, 24));
        let most = crate::trace::MAX_REQUESTS as u64;
        if requests > most || objects > requests {
            return Err(sections.wrong("at most 2^32 - 2 requests, of no more objects", requests));
        }
        sections.head = Head { sections: u32_at(&start, 12), requests, objects };
        Ok(sections)
    }

    pub(super) fn head(&self) -> Head {
        self.head
    }

    pub(super) fn path(&self) -> &Path {
        self.input.path()
    }

    /// The error of what was read last.
    pub(super) fn wrong(&self, wanted: &str, found: impl Display) -> TraceError {
        TraceError::Binary {
            path: self.path().to_owned(),
            byte: self.input.given(),
            wanted: wanted.to_owned(),
            found: found.to_string(),
        }
    }

    /// Begins a section: its kind and the bytes of its data.
    pub(super) fn next(&mut self) -> Result<(u32, u64), TraceError> {
        let mut start = [0; SECTION_HEAD_BYTES];
        let filled = self.input.fill(&mut start)?;
        if filled < start.len() {
            return Err(self.wrong("another section", "the end"));
        }
        let (kind, zero, bytes) = (u32_at(&start, 0), u32_at(&start, 4), u64_at(&start, 8));
        let left = self.input.length().map(|length| length.saturating_sub(self.input.given()));
        if zero != 0 || left.is_some_and(|left| bytes > left) {
            return Err(self.wrong("a section within the file", format!("{bytes} bytes of one")));
        }
        let mut padded = [0; super::checksum::STRIPE];
        padded[..start.len()].copy_from_slice(&start);
        self.checksum = Checksum::new();
        self.checksum.update(&padded);
        self.bytes = bytes;
        Ok((kind, bytes))
    }

    /// The data of the section that was begun, which must be of so many bytes.
    pub(super) fn values<T: Values>(&mut self, bytes: u64) -> Result<Vec<T>, TraceError> {
        if self.bytes != bytes {
            return Err(self.wrong(&format!("a section of {bytes} bytes"), self.bytes));
        }
        let values = T::values(self, bytes)?;
        let mut end = [0; 8];
        if self.input.fill(&mut end)? < end.len() {
            return Err(self.wrong("the checksum of a section", "the end"));
        }
        if self.checksum.clone().finish() != u64::from_le_bytes(end) {
            return Err(self.wrong("a section with its checksum before here", "another"));
        }
        Ok(values)
    }

    /// How many values of a size to make room for at once: all where the file is known to be as
    /// long, else those of a block.
    fn room(&self, bytes: u64, size: usize) -> usize {
        let known = self.input.length().is_some();
        let bytes = if known { bytes } else { bytes.min(BLOCK as u64) };
        usize::try_from(bytes).map_or(0, |bytes| bytes / size)
    }

    /// Hands over the data of a section block by block.
    fn blocks(&mut self, bytes: u64, mut each: impl FnMut(&[u8])) -> Result<(), TraceError> {
        let mut left = bytes;
        while left > 0 {
            let want = usize::try_from(left).map_or(BLOCK, |left| left.min(BLOCK));
            let filled = self.input.fill(&mut self.block[..want])?;
            if filled < want {
                return Err(self.wrong(&format!("{left} more bytes of a section"), filled));
            }
            self.checksum.update(&self.block[..want]);
            each(&self.block[..want]);
            left -= want as u64;
        }
        Ok(())
    }

    /// Whether the file ends here.
    pub(super) fn end(&mut self) -> Result<(), TraceError> {
        if self.input.fill(&mut [0; 1])? > 0 {
            return Err(self.wrong("the end after the last section", "more"));
        }
        Ok(())
    }
}

impl Values for u8 {
    fn values(sections: &mut Sections, bytes: u64) -> Result<Vec<u8>, TraceError> {
        let mut values = Vec::with_capacity(sections.room(bytes, 1));
        sections.blocks(bytes, |block| values.extend_from_slice(block))?;
        Ok(values)
    }
}

impl Values for u32 {
    fn values(sections: &mut Sections, bytes: u64) -> Result<Vec<u32>, TraceError> {
        if !bytes.is_multiple_of(4) {
            return Err(sections.wrong("whole numbers of 4 bytes", bytes));
        }
        let mut values = Vec::with_capacity(sections.room(bytes, 4));
        sections.blocks(bytes, |block| {
            values.extend(block.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)));
        })?;
        Ok(values)
    }
}

impl Values for u64 {
    fn values(sections: &mut Sections, bytes: u64) -> Result<Vec<u64>, TraceError> {
        if !bytes.is_multiple_of(8) {
            return Err(sections.wrong("whole numbers of 8 bytes", bytes));
        }
        let mut values = Vec::with_capacity(sections.room(bytes, 8));
        sections.blocks(bytes, |block| {
            values.extend(block.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes)));
        })?;
        Ok(values)
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}
