//! What a page costs its thread, and how long it is, among 300 to 200,000 caches. Run with
//! `cargo run --release -p plimsoll-shoal --example cost_of_page [CACHES...]`.
#![expect(clippy::disallowed_methods, reason = "measuring is the purpose of this program")]
#![expect(clippy::print_stdout, reason = "its result goes to the terminal")]
#![expect(clippy::unwrap_used, reason = "a run that cannot go on fails")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use plimsoll_shoal::Now;
use plimsoll_shoal::geo::Place;
use plimsoll_shoal::heartbeat::parse;
use plimsoll_shoal::page::{Query, Setting, page};
use plimsoll_shoal::registry::{Base, Cache, Snapshot};
use plimsoll_workload::random::Stream;

const NOW: Now = Now { elapsed_ns: 1_000_000_000_000, unix_s: 1_790_000_000.0 };
const ROUNDS: usize = 15;

/// Caches of 60 clouds in 10,000 places and 80 countries, each with its own name and load.
fn caches(count: u32) -> Vec<Arc<Cache>> {
    let mut random = Stream::named(1, "cost of a page");
    let places: Vec<_> = (0..10_000_u32)
        .map(|n| {
            let degrees = |most: u64, random: &mut Stream| {
                f64::from(u32::try_from(random.below(most)).unwrap_or(0)) / 10.0
            };
            Arc::new(Place {
                latitude: degrees(1300, &mut random) - 55.0,
                longitude: degrees(3600, &mut random) - 180.0,
                city: Some(format!("City {n}").into()),
                country_code: Some(format!("C{}", n % 80).into()),
                ..Place::default()
            })
        })
        .collect();
    let one = |n: u32| {
        let (load, cloud, at) = (random.below(122_000), random.below(60), random.below(10_000));
        let name = n.wrapping_mul(2_654_435_761);
        let [.., a, b, c] = n.to_be_bytes();
        let said = format!(
            "{{\"uuid\": \"{n:032x}\", \"hostname\": \"squid{name:010}.example\", \
             \"cache_port\": 3128, \"public_ip\": \"198.{a}.{b}.{c}\", \"timestamp\": 1790000000, \
             \"load\": {load}, \"cloud\": \"cloud-{cloud}\", \"version\": \"1.{}\"}}",
            n % 5
        );
        let place = places.get(usize::try_from(at).unwrap_or(0)).cloned();
        let beat = parse(said.as_bytes()).unwrap();
        Arc::new(Cache::new(n.into(), n.into(), &beat, place, NOW))
    };
    (0..count).map(one).collect()
}

fn main() {
    let wanted: Vec<u32> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let sizes = if wanted.is_empty() { vec![300, 30_000, 200_000] } else { wanted };
    println!("{:>8} {:<36} {:>9} {:>9} {:>9}", "caches", "page", "least ms", "median", "bytes");
    for count in sizes {
        let snapshot =
            Snapshot::new(1, Arc::new(Base::new(caches(count))), Vec::new(), Arc::default());
        for target in [
            "/",
            "/?sort=load",
            "/?sort=country&page=100",
            "/?cloud=cloud-7&sort=heartbeat",
            "/?host=77",
            "/1000?sort=address",
        ] {
            let size = if target.starts_with("/1000") { 1000 } else { 100 };
            let query = Query::parse(size, target).unwrap();
            let setting =
                Setting { now: NOW, base: None, is_verifying: true, is_object_suspected: false };
            let mut bytes = 0;
            let mut ms: Vec<f64> = (0..ROUNDS)
                .map(|_| {
                    let begun = Instant::now();
                    bytes = black_box(page(&snapshot, &[], &query, setting)).body.len();
                    begun.elapsed().as_secs_f64() * 1e3
                })
                .collect();
            ms.sort_by(f64::total_cmp);
            let (least, median) = (ms[0], ms[ROUNDS / 2]);
            println!("{count:>8} {target:<36} {least:>9.2} {median:>9.2} {bytes:>9}");
        }
    }
}
