//! The same look-ups as `bench_order`, by kiddo's immutable k-d tree: the 4 n nearest, of which
//! the n of the lowest load classes are taken. In one run with ours, look-ups taking turns.
//!
//! kiddo's answer is simpler than what the registry owes: no bands, no chance among equals, no
//! caches that joined since the tree was built, none that died.

#[path = "../../../../crates/shoal/examples/bench_order/world.rs"]
mod world;

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use kiddo::ImmutableKdTree;
use kiddo::dist::SquaredEuclidean;
use plimsoll_shoal::geo::{Point, haversine_km};
use plimsoll_shoal::order::{Looker, Pick};
use plimsoll_shoal::registry::Cache;
use plimsoll_workload::random::Stream;
use world::{QUERIES, World};

const ROUNDS: usize = 7;
const RUN: usize = 256;

fn main() {
    let world = World::new();
    println!("{:>8} {:>6} {:>10} {:>10}", "caches", "count", "ours, ns", "kiddo, ns");
    for members in [100, 1_000, 10_000, 100_000] {
        let caches = world.caches(members, &Arc::default());
        let points: Vec<[f32; 3]> = caches.iter().map(|cache| point(cache)).collect();
        let begun = Instant::now();
        let tree = ImmutableKdTree::<f32, 3>::new_from_slice(&points).expect("a tree");
        let built_ms = begun.elapsed().as_secs_f64() * 1e3;
        for count in [5, 100] {
            let (ours, theirs) = compare(&world, members, count, &caches, &tree);
            println!("{members:>8} {count:>6} {ours:>10.0} {theirs:>10.0}");
        }
        println!("{members:>8} caches: {built_ms:.2} ms to build kiddo's tree");
    }
}

fn point(cache: &Cache) -> [f32; 3] {
    let (latitude, longitude) = cache.coordinates().expect("a place");
    Point::new(latitude, longitude).xyz
}

fn compare(
    world: &World,
    members: u32,
    count: usize,
    caches: &[Arc<Cache>],
    tree: &ImmutableKdTree<f32, 3>,
) -> (f64, f64) {
    let snapshot = world.snapshot(members);
    let (mut looker, mut random) = (Looker::default(), Stream::named(3, "look-ups"));
    let (mut picks, mut ranked) = (Vec::new(), Vec::new());
    let look_ups = if count > 5 { QUERIES / 16 } else { QUERIES / 4 };
    let mut least = vec![[f64::INFINITY; 2]; look_ups / RUN];
    for _ in 0..ROUNDS {
        for (run, least) in least.iter_mut().enumerate() {
            let queries = run * RUN..(run + 1) * RUN;
            let begun = Instant::now();
            for at in queries.clone() {
                let question = world.question(at, count, false);
                looker.nearest(&snapshot, &question, &mut random, &mut picks);
                black_box(&picks);
            }
            least[0] = least[0].min(begun.elapsed().as_nanos() as f64);
            let begun = Instant::now();
            for at in queries {
                let Some(spot) = world.question(at, count, false).spot else { continue };
                let from = Point::new(spot.latitude, spot.longitude).xyz;
                let most = (4 * count).min(caches.len()).try_into().expect("some");
                let found = tree.query(&from).nearest_n::<SquaredEuclidean<f32>>(most).execute();
                ranked.clear();
                ranked.extend(found.iter().map(|near| {
                    let cache = &caches[near.item as usize];
                    (cache.load_class(), near.item)
                }));
                ranked.sort_unstable();
                picks.clear();
                picks.extend(ranked.iter().take(count).map(|&(_, item)| {
                    let cache = &caches[item as usize];
                    let (lat, lon) = cache.coordinates().expect("a place");
                    let km = haversine_km(spot.latitude, spot.longitude, lat, lon);
                    Pick { cache, distance_km: Some(km), local: false }
                }));
                black_box(&picks);
            }
            least[1] = least[1].min(begun.elapsed().as_nanos() as f64);
        }
    }
    let mean = |which: usize| least.iter().map(|l| l[which]).sum::<f64>() / look_ups as f64;
    (mean(0), mean(1))
}
