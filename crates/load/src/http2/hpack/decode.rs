//! Header blocks of answers: everything is checked, next to nothing is kept.
//!
//! A load generator wants the status of an answer and the length it announces. Of a field that the
//! peer puts into the table it is therefore enough to remember what kind of field it is and how
//! long name and value are, for the table's size counts them: no text outlives its block.
//!
//! Answers of one server are alike: a block that is equal, byte for byte, to the one before it and
//! that changes nothing in the table means the same, and is not decoded again.

use super::known::{DYNAMIC_FROM, STATIC};
use super::{ENTRY_OVERHEAD, Malformed, TABLE_SIZE, huffman};
use std::collections::VecDeque;

/// What matters of the header section of an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::http2) struct Section {
    /// `:status`.
    pub(in crate::http2) status: Option<u16>,
    /// `content-length`.
    pub(in crate::http2) length: Option<u64>,
    /// A field that no answer may have, or in a place where it may not stand (RFC 9113, section
    /// 8.2 and 8.3). The table is in order nevertheless.
    pub(in crate::http2) malformed: bool,
    regular: bool,
}

/// The peer's table, and the last block that left it as it was.
#[derive(Default)]
pub(in crate::http2) struct Decoder {
    /// The youngest first.
    entries: VecDeque<Field>,
    size: usize,
    /// The size it may have at most, less than [`TABLE_SIZE`] if the peer has said so.
    shrunk: usize,
    same: Vec<u8>,
    same_section: Section,
    /// Whether it is of interest where answers lead: then the values of `location` are kept, beside
    /// each entry of the table as well.
    follows: bool,
    locations: VecDeque<Option<Vec<u8>>>,
    /// Where the block that was read last leads.
    pub(in crate::http2) location: Option<Vec<u8>>,
}

/// Blocks above this length are not remembered.
const REMEMBERED: usize = 256;

/// What is remembered of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Field {
    kind: Kind,
    name_len: usize,
    value_len: usize,
    value: u64,
}

/// A value that the field must not have.
const BAD: u64 = u64::MAX;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Status,
    Length,
    Location,
    Plain,
    /// No answer has it: a request's pseudo-header field, a field about the connection, a name that
    /// is none.
    Forbidden,
}

impl Section {
    #[inline]
    fn take(&mut self, field: Field) {
        let wrong = match field.kind {
            Kind::Status => {
                let again = self.status.is_some() || self.regular;
                self.status = u16::try_from(field.value).ok();
                again
            }
            Kind::Length => {
                self.regular = true;
                self.length.replace(field.value).is_some_and(|known| known != field.value)
            }
            Kind::Location | Kind::Plain => {
                self.regular = true;
                false
            }
            Kind::Forbidden => true,
        };
        self.malformed |= wrong || field.value == BAD;
    }
}

impl Decoder {
    /// One that tells where answers lead, where that is of interest.
    pub(in crate::http2) fn new(follows: bool) -> Self {
        Self { follows, ..Self::default() }
    }

    /// Bytes on the heap.
    pub(in crate::http2) fn held(&self) -> usize {
        let locations = self.locations.iter().chain([&self.location]).flatten();
        self.entries.capacity() * size_of::<Field>()
            + self.same.capacity()
            + self.locations.capacity() * size_of::<Option<Vec<u8>>>()
            + locations.map(Vec::capacity).sum::<usize>()
    }

    /// Reads a whole block. `text` is for strings on their way, and is left with what was last in
    /// it.
    ///
    /// # Errors
    /// [`Malformed`]: the table may be in disorder, nothing more can be read.
    #[inline]
    pub(in crate::http2) fn read(
        &mut self,
        block: &[u8],
        text: &mut Vec<u8>,
    ) -> Result<Section, Malformed> {
        if block == self.same && !block.is_empty() {
            return Ok(self.same_section);
        }
        self.read_new(block, text)
    }

    fn read_new(&mut self, block: &[u8], text: &mut Vec<u8>) -> Result<Section, Malformed> {
        let mut input = Input { bytes: block, text };
        let mut section = Section::default();
        let (mut changed, mut begun) = (false, false);
        self.same.clear();
        self.location = None;
        while let Some(&first) = input.bytes.first() {
            if first & 0xe0 == 0x20 {
                // A new size stands before the first field (RFC 7541, section 4.2).
                let size = input.integer(5)?;
                if begun || size > TABLE_SIZE {
                    return Err(Malformed);
                }
                self.shrunk = TABLE_SIZE - size;
                self.evict(0);
                changed = true;
                continue;
            }
            begun = true;
            let (field, location) = if first & 0x80 != 0 {
                let index = input.integer(7)?;
                (self.at(index)?, self.location_at(index))
            } else if first & 0x40 != 0 {
                let (field, location) = self.literal(&mut input, 6)?;
                changed |= self.add(field, location.clone());
                (field, location)
            } else {
                self.literal(&mut input, 4)?
            };
            section.take(field);
            self.location = self.location.take().or(location);
        }
        if !changed && block.len() <= REMEMBERED && self.location.is_none() {
            self.same.extend_from_slice(block);
            self.same_section = section;
        }
        Ok(section)
    }

    /// A field, and its value where it is a location of interest.
    fn literal(
        &self,
        input: &mut Input<'_>,
        prefix: u32,
    ) -> Result<(Field, Option<Vec<u8>>), Malformed> {
        let index = input.integer(prefix)?;
        let (kind, name_len) = if index == 0 {
            let name = input.string()?;
            (kind_of(name), name.len())
        } else {
            let named = self.at(index)?;
            (named.kind, named.name_len)
        };
        let value = input.string()?;
        let is_kept = self.follows && kind == Kind::Location && !value.is_empty();
        let field = Field { kind, name_len, value_len: value.len(), value: value_of(kind, value) };
        Ok((field, is_kept.then(|| value.to_vec())))
    }

