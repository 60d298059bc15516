//! Distinct URLs and how often each was requested, compactly.
//!
//! Each URL is a record (count, index, length, text) in blocks of 1 MiB, found through an
//! open-addressing table with linear probing, at most half full. The hash folds eight bytes at a
//! time into 64 bits by a multiplication to 128 bits whose halves are combined, as wyhash does
//! (Wang Yi, 2019, public domain); it is not keyed, so a log made for that purpose can slow its
//! import down, not break it.
//!
//! A lookup is two cache misses: slot and record. URLs are therefore counted in batches, whose
//! slots and records are first touched all together, so that the misses overlap.

/// How many bytes of URL records are kept at most; URLs beyond count as other.
pub const MAX_URL_TEXT_BYTES: usize = 64 * 1024 * 1024;

const BLOCK_BYTES: usize = 1024 * 1024;

/// Records begin at multiples of this.
const UNIT: usize = 8;

/// Count, index and length, in front of the text.
const HEAD_BYTES: usize = 16;

/// How many URLs are looked up together.
const BATCH: usize = 16;

/// The slot of no URL.
const FREE: Slot = Slot { hash: 0, place: u32::MAX };

/// Distinct URLs with their counts.
#[derive(Debug, Clone)]
pub struct UrlCounts {
    blocks: Vec<Vec<u8>>,
    /// Where the record of each index begins, in units from the start of the first block.
    places: Vec<u32>,
    slots: Vec<Slot>,
    max_urls: usize,
    batch: Batch,
    /// Indices in the order of the answer.
    order: Vec<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Slot {
    hash: u32,
    place: u32,
}

/// URLs that wait for being counted: their hashes and where they end in `text`.
#[derive(Debug, Clone, Default)]
struct Batch {
    text: Vec<u8>,
    urls: Vec<(u32, usize)>,
}

/// What became of the URLs of a batch that were not counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Refused {
    /// There was no room for another URL.
    pub full: u64,
    /// It cannot be asked for.
    pub unusable: u64,
}

impl Refused {
    pub(super) fn join(&mut self, other: Self) {
        self.full += other.full;
        self.unusable += other.unusable;
    }
}

/// Why a URL was not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    Full,
    Unusable,
}

impl UrlCounts {
    pub(super) fn new(max_urls: usize) -> Self {
        Self {
            blocks: Vec::new(),
            places: Vec::new(),
            slots: vec![FREE; 1024],
            // Every record takes at least three units of those a place can name.
            max_urls: max_urls.min(1 << 28),
            batch: Batch::default(),
            order: Vec::new(),
        }
    }

    /// Counts one request, now or with those that follow: see [`UrlCounts::flush`].
    #[inline]
    pub(super) fn add_later(&mut self, url: &[u8], usable: fn(&[u8]) -> bool) -> Refused {
        self.batch.text.extend_from_slice(url);
        self.batch.urls.push((hash(url), self.batch.text.len()));
        if self.batch.urls.len() < BATCH { Refused::default() } else { self.flush(usable) }
    }

    /// Counts what waits.
    pub(super) fn flush(&mut self, usable: fn(&[u8]) -> bool) -> Refused {
        let batch = std::mem::take(&mut self.batch);
        let mut touched = 0;
        let mut places = [u32::MAX; BATCH];
        for (place, &(hash, _)) in places.iter_mut().zip(&batch.urls) {
            let slot = self.slots[self.home(hash)];
            *place = if slot.hash == hash { slot.place } else { u32::MAX };
        }
        for place in places.into_iter().filter(|&place| place != u32::MAX) {
            touched ^= self.record(place)[HEAD_BYTES];
        }
        std::hint::black_box(touched);
        let mut refused = Refused::default();
        let mut start = 0;
        for &(hash, end) in &batch.urls {
            match self.add_hashed(&batch.text[start..end], hash, usable) {
                Ok(_) => {}
                Err(Refusal::Full) => refused.full += 1,
                Err(Refusal::Unusable) => refused.unusable += 1,
            }
            start = end;
        }
        self.batch = batch;
        self.batch.text.clear();
        self.batch.urls.clear();
        refused
    }

    /// Counts one request; the URL's index. A URL seen for the first time must be `usable`.
    pub(super) fn add(
        &mut self,
        url: &[u8],
        usable: impl FnOnce(&[u8]) -> bool,
    ) -> Result<u32, Refusal> {
        self.add_hashed(url, hash(url), usable)
    }

