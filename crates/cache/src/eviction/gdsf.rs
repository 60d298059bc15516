//! GDSF, Greedy-Dual-Size-Frequency (Cherkasova, HPL-98-69R1, 1998): the priority of an object is
//! `L + frequency * cost / size`, where `L` is the priority of what left last.
//!
//! As libCacheSim had it in October 2024: cost 10^6, ties by the oldest request, a frequency that
//! starts again at 1 for what comes back, eviction before insertion. The setting `cost` weighs
//! objects by what it costs to fetch them: see `cost.rs`.

use crate::prefetch::fetch;

use super::cost::{self, Cost};
use super::heap::{Entry, Heap};
use super::{Eviction, Gone, Input, Room, SettingError, Sizes, index};

/// What a cost of one is worth; priorities are this over bytes.
const COST: f64 = 1.0e6;

#[derive(Debug)]
pub(super) struct Gdsf {
    records: Vec<Record>,
    heap: Heap,
    cost: Cost,
    /// `L`: it never falls, so what is inside never loses its place to the past.
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

impl Eviction for Gdsf {
    const NAME: &'static str = "gdsf";
    const ABOUT: &'static str = "by frequency * cost over size, with aging (Cherkasova, 1998); \
                                 cost=1, size, packets, latency (rtt_ms=100, mbit=10) or hops";

    fn new(room: &Room<'_>) -> Result<Self, SettingError> {
        room.settings.only(&cost::SETTINGS)?;
        Ok(Self {
            records: vec![ABSENT; room.objects],
            heap: Heap::default(),
            cost: Cost::of_settings(room.settings)?,
            inflation: 0.0,
            used: 0,
            capacity: room.capacity,
        })
    }

    #[inline(always)]
    fn hit<S: Sizes>(&mut self, input: &Input<'_, S>, at: usize) -> bool {
        let object = input.requests[at];
        let record = &mut self.records[object as usize];
        let inside = record.frequency > 0;
        if inside {
            record.frequency = record.frequency.saturating_add(1);
            let worth = worth(self.cost, object, input.size(object));
            record.priority = self.inflation + f64::from(record.frequency) * worth.0 / worth.1;
            record.request = index(at);
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
            self.evict(input, gone);
        }
        self.used += size;
        let worth = worth(self.cost, object, size);
        let priority = self.inflation + worth.0 / worth.1;
        self.heap.push(Entry::new(priority, index(at), object));
        self.records[object as usize] = Record { priority, request: index(at), frequency: 1 };
    }

    fn contains(&self, object: u32) -> bool {
        self.records[object as usize].frequency > 0
    }

    #[inline(always)]
    fn prefetch(&self, object: u32) {
        fetch(&self.records, object);
    }

    fn memory_bytes(&self) -> usize {
        self.records.capacity() * size_of::<Record>() + self.heap.memory_bytes()
    }
}

impl Gdsf {
    #[inline(always)]
    fn evict<S: Sizes>(&mut self, input: &Input<'_, S>, gone: &mut impl Gone) {
        while let Some(top) = self.heap.top() {
            let object = top.object();
            let record = self.records[object as usize];
            let now = Entry::new(record.priority, record.request, object);
            if now != top {
                self.heap.replace_top(now);
                continue;
            }
            self.heap.pop();
            self.inflation = top.priority();
            self.records[object as usize] = ABSENT;
            self.used -= input.size(object);
            gone.gone(object);
            return;
        }
    }
}

/// What one request to an object is worth, and its size, by which that is divided last, as
/// libCacheSim does. An object of no bytes counts as one of a byte.
#[inline(always)]
#[expect(clippy::cast_precision_loss, reason = "sizes are at most 2^48")]
fn worth(cost: Cost, object: u32, size: u64) -> (f64, f64) {
    (COST * cost.of(object, size), size.max(1) as f64)
}
