//! ARC, the adaptive replacement cache (Megiddo and Modha, FAST 2003, figure 4): objects asked for
//! once (`T1`) and more often (`T2`), each with ghosts (`B1`, `B2`) of what left it, and a target
//! for the size of `T1` that every ghost asked for moves its way.
//!
//! As libCacheSim has it for objects of any size: the target is a real number and moves by the
//! ratio of the ghosts' bytes, at least by one; an object new to all four lists makes room by case
//! IV of the figure, once for each object that leaves.

use super::queues::Queues;
use super::{Eviction, Gone, Input, Room, SettingError, Sizes};

/// Asked for once, and again; what left those.
const T1: usize = 0;
const T2: usize = 1;
const B1: usize = 2;
const B2: usize = 3;

#[derive(Debug)]
pub(super) struct Arc {
    queues: Queues<4>,
    /// `p`: what `T1` should take.
    target: f64,
    capacity: u64,
}

impl Eviction for Arc {
    const NAME: &'static str = "arc";
    const ABOUT: &'static str =
        "adapts between recency and frequency by ghosts (Megiddo and Modha, FAST 2003)";

    fn new(room: &Room<'_>) -> Result<Self, SettingError> {
        Ok(Self { queues: Queues::new(room.objects), target: 0.0, capacity: room.capacity })
    }

    #[inline(always)]
    fn hit<S: Sizes>(&mut self, input: &Input<'_, S>, at: usize) -> bool {
        let object = input.requests[at];
        let inside = self.contains(object);
        if inside {
            self.queues.shift(T2, object, input.size(object));
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
        let ghost = self.queues.queue_of(object);
        if let Some(ghost) = ghost {
            self.adapt(ghost);
            self.queues.take(object, size);
        }
        while self.queues.used(T1) + self.queues.used(T2) > self.capacity - size {
            match ghost {
                Some(ghost) => self.replace(ghost == B2, input, gone),
                None => self.make_room(size, input, gone),
            }
        }
        self.queues.push(if ghost.is_some() { T2 } else { T1 }, object, size);
    }

    #[inline(always)]
    fn contains(&self, object: u32) -> bool {
        self.queues.queue_of(object).is_some_and(|queue| queue < B1)
    }

    #[inline(always)]
    fn prefetch(&self, object: u32) {
        self.queues.prefetch(object);
    }

    fn memory_bytes(&self) -> usize {
        self.queues.memory_bytes()
    }
}

impl Arc {
    /// Moves the target towards the list whose ghost was asked for: cases II and III.
    #[expect(clippy::cast_precision_loss, reason = "bytes of a cache, as libCacheSim divides")]
    #[inline(always)]
    fn adapt(&mut self, ghost: usize) {
        let other = if ghost == B1 { B2 } else { B1 };
        // Objects of no bytes may be all there is: what is no number is less than one.
        let ratio = self.queues.used(other) as f64 / self.queues.used(ghost) as f64;
        let step = ratio.max(1.0);
        self.target = if ghost == B1 {
            (self.target + step).min(self.capacity as f64)
        } else {
            (self.target - step).max(0.0)
        };
    }

    /// The procedure REPLACE: one object of `T1` or `T2` becomes a ghost.
    #[expect(clippy::cast_precision_loss, reason = "bytes of a cache, as libCacheSim compares")]
    #[inline(always)]
    fn replace<S: Sizes>(&mut self, of_b2: bool, input: &Input<'_, S>, gone: &mut impl Gone) {
        let once = self.queues.used(T1) as f64;
        let above = once > self.target || (of_b2 && once >= self.target);
        let (from, to) =
            if (once > 0.0 && above) || self.queues.used(T2) == 0 { (T1, B1) } else { (T2, B2) };
        if let Some(victim) = self.queues.front(from) {
            self.queues.shift(to, victim, input.size(victim));
            gone.gone(victim);
        }
    }

    /// Case IV: for an object of this size that none of the lists knows.
    #[inline(always)]
    fn make_room<S: Sizes>(&mut self, size: u64, input: &Input<'_, S>, gone: &mut impl Gone) {
        let used = |queue| self.queues.used(queue);
        let once = used(T1) + used(B1);
        if once + size > self.capacity {
            if used(B1) > 0 {
                self.forget(B1, input);
                self.replace(false, input, gone);
            } else if let Some(victim) = self.queues.front(T1) {
                self.queues.take(victim, input.size(victim));
                gone.gone(victim);
            }
        } else {
            if once + used(T2) + used(B2) >= self.capacity.saturating_mul(2) {
                self.forget(B2, input);
            }
            self.replace(false, input, gone);
        }
    }

    #[inline(always)]
    fn forget<S: Sizes>(&mut self, ghosts: usize, input: &Input<'_, S>) {
        if let Some(ghost) = self.queues.front(ghosts) {
            self.queues.take(ghost, input.size(ghost));
        }
    }
}
