//! A sample of a trace: all requests to some of its objects, chosen by a hash of their names.
//!
//! *Source*: spatially hashed sampling, Waldspurger, Park, Garthwaite and Ahmad, *Efficient MRC
//! construction with SHARDS*, FAST 2015, section 3. Names are hashed, never the numbers that a
//! trace gives to objects: two traces of one system sample the same objects.

use plimsoll_units::hash::{GOLDEN, fnv_1a, mix};

use super::{Names, SizeTable, Trace};

/// Which objects a sample has.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampling {
    rate: f64,
    seed: u64,
}

/// A share of objects that cannot be.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("expected a sampling rate above 0 and up to 1, found {0}")]
pub struct RateError(pub f64);

/// Hashes have as many bits as a float is exact for.
const HASH_BITS: u32 = 53;

impl Sampling {
    /// A share of the objects, above 0 and up to 1; another seed takes others.
    ///
    /// *Errors*: a rate out of range.
    pub fn new(rate: f64, seed: u64) -> Result<Self, RateError> {
        if rate > 0.0 && rate <= 1.0 { Ok(Self { rate, seed }) } else { Err(RateError(rate)) }
    }

    /// The share of the objects.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// Which of them.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Whether an object of this name is in the sample. A number and text never share a hash but
    /// by chance.
    fn takes(&self, names: &Names, object: u32) -> bool {
        let name = match names {
            Names::Numbers(numbers) => numbers[object as usize],
            Names::Text { .. } => fnv_1a(names.text(object).unwrap_or_default()),
        };
        let hash = mix(name ^ mix(self.seed.wrapping_add(GOLDEN)));
        #[expect(clippy::cast_precision_loss, reason = "53 bits")]
        let place = (hash >> (u64::BITS - HASH_BITS)) as f64;
        place < self.rate * (1u64 << HASH_BITS) as f64
    }
}

impl Trace {
    /// All requests to the objects of a sample, in order, objects numbered anew. Sizes, seconds,
    /// clients and names are what they were; seconds may start above zero, and some clients may
    /// not ask any more.
    ///
    /// *Determinism*: by the names of objects and the seed.
    ///
    /// *Cost*: one pass.
    #[must_use]
    pub fn sampled(&self, sampling: &Sampling) -> Self {
        let taken: Vec<bool> =
            (0..self.distinct).map(|object| sampling.takes(&self.names, object)).collect();
        self.of_objects(&taken)
    }

    /// All requests to the objects that are `taken`, in order, objects numbered anew; the rest as
    /// [`Trace::sampled`] has it.
    #[must_use]
    pub(crate) fn of_objects(&self, taken: &[bool]) -> Self {
        // The order of first appearance stays, so the new number is that of those taken before.
        let mut distinct = 0;
        let numbers: Vec<u32> = taken
            .iter()
            .map(|&taken| {
                distinct += u32::from(taken);
                distinct.saturating_sub(1)
            })
            .collect();
        let asked = |at: usize| taken[self.requests[at] as usize];
        let kept = |values: &Vec<u32>| -> Vec<u32> {
            let places = values.iter().enumerate().filter(|&(at, _)| asked(at));
            places.map(|(_, &value)| value).collect()
        };
        let mut requests = kept(&self.requests);
        for object in &mut requests {
            *object = numbers[*object as usize];
        }
        Self {
            requests,
            distinct,
            sizes: self.sizes.as_ref().map(|sizes| match sizes {
                SizeTable::Narrow(sizes) => SizeTable::Narrow(of_taken(sizes, taken)),
                SizeTable::Wide(sizes) => SizeTable::Wide(of_taken(sizes, taken)),
            }),
            seconds: self.seconds.as_ref().map(kept),
            clients: self.clients.as_ref().map(kept),
            names: self.names.of_taken(taken),
        }
    }
}

impl Names {
    fn of_taken(&self, taken: &[bool]) -> Self {
        if let Self::Numbers(numbers) = self {
            return Self::Numbers(of_taken(numbers, taken));
        }
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        for (object, _) in (0u32..).zip(taken).filter(|&(_, &taken)| taken) {
            bytes.extend_from_slice(self.text(object).unwrap_or_default());
            ends.push(bytes.len() as u64);
        }
        Self::Text { bytes, ends }
    }
}

