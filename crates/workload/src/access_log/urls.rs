//! Distinct URLs and how often each was requested, compactly.
//!
//! Texts lie one behind the other in blocks of 1 MiB, found through an open-addressing table with
//! linear probing, at most half full. The hash folds eight bytes at a time into 64 bits by a
//! multiplication to 128 bits whose halves are combined, as wyhash does (Wang Yi, 2019, public
//! domain); it is not keyed, so a log made for that purpose can slow its import down, not break it.

use super::lines::MAX_LINE_BYTES;

/// How many bytes of URL text are kept at most; URLs beyond count as other.
pub const MAX_URL_TEXT_BYTES: usize = 64 * 1024 * 1024;

const BLOCK_BYTES: usize = 1024 * 1024;

/// The slot of no URL.
const FREE: u32 = u32::MAX;

/// Distinct URLs with their counts.
#[derive(Debug, Clone)]
pub struct UrlCounts {
    blocks: Vec<Vec<u8>>,
    urls: Vec<Counted>,
    slots: Vec<Slot>,
    max_urls: usize,
    /// Indices in the order of the answer.
    order: Vec<u32>,
}

#[derive(Debug, Clone, Copy)]
struct Counted {
    count: u64,
    block: u32,
    start: u32,
    len: u32,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    hash: u32,
    index: u32,
}

impl UrlCounts {
    pub(super) fn new(max_urls: usize) -> Self {
        let slots = vec![Slot { hash: 0, index: FREE }; 1024];
        // Indices are 32 bits, and slots are twice as many.
        let max_urls = max_urls.min(1 << 30);
        Self { blocks: Vec::new(), urls: Vec::new(), slots, max_urls, order: Vec::new() }
    }

    /// Counts one request; the URL's index, or `None` where there is no room for a new one or
    /// `accept` refuses it.
    pub(super) fn add(&mut self, url: &[u8], accept: impl FnOnce(&[u8]) -> bool) -> Option<u32> {
        let hash = hash(url);
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot.index == FREE {
                break;
            }
            if slot.hash == hash && self.text(slot.index) == url {
                self.urls[slot.index as usize].count += 1;
                return Some(slot.index);
            }
            at = (at + 1) & mask;
        }
        if self.urls.len() >= self.max_urls || !accept(url) {
            return None;
        }
        let index = u32::try_from(self.urls.len()).ok()?;
        let counted = self.keep(url)?;
        self.urls.push(counted);
        self.slots[at] = Slot { hash, index };
        if self.urls.len() * 2 > self.slots.len() {
            self.grow();
        }
        Some(index)
    }

    /// The index of a URL that was counted.
    pub(super) fn find(&self, url: &[u8]) -> Option<u32> {
        let hash = hash(url);
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot.index == FREE {
                return None;
            }
            if slot.hash == hash && self.text(slot.index) == url {
                return Some(slot.index);
            }
            at = (at + 1) & mask;
        }
    }

    fn keep(&mut self, url: &[u8]) -> Option<Counted> {
        let room = self.blocks.last().map_or(0, |block| BLOCK_BYTES - block.len());
        if url.len() > room {
            if (self.blocks.len() + 1) * BLOCK_BYTES > MAX_URL_TEXT_BYTES {
                return None;
            }
            debug_assert!(url.len() <= 3 * MAX_LINE_BYTES && 3 * MAX_LINE_BYTES < BLOCK_BYTES);
            self.blocks.push(Vec::with_capacity(BLOCK_BYTES));
        }
        let place = self.blocks.len() - 1;
        let block = &mut self.blocks[place];
        let start = u32::try_from(block.len()).ok()?;
        block.extend_from_slice(url);
        let (place, len) = (u32::try_from(place).ok()?, u32::try_from(url.len()).ok()?);
        Some(Counted { count: 1, block: place, start, len })
    }

    fn grow(&mut self) {
        let mut slots = vec![Slot { hash: 0, index: FREE }; self.slots.len() * 2];
        let mask = slots.len() - 1;
        for slot in self.slots.iter().filter(|slot| slot.index != FREE) {
            let mut at = slot.hash as usize & mask;
            while slots[at].index != FREE {
                at = (at + 1) & mask;
            }
            slots[at] = *slot;
        }
        self.slots = slots;
    }

    fn text(&self, index: u32) -> &[u8] {
        let Counted { block, start, len, .. } = self.urls[index as usize];
        &self.blocks[block as usize][start as usize..start as usize + len as usize]
    }

    /// Puts the most requested first, equals by their text, and lets go of what only adding needs.
    pub(super) fn sort(&mut self) {
        let mut order: Vec<u32> = (0..).take(self.urls.len()).collect();
        order.sort_unstable_by(|&a, &b| {
            let count = |index: u32| self.urls[index as usize].count;
            count(b).cmp(&count(a)).then_with(|| self.text(a).cmp(self.text(b)))
        });
        self.order = order;
        self.slots = Vec::new();
    }

    /// In the order in which they were first seen, which is the order of their indices.
    pub(super) fn in_order_seen(&self) -> impl Iterator<Item = (&[u8], u64)> + '_ {
        (0..).zip(&self.urls).map(|(index, counted)| (self.text(index), counted.count))
    }

    /// Number of distinct URLs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.urls.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.urls.is_empty()
    }

    /// Each URL with its number of requests: the most requested first, equals by their text.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, u64)> + '_ {
        self.order.iter().map(|&index| {
            // Every text is visible ASCII: see `entry::url_text`.
            let text = std::str::from_utf8(self.text(index)).unwrap_or("");
            (text, self.urls[index as usize].count)
        })
    }
}

/// The 32 upper bits of a folded multiplication over eight bytes at a time.
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
                let index = counts.add(url.as_bytes(), |_| true);
                assert!(index.is_some() && counts.find(url.as_bytes()) == index);
            } else {
                assert_eq!(counts.add(url.as_bytes(), |_| true), None);
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
    fn text_is_bounded() {
        let mut counts = UrlCounts::new(usize::MAX);
        let long = "x".repeat(60_000);
        let kept = (0..2000)
            .filter(|n| counts.add(format!("/{n}{long}").as_bytes(), |_| true).is_some())
            .count();
        assert_eq!(kept, MAX_URL_TEXT_BYTES / BLOCK_BYTES * (BLOCK_BYTES / 60_005));
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
