//! The operation of each request, a function of the seed and of the request's number.
//!
//! # Insertions
//!
//! A new record gets the next free number, so request n must know how many insertions came before
//! it, without asking the threads that made them. Insertions are therefore stratified: with share s
//! the j-th is one of the requests from ⌈j / s⌉ to ⌈(j + 1) / s⌉ − 1, drawn at random. The share is
//! exact, and the count before any request follows from its number alone.
//!
//! A read asks only for records whose insertion is [`LAG`] requests old, so that it does not
//! overtake it: with fewer than so many on their way at once, what was inserted is there.

use super::keys::Chooser;
use super::{Mix, VALUE_BYTES, Workload};
use crate::random::Stream;
use crate::size::Sizes;

/// Before the number of a record in its key: nobody else's keys begin so.
const PREFIX: &[u8] = b"plimsoll:";
/// Digits of a record's number in its key, leading zeros included.
const DIGITS: usize = 12;
/// The length of every key.
pub const MOST_KEY: usize = PREFIX.len() + DIGITS;
/// Random bytes beyond the greatest value: values begin anywhere in them.
const SPARE_BYTES: usize = 64 * 1024;

/// How many requests old an insertion is before reads ask for its record.
pub const LAG: u64 = 1024;

/// What a request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Reads a record.
    Read,
    /// Writes a record that is there.
    Update,
    /// Writes a new record.
    Insert,
}

impl Kind {
    /// All of them, by their numbers.
    pub const ALL: [Self; 3] = [Self::Read, Self::Update, Self::Insert];
}

/// What one request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    /// What it does.
    pub kind: Kind,
    /// The record's number.
    pub record: u64,
    /// Where in the random bytes its value begins, and how long it is; zeros for a read.
    value: (usize, usize),
}

/// What is wanted of a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// Its operations.
    Mixed,
    /// Its data set: request n writes record n.
    DataSet,
}

/// The operations of a load. Made once, and shared by its threads.
pub struct Operations {
    wanted: Wanted,
    mix: Mix,
    chooser: Chooser,
    records: u64,
    sizes: Sizes,
    /// Keys of the draws: of operations, and of the places of insertions.
    key: u64,
    insert_key: u64,
    bytes: Box<[u8]>,
}

impl Operations {
    /// The operations of a workload under a seed.
    #[must_use]
    pub fn new(workload: &Workload, seed: u64, wanted: Wanted) -> Self {
        let mut random = Stream::named(seed, "store.values");
        let most = usize::try_from(*VALUE_BYTES.end()).unwrap_or(usize::MAX);
        let words = (most + SPARE_BYTES) / 8;
        let bytes: Vec<u8> = (0..words).flat_map(|_| random.next_u64().to_le_bytes()).collect();
        let name = match wanted {
            Wanted::Mixed => "store.operations",
            Wanted::DataSet => "store.data-set",
        };
        Self {
            wanted,
            mix: workload.mix,
            chooser: Chooser::new(workload.keys, workload.records.max(1)),
            records: workload.records,
            sizes: workload.value_size,
            key: Stream::named(seed, name).next_u64(),
            insert_key: Stream::named(seed, "store.insertions").next_u64(),
            bytes: bytes.into(),
        }
    }

    /// What request `number` of the whole load asks for.
    #[must_use]
    pub fn at(&self, number: u64) -> Operation {
        let mut stream = Stream::numbered(self.key, number);
        let (kind, record) = match self.wanted {
            Wanted::DataSet => (Kind::Insert, number),
            Wanted::Mixed => self.draw(&mut stream, number),
        };
        let value = if kind == Kind::Read { (0, 0) } else { self.place(&mut stream) };
        Operation { kind, record, value }
    }

    fn draw(&self, stream: &mut Stream, number: u64) -> (Kind, u64) {
        let (is_insertion, inserted) = self.insertions(number);
        if is_insertion {
            return (Kind::Insert, self.records + inserted);
        }
        let others = u64::from(self.mix.read() + self.mix.update()).max(1);
        let is_read = stream.below(others) < u64::from(self.mix.read());
        let (_, settled) = self.insertions(number.saturating_sub(LAG));
        let record = self.chooser.draw(stream, settled);
        (if is_read { Kind::Read } else { Kind::Update }, record)
    }

    /// Whether a request is an insertion, and how many came before it.
    fn insertions(&self, number: u64) -> (bool, u64) {
        let (share, whole) = (u128::from(self.mix.insert()), u128::from(Mix::WHOLE));
        if share == 0 {
            return (false, 0);
        }
        #[expect(clippy::cast_possible_truncation, reason = "not above the number it is made of")]
        let stratum = (u128::from(number) * share / whole) as u64;
        #[expect(clippy::cast_possible_truncation, reason = "a number of a request")]
        let first = |stratum: u64| (u128::from(stratum) * whole).div_ceil(share) as u64;
        let (from, to) = (first(stratum), first(stratum + 1));
        let place = from + Stream::numbered(self.insert_key, stratum).below(to - from);
        (place == number, stratum + u64::from(place < number))
    }

    fn place(&self, stream: &mut Stream) -> (usize, usize) {
        let size = self.sizes.draw(stream).clamp(*VALUE_BYTES.start(), *VALUE_BYTES.end());
        let at = stream.below(SPARE_BYTES as u64);
        let narrow = |n: u64| usize::try_from(n).unwrap_or(0);
        (narrow(at), narrow(size))
    }

    /// The value that an operation writes: random bytes, any of the 256; empty for a read.
    #[must_use]
    pub fn value(&self, operation: &Operation) -> &[u8] {
        let (at, len) = operation.value;
        self.bytes.get(at..at + len).unwrap_or_default()
    }

    /// Whether any of them is of this kind.
    #[must_use]
    pub fn asks(&self, kind: Kind) -> bool {
        match (self.wanted, kind) {
            (Wanted::DataSet, kind) => kind == Kind::Insert,
            (Wanted::Mixed, Kind::Read) => self.mix.read() > 0,
            (Wanted::Mixed, Kind::Update) => self.mix.update() > 0,
            (Wanted::Mixed, Kind::Insert) => self.mix.insert() > 0,
        }
    }

    /// Records of the data set.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.records
    }
}

impl Operation {
    /// A read of one record.
    #[must_use]
    pub fn read(record: u64) -> Self {
        Self { kind: Kind::Read, record, value: (0, 0) }
    }

    /// The record's key: `plimsoll:` and its number in twelve digits.
    #[must_use]
    pub fn key(&self) -> [u8; MOST_KEY] {
        let mut key = [b'0'; MOST_KEY];
        key[..PREFIX.len()].copy_from_slice(PREFIX);
        let mut left = self.record;
        for digit in key[PREFIX.len()..].iter_mut().rev() {
            *digit = b"0123456789"[(left % 10) as usize];
            left /= 10;
        }
        key
    }
}
