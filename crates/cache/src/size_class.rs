//! Misses by the size of objects: a policy that favours small ones looks good by requests and bad
//! by bytes, and which objects it gives up for that is seen here only. Classes are powers of ten,
//! as people read sizes: below 10 B, 10 to 99 B, 100 to 999 B, from 1 kB, and so on.
//!
//! The class of each object is looked up once. A replay that does not ask for it is not touched;
//! one that does counts at misses only, as what was requested is the same for all replays.

use serde::{Deserialize, Serialize};

use crate::simulate::Total;
use crate::trace::{MAX_OBJECT_BYTES, SizeTable, Trace};

/// As many classes as [`MAX_OBJECT_BYTES`] has digits.
const CLASSES: usize = MAX_OBJECT_BYTES.ilog10() as usize + 1;

/// What was asked for and missed of objects of about one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SizeClass {
    /// The smallest of them have so many bytes at least: a power of ten, or 0.
    pub least_bytes: u64,
    /// The largest have fewer: ten times that.
    pub below_bytes: u64,
    /// Requests to them, and misses.
    pub total: Total,
}

/// The classes of a trace's objects, and what is requested of each.
#[derive(Debug)]
pub struct SizeClasses<'a> {
    sizes: &'a SizeTable,
    /// The class of each object.
    of: Vec<u8>,
    /// Without misses.
    requested: [Total; CLASSES],
}

impl<'a> SizeClasses<'a> {
    /// Those of a trace; `None` where it has no sizes.
    ///
    /// *Cost*: a byte an object, and a pass over objects and requests.
    #[must_use]
    pub fn new(trace: &'a Trace) -> Option<Self> {
        let sizes = trace.sizes()?;
        let of: Vec<u8> = (0..trace.distinct()).map(|object| class(sizes.of(object))).collect();
        let mut requested = [Total::default(); CLASSES];
        for &object in trace.requests() {
            let total = &mut requested[usize::from(of[object as usize])];
            total.requests += 1;
            total.requested_bytes += sizes.of(object);
        }
        Some(Self { sizes, of, requested })
    }
}

/// The digits of a size, less one.
#[expect(clippy::cast_possible_truncation, reason = "below 20")]
fn class(bytes: u64) -> u8 {
    bytes.checked_ilog10().unwrap_or(0) as u8
}

/// Misses of one replay by class.
#[derive(Debug)]
pub(crate) struct Tally<'a> {
    classes: &'a SizeClasses<'a>,
    totals: [Total; CLASSES],
}

impl<'a> Tally<'a> {
    pub(crate) fn new(classes: &'a SizeClasses<'a>) -> Self {
        Self { classes, totals: classes.requested }
    }

    /// A request to this object was a miss.
    pub(crate) fn missed(&mut self, object: u32) {
        let total = &mut self.totals[usize::from(self.classes.of[object as usize])];
        total.misses += 1;
        total.missed_bytes += self.classes.sizes.of(object);
    }

