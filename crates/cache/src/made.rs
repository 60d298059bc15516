//! Traces for tests, and the simplest way to replay one.

use std::collections::BTreeMap;

use crate::admission::Admission;
use crate::capacity::Capacity;
use crate::eviction::{KINDS, Kind, Settings};
use crate::replay::{Job, Stretch, replay};
use crate::trace::reference::Reference;
use crate::trace::{Names, Trace};

/// Requests to objects of any numbers, without sizes.
pub(crate) fn trace(asked: &[u32]) -> Trace {
    let (requests, names) = dense(asked.iter().copied());
    Trace::new(requests, Names::Numbers(names)).unwrap()
}

/// Requests to objects of any numbers; the first request to an object tells its size.
pub(crate) fn sized(asked: &[(u32, u64)]) -> Trace {
    let (requests, names) = dense(asked.iter().map(|&(object, _)| object));
    let size = |&name: &u64| asked.iter().find(|&&(object, _)| u64::from(object) == name);
    let sizes = names.iter().map(|name| size(name).unwrap().1).collect();
    Trace::new(requests, Names::Numbers(names)).unwrap().with_sizes(sizes).unwrap()
}

fn dense(asked: impl Iterator<Item = u32>) -> (Vec<u32>, Vec<u64>) {
    let (mut numbers, mut names) = (BTreeMap::new(), Vec::new());
    let requests = asked.map(|object| {
        *numbers.entry(object).or_insert_with(|| {
            names.push(u64::from(object));
            u32::try_from(names.len()).unwrap() - 1
        })
    });
    (requests.collect(), names)
}

/// A trace of the shape of the reference.
pub(crate) fn reference(objects: u32, requests: usize) -> Trace {
    Reference { objects, requests, seed: 42 }.trace().unwrap()
}

/// One run of a policy.
pub(crate) fn run(kind: &Kind, trace: &Trace, capacity: Capacity) -> Stretch {
    run_behind(None, kind, trace, capacity)
}

/// One run of a policy behind an admission filter.
pub(crate) fn run_behind(
    admission: Option<Admission>,
    kind: &Kind,
    trace: &Trace,
    capacity: Capacity,
) -> Stretch {
    let next = if kind.needs.next { trace.next_uses() } else { Vec::new() };
    let settings = Settings::default();
    let job = Job {
        trace,
        next: &next,
        capacity,
        settings: &settings,
        admission,
        size_classes: None,
        marks: &[],
    };
    replay(kind, &job).unwrap().stretches[0]
}

/// One run of LRU.
pub(crate) fn lru(trace: &Trace, capacity: Capacity) -> Stretch {
    run(KINDS.iter().find(|kind| kind.name == "lru").unwrap(), trace, capacity)
}