fn of_taken<T: Copy>(values: &[T], taken: &[bool]) -> Vec<T> {
    values.iter().zip(taken).filter(|&(_, &taken)| taken).map(|(&value, _)| value).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::made;

    proptest! {
        #[test]
        fn a_sample_has_all_requests_to_its_objects(
            asked in proptest::collection::vec((0u32..60, 1u64..9), 1..400),
            rate in 0.01f64..=1.0,
            seed: u64,
        ) {
            let count = u32::try_from(asked.len()).unwrap();
            let whole = made::sized(&asked)
                .with_seconds((0..count).collect())
                .unwrap()
                .with_clients((0..count).map(|at| at % 3).collect())
                .unwrap();
            let sampling = Sampling::new(rate, seed).unwrap();
            let sample = whole.sampled(&sampling);
            let names = |trace: &Trace| match trace.names() {
                Names::Numbers(names) => names.clone(),
                Names::Text { .. } => unreachable!(),
            };
            let (before, after) = (names(&whole), names(&sample));
            // What was asked when, of which size, by whom: as a list, by name.
            let all = (0..whole.len()).map(|at| {
                let object = whole.requests()[at];
                let size = whole.sizes().unwrap().of(object);
                (before[object as usize], size, at, at % 3)
            });
            let wanted: Vec<_> = all.filter(|one| after.contains(&one.0)).collect();
            let found: Vec<_> = (0..sample.len()).map(|at| {
                let object = sample.requests()[at];
                let size = sample.sizes().unwrap().of(object);
                let second = sample.seconds().unwrap()[at] as usize;
                let client = sample.clients().unwrap()[at] as usize;
                (after[object as usize], size, second, client)
            }).collect();
            prop_assert_eq!(found, wanted);
            // What a reader would be told of it.
            let checked = Trace::new(sample.requests().to_vec(), sample.names().clone());
            prop_assert_eq!(checked.unwrap().distinct(), sample.distinct());
        }
    }

    #[test]
    fn names_decide_and_not_numbers() {
        let text = |names: &[&str]| {
            let bytes = names.concat().into_bytes();
            let mut end = 0;
            let ends = names.iter().map(|name| {
                end += name.len() as u64;
                end
            });
            let requests = (0..u32::try_from(names.len()).unwrap()).collect();
            Trace::new(requests, Names::Text { ends: ends.collect(), bytes }).unwrap()
        };
        let all: Vec<String> = (0..500).map(|number| format!("/page/{number}")).collect();
        let mut forth: Vec<&str> = all.iter().map(String::as_str).collect();
        let sampling = Sampling::new(0.3, 5).unwrap();
        let sorted = |trace: &Trace| {
            let name = |object| trace.names().text(object).unwrap().to_vec();
            let mut names: Vec<_> = (0..trace.distinct()).map(name).collect();
            names.sort();
            names
        };
        let first = sorted(&text(&forth).sampled(&sampling));
        forth.reverse();
        assert_eq!(sorted(&text(&forth).sampled(&sampling)), first);
        assert!((120..180).contains(&first.len()), "{} of 500", first.len());
        let other = sorted(&text(&forth).sampled(&Sampling::new(0.3, 6).unwrap()));
        assert_ne!(other, first);
    }

    #[test]
    fn a_rate_of_one_takes_all_and_other_rates_are_refused() {
        let trace = made::trace(&[3, 1, 3, 2]);
        assert_eq!(trace.sampled(&Sampling::new(1.0, 9).unwrap()), trace);
        for rate in [0.0, -0.1, 1.1, f64::NAN] {
            assert!(Sampling::new(rate, 0).is_err(), "{rate}");
        }
        let none = trace.sampled(&Sampling::new(1e-12, 0).unwrap());
        assert_eq!((none.len(), none.distinct(), none.names().len()), (0, 0, 0));
    }
}
