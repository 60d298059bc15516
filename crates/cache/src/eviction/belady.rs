//! Belady's MIN (Belady, "A study of replacement algorithms for a virtual-storage computer", IBM
//! Systems Journal 5(2), 1966): what is used next the latest leaves first. It always inserts, so it
//! is a bound for policies that always insert, and for objects of one size only. With bypass, what
//! is used next later than all that is inside does not come in where something would have to leave:
//! a bound for policies that may refuse, likewise for objects of one size.
//!
//! Next uses are indices of requests, and no two objects share one. So what is inside is a set of
//! indices, and an object is inside at its request exactly where the index of that request is in
//! the set, which is read in sequence. The greatest of them stand aside in order, with their
//! objects: most of what comes in is used later than all that is inside, and leaves next. What is
//! never used again leaves before, the latest first.

use crate::prefetch::fetch;
use crate::trace::NEVER;

use super::indices::Indices;
use super::{Eviction, Gone, Input, Needs, Room, SettingError, Sizes, index};

#[derive(Debug)]
pub(super) struct Belady<const BYPASS: bool = false> {
    /// For each object whether it is inside.
    inside: Vec<bool>,
    /// Next uses of what is inside, but for the greatest. Those that are past stay in it: they
    /// are below all that is still to come.
    near: Indices,
    far: Far,
    /// What is inside, and never used again.
    never: Vec<u32>,
    used: u64,
    capacity: u64,
}

impl<const BYPASS: bool> Eviction for Belady<BYPASS> {
    const NAME: &'static str = if BYPASS { "belady-bypass" } else { "belady" };
    const ABOUT: &'static str =
        "what is used next the latest leaves (Belady, 1966); a bound for objects of one size";
    const NEEDS: Needs = Needs { next: true, seconds: false };

    fn new(room: &Room<'_>) -> Result<Self, SettingError> {
        Ok(Self {
            inside: vec![false; room.objects],
            near: Indices::default(),
            far: Far::default(),
            never: Vec::new(),
            used: 0,
            capacity: room.capacity,
        })
    }

    #[inline(always)]
    fn hit<S: Sizes>(&mut self, input: &Input<'_, S>, at: usize) -> bool {
        let inside = self.near.has(at) || self.far.take_least_if(index(at));
        if inside {
            self.note(input, at);
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
            if BYPASS && self.is_latest(input, at) {
                return;
            }
            let Some(victim) = self.victim(input.requests, at) else { break };
            self.inside[victim as usize] = false;
            self.used -= input.size(victim);
            gone.gone(victim);
        }
        self.used += size;
        self.inside[object as usize] = true;
        self.note(input, at);
    }

    fn contains(&self, object: u32) -> bool {
        self.inside[object as usize]
    }

    #[inline(always)]
    fn prefetch(&self, object: u32) {
        fetch(&self.inside, object);
    }

    fn memory_bytes(&self) -> usize {
        let never = self.never.capacity() * size_of::<u32>();
        self.inside.capacity() + self.near.memory_bytes() + never
    }
}

impl<const BYPASS: bool> Belady<BYPASS> {
    /// The object of request `at` is inside now, until its next use.
    #[inline(always)]
    fn note<S: Sizes>(&mut self, input: &Input<'_, S>, at: usize) {
        let (next, object) = (input.next[at], input.requests[at]);
        if next == NEVER {
            self.never.push(object);
            return;
        }
        let mut near = |next: u32| self.near.add(next as usize, input.requests.len());
        if next > self.far.least() && self.far.is_full() {
            self.far.spill(&mut near);
        }
        // Again, as the least is another after a spill.
        if next > self.far.least() {
            self.far.add(Use { next, object });
        } else {
            near(next);
        }
    }

    /// Whether the object of request `at` is used next later than all that is inside, or never.
    #[inline(always)]
    fn is_latest<S: Sizes>(&mut self, input: &Input<'_, S>, at: usize) -> bool {
        let next = input.next[at];
        if next == NEVER || !self.never.is_empty() {
            return next == NEVER;
        }
        if self.far.count == 0 {
            self.refill(input.requests, at);
        }
        self.far.greatest().is_some_and(|greatest| next > greatest)
    }

    #[inline(always)]
    fn victim(&mut self, requests: &[u32], at: usize) -> Option<u32> {
        if let Some(victim) = self.never.pop() {
            return Some(victim);
        }
        if self.far.count == 0 {
            self.refill(requests, at);
        }
        self.far.pop()
    }

    #[inline(never)]
    fn refill(&mut self, requests: &[u32], at: usize) {
        let mut uses = [Use { next: 0, object: 0 }; HALF];
        let mut count = 0;
        for place in &mut uses {
            match self.near.take_highest() {
                Some(next) if next > at => *place = Use { next: index(next), object: 0 },
                _ => break,
            }
            count += 1;
        }
        // Together, so that memory is asked for all of them at once.
        for one in &mut uses[..count] {
            one.object = requests[one.next as usize];
        }
        uses[..count].reverse();
        self.far.uses[..HALF].copy_from_slice(&uses);
        self.far.count = count;
    }
}

/// The most objects that stand aside, and how many change sides at once.
const MOST: usize = 2 * HALF;
const HALF: usize = 4;

/// An object that is inside, and its next use.
#[derive(Debug, Clone, Copy, Default)]
struct Use {
    next: u32,
    object: u32,
}

/// Those that are used the latest, in order.
#[derive(Debug, Default)]
struct Far {
    uses: [Use; MOST],
    count: usize,
}

impl Far {
    /// The least next use; [`NEVER`] where there is none.
    #[inline(always)]
    fn least(&self) -> u32 {
        if self.count == 0 { NEVER } else { self.uses[0].next }
    }

    /// The greatest next use.
    #[inline(always)]
    fn greatest(&self) -> Option<u32> {
        self.uses[..self.count].last().map(|one| one.next)
    }

    #[inline(always)]
    fn is_full(&self) -> bool {
        self.count == MOST
    }

    /// Adds one that is not the least; there must be room.
    #[inline(always)]
    fn add(&mut self, new: Use) {
        let mut at = self.count;
        while at > 0 && self.uses[at - 1].next > new.next {
            self.uses[at] = self.uses[at - 1];
            at -= 1;
        }
        self.uses[at] = new;
        self.count += 1;
    }

    /// Takes the object of the greatest.
    #[inline(always)]
    fn pop(&mut self) -> Option<u32> {
        self.count = self.count.checked_sub(1)?;
        Some(self.uses[self.count].object)
    }

    /// Takes the least where this is its next use; whether it is.
    #[inline(always)]
    fn take_least_if(&mut self, next: u32) -> bool {
        let found = self.least() == next;
        if found {
            self.uses.copy_within(1.., 0);
            self.count -= 1;
        }
        found
    }

    /// Gives away the lesser half of all that can be.
    #[inline(always)]
    fn spill(&mut self, mut to: impl FnMut(u32)) {
        self.uses[..HALF].iter().for_each(|one| to(one.next));
        self.uses.copy_within(HALF.., 0);
        self.count -= HALF;
    }
}
