//! The bounds against the best there is, found by trying everything, against Belady's policy with
//! bypass as plainly as it can be written, and against every policy of the list.

use std::cmp::Ordering;

use proptest::prelude::*;

use super::pfoo::Hold;
use super::*;
use crate::admission::Admission;
use crate::eviction::KINDS;
use crate::made;

fn capacity(amount: u64, unit: Unit) -> Capacity {
    Capacity { amount, unit }
}

/// The fewest misses, or missed bytes, over all ways to run a cache.
fn best(trace: &Trace, capacity: Capacity, miss: impl Fn(u32) -> u64) -> u64 {
    best_of(trace, capacity, true, miss)
}

/// The same over those ways that may refuse what is missed, or over those that take it in where
/// it fits: for each set of objects that may be inside, the least that it takes to get there.
fn best_of(trace: &Trace, capacity: Capacity, may_refuse: bool, miss: impl Fn(u32) -> u64) -> u64 {
    let takes = |object: u32| match capacity.unit {
        Unit::Objects => 1,
        Unit::Bytes => trace.sizes().unwrap().of(object),
    };
    let objects = trace.distinct();
    let sets = 1usize << objects;
    let fits: Vec<bool> = (0..sets)
        .map(|set| {
            let inside = (0..objects).filter(|&object| set >> object & 1 == 1);
            inside.map(takes).sum::<u64>() <= capacity.amount
        })
        .collect();
    let mut least = vec![u64::MAX; sets];
    least[0] = 0;
    for &object in trace.requests() {
        let mut then = vec![u64::MAX; sets];
        for set in (0..sets).filter(|&set| least[set] < u64::MAX) {
            let hit = set >> object & 1 == 1;
            let cost = least[set] + if hit { 0 } else { miss(object) };
            // Afterwards: any of what was inside and the object, as far as it fits.
            let may = set | 1 << object;
            let must = if may_refuse || hit || !fits[1 << object] { 0 } else { 1 << object };
            let mut after = may;
            loop {
                if fits[after] && after & must == must {
                    then[after] = then[after].min(cost);
                }
                if after == 0 {
                    break;
                }
                after = (after - 1) & may;
            }
        }
        least = then;
    }
    least.into_iter().min().unwrap()
}

