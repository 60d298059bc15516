//! LRU-K (O'Neil, O'Neil and Weikum, SIGMOD 1993, section 2): what leaves is the object whose K-th
//! latest request is the oldest. Objects asked for less than K times leave before all others, by
//! their latest request (section 2.1.2, "a subsidiary policy").
//!
//! `k` is 2 unless set; with `k=1` it is LRU. No requests count as correlated. Requests are
//! remembered after an object has left, for ever (`history=kept`: a Retained Information Period
//! without end), or until it leaves (`history=dropped`).

use plimsoll_units::parameter::{Parameter, Takes};

use crate::prefetch::fetch;

use super::heap::{Entry, Heap};
use super::{Eviction, Gone, Input, Room, SettingError, Sizes, index};

#[derive(Debug)]
pub(super) struct LruK {
    /// For each object its latest `k` requests, the latest first: one more than their indices, and
    /// 0 where there were not so many.
    requests: Vec<u32>,
    inside: Vec<bool>,
    heap: Heap,
    k: usize,
    is_kept: bool,
    used: u64,
    capacity: u64,
}

/// Which of the latest requests of an object counts.
const K: Parameter = Parameter::new(
    "k",
    Takes::Count(1, 16),
    "2",
    "Which of the latest requests counts: 2 is the one before the latest.",
);
/// What becomes of the requests of an object that has left.
const HISTORY: Parameter = Parameter::new(
    "history",
    Takes::Word(&["kept", "dropped"]),
    "kept",
    "What becomes of the requests of an object that has left.",
);

impl Eviction for LruK {
    const NAME: &'static str = "lru-k";
    const ABOUT: &'static str = "by the K-th latest request (O'Neil et al., SIGMOD 1993); k=2, \
                                 history=kept or dropped";
    const PARAMETERS: &'static [Parameter] = &[K, HISTORY];

    #[expect(clippy::cast_possible_truncation, reason = "at most 16")]
    fn new(room: &Room<'_>) -> Result<Self, SettingError> {
        let k = room.settings.number(&K)? as usize;
        Ok(Self {
            requests: vec![0; room.objects * k],
            inside: vec![false; room.objects],
            heap: Heap::default(),
            k,
            is_kept: room.settings.choice(&HISTORY)? == 0,
            used: 0,
            capacity: room.capacity,
        })
    }

    #[inline(always)]
    fn hit<S: Sizes>(&mut self, input: &Input<'_, S>, at: usize) -> bool {
        let object = input.requests[at];
        let inside = self.inside[object as usize];
        if inside {
            self.note(object, at);
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
            self.inside[victim as usize] = false;
            if !self.is_kept {
                self.history(victim).fill(0);
            }
            self.used -= input.size(victim);
            gone.gone(victim);
        }
        self.used += size;
        self.note(object, at);
        self.inside[object as usize] = true;
        let entry = self.entry(object);
        self.heap.push(entry);
    }

    fn contains(&self, object: u32) -> bool {
        self.inside[object as usize]
    }

    #[inline(always)]
    fn prefetch(&self, object: u32) {
        fetch(&self.inside, object);
        if let Some(first) = self.requests.get(object as usize * self.k..) {
            fetch(first, 0);
        }
    }

    fn memory_bytes(&self) -> usize {
        let requests = self.requests.capacity() * size_of::<u32>();
        requests + self.inside.capacity() + self.heap.memory_bytes()
    }
}

impl LruK {
    #[inline(always)]
    fn history(&mut self, object: u32) -> &mut [u32] {
        let start = object as usize * self.k;
        &mut self.requests[start..start + self.k]
    }

    #[inline(always)]
    fn note(&mut self, object: u32, at: usize) {
        let history = self.history(object);
        for older in (1..history.len()).rev() {
            history[older] = history[older - 1];
        }
        history[0] = index(at) + 1;
    }

    /// By the K-th latest request, then by the latest.
    #[inline(always)]
    fn entry(&mut self, object: u32) -> Entry {
        let history = self.history(object);
        let (latest, oldest) = (history[0], history[history.len() - 1]);
        Entry::new(f64::from(oldest), latest, object)
    }

    /// Takes what leaves next out of the heap.
    #[inline(always)]
    fn victim(&mut self) -> Option<u32> {
        loop {
            let top = self.heap.top()?;
            let now = self.entry(top.object());
            if now == top {
                self.heap.pop();
                return Some(top.object());
            }
            self.heap.replace_top(now);
        }
    }
}
