//! Which series are kept: the first so many that come.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::sample::Sample;

/// The most series beyond the limit that are told apart; above that their number is a lower bound.
const MOST_BEYOND: usize = 100_000;

/// The series that were seen so far. Each is known by a hash of 64 bits of its name and labels: of
/// 10,000 series two are taken for one with a probability of 3·10⁻¹².
pub(super) struct Admitted {
    most: usize,
    kept: BTreeSet<u64>,
    beyond: BTreeSet<u64>,
    count: Arc<AtomicUsize>,
}

impl Admitted {
    pub(super) fn new(most: usize, count: &Arc<AtomicUsize>) -> Self {
        let count = Arc::clone(count);
        Self { most, kept: BTreeSet::new(), beyond: BTreeSet::new(), count }
    }

    /// Removes the samples of series beyond the most that are kept. Returns whether there were any.
    pub(super) fn keep(&mut self, samples: &mut Vec<Sample>) -> bool {
        let before = samples.len();
        samples.retain(|sample| self.admits(sample));
        self.count.store(self.beyond.len(), Ordering::Relaxed);
        samples.len() < before
    }

    fn admits(&mut self, sample: &Sample) -> bool {
        let mut hasher = DefaultHasher::new();
        (&sample.name, &sample.labels).hash(&mut hasher);
        let series = hasher.finish();
        if self.kept.contains(&series) {
            return true;
        }
        if self.kept.len() < self.most {
            return self.kept.insert(series);
        }
        if self.beyond.len() < MOST_BEYOND {
            self.beyond.insert(series);
        }
        false
    }

    /// How many series were left out, so far.
    pub(super) fn beyond(&self) -> usize {
        self.beyond.len()
    }
}