/// Belady's policy with bypass: of what is inside and the object asked for, the one that is next
/// asked for the latest goes.
fn belady(trace: &Trace, capacity: usize) -> u64 {
    let next = trace.next_uses();
    let mut inside: Vec<(u32, u32)> = Vec::new();
    let mut misses = 0;
    for (at, &object) in trace.requests().iter().enumerate() {
        let before = inside.len();
        inside.retain(|&(_, other)| other != object);
        misses += u64::from(before == inside.len());
        inside.push((next[at], object));
        inside.sort_unstable();
        inside.truncate(capacity);
    }
    misses
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn the_best_there_is_has_no_fewer_misses(
        asked in proptest::collection::vec((0u32..5, 0u64..9), 1..30),
        amount in 0u64..20,
    ) {
        let trace = made::sized(&asked);
        let size = |object| trace.sizes().unwrap().of(object);
        for capacity in [capacity(amount, Unit::Bytes), capacity(amount / 4, Unit::Objects)] {
            let bound = pfoo_lower(&trace, &[capacity]).unwrap()[0];
            prop_assert!(bound.misses <= best(&trace, capacity, |_| 1));
            prop_assert!(bound.missed_bytes.unwrap() <= best(&trace, capacity, size));
            prop_assert!(bound.misses >= u64::from(trace.distinct()));
            prop_assert!(bound.missed_bytes.unwrap() >= trace.footprint_bytes().unwrap());
        }
    }

    #[test]
    fn bounds_of_objects_of_one_size_are_the_best_there_is(
        asked in proptest::collection::vec(0u32..6, 1..40),
        amount in 0u64..7,
        size in 0u64..40,
        rest in 0u64..40,
        refuses in any::<bool>(),
    ) {
        let kind = if refuses { BoundKind::BeladyBypass } else { BoundKind::Belady };
        let trace = made::trace(&asked);
        let counted = capacity(amount, Unit::Objects);
        let least = best_of(&trace, counted, refuses, |_| 1);
        let (misses, missed_bytes, missed_bytes_kind) = (least, None, kind);
        let wanted = Bound { capacity: counted, misses, kind, missed_bytes, missed_bytes_kind };
        prop_assert_eq!(bounds(&trace, &[counted], refuses), Ok(vec![wanted]));
        // The same in bytes, with room for so many and a rest in which no other fits.
        let sizes: Vec<(u32, u64)> = asked.iter().map(|&object| (object, size)).collect();
        let trace = made::sized(&sizes);
        let in_bytes = capacity(amount * size + rest % size.max(1), Unit::Bytes);
        let least = best_of(&trace, in_bytes, refuses, |_| 1);
        for capacity in [in_bytes, counted] {
            let bound = bounds(&trace, &[capacity], refuses).unwrap()[0];
            // Where objects have no bytes, all of them fit into none.
            if capacity.unit == Unit::Bytes || size > 0 {
                prop_assert_eq!((bound.misses, bound.kind), (least, kind));
            }
            let missed = (bound.missed_bytes, bound.missed_bytes_kind);
            prop_assert_eq!(missed, (Some(bound.misses * size), kind));
        }
    }

    #[test]
    fn bounds_of_objects_of_any_size_say_so(
        asked in proptest::collection::vec((0u32..5, 0u64..9), 1..30),
        amount in 0u64..20,
        refuses in any::<bool>(),
    ) {
        let asked: Vec<(u32, u64)> = [(90, 1), (91, 2)].into_iter().chain(asked).collect();
        let trace = made::sized(&asked);
        let size = |object| trace.sizes().unwrap().of(object);
        let capacities = [capacity(amount, Unit::Bytes), capacity(amount / 4, Unit::Objects)];
        let found = bounds(&trace, &capacities, refuses).unwrap();
        let pfoo = pfoo_lower(&trace, &capacities).unwrap();
        prop_assert_eq!(found[0], pfoo[0]);
        prop_assert_eq!(found[0].kind, BoundKind::PfooLower);
        // Objects count one each: misses are exact, missed bytes another question.
        prop_assert_eq!(found[1].misses, best_of(&trace, capacities[1], refuses, |_| 1));
        let fewest_bytes = best_of(&trace, capacities[1], refuses, size);
        prop_assert!(found[1].missed_bytes.unwrap() <= fewest_bytes);
        let kinds = (found[1].kind, found[1].missed_bytes_kind);
        let belady = if refuses { BoundKind::BeladyBypass } else { BoundKind::Belady };
        prop_assert_eq!(kinds, (belady, BoundKind::PfooLower));
        prop_assert!(found[1].misses >= pfoo[1].misses);
    }

    #[test]
    fn belady_with_bypass_is_what_it_says(
        asked in proptest::collection::vec(0u32..40, 1..600),
        amount in 1usize..40,
    ) {
        let trace = made::trace(&asked);
        let bound = bounds(&trace, &[capacity(amount as u64, Unit::Objects)], true).unwrap()[0];
        prop_assert_eq!(bound.misses, belady(&trace, amount));
    }

    #[test]
    fn no_policy_beats_the_bound_of_objects_of_one_size(
        asked in proptest::collection::vec(0u32..40, 1..500),
        (amount, size, rest) in (1u64..45, 1u64..300, 0u64..300),
        admission in prop_oneof![
            Just(None),
            Just(Some(Admission::Second)),
            Just(Some(Admission::Random(0.4))),
        ],
    ) {
        let sizes: Vec<(u32, u64)> = asked.iter().map(|&object| (object, size)).collect();
        let trace = made::sized(&sizes);
        let in_bytes = capacity(amount * size + rest % size, Unit::Bytes);
        for capacity in [in_bytes, capacity(amount, Unit::Objects)] {
            let bound = bounds(&trace, &[capacity], admission.is_some()).unwrap()[0];
            for kind in KINDS {
                let run = made::run_behind(admission, kind, &trace, capacity);
                prop_assert!(bound.misses <= run.misses, "{} {:?}", kind.name, bound);
                prop_assert!(bound.missed_bytes <= Some(run.missed_bytes), "{}", kind.name);
            }
        }
    }

    #[test]
    fn belady_with_bypass_has_no_fewer_misses(
        asked in proptest::collection::vec(0u32..30, 1..600),
        amount in 1usize..30,
    ) {
        let trace = made::trace(&asked);
        let bound = pfoo_lower(&trace, &[capacity(amount as u64, Unit::Objects)]).unwrap()[0];
        prop_assert!(bound.misses <= belady(&trace, amount));
        prop_assert_eq!(bound.missed_bytes, None);
    }

    #[test]
    fn no_policy_has_fewer_misses(
        asked in proptest::collection::vec((0u32..60, 1u64..500), 1..600),
        amounts in proptest::collection::vec(1u64..4000, 1..6),
    ) {
        let trace = made::sized(&asked);
        for (unit, parts) in [(Unit::Bytes, 1), (Unit::Objects, 60)] {
            let capacities: Vec<Capacity> =
                amounts.iter().map(|&amount| capacity(amount / parts + 1, unit)).collect();
            let bounds = pfoo_lower(&trace, &capacities).unwrap();
            for kind in KINDS {
                for bound in &bounds {
                    let run = made::run(kind, &trace, bound.capacity);
                    let name = kind.name;
                    prop_assert!(bound.misses <= run.misses, "{} {:?}", name, bound);
                    prop_assert!(bound.missed_bytes <= Some(run.missed_bytes), "{}", name);
                }
            }
        }
    }
}

