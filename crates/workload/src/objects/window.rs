//! A drifting working set: which object holds which rank after so many have come.
//!
//! Ranks count from zero here. The first W objects hold the ranks of their own numbers. Object
//! W + j takes the rank j · a mod W; so the newest holder of rank k came at j = k · a⁻¹ mod W, or a
//! whole number of laps of W later. Nothing is stored.
//!
//! a is the whole number next to W / φ without a common factor with W: multiples of the golden
//! ratio fill the circle most evenly (three-distance theorem, Sós 1958), so no stretch of ranks
//! changes hands all at once.

use super::drift::common_factor;

/// The places of a working set of W objects.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window {
    size: u64,
    /// a⁻¹ modulo W.
    inverse: u64,
}

impl Window {
    /// Of `size` objects, at least one.
    pub(super) fn new(size: u32) -> Self {
        let size = u64::from(size);
        let step = step(size);
        Self { size, inverse: inverse(step, size) }
    }

    /// The object of a rank below `size`, after `came` objects have come, at least `size`.
    #[inline]
    pub(super) fn object(&self, rank: u32, came: u64) -> u64 {
        let rank = u64::from(rank);
        let later = came - self.size;
        // Both below 2^32.
        let turn = rank * self.inverse % self.size;
        if later > turn {
            let laps = (later - 1 - turn) / self.size;
            self.size + turn + laps * self.size
        } else {
            rank
        }
    }
}

/// The whole number next to W / φ without a common factor with W.
fn step(size: u64) -> u64 {
    // 2^64 / φ, rounded: the product's upper half is W / φ.
    let golden = u128::from(plimsoll_units::hash::GOLDEN);
    let near = ((golden * u128::from(size)) >> 64) as u64;
    (0..size)
        .flat_map(|away| [near.saturating_sub(away), near + away])
        .find(|&step| step > 0 && common_factor(step, size) == 1)
        .unwrap_or(1)
}

/// The number whose product with `step` is 1 modulo `size`: Euclid's extended algorithm.
fn inverse(step: u64, size: u64) -> u64 {
    let modulus = i128::from(size);
    let (mut old, mut rest) = (i128::from(step), modulus);
    let (mut factor, mut next) = (1_i128, 0_i128);
    while rest != 0 {
        let quotient = old / rest;
        (old, rest) = (rest, old - quotient * rest);
        (factor, next) = (next, factor - quotient * next);
    }
    u64::try_from(factor.rem_euclid(modulus)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_working_set_is_the_newest_and_ranks_are_taken_over() {
        for size in [1_u32, 2, 3, 4, 6, 7, 12, 30, 97, 100] {
            let window = Window::new(size);
            let wide = u64::from(size);
            let step = step(wide);
            let mut holders: Vec<u64> = (0..wide).collect();
            for came in wide..wide * 4 + 3 {
                let found: Vec<u64> = (0..size).map(|rank| window.object(rank, came)).collect();
                assert_eq!(found, holders, "{size} {came}");
                if came >= 2 * wide {
                    let mut sorted = found;
                    sorted.sort_unstable();
                    assert!(sorted.into_iter().eq(came - wide..came), "{size} {came}");
                }
                // What comes next takes its place, as the definition says.
                let place = usize::try_from((came - wide) * step % wide).unwrap();
                holders[place] = came;
            }
        }
    }

    #[test]
    fn high_ranks_change_hands_evenly() {
        // Of the first tenth of the ranks, each tenth of a lap replaces about a tenth.
        let size = 10_000_u64;
        let step = step(size);
        for tenth in 0..10 {
            let turns = tenth * 1000..(tenth + 1) * 1000;
            let replaced = turns.filter(|turn| turn * step % size < 1000).count();
            assert!((98..=102).contains(&replaced), "{tenth}: {replaced}");
        }
    }

    #[test]
    fn the_largest_window_fits() {
        let window = Window::new(u32::MAX);
        let came = u64::MAX;
        assert!(window.object(u32::MAX - 1, came) > came - 2 * u64::from(u32::MAX));
    }
}
