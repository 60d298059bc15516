//! What a look-up costs, of 5 and of 100 caches among 100 to 100,000, and what building costs. Run
//! with `cargo run --release -p plimsoll-shoal --example bench_order [CACHES...]`, on one core
//! (`taskset`).
#![expect(clippy::disallowed_methods, reason = "measuring is the purpose of this program")]
#![expect(clippy::print_stdout, reason = "its result goes to the terminal")]

mod world;

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use plimsoll_shoal::answer::old::{OldEntry, entries, old_distance};
use plimsoll_shoal::heartbeat::Number;
use plimsoll_shoal::order::{Looker, Pick};
use plimsoll_shoal::registry::Base;
use plimsoll_workload::random::Stream;
use world::{QUERIES, World};

const ROUNDS: usize = 7;
/// Look-ups between two looks at the clock.
const RUN: usize = 256;

fn main() {
    let world = World::new();
    println!("places: {}", world.source);
    println!(
        "{:>8} {:>6} {:>12} {:>14} {:>10}",
        "caches", "count", "ns a look-up", "with locating", "answered"
    );
    let wanted: Vec<u32> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let sizes = if wanted.is_empty() { vec![100, 1_000, 10_000, 100_000] } else { wanted };
    for &members in &sizes {
        for count in [5, 100] {
            let ns = ns_a_look_up(&world, members, count, false, false);
            let located = ns_a_look_up(&world, members, count, true, false);
            let answered = ns_a_look_up(&world, members, count, true, true);
            println!("{members:>8} {count:>6} {ns:>12.0} {located:>14.0} {answered:>10.0}");
        }
    }
    for &members in &sizes {
        let caches = world.caches(members, &Arc::default());
        let ms = best(|| {
            let caches = caches.clone();
            let begun = Instant::now();
            black_box(Base::new(caches));
            begun.elapsed().as_secs_f64() * 1e3
        });
        println!("{members:>8} caches: {ms:.2} ms to build the index");
    }
}

/// While loads change: one for every 16 look-ups, as 3,333 heartbeats/s are beside 53,000 look-ups.
/// Each short run of look-ups counts with its quickest round: what disturbs it only adds.
fn ns_a_look_up(world: &World, members: u32, count: usize, locate: bool, answer: bool) -> f64 {
    let snapshot = world.snapshot(members);
    let mut looker = Looker::default();
    let mut random = Stream::named(3, "look-ups");
    let mut picks = Vec::new();
    let mut body = Vec::with_capacity(1 << 16);
    let look_ups = if count > 5 { QUERIES / 8 } else { QUERIES };
    let mut least = vec![f64::INFINITY; look_ups / RUN];
    for _ in 0..ROUNDS {
        for (run, least) in least.iter_mut().enumerate() {
            let begun = Instant::now();
            for at in run * RUN..(run + 1) * RUN {
                if at % 16 == 0 {
                    let caches = &snapshot.base.caches;
                    let cache = usize::try_from(random.below(caches.len() as u64)).unwrap_or(0);
                    caches[cache].set_load(Number::Int(random.below(122_000)));
                }
                let question = world.question(at, count, locate);
                looker.nearest(&snapshot, &question, &mut random, &mut picks);
                if answer {
                    body.clear();
                    entries(&mut body, picks.iter().map(entry));
                    black_box(&body);
                }
                black_box(&picks);
            }
            *least = least.min(begun.elapsed().as_nanos() as f64);
        }
    }
    least.iter().sum::<f64>() / look_ups as f64
}

fn entry<'a>(pick: &Pick<'a>) -> OldEntry<'a> {
    let distance = old_distance(pick.distance_km, pick.cache.load().value());
    OldEntry { cache: pick.cache, local: pick.local, distance: Some(distance) }
}

/// The least of some rounds.
fn best(mut round: impl FnMut() -> f64) -> f64 {
    (0..ROUNDS).map(|_| round()).fold(f64::INFINITY, f64::min)
}
