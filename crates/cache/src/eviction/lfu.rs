//! LFU in the cache: what was asked for least often since it came in leaves first; among those of
//! one frequency, what reached it first.
//!
//! Without a list for each frequency. What came in last stands in a queue, in order, and most of
//! what leaves was never asked for again: it leaves from the front of the queue. What was asked for
//! again moves on from there to a lazy heap, when its turn has come. So a hit touches one record.

use crate::prefetch::fetch;

use super::heap::{Entry, Heap};
use super::ring::Ring;
use super::{Eviction, Gone, Input, Room, SettingError, Sizes, index};

#[derive(Debug)]
pub(super) struct Lfu {
    records: Vec<Record>,
    /// What came in, in order. All objects of frequency 1 are in it.
    new: Ring,
    /// What was asked for again, as of some time ago.
    known: Heap,
    used: u64,
    capacity: u64,
}

/// What is known of an object that is inside.
#[derive(Debug, Clone, Copy)]
struct Record {
    /// Requests since it came in; 0 where it is not inside.
    frequency: u32,
    /// Index of the latest: when it reached its frequency.
    request: u32,
}

const ABSENT: Record = Record { frequency: 0, request: 0 };

impl Eviction for Lfu {
    const NAME: &'static str = "lfu";
    const ABOUT: &'static str = "least frequently used since it came in, ties by age";

    fn new(room: &Room<'_>) -> Result<Self, SettingError> {
        Ok(Self {
            records: vec![ABSENT; room.objects],
            new: Ring::new(),
            known: Heap::default(),
            used: 0,
            capacity: room.capacity,
        })
    }

    #[inline(always)]
    fn hit<S: Sizes>(&mut self, input: &Input<'_, S>, at: usize) -> bool {
        let record = &mut self.records[input.requests[at] as usize];
        let inside = record.frequency > 0;
        if inside {
            *record = Record { frequency: record.frequency + 1, request: index(at) };
        }
        inside
    }

    #[inline(always)]
    fn insert<S: Sizes>(&mut self, input: &Input<'_, S>, at: usize, gone: &mut impl Gone) {
        let object = input.requests[at];
        let size = input.size(object);
        if size > self.capacity {
            return;
        }
        while self.used > self.capacity - size {
            let Some(victim) = self.victim() else { break };
            self.records[victim as usize] = ABSENT;
            self.used -= input.size(victim);
            gone.gone(victim);
        }
        self.used += size;
        self.new.push(object);
        self.records[object as usize] = Record { frequency: 1, request: index(at) };
    }

    fn contains(&self, object: u32) -> bool {
        self.records[object as usize].frequency > 0
    }

    #[inline(always)]
    fn prefetch(&self, object: u32) {
        fetch(&self.records, object);
    }

    fn memory_bytes(&self) -> usize {
        let records = self.records.capacity() * size_of::<Record>();
        records + self.new.memory_bytes() + self.known.memory_bytes()
    }
}

impl Lfu {
    /// Takes what leaves next out of the queue or the heap.
    #[inline(always)]
    fn victim(&mut self) -> Option<u32> {
        while let Some(object) = self.new.pop() {
            self.new.prefetch(&self.records);
            let record = self.records[object as usize];
            if record.frequency == 1 {
                return Some(object);
            }
            self.known.push(entry(record, object));
        }
        while let Some(top) = self.known.top() {
            let object = top.object();
            let now = entry(self.records[object as usize], object);
            if now == top {
                self.known.pop();
                return Some(object);
            }
            self.known.replace_top(now);
        }
        None
    }
}

#[inline(always)]
fn entry(record: Record, object: u32) -> Entry {
    Entry::new(f64::from(record.frequency), record.request, object)
}
