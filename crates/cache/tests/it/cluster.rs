//! Clusters: a mesh of one is one cache, nodes that never speak are caches of their own, what is
//! asked and held adds up, and each protocol does what its definition says.

use plimsoll_cache::admission::Admission;
use plimsoll_cache::capacity::Size;
use plimsoll_cache::cluster::{
    Architecture, Cluster, ClusterError, Counts, Latency, Life, Moves, Periods, Protocol, Source,
    Spread, simulate,
};
use plimsoll_cache::eviction::Policy;
use plimsoll_cache::protocol::carp::Variant;
use plimsoll_cache::replay::{Job, replay};
use plimsoll_cache::trace::{Names, Trace};
use plimsoll_workload::distribution::Distribution;
use plimsoll_workload::objects::{Catalogue, Class, Fresh, Workload};
use plimsoll_workload::random::Stream;

/// Requests with Zipf-like popularity: the product of two even draws.
pub(crate) fn trace(requests: usize, objects: u64) -> Trace {
    let mut random = Stream::named(7, "cluster");
    let mut known = std::collections::BTreeMap::new();
    let (mut names, mut asked, mut clients) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..requests {
        let drawn = random.next_u64() % objects * (random.next_u64() % objects) / objects;
        let object = *known.entry(drawn).or_insert_with(|| {
            names.push(drawn);
            u32::try_from(names.len() - 1).unwrap()
        });
        asked.push(object);
        clients.push(u32::try_from(random.next_u64() % 40).unwrap());
    }
    let sizes = names.iter().map(|&name| 100 + name % 1_900).collect();
    let seconds = (0..u32::try_from(requests).unwrap()).map(|at| at / 10).collect();
    Trace::new(asked, Names::Numbers(names))
        .and_then(|trace| trace.with_sizes(sizes))
        .and_then(|trace| trace.with_seconds(seconds))
        .and_then(|trace| trace.with_clients(clients))
        .unwrap()
}

pub(crate) fn cluster(nodes: usize, protocol: Protocol) -> Cluster {
    Cluster {
        nodes,
        architecture: Architecture::Mesh,
        protocol,
        spread: Spread::RoundRobin,
        policy: policy("lru"),
        size: size("5%"),
        parent: None,
        admission: None,
        memory: None,
        keeps_siblings: true,
        latency: Latency::default(),
        life: None,
        by_size: false,
        parts: 7,
    }
}

pub(crate) fn policy(text: &str) -> Policy {
    text.parse().unwrap()
}

pub(crate) fn size(text: &str) -> Size {
    text.parse().unwrap()
}

pub(crate) fn counts(trace: &Trace, cluster: &Cluster) -> Counts {
    let counts = simulate(trace, cluster, &|| true).unwrap().unwrap();
    check_sums(trace, &counts);
    counts
}

