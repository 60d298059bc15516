//! Where the level of a series changed: circular binary segmentation with permutation tests.
//!
//! A stretch of a series, anywhere in it, is held against all that lies outside of it, the series
//! taken as a circle; the statistic is the greatest part of the sum of squares that any such
//! stretch explains. Plain binary segmentation looks for one change at a time and misses a dip in
//! the middle, whose two edges outweigh each other; this finds both at once (Olshen, Venkatraman,
//! Lucito & Wigler, "Circular binary segmentation for the analysis of array-based DNA copy number
//! data", *Biostatistics* 5(4), 2004). As there, an edge that does not tell its two neighbours
//! apart by a test of its own is dropped. Segments that were told apart are divided further in the
//! same way.
//!
//! # False alarms
//!
//! The statistic is compared with those of random orders of the same values. A series without a
//! change, whose values are independent, is one of its own orders, so whatever the distribution the
//! probability that any change is found in it is at most the test's level. Values that depend on
//! their predecessors break that: a slow drift is taken for steps.
//!
//! # Determinism
//!
//! The orders come from a generator with a fixed seed: the same series gives the same answer.

use plimsoll_units::hash::{GOLDEN, mix};

/// Stretches shorter than this have no level: a single value is an outlier, not a change.
pub const SHORTEST: usize = 2;
/// Longer series are not looked at: the cost grows with their square.
pub const LONGEST: usize = 2000;
/// Orders a test draws.
const ORDERS: usize = 999;

/// A stretch of a series with one level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Segment {
    /// Its first value.
    pub from: usize,
    /// The value after its last.
    pub to: usize,
    /// The mean of its values.
    pub level: f64,
}

/// Divides a series where its level changed: at least one segment, in order, without a gap between
/// them; none for an empty series. A series longer than [`LONGEST`], or with what is no number, is
/// one segment.
///
/// `alpha` is the level of the tests: the share of series without a change in which one is found.
///
/// *Cost:* at most about 1,000·n² for each test; a test that cannot succeed any more ends early.
#[must_use]
pub fn segments(values: &[f64], alpha: f64) -> Vec<Segment> {
    let mut cuts = vec![0];
    if values.len() <= LONGEST && values.iter().all(|value| value.is_finite()) {
        let mut draws = Draws(0x5eed);
        divide(values, 0, alpha, &mut draws, &mut cuts);
    }
    cuts.push(values.len());
    cuts.sort_unstable();
    cuts.dedup();
    let pairs = cuts.windows(2).map(|two| (two[0], two[1]));
    pairs.map(|(from, to)| Segment { from, to, level: mean(&values[from..to]) }).collect()
}

#[expect(clippy::cast_precision_loss, reason = "a series is short")]
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Adds the changes within `values`, which begin at `offset` of the series.
fn divide(values: &[f64], offset: usize, alpha: f64, draws: &mut Draws, cuts: &mut Vec<usize>) {
    let n = values.len();
    let Some((arc, statistic)) = greatest(values) else { return };
    let mut shuffled = values.to_vec();
    let beaten = |draws: &mut Draws| {
        draws.shuffle(&mut shuffled);
        // A hair below, so that an order which is the same up to rounding counts as equal.
        greatest(&shuffled).is_some_and(|(_, other)| other >= statistic * (1.0 - 1e-12))
    };
    if !is_significant(alpha, draws, beaten) {
        return;
    }
    let (from, to) = arc;
    let mut edges = vec![];
    if from > 0 && (to == n || is_edge(&values[..to], from, alpha, draws)) {
        edges.push(from);
    }
    if to < n && (from == 0 || is_edge(&values[from..], to - from, alpha, draws)) {
        edges.push(to);
    }
    let ends: Vec<usize> = [0].into_iter().chain(edges.iter().copied()).chain([n]).collect();
    cuts.extend(edges.iter().map(|edge| offset + edge));
    if edges.is_empty() {
        return;
    }
    for two in ends.windows(2) {
        divide(&values[two[0]..two[1]], offset + two[0], alpha, draws, cuts);
    }
}

/// Whether the values before and after an edge differ in their means: a permutation test.
fn is_edge(values: &[f64], edge: usize, alpha: f64, draws: &mut Draws) -> bool {
    let gap = |values: &[f64]| (mean(&values[..edge]) - mean(&values[edge..])).abs();
    let found = gap(values);
    let mut shuffled = values.to_vec();
    is_significant(alpha, draws, |draws| {
        draws.shuffle(&mut shuffled);
        gap(&shuffled) >= found * (1.0 - 1e-12)
    })
}

