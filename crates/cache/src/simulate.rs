//! Several policies at several sizes on one trace.

use std::num::NonZeroUsize;

use plimsoll_stats::figure::{self, Figure};
use serde::{Deserialize, Serialize};

use crate::admission::{Admission, NoSizes};
use crate::capacity::{Capacity, CapacityError, Size};
use crate::eviction::{Policy, SettingError};
use crate::replay::{Job, Stretch, replay};
use crate::size_class::{SizeClass, SizeClasses};
use crate::trace::{SizeTable, Trace};

/// What is compared.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// Policies, in the order in which they are shown.
    pub policies: Vec<Policy>,
    /// Sizes of the cache.
    pub sizes: Vec<Size>,
    /// Which missed objects come in, in every cell alike; all without one.
    pub admission: Option<Admission>,
    /// So many requests at the beginning are counted apart as well.
    pub skip: usize,
    /// In so many parts the trace is counted, for lines over time; at least 1.
    pub parts: NonZeroUsize,
    /// Whether misses are counted by the size of objects as well, where the trace has sizes.
    pub by_size: bool,
}

/// One policy at one size.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// The policy, as it was written.
    pub policy: String,
    /// The size, as it was written.
    pub size: String,
    /// What that is for this trace.
    pub capacity: Capacity,
    /// Of the whole trace.
    pub all: Total,
    /// Of what follows the requests that are skipped.
    pub after_skip: Total,
    /// Misses over the trace: each stretch with the index of its first request.
    pub course: Vec<(usize, Total)>,
    /// Of the whole trace by the size of objects; empty where that was not asked for or is not
    /// known.
    pub by_size: Vec<SizeClass>,
    /// Objects that left.
    pub evictions: u64,
    /// Memory of the policy's state, bytes.
    pub memory_bytes: usize,
    /// Processor time of the replay, seconds.
    pub cpu_s: f64,
}

/// Takes a figure's value from a cell.
type Take = fn(&Cell) -> f64;

/// All figures of a cell, each with the function that takes it.
const TAKEN: [(&Figure, Take); 5] = [
    (figure::REQUESTS, |of| of.all.requests as f64),
    (figure::MISS_RATIO, |of| of.all.miss_ratio()),
    (figure::BYTE_MISS_RATIO, |of| of.all.byte_miss_ratio()),
    (figure::MISSES, |of| of.all.misses as f64),
    (figure::EVICTIONS, |of| of.evictions as f64),
];

impl Cell {
    /// The value of a figure of the whole trace; `None` for figures that no cell has.
    #[must_use]
    pub fn value(&self, figure: &Figure) -> Option<f64> {
        let (_, take) = TAKEN.iter().find(|(of, _)| *of == figure)?;
        Some(take(self))
    }

    /// All figures that there are, in the order of the registry, with their values.
    pub fn figures(&self) -> impl Iterator<Item = (&'static Figure, f64)> {
        figure::valued(|figure| self.value(figure))
    }
}

/// Requests and misses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Total {
    /// How many requests.
    pub requests: u64,
    /// How many missed.
    pub misses: u64,
    /// Sizes of what was asked for, summed; 1 each where the trace has no sizes.
    pub requested_bytes: u64,
    /// Of what missed.
    pub missed_bytes: u64,
}

/// A comparison that cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SimulateError {
    /// A size that cannot be, for this trace.
    #[error(transparent)]
    Capacity(#[from] CapacityError),
    /// A filter by size, of a trace without sizes.
    #[error(transparent)]
    Admission(#[from] NoSizes),
    /// A setting that a policy cannot take.
    #[error("policy {policy}")]
    Setting {
        /// The policy, as it was written.
        policy: String,
        /// What is wrong with it.
        #[source]
        source: SettingError,
    },
}

impl Total {
    /// Share of requests that missed; 0 of none.
    #[must_use]
    pub fn miss_ratio(&self) -> f64 {
        ratio(self.misses, self.requests)
    }

    /// Share of bytes that missed; 0 of none.
    #[must_use]
    pub fn byte_miss_ratio(&self) -> f64 {
        ratio(self.missed_bytes, self.requested_bytes)
    }

    fn add(&mut self, stretch: &Stretch, requested_bytes: u64) {
        self.requests += stretch.requests;
        self.misses += stretch.misses;
        self.requested_bytes += requested_bytes;
        self.missed_bytes += stretch.missed_bytes;
    }
}

#[expect(clippy::cast_precision_loss, reason = "a share is shown with fewer digits")]
fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Every policy at every size on one trace, ready to be replayed: a cell by its place, in the order
/// of policies, then of sizes.
pub struct Replays<'a> {
    trace: &'a Trace,
    cells: Vec<(&'a Policy, &'a Size, Capacity)>,
    size_classes: Option<SizeClasses<'a>>,
    next: Vec<u32>,
    marks: Vec<usize>,
    /// Bytes asked for in each stretch.
    requested: Vec<u64>,
    comparison: &'a Comparison,
    cpu_ns: fn() -> u64,
}

