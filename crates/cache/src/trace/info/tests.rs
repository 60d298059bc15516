//! Figures of traces that are known: by hand, by their generator, and of real ones.
#![expect(clippy::float_cmp, reason = "shares of small numbers are what division gives")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};

use flate2::read::MultiGzDecoder;
use proptest::prelude::*;

use super::*;
use crate::made;
use crate::trace::Names;

/// 0 four times, 1 twice, 2 and 3 once.
fn small() -> Trace {
    made::sized(&[(0, 10), (1, 2000), (0, 10), (2, 0), (0, 10), (3, 30), (1, 2000), (0, 10)])
}

#[test]
fn a_small_trace_by_hand() {
    let seconds = vec![0, 0, 0, 1, 3, 3, 4, 5];
    let trace = small().with_seconds(seconds).unwrap();
    let trace = trace.with_clients(vec![0, 1, 0, 0, 2, 0, 0, 1]).unwrap();
    let info = Info::of(&trace);
    assert_eq!((info.requests, info.objects), (8, 4));
    assert_eq!(info.compulsory_miss_ratio, 0.5);
    let popularity = info.popularity;
    assert_eq!((popularity.one_hit_objects, popularity.one_hit_requests), (0.5, 0.25));
    assert_eq!((popularity.top_1_percent, popularity.top_10_percent), (0.5, 0.5));
    assert_eq!(popularity.zipf, None);
    // Distances: 1 (0), 1 (0), 3 (1 after 0, 2, 3), 2 (0 after 3, 1).
    let reuse = info.reuse.unwrap();
    assert_eq!((reuse.p10, reuse.p25, reuse.median), (1, 1, 1));
    assert_eq!((reuse.p75, reuse.p90, reuse.p99, reuse.max), (2, 3, 3, 3));
    let times = Times { duration_s: 5, rate_per_s: Some(1.6), busiest_second: 3 };
    assert_eq!(info.times, Some(times));
    assert_eq!(info.clients, Some(Clients { count: 3, busiest_share: 0.625 }));
}

#[test]
fn sizes_by_hand() {
    let sizes = Info::of(&small()).sizes.unwrap();
    assert_eq!((sizes.footprint_bytes, sizes.requested_bytes), (2040, 4070));
    assert_eq!(sizes.compulsory_byte_miss_ratio, 2040.0 / 4070.0);
    let spread = SizeSpread { min: 0, mean: 510.0, median: 10, p90: 2000, p99: 2000, max: 2000 };
    assert_eq!(sizes.of_objects, spread);
    assert_eq!(sizes.of_requests, SizeSpread { mean: 508.75, ..spread });
    let classes: Vec<_> = sizes.classes.iter().map(|class| (class.from, class.below)).collect();
    assert_eq!(classes, [(0, 1), (1, 10), (10, 100), (100, 1000), (1000, 10_000)]);
    let found: Vec<_> = sizes.classes.iter().map(|class| (class.objects, class.requests)).collect();
    assert_eq!(found, [(1, 1), (0, 0), (2, 5), (0, 0), (1, 2)]);
    assert_eq!(sizes.classes[2].footprint_bytes, 40);
    assert_eq!(sizes.classes[2].requested_bytes, 70);
}

#[test]
fn nothing_is_known_of_nothing() {
    let info = Info::of(&made::trace(&[]).with_seconds(Vec::new()).unwrap());
    assert_eq!((info.requests, info.objects, info.compulsory_miss_ratio), (0, 0, 0.0));
    assert_eq!((info.sizes, info.reuse, info.times, info.clients), (None, None, None, None));
    assert_eq!(info.popularity.top_10_percent, 0.0);
    let once = Info::of(&made::trace(&[4]).with_seconds(vec![0]).unwrap());
    assert_eq!(once.times.map(|times| times.rate_per_s), Some(None));
    assert_eq!(once.popularity.one_hit_objects, 1.0);
}

