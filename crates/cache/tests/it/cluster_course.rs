//! The course of a cluster over a trace: parts add up, spools are full when enough has come in, and
//! what is counted as steady is what a shorter trace lacks.

use std::collections::BTreeSet;

use plimsoll_cache::cluster::{
    Architecture, Cluster, Counts, Full, NodeCounts, Part, Protocol, Spread,
};
use plimsoll_cache::replay::{Job, replay};
use plimsoll_cache::size_class::SizeClasses;
use plimsoll_cache::trace::{Names, Trace};
use proptest::prelude::*;

use crate::cluster::{cluster, counts, policy, size, trace};

fn sum(parts: &[Part]) -> Part {
    parts.iter().fold(Part::default(), |sum, part| Part {
        requests: sum.requests + part.requests,
        requested_bytes: sum.requested_bytes + part.requested_bytes,
        hits: sum.hits + part.hits,
        hit_bytes: sum.hit_bytes + part.hit_bytes,
        origin: sum.origin + part.origin,
        origin_bytes: sum.origin_bytes + part.origin_bytes,
    })
}

fn whole(of: &NodeCounts) -> Part {
    Part {
        requests: of.requests,
        requested_bytes: of.requested_bytes,
        hits: of.hits,
        hit_bytes: of.hit_bytes,
        origin: of.origin,
        origin_bytes: of.origin_bytes,
    }
}

/// Nodes under two parents that are asked by ICP, each with room for so much.
fn hierarchy(room: &str) -> Cluster {
    let architecture = Architecture::Hierarchy { parents: 2, siblings: true };
    let parent = Some((policy("gdsf"), size("200kB")));
    Cluster { architecture, parent, size: size(room), ..cluster(3, Protocol::Icp) }
}

/// The first requests of a trace, and what is known of them.
fn beginning(trace: &Trace, requests: usize) -> Trace {
    let asked = trace.requests()[..requests].to_vec();
    let distinct = asked.iter().max().map_or(0, |&greatest| greatest as usize + 1);
    let Names::Numbers(names) = trace.names() else { unreachable!("made of numbers") };
    let sizes = (0..distinct as u32).map(|object| trace.sizes().unwrap().of(object)).collect();
    Trace::new(asked, Names::Numbers(names[..distinct].to_vec()))
        .and_then(|short| short.with_sizes(sizes))
        .and_then(|short| short.with_seconds(trace.seconds().unwrap()[..requests].to_vec()))
        .and_then(|short| short.with_clients(trace.clients().unwrap()[..requests].to_vec()))
        .unwrap()
}

fn full(request: usize) -> Option<Full> {
    // Ten requests a second.
    Some(Full { request, second: Some((request / 10) as u32) })
}

#[test]
fn parts_add_up_to_the_whole() {
    let trace = trace(10_000, 2_000);
    let counts = counts(&trace, &hierarchy("50kB"));
    let courses = &counts.courses;
    assert_eq!((courses.cluster.len(), courses.nodes.len(), courses.parents.len()), (7, 3, 2));
    let members = courses.nodes.iter().chain(&courses.parents);
    for (parts, of) in members.zip(counts.nodes.iter().chain(&counts.parents)) {
        assert_eq!((parts.len(), sum(parts)), (7, whole(of)));
        assert!(parts.iter().all(|part| part.hits + part.origin <= part.requests));
        assert!(of.hits > 0 && of.origin > 0 && of.origin_bytes > of.origin);
    }
    // What clients ask of the cluster, they ask of its nodes.
    for (part, cluster) in courses.cluster.iter().enumerate() {
        let nodes: Vec<Part> = courses.nodes.iter().map(|parts| parts[part]).collect();
        assert_eq!(sum(&nodes), *cluster);
        assert_eq!(counts.course[part], (cluster.requests, cluster.origin));
    }
    // A parent has the rest from the origin, and nobody goes there past the parents.
    assert!(counts.parents.iter().all(|parent| parent.hits + parent.origin == parent.requests));
    let fetched: u64 = counts.parents.iter().map(|parent| parent.origin).sum();
    assert_eq!(fetched, sum(&courses.cluster).origin);
}

/// Nothing leaves an LRU that is not full: it is when 95% of it have come in.
#[test]
fn a_spool_is_full_when_enough_has_come_in() {
    let trace = trace(20_000, 3_000);
    for (room, amount) in [("60obj", 57), ("61obj", 58), ("100kB", 95_000)] {
        let of = Cluster { size: size(room), ..cluster(2, Protocol::None) };
        let counts = counts(&trace, &of);
        for (node, found) in counts.nodes.iter().enumerate() {
            let (mut seen, mut held) = (BTreeSet::new(), 0);
            let mut own = trace.requests().iter().enumerate().skip(node).step_by(2);
            let fills = own.find(|&(_, &object)| {
                let bytes = trace.sizes().unwrap().of(object);
                let takes = if room.ends_with("obj") { 1 } else { bytes };
                held += if seen.insert(object) { takes } else { 0 };
                held >= amount
            });
            assert_eq!(found.full, full(fills.unwrap().0), "{room}");
        }
        assert_eq!(
            counts.full,
            counts.nodes.iter().filter_map(|node| node.full).max_by_key(|of| of.request)
        );
    }
}