/// Whether at most a share `alpha` of the orders, the series' own among them, does as well. Ends as
/// soon as it cannot be any more (Besag & Clifford 1991).
fn is_significant(
    alpha: f64,
    draws: &mut Draws,
    mut beaten: impl FnMut(&mut Draws) -> bool,
) -> bool {
    #[expect(clippy::cast_precision_loss, reason = "a thousand")]
    let most = alpha * (ORDERS + 1) as f64;
    let mut beating = 1.0;
    for _ in 0..ORDERS {
        if beating > most {
            return false;
        }
        beating += f64::from(u8::from(beaten(draws)));
    }
    beating <= most
}

/// The stretch that explains most of the sum of squares, and how much; `None` where nothing varies
/// or the values are too few to be divided.
fn greatest(values: &[f64]) -> Option<((usize, usize), f64)> {
    let n = values.len();
    if n < 2 * SHORTEST {
        return None;
    }
    let centre = mean(values);
    let mut sums = Vec::with_capacity(n + 1);
    sums.push(0.0);
    let mut sum = 0.0;
    for value in values {
        sum += value - centre;
        sums.push(sum);
    }
    let mut best = ((0, n), 0.0);
    for from in (0..=n - SHORTEST).filter(|&from| from == 0 || from >= SHORTEST) {
        for to in from + SHORTEST..=n {
            let (inside, left) = (to - from, n - to);
            if n - inside < SHORTEST || (left > 0 && left < SHORTEST) {
                continue;
            }
            let sum = sums[to] - sums[from];
            #[expect(clippy::cast_precision_loss, reason = "a series is short")]
            let explained = sum * sum * n as f64 / (inside * (n - inside)) as f64;
            if explained > best.1 {
                best = ((from, to), explained);
            }
        }
    }
    let square: f64 = values.iter().map(|value| (value - centre) * (value - centre)).sum();
    // What is only rounding is no change.
    (best.1 > 0.0 && square > (centre * centre) * 1e-24).then_some(best)
}

/// SplitMix64 (Steele, Lea & Flood 2014), for the orders of the tests.
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        mix(self.0)
    }

    /// Fisher and Yates' shuffle; an index by the high bits of a product (Lemire 2019, without the
    /// rejection, whose bias is below 2^-50 here).
    fn shuffle(&mut self, values: &mut [f64]) {
        for last in (1..values.len()).rev() {
            let product = u128::from(self.next()) * (last as u128 + 1);
            #[expect(clippy::cast_possible_truncation, reason = "at most `last`")]
            values.swap(last, (product >> 64) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cuts(values: &[f64]) -> Vec<usize> {
        segments(values, 0.01).iter().skip(1).map(|segment| segment.from).collect()
    }

    /// Two levels, with a little that is not noise but tells the values apart.
    fn series(levels: &[(usize, f64)]) -> Vec<f64> {
        let values = levels.iter().flat_map(|&(n, level)| std::iter::repeat_n(level, n));
        values.enumerate().map(|(at, value)| value + [0.1, -0.2, 0.3, -0.1, 0.0][at % 5]).collect()
    }

    #[test]
    fn a_dip_has_both_its_edges() {
        assert_eq!(cuts(&series(&[(30, 28.0), (6, 20.0), (30, 28.0)])), [30, 36]);
        assert_eq!(cuts(&series(&[(30, 28.0), (30, 20.0)])), [30]);
        assert_eq!(cuts(&series(&[(20, 28.0), (20, 20.0), (20, 35.0)])), [20, 40]);
    }

    #[test]
    fn a_single_value_is_no_change() {
        assert!(cuts(&series(&[(30, 28.0), (1, 10.0), (30, 28.0)])).is_empty());
    }

    #[test]
    fn what_does_not_vary_has_one_segment() {
        let one = segments(&[5.0; 40], 0.01);
        assert_eq!(one, [Segment { from: 0, to: 40, level: 5.0 }]);
        assert!(segments(&[], 0.01).is_empty());
        assert_eq!(segments(&[3.0], 0.01).len(), 1);
        assert_eq!(segments(&[1.0, 9.0, 1.0, 9.0, f64::NAN], 0.5).len(), 1);
    }

    #[test]
    fn thirteen_values_are_the_fewest_to_show_a_change() {
        // On a circle 10 of the 924 orders of six and six are as clear as this one, and 11 of the
        // 1,716 of six and seven: 1.1% and 0.6%.
        assert!(cuts(&series(&[(4, 28.0), (4, 5.0)])).is_empty());
        assert!(cuts(&series(&[(6, 28.0), (6, 5.0)])).is_empty());
        assert_eq!(cuts(&series(&[(6, 28.0), (7, 5.0)])), [6]);
    }
}
