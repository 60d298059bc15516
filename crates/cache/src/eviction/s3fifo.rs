//! S3-FIFO (Yang et al., SOSP 2023, section 4): a small queue that most objects leave soon, a main
//! queue of those asked for twice more, and a ghost queue that remembers what left the small one.
//!
//! As libcachesim 0.3.5 has it: 10% of the capacity for the small queue, ghosts of 90%, and until
//! the first eviction an object goes to the main queue where the small one is full. An object
//! larger than the small queue is refused; one exactly as large is taken (theirs evicts for it, and
//! drops it).

use crate::prefetch::fetch;

use super::ring::Ring;
use super::{Eviction, Gone, Input, Room, SettingError, Sizes};

/// Where an object is: bits 0 and 1 of its state. A ghost bit stands beside.
const WHERE: u8 = 0b0000_0011;
const SMALL: u8 = 0b0000_0001;
const MAIN: u8 = 0b0000_0010;
const GHOST: u8 = 0b0000_0100;
/// One request, and the most that are counted: bits 3 and 4.
const ASKED: u8 = 0b0000_1000;
const MOST_ASKED: u8 = 0b0001_1000;

/// So often an object must be asked for in the small queue to be moved to the main one.
const TO_MAIN: u8 = 2 * ASKED;

const SMALL_SHARE: f64 = 0.10;
const GHOST_SHARE: f64 = 0.90;

#[derive(Debug)]
pub(super) struct S3Fifo {
    state: Vec<u8>,
    small: Part,
    main: Part,
    ghosts: Ghosts,
    capacity: u64,
    evicted: bool,
}

/// A queue and what it holds and may hold.
#[derive(Debug)]
struct Part {
    queue: Ring,
    used: u64,
    capacity: u64,
}

impl Part {
    fn new(capacity: u64) -> Self {
        Self { queue: Ring::new(), used: 0, capacity }
    }

    #[inline(always)]
    fn push(&mut self, object: u32, size: u64) {
        self.queue.push(object);
        self.used += size;
    }
}

impl Eviction for S3Fifo {
    const NAME: &'static str = "s3fifo";
    const ABOUT: &'static str =
        "a small, a main and a ghost queue (Yang et al., SOSP 2023), as libcachesim 0.3.5";

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of it")]
    #[expect(clippy::cast_precision_loss, reason = "as libcachesim multiplies")]
    fn new(room: &Room<'_>) -> Result<Self, SettingError> {
        let share = |share: f64| (room.capacity as f64 * share) as u64;
        let small = share(SMALL_SHARE).max(1).min(room.capacity);
        Ok(Self {
            state: vec![0; room.objects],
            small: Part::new(small),
            main: Part::new(room.capacity - small),
            ghosts: Ghosts {
                queue: Ring::new(),
                entry: vec![0; room.objects],
                live: 0,
                used: 0,
                capacity: share(GHOST_SHARE),
            },
            capacity: room.capacity,
            evicted: false,
        })
    }

    #[inline(always)]
    fn hit<S: Sizes>(&mut self, input: &Input<'_, S>, at: usize) -> bool {
        let state = &mut self.state[input.requests[at] as usize];
        let inside = *state & WHERE != 0;
        // Without a branch: what is not inside, or was asked for often enough, stays as it is.
        let counts = inside & (*state < MOST_ASKED);
        *state += u8::from(counts) * ASKED;
        inside
    }

    #[inline(always)]
    fn insert<S: Sizes>(&mut self, input: &Input<'_, S>, at: usize, gone: &mut impl Gone) {
        let object = input.requests[at];
        let size = input.size(object);
        if size > self.small.capacity {
            return;
        }
        let remembered = self.ghosts.forget(&mut self.state, object, size);
        while self.small.used + self.main.used > self.capacity - size {
            self.evicted = true;
            if self.main.used > self.main.capacity || self.small.used == 0 {
                self.evict_main(input, gone);
            } else {
                self.evict_small(input, gone);
            }
        }
        let small_is_full = !self.evicted && self.small.used >= self.small.capacity;
        let (part, place) = if remembered || small_is_full {
            (&mut self.main, MAIN)
        } else {
            (&mut self.small, SMALL)
        };
        part.push(object, size);
        self.state[object as usize] = place;
    }

