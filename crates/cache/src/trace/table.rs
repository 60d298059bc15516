//! Numbers of a trace to dense ones: an open-addressing table made for batches.
//!
//! A slot is 8 bytes: 32 bits of the hash and the dense number; the number looked up and the size
//! of its object lie together in an array in the order of first appearance, so that what is popular
//! lies close together and every look-up touches two places of memory. For a batch, all hashes are
//! computed and their slots asked for; then the slots are read and the entries asked for; then the
//! entries are compared. So the waits for memory of a batch overlap.
//!
//! A slot's place is the top bits of its hash. So a table that doubles is copied in order, without
//! its numbers being hashed again.

use super::hash;
use super::largest_size::LargestSize;
use crate::prefetch;

/// How many are looked up at once: enough to hide what memory takes, few enough that nothing asked
/// for is gone before it is read.
pub(super) const BATCH: usize = 64;

/// One object.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    /// Its number in the trace.
    pub id: u64,
    /// Its size.
    pub seen: LargestSize,
}

/// One request to look up.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Record {
    pub id: u64,
    pub size: u32,
}

#[derive(Debug)]
pub(super) struct Table {
    /// The hash in the upper half, the dense number plus one in the lower; zero is free.
    slots: Vec<u64>,
    /// 32 less the bits of a slot's place.
    shift: u32,
    entries: Vec<Entry>,
}

/// Bits of the first table.
const FIRST_BITS: u32 = 12;

/// No entry.
const NONE: u32 = u32::MAX;

impl Table {
    pub(super) fn new() -> Self {
        Self { slots: vec![0; 1 << FIRST_BITS], shift: 32 - FIRST_BITS, entries: Vec::new() }
    }

    /// What is in, in the order of first appearance.
    pub(super) fn into_entries(self) -> Vec<Entry> {
        self.entries
    }

    /// The dense number of one.
    #[inline]
    pub(super) fn number(&mut self, id: u64) -> u32 {
        self.find_or_add(id, hash::number(id))
    }

    /// The dense numbers of up to [`BATCH`] requests, whose sizes are noted.
    #[inline]
    pub(super) fn numbers(&mut self, records: &[Record], numbers: &mut [u32; BATCH]) {
        let mut hashes = [0; BATCH];
        for (hash, record) in hashes.iter_mut().zip(records) {
            *hash = hash::number(record.id);
            prefetch::fetch(&self.slots, *hash >> self.shift);
        }
        for (number, &hash) in numbers.iter_mut().zip(&hashes[..records.len().min(BATCH)]) {
            *number = self.candidate(hash);
            prefetch::fetch(&self.entries, *number);
        }
        for ((number, &hash), record) in numbers.iter_mut().zip(&hashes).zip(records) {
            match self.entries.get_mut(*number as usize) {
                Some(entry) if entry.id == record.id => entry.seen.note(u64::from(record.size)),
                _ => {
                    *number = self.find_or_add(record.id, hash);
                    self.entries[*number as usize].seen.note(u64::from(record.size));
                }
            }
        }
    }

    /// The first entry with this hash, not compared; or [`NONE`].
    #[inline(always)]
    fn candidate(&self, hash: u32) -> u32 {
        let mask = self.slots.len() - 1;
        let mut at = (hash >> self.shift) as usize;
        loop {
            let slot = self.slots[at & mask];
            if slot == 0 {
                return NONE;
            }
            if upper(slot) == hash {
                return lower(slot) - 1;
            }
            at += 1;
        }
    }

    #[inline(never)]
    fn find_or_add(&mut self, id: u64, hash: u32) -> u32 {
        let mask = self.slots.len() - 1;
        let mut at = (hash >> self.shift) as usize;
        loop {
            let slot = self.slots[at];
            if slot == 0 {
                break;
            }
            if upper(slot) == hash && self.entries[lower(slot) as usize - 1].id == id {
                return lower(slot) - 1;
            }
            at = (at + 1) & mask;
        }
        // A trace has at most 2^32 - 2 requests, so its objects leave slots of 2^32 free.
        self.entries.push(Entry { id, seen: LargestSize::default() });
        let count = self.entries.len() as u64;
        self.slots[at] = u64::from(hash) << 32 | count;
        if count * 5 > self.slots.len() as u64 * 3 && self.shift > 0 {
            self.grow();
        }
        lower(count) - 1
    }

    #[cold]
    fn grow(&mut self) {
        self.shift -= 1;
        let mut slots = vec![0; self.slots.len() * 2];
        let mask = slots.len() - 1;
        for &slot in self.slots.iter().filter(|&&slot| slot != 0) {
            let mut at = (upper(slot) >> self.shift) as usize;
            while slots[at] != 0 {
                at = (at + 1) & mask;
            }
            slots[at] = slot;
        }
        self.slots = slots;
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.entries.len()
    }
}

#[inline(always)]
fn upper(slot: u64) -> u32 {
    (slot >> 32) as u32
}

#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the lower half is meant")]
fn lower(slot: u64) -> u32 {
    slot as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_workload::random::Stream;
    use std::collections::BTreeMap;

    #[test]
    fn agrees_with_a_map() {
        let mut stream = Stream::named(1, "table");
        let (mut table, mut map, mut numbers) = (Table::new(), BTreeMap::new(), [0; BATCH]);
        let mut largest: BTreeMap<u64, u64> = BTreeMap::new();
        for _ in 0..2000 {
            let len = 1 + stream.below(BATCH as u64);
            let records: Vec<Record> = (0..len)
                .map(|_| {
                    let id = match stream.below(3) {
                        0 => stream.below(50),
                        1 => stream.below(30_000) << 40,
                        _ => stream.next_u64(),
                    };
                    Record { id, size: u32::try_from(stream.below(9)).unwrap() }
                })
                .collect();
            table.numbers(&records, &mut numbers);
            for (record, &number) in records.iter().zip(&numbers) {
                let next = u32::try_from(map.len()).unwrap();
                assert_eq!(number, *map.entry(record.id).or_insert(next));
                let size = largest.entry(record.id).or_default();
                *size = u64::from(record.size).max(*size);
            }
            let known = records[0].id;
            assert_eq!(table.number(known), map[&known]);
        }
        assert!(table.len() == map.len() && map.len() > 30_000);
        for (number, entry) in table.into_entries().iter().enumerate() {
            assert_eq!(map[&entry.id] as usize, number);
            assert_eq!(entry.seen.bytes(), largest[&entry.id]);
        }
    }

    #[test]
    fn equal_hashes_are_told_apart() {
        // Numbers with the same 32 bits of hash, found by their number: 2^19 of them give about 32.
        let mut by_hash: Vec<(u32, u64)> = (0..1 << 19).map(|id| (hash::number(id), id)).collect();
        by_hash.sort_unstable();
        let pairs: Vec<[u64; 2]> = by_hash
            .windows(2)
            .filter(|pair| pair[0].0 == pair[1].0)
            .map(|pair| [pair[0].1, pair[1].1])
            .collect();
        assert!(pairs.len() > 5, "{}", pairs.len());
        let mut table = Table::new();
        for (number, id) in pairs.iter().flatten().enumerate() {
            assert_eq!(table.number(*id) as usize, number);
        }
        let mut numbers = [0; BATCH];
        for (at, [a, b]) in pairs.iter().enumerate() {
            table.numbers(&[Record { id: *b, size: 1 }, Record { id: *a, size: 1 }], &mut numbers);
            assert_eq!(
                numbers[..2].iter().map(|n| *n as usize).collect::<Vec<_>>(),
                [at * 2 + 1, at * 2]
            );
        }
    }
}
