//! Slices of several workers as those of one: of each stretch of time what all have observed, as
//! soon as all that had something of it have told.

use plimsoll_load::Slice;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Slices that some have not told yet.
#[derive(Debug, Default)]
pub(crate) struct Gather {
    workers: Vec<Worker>,
    open: BTreeMap<u64, Open>,
    next: u64,
}

/// How far a worker is.
#[derive(Debug, Clone, Copy, Default)]
struct Worker {
    /// The number of the slice that it tells next.
    next: u64,
    has_ended: bool,
}

#[derive(Debug)]
struct Open {
    slice: Box<Slice>,
    told: usize,
}

impl Gather {
    /// Those of so many workers.
    pub(crate) fn of(workers: usize) -> Self {
        Self { workers: vec![Worker::default(); workers], ..Self::default() }
    }

    /// Takes a worker's slice. `false` where it is not the one that it has to tell next.
    pub(crate) fn add(&mut self, worker: usize, mut slice: Box<Slice>) -> bool {
        let Some(of) = self.workers.get_mut(worker).filter(|of| !of.has_ended) else {
            return false;
        };
        if slice.number != of.next {
            return false;
        }
        of.next += 1;
        match self.open.entry(slice.number) {
            Entry::Vacant(entry) => drop(entry.insert(Open { slice, told: 1 })),
            Entry::Occupied(mut entry) => {
                let open = entry.get_mut();
                open.told += 1;
                let whole = &mut open.slice;
                whole.interval.join(&slice.interval);
                whole.interval.len_ns = whole.interval.len_ns.max(slice.interval.len_ns);
                whole.samples.append(&mut slice.samples);
                whole.fault = whole.fault.take().or(slice.fault.take());
            }
        }
        true
    }

    /// A worker tells no more.
    pub(crate) fn end(&mut self, worker: usize) {
        if let Some(of) = self.workers.get_mut(worker) {
            of.has_ended = true;
        }
    }

    /// The next slice, where all have told it that have something of it.
    pub(crate) fn take(&mut self) -> Option<Box<Slice>> {
        let tells = |of: &&Worker| !of.has_ended || of.next > self.next;
        let wanted = self.workers.iter().filter(tells).count();
        let entry = self.open.first_entry().filter(|entry| *entry.key() == self.next)?;
        if entry.get().told < wanted {
            return None;
        }
        self.next += 1;
        Some(entry.remove().slice)
    }

    /// Whether nobody tells anything more, and all is taken.
    pub(crate) fn is_over(&self) -> bool {
        self.open.is_empty() && self.workers.iter().all(|of| of.has_ended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(number: u64, sent: u64) -> Box<Slice> {
        let mut slice = Slice { number, ..Slice::default() };
        slice.interval.events.sent = sent;
        slice.interval.connections = 2;
        Box::new(slice)
    }

    fn taken(gather: &mut Gather) -> Vec<(u64, u64, u64)> {
        std::iter::from_fn(|| gather.take())
            .map(|of| (of.number, of.interval.events.sent, of.interval.connections))
            .collect()
    }

    #[test]
    fn a_slice_is_whole_when_all_have_told_it_or_ended() {
        let mut gather = Gather::of(2);
        assert!(gather.add(0, slice(0, 1)) && gather.add(0, slice(1, 10)));
        assert_eq!(taken(&mut gather), []);
        assert!(gather.add(1, slice(0, 2)));
        assert_eq!(taken(&mut gather), [(0, 3, 4)]);
        assert!(!gather.add(1, slice(0, 2)) && !gather.add(1, slice(2, 2)), "each once, in order");
        gather.end(1);
        assert_eq!(taken(&mut gather), [(1, 10, 2)]);
        assert!(!gather.is_over() && !gather.add(1, slice(1, 1)));
        assert!(gather.add(0, slice(2, 5)));
        gather.end(0);
        assert_eq!(taken(&mut gather), [(2, 5, 2)]);
        assert!(gather.is_over());
    }
}
