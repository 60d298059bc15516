//! The reference trace "cachelab trace v1": Zipf-like popularity (exponent 0.8), Pareto-like sizes,
//! made with integers alone, so that every implementation gives the same bits.
//!
//! - `weight(i)` is the greatest w with w^5 · i^4 ≤ 2^125: 2^25 / i^0.8, rounded down; `cum(i)` is
//!   the sum of the first i of them, and W that of all.
//! - SplitMix64 (Steele, Lea and Flood, OOPSLA 2014) from the seed gives u; the rank asked for is
//!   the smallest i with cum(i) > floor(u · W / 2^64).
//! - An object's number is `mix(rank)`, where `mix` is SplitMix64's last step. Its size: with
//!   h = mix(rank ^ A5A5…A5), e the zeros at the lower end of h, at most 12, and b = 1024 · 2^e,
//!   it is b + floor((h >> 32) · b / 2^32): 1 KiB to 8 MiB.
//! - 1000 requests a second.
//!
//! The rank is found through a guide table (Chen and Asmus, 1974): the first rank of each of many
//! equal parts of 0..W, from which few steps lead to the one sought.

use plimsoll_units::hash::{GOLDEN, mix};

use super::{Misfit, Names, SizeTable, Trace};

/// A reference trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reference {
    /// How many objects may be asked for.
    pub objects: u32,
    /// How many requests there are.
    pub requests: usize,
    /// Where the random numbers begin.
    pub seed: u64,
}

const REQUESTS_PER_SECOND: usize = 1000;

/// The mark of an object not asked for yet.
const UNSEEN: u32 = u32::MAX;

impl Reference {
    /// Makes the trace, with sizes and seconds.
    ///
    /// *Errors*: no objects, no requests, or more than a trace may have.
    ///
    /// *Determinism*: a function of the three numbers, on every machine.
    ///
    /// *Cost*: 8 bytes a request, 16 an object that may be asked for and 12 one that is.
    pub fn trace(&self) -> Result<Trace, Misfit> {
        if self.objects == 0 || self.requests == 0 || self.requests > super::MAX_REQUESTS {
            let Self { objects, requests, .. } = self;
            return Err(Misfit(format!("{requests} requests of {objects} objects")));
        }
        let ranks = Ranks::new(self.objects);
        let mut number_of = vec![UNSEEN; self.objects as usize];
        let mut requests = Vec::with_capacity(self.requests);
        let (mut names, mut sizes) = (Vec::new(), Vec::new());
        let mut state = self.seed;
        for _ in 0..self.requests {
            state = state.wrapping_add(GOLDEN);
            let place = ranks.place(mix(state));
            let number = &mut number_of[place as usize];
            if *number == UNSEEN {
                // Fewer objects than 2^32 - 1 fit into as many requests.
                *number = u32::try_from(names.len()).unwrap_or(UNSEEN);
                let rank = u64::from(place) + 1;
                names.push(mix(rank));
                sizes.push(size(rank));
            }
            requests.push(*number);
        }
        let mut seconds = Vec::with_capacity(self.requests);
        for second in 0..=u32::MAX {
            let left = self.requests - seconds.len();
            seconds.resize(seconds.len() + left.min(REQUESTS_PER_SECOND), second);
            if left <= REQUESTS_PER_SECOND {
                break;
            }
        }
        let trace = Trace::new(requests, Names::Numbers(names))?;
        trace.with_seconds(seconds)?.with_size_table(SizeTable::Narrow(sizes))
    }
}

/// Ranks, less one, by their share of 0..W.
struct Ranks {
    /// `cum(place + 1)`.
    cumulative: Vec<u64>,
    /// For each part of 0..W the place of its beginning.
    guide: Vec<u32>,
    /// A part is 2^shift long.
    shift: u32,
}