impl<'a> Replays<'a> {
    /// Prepares what all cells share. `cpu_ns` tells the processor time of the thread that asks.
    ///
    /// *Errors*: see [`SimulateError`].
    pub fn new(
        trace: &'a Trace,
        comparison: &'a Comparison,
        cpu_ns: fn() -> u64,
    ) -> Result<Self, SimulateError> {
        if let Some(admission) = comparison.admission {
            admission.check(trace)?;
        }
        let mut cells = Vec::new();
        for policy in &comparison.policies {
            for size in &comparison.sizes {
                cells.push((policy, size, size.of(trace)?));
            }
        }
        let needs_next = comparison.policies.iter().any(|policy| policy.kind.needs.next);
        let marks = marks(trace.len(), comparison);
        Ok(Self {
            trace,
            cells,
            size_classes: comparison.by_size.then(|| SizeClasses::new(trace)).flatten(),
            next: if needs_next { trace.next_uses() } else { Vec::new() },
            requested: requested(trace, &marks),
            marks,
            comparison,
            cpu_ns,
        })
    }

    /// Replays a cell: one pass over the trace.
    ///
    /// *Errors*: a setting that its policy cannot take.
    ///
    /// # Panics
    /// Where there are not so many cells.
    pub fn replay(&self, place: usize) -> Result<Cell, SimulateError> {
        let (policy, size, capacity) = &self.cells[place];
        let job = Job {
            trace: self.trace,
            next: &self.next,
            capacity: *capacity,
            settings: &policy.settings,
            admission: self.comparison.admission,
            size_classes: self.size_classes.as_ref(),
            marks: &self.marks,
        };
        let began_ns = (self.cpu_ns)();
        let counts = replay(policy.kind, &job)
            .map_err(|source| SimulateError::Setting { policy: policy.text.clone(), source })?;
        #[expect(clippy::cast_precision_loss, reason = "nanoseconds of a replay")]
        let cpu_s = (self.cpu_ns)().saturating_sub(began_ns) as f64 / 1e9;
        let (mut all, mut after_skip) = (Total::default(), Total::default());
        let mut course = Vec::with_capacity(counts.stretches.len());
        let mut from = 0;
        for (stretch, &requested) in counts.stretches.iter().zip(&self.requested) {
            let mut total = Total::default();
            total.add(stretch, requested);
            all.add(stretch, requested);
            if from >= self.comparison.skip {
                after_skip.add(stretch, requested);
            }
            if stretch.requests > 0 {
                course.push((from, total));
            }
            from += usize::try_from(stretch.requests).unwrap_or(usize::MAX);
        }
        Ok(Cell {
            policy: policy.text.clone(),
            size: size.text().to_owned(),
            capacity: *capacity,
            all,
            after_skip,
            course,
            by_size: counts.by_size,
            evictions: counts.evictions,
            memory_bytes: counts.memory_bytes,
            cpu_s,
        })
    }
}

/// Where stretches end: at equal parts, and where the requests that are skipped do.
fn marks(requests: usize, comparison: &Comparison) -> Vec<usize> {
    let parts = comparison.parts.get();
    // In 128 bits: requests times parts may be more than 64 hold.
    let mark = |part: usize| usize::try_from(requests as u128 * part as u128 / parts as u128);
    let mut marks: Vec<usize> = (1..parts).filter_map(|part| mark(part).ok()).collect();
    marks.push(comparison.skip.min(requests));
    marks.sort_unstable();
    marks.dedup();
    marks.retain(|&mark| mark > 0 && mark < requests);
    marks
}