#[test]
fn the_bound_is_near_to_belady_on_the_reference_shape() {
    let trace = made::reference(3_000, 20_000);
    let amounts = [30, 300];
    let capacities = amounts.map(|amount| capacity(amount, Unit::Objects));
    for (bound, amount) in pfoo_lower(&trace, &capacities).unwrap().iter().zip(amounts) {
        let best = belady(&trace, usize::try_from(amount).unwrap());
        assert!(bound.misses <= best);
        // It is no empty promise either.
        assert!(bound.misses * 100 >= best * 90, "{} of {best} at {amount}", bound.misses);
    }
}

#[test]
fn nothing_and_everything() {
    let trace = made::sized(&[(0, 3), (1, 5), (0, 3), (1, 5), (0, 3)]);
    let amounts = [0, 3, u64::MAX];
    let all = |unit| {
        let capacities = amounts.map(|amount| capacity(amount, unit));
        let bounds = pfoo_lower(&trace, &capacities).unwrap();
        let both = bounds.iter().map(|bound| (bound.misses, bound.missed_bytes.unwrap()));
        both.collect::<Vec<_>>()
    };
    // Three bytes over four gaps: both hits on object 0, and never 1, which is larger.
    assert_eq!(all(Unit::Bytes), [(5, 19), (3, 13), (2, 8)]);
    assert_eq!(all(Unit::Objects), [(5, 19), (2, 8), (2, 8)]);
    let none = made::trace(&[]);
    let bound = pfoo_lower(&none, &[capacity(5, Unit::Objects)]).unwrap()[0];
    assert_eq!((bound.misses, bound.missed_bytes), (0, None));
    assert_eq!(pfoo_lower(&none, &[capacity(5, Unit::Bytes)]), Err(NoSizes));
    assert_eq!(pfoo_lower(&none, &[]), Ok(Vec::new()));
}

/// Objects of no bytes are worth nothing, and stand behind all others: as the equal of each they
/// would leave no order, which sorting does not forgive.
#[test]
fn objects_of_no_bytes_leave_the_bound_a_bound() {
    let hold = |cost, worth| Hold { cost, takes: 1, worth };
    let (cheap, dear, nothing) = (hold(1, 100), hold(9, 100), hold(5, 0));
    assert_eq!(cheap.dearer_by_worth(&dear), Ordering::Less);
    assert_eq!(dear.dearer_by_worth(&nothing), Ordering::Less);
    assert_eq!(nothing.dearer_by_worth(&cheap), Ordering::Greater);
    assert_eq!(nothing.dearer_by_worth(&hold(7, 0)), Ordering::Equal);
    let asked: Vec<(u32, u64)> = (0..3_000u32)
        .map(|at| {
            let object = at.wrapping_mul(2_654_435_761) >> 16 & 127;
            (object, u64::from(object % 5) * 100)
        })
        .collect();
    let trace = made::sized(&asked);
    for unit in [Unit::Objects, Unit::Bytes] {
        let capacity = capacity(30, unit);
        let bound = pfoo_lower(&trace, &[capacity]).unwrap()[0];
        let run = made::lru(&trace, capacity);
        assert!(bound.misses <= run.misses && bound.missed_bytes.unwrap() <= run.missed_bytes);
    }
}

/// What is asked for once costs a place only where it must come in.
#[test]
fn to_refuse_may_help() {
    let trace = made::trace(&[0, 1, 0, 2, 0, 3, 0]);
    let one = [capacity(1, Unit::Objects)];
    let misses = |refuses| bounds(&trace, &one, refuses).unwrap()[0].misses;
    assert_eq!((misses(false), misses(true)), (7, 4));
    let in_bytes = [capacity(1, Unit::Bytes)];
    assert_eq!(bounds(&trace, &in_bytes, true), Err(NoSizes));
    assert_eq!(bounds(&trace, &[], true), Ok(Vec::new()));
    assert_eq!(size_of_all(&made::sized(&[(0, 7), (1, 7)])), Some(7));
    assert_eq!(size_of_all(&made::sized(&[(0, 7), (1, 8)])), None);
}