/// What holds of every cluster: all that was asked for came from somewhere, once.
fn check_sums(trace: &Trace, counts: &Counts) {
    assert_eq!(counts.requests, trace.len() as u64);
    assert_eq!(counts.answers.iter().sum::<u64>(), counts.requests);
    assert_eq!(counts.bytes.iter().sum::<u64>(), counts.requested_bytes);
    assert_eq!(counts.nodes.iter().map(|node| node.requests).sum::<u64>(), counts.requests);
    assert_eq!(counts.response_ns.count(), counts.requests);
    let course = counts.course.iter().fold((0, 0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
    assert_eq!(course, (counts.requests, counts.answers[Source::Origin as usize]));
    assert_eq!(counts.messages.queries, counts.messages.answers);
    assert!(counts.requests > 0 && counts.miss_ratio() > 0.0 && counts.byte_miss_ratio() > 0.0);
}

fn from(counts: &Counts, source: Source) -> u64 {
    counts.answers[source as usize]
}

/// Misses and evictions of a single cache.
fn alone(trace: &Trace, policy: &Policy, size: &Size, admission: Option<Admission>) -> (u64, u64) {
    let job = Job {
        trace,
        next: &[],
        capacity: size.of(trace).unwrap(),
        settings: &policy.settings,
        admission,
        size_classes: None,
        marks: &[],
    };
    let counts = replay(policy.kind, &job).unwrap();
    (counts.stretches[0].misses, counts.evictions)
}

#[test]
fn a_mesh_of_one_is_one_cache() {
    let trace = trace(20_000, 3_000);
    let every = |text| (policy(text), size("5%"));
    let digest = Protocol::Digest { bits_per_entry: 5, every_s: 100 };
    for (policy, size) in ["lru", "fifo", "sieve", "s3fifo", "gdsf"].map(every) {
        for protocol in [Protocol::None, Protocol::Icp, Protocol::Htcp, digest] {
            let one = Cluster { policy: policy.clone(), ..cluster(1, protocol) };
            let counts = counts(&trace, &one);
            let (misses, evictions) = alone(&trace, &policy, &size, None);
            assert_eq!(from(&counts, Source::Origin), misses, "{} {protocol:?}", policy.text);
            assert_eq!(counts.nodes[0].evictions, evictions);
            assert_eq!(counts.messages.queries + counts.messages.digests, 0);
            assert_eq!((counts.duplicates, counts.false_hits), (0, 0));
        }
    }
}

#[test]
fn a_mesh_of_one_is_one_cache_with_a_filter_too() {
    let trace = trace(20_000, 3_000);
    for filter in ["max:1kB", "second", "random:30%"] {
        let admission: Option<Admission> = Some(filter.parse().unwrap());
        for (name, of) in [("lru", "5%"), ("lru", "150obj"), ("gdsf", "5%"), ("lirs", "5%")] {
            let one = cluster(1, Protocol::Icp);
            let one = Cluster { policy: policy(name), size: size(of), admission, ..one };
            let counts = counts(&trace, &one);
            let (misses, evictions) = alone(&trace, &one.policy, &one.size, admission);
            let found = (from(&counts, Source::Origin), counts.nodes[0].evictions);
            assert_eq!(found, (misses, evictions), "{name} {of} {filter}");
            // Bytes are asked about where objects are counted, too.
            assert!(counts.nodes[0].refused > 0, "{name} {of} {filter}");
        }
    }
}

/// A member looks at its own requests only, and a parent at those of its children.
#[test]
fn every_member_has_a_filter_of_its_own() {
    let trace = trace(10_000, 2_000);
    let distinct = u64::from(trace.distinct());
    let second = Some(Admission::Second);
    let spread = Spread::Hash;
    let room =
        Cluster { size: size("100%"), admission: second, spread, ..cluster(3, Protocol::None) };
    // Each object has one node, which refuses it once.
    let mesh = counts(&trace, &room);
    assert_eq!(mesh.nodes.iter().map(|node| node.refused).sum::<u64>(), distinct);
    let again = trace.requests().iter().fold(vec![0u64; distinct as usize], |mut of, &object| {
        of[object as usize] += 1;
        of
    });
    let twice = again.iter().filter(|&&times| times > 1).count() as u64;
    assert_eq!(from(&mesh, Source::Origin), distinct + twice);
    // The second request finds nothing at the node either, and the parent takes it.
    let architecture = Architecture::Hierarchy { parents: 1, siblings: false };
    let under = counts(&trace, &Cluster { architecture, ..room.clone() });
    assert_eq!(under.answers, mesh.answers);
    assert_eq!(under.parents[0].refused, distinct);
    assert_eq!((under.parents[0].requests, under.parents[0].held), (distinct + twice, twice));
    // By turns, every node refuses what it has not been asked for, and shares none of that.
    let spread = Spread::RoundRobin;
    let turns = counts(&trace, &Cluster { spread, ..room });
    assert!(turns.nodes.iter().map(|node| node.refused).sum::<u64>() > distinct * 3 / 2);
}

#[test]
fn nodes_that_do_not_speak_are_caches_of_their_own() {
    let trace = trace(20_000, 3_000);
    let four = Cluster { size: size("50obj"), ..cluster(4, Protocol::None) };
    let counts = counts(&trace, &four);
    let mut misses = 0;
    for node in 0..4 {
        // Every fourth request, objects numbered anew.
        let mut known = std::collections::BTreeMap::new();
        let own = trace.requests().iter().skip(node).step_by(4);
        let requests: Vec<u32> = own
            .map(|&object| {
                let next = u32::try_from(known.len()).unwrap();
                *known.entry(object).or_insert(next)
            })
            .collect();
        let names = Names::Numbers((0..known.len() as u64).collect());
        let own = Trace::new(requests, names).unwrap();
        misses += alone(&own, &four.policy, &size("50obj"), None).0;
    }
    assert_eq!(from(&counts, Source::Origin), misses);
    assert!(counts.duplicates > 0);
}

#[test]
fn an_object_of_one_node_is_never_at_a_sibling() {
    let trace = trace(20_000, 3_000);
    let hashed = |protocol| Cluster { spread: Spread::Hash, ..cluster(4, protocol) };
    let none = counts(&trace, &hashed(Protocol::None));
    let icp = counts(&trace, &hashed(Protocol::Icp));
    assert_eq!(none.answers, icp.answers);
    assert_eq!((from(&icp, Source::Sibling), icp.duplicates), (0, 0));
    assert_eq!(icp.messages.queries, 3 * from(&icp, Source::Origin));
}

#[test]
fn every_miss_asks_every_sibling_once_in_the_bytes_of_the_protocol() {
    let trace = trace(10_000, 2_000);
    for (protocol, htcp) in [(Protocol::Icp, false), (Protocol::Htcp, true)] {
        let counts = counts(&trace, &cluster(3, protocol));
        let hits: u64 = counts.nodes.iter().map(|node| node.hits).sum();
        assert_eq!(counts.messages.queries, 2 * (counts.requests - hits));
        assert!(from(&counts, Source::Sibling) > 0);
        let given: u64 = counts.nodes.iter().map(|node| node.given).sum();
        assert_eq!(given, from(&counts, Source::Sibling));
        if !htcp {
            // 24 + n + 1 and 20 + n + 1 bytes for URLs of 15 to 18 bytes.
            let each = counts.messages.bytes as f64 / counts.messages.queries as f64;
            assert!((76.0..=82.0).contains(&each), "{each}");
        }
    }
}

#[test]
fn with_room_for_all_the_origin_gives_each_object_once() {
    let trace = trace(10_000, 2_000);
    let all = |protocol| Cluster { size: size("100%"), ..cluster(3, protocol) };
    let distinct = u64::from(trace.distinct());
    for protocol in [Protocol::Icp, Protocol::Htcp] {
        assert_eq!(from(&counts(&trace, &all(protocol)), Source::Origin), distinct);
    }
    let apart = counts(&trace, &all(Protocol::None));
    assert!(from(&apart, Source::Origin) > 2 * distinct);
    let architecture = Architecture::Hierarchy { parents: 1, siblings: false };
    let under = Cluster { architecture, ..all(Protocol::None) };
    assert_eq!(from(&counts(&trace, &under), Source::Origin), distinct);
}

#[test]
fn what_a_sibling_gave_is_kept_or_not() {
    let trace = trace(10_000, 2_000);
    let kept = counts(&trace, &cluster(3, Protocol::Icp));
    let proxy_only = Cluster { keeps_siblings: false, ..cluster(3, Protocol::Icp) };
    let not_kept = counts(&trace, &proxy_only);
    assert!(kept.duplicates > 0 && kept.duplicate_bytes > kept.duplicates);
    assert_eq!(not_kept.duplicates, 0);
    assert!(not_kept.miss_ratio() < kept.miss_ratio());
}

#[test]
fn digests_err_by_their_filters_and_by_their_age() {
    let trace = trace(20_000, 3_000);
    let digest = |bits_per_entry, every_s| Protocol::Digest { bits_per_entry, every_s };
    let coarse = counts(&trace, &cluster(3, digest(2, 60)));
    let fine = counts(&trace, &cluster(3, digest(32, 60)));
    let fresh = counts(&trace, &cluster(3, digest(32, 1)));
    assert!(coarse.false_hits > fine.false_hits && fine.false_hits > fresh.false_hits);
    assert!(fresh.missed_chances < fine.missed_chances);
    // 20,000 requests at 10 a second: made at 0, 60, … 1980 s; three digests, each for two.
    assert_eq!(fine.messages.digests, 34 * 3 * 2);
    assert_eq!(fine.messages.queries, 0);
    let icp = counts(&trace, &cluster(3, Protocol::Icp));
    assert!(from(&fresh, Source::Sibling) <= from(&icp, Source::Sibling) * 11 / 10);
}

#[test]
fn carp_gives_each_object_one_parent() {
    let trace = trace(20_000, 3_000);
    let architecture = Architecture::Hierarchy { parents: 4, siblings: false };
    for variant in [Variant::Draft, Variant::Squid] {
        let carp = Cluster { architecture, ..cluster(2, Protocol::Carp(variant)) };
        let by_hash = counts(&trace, &carp);
        let in_turn = Cluster { architecture, ..cluster(2, Protocol::None) };
        let in_turn = counts(&trace, &in_turn);
        assert_eq!(by_hash.messages.queries, 0);
        let held = |counts: &Counts| counts.parents.iter().map(|parent| parent.held).sum::<u64>();
        assert!(held(&by_hash) <= u64::from(trace.distinct()));
        assert!(by_hash.miss_ratio() < in_turn.miss_ratio());
        let even = by_hash.parents.iter().all(|parent| parent.requests * 4 > by_hash.requests / 4);
        assert!(even, "{:?}", by_hash.parents);
    }
}

#[test]
fn joining_moves_what_the_variants_say() {
    // Shares of 20,000 URLs and four equal members: reference, Squid 5.7 and the draft.
    let names = Names::Numbers((0..20_000).collect());
    let trace = Trace::new((0..20_000).collect(), names).unwrap();
    let near = |found: f64, wanted: f64| assert!((found - wanted).abs() < 0.02, "{found} {wanted}");
    let draft = Moves::by_carp(&trace, 4, Variant::Draft).unwrap();
    near(draft.joins_last, 0.2);
    near(draft.joins_first, 0.2);
    near(draft.last_leaves, 0.25);
    near(draft.first_leaves, 0.25);
    let squid = Moves::by_carp(&trace, 4, Variant::Squid).unwrap();
    near(squid.joins_last, 0.2);
    near(squid.joins_first, 0.8);
    near(squid.last_leaves, 0.25);
    near(squid.first_leaves, 0.75);
}

#[test]
fn joining_moves_nearly_all_where_nodes_go_by_a_remainder() {
    let names = Names::Numbers((0..20_000).collect());
    let trace = Trace::new((0..20_000).collect(), names).unwrap();
    let near = |found: f64, wanted: f64| assert!((found - wanted).abs() < 0.02, "{found} {wanted}");
    // An object stays where the remainders by 4 and 5 are equal, 4 of each 20; by 4 and 3, 3 of 12.
    let hashed = Moves::by_hash(&trace, 4);
    near(hashed.joins_last, 0.8);
    near(hashed.last_leaves, 0.75);
    // Counted from the other end, likewise.
    near(hashed.joins_first, 0.8);
    near(hashed.first_leaves, 0.75);
    let of = |protocol, spread| {
        let hierarchy = Architecture::Hierarchy { parents: 4, siblings: true };
        Moves::of(&trace, &Cluster { spread, architecture: hierarchy, ..cluster(4, protocol) })
    };
    assert_eq!(of(Protocol::Icp, Spread::Hash), [Some(hashed), None]);
    let carp = Moves::by_carp(&trace, 4, Variant::Draft).ok();
    assert_eq!(of(Protocol::Carp(Variant::Draft), Spread::RoundRobin), [None, carp]);
}

#[test]
fn a_client_stays_with_its_node() {
    let trace = trace(5_000, 1_000);
    let sticky = Cluster { spread: Spread::Sticky, ..cluster(3, Protocol::None) };
    let counts = counts(&trace, &sticky);
    assert!(counts.nodes.iter().all(|node| node.requests > 500), "{:?}", counts.nodes);
}

#[test]
fn copies_are_old_confirmed_or_changed() {
    let trace = trace(20_000, 500);
    let with = |fresh_s, least, most| {
        let periods = Periods { least_s: least, most_s: most };
        let life = Life::Drawn { fresh_s, periods, seed: 3 };
        let cluster =
            Cluster { life: Some(life), size: size("100%"), ..cluster(1, Protocol::None) };
        counts(&trace, &cluster)
    };
    // Nothing changes in the time of the trace, and everything is fresh for all of it.
    let calm = with(10_000, u32::MAX, u32::MAX);
    assert_eq!((calm.stale_hits, calm.confirmed, calm.changed), (0, 0, 0));
    assert_eq!(from(&calm, Source::Origin), u64::from(trace.distinct()));
    // Never fresh: every copy is confirmed or has changed, and none is old.
    let strict = with(0, 100, 1_000);
    assert_eq!(strict.stale_hits, 0);
    let again = strict.requests - u64::from(trace.distinct());
    assert_eq!(strict.confirmed + strict.changed, again);
    assert!(strict.confirmed > 0 && strict.changed > 0);
    // Fresh for longer than objects last: old answers, and none is confirmed.
    let lax = with(10_000, 100, 1_000);
    assert!(lax.stale_hits > 0 && lax.confirmed + lax.changed == 0);
}

/// Objects of one class change all the time and are never fresh, those of the other never do.
#[test]
fn each_class_of_objects_has_its_own_life() {
    let trace = trace(20_000, 500);
    let objects = trace.distinct();
    let catalogue = |class: Class| {
        let workload = Workload { classes: vec![class], ..Workload::default() };
        Catalogue::new(&workload, 1).unwrap()
    };
    let each_second = Distribution::Constant { ns: 1_000_000_000 };
    let never = Fresh::For { ns: 0 };
    let hasty = catalogue(Class { changes: each_second, fresh: never, ..Class::default() });
    let calm = catalogue(Class::default());
    let of = |object: u32| {
        let catalogue = if object.is_multiple_of(2) { &hasty } else { &calm };
        catalogue.object(object.into())
    };
    let life = Life::Known((0..objects).map(of).collect());
    let with = Cluster { life: Some(life), size: size("100%"), ..cluster(1, Protocol::None) };
    let counts = counts(&trace, &with);
    // Ten requests a second: what comes again within one has not changed, and is confirmed.
    let mut last = vec![None; objects as usize];
    let (mut confirmed, mut changed) = (0, 0);
    for (&object, &second) in trace.requests().iter().zip(trace.seconds().unwrap()) {
        match last[object as usize].replace(second) {
            Some(before) if object % 2 == 0 && before == second => confirmed += 1,
            Some(_) if object % 2 == 0 => changed += 1,
            _ => {}
        }
    }
    assert!(confirmed > 0 && changed > 1_000);
    assert_eq!((counts.confirmed, counts.changed, counts.stale_hits), (confirmed, changed, 0));
    assert_eq!(from(&counts, Source::Origin), u64::from(objects) + changed);
}

/// A node's copy that is no longer fresh is confirmed by its parent, and by the origin only where
/// the parent's is not fresh either; it is as old as the parent's from then on.
#[test]
fn a_parent_confirms_what_it_holds_fresh() {
    let trace = trace(20_000, 500);
    let fresh_s = 40;
    let periods = Periods { least_s: u32::MAX, most_s: u32::MAX };
    let life = Life::Drawn { fresh_s, periods, seed: 3 };
    let architecture = Architecture::Hierarchy { parents: 1, siblings: false };
    let of = |protocol| {
        let cluster = cluster(2, protocol);
        Cluster { life: Some(life.clone()), size: size("100%"), architecture, ..cluster }
    };
    // Nodes take turns; since when each copy is fresh.
    let objects = trace.distinct() as usize;
    let (mut nodes, mut parent) = (vec![[None::<u32>; 2]; objects], vec![None::<u32>; objects]);
    let (mut asked, mut by_parent, mut by_origin) = (0, 0, 0);
    let is_fresh = |from: u32, second: u32| second - from < fresh_s;
    for (at, (&object, &second)) in
        trace.requests().iter().zip(trace.seconds().unwrap()).enumerate()
    {
        let (own, parent) = (&mut nodes[object as usize][at % 2], &mut parent[object as usize]);
        if own.is_some_and(|from| is_fresh(from, second)) {
            continue;
        }
        asked += 1;
        by_parent += u64::from(own.is_some());
        match parent {
            Some(from) if is_fresh(*from, second) => {}
            Some(from) => {
                by_origin += 1;
                *from = second;
            }
            None => *parent = Some(second),
        }
        *own = *parent;
    }
    assert!(by_parent > by_origin && by_origin > 100);
    for protocol in [Protocol::None, Protocol::Icp, Protocol::Carp(Variant::Squid)] {
        let counts = counts(&trace, &of(protocol));
        assert_eq!(counts.parents[0].requests, asked, "{protocol:?}");
        assert_eq!(counts.confirmed, by_parent + by_origin, "{protocol:?}");
        assert_eq!(from(&counts, Source::Origin), u64::from(trace.distinct()));
        assert_eq!(counts.parents[0].hits + counts.parents[0].origin, asked);
        let queries = if protocol == Protocol::Icp { asked } else { 0 };
        assert_eq!(counts.messages.queries, queries);
    }
}

/// What changes reaches every node, through the parent or past its empty hands.
#[test]
fn nothing_old_is_served_through_a_parent_where_nothing_stays_fresh() {
    let trace = trace(20_000, 500);
    let periods = Periods { least_s: 100, most_s: 1_000 };
    let life = Some(Life::Drawn { fresh_s: 0, periods, seed: 3 });
    let architecture = Architecture::Hierarchy { parents: 2, siblings: true };
    for parent_size in ["100%", "1%"] {
        let parent = Some((policy("lru"), size(parent_size)));
        let life = life.clone();
        let with = Cluster { life, architecture, parent, ..cluster(2, Protocol::Icp) };
        let counts = counts(&trace, &with);
        assert_eq!(counts.stale_hits, 0);
        assert!(counts.confirmed > 0 && counts.changed > 0);
        for parent in &counts.parents {
            assert_eq!(parent.hits + parent.origin, parent.requests);
        }
    }
}

#[test]
fn memory_answers_what_was_asked_for_lately() {
    let trace = trace(10_000, 2_000);
    let with = Cluster { memory: Some(size("1%")), ..cluster(1, Protocol::None) };
    let (with, without) = (counts(&trace, &with), counts(&trace, &cluster(1, Protocol::None)));
    assert_eq!(from(&without, Source::Memory), 0);
    assert_eq!(from(&with, Source::Origin), from(&without, Source::Origin));
    // Memory is the top of the same LRU order: it has what an LRU of its size has.
    let (misses, _) = alone(&trace, &policy("lru"), &size("1%"), None);
    assert_eq!(from(&with, Source::Memory), with.requests - misses);
}

#[test]
fn times_are_sums_of_the_steps() {
    let trace = trace(2_000, 400);
    let counts = counts(&trace, &cluster(1, Protocol::None));
    let latency = Latency::default();
    let least = latency.disk.ns(100);
    assert!(counts.response_ns.min().unwrap() >= least);
    assert!(counts.response_ns.max().unwrap() >= latency.origin.ns(100));
    assert!(counts.response_ns.max().unwrap() <= latency.origin.ns(2_000));
}

#[test]
fn a_cluster_that_cannot_be_is_refused() {
    let known = trace(100, 50);
    let bare = Trace::new(vec![0, 1, 0], Names::Numbers(vec![1, 2])).unwrap();
    let refused = |trace: &Trace, cluster: Cluster| {
        simulate(trace, &Cluster { size: size("1obj"), ..cluster }, &|| true).unwrap_err()
    };
    let carp = cluster(2, Protocol::Carp(Variant::Squid));
    assert_eq!(refused(&known, carp), ClusterError::CarpInMesh);
    assert_eq!(refused(&known, cluster(0, Protocol::None)), ClusterError::None("node"));
    assert_eq!(refused(&known, cluster(257, Protocol::None)), ClusterError::TooMany(257));
    let architecture = Architecture::Hierarchy { parents: 0, siblings: true };
    let orphans = Cluster { architecture, ..cluster(2, Protocol::Icp) };
    assert_eq!(refused(&known, orphans), ClusterError::None("parent"));
    let sticky = Cluster { spread: Spread::Sticky, ..cluster(2, Protocol::None) };
    assert_eq!(refused(&bare, sticky), ClusterError::NoClients);
    let digest = Protocol::Digest { bits_per_entry: 5, every_s: 60 };
    assert_eq!(refused(&bare, cluster(2, digest)), ClusterError::NoTimes("digests"));
    let periods = Periods { least_s: 0, most_s: 1 };
    let life = Some(Life::Drawn { fresh_s: 60, periods, seed: 1 });
    let changing = |life| Cluster { life, ..cluster(1, Protocol::None) };
    assert!(matches!(refused(&known, changing(life.clone())), ClusterError::Life(_)));
    assert_eq!(refused(&bare, changing(life)), ClusterError::NoTimes("objects that change"));
    let admission = Some("max:1kB".parse().unwrap());
    let by_size = Cluster { admission, ..cluster(1, Protocol::None) };
    assert!(matches!(refused(&bare, by_size), ClusterError::Admission(_)));
    let bits = Protocol::Digest { bits_per_entry: 0, every_s: 60 };
    assert!(matches!(refused(&known, cluster(2, bits)), ClusterError::Digest(_)));
}

#[test]
fn who_says_stop_gets_nothing() {
    let trace = trace(100, 50);
    assert!(simulate(&trace, &cluster(2, Protocol::Icp), &|| false).unwrap().is_none());
}