    fn contains(&self, object: u32) -> bool {
        self.state[object as usize] & WHERE != 0
    }

    #[inline(always)]
    fn prefetch(&self, object: u32) {
        fetch(&self.state, object);
    }

    fn memory_bytes(&self) -> usize {
        let queues = [&self.small.queue, &self.main.queue, &self.ghosts.queue];
        let queues: usize = queues.iter().map(|queue| queue.memory_bytes()).sum();
        self.state.capacity() + self.ghosts.entry.capacity() * size_of::<u32>() + queues
    }
}

impl S3Fifo {
    /// Moves what was asked for to the main queue, up to one that leaves and is remembered.
    #[inline(always)]
    fn evict_small<S: Sizes>(&mut self, input: &Input<'_, S>, gone: &mut impl Gone) {
        while self.small.used > 0 {
            let Some(object) = self.small.queue.pop() else { return };
            self.small.queue.prefetch(&self.state);
            let size = input.size(object);
            self.small.used -= size;
            let state = &mut self.state[object as usize];
            if *state & MOST_ASKED >= TO_MAIN {
                *state = MAIN;
                self.main.push(object, size);
            } else {
                *state = 0;
                self.ghosts.remember(&mut self.state, object, input);
                gone.gone(object);
                return;
            }
        }
    }

    /// Puts what was asked for to the back, asked for once less, up to one that was not.
    #[inline(always)]
    fn evict_main<S: Sizes>(&mut self, input: &Input<'_, S>, gone: &mut impl Gone) {
        while let Some(object) = self.main.queue.pop() {
            self.main.queue.prefetch(&self.state);
            let state = &mut self.state[object as usize];
            if *state >= ASKED {
                *state -= ASKED;
                self.main.queue.push(object);
            } else {
                *state = 0;
                self.main.used -= input.size(object);
                gone.gone(object);
                return;
            }
        }
    }
}

/// What left the small queue, oldest first, as much of it as would fill 90% of the cache.
///
/// An object that comes back is forgotten where it stands: its entry stays in the queue, and is
/// known as void by its number, which is not the one that the object has.
#[derive(Debug)]
struct Ghosts {
    queue: Ring,
    /// The number of each object's entry, where it has the ghost bit.
    entry: Vec<u32>,
    /// Entries that are not void.
    live: usize,
    used: u64,
    capacity: u64,
}

impl Ghosts {
    /// Whether the object was remembered; it is no longer.
    #[inline(always)]
    fn forget(&mut self, state: &mut [u8], object: u32, size: u64) -> bool {
        let state = &mut state[object as usize];
        let remembered = *state & GHOST != 0;
        if remembered {
            *state = 0;
            self.used -= size;
            self.live -= 1;
        }
        remembered
    }

    #[inline(always)]
    fn remember<S: Sizes>(&mut self, state: &mut [u8], object: u32, input: &Input<'_, S>) {
        let size = input.size(object);
        if size > self.capacity {
            return;
        }
        while self.used > self.capacity - size {
            let number = self.queue.front_number();
            let Some(oldest) = self.queue.pop() else { break };
            self.queue.prefetch(state);
            self.queue.prefetch(&self.entry);
            if is_live(state, &self.entry, oldest, number) {
                self.forget(state, oldest, input.size(oldest));
            }
        }
        if self.queue.len() > 2 * self.live + 1024 {
            self.drop_void(state);
        }
        self.entry[object as usize] = self.queue.push(object);
        state[object as usize] = GHOST;
        self.used += size;
        self.live += 1;
    }

    /// Void entries are as many as live ones: the rest moves up, at a cost that is theirs.
    #[cold]
    fn drop_void(&mut self, state: &[u8]) {
        let mut number = self.queue.front_number();
        let mut kept = Ring::new();
        for object in self.queue.iter() {
            if is_live(state, &self.entry, object, number) {
                self.entry[object as usize] = kept.push(object);
            }
            number = number.wrapping_add(1);
        }
        self.queue = kept;
    }
}

#[inline(always)]
fn is_live(state: &[u8], entry: &[u32], object: u32, number: u32) -> bool {
    state[object as usize] & GHOST != 0 && entry[object as usize] == number
}
