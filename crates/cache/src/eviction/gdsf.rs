//! GDSF, Greedy-Dual-Size-Frequency (Cherkasova, HPL-98-69R1, 1998): the priority of an object is
//! `L + frequency * cost / size`, where `L` is the priority of what left last.
//!
//! As libCacheSim had it in October 2024: cost 10^6, ties by the oldest request, a frequency that
//! starts again at 1 for what comes back, eviction before insertion. The setting `cost` weighs
//! objects by what it costs to fetch them: see `cost.rs`.
//!
//! Where all objects are worth the same, as objects that count one each are at most costs, what
//! comes in has `L` and that worth, and `L` never falls: what came in last stands in a queue, which
//! is in order by itself, and only what was asked for again moves on from its front to the heap.
//! (Rounding never turns an order round, and what ties leaves by its oldest request, as in the
//! queue.)

use plimsoll_units::parameter::Parameter;

use crate::prefetch::fetch;

use super::cost::{self, Cost};
use super::heap::{Entry, Heap};
use super::ring::Ring;
use super::{Eviction, Gone, Input, Room, SettingError, Sizes, index};

/// What a cost of one is worth; priorities are this over bytes.
const COST: f64 = 1.0e6;

#[derive(Debug)]
pub(super) struct Gdsf {
    records: Vec<Record>,
    /// What came in, in order, where all objects are worth the same; else nothing.
    new: Ring,
    /// All others, as of some time ago.
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
    const PARAMETERS: &'static [Parameter] = &cost::PARAMETERS;

    fn new(room: &Room<'_>) -> Result<Self, SettingError> {
        Ok(Self {
            records: vec![ABSENT; room.objects],
            new: Ring::new(),
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
        if S::ALL_ONE && self.cost.is_by_size() {
            self.new.push(object);
        } else {
            self.heap.push(Entry::new(priority, index(at), object));
        }
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
        let records = self.records.capacity() * size_of::<Record>();
        records + self.new.memory_bytes() + self.heap.memory_bytes()
    }
}

impl Gdsf {
    #[inline(always)]
    fn evict<S: Sizes>(&mut self, input: &Input<'_, S>, gone: &mut impl Gone) {
        let newest = if S::ALL_ONE { self.front() } else { None };
        let victim = match (newest, self.top()) {
            (Some(newest), Some(top)) if newest.is_before(top) => self.take_front(newest),
            (Some(newest), None) => self.take_front(newest),
            (_, Some(top)) => {
                self.heap.pop();
                top
            }
            (None, None) => return,
        };
        let object = victim.object();
        self.inflation = victim.priority();
        self.records[object as usize] = ABSENT;
        self.used -= input.size(object);
        gone.gone(object);
    }

    #[inline(always)]
    fn entry(&self, object: u32) -> Entry {
        let record = self.records[object as usize];
        Entry::new(record.priority, record.request, object)
    }

    /// The least of the heap.
    #[inline(always)]
    fn top(&mut self) -> Option<Entry> {
        loop {
            let top = self.heap.top()?;
            let now = self.entry(top.object());
            if now == top {
                return Some(top);
            }
            self.heap.replace_top(now);
        }
    }

    /// What came in first of those that were not asked for again; others before it move on.
    #[inline(always)]
    fn front(&mut self) -> Option<Entry> {
        loop {
            let object = self.new.iter().next()?;
            let entry = self.entry(object);
            if self.records[object as usize].frequency == 1 {
                return Some(entry);
            }
            self.heap.push(entry);
            self.take_front(entry);
        }
    }

    #[inline(always)]
    fn take_front(&mut self, front: Entry) -> Entry {
        self.new.pop();
        self.new.prefetch(&self.records);
        front
    }
}

/// What one request to an object is worth, and its size, by which that is divided last, as
/// libCacheSim does. An object of no bytes counts as one of a byte.
#[inline(always)]
#[expect(clippy::cast_precision_loss, reason = "sizes are at most 2^48")]
fn worth(cost: Cost, object: u32, size: u64) -> (f64, f64) {
    (COST * cost.of(object, size), size.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::capacity::{Capacity, Unit};
    use crate::eviction::Policy;
    use crate::made;

    proptest! {
        /// With the queue as without it: objects of a byte each go through the heap alone.
        #[test]
        fn a_queue_for_what_is_new_changes_nothing(
            asked in proptest::collection::vec(prop_oneof![0u32..8, 0u32..60], 1..600),
            amount in 1u64..40,
            cost in prop_oneof![Just("1"), Just("packets"), Just("latency"), Just("hops")],
        ) {
            let one_byte: Vec<(u32, u64)> = asked.iter().map(|&object| (object, 1)).collect();
            let trace = made::sized(&one_byte);
            let policy: Policy = format!("gdsf:cost={cost}").parse().unwrap();
            let node = |unit| policy.node(&trace, Capacity { amount, unit }).unwrap();
            let (mut counted, mut weighed) = (node(Unit::Objects), node(Unit::Bytes));
            let mut gone = (Vec::new(), Vec::new());
            for at in 0..trace.len() {
                let hit = counted.hit(at);
                prop_assert_eq!(hit, weighed.hit(at), "at {}", at);
                if !hit {
                    counted.insert(at, &mut gone.0);
                    weighed.insert(at, &mut gone.1);
                    prop_assert_eq!(&gone.0, &gone.1);
                }
            }
        }
    }
}