proptest! {
    #[test]
    fn classes_hold_all_objects_once(
        asked in proptest::collection::vec((0u32..40, 0u64..1 << 48), 1..200),
    ) {
        let trace = made::sized(&asked);
        let sizes = Info::of(&trace).sizes.unwrap();
        let classes = &sizes.classes;
        prop_assert!(classes.windows(2).all(|two| two[0].below == two[1].from));
        let sum = |of: fn(&SizeClass) -> u64| classes.iter().map(of).sum::<u64>();
        prop_assert_eq!(sum(|class| class.objects), u64::from(trace.distinct()));
        prop_assert_eq!(sum(|class| class.requests), trace.len() as u64);
        prop_assert_eq!(sum(|class| class.footprint_bytes), sizes.footprint_bytes);
        prop_assert_eq!(sum(|class| class.requested_bytes), sizes.requested_bytes);
        prop_assert!(classes[0].from <= sizes.of_objects.min);
        prop_assert!(classes[0].objects > 0);
        let last = classes[classes.len() - 1];
        prop_assert!((last.from..last.below).contains(&sizes.of_objects.max));
    }
}

#[test]
fn the_reference_shape_has_its_exponent() {
    let info = Info::of(&made::reference(100_000, 1_000_000));
    let zipf = info.popularity.zipf.unwrap();
    assert!((zipf.exponent - 0.8).abs() < 0.02, "{zipf:?}");
    assert!((5_000..30_000).contains(&zipf.ranks), "{zipf:?}");
    let sizes = info.sizes.unwrap();
    assert!(sizes.of_objects.min >= 1024 && sizes.of_objects.max < 8 << 20);
    // Half the objects are in the first octave.
    assert!((2040..2060).contains(&sizes.of_objects.median), "{:?}", sizes.of_objects);
}

/// The lines of one of the lab's traces, where they are.
fn lines(test: &str, name: &str) -> Option<Vec<String>> {
    let path = plimsoll_testing::shared(test, &format!("data/cache/{name}"))?;
    let file = std::fs::File::open(path).unwrap();
    let lines = BufReader::new(MultiGzDecoder::new(file)).lines().map(Result::unwrap);
    Some(lines.filter(|line| !line.starts_with('#')).collect())
}

/// Numbers the objects of a column by first appearance.
fn dense<'a>(names: impl Iterator<Item = &'a str>) -> (Vec<u32>, Names) {
    let (mut numbers, mut kept) = (BTreeMap::new(), Vec::new());
    let requests = names.map(|name| {
        *numbers.entry(name).or_insert_with(|| {
            kept.push(name.parse().unwrap());
            u32::try_from(kept.len()).unwrap() - 1
        })
    });
    (requests.collect(), Names::Numbers(kept))
}

#[test]
fn a_trace_of_web_requests() {
    let Some(lines) = lines("a_trace_of_web_requests", "cache2k_web07.csv.gz") else { return };
    let (requests, names) = dense(lines.iter().skip(1).map(String::as_str));
    let info = Info::of(&Trace::new(requests, names).unwrap());
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    for line in &lines[1..] {
        *counts.entry(line).or_default() += 1;
    }
    assert_eq!((info.requests, info.objects), (lines.len() as u64 - 1, counts.len() as u64));
    let once = counts.values().filter(|&&count| count == 1).count() as f64;
    assert_eq!(info.popularity.one_hit_objects, once / counts.len() as f64);
    assert_eq!((info.sizes, info.times, info.clients), (None, None, None));
    eprintln!("{:?} {:?}", info.popularity, info.reuse);
}

#[test]
fn a_trace_of_a_web_site() {
    let test = "a_trace_of_a_web_site";
    let Some(lines) = lines(test, "wc98_day6_requests_200k.csv.gz") else { return };
    let rows: Vec<Vec<&str>> = lines[1..].iter().map(|line| line.split(',').collect()).collect();
    let (requests, names) = dense(rows.iter().map(|row| row[2]));
    let column = |at: usize| rows.iter().map(move |row| row[at].parse::<u32>().unwrap());
    let first = column(0).min().unwrap();
    let seconds: Vec<u32> = column(0).map(|second| second - first).collect();
    let (clients, _) = dense(rows.iter().map(|row| row[1]));
    let trace = Trace::new(requests, names).unwrap();
    let trace = trace.with_seconds(seconds.clone()).unwrap().with_clients(clients).unwrap();
    let info = Info::of(&trace);
    assert_eq!(info.requests, rows.len() as u64);
    assert_eq!(info.times.unwrap().duration_s, seconds[seconds.len() - 1]);
    let clients: std::collections::BTreeSet<&str> = rows.iter().map(|row| row[1]).collect();
    assert_eq!(info.clients.unwrap().count, clients.len() as u64);
    assert!(info.popularity.top_1_percent < info.popularity.top_10_percent);
    eprintln!("{info:?}");
}