    fn add_hashed(
        &mut self,
        url: &[u8],
        hash: u32,
        usable: impl FnOnce(&[u8]) -> bool,
    ) -> Result<u32, Refusal> {
        let at = match self.search(url, hash) {
            Ok(place) => return Ok(self.count_again(place)),
            Err(at) => at,
        };
        if self.places.len() >= self.max_urls {
            return Err(Refusal::Full);
        }
        if !usable(url) {
            return Err(Refusal::Unusable);
        }
        let place = self.keep(url).ok_or(Refusal::Full)?;
        self.places.push(place);
        self.slots[at] = Slot { hash, place };
        if self.places.len() * 2 > self.slots.len() {
            self.grow();
        }
        Ok(self.head(place).index)
    }

    /// The index of a URL that was counted.
    pub(super) fn find(&self, url: &[u8]) -> Option<u32> {
        self.search(url, hash(url)).ok().map(|place| self.head(place).index)
    }

    #[inline]
    fn home(&self, hash: u32) -> usize {
        hash as usize & (self.slots.len() - 1)
    }

    /// The place of a URL's record, or the free slot where it would be entered.
    #[inline]
    fn search(&self, url: &[u8], hash: u32) -> Result<u32, usize> {
        let mut at = self.home(hash);
        loop {
            let slot = self.slots[at];
            if slot == FREE {
                return Err(at);
            }
            if slot.hash == hash && self.text(slot.place) == url {
                return Ok(slot.place);
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }

    /// The rest of a block from the record at a place on.
    #[inline]
    fn record(&self, place: u32) -> &[u8] {
        let (block, start) = byte_of(place);
        &self.blocks[block][start..]
    }

    #[inline]
    fn head(&self, place: u32) -> Head {
        let record = self.record(place);
        record.first_chunk().map_or(Head { count: 0, index: 0, len: 0 }, Head::read)
    }

    #[inline]
    fn text(&self, place: u32) -> &[u8] {
        let len = self.head(place).len as usize;
        &self.record(place)[HEAD_BYTES..HEAD_BYTES + len]
    }

    fn count_again(&mut self, place: u32) -> u32 {
        let mut head = self.head(place);
        head.count += 1;
        let (block, start) = byte_of(place);
        self.blocks[block][start..start + HEAD_BYTES].copy_from_slice(&head.bytes());
        head.index
    }

    /// Enters a record with a count of one; `None` where there is no room left.
    fn keep(&mut self, url: &[u8]) -> Option<u32> {
        let size = (HEAD_BYTES + url.len()).next_multiple_of(UNIT);
        let room = self.blocks.last().map_or(0, |block| BLOCK_BYTES - block.len());
        if size > room {
            if size > BLOCK_BYTES || (self.blocks.len() + 1) * BLOCK_BYTES > MAX_URL_TEXT_BYTES {
                return None;
            }
            self.blocks.push(Vec::with_capacity(BLOCK_BYTES));
        }
        let place = self.blocks.len() - 1;
        let block = &mut self.blocks[place];
        let start = block.len();
        let index = u32::try_from(self.places.len()).ok()?;
        let head = Head { count: 1, index, len: u32::try_from(url.len()).ok()? };
        block.extend_from_slice(&head.bytes());
        block.extend_from_slice(url);
        block.resize(start + size, 0);
        u32::try_from((place * BLOCK_BYTES + start) / UNIT).ok()
    }

    fn grow(&mut self) {
        let mut slots = vec![FREE; self.slots.len() * 2];
        let mask = slots.len() - 1;
        for slot in self.slots.iter().filter(|slot| **slot != FREE) {
            let mut at = slot.hash as usize & mask;
            while slots[at] != FREE {
                at = (at + 1) & mask;
            }
            slots[at] = *slot;
        }
        self.slots = slots;
    }

    /// Puts the most requested first, equals by their text, and lets go of what only adding needs.
    pub(super) fn sort(&mut self) {
        debug_assert!(self.batch.urls.is_empty(), "URLs wait for being counted");
        let mut order = self.places.clone();
        order.sort_unstable_by(|&a, &b| {
            let count = |place| self.head(place).count;
            count(b).cmp(&count(a)).then_with(|| self.text(a).cmp(self.text(b)))
        });
        self.order = order;
        self.slots = vec![FREE; 1];
    }

    /// In the order of their indices, which is that in which they were first seen.
    pub(super) fn by_index(&self) -> impl Iterator<Item = &[u8]> + '_ {
        self.places.iter().map(|&place| self.text(place))
    }

    /// Number of distinct URLs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Each URL with its number of requests: the most requested first, equals by their text.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, u64)> + '_ {
        self.order.iter().map(|&place| {
            // Every text is visible ASCII: see `entry::url_text`.
            let text = std::str::from_utf8(self.text(place)).unwrap_or("");
            (text, self.head(place).count)
        })
    }
}