#[test]
fn what_is_never_full_is_never_steady() {
    let trace = trace(5_000, 1_000);
    let roomy = |room: &str| Cluster { size: size(room), ..cluster(1, Protocol::None) };
    let counts_of = |of: Cluster| counts(&trace, &of);
    // All that there is fills what is as large, and not what is twice as large.
    let nearly = counts_of(roomy("100%"));
    assert!(nearly.full.is_some() && nearly.steady.is_some());
    let bytes = trace.footprint_bytes().unwrap();
    let never = counts_of(roomy(&format!("{}B", bytes * 2)));
    let full_of = (never.full, never.steady, never.nodes[0].full, never.nodes[0].steady);
    assert_eq!(full_of, (None, None, None, None));
    // One that is full does not make the cluster steady where another is not.
    let parent = Some((policy("lru"), size(&format!("{}B", bytes * 2))));
    let architecture = Architecture::Hierarchy { parents: 1, siblings: false };
    let half = counts_of(Cluster { architecture, parent, ..roomy("20kB") });
    assert!(half.nodes[0].full.is_some() && half.parents[0].full.is_none());
    assert_eq!((half.full, half.steady, half.nodes[0].steady), (None, None, None));
}

#[test]
fn misses_are_counted_by_the_size_of_objects() {
    let trace = trace(10_000, 2_000);
    let of = Cluster { by_size: true, ..hierarchy("50kB") };
    let found = counts(&trace, &of);
    // 100 to 1,999 bytes.
    let classes: Vec<_> = found.by_size.iter().map(|c| (c.least_bytes, c.below_bytes)).collect();
    assert_eq!(classes, [(100, 1_000), (1_000, 10_000)]);
    let sums = found.by_size.iter().fold([0; 4], |sum, class| {
        let of = class.total;
        let four = [of.requests, of.misses, of.requested_bytes, of.missed_bytes];
        std::array::from_fn(|figure| sum[figure] + four[figure])
    });
    let whole = sum(&found.courses.cluster);
    assert_eq!(sums, [whole.requests, whole.origin, whole.requested_bytes, whole.origin_bytes]);
    assert!(counts(&trace, &hierarchy("50kB")).by_size.is_empty());
    // One node alone counts as a single cache does.
    let one = Cluster { by_size: true, policy: policy("gdsf"), ..cluster(1, Protocol::None) };
    let size_classes = SizeClasses::new(&trace);
    let job = Job {
        trace: &trace,
        next: &[],
        capacity: one.size.of(&trace).unwrap(),
        settings: &one.policy.settings,
        admission: None,
        size_classes: size_classes.as_ref(),
        marks: &[5_000],
    };
    assert_eq!(counts(&trace, &one).by_size, replay(one.policy.kind, &job).unwrap().by_size);
}

/// All that was counted less what a run over the beginning counts, for each figure.
fn less(all: &Counts, beginning: &Counts) -> (u64, u64, Vec<u64>, Vec<u64>) {
    let less = |all: &[u64], beginning: &[u64]| -> Vec<u64> {
        all.iter().zip(beginning).map(|(all, beginning)| all - beginning).collect()
    };
    (
        all.requests - beginning.requests,
        all.requested_bytes - beginning.requested_bytes,
        less(&all.answers, &beginning.answers),
        less(&all.bytes, &beginning.bytes),
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn what_is_steady_is_what_the_beginning_lacks(
        room in 5u64..90,
        spread in prop_oneof![Just(Spread::RoundRobin), Just(Spread::Hash), Just(Spread::Sticky)],
        name in prop_oneof![Just("lru"), Just("gdsf"), Just("sieve")],
    ) {
        let trace = trace(8_000, 1_500);
        let of = Cluster { spread, policy: policy(name), ..hierarchy(&format!("{room}kB")) };
        let all = counts(&trace, &of);
        let full = all.full.unwrap();
        let before = counts(&beginning(&trace, full.request + 1), &of);
        prop_assert_eq!(before.full, Some(full));
        prop_assert_eq!(before.steady.unwrap().requests, 0);
        let steady = all.steady.unwrap();
        let by_source = (steady.answers.to_vec(), steady.bytes.to_vec());
        let found = (steady.requests, steady.requested_bytes, by_source.0, by_source.1);
        prop_assert_eq!(found, less(&all, &before));
        let of_cluster = all.nodes.iter().zip(&before.nodes);
        for (all, before) in of_cluster.chain(all.parents.iter().zip(&before.parents)) {
            prop_assert_eq!(all.full, before.full);
            prop_assert_eq!(sum(&[all.steady.unwrap(), whole(before)]), whole(all));
        }
    }
}
