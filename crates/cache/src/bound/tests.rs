//! The bound against the best there is, found by trying everything, against Belady's policy with
//! bypass, and against every policy of the list.

use proptest::prelude::*;

use super::*;
use crate::eviction::KINDS;
use crate::made;

fn capacity(amount: u64, unit: Unit) -> Capacity {
    Capacity { amount, unit }
}

/// The fewest misses, or missed bytes, over all ways to run a cache: for each set of objects that
/// may be inside, the least that it takes to get there.
fn best(trace: &Trace, capacity: Capacity, miss: impl Fn(u32) -> u64) -> u64 {
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
            let mut after = may;
            loop {
                if fits[after] {
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
