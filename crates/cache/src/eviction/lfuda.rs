//! LFUDA, LFU with dynamic aging (Arlitt, Cherkasova, Dilley, Friedrich and Jin, "Evaluating
//! content management techniques for Web proxy caches", HPL-98-173, 1999): the priority of an
//! object is `L + frequency`, where `L` is the priority of what left last. Ties leave by their
//! oldest request.
//!
//! Neither libCacheSim's policy of the name, which ages by the least frequency inside and at every
//! request, nor Squid's, which is `squid-heap-lfuda`. At equal sizes it is GDSF.
//!
//! Objects come in with `L + 1`, and `L` never falls: what came in last stands in a queue, which is
//! in order by itself. What was asked for again moves on from its front to a lazy heap. What leaves
//! is the lesser of the two fronts.

use crate::prefetch::fetch;

use super::heap::{Entry, Heap};
use super::ring::Ring;
use super::{Eviction, Gone, Input, Room, SettingError, Sizes, index};

#[derive(Debug)]
pub(super) struct Lfuda {
    records: Vec<Record>,
    /// What came in, in order. All objects of frequency 1 are in it.
    new: Ring,
    /// What was asked for again, as of some time ago.
    known: Heap,
    /// `L`, a whole number.
    inflation: f64,
    used: u64,
    capacity: u64,
}

/// What is known of an object that is inside.
#[derive(Debug, Clone, Copy)]
struct Record {
    priority: f64,
    /// Index of its latest request.
    request: u32,
    /// Requests since it came in; 0 where it is not inside.
    frequency: u32,
}

const ABSENT: Record = Record { priority: 0.0, request: 0, frequency: 0 };

impl Eviction for Lfuda {
    const NAME: &'static str = "lfuda";
    const ABOUT: &'static str =
        "least frequently used with dynamic aging (Arlitt et al., HPL-98-173, 1999)";

    fn new(room: &Room<'_>) -> Result<Self, SettingError> {
        Ok(Self {
            records: vec![ABSENT; room.objects],
            new: Ring::new(),
            known: Heap::default(),
            inflation: 0.0,
            used: 0,
            capacity: room.capacity,
        })
    }

    #[inline(always)]
    fn hit<S: Sizes>(&mut self, input: &Input<'_, S>, at: usize) -> bool {
        let record = &mut self.records[input.requests[at] as usize];
        let inside = record.frequency > 0;
        if inside {
            let frequency = record.frequency + 1;
            let priority = self.inflation + f64::from(frequency);
            *record = Record { priority, request: index(at), frequency };
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
            let record = &mut self.records[victim as usize];
            self.inflation = record.priority;
            *record = ABSENT;
            self.used -= input.size(victim);
            gone.gone(victim);
        }
        self.used += size;
        self.new.push(object);
        self.records[object as usize] =
            Record { priority: self.inflation + 1.0, request: index(at), frequency: 1 };
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

impl Lfuda {
    /// Takes what leaves next out of the queue or the heap.
    #[inline(always)]
    fn victim(&mut self) -> Option<u32> {
        let newest = self.front();
        let known = self.top();
        let is_known = match (newest, known) {
            (Some(newest), Some(known)) => self.is_before(known, newest),
            (newest, _) => newest.is_none(),
        };
        if is_known {
            self.known.pop();
            return known;
        }
        self.new.pop();
        self.new.prefetch(&self.records);
        newest
    }

    /// What came in first of those that were not asked for again; others before it move on.
    #[inline(always)]
    fn front(&mut self) -> Option<u32> {
        loop {
            let object = self.new.iter().next()?;
            if self.records[object as usize].frequency == 1 {
                return Some(object);
            }
            self.known.push(self.entry(object));
            self.new.pop();
            self.new.prefetch(&self.records);
        }
    }

    /// The least of those that were asked for again.
    #[inline(always)]
    fn top(&mut self) -> Option<u32> {
        loop {
            let top = self.known.top()?;
            let now = self.entry(top.object());
            if now == top {
                return Some(top.object());
            }
            self.known.replace_top(now);
        }
    }

    #[inline(always)]
    fn entry(&self, object: u32) -> Entry {
        let record = self.records[object as usize];
        Entry::new(record.priority, record.request, object)
    }

    #[inline(always)]
    fn is_before(&self, first: u32, second: u32) -> bool {
        let (first, second) = (self.records[first as usize], self.records[second as usize]);
        let order = first.priority.total_cmp(&second.priority);
        order.then(first.request.cmp(&second.request)).is_lt()
    }
}
