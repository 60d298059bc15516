//! The next departure of each of many places, and the earliest of those that have come.
//!
//! Up to 64 places nothing is ordered: all times are compared with the present at once, as a mask
//! with a bit a place, and a change is one number stored. That is less work than a tree, as there
//! is one comparison of all for each arrival but two changes. It can be made before the last
//! change, which corrects it: then nothing waits for it. More places are in a [`Winner`] tree. With
//! AVX2, which is looked for at run time, four times are compared by one instruction.

use super::compare::has_vectors;
use super::winner::Winner;

/// Places of a mask.
const FEW: usize = 64;
/// The latest time: one more is the greatest of a signed comparison.
pub(super) const LATEST: u64 = i64::MAX as u64 - 1;

/// Times by place.
pub(super) enum Departures {
    /// Up to 64.
    Few(Box<Few>),
    /// Any number.
    Many(Winner),
}

/// Up to 64 times.
pub(super) struct Few {
    times: [u64; FEW],
    /// The places that have one.
    busy: u64,
    /// Those that have come by the time that was looked for last.
    come: u64,
    looked: u64,
    has_vectors: bool,
}

impl Departures {
    /// No place has a time.
    pub(super) fn new() -> Self {
        Self::of(has_vectors())
    }

    fn of(has_vectors: bool) -> Self {
        Self::Few(Box::new(Few { times: [0; FEW], busy: 0, come: 0, looked: 0, has_vectors }))
    }

    /// Makes room for so many places; those that are there keep their times.
    pub(super) fn grow(&mut self, places: usize) {
        match self {
            Self::Few(_) if places <= FEW => {}
            Self::Few(few) => {
                let mut tree = Winner::new(places);
                for place in (0..FEW).filter(|place| few.busy >> place & 1 == 1) {
                    tree.set(place, Some(few.times[place]));
                }
                *self = Self::Many(tree);
            }
            Self::Many(tree) => tree.grow(places),
        }
    }

    /// Gives a place a time, or none.
    #[inline(always)]
    pub(super) fn set(&mut self, place: usize, at: Option<u64>) {
        match self {
            Self::Few(few) => match at {
                Some(at) => few.set(place % FEW, at),
                None => few.clear(place % FEW),
            },
            Self::Many(tree) => tree.set(place, at),
        }
    }

    /// The place with the earliest time, where that is `now` or earlier; of several the first.
    #[inline(always)]
    pub(super) fn come(&mut self, now: u64) -> Option<(usize, u64)> {
        match self {
            Self::Few(few) => few.come(now),
            Self::Many(tree) => tree.come(now),
        }
    }
}

impl Few {
    #[inline(always)]
    pub(super) fn set(&mut self, place: usize, at: u64) {
        let bit = 1 << place;
        self.times[place] = at;
        self.busy |= bit;
        self.come &= !bit;
        // Seldom, as it is not yet: a branch is less than what it saves.
        if at <= self.looked {
            self.come |= bit;
        }
    }

    #[inline(always)]
    fn clear(&mut self, place: usize) {
        self.busy &= !(1 << place);
        self.come &= self.busy;
    }

    #[inline(always)]
    fn come(&mut self, now: u64) -> Option<(usize, u64)> {
        self.look(now);
        let come = self.come;
        if come == 0 {
            return None;
        }
        let first = come.trailing_zeros() as usize;
        let place = if come & (come - 1) == 0 { first } else { self.earliest() };
        Some((place, self.times[place]))
    }

    /// Takes the times of all away that have come: a bit each.
    #[inline(always)]
    pub(super) fn take_all(&mut self, now: u64) -> u64 {
        self.look(now);
        self.busy &= !self.come;
        std::mem::take(&mut self.come)
    }

    /// The earliest of several that have come.
    #[inline]
    fn earliest(&self) -> usize {
        let mut left = self.come;
        let mut earliest = left.trailing_zeros() as usize;
        left &= left - 1;
        while left != 0 {
            let other = left.trailing_zeros() as usize;
            left &= left - 1;
            let is_earlier = self.times[other] < self.times[earliest];
            earliest = std::hint::select_unpredictable(is_earlier, other, earliest);
        }
        earliest
    }

    /// Compares all times with one that will be asked for.
    #[inline(always)]
    pub(super) fn look(&mut self, now: u64) {
        let now = now.min(LATEST);
        if now != self.looked {
            self.looked = now;
            self.come = self.busy & self.compare(now);
        }
    }

    #[inline(always)]
    fn compare(&self, now: u64) -> u64 {
        // Low places are taken first, as a rule.
        let places = FEW - self.busy.leading_zeros() as usize;
        #[cfg(target_arch = "x86_64")]
        if self.has_vectors {
            #[expect(unsafe_code, reason = "vector instructions")]
            // SAFETY: the machine has them.
            return unsafe { come_avx2(&self.times, places, now) };
        }
        come(&self.times, places, now)
    }
}

/// Which of the first so many times have come: a bit each.
fn come(times: &[u64; FEW], places: usize, now: u64) -> u64 {
    let times = times.iter().take(places).enumerate();
    times.fold(0, |come, (place, &at)| come | u64::from(at <= now) << place)
}

/// The same by vector instructions. Times and `now` are at most [`LATEST`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn come_avx2(times: &[u64; FEW], places: usize, now: u64) -> u64 {
    use std::arch::x86_64::{
        _mm256_castsi256_pd, _mm256_cmpgt_epi64, _mm256_loadu_si256, _mm256_movemask_pd,
        _mm256_set1_epi64x,
    };
    let after = _mm256_set1_epi64x(now.cast_signed() + 1);
    let four = |times: &[u64; 4]| {
        #[expect(unsafe_code, reason = "vector instructions")]
        // SAFETY: four numbers are a register.
        let times = unsafe { _mm256_loadu_si256(times.as_ptr().cast()) };
        let mask = _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpgt_epi64(after, times)));
        u64::from(mask.cast_unsigned())
    };
    let (eights, _) = times.as_chunks::<8>();
    let mut come = 0;
    for (n, eight) in eights.iter().take(places.div_ceil(8)).enumerate() {
        let (fours, _) = eight.as_chunks::<4>();
        come |= (four(&fours[0]) | four(&fours[1]) << 4) << (8 * n);
    }
    come
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_earliest_that_has_come_is_found_among_few_and_many(
            places in prop_oneof![1usize..65, 65usize..100],
            steps in prop::collection::vec(
                (0usize..100, prop::option::of(0u64..60), 0u64..3),
                1..200,
            ),
        ) {
            let mut ways = [Departures::of(false), Departures::of(has_vectors())];
            // Room is made on the way.
            ways.iter_mut().for_each(|way| way.grow(places.min(7)));
            let (mut times, mut now) = (vec![u64::MAX; places], 0);
            for (n, (place, after, gap)) in steps.into_iter().enumerate() {
                if n == 3 {
                    ways.iter_mut().for_each(|way| way.grow(places));
                }
                let place = place % if n < 3 { places.min(7) } else { places };
                now += gap;
                let at = after.map(|after| now + after);
                times[place] = at.unwrap_or(u64::MAX);
                let earliest = (0..places).map(|place| (times[place], place)).min();
                let wanted = earliest.filter(|&(at, _)| at <= now).map(|(at, place)| (place, at));
                for way in &mut ways {
                    way.set(place, at);
                    prop_assert_eq!(way.come(now), wanted);
                }
                if let Some((place, _)) = wanted {
                    times[place] = u64::MAX;
                    ways.iter_mut().for_each(|way| way.set(place, None));
                }
            }
        }
    }
}
