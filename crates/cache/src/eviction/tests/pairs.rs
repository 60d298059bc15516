//! What is known of pairs of policies.

use proptest::prelude::*;

use super::super::KINDS;
use super::{Case, cases, equal_cases, see};

fn hits(name: &str, case: &Case) -> Vec<bool> {
    see(name, case).iter().map(|seen| seen.hit).collect()
}

fn misses(name: &str, case: &Case) -> usize {
    hits(name, case).iter().filter(|&&hit| !hit).count()
}

proptest! {
    /// Both take what was never asked for again, first in first out. SIEVE's hand wraps when it
    /// has passed all that there is; it cannot where as many objects as fit come once each between
    /// those that come often.
    #[test]
    fn sieve_is_lfu_before_its_hand_wraps(
        popular in proptest::collection::vec(0..4u32, 1..20),
        gaps in proptest::collection::vec(0..4usize, 20),
        capacity in 8..12u64,
    ) {
        let mut requests = Vec::new();
        let mut once = 4..;
        for (&object, &gap) in popular.iter().zip(&gaps) {
            requests.push(object);
            requests.extend(once.by_ref().take(gap));
        }
        let objects = requests.iter().max().map_or(1, |&greatest| greatest as usize + 1);
        let case = Case::new(&requests, &vec![1; objects], capacity);
        let passes = evictions_before_a_wrap(&case);
        let seen = |name: &str| see(name, &case).into_iter().take(passes).collect::<Vec<_>>();
        prop_assert_eq!(seen("sieve"), seen("lfu"));
    }

    #[test]
    fn lru_keeps_what_a_smaller_lru_keeps(case in equal_cases(), more in 1..9u64) {
        let larger = Case { capacity: case.capacity + more, ..case.clone() };
        for (small, large) in see("lru", &case).iter().zip(see("lru", &larger)) {
            prop_assert!(small.inside.iter().all(|object| large.inside.contains(object)));
        }
    }

    #[test]
    fn gdsf_at_equal_sizes_is_lfu_with_aging(case in equal_cases()) {
        prop_assert_eq!(see("gdsf", &case), see("lfuda", &case));
    }

    #[test]
    fn some_are_lru(equal in equal_cases(), any in cases()) {
        prop_assert_eq!(see("gds", &equal), see("lru", &equal));
        prop_assert_eq!(see("lru-k", &any.with("k=1")), see("lru", &any));
        prop_assert_eq!(see("squid-lru", &any), see("lru", &any));
        prop_assert_eq!(see("slru", &any.with("segments=1")), see("lru", &any));
        // An object of no bytes has the worth of one byte, and so the same as all others.
        prop_assert_eq!(see("gds", &any.with("cost=size")), see("lru", &any));
    }

    #[test]
    fn none_that_always_inserts_beats_belady(case in equal_cases()) {
        let bound = misses("belady", &case);
        for kind in KINDS {
            let seen = see(kind.name, &case);
            if seen.iter().all(|seen| seen.hit || seen.inserted) {
                prop_assert!(misses(kind.name, &case) >= bound, "{}", kind.name);
            }
        }
    }
}

/// How many requests SIEVE answers before its hand has passed all that came in before it. The hand
/// goes through the objects in the order in which they came in; it is through when the newest of
/// those that it passed or took is the newest of all.
fn evictions_before_a_wrap(case: &Case) -> usize {
    let mut order: Vec<u32> = Vec::new();
    for (at, seen) in see("sieve", case).iter().enumerate() {
        if let Some(&victim) = seen.gone.first() {
            let place = order.iter().rposition(|&object| object == victim).unwrap();
            // Behind the victim everything was asked for: the next hand may come to the end.
            let left = order.len() - 1 - place;
            if left < 2 {
                return at;
            }
        }
        if seen.inserted {
            order.push(case.requests[at]);
        }
    }
    case.requests.len()
}

/// As it is on any trace whose popular objects are known early: two of three requests are to
/// objects that never come again, and the hand stays behind them for ever.
#[test]
fn sieve_is_lfu_where_its_hand_never_wraps() {
    let request = |at: u32| if at.is_multiple_of(3) { at / 3 % 4 } else { 4 + at };
    let requests: Vec<u32> = (0..600).map(request).collect();
    let case = Case::new(&requests, &[1; 604], 20);
    let seen = see("sieve", &case);
    let gone: usize = seen.iter().map(|seen| seen.gone.len()).sum();
    assert_eq!((gone, seen), (384, see("lfu", &case)));
}
