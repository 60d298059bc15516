//! Traces of synthetic web workloads: what a [`Workload`]'s requests would leave in a log.
//!
//! Object and client of each request are those of [`Requests`], its second is that of its due time,
//! counted from the start of the schedule; so a version that an object has by its own life at that
//! second is the one that was asked for. Clients keep the numbers that the workload gives them.
//! Objects are numbered by first appearance, as in every trace, and named by their URLs: those that
//! a load would ask an origin of this workload for, so that hashes of URLs send them to the same
//! caches.
//!
//! # What no cache may keep
//!
//! A trace has no mark for objects that are not cachable. Requests to them miss in every cache of
//! every policy, so they are left out, as readers of logs leave out answers that no cache keeps,
//! and counted: [`Made::uncachable`]. A hit ratio of the trace times 1 − uncachable / requests is
//! that of all requests.

use plimsoll_units::{show_count, show_share, show_size};
use plimsoll_workload::objects::{
    Catalogue, Request, Requests, Workload, WorkloadError, write_name,
};

use super::read::Limits;
use super::table::{BATCH, Record, Table};
use super::{MAX_REQUESTS, Misfit, Names, Trace};

const NS_PER_S: u64 = 1_000_000_000;

/// How a trace is made.
#[derive(Debug, Clone, Copy)]
pub struct Synthetic<'a> {
    /// What is asked for.
    pub workload: &'a Workload,
    /// Where objects and requests come from.
    pub seed: u64,
    /// How many requests are made at most; fewer where due times end before.
    pub requests: usize,
    /// What stands before the names of objects in their URLs: `http://origin`.
    pub origin: &'a str,
    /// How much is taken.
    pub limits: Limits,
}

/// What was made beside the trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// How many requests were made, those left out among them.
    pub requests: u64,
    /// Requests to objects that no cache may keep: they are not in the trace.
    pub uncachable: u64,
    /// The sizes of the objects of these requests, bytes.
    pub uncachable_bytes: u128,
    /// The number that each object of the trace has in the workload.
    pub numbers: Vec<u64>,
}

/// Why there is no trace.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SyntheticError {
    /// The workload is none.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// More than is taken.
    #[error(
        "expected at most {most} {of} in a trace, found more: ask for fewer, or raise the limit"
    )]
    TooMany {
        /// The limit.
        most: u64,
        /// Of what.
        of: &'static str,
    },
    /// A due time that a trace cannot tell.
    #[error("expected due times within 2^32 seconds, found {second} s: make the schedule shorter")]
    Late {
        /// The second.
        second: u64,
    },
    /// Nothing is asked for.
    #[error(
        "expected requests to objects that caches may keep, found none of {requests}: ask for \
         more, or make objects cachable"
    )]
    Empty {
        /// How many were made.
        requests: u64,
    },
    /// Parts that do not fit each other, such as due times that fall.
    #[error(transparent)]
    Misfit(#[from] Misfit),
}

/// The mark of an object that is left out, in the place of its number in the trace.
const UNCACHABLE: u32 = u32::MAX;

/// The parts of a trace while it grows.
struct Maker<'a> {
    synthetic: &'a Synthetic<'a>,
    catalogue: Catalogue,
    /// What was asked for, cachable or not, by the order of its first appearance.
    seen: Table,
    /// The number in the trace of each that was seen, or [`UNCACHABLE`].
    dense: Vec<u32>,
    objects: Vec<u32>,
    seconds: Vec<u32>,
    clients: Vec<u32>,
    sizes: Vec<u64>,
    names: Vec<u8>,
    ends: Vec<u64>,
    made: Made,
}

