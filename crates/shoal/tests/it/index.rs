//! The tree behind the order: every shape of it against the simple look-up.

use std::sync::Arc;

use plimsoll_shoal::geo::haversine_km;
use plimsoll_shoal::index::{BANDS, band};
use plimsoll_shoal::order::{Looker, Pick, Question};
use plimsoll_shoal::registry::{Base, Snapshot};
use plimsoll_workload::random::Stream;

use crate::members::{any, anywhere, question, ranks, snapshot, squids};

/// Bands and classes of an answer.
fn answered(looker: &mut Looker, snapshot: &Snapshot, question: &Question<'_>) -> Vec<(i32, u8)> {
    let (mut random, mut picks) = (Stream::named(1, "answered"), Vec::new());
    looker.nearest(snapshot, question, &mut random, &mut picks);
    let rank = |pick: &Pick<'_>| {
        let km = pick.distance_km.unwrap();
        (i32::from(band(km)), pick.cache.load_class())
    };
    picks.iter().map(rank).collect()
}

#[test]
fn every_size_of_tree_gives_the_nearest() {
    let mut random = Stream::named(3, "sizes");
    let mut looker = Looker::default();
    let sizes = (0..=70).chain([127, 128, 129, 255, 256, 257, 511, 513, 1_000, 4_097]);
    for size in sizes {
        let places: Vec<_> = (0..size).map(|_| anywhere(&mut random)).collect();
        let snapshot = snapshot(squids(places), size);
        for _ in 0..20 {
            let question = question(Some(anywhere(&mut random)));
            let expected: Vec<_> = ranks(&snapshot, &question).into_iter().take(5).collect();
            assert_eq!(answered(&mut looker, &snapshot, &question), expected, "{size} members");
        }
    }
}

#[test]
fn a_base_lets_go_of_so_many_members_at_a_time() {
    let mut random = Stream::named(5, "parts");
    let caches = squids((0..300).map(|_| anywhere(&mut random)).collect::<Vec<_>>());
    let held = || caches.iter().map(Arc::strong_count).sum::<usize>();
    let base = Base::new(caches.clone());
    let (all, mut last) = (held(), held());
    base.free(128, || {
        let now = held();
        assert!(last - now <= 128, "{last}, then {now}");
        last = now;
    });
    assert_eq!((all, last, held()), (900, 300, 300));
}

#[test]
fn equal_places_poles_and_the_date_line_are_as_any() {
    let corners = [
        (90.0, 0.0),
        (90.0, 77.0),
        (-90.0, 0.0),
        (0.0, 180.0),
        (0.0, -180.0),
        (0.0, 179.999),
        (0.0, -179.999),
        (89.9, -135.0),
        (0.0, 0.0),
        (46.2296, 6.0526),
    ];
    let mut random = Stream::named(4, "corners");
    let mut looker = Looker::default();
    for size in [10, 100, 3_000] {
        let places: Vec<_> = (0..size).map(|_| any(&mut random, &corners)).collect();
        let snapshot = snapshot(squids(places), size);
        for spot in corners {
            for count in [1, 5, 100, 1_000] {
                let question = Question { count, ..question(Some(spot)) };
                let expected: Vec<_> =
                    ranks(&snapshot, &question).into_iter().take(count).collect();
                assert_eq!(answered(&mut looker, &snapshot, &question), expected, "{spot:?}");
            }
        }
    }
}

/// Single precision is off by a metre; the bands are not.
#[test]
fn places_within_centimetres_of_an_end_are_in_their_band() {
    let mut looker = Looker::default();
    let km_a_degree = haversine_km(0.0, 0.0, 1.0, 0.0);
    for (k, spot) in (0..8).flat_map(|k| [(k, (-70.0, 12.3)), (k, (-63.21, -179.99))]) {
        let end = 100.0 * f64::from(1 << k) / km_a_degree;
        let near = [-3e-5, -1e-6, -1e-7, 1e-7, 1e-6, 3e-5];
        let places = near.map(|past| {
            let latitude = spot.0 + end + past;
            if latitude <= 90.0 { (latitude, spot.1) } else { (180.0 - latitude, spot.1 + 180.0) }
        });
        let snapshot = snapshot(squids(places), 6);
        let question = Question { count: 6, ..question(Some(spot)) };
        let expected = [k, k, k, k + 1, k + 1, k + 1].map(|band| (band, 0)).to_vec();
        assert_eq!(answered(&mut looker, &snapshot, &question), expected, "end of band {k}");
    }
}

#[test]
fn the_last_band_is_where_all_that_is_far_away_is() {
    assert_eq!(usize::from(band(haversine_km(0.0, 0.0, 0.0, 180.0))), BANDS - 1);
}
