//! The order of ranks in a closed population while it drifts.

use super::population::Drift;
use crate::random::Stream;

/// Which object has which rank, both from zero.
#[derive(Debug, Clone)]
pub(super) struct Order {
    objects: Vec<u32>,
    moved: u32,
    every: u64,
    /// Requests until the next change.
    left: u64,
    draws: Stream,
}

impl Order {
    /// At first object k has rank k.
    pub(super) fn new(objects: u32, drift: Drift, seed: u64) -> Self {
        Self {
            objects: (0..objects).collect(),
            moved: drift.moved(objects),
            every: drift.every,
            left: drift.every,
            draws: Stream::named(seed, "objects.drift"),
        }
    }

    /// The object of a rank, for one request.
    #[inline]
    pub(super) fn object(&mut self, rank: u32) -> u32 {
        if self.left == 0 {
            self.change();
            self.left = self.every;
        }
        self.left -= 1;
        self.objects[rank as usize]
    }

    /// Moves some objects round one place, in a row of ranks without repetition.
    #[cold]
    fn change(&mut self) {
        let n = self.objects.len() as u64;
        if n < 2 {
            return;
        }
        let mut at = self.draws.below(n);
        // Without a common factor with n, a step visits every rank once before it comes back.
        let step = loop {
            let step = 1 + self.draws.below(n - 1);
            if common_factor(step, n) == 1 {
                break step;
            }
        };
        let first = at;
        for _ in 1..self.moved {
            let next = if at + step < n { at + step } else { at + step - n };
            self.objects.swap(place(at), place(next));
            at = next;
        }
        debug_assert!(self.moved < 2 || at != first, "a row of {} of {n} ranks", self.moved);
    }
}

#[expect(clippy::cast_possible_truncation, reason = "below the length of a vector")]
fn place(rank: u64) -> usize {
    rank as usize
}

/// The greatest common divisor.
pub(super) fn common_factor(a: u64, b: u64) -> u64 {
    let (mut a, mut b) = (a, b);
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_ranks_change_as_were_asked_for_and_each_object_keeps_one() {
        for (n, share, moved) in [(1000, 0.1, 100), (1000, 1.0, 1000), (7, 0.001, 2), (2, 1.0, 2)] {
            let mut order = Order::new(n, Drift { share, every: 1 }, 5);
            for _ in 0..20 {
                let before = order.objects.clone();
                order.change();
                let changed = before.iter().zip(&order.objects).filter(|(a, b)| a != b).count();
                assert_eq!(changed, moved);
                let mut sorted = order.objects.clone();
                sorted.sort_unstable();
                assert!(sorted.iter().copied().eq(0..n));
            }
        }
    }

    #[test]
    fn a_single_object_has_nowhere_to_go() {
        let mut order = Order::new(1, Drift { share: 1.0, every: 1 }, 5);
        assert!((0..10).all(|_| order.object(0) == 0));
    }

    #[test]
    fn common_factors_are_those_of_a_search() {
        for (a, b) in (1..40).flat_map(|a| (1..40).map(move |b| (a, b))) {
            let searched = (1..=a).rev().find(|d| a % d == 0 && b % d == 0);
            assert_eq!(Some(common_factor(a, b)), searched);
        }
    }
}