    /// All classes from the smallest to the largest that were requested.
    pub(crate) fn into_classes(self) -> Vec<SizeClass> {
        let (mut classes, mut below_bytes) = (Vec::new(), 1);
        for total in self.totals {
            let least_bytes = if below_bytes == 1 { 0 } else { below_bytes };
            below_bytes *= 10;
            classes.push(SizeClass { least_bytes, below_bytes, total });
        }
        let requested = |class: &SizeClass| class.total.requests > 0;
        let first = classes.iter().position(requested).unwrap_or(classes.len());
        let end = classes.iter().rposition(requested).map_or(0, |last| last + 1);
        classes.into_iter().take(end).skip(first).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::admission::Admission;
    use crate::capacity::{Capacity, Unit};
    use crate::eviction::{Kind, Settings};
    use crate::made;
    use crate::replay::{Job, replay};

    /// Misses of LRU by walking a list, each with the bytes of its object.
    fn lru_misses(asked: &[(u32, u64)], room: usize) -> Vec<u64> {
        let (mut inside, mut missed): (Vec<(u32, u64)>, _) = (Vec::new(), Vec::new());
        for &(object, _) in asked {
            let bytes = asked.iter().find(|(other, _)| *other == object).unwrap().1;
            let before = inside.len();
            inside.retain(|(other, _)| *other != object);
            if before == inside.len() {
                missed.push(bytes);
            }
            inside.insert(0, (object, bytes));
            inside.truncate(room);
        }
        missed
    }

    proptest! {
        #[test]
        fn classes_are_what_their_bounds_say(
            asked in proptest::collection::vec((0u32..30, 0u32..15, 1u64..10), 1..200),
            room in 1usize..20,
        ) {
            let size = |digits: u32, first: u64| (first * 10u64.pow(digits) / 10).min(1 << 48);
            let of = |&(object, digits, first)| (object, size(digits, first));
            let asked: Vec<(u32, u64)> = asked.iter().map(of).collect();
            let trace = made::sized(&asked);
            let classes = SizeClasses::new(&trace).unwrap();
            let settings = Settings::default();
            let capacity = Capacity { amount: room as u64, unit: Unit::Objects };
            let plain = Job {
                trace: &trace, next: &[], capacity, settings: &settings, admission: None,
                size_classes: None, marks: &[3, 70],
            };
            let lru = Kind::named("lru").unwrap();
            let counts = replay(lru, &Job { size_classes: Some(&classes), ..plain }).unwrap();
            let without = replay(lru, &plain).unwrap();
            prop_assert_eq!(&counts.stretches, &without.stretches);
            prop_assert_eq!(counts.evictions, without.evictions);
            prop_assert!(without.by_size.is_empty());
            let missed = lru_misses(&asked, room);
            let requested: Vec<u64> =
                trace.requests().iter().map(|&object| trace.sizes().unwrap().of(object)).collect();
            for class in &counts.by_size {
                let within = |sizes: &[u64]| {
                    let range = class.least_bytes..class.below_bytes;
                    let of = sizes.iter().copied().filter(|bytes| range.contains(bytes));
                    let of: Vec<u64> = of.collect();
                    (of.len() as u64, of.iter().sum::<u64>())
                };
                let total = class.total;
                prop_assert_eq!((total.misses, total.missed_bytes), within(&missed));
                prop_assert_eq!((total.requests, total.requested_bytes), within(&requested));
            }
            let all: u64 = counts.by_size.iter().map(|class| class.total.requests).sum();
            prop_assert_eq!(all, asked.len() as u64);
            let ends = (counts.by_size.first().unwrap(), counts.by_size.last().unwrap());
            prop_assert!(ends.0.total.requests > 0 && ends.1.total.requests > 0);
        }
    }

    #[test]
    fn a_filter_and_classes_go_together() {
        let asked = [(0, 5), (1, 50), (0, 5), (1, 50), (2, 100), (1, 50), (2, 100)];
        let trace = made::sized(&asked);
        let classes = SizeClasses::new(&trace);
        let job = Job {
            trace: &trace,
            next: &[],
            capacity: Capacity { amount: 1_000, unit: Unit::Bytes },
            settings: &Settings::default(),
            admission: Some(Admission::Largest(50)),
            size_classes: classes.as_ref(),
            marks: &[],
        };
        let by_size = replay(Kind::named("lru").unwrap(), &job).unwrap().by_size;
        let found = by_size.iter().map(|class| {
            let total = class.total;
            (class.least_bytes, class.below_bytes, total.requests, total.misses, total.missed_bytes)
        });
        let wanted = [(0, 10, 2, 1, 5), (10, 100, 3, 1, 50), (100, 1_000, 2, 2, 200)];
        assert_eq!(found.collect::<Vec<_>>(), wanted);
        assert!(SizeClasses::new(&made::trace(&[1, 2])).is_none());
    }
}
