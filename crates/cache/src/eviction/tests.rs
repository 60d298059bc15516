//! Every policy watched request by request: what must hold for all of them, each against a model
//! that is written as plainly as possible, and what is known of pairs of them.

mod keys;
mod lists;
mod pairs;
mod squid;

use proptest::prelude::*;

use crate::trace::NEVER;

use super::{Eviction, Input, KINDS, Kind, Room, Settings, Wide};

/// A small trace and a cache.
#[derive(Debug, Clone)]
pub(super) struct Case {
    requests: Vec<u32>,
    sizes: Vec<u64>,
    seconds: Vec<u32>,
    capacity: u64,
    settings: String,
}

/// What was seen of one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RequestOutcome {
    hit: bool,
    /// Whether the object was taken in.
    inserted: bool,
    /// In order.
    gone: Vec<u32>,
    /// All objects that are inside afterwards.
    inside: Vec<u32>,
}

pub(super) type Watched = fn(&Case) -> Vec<RequestOutcome>;

impl Case {
    fn new(requests: &[u32], sizes: &[u64], capacity: u64) -> Self {
        let seconds = (0..).take(requests.len()).map(|at: u32| at / 7).collect();
        let settings = String::new();
        Self { requests: requests.to_vec(), sizes: sizes.to_vec(), seconds, capacity, settings }
    }

    fn with(&self, settings: &str) -> Self {
        Self { settings: settings.to_owned(), ..self.clone() }
    }

    fn size(&self, object: u32) -> u64 {
        self.sizes[object as usize]
    }

    fn total(&self, objects: &[u32]) -> u64 {
        objects.iter().map(|&object| self.size(object)).sum()
    }

    fn next(&self) -> Vec<u32> {
        let next = |at: usize| {
            let after = self.requests[at + 1..].iter().position(|&one| one == self.requests[at]);
            after.map_or(NEVER, |after| u32::try_from(at + 1 + after).unwrap())
        };
        (0..self.requests.len()).map(next).collect()
    }
}

fn inside<P: Eviction>(policy: &P, case: &Case) -> Vec<u32> {
    let objects = 0..u32::try_from(case.sizes.len()).unwrap();
    objects.filter(|&object| policy.contains(object)).collect()
}

/// Replays a case, and checks at each request what holds for every policy.
pub(super) fn watched<P: Eviction>(case: &Case) -> Vec<RequestOutcome> {
    let next = case.next();
    let sizes = Wide(&case.sizes);
    let input = Input { requests: &case.requests, sizes, next: &next, seconds: &case.seconds };
    let settings = &Settings::parse(&case.settings).unwrap();
    let room = Room { objects: case.sizes.len(), capacity: case.capacity, settings };
    let mut policy = P::new(&room).unwrap();
    let mut before = Vec::new();
    let mut all = Vec::new();
    for (at, &object) in case.requests.iter().enumerate() {
        policy.prefetch(object);
        let mut gone = Vec::new();
        let hit = policy.hit(&input, at);
        assert_eq!(hit, before.contains(&object), "{} at {at}: {case:?}", P::NAME);
        policy.settle(&mut gone);
        if !hit {
            policy.insert(&input, at, &mut gone);
        }
        let after = inside(&policy, case);
        let mut wanted: Vec<u32> = before.clone();
        let inserted = !hit && after.contains(&object);
        if inserted {
            wanted.push(object);
        }
        wanted.retain(|object| !gone.contains(object));
        wanted.sort_unstable();
        assert_eq!(wanted, after, "{} at {at}: gone {gone:?}, {case:?}", P::NAME);
        assert!(case.total(&after) <= case.capacity, "{} at {at}: {case:?}", P::NAME);
        assert!(!inserted || case.size(object) <= case.capacity, "{} at {at}", P::NAME);
        before.clone_from(&after);
        all.push(RequestOutcome { hit, inserted, gone, inside: after });
    }
    assert!(policy.memory_bytes() > 0);
    all
}

