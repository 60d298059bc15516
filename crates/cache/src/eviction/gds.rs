//! GDS, Greedy-Dual-Size (Cao and Irani, "Cost-aware WWW proxy caching algorithms", USITS 1997,
//! section 4): the priority of an object is `L + cost / size`, where `L` is the priority of what
//! left last; a request restores it. Ties leave by their oldest request.

use plimsoll_units::parameter::Parameter;

use crate::prefetch::fetch;

use super::cost::{self, Cost};
use super::heap::{Entry, Heap};
use super::{Eviction, Gone, Input, Room, SettingError, Sizes, index};

#[derive(Debug)]
pub(super) struct Gds {
    records: Vec<Record>,
    heap: Heap,
    cost: Cost,
    /// `L`: it never falls.
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
    inside: bool,
}

const ABSENT: Record = Record { priority: 0.0, request: 0, inside: false };

impl Eviction for Gds {
    const NAME: &'static str = "gds";
    const ABOUT: &'static str = "by cost over size, with aging (Cao and Irani, USITS 1997); \
                                 cost=1, size, packets, latency (rtt_ms=100, mbit=10) or hops";
    const PARAMETERS: &'static [Parameter] = &cost::PARAMETERS;

    fn new(room: &Room<'_>) -> Result<Self, SettingError> {
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
        let inside = self.records[object as usize].inside;
        if inside {
            self.records[object as usize] = self.record(input, at);
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
        let record = self.record(input, at);
        self.heap.push(Entry::new(record.priority, record.request, object));
        self.records[object as usize] = record;
    }

    fn contains(&self, object: u32) -> bool {
        self.records[object as usize].inside
    }

    #[inline(always)]
    fn prefetch(&self, object: u32) {
        fetch(&self.records, object);
    }

    fn memory_bytes(&self) -> usize {
        self.records.capacity() * size_of::<Record>() + self.heap.memory_bytes()
    }
}

impl Gds {
    /// That of the object of a request, now. An object of no bytes counts as one of a byte.
    #[inline(always)]
    #[expect(clippy::cast_precision_loss, reason = "sizes are at most 2^48")]
    fn record<S: Sizes>(&self, input: &Input<'_, S>, at: usize) -> Record {
        let object = input.requests[at];
        let size = input.size(object).max(1);
        let priority = self.inflation + self.cost.of(object, size) / size as f64;
        Record { priority, request: index(at), inside: true }
    }

    /// Takes what leaves next out of the heap.
    #[inline(always)]
    fn victim(&mut self) -> Option<u32> {
        loop {
            let top = self.heap.top()?;
            let object = top.object();
            let record = self.records[object as usize];
            let now = Entry::new(record.priority, record.request, object);
            if now == top {
                self.heap.pop();
                return Some(object);
            }
            self.heap.replace_top(now);
        }
    }
}