impl Synthetic<'_> {
    /// Makes the trace, with sizes, seconds and clients, of requests at these due times:
    /// nanoseconds since the start of the schedule, none before the one ahead of it.
    ///
    /// *Errors*: a workload that is none, more requests or bytes of names than the limits, due
    /// times that fall or lie beyond 2^32 seconds, no request that a cache may keep.
    ///
    /// *Determinism*: a function of workload, seed and due times.
    ///
    /// *Cost*: 12 bytes a request, about 100 an object; see `examples/trace_speed.rs`.
    pub fn trace(
        &self,
        due_ns: impl IntoIterator<Item = u64>,
    ) -> Result<(Trace, Made), SyntheticError> {
        let most = self.limits.requests.min(MAX_REQUESTS);
        if self.requests > most {
            return Err(SyntheticError::TooMany { most: most as u64, of: "requests" });
        }
        let mut maker = Maker {
            synthetic: self,
            catalogue: Catalogue::new(self.workload, self.seed)?,
            seen: Table::new(),
            dense: Vec::new(),
            objects: Vec::new(),
            seconds: Vec::new(),
            clients: Vec::new(),
            sizes: Vec::new(),
            names: Vec::new(),
            ends: Vec::new(),
            made: Made { requests: 0, uncachable: 0, uncachable_bytes: 0, numbers: Vec::new() },
        };
        let requests = Requests::new(self.workload, self.seed)?.take(self.requests);
        // In batches, as the table waits for memory once a batch.
        let mut due_requests = due_ns.into_iter().zip(requests);
        let mut batch: Vec<(u64, Request)> = Vec::with_capacity(BATCH);
        loop {
            batch.clear();
            batch.extend(due_requests.by_ref().take(BATCH));
            if batch.is_empty() {
                return maker.finish();
            }
            maker.push(&batch)?;
        }
    }
}

impl Maker<'_> {
    /// Takes up to [`BATCH`] requests.
    fn push(&mut self, batch: &[(u64, Request)]) -> Result<(), SyntheticError> {
        let mut records = [Record::default(); BATCH];
        for (record, (_, request)) in records.iter_mut().zip(batch) {
            record.id = request.object;
        }
        let mut places = [0; BATCH];
        self.seen.numbers(&records[..batch.len()], &mut places);
        for ((due, request), &place) in batch.iter().zip(&places) {
            self.made.requests += 1;
            let object = match self.dense.get(place as usize) {
                Some(&object) => object,
                None => self.add(request.object)?,
            };
            if object == UNCACHABLE {
                self.made.uncachable += 1;
                let size = self.catalogue.object(request.object).size;
                self.made.uncachable_bytes += u128::from(size);
                continue;
            }
            let second = due / NS_PER_S;
            self.seconds.push(u32::try_from(second).map_err(|_| SyntheticError::Late { second })?);
            self.objects.push(object);
            self.clients.push(request.client);
        }
        Ok(())
    }

    /// The number in the trace of an object that is asked for the first time, or [`UNCACHABLE`].
    fn add(&mut self, number: u64) -> Result<u32, SyntheticError> {
        let object = self.catalogue.object(number);
        let mut dense = UNCACHABLE;
        if object.is_cachable {
            // There are no more objects than requests, and these are below 2^32 - 1.
            dense = u32::try_from(self.sizes.len()).unwrap_or(UNCACHABLE);
            self.names.extend_from_slice(self.synthetic.origin.as_bytes());
            write_name(number, &mut self.names);
            let most = self.synthetic.limits.name_bytes;
            if self.names.len() as u64 > most {
                return Err(SyntheticError::TooMany { most, of: "bytes of names" });
            }
            self.ends.push(self.names.len() as u64);
            self.sizes.push(object.size);
            self.made.numbers.push(number);
        }
        self.dense.push(dense);
        Ok(dense)
    }

    fn finish(self) -> Result<(Trace, Made), SyntheticError> {
        let Self { objects, seconds, clients, sizes, names, ends, made, .. } = self;
        if objects.is_empty() {
            return Err(SyntheticError::Empty { requests: made.requests });
        }
        let trace = Trace::new(objects, Names::Text { bytes: names, ends })?
            .with_sizes(sizes)?
            .with_seconds(seconds)?
            .with_clients(clients)?;
        Ok((trace, made))
    }
}