/// Small traces of some popular and some unpopular objects, with objects of no bytes and such as
/// are larger than the cache.
fn cases() -> impl Strategy<Value = Case> {
    let object = prop_oneof![3 => 0..6u32, 2 => 0..24u32];
    let requests = proptest::collection::vec(object, 1..160);
    let sizes = prop_oneof![
        1 => Just(vec![1; 24]),
        1 => proptest::collection::vec(0..5u64, 24),
        1 => proptest::collection::vec(0..90u64, 24),
    ];
    (requests, sizes, prop_oneof![1..9u64, 1..400u64])
        .prop_map(|(requests, sizes, capacity)| Case::new(&requests, &sizes, capacity))
}

/// The same with objects of one size.
fn equal_cases() -> impl Strategy<Value = Case> {
    (cases(), 1..16u64).prop_map(|(case, capacity)| {
        let sizes = vec![1; case.sizes.len()];
        Case { sizes, capacity, ..case }
    })
}

fn see(name: &str, case: &Case) -> Vec<RequestOutcome> {
    (Kind::named(name).unwrap().watched)(case)
}

/// What a policy must agree with: what is inside after each request, by a model that is asked
/// whether it hits and otherwise has to make room.
trait Model {
    fn hit(&mut self, case: &Case, at: usize, object: u32) -> bool;
    fn insert(&mut self, case: &Case, at: usize, object: u32);
    fn inside(&self) -> Vec<u32>;
}

fn agrees(name: &str, case: &Case, mut model: impl Model) -> Result<(), TestCaseError> {
    for (at, seen) in see(name, case).iter().enumerate() {
        let object = case.requests[at];
        let hit = model.hit(case, at, object);
        if !hit {
            model.insert(case, at, object);
        }
        let mut inside = model.inside();
        inside.sort_unstable();
        prop_assert_eq!((hit, &inside), (seen.hit, &seen.inside), "{} at {}", name, at);
    }
    Ok(())
}

proptest! {
    #[test]
    fn every_policy_keeps_to_its_contract(case in cases()) {
        for kind in KINDS {
            let seen = (kind.watched)(&case);
            prop_assert_eq!(&seen, &(kind.watched)(&case), "{} differs", kind.name);
            let inserted = seen.iter().filter(|seen| seen.inserted).count();
            let gone: usize = seen.iter().map(|seen| seen.gone.len()).sum();
            let left = seen.last().unwrap().inside.len();
            prop_assert_eq!(gone + left, inserted, "{}", kind.name);
        }
    }

    #[test]
    fn settings_keep_to_the_contract_too(case in cases(), which in 0..SET.len()) {
        let (name, settings) = SET[which];
        let seen = see(name, &case.with(settings));
        prop_assert_eq!(seen.len(), case.requests.len());
    }
}

/// Policies with settings.
const SET: [(&str, &str); 10] = [
    ("clock", "bits=3"),
    ("slru", "segments=2"),
    ("slru", "segments=8"),
    ("lru-k", "k=3"),
    ("lru-k", "k=2:history=dropped"),
    ("gds", "cost=size"),
    ("gds", "cost=packets"),
    ("gds", "cost=latency:rtt_ms=20:mbit=100"),
    ("gds", "cost=hops"),
    ("gds", "cost=1"),
];

/// What fits is in after its request, but with those that refuse what is above a part of them.
#[test]
fn what_fits_comes_in() {
    let case = Case::new(&[0, 1, 2, 3, 0], &[10, 20, 30, 100], 100);
    for kind in KINDS {
        let refuses = ["slru", "s3fifo", "2q", "lirs", "wtinylfu"].contains(&kind.name);
        let seen = (kind.watched)(&case);
        let all = seen.iter().all(|seen| seen.hit || seen.inserted);
        assert_eq!(all, !refuses, "{}", kind.name);
    }
}