/// The block of a place, and the byte in it.
#[inline]
fn byte_of(place: u32) -> (usize, usize) {
    let byte = place as usize * UNIT;
    (byte / BLOCK_BYTES, byte % BLOCK_BYTES)
}

/// What stands in front of the text of a record.
struct Head {
    count: u64,
    index: u32,
    len: u32,
}

impl Head {
    #[inline]
    fn read(bytes: &[u8; HEAD_BYTES]) -> Self {
        let all = u128::from_le_bytes(*bytes);
        #[expect(clippy::cast_possible_truncation, reason = "the parts of 128 bits")]
        let (count, index) = (all as u64, (all >> 64) as u32);
        Self { count, index, len: (all >> 96) as u32 }
    }

    fn bytes(&self) -> [u8; HEAD_BYTES] {
        let Self { count, index, len } = *self;
        (u128::from(len) << 96 | u128::from(index) << 64 | u128::from(count)).to_le_bytes()
    }
}

/// The 32 upper bits of a folded multiplication over eight bytes at a time.
#[inline]
fn hash(text: &[u8]) -> u32 {
    const K: [u64; 2] = [0xa076_1d64_78bd_642f, 0xe703_7ed1_a0b4_28db];
    let fold = |a: u64, b: u64| {
        let product = u128::from(a) * u128::from(b);
        #[expect(clippy::cast_possible_truncation, reason = "the halves of the product")]
        let folded = product as u64 ^ (product >> 64) as u64;
        folded
    };
    let mut state = text.len() as u64 ^ K[1];
    let (words, rest) = text.as_chunks::<8>();
    for word in words {
        state = fold(state ^ u64::from_le_bytes(*word), K[0]).wrapping_add(K[1]);
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let state = fold(state ^ u64::from_le_bytes(last), K[0] ^ K[1]);
    (state >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn agrees_with_a_map() {
        let mut counts = UrlCounts::new(5000);
        let mut map: BTreeMap<String, u64> = BTreeMap::new();
        let mut state = 1_u64;
        let mut other = 0;
        for _ in 0..60_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let url = format!("/item/{}", (state >> 50) % 6000);
            if map.len() < 5000 || map.contains_key(&url) {
                *map.entry(url.clone()).or_default() += 1;
                let index = counts.add(url.as_bytes(), |_| true).unwrap();
                assert_eq!(counts.find(url.as_bytes()), Some(index));
            } else {
                assert_eq!(counts.add(url.as_bytes(), |_| true), Err(Refusal::Full));
                other += 1;
            }
        }
        assert!(other > 0 && counts.len() == 5000);
        counts.sort();
        let mut expected: Vec<(String, u64)> = map.into_iter().collect();
        expected.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
        let found: Vec<(String, u64)> = counts.iter().map(|(url, n)| (url.to_owned(), n)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn batches_count_as_single_ones_do() {
        let (mut single, mut batched) = (UrlCounts::new(300), UrlCounts::new(300));
        let (mut expected, mut found) = (Refused::default(), Refused::default());
        let usable: fn(&[u8]) -> bool = |url| !url.ends_with(b"7");
        let mut state = 1_u64;
        for _ in 0..10_001 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let url = format!("/{}", (state >> 50) % 500);
            match single.add(url.as_bytes(), usable) {
                Ok(_) => {}
                Err(Refusal::Full) => expected.full += 1,
                Err(Refusal::Unusable) => expected.unusable += 1,
            }
            found.join(batched.add_later(url.as_bytes(), usable));
        }
        found.join(batched.flush(usable));
        assert_eq!(found, expected);
        assert!(expected.full > 0 && expected.unusable > 0);
        single.sort();
        batched.sort();
        assert!(single.iter().eq(batched.iter()));
    }

    #[test]
    fn text_is_bounded() {
        let mut counts = UrlCounts::new(usize::MAX);
        let long = "x".repeat(60_000);
        let kept = (0..2000)
            .filter(|n| counts.add(format!("/{n}{long}").as_bytes(), |_| true).is_ok())
            .count();
        assert_eq!(kept, MAX_URL_TEXT_BYTES / BLOCK_BYTES * (BLOCK_BYTES / 60_021));
    }

    #[test]
    fn hashes_spread() {
        // 65,536 similar texts in 2^17 buckets by the lower bits: a random function leaves about
        // e^(-1/2) = 0.607 of them free.
        let mut seen = vec![false; 1 << 17];
        for n in 0..65_536 {
            seen[hash(format!("/images/{n}.gif").as_bytes()) as usize & ((1 << 17) - 1)] = true;
        }
        let free = seen.iter().filter(|seen| !**seen).count();
        assert!((78_000..81_000).contains(&free), "{free}");
    }
}
