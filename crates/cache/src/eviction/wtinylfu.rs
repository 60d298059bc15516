//! W-TinyLFU (Einziger, Friedman and Manes, ACM Transactions on Storage 13(4), 2017, section 4): a
//! small LRU window for what comes in, and a main part that takes what leaves the window only
//! where it is asked for more often than what would leave the main part for it.
//!
//! As libCacheSim has it: a window of 1%, a main part that is a segmented LRU of 20% and 80%, no
//! doorkeeper. Requests count in a [`Sketch`] when they miss, when they hit in the main part, and
//! once more when an object comes to the end of the window. All counts are halved after as many
//! hits in the main part as it has room for objects (or bytes), 32 times. An object larger than
//! the window, or than 20% of the main part, is refused.

use super::queues::Queues;
use super::segments::Segments;
use super::sketch::Sketch;
use super::{Eviction, Gone, Input, Room, SettingError, Sizes};

/// The queue after the two segments of the main part.
const WINDOW: usize = 2;

/// Hits in the main part between two halvings, for each of its places.
const SAMPLE: u64 = 32;

#[derive(Debug)]
pub(super) struct WTinyLfu {
    queues: Queues<3>,
    main: Segments,
    sketch: Sketch,
    /// Until counts are halved.
    hits_left: u64,
    largest: u64,
    main_room: u64,
    capacity: u64,
    /// What left at a hit, and was not told yet.
    left: Vec<u32>,
}

impl Eviction for WTinyLfu {
    const NAME: &'static str = "wtinylfu";
    const ABOUT: &'static str = "a window and a frequency filter before a segmented LRU \
                                 (Einziger et al., TOS 2017); no object above 1%";

    fn new(room: &Room<'_>) -> Result<Self, SettingError> {
        let window = (room.capacity / 100).max(1);
        let main_room = room.capacity - window;
        let main = Segments::new(&[main_room / 5, main_room * 4 / 5]);
        Ok(Self {
            queues: Queues::new(room.objects),
            largest: window.min(main.largest()),
            main,
            sketch: Sketch::new(main_room, room.objects),
            hits_left: sample(main_room),
            main_room,
            capacity: room.capacity,
            left: Vec::new(),
        })
    }

    #[inline(always)]
    fn hit<S: Sizes>(&mut self, input: &Input<'_, S>, at: usize) -> bool {
        let object = input.requests[at];
        let Some(queue) = self.queues.queue_of(object) else { return false };
        if queue == WINDOW {
            self.queues.shift(WINDOW, object, input.size(object));
            return true;
        }
        self.main.ask(&mut self.queues, input, (queue, object), &mut self.left);
        self.sketch.add(object);
        self.hits_left -= 1;
        if self.hits_left == 0 {
            self.hits_left = sample(self.main_room);
            self.sketch.halve();
        }
        true
    }

    #[inline(always)]
    fn insert<S: Sizes>(&mut self, input: &Input<'_, S>, at: usize, gone: &mut impl Gone) {
        self.settle(gone);
        let object = input.requests[at];
        let size = input.size(object);
        if size > self.largest {
            return;
        }
        while self.used() > self.capacity - size {
            self.evict(input, gone);
        }
        self.queues.push(WINDOW, object, size);
        self.sketch.add(object);
    }

    #[inline(always)]
    fn settle(&mut self, gone: &mut impl Gone) {
        self.left.drain(..).for_each(|object| gone.gone(object));
    }

    fn contains(&self, object: u32) -> bool {
        self.queues.queue_of(object).is_some()
    }

    #[inline(always)]
    fn prefetch(&self, object: u32) {
        self.queues.prefetch(object);
    }

    fn memory_bytes(&self) -> usize {
        let left = self.left.capacity() * size_of::<u32>();
        self.queues.memory_bytes() + self.sketch.memory_bytes() + left
    }
}

impl WTinyLfu {
    #[inline(always)]
    fn used(&self) -> u64 {
        self.main.used(&self.queues) + self.queues.used(WINDOW)
    }

    /// Has one object leave, or several of the main part where sizes differ.
    #[inline(always)]
    fn evict<S: Sizes>(&mut self, input: &Input<'_, S>, gone: &mut impl Gone) {
        while self.queues.used(WINDOW) > 0 {
            let Some(candidate) = self.queues.front(WINDOW) else { return };
            let size = input.size(candidate);
            self.queues.take(candidate, size);
            let fits = self.main.used(&self.queues) + size <= self.main_room;
            let admitted = fits || self.is_wanted(candidate);
            if admitted {
                if !fits {
                    self.main.evict(&mut self.queues, input, gone);
                }
                self.put_into_main(candidate, input, gone);
            } else {
                gone.gone(candidate);
            }
            self.sketch.add(candidate);
            if !fits {
                return;
            }
        }
        self.main.evict(&mut self.queues, input, gone);
    }

    /// Whether an object is asked for more often than what would leave the main part for it.
    #[inline(always)]
    fn is_wanted(&mut self, candidate: u32) -> bool {
        let victim = self.main.victim(&mut self.queues);
        victim.is_some_and(|victim| self.sketch.estimate(candidate) > self.sketch.estimate(victim))
    }

    /// To the lowest segment that has room; where none has, what is in the way leaves.
    #[inline(always)]
    fn put_into_main<S: Sizes>(&mut self, object: u32, input: &Input<'_, S>, gone: &mut impl Gone) {
        let size = input.size(object);
        let segment = self.main.with_room(&self.queues, size);
        if segment.is_none() {
            while self.main.used(&self.queues) > self.main_room - size
                && self.main.evict(&mut self.queues, input, gone)
            {}
        }
        self.queues.push(segment.unwrap_or(0), object, size);
    }
}

#[inline(always)]
fn sample(main_room: u64) -> u64 {
    main_room.saturating_mul(SAMPLE).max(1)
}
