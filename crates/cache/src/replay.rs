//! Gives a trace to a policy, and counts.
//!
//! The loop is compiled for each policy and each way to measure objects, so what is not asked for
//! costs nothing. A trace is replayed in stretches, each with its own counts: warm-up apart from
//! the rest, or a line over time.

use crate::admission::{Admission, All, Filter, Working};
use crate::capacity::{Capacity, Unit};
use crate::eviction::{
    Eviction, Input, Kind, Narrow, One, Room, SettingError, Settings, Sizes, Wide, made,
};
use crate::size_class::{SizeClass, SizeClasses, Tally};
use crate::trace::{SizeTable, Trace};

use std::ops::Range;

/// One replay: a policy of one capacity on one trace.
#[derive(Debug, Clone, Copy)]
pub struct Job<'a> {
    /// What is asked for.
    pub trace: &'a Trace,
    /// [`Trace::next_uses`], where the policy needs them; else empty.
    pub next: &'a [u32],
    /// What may be inside.
    pub capacity: Capacity,
    /// What the user set of the policy.
    pub settings: &'a Settings,
    /// Which missed objects come in; all without one.
    pub admission: Option<Admission>,
    /// The classes by which misses are counted too; not at all without.
    pub size_classes: Option<&'a SizeClasses<'a>>,
    /// Ends of stretches, rising, as numbers of requests; what follows the last is one more.
    pub marks: &'a [usize],
}

/// What a replay counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counts {
    /// One for each stretch, in order; never empty.
    pub stretches: Vec<Stretch>,
    /// Objects that left.
    pub evictions: u64,
    /// Bytes of memory of the policy's state at the end.
    pub memory_bytes: usize,
    /// Of all stretches together by the size of objects; empty where that was not asked for.
    pub by_size: Vec<SizeClass>,
}

/// Counts of some requests that follow each other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stretch {
    /// How many.
    pub requests: u64,
    /// Those whose object was not inside.
    pub misses: u64,
    /// Sizes of the objects of those, summed; each one where the trace has no sizes.
    pub missed_bytes: u64,
}

/// Runs a job.
///
/// *Errors*: a setting that the policy cannot take.
///
/// *Panics*: where objects have bytes by the capacity's unit but not by the trace, which
/// [`crate::capacity::Size::of`] rules out.
pub fn replay(kind: &Kind, job: &Job<'_>) -> Result<Counts, SettingError> {
    (kind.run)(job)
}

/// As [`replay`], for a policy known when compiled: chooses how objects are measured.
pub(crate) fn run<P: Eviction>(job: &Job<'_>) -> Result<Counts, SettingError> {
    match (job.capacity.unit, job.trace.sizes()) {
        (Unit::Objects, None) => measured::<P, _, _>(job, One, One),
        (Unit::Objects, Some(SizeTable::Narrow(bytes))) => {
            measured::<P, _, _>(job, One, Narrow(bytes))
        }
        (Unit::Objects, Some(SizeTable::Wide(bytes))) => measured::<P, _, _>(job, One, Wide(bytes)),
        (Unit::Bytes, Some(SizeTable::Narrow(bytes))) => {
            measured::<P, _, _>(job, Narrow(bytes), Narrow(bytes))
        }
        (Unit::Bytes, Some(SizeTable::Wide(bytes))) => {
            measured::<P, _, _>(job, Wide(bytes), Wide(bytes))
        }
        (Unit::Bytes, None) => unreachable!("bytes of a trace without sizes"),
    }
}

fn measured<P: Eviction, S: Sizes, B: Sizes>(
    job: &Job<'_>,
    sizes: S,
    bytes: B,
) -> Result<Counts, SettingError> {
    if job.admission.is_none() && job.size_classes.is_none() {
        return filtered::<P, _, _, _>(job, sizes, bytes, &mut All);
    }
    let objects = job.trace.distinct() as usize;
    let filter = job.admission.map(|admission| Working::new(admission, objects));
    let mut gate = Gate { filter, tally: job.size_classes.map(Tally::new) };
    let counts = filtered::<P, _, _, _>(job, sizes, bytes, &mut gate)?;
    let by_size = gate.tally.map_or_else(Vec::new, Tally::into_classes);
    Ok(Counts { by_size, ..counts })
}

/// What looks at each miss where something does. One for all that may, so that each policy has two
/// loops: with it and without.
struct Gate<'a> {
    filter: Option<Working>,
    tally: Option<Tally<'a>>,
}

impl Filter for Gate<'_> {
    fn admits(&mut self, object: u32, size: u64, at: usize) -> bool {
        if let Some(tally) = &mut self.tally {
            tally.missed(object);
        }
        self.filter.as_mut().is_none_or(|filter| filter.admits(object, size, at))
    }
}

fn filtered<P: Eviction, S: Sizes, B: Sizes, F: Filter>(
    job: &Job<'_>,
    sizes: S,
    bytes: B,
    filter: &mut F,
) -> Result<Counts, SettingError> {
    let trace = job.trace;
    let input = Input {
        requests: trace.requests(),
        sizes,
        next: job.next,
        seconds: trace.seconds().unwrap_or(&[]),
    };
    let room = Room {
        objects: trace.distinct() as usize,
        capacity: job.capacity.amount,
        settings: job.settings,
    };
    let mut policy = made::<P>(&room)?;
    let (mut evictions, mut stretches, mut from) = (0, Vec::new(), 0);
    for &to in job.marks.iter().chain([&trace.len()]) {
        let to = to.clamp(from, trace.len());
        let asked = Batch { input: &input, bytes, range: from..to };
        stretches.push(stretch(&mut policy, filter, asked, &mut evictions));
        from = to;
    }
    let memory_bytes = policy.memory_bytes();
    Ok(Counts { stretches, evictions, memory_bytes, by_size: Vec::new() })
}

/// How many requests ahead memory is asked for: enough for its latency, few enough for the lines
/// to be there still.
const AHEAD: usize = 16;

/// Some requests that follow each other.
struct Batch<'a, S, B> {
    input: &'a Input<'a, S>,
    /// Bytes of objects, whatever the cache counts: what misses are charged, and filters are told.
    bytes: B,
    range: Range<usize>,
}

#[inline(never)]
fn stretch<P: Eviction, S: Sizes, B: Sizes, F: Filter>(
    policy: &mut P,
    filter: &mut F,
    asked: Batch<'_, S, B>,
    evictions: &mut u64,
) -> Stretch {
    let Batch { input, bytes, range } = asked;
    let (mut misses, mut missed_bytes, mut gone) = (0, 0, 0u64);
    let requests = range.len() as u64;
    for at in range {
        if let Some(&coming) = input.requests.get(at + AHEAD) {
            policy.prefetch(coming);
            bytes.prefetch(coming);
        }
        if !policy.hit(input, at) {
            let object = input.requests[at];
            let size = bytes.of(object);
            misses += 1;
            missed_bytes += size;
            if filter.admits(object, size, at) {
                policy.insert(input, at, &mut gone);
            }
        }
    }
    policy.settle(&mut gone);
    *evictions += gone;
    Stretch { requests, misses, missed_bytes }
}
