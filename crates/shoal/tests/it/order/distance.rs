//! The order by distance, against a sort that is so simple that it is right.

use plimsoll_shoal::heartbeat::Number;
use plimsoll_shoal::order::{Question, distance_order};
use plimsoll_shoal::registry::State;
use plimsoll_workload::random::Stream;

use crate::members::{anywhere, beat, cache, question, snapshot};

#[test]
fn the_nearest_come_first_and_of_equally_near_ones_the_least_loaded() {
    let random = &mut Stream::named(7, "distance");
    let home = (46.2, 6.1);
    let caches = (0..400).map(|number| {
        let mut beat = beat(number);
        beat.load = Number::Int(random.below(100_000));
        // Many at one place, many within a kilometre of it, some nowhere.
        let place = match random.below(4) {
            0 => Some(home),
            1 => Some((home.0 + 0.004 * random.uniform(), home.1)),
            2 => Some(anywhere(random)),
            _ => None,
        };
        let cache = cache(&beat, number, place);
        cache.set_state(if number % 10 == 0 { State::Drained } else { State::Verified });
        cache
    });
    let caches: Vec<_> = caches.collect();
    let snapshot = snapshot(caches, 300);
    for spot in [Some(home), Some((-36.8, 179.9)), None] {
        for count in [1, 20, 1000] {
            let question = Question { count, ..question(spot) };
            let found = distance_order(snapshot.caches(), &question);
            let served = snapshot.caches().filter(|cache| question.admits(cache)).count();
            assert_eq!(found.len(), count.min(served));
            assert!(found.iter().all(|pick| pick.cache.state() == State::Verified));
            let rank = |pick: &plimsoll_shoal::order::Pick<'_>| {
                (pick.distance_km.map_or(f64::INFINITY, f64::floor), pick.cache.load().value())
            };
            assert!(found.windows(2).all(|pair| rank(&pair[0]) <= rank(&pair[1])), "{spot:?}");
            // Nobody who is left out goes before the last that is in.
            let last = rank(found.last().unwrap());
            let all = distance_order(snapshot.caches(), &Question { count: 1000, ..question });
            assert!(all[found.len()..].iter().all(|pick| rank(pick) >= last));
            let again = distance_order(snapshot.caches(), &question);
            let numbers = |picks: &[plimsoll_shoal::order::Pick<'_>]| {
                picks.iter().map(|pick| pick.cache.number).collect::<Vec<_>>()
            };
            assert_eq!(numbers(&again), numbers(&found), "nothing is drawn");
        }
    }
}
