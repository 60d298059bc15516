//! Cache Digest: what a cache has, told to its peers as a Bloom filter of MD5 keys. A peer that
//! holds the digest asks nobody; it is wrong where objects have come and gone since, and where
//! bits of others happen to be set.
//!
//! # Keys and bits
//!
//! The key of an object is the MD5 of one byte for the method (GET is 1) and the URL. Its four
//! words of 32 bits, in network byte order and modulo the bits of the mask, are the bits to set.
//! Bit b is bit `b % 8`, counted from the lowest, of byte `b / 8`. The mask has
//! `(capacity · bits per entry + 7) / 8` bytes, rounded down.
//!
//! # Document
//!
//! A control block of 128 bytes, all numbers in network byte order, then the mask:
//!
//! | bytes | field |
//! | --- | --- |
//! | 0–1, 2–3 | version: 5; the least version that understands it: 3 |
//! | 4–7 | capacity, entries |
//! | 8–11 | count of entries added |
//! | 12–15 | count of entries deleted |
//! | 16–19 | bytes of the mask |
//! | 20 | bits per entry |
//! | 21 | hash functions: 4 |
//! | 22–127 | zero |
//!
//! Squid counts an entry each time it meets it while it builds a digest: do not trust the count.
//!
//! # Sources
//!
//! Cache Digest specification, version 5 (Hamilton, Rousskov, Wessels, 1998); Squid 5.7:
//! `CacheDigest.cc`, `store_digest.cc`, `PeerDigest.h`, `store_key_md5.cc`. Share of false hits:
//! Bloom, *Space/Time Trade-offs in Hash Coding with Allowable Errors*, CACM 13(7), 1970.

use md5::{Digest as _, Md5};

use super::DecodeError;
use super::bytes::Cursor;

/// The control block before the mask.
pub const CONTROL_BYTES: usize = 128;

/// Squid's default for [`Digest::new`].
pub const BITS_PER_ENTRY: u8 = 5;

/// The method's byte in keys of GET, the only method whose objects digests are about.
pub const GET: u8 = 1;

const CURRENT: u16 = 5;
const REQUIRED: u16 = 3;
const HASHES: u8 = 4;

/// Lengths are signed numbers of 32 bits in a control block.
const MOST: u64 = i32::MAX as u64;

/// What an object is known by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key(pub [u8; 16]);

impl Key {
    /// Of an object that is fetched by GET.
    #[must_use]
    pub fn of(url: &[u8]) -> Self {
        Self::of_method(GET, url)
    }

    /// Of an object that is fetched by a method of Squid's numbers.
    #[must_use]
    pub fn of_method(method: u8, url: &[u8]) -> Self {
        Self(Md5::new().chain_update([method]).chain_update(url).finalize().into())
    }
}

/// A digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digest {
    capacity: u32,
    count: u32,
    deleted: u32,
    bits_per_entry: u8,
    mask: Vec<u8>,
}

/// Why there is no digest of a capacity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected a digest of 1 to 2147483647 entries and bytes and at least 1 bit an entry, \
     found {capacity} entries of {bits_per_entry} bits"
)]
pub struct DigestError {
    /// Entries.
    pub capacity: u32,
    /// Bits each.
    pub bits_per_entry: u8,
}

/// How many bytes a mask has.
#[must_use]
pub fn mask_bytes(capacity: u32, bits_per_entry: u8) -> u64 {
    (u64::from(capacity) * u64::from(bits_per_entry)).div_ceil(8)
}

/// The share of objects that are not in a digest and yet seem to be, to be expected of so many
/// entries in a mask: `(1 − (1 − 1/m)^(4n))^4` with m bits and n entries.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "bits and entries are far below 2^53")]
pub fn expected_false_hits(mask_bytes: u64, entries: u64) -> f64 {
    let bits = mask_bytes as f64 * 8.0;
    let throws = f64::from(HASHES) * entries as f64;
    let set = -libm::expm1(throws * libm::log1p(-1.0 / bits));
    libm::pow(set, f64::from(HASHES))
}

impl Digest {
    /// An empty digest for so many entries.
    ///
    /// *Cost*: `capacity · bits_per_entry / 8` bytes.
    ///
    /// # Errors
    /// No room at all, or more than a control block can say.
    pub fn new(capacity: u32, bits_per_entry: u8) -> Result<Self, DigestError> {
        let bytes = mask_bytes(capacity, bits_per_entry);
        let length = usize::try_from(bytes).ok().filter(|_| (1..=MOST).contains(&bytes));
        match length.filter(|_| u64::from(capacity) <= MOST) {
            Some(length) => {
                Ok(Self { capacity, count: 0, deleted: 0, bits_per_entry, mask: vec![0; length] })
            }
            None => Err(DigestError { capacity, bits_per_entry }),
        }
    }

    /// For how many entries it is made.
    #[must_use]
    pub fn capacity(&self) -> u32 {
        self.capacity
    }

    /// How many entries were added, as the digest says.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// How many bits there are for each entry.
    #[must_use]
    pub fn bits_per_entry(&self) -> u8 {
        self.bits_per_entry
    }

