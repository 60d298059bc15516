//! Chance is fair: no cache is favoured over another of its class.

use std::collections::BTreeMap;

use plimsoll_shoal::heartbeat::Number;
use plimsoll_shoal::order::{Looker, Question};
use plimsoll_shoal::registry::Snapshot;
use plimsoll_workload::random::Stream;

use crate::members::{anywhere, band_of, question, snapshot, squids};

/// How often each of those of the answers' one band is answered. Checks the sum of squared
/// deviations from even chances against the chi-square distribution: with k degrees of freedom
/// its mean is k and its standard deviation √(2k); six of these are allowed.
fn check_even(snapshot: &Snapshot, question: &Question<'_>, rounds: u32, seed: u64) {
    let (mut looker, mut picks) = (Looker::default(), Vec::new());
    let mut random = Stream::named(seed, "chance");
    let mut times: BTreeMap<u64, u32> = BTreeMap::new();
    for _ in 0..rounds {
        looker.nearest(snapshot, question, &mut random, &mut picks);
        assert_eq!(picks.len(), question.count);
        for pick in &picks {
            *times.entry(pick.cache.number).or_default() += 1;
        }
    }
    let all = snapshot.base.caches.iter().chain(&snapshot.joined);
    let bands: BTreeMap<u64, i32> =
        all.map(|cache| (cache.number, band_of(question.spot, cache))).collect();
    let nearest = bands.values().copied().min().unwrap();
    let eligible = bands.values().filter(|&&band| band == nearest).count();
    assert!(times.keys().all(|number| bands[number] == nearest), "from another band");
    assert!(eligible > question.count, "nothing to choose from");
    let expected = f64::from(rounds) * question.count as f64 / eligible as f64;
    let deviation = |times: f64| (times - expected).powi(2) / expected;
    let never = eligible - times.len();
    let sum: f64 = times.values().map(|&times| deviation(f64::from(times))).sum::<f64>()
        + never as f64 * expected;
    let freedom = eligible as f64 - 1.0;
    let limit = freedom + 6.0 * (2.0 * freedom).sqrt();
    assert!(sum < limit, "{sum} of at most {limit}, {eligible} caches, {never} never");
}

#[test]
fn equal_places_have_equal_chances() {
    // Looked at whole, sampled, and in one part or two.
    for (size, in_base, count) in [(20, 20, 5), (300, 300, 5), (700, 600, 5), (700, 100, 40)] {
        let snapshot = snapshot(squids((0..size).map(|_| (46.2, 6.1))), in_base);
        let rounds = 40 * u32::try_from(size / count).unwrap();
        check_even(&snapshot, &Question { count, ..question(Some((46.2, 6.1))) }, rounds, 1);
    }
}

/// The nodes at a band's edges are drawn from with rejection.
#[test]
fn places_across_a_band_have_equal_chances() {
    let mut random = Stream::named(2, "across");
    let places: Vec<_> = (0..4_000)
        .map(|_| (40.0 * random.uniform() - 20.0, 60.0 * random.uniform() - 30.0))
        .collect();
    let snapshot = snapshot(squids(places), 3_500);
    // From over there the nearest band that has any has its edge within the field.
    for (seed, spot) in [(1, (0.0, -80.0)), (2, (75.0, 10.0)), (3, (-60.0, 150.0))] {
        check_even(&snapshot, &question(Some(spot)), 16_000, seed);
    }
}

#[test]
fn a_client_that_is_nowhere_has_equal_chances_with_all() {
    let mut random = Stream::named(3, "nowhere");
    let snapshot = snapshot(squids((0..900).map(|_| anywhere(&mut random))), 800);
    check_even(&snapshot, &question(None), 8_000, 1);
}

#[test]
fn of_many_the_loaded_are_rarely_taken() {
    let caches = squids((0..2_000).map(|_| (46.2, 6.1)));
    // Half of them are full.
    for cache in caches.iter().step_by(2) {
        cache.set_load(Number::Int(1_000_000));
    }
    let snapshot = snapshot(caches, 2_000);
    let (mut looker, mut picks) = (Looker::default(), Vec::new());
    let mut random = Stream::named(4, "loaded");
    let mut full = 0;
    for _ in 0..2_000 {
        looker.nearest(&snapshot, &question(Some((46.2, 6.1))), &mut random, &mut picks);
        full += picks.iter().filter(|pick| pick.cache.load_class() == 10).count();
    }
    // Fewer than 5 of 20 that are drawn are free: binomial, 0.6%.
    assert!(full < 200, "{full} of 10000 are full");
}