impl Made {
    /// What a user must hear, a sentence each; none where all is well.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        if self.uncachable == 0 {
            return Vec::new();
        }
        let bytes = u64::try_from(self.uncachable_bytes).unwrap_or(u64::MAX);
        #[expect(clippy::cast_precision_loss, reason = "a share to three digits")]
        let share = self.uncachable as f64 / self.requests.max(1) as f64;
        vec![format!(
            "{} of {} requests ({}, {}) ask for objects that no cache may keep and were left out",
            show_count(self.uncachable),
            show_count(self.requests),
            show_share(share),
            show_size(bytes)
        )]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_workload::objects::{Class, Clients, Popularity, Population, WorkingSet};
    use std::collections::BTreeMap;

    fn workload(cachable: f64) -> Workload {
        Workload {
            population: Population::Open { recurrence: 0.7, working_set: WorkingSet::Drifting(50) },
            classes: vec![Class { cachable, ..Class::default() }],
            clients: Clients { count: 4, popularity: Popularity::UNIFORM },
            ..Workload::default()
        }
    }

    fn of(workload: &Workload) -> Synthetic<'_> {
        let limits = Limits::default();
        Synthetic { workload, seed: 3, requests: 5000, origin: "http://origin", limits }
    }

    /// Three requests a second.
    fn due() -> impl Iterator<Item = u64> {
        (0..).map(|n| n * NS_PER_S / 3)
    }

    #[test]
    fn the_trace_is_what_the_workload_asks_for() {
        for cachable in [1.0, 0.6, 0.01] {
            let workload = workload(cachable);
            let (trace, made) = of(&workload).trace(due()).unwrap();
            let catalogue = Catalogue::new(&workload, 3).unwrap();
            let (mut numbers, mut at, mut left_out, mut bytes) = (BTreeMap::new(), 0, 0, 0);
            for (n, request) in Requests::new(&workload, 3).unwrap().take(5000).enumerate() {
                let object = catalogue.object(request.object);
                if !object.is_cachable {
                    left_out += 1;
                    bytes += u128::from(object.size);
                    continue;
                }
                let next = u32::try_from(numbers.len()).unwrap();
                let dense = *numbers.entry(request.object).or_insert(next);
                assert_eq!(trace.requests()[at], dense);
                assert_eq!(trace.sizes().unwrap().of(dense), object.size);
                assert_eq!(trace.seconds().unwrap()[at] as usize, n / 3);
                assert_eq!(trace.clients().unwrap()[at], request.client);
                let url = format!("http://origin/o/{}", request.object);
                assert_eq!(trace.names().text(dense), Some(url.as_bytes()));
                assert_eq!(made.numbers[dense as usize], request.object);
                at += 1;
            }
            assert_eq!((trace.len(), trace.distinct() as usize), (at, numbers.len()));
            assert_eq!((made.uncachable, made.uncachable_bytes), (left_out, bytes));
            assert_eq!((made.requests, made.numbers.len()), (5000, numbers.len()));
            assert_eq!(made.warnings().len(), usize::from(left_out > 0));
        }
    }

    #[test]
    fn what_is_left_out_is_told() {
        let workload = workload(0.5);
        let (trace, made) = of(&workload).trace(due()).unwrap();
        let left_out = 5000 - trace.len();
        let warning = &made.warnings()[0];
        assert!(warning.starts_with(&show_count(left_out as u64)), "{warning}");
        assert!(warning.contains("5,000"), "{warning}");
    }

    #[test]
    fn a_trace_ends_with_its_due_times() {
        let workload = workload(1.0);
        let (trace, made) = of(&workload).trace(due().take(10)).unwrap();
        assert_eq!((trace.len(), made.requests), (10, 10));
        assert!(matches!(of(&workload).trace([]), Err(SyntheticError::Empty { requests: 0 })));
    }

    #[test]
    fn limits_hold() {
        let whole = workload(1.0);
        let with = |limits| Synthetic { limits, ..of(&whole) }.trace(due());
        let few = Limits { requests: 4999, ..Limits::default() };
        let error = with(few).unwrap_err();
        assert!(matches!(error, SyntheticError::TooMany { most: 4999, of: "requests" }));
        let short = Limits { name_bytes: 1000, ..Limits::default() };
        let error = with(short).unwrap_err();
        assert!(matches!(error, SyntheticError::TooMany { most: 1000, .. }), "{error}");
        let late = of(&whole).trace([1 << 62]).unwrap_err();
        assert!(matches!(late, SyntheticError::Late { .. }), "{late}");
        let falling = of(&whole).trace([NS_PER_S, 0]).unwrap_err();
        assert!(matches!(falling, SyntheticError::Misfit(_)), "{falling}");
        let nothing = workload(0.0);
        let error = of(&nothing).trace(due()).unwrap_err();
        assert!(matches!(error, SyntheticError::Empty { requests: 5000 }), "{error}");
        let none = Workload { classes: Vec::new(), ..workload(1.0) };
        let error = of(&none).trace(due()).unwrap_err();
        assert!(matches!(error, SyntheticError::Workload(_)), "{error}");
    }
}