/// Bytes asked for between the marks.
fn requested(trace: &Trace, marks: &[usize]) -> Vec<u64> {
    let mut from = 0;
    let ends = marks.iter().copied().chain([trace.len()]);
    ends.map(|to| {
        let range = &trace.requests()[from..to];
        from = to;
        match trace.sizes() {
            None => range.len() as u64,
            Some(SizeTable::Narrow(sizes)) => {
                range.iter().map(|&object| u64::from(sizes[object as usize])).sum()
            }
            Some(SizeTable::Wide(sizes)) => {
                range.iter().map(|&object| sizes[object as usize]).sum()
            }
        }
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use crate::trace::Names;

    use super::*;

    fn trace() -> Trace {
        let mut state = 7u32;
        let mut seen = Vec::new();
        let requests = (0..5_000)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let wanted = (state >> 16) % ((state >> 8) % 300 + 1);
                let known = seen.iter().position(|&name| name == wanted);
                let object = known.unwrap_or_else(|| {
                    seen.push(wanted);
                    seen.len() - 1
                });
                u32::try_from(object).unwrap()
            })
            .collect();
        let sizes: Vec<u64> = (0..seen.len() as u64).map(|object| 1 + object % 37).collect();
        let names = Names::Numbers(seen.iter().map(|&name| u64::from(name)).collect());
        Trace::new(requests, names).unwrap().with_sizes(sizes).unwrap()
    }

    /// All cells, each in turn.
    fn simulate(trace: &Trace, comparison: &Comparison) -> Result<Vec<Cell>, SimulateError> {
        let replays = Replays::new(trace, comparison, || 0)?;
        (0..replays.cells.len()).map(|place| replays.replay(place)).collect()
    }

    fn compared(parts: usize, skip: usize) -> Vec<Cell> {
        let comparison = Comparison {
            policies: vec!["lru".parse().unwrap(), "gdsf".parse().unwrap()],
            sizes: vec!["10%".parse().unwrap(), "20obj".parse().unwrap()],
            admission: None,
            skip,
            parts: NonZeroUsize::new(parts).unwrap(),
            by_size: parts > 1,
        };
        simulate(&trace(), &comparison).unwrap()
    }

    #[test]
    fn parts_change_nothing_but_the_course() {
        let plain = compared(1, 0);
        let parted = compared(97, 1_234);
        assert_eq!(plain.len(), 4);
        for (plain, parted) in plain.iter().zip(&parted) {
            assert_eq!((plain.all, plain.evictions), (parted.all, parted.evictions));
            assert_eq!(plain.all, plain.after_skip);
            let sum = |cell: &Cell, from: usize| {
                let after = cell.course.iter().filter(|(at, _)| *at >= from);
                after.map(|(_, total)| total.misses).sum::<u64>()
            };
            assert_eq!(sum(parted, 0), parted.all.misses);
            assert_eq!(sum(parted, 1_234), parted.after_skip.misses);
            assert_eq!(parted.after_skip.requests, 5_000 - 1_234);
            assert_eq!(parted.course.len(), 98);
            // Sizes of 1 to 37 bytes: two classes.
            assert!(plain.by_size.is_empty() && parted.by_size.len() == 2);
            let missed: u64 = parted.by_size.iter().map(|class| class.total.missed_bytes).sum();
            assert_eq!(missed, plain.all.missed_bytes);
        }
        let named: Vec<_> =
            plain.iter().map(|cell| (cell.policy.as_str(), cell.size.as_str())).collect();
        assert_eq!(named, [("lru", "10%"), ("lru", "20obj"), ("gdsf", "10%"), ("gdsf", "20obj")]);
    }

    /// Whatever the cache counts, the filter looks at bytes; without any it cannot.
    #[test]
    fn a_filter_by_size_needs_sizes() {
        let comparison = Comparison {
            policies: vec!["lru".parse().unwrap()],
            sizes: vec!["1000obj".parse().unwrap(), "100%".parse().unwrap()],
            admission: Some("max:10B".parse().unwrap()),
            skip: 0,
            parts: NonZeroUsize::MIN,
            by_size: false,
        };
        let run = |trace: &Trace| simulate(trace, &comparison);
        let trace = trace();
        let cells = run(&trace).unwrap();
        // Objects above 10 bytes never come in, all others once.
        let sizes = trace.sizes().unwrap();
        let small = |object: u32| sizes.of(object) <= 10;
        let large = trace.requests().iter().filter(|&&object| !small(object)).count();
        let firsts = (0..trace.distinct()).filter(|&object| small(object)).count();
        for cell in &cells {
            assert_eq!(cell.all.misses, (large + firsts) as u64, "{}", cell.size);
        }
        let bare = Trace::new(vec![0, 1, 0], Names::Numbers(vec![1, 2])).unwrap();
        assert!(matches!(run(&bare), Err(SimulateError::Admission(_))));
    }
}