    /// The filter's bits.
    #[must_use]
    pub fn mask(&self) -> &[u8] {
        &self.mask
    }

    /// Adds an object.
    pub fn insert(&mut self, key: Key) {
        for (byte, bit) in self.places(key) {
            self.mask[byte] |= bit;
        }
        self.count = self.count.saturating_add(1);
    }

    /// Whether an object seems to be in.
    #[must_use]
    pub fn contains(&self, key: Key) -> bool {
        self.places(key).iter().all(|&(byte, bit)| self.mask[byte] & bit != 0)
    }

    /// Empties it: entries cannot be taken out, so a digest is built anew at intervals.
    pub fn clear(&mut self) {
        self.mask.fill(0);
        (self.count, self.deleted) = (0, 0);
    }

    /// How many bits are set.
    #[must_use]
    pub fn bits_set(&self) -> u64 {
        self.mask.iter().map(|byte| u64::from(byte.count_ones())).sum()
    }

    /// The share of objects that are not in and seem to be: the share of bits set, to the fourth.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "bits are far below 2^53")]
    pub fn false_hits(&self) -> f64 {
        let set = self.bits_set() as f64 / (self.mask.len() as f64 * 8.0);
        libm::pow(set, f64::from(HASHES))
    }

    /// The byte and the bit in it for each hash.
    fn places(&self, key: Key) -> [(usize, u8); 4] {
        let (words, _) = key.0.as_chunks::<4>();
        let bits = self.mask.len() as u64 * 8;
        std::array::from_fn(|at| {
            let bit = u64::from(u32::from_be_bytes(words[at])) % bits;
            ((bit / 8) as usize, 1 << (bit % 8))
        })
    }

    /// Writes the document behind what is in `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.reserve(CONTROL_BYTES + self.mask.len());
        out.extend(CURRENT.to_be_bytes());
        out.extend(REQUIRED.to_be_bytes());
        // At most [`MOST`], by whoever made this.
        let mask_bytes = u32::try_from(self.mask.len()).unwrap_or(u32::MAX);
        for number in [self.capacity, self.count, self.deleted, mask_bytes] {
            out.extend(number.to_be_bytes());
        }
        out.extend([self.bits_per_entry, HASHES]);
        out.resize(start + CONTROL_BYTES, 0);
        out.extend(&self.mask);
    }

    /// Reads a document, all of it.
    ///
    /// *Cost*: no more memory than the document has bytes.
    ///
    /// # Errors
    /// A version or a number of hashes that is not understood, no room for entries, a mask of
    /// another length than capacity and bits per entry make, or than the document has.
    pub fn decode(document: &[u8]) -> Result<Self, DecodeError> {
        let mut cursor = Cursor::new(document);
        versions(&mut cursor)?;
        let capacity = positive(&mut cursor, "a digest's capacity")?;
        let count = cursor.u32("a digest's count")?;
        let deleted = cursor.u32("a digest's count of deletions")?;
        let mask_at = cursor.at();
        let found = u64::from(positive(&mut cursor, "a digest's length of mask")?);
        let bits_per_entry = cursor.u8("a digest's bits per entry")?;
        let at = cursor.at();
        let hashes = cursor.u8("a digest's number of hashes")?;
        if hashes != HASHES {
            let (what, found) = ("a number of hashes of", hashes.into());
            return Err(DecodeError::Value { what, at, wanted: "4", found });
        }
        cursor.take(CONTROL_BYTES - cursor.at(), "a digest's control block")?;
        let what = "a digest's mask";
        let wanted = mask_bytes(capacity, bits_per_entry);
        if found != wanted {
            return Err(DecodeError::Length { what, at: mask_at, wanted, found });
        }
        let wanted = cursor.left();
        if found != wanted as u64 {
            let wanted = wanted as u64;
            return Err(DecodeError::Length { what, at: mask_at, wanted, found });
        }
        let mask = cursor.take(wanted, what)?.to_vec();
        Ok(Self { capacity, count, deleted, bits_per_entry, mask })
    }
}

/// Both ways: the document is not too new for us, nor we for it.
fn versions(cursor: &mut Cursor<'_>) -> Result<(), DecodeError> {
    let current = cursor.u16("a digest's version")?;
    let required = cursor.u16("a digest's least version")?;
    let value = |what, at, wanted, found: u16| {
        Err(DecodeError::Value { what, at, wanted, found: found.into() })
    };
    if current < REQUIRED {
        return value("a digest's version", 0, "of at least 3", current);
    }
    if required > CURRENT || required > current {
        return value("a digest's least version", 2, "of at most 5 and its own", required);
    }
    Ok(())
}

/// A number of 32 bits with a sign, above zero.
fn positive(cursor: &mut Cursor<'_>, what: &'static str) -> Result<u32, DecodeError> {
    let at = cursor.at();
    let number = cursor.u32(what)?;
    if (1..=MOST).contains(&u64::from(number)) {
        return Ok(number);
    }
    Err(DecodeError::Value { what, at, wanted: "of 1 to 2147483647", found: number.into() })
}
