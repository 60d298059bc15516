//! Histograms as numbers, for who adds them up elsewhere: exact, and as short as what they hold.
//!
//! A histogram is a list of unsigned numbers: nothing of an empty one; else its least and greatest
//! value, the sum and the sum of squares (each as its upper and its lower 64 bits), and for each
//! bucket that counts something how many empty ones come before it, and its count.
//!
//! What is read was sent by somebody else: a list that no histogram has is refused.

use super::{Compact, Exact, Histogram, LEN, compact};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Extremes and sums come first.
const EXACT: usize = 6;

fn halves(value: u128) -> [u64; 2] {
    #[expect(clippy::cast_possible_truncation, reason = "the upper and the lower half")]
    [(value >> 64) as u64, value as u64]
}

fn whole(upper: u64, lower: u64) -> u128 {
    u128::from(upper) << 64 | u128::from(lower)
}

/// The numbers of occupied buckets, each an index and a count, in ascending order.
fn numbers(exact: Exact, buckets: impl Iterator<Item = (usize, u64)>) -> Vec<u64> {
    let ([sum, sum_low], [squares, squares_low]) = (halves(exact.sum), halves(exact.squares));
    let mut all = vec![exact.min, exact.max, sum, sum_low, squares, squares_low];
    let mut next = 0;
    for (index, count) in buckets.filter(|(_, count)| *count > 0) {
        all.extend([(index - next) as u64, count]);
        next = index + 1;
    }
    all
}

/// Extremes, sums and occupied buckets.
type Counts = (Exact, Vec<(usize, u64)>);

/// Reads them back; `None` of an empty one.
fn counts(all: &[u64], most: usize) -> Result<Option<Counts>, &'static str> {
    if all.is_empty() {
        return Ok(None);
    }
    let Some((&[min, max, sum, sum_low, squares, squares_low], rest)) =
        all.split_first_chunk::<EXACT>()
    else {
        return Err("a histogram without its extremes and sums");
    };
    let (pairs, []) = rest.as_chunks::<2>() else { return Err("a bucket without a count") };
    let (mut next, mut total) = (0_usize, 0_u64);
    let mut buckets = Vec::with_capacity(pairs.len());
    for &[empty, count] in pairs {
        let index = usize::try_from(empty).ok().and_then(|empty| next.checked_add(empty));
        let index = index.filter(|index| *index < most).ok_or("a bucket that there is not")?;
        total = total.checked_add(count).ok_or("more counts than can be counted")?;
        if count == 0 {
            return Err("an empty bucket");
        }
        buckets.push((index, count));
        next = index + 1;
    }
    if buckets.is_empty() {
        return Err("extremes of nothing");
    }
    let (sum, squares) = (whole(sum, sum_low), whole(squares, squares_low));
    Ok(Some((Exact { min, max, sum, squares }, buckets)))
}

impl Serialize for Histogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let all = self.exact().map(|exact| {
            let counts = self.occupied().zip(self.occupied_counts().iter().copied());
            numbers(exact, counts)
        });
        serializer.collect_seq(all.unwrap_or_default())
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let all = Vec::<u64>::deserialize(deserializer)?;
        let mut histogram = Self::new();
        let Some((exact, buckets)) = counts(&all, LEN).map_err(D::Error::custom)? else {
            return Ok(histogram);
        };
        for &(index, count) in &buckets {
            histogram.record_n(super::lowest_at(index), count);
        }
        if !histogram.restore(exact) {
            return Err(D::Error::custom("extremes or sums that its counts cannot have"));
        }
        Ok(histogram)
    }
}

impl Serialize for Compact {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let all = self.exact.map(|exact| {
            let counts = self.counts.iter().enumerate();
            numbers(exact, counts.map(|(at, &count)| (self.base + at, count)))
        });
        serializer.collect_seq(all.unwrap_or_default())
    }
}

impl<'de> Deserialize<'de> for Compact {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let all = Vec::<u64>::deserialize(deserializer)?;
        let read = counts(&all, compact::LEN).map_err(D::Error::custom)?;
        let Some((exact, buckets)) = read else { return Ok(Self::default()) };
        let mut fine = Histogram::new();
        for &(index, count) in &buckets {
            fine.record_n(compact::highest_at(index), count);
        }
        let ends = |min: u64, max: u64| (compact::index_of(min), compact::index_of(max));
        let of_counts = buckets.first().zip(buckets.last());
        if of_counts.map(|(first, last)| (first.0, last.0)) != Some(ends(exact.min, exact.max)) {
            return Err(D::Error::custom("extremes that its counts cannot have"));
        }
        Ok(Self::of(&fine, Some(exact)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::MAX_VALUE;
    use super::*;
    use proptest::prelude::*;

    fn any_value() -> impl Strategy<Value = u64> {
        prop_oneof![0..3_000_u64, 0..10_000_000_000_u64, Just(MAX_VALUE), Just(u64::MAX)]
    }

    proptest! {
        #[test]
        fn what_is_told_is_what_was_recorded(values in prop::collection::vec(any_value(), 0..200)) {
            let (mut fine, mut coarse) = (Histogram::new(), Compact::default());
            for &value in &values {
                fine.record(value);
                coarse.record(value);
            }
            let told = serde_json::to_string(&fine).unwrap();
            let back: Histogram = serde_json::from_str(&told).unwrap();
            prop_assert_eq!(back.exact(), fine.exact());
            prop_assert!(back.buckets().eq(fine.buckets()));
            let told = serde_json::to_string(&coarse).unwrap();
            let back: Compact = serde_json::from_str(&told).unwrap();
            prop_assert_eq!(back.exact(), coarse.exact());
            prop_assert!(back.to_histogram().buckets().eq(coarse.to_histogram().buckets()));
        }

        #[test]
        fn any_other_list_is_refused_or_a_histogram(
            list in prop::collection::vec(prop_oneof![0..50_u64, any::<u64>()], 0..20),
        ) {
            let told = serde_json::to_string(&list).unwrap();
            if let Ok(read) = serde_json::from_str::<Histogram>(&told) {
                prop_assert_eq!(serde_json::to_value(&read).unwrap(), serde_json::json!(list));
            }
            let _ = serde_json::from_str::<Compact>(&told);
        }
    }

    #[test]
    fn lists_that_contradict_themselves_are_refused() {
        for list in [
            "[1]",
            "[1,1,0,1,0,1]",
            "[1,1,0,1,0,1,1]",
            "[1,1,0,1,0,1,1,0]",
            "[5,5,0,1,0,1,1,1]",
            "[1,1,0,9,0,1,1,1]",
            "[1,1,0,1,0,1,99999999,1]",
        ] {
            assert!(serde_json::from_str::<Histogram>(list).is_err(), "{list}");
        }
        let one: Histogram = serde_json::from_str("[1,1,0,1,0,1,1,1]").unwrap();
        assert_eq!((one.count(), one.min()), (1, Some(1)));
    }
}