    /// The location that stands at an index of the table.
    fn location_at(&self, index: usize) -> Option<Vec<u8>> {
        self.locations.get(index.checked_sub(DYNAMIC_FROM)?)?.clone()
    }

    fn at(&self, index: usize) -> Result<Field, Malformed> {
        if index >= DYNAMIC_FROM {
            return self.entries.get(index - DYNAMIC_FROM).copied().ok_or(Malformed);
        }
        match index {
            0 => Err(Malformed),
            index => Ok(KNOWN[index - 1]),
        }
    }

    /// RFC 7541, section 4.4: a field that is larger than the table empties it. Returns whether the
    /// table is another now: nginx "adds" to one that it has made as small as can be.
    fn add(&mut self, field: Field, location: Option<Vec<u8>>) -> bool {
        let (size, before) = (field.size(), self.entries.len());
        self.evict(size);
        let fits = size <= TABLE_SIZE - self.shrunk;
        if fits {
            self.size += size;
            self.entries.push_front(field);
            if self.follows {
                self.locations.push_front(location);
            }
        }
        fits || before > 0
    }

    /// Removes the oldest fields until there is room for so many bytes more, or none is left.
    fn evict(&mut self, room: usize) {
        while self.size + room > TABLE_SIZE - self.shrunk {
            let Some(oldest) = self.entries.pop_back() else { break };
            self.size -= oldest.size();
            self.locations.pop_back();
        }
    }
}

impl Field {
    fn size(&self) -> usize {
        self.name_len + self.value_len + ENTRY_OVERHEAD
    }
}

/// The static table, as far as it matters.
const KNOWN: [Field; STATIC.len()] = known();

const fn known() -> [Field; STATIC.len()] {
    let none = Field { kind: Kind::Plain, name_len: 0, value_len: 0, value: 0 };
    let mut made = [none; STATIC.len()];
    let mut at = 0;
    while at < STATIC.len() {
        let (name, value) = STATIC[at];
        let kind = kind_of(name.as_bytes());
        let value_of = value_of(kind, value.as_bytes());
        made[at] = Field { kind, name_len: name.len(), value_len: value.len(), value: value_of };
        at += 1;
    }
    made
}

const fn kind_of(name: &[u8]) -> Kind {
    match name {
        b":status" => Kind::Status,
        b"content-length" => Kind::Length,
        b"location" => Kind::Location,
        // RFC 9113, section 8.2.2.
        b"" | b"connection" | b"proxy-connection" | b"keep-alive" | b"transfer-encoding"
        | b"upgrade" => Kind::Forbidden,
        name => {
            // Section 8.2.1; a colon in the first place is a pseudo-header field.
            let mut at = 0;
            while at < name.len() {
                if matches!(name[at], 0..=0x20 | b'A'..=b'Z' | b':' | 0x7f..=0xff) {
                    return Kind::Forbidden;
                }
                at += 1;
            }
            Kind::Plain
        }
    }
}

/// The number that a value stands for where it matters, else 0; [`BAD`] if it may not be.
const fn value_of(kind: Kind, value: &[u8]) -> u64 {
    let (least, most) = match kind {
        Kind::Status => (3, 3),
        Kind::Length => (1, 18),
        Kind::Location | Kind::Plain | Kind::Forbidden => {
            let mut at = 0;
            while at < value.len() {
                if matches!(value[at], 0 | b'\n' | b'\r') {
                    return BAD;
                }
                at += 1;
            }
            return 0;
        }
    };
    if value.len() < least || value.len() > most {
        return BAD;
    }
    let (mut at, mut number) = (0, 0u64);
    while at < value.len() {
        if !value[at].is_ascii_digit() {
            return BAD;
        }
        number = number * 10 + (value[at] - b'0') as u64;
        at += 1;
    }
    if matches!(kind, Kind::Status) && number < 100 { BAD } else { number }
}

/// What is left of a block.
pub(super) struct Input<'a> {
    pub(super) bytes: &'a [u8],
    /// For a string on its way.
    pub(super) text: &'a mut Vec<u8>,
}

impl Input<'_> {
    /// An integer below 2^21 + 2^8, whose first byte begins with other bits (RFC 7541, section
    /// 5.1). Blocks are shorter than that, so that no length or index is greater.
    pub(super) fn integer(&mut self, prefix: u32) -> Result<usize, Malformed> {
        let most = (1usize << prefix) - 1;
        let (&first, mut rest) = self.bytes.split_first().ok_or(Malformed)?;
        let mut value = usize::from(first) & most;
        if value == most {
            for shift in [0, 7, 14, 21] {
                let (&byte, after) = rest.split_first().ok_or(Malformed)?;
                // Leading zeros are allowed, one of them at most.
                if shift == 21 && byte != 0 {
                    return Err(Malformed);
                }
                rest = after;
                value += usize::from(byte & 0x7f) << shift;
                if byte & 0x80 == 0 {
                    break;
                }
            }
        }
        self.bytes = rest;
        Ok(value)
    }

    /// A string, its Huffman code undone.
    pub(super) fn string(&mut self) -> Result<&[u8], Malformed> {
        let coded = self.bytes.first().ok_or(Malformed)? & 0x80 != 0;
        let len = self.integer(7)?;
        let (string, rest) = self.bytes.split_at_checked(len).ok_or(Malformed)?;
        self.bytes = rest;
        if !coded {
            return Ok(string);
        }
        self.text.clear();
        huffman::decode(string, self.text)?;
        Ok(self.text)
    }
}

#[cfg(test)]
mod tests;
