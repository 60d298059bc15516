//! Real traces, read where they lie; what they hold, their own page says.

use plimsoll_cache::trace::read::{ReadOptions, read};
use plimsoll_cache::trace::{Format, Names, ReadSummary, Trace};

/// A trace of the shared folder; `None`, said by name, where it is not there.
fn shared(test: &str, name: &str) -> Option<(Trace, ReadSummary)> {
    let path = plimsoll_testing::shared(test, &format!("data/cache/{name}"))?;
    Some(read(&path, &ReadOptions::default()).expect("a trace"))
}

#[test]
fn twitter_cluster_52() {
    let file = "twitter_cluster52_1m.csv.gz";
    let Some((trace, told)) = shared("twitter_cluster_52", file) else { return };
    assert_eq!((trace.len(), trace.distinct()), (1_000_000, 143_542));
    assert_eq!((told.format, told.unreadable, told.lines), (Format::Csv, 0, 1_000_001));
    assert!(trace.sizes().is_some() && trace.clients().is_none());
    assert_eq!(trace.seconds().map(|seconds| seconds[0]), Some(0));
    // Objects are numbered by their first appearance there too.
    assert_eq!(trace.names(), &Names::Numbers((0..143_542).collect()));
    assert_eq!((told.objects_without_size, told.out_of_order), (0, 0));
}

#[test]
fn world_cup_day_6() {
    let file = "wc98_day6_requests_200k.csv.gz";
    let Some((trace, told)) = shared("world_cup_day_6", file) else { return };
    assert_eq!((trace.len(), told.unreadable), (200_000, 0));
    assert_eq!(trace.seconds().map(|seconds| &seconds[..3]), Some(&[0, 1, 1][..]));
    assert_eq!(trace.clients().map(|clients| &clients[..4]), Some(&[0, 1, 2, 3][..]));
    // It begins with answers of 304, of zero bytes: most of their objects have a size from others.
    assert_eq!(trace.names(), &Names::Numbers((0..u64::from(trace.distinct())).collect()));
    assert!(told.requests_without_size > told.objects_without_size);
    assert!(told.sizes_differ > 0);
}

#[test]
fn product_pages() {
    let Some((trace, told)) = shared("product_pages", "cache2k_web07.csv.gz") else { return };
    assert_eq!((trace.len(), told.unreadable), (76_118, 0));
    assert_eq!(&trace.requests()[..4], [0, 1, 2, 0]);
    assert!(trace.sizes().is_none() && trace.seconds().is_none());
}

#[test]
fn objects_of_the_world_cup_have_text_for_names() {
    let test = "objects_of_the_world_cup_have_text_for_names";
    let Some((trace, _)) = shared(test, "wc98_day6_objects.csv.gz") else { return };
    // Its columns are `object,url`: the first of them counts, by the order of names.
    assert_eq!(trace.distinct() as usize, trace.len());
    assert!(matches!(trace.names(), Names::Numbers(_)));
}