impl Ranks {
    fn new(objects: u32) -> Self {
        let mut sum = 0;
        let cumulative: Vec<u64> = (1..=u64::from(objects))
            .map(|rank| {
                sum += weight(rank);
                sum
            })
            .collect();
        // About as many parts as there are objects.
        let shift = (sum / u64::from(objects)).max(1).ilog2();
        let mut guide = Vec::new();
        let mut place = 0;
        for part in 0..=sum >> shift {
            while cumulative.get(place as usize).is_some_and(|&cum| cum <= part << shift) {
                place += 1;
            }
            guide.push(place);
        }
        Self { cumulative, guide, shift }
    }

    #[inline]
    fn place(&self, u: u64) -> u32 {
        let all = self.cumulative.last().copied().unwrap_or(0);
        let at = ((u128::from(u) * u128::from(all)) >> 64) as u64;
        let mut place = self.guide[(at >> self.shift) as usize];
        while self.cumulative[place as usize] <= at {
            place += 1;
        }
        place
    }
}

/// The weight of a rank: the greatest w with w^5 · rank^4 ≤ 2^125.
fn weight(rank: u64) -> u64 {
    let fourth = u128::from(rank).pow(4);
    let fits = |w: u64| {
        u128::from(w).pow(5).checked_mul(fourth).is_some_and(|product| product <= 1 << 125)
    };
    #[expect(clippy::cast_precision_loss, reason = "a first guess, set right below")]
    let guess = f64::from(1 << 25) / libm::pow(rank as f64, 0.8);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below 2^25 + 1")]
    let mut w = guess as u64;
    while fits(w + 1) {
        w += 1;
    }
    while !fits(w) {
        w -= 1;
    }
    w
}

/// The size of the object of a rank.
fn size(rank: u64) -> u32 {
    let h = mix(rank ^ 0xA5A5_A5A5_A5A5_A5A5);
    let e = (h | 1 << 63).trailing_zeros().min(12);
    let b = 1024 << e;
    #[expect(clippy::cast_possible_truncation, reason = "below 2^23")]
    let size = (b + (((h >> 32) * b) >> 32)) as u32;
    size
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_those_of_the_definition() {
        assert_eq!((weight(1), weight(1_000_000)), (33_554_432, 531));
        // Beyond 2^31.25 objects have no weight left.
        assert_eq!((weight(1 << 31), weight(u64::from(u32::MAX))), (1, 0));
        let ranks = Ranks::new(1_000_000);
        assert_eq!(ranks.cumulative.last(), Some(&2_509_610_742));
    }

    #[test]
    fn the_first_ranks() {
        let ranks = Ranks::new(1_000_000);
        let mut state = 42_u64;
        let first: Vec<u32> = (0..8)
            .map(|_| {
                state = state.wrapping_add(GOLDEN);
                ranks.place(mix(state)) + 1
            })
            .collect();
        assert_eq!(first, [246_858, 379, 3301, 8013, 7, 514_495, 1238, 352_379]);
        assert_eq!(mix(246_858), 0x89df_db46_4317_fa1f);
    }

    #[test]
    fn the_guide_leads_to_what_a_search_finds() {
        for objects in [1, 2, 3, 1000, 4097] {
            let ranks = Ranks::new(objects);
            let all = *ranks.cumulative.last().unwrap();
            let mut state = 7;
            let extremes = [0, u64::MAX, u64::MAX / all];
            let draws = extremes.into_iter().chain((0..5000).map(|_| {
                state += 0x9E37_79B9;
                mix(state)
            }));
            for u in draws {
                let at = u64::try_from((u128::from(u) * u128::from(all)) >> 64).unwrap();
                let expected = ranks.cumulative.partition_point(|&cum| cum <= at);
                assert_eq!(ranks.place(u) as usize, expected, "{objects} {u}");
            }
        }
    }

    #[test]
    fn nothing_is_refused() {
        for (objects, requests) in [(0, 1), (1, 0)] {
            assert!(Reference { objects, requests, seed: 1 }.trace().is_err());
        }
        let one = Reference { objects: 1, requests: 2500, seed: 1 }.trace().unwrap();
        assert_eq!((one.len(), one.distinct()), (2500, 1));
        assert_eq!(one.seconds().unwrap().last(), Some(&2));
    }
}
