//! The life of entries, case by case; the simulated days are in `simulation`.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

use plimsoll_shoal::address::normal;
use plimsoll_shoal::heartbeat::{Echo, Heartbeat, Kind, Number, Refusal};
use plimsoll_shoal::order::{Menu, Question, nearest};
use plimsoll_shoal::registry::{
    Cache, Copied, Heard, Kept, Origin, Registry, Settings, Snapshot, Source, State,
};
use plimsoll_workload::random::Stream;
use proptest::prelude::*;

use crate::support::made_up::{Meridian, at, beat, ip};

const HERE: [u8; 4] = [20, 10, 0, 1];
const THERE: [u8; 4] = [20, 20, 0, 1];

fn registry() -> Registry {
    Registry::new(Settings::default(), [1; 32], Kept::default())
}

fn peer(address: [u8; 4]) -> Origin {
    Origin { source: Source::Peer(ip(address)), trusted: false }
}

fn broker() -> Origin {
    Origin { source: Source::Broker, trusted: false }
}

fn key(name: &str) -> Origin {
    Origin { source: Source::Key(name.into()), trusted: false }
}

fn trusted() -> Origin {
    Origin { source: Source::Peer(ip([127, 0, 0, 1])), trusted: true }
}

fn hear(registry: &mut Registry, seconds: f64, origin: &Origin, beat: &Heartbeat) -> Arc<Cache> {
    match registry.heard(at(seconds), origin, beat, &Meridian).unwrap() {
        Heard::Renewed(cache) | Heard::Joined(cache) => cache,
    }
}

fn refused(registry: &mut Registry, seconds: f64, origin: &Origin, beat: &Heartbeat) -> String {
    let refusal = registry.heard(at(seconds), origin, beat, &Meridian).unwrap_err();
    assert!(registry.counts().refused[refusal.reason()] > 0);
    refusal.reason().to_owned()
}

fn listed(registry: &mut Registry, seconds: f64) -> Vec<u64> {
    while registry.sweep(at(seconds), 100).more {}
    registry.publish(at(seconds));
    registry.shelf().load().caches().map(|cache| cache.id).collect()
}

/// Numbers of the caches given to a client of whom nothing is known, best first.
fn given(snapshot: &Snapshot) -> Vec<u64> {
    let (client, count, menu) = (ip(THERE), 1000, Menu::All);
    let (spot, cloud, verified_only, sites) = (None, None, false, None);
    let question = Question { client, spot, count, menu, cloud, verified_only, sites };
    let mut picks = Vec::new();
    nearest(snapshot, &question, &mut Stream::named(1, "look"), &mut picks);
    picks.iter().map(|pick| pick.cache.number).collect()
}

#[test]
fn a_cache_lives_for_the_time_to_live_after_its_last_heartbeat() {
    let mut registry = registry();
    let cache = hear(&mut registry, 0.0, &broker(), &beat("a", HERE, 0.0));
    hear(&mut registry, 100.0, &broker(), &beat("a", HERE, 100.0));
    assert_eq!(listed(&mut registry, 279.9), [cache.id]);
    assert!(listed(&mut registry, 280.5).is_empty());
    assert!(!cache.alive());
    assert_eq!((registry.counts().expired, registry.len()), (1, 0));
}

#[test]
fn an_interval_of_its_own_shortens_the_time_to_live_but_not_below_15_s() {
    for (interval, ttl) in [(3.0, 15.0), (10.0, 40.0), (45.0, 180.0), (600.0, 180.0)] {
        let mut registry = registry();
        let said = Heartbeat { interval_s: Some(interval), ..beat("a", HERE, 0.0) };
        hear(&mut registry, 0.0, &broker(), &said);
        assert_eq!(listed(&mut registry, ttl - 0.1).len(), 1, "interval {interval}");
        assert_eq!(listed(&mut registry, ttl + 0.5).len(), 0, "interval {interval}");
    }
}

#[test]
fn a_step_of_the_wall_clock_expires_nothing() {
    let mut registry = registry();
    hear(&mut registry, 0.0, &broker(), &beat("a", HERE, 0.0));
    let mut later = at(10.0);
    later.unix_s += 86_400.0;
    assert_eq!(registry.sweep(later, 100).expired, 0);
    assert_eq!(listed(&mut registry, 10.0).len(), 1);
}

#[test]
fn a_new_uuid_of_the_same_cache_takes_its_place() {
    let mut registry = registry();
    let old = hear(&mut registry, 0.0, &broker(), &beat("a", HERE, 0.0));
    let new = hear(&mut registry, 5.0, &broker(), &beat("b", HERE, 5.0));
    assert!(!old.alive() && old.id != new.id);
    assert_eq!(listed(&mut registry, 5.0), [new.id]);
    // Another port is another cache.
    let mut other = beat("c", HERE, 6.0);
    other.port.value = 3129;
    hear(&mut registry, 6.0, &broker(), &other);
    assert_eq!(registry.len(), 2);
}

#[test]
fn what_was_said_before_is_ignored_and_counted() {
    let mut registry = registry();
    hear(&mut registry, 10.0, &broker(), &beat("a", HERE, 10.0));
    assert_eq!(refused(&mut registry, 11.0, &broker(), &beat("a", HERE, 10.0)), "stale");
    assert_eq!(refused(&mut registry, 12.0, &broker(), &beat("a", HERE, 9.0)), "stale");
    assert_eq!(refused(&mut registry, 13.0, &broker(), &beat("new", THERE, -170.0)), "stale");
    assert_eq!(registry.counts().refused["stale"], 3);
}

#[test]
fn only_its_own_source_renews_an_entry_or_says_goodbye_for_it() {
    let mut registry = registry();
    let cache = hear(&mut registry, 0.0, &peer(HERE), &beat("a", HERE, 0.0));
    assert_eq!(refused(&mut registry, 1.0, &broker(), &beat("a", HERE, 1.0)), "other_source");
    for other in [broker().source, peer(THERE).source, key("k").source] {
        let said = registry.goodbye(at(2.0), &other, "a", at(2.0).unix_s);
        assert_eq!(said, Err(Refusal::OtherSource));
    }
    registry.goodbye(at(3.0), &peer(HERE).source, "a", at(3.0).unix_s).unwrap();
    assert!(!cache.alive());
    assert_eq!(
        registry.goodbye(at(4.0), &peer(HERE).source, "a", at(4.0).unix_s),
        Err(Refusal::Unknown)
    );
}

#[test]
fn what_was_sent_before_a_goodbye_does_not_bring_a_cache_back() {
    let mut registry = registry();
    hear(&mut registry, 0.0, &broker(), &beat("a", HERE, 0.0));
    registry.goodbye(at(30.0), &broker().source, "a", at(29.0).unix_s).unwrap();
    assert_eq!(refused(&mut registry, 31.0, &broker(), &beat("a", HERE, 28.0)), "stale");
    hear(&mut registry, 60.0, &broker(), &beat("a", HERE, 60.0));
    assert_eq!(registry.len(), 1);
}

#[test]
fn a_peer_announces_its_own_address_only() {
    let mut registry = registry();
    let mismatch = refused(&mut registry, 0.0, &peer(THERE), &beat("a", HERE, 0.0));
    assert_eq!(mismatch, "address_mismatch");
    // One that knows only private addresses is listed under the one it is seen by.
    let private = ip([10, 0, 0, 7]);
    let behind = Heartbeat { public_ip: None, private_ip: Some(private), ..beat("b", HERE, 0.0) };
    let cache = hear(&mut registry, 0.0, &peer(HERE), &behind);
    assert_eq!((cache.external_ip, cache.private_ip), (Some(ip(HERE)), Some(private)));
    // A trusted one may announce any.
    hear(&mut registry, 0.0, &trusted(), &beat("c", THERE, 0.0));
    // A broker shows no address: one that others can reach is needed.
    assert_eq!(refused(&mut registry, 0.0, &broker(), &behind_new(&behind)), "missing");
}

fn behind_new(behind: &Heartbeat) -> Heartbeat {
    Heartbeat { uuid: "d".into(), ..behind.clone() }
}

#[test]
fn an_unsigned_message_never_changes_a_signed_entry() {
    let mut registry = registry();
    let signed = hear(&mut registry, 0.0, &key("site"), &beat("a", HERE, 0.0));
    for origin in [peer(HERE), broker(), trusted(), key("other")] {
        let twin = Heartbeat { load: Number::Int(9), ..beat("b", HERE, 1.0) };
        assert_eq!(refused(&mut registry, 1.0, &origin, &twin), "other_source");
        let same = beat("a", HERE, 1.0);
        assert_eq!(refused(&mut registry, 1.0, &origin, &same), "other_source");
    }
    assert_eq!((signed.alive(), signed.load()), (true, Number::Int(0)));
    // A signed one takes the place of an unsigned one.
    let unsigned = hear(&mut registry, 2.0, &broker(), &beat("c", THERE, 2.0));
    hear(&mut registry, 3.0, &key("site"), &beat("d", THERE, 3.0));
    assert!(!unsigned.alive());
}

#[test]
fn a_source_has_64_entries_and_the_registry_its_most_and_none_is_evicted() {
    let mut registry = registry();
    let nth = |n: u8| {
        let mut beat = beat(&format!("u{n}"), HERE, 0.0);
        beat.port.value = 1000 + u16::from(n);
        beat
    };
    for n in 0..64 {
        hear(&mut registry, 0.0, &peer(HERE), &nth(n));
    }
    assert_eq!(refused(&mut registry, 0.0, &peer(HERE), &nth(64)), "source_full");
    // An agent that starts again needs no room of its own, and one that left makes some.
    hear(&mut registry, 1.0, &peer(HERE), &Heartbeat { uuid: "again".into(), ..nth(3) });
    registry.goodbye(at(2.0), &peer(HERE).source, "u5", at(2.0).unix_s).unwrap();
    hear(&mut registry, 3.0, &peer(HERE), &nth(64));
    assert_eq!(registry.len(), 64);

    let settings = Settings { most_entries: 2, ..Settings::default() };
    let mut small = Registry::new(settings, [1; 32], Kept::default());
    let first = hear(&mut small, 0.0, &trusted(), &nth(1));
    hear(&mut small, 0.0, &trusted(), &nth(2));
    assert_eq!(refused(&mut small, 0.0, &trusted(), &nth(3)), "full");
    hear(&mut small, 1.0, &trusted(), &Heartbeat { uuid: "again".into(), ..nth(2) });
    assert!(first.alive());
}

#[test]
fn an_operators_word_outlives_agents_and_registries() {
    let mut registry = registry();
    let cache = hear(&mut registry, 0.0, &broker(), &beat("a", HERE, 0.0));
    assert!(registry.decide(cache.id, State::Banned));
    registry.verified(cache.id, true);
    assert_eq!(cache.state(), State::Banned);
    let again = hear(&mut registry, 1.0, &broker(), &beat("b", HERE, 1.0));
    assert_eq!(again.state(), State::Banned);
    let kept = registry.kept().clone();
    let mut later = Registry::new(Settings::default(), [2; 32], kept);
    let cache = hear(&mut later, 0.0, &broker(), &beat("c", HERE, 0.0));
    assert_eq!(cache.state(), State::Banned);
    assert!(later.decide(cache.id, State::Unverified));
    assert_eq!((cache.state(), later.kept().iter().count()), (State::Unverified, 0));
}

/// The same public address and port, with other words beside.
fn evasions() -> impl Strategy<Value = Heartbeat> {
    let private = prop_oneof![
        Just(None),
        any::<[u8; 4]>().prop_map(|address| Some(IpAddr::from(address))),
        any::<[u8; 16]>().prop_map(|address| Some(normal(IpAddr::from(address)))),
    ];
    let mapped = prop_oneof![Just(true), Just(false)];
    ("[a-z]{1,8}", private, mapped, any::<u32>()).prop_map(|(uuid, private_ip, external, n)| {
        let beat = beat(&uuid, HERE, 1.0);
        let (public_ip, external_ip) =
            if external { (None, beat.public_ip) } else { (beat.public_ip, None) };
        let hostname = format!("host{n}.example").into();
        let kind = if n % 2 == 0 { Kind::Squid } else { Kind::Varnish };
        Heartbeat { public_ip, external_ip, private_ip, hostname, kind, ..beat }
    })
}

proptest! {
    /// What is decided about an address and port holds whatever else an announcer says.
    #[test]
    fn a_ban_is_not_evaded_by_other_words(other in evasions(), by_broker: bool) {
        let mut registry = registry();
        let cache = hear(&mut registry, 0.0, &broker(), &beat("first", HERE, 0.0));
        registry.decide(cache.id, State::Banned);
        let origin = if by_broker { broker() } else { peer(HERE) };
        let again = registry.heard(at(1.0), &origin, &other, &Meridian);
        if let Ok(Heard::Joined(again) | Heard::Renewed(again)) = again {
            prop_assert_eq!(again.state(), State::Banned);
        }
        // Another port is another cache.
        let next = Heartbeat {
            uuid: "next".into(),
            port: Echo { value: 3129, text: "3129".into() },
            ..other
        };
        let next = hear(&mut registry, 2.0, &broker(), &next);
        prop_assert_eq!(next.state(), State::Unverified);
        registry.publish(at(2.5));
        // And what is withdrawn is withdrawn for all that is there.
        let known = registry.shelf().load().caches().map(|one| one.id).next();
        prop_assert!(registry.decide(known.unwrap(), State::Unverified));
        let all = registry.shelf();
        registry.publish(at(3.0));
        prop_assert!(all.load().caches().all(|one| one.state() == State::Unverified));
    }

    /// Nothing unsigned stands beside what is signed.
    #[test]
    fn what_is_signed_is_not_doubled(other in evasions(), by_broker: bool, first: bool) {
        let mut registry = registry();
        let origin = if by_broker { broker() } else { peer(HERE) };
        if first {
            let _ = registry.heard(at(1.0), &origin, &other, &Meridian);
        }
        let signed = hear(&mut registry, 2.0, &key("k"), &beat("signed", HERE, 2.0));
        let later = Heartbeat { timestamp: at(3.0).unix_s, ..other };
        prop_assert_eq!(refused(&mut registry, 3.0, &origin, &later), "other_source");
        prop_assert_eq!(listed(&mut registry, 4.0), vec![signed.id]);
    }
}

#[test]
fn a_stamp_ahead_of_our_clock_is_refused() {
    let mut registry = registry();
    assert_eq!(refused(&mut registry, 0.0, &broker(), &beat("a", HERE, 121.0)), "ahead");
    hear(&mut registry, 0.0, &broker(), &beat("a", HERE, 119.0));
    assert_eq!(refused(&mut registry, 1.0, &broker(), &beat("a", HERE, 3.2e7)), "ahead");
    // So the right ones that follow are not taken for old.
    hear(&mut registry, 150.0, &broker(), &beat("a", HERE, 150.0));
    let bye = registry.goodbye(at(151.0), &broker().source, "a", at(151.0 + 121.0).unix_s);
    assert_eq!(bye.unwrap_err().reason(), "ahead");
    registry.goodbye(at(151.0), &broker().source, "a", at(151.0).unix_s).unwrap();
    hear(&mut registry, 160.0, &broker(), &beat("a", HERE, 160.0));
}

#[test]
fn what_a_peer_s_operator_decided_holds_until_one_here_decides() {
    let mut registry = registry();
    let copied = |address, state, signed| Copied {
        id: 7,
        beat: beat("", address, 0.0),
        age_ns: 1_000_000_000,
        state,
        signed,
    };
    // One that is known already, and one that is not.
    let known = hear(&mut registry, 0.0, &broker(), &beat("a", HERE, 0.0));
    let list = [copied(HERE, State::Banned, false), copied(THERE, State::Drained, false)];
    assert_eq!(registry.copy(at(1.0), &list, &Meridian), 1);
    assert_eq!(known.state(), State::Banned);
    let own = hear(&mut registry, 2.0, &broker(), &beat("b", THERE, 2.0));
    assert_eq!(own.state(), State::Drained);
    // Over a restart, too; and the peer's word is not louder than one given here.
    let kept = registry.kept().clone();
    let mut later = Registry::new(Settings::default(), [2; 32], kept);
    let cache = hear(&mut later, 0.0, &broker(), &beat("c", THERE, 0.0));
    assert_eq!(cache.state(), State::Drained);
    assert!(later.decide(cache.id, State::Unverified));
    later.copy(at(1.0), &list, &Meridian);
    assert_eq!(cache.state(), State::Unverified);
    // What the peer withdraws is withdrawn.
    later.copy(at(2.0), &[copied(HERE, State::Verified, false)], &Meridian);
    let cache = hear(&mut later, 3.0, &broker(), &beat("d", HERE, 3.0));
    assert_eq!(cache.state(), State::Unverified);
}

#[test]
fn a_copy_of_what_was_signed_makes_way_for_a_key_only() {
    let mut registry = registry();
    let copy = Copied {
        id: 7,
        beat: beat("", HERE, 0.0),
        age_ns: 0,
        state: State::Verified,
        signed: true,
    };
    assert_eq!(registry.copy(at(0.0), &[copy], &Meridian), 1);
    assert!(registry.find(7).unwrap().signed);
    for origin in [broker(), peer(HERE), trusted()] {
        assert_eq!(refused(&mut registry, 1.0, &origin, &beat("a", HERE, 1.0)), "other_source");
    }
    let own = hear(&mut registry, 2.0, &key("k"), &beat("a", HERE, 2.0));
    assert_eq!(listed(&mut registry, 2.0), [own.id]);
}

#[test]
fn a_heartbeats_own_verified_is_believed_from_trusted_sources_only() {
    let mut registry = registry();
    let says = |uuid, address| Heartbeat { verified: true, ..beat(uuid, address, 0.0) };
    let stranger = hear(&mut registry, 0.0, &broker(), &says("a", HERE));
    let friend = hear(&mut registry, 0.0, &trusted(), &says("b", THERE));
    assert_eq!((stranger.state(), friend.state()), (State::Unverified, State::Verified));
    registry.verified(friend.id, false);
    assert_eq!(friend.state(), State::Failing);
}

#[test]
fn a_clock_that_differs_by_more_than_10_s_is_told() {
    let mut registry = registry();
    let cache = hear(&mut registry, 0.0, &broker(), &beat("a", HERE, 9.0));
    assert!(!cache.drifting());
    hear(&mut registry, 30.0, &broker(), &beat("a", HERE, 41.0));
    assert!(cache.drifting());
    assert_eq!(cache.last_active_s().to_bits(), at(30.0).unix_s.to_bits());
}

#[test]
fn a_copy_carries_its_age_and_makes_way_for_the_caches_own_word() {
    let mut registry = registry();
    let copied = |id, address, age_s: u64| Copied {
        id,
        beat: beat("", address, 0.0),
        age_ns: age_s * 1_000_000_000,
        state: State::Verified,
        signed: false,
    };
    let list = [copied(1, HERE, 100), copied(2, THERE, 10), copied(3, [20, 30, 0, 1], 181)];
    assert_eq!(registry.copy(at(0.0), &list, &Meridian), 2);
    assert_eq!(registry.copy(at(50.0), &list, &Meridian), 0);
    let own = hear(&mut registry, 60.0, &broker(), &beat("a", THERE, 60.0));
    assert_eq!(listed(&mut registry, 79.9), [1, own.id]);
    assert_eq!(listed(&mut registry, 80.5), [own.id]);
}

#[test]
fn a_snapshot_is_published_at_most_every_100_ms_and_no_load_publishes_one() {
    let mut registry = registry();
    hear(&mut registry, 1.0, &broker(), &beat("a", HERE, 1.0));
    assert!(registry.publish(at(1.0)));
    let cache = hear(&mut registry, 1.01, &broker(), &beat("b", THERE, 1.01));
    assert!(!registry.publish(at(1.05)));
    assert!(registry.publish(at(1.1)));
    let shelf = registry.shelf();
    let before = shelf.load_full();
    let mut loaded = beat("b", THERE, 31.0);
    loaded.load = Number::Float(61_000.5);
    hear(&mut registry, 31.0, &broker(), &loaded);
    assert!(!registry.publish(at(32.0)));
    assert!(Arc::ptr_eq(&before, &shelf.load_full()));
    assert_eq!((cache.load(), cache.load_class()), (Number::Float(61_000.5), 5));
}

#[test]
fn a_base_built_aside_misses_nobody_who_came_or_went_meanwhile() {
    let mut registry = registry();
    let nth = |n: u16| {
        let [high, low] = n.to_be_bytes();
        beat(&format!("u{n}"), [20, 10, high, low], 0.0)
    };
    for n in 0..600 {
        hear(&mut registry, 0.0, &broker(), &nth(n));
    }
    let rebuild = registry.rebuild().unwrap();
    assert!(registry.rebuild().is_none(), "one at a time");
    registry.goodbye(at(1.0), &broker().source, "u7", at(1.0).unix_s).unwrap();
    hear(&mut registry, 1.0, &broker(), &nth(600));
    let rebuilt = rebuild.build();
    registry.goodbye(at(2.0), &broker().source, "u8", at(2.0).unix_s).unwrap();
    registry.adopt(at(2.0), rebuilt);
    let snapshot = registry.shelf().load_full();
    assert_eq!((snapshot.base.caches.len(), snapshot.joined.len()), (599, 1));
    assert_eq!(snapshot.caches().count(), 599);
    let numbers: Vec<_> = snapshot.caches().map(|cache| cache.number).collect();
    assert!(numbers.is_sorted());
    assert!(registry.rebuild().is_none());
}

/// Where one left another sits down, once a base without the first is in force. A reader that still
/// has the snapshot before is not given the first for the second.
#[test]
fn a_seat_that_was_taken_again_says_nothing_of_who_left_it() {
    let mut registry = registry();
    let nth = |n: u16, seconds: f64| {
        let [high, low] = n.to_be_bytes();
        beat(&format!("u{n}"), [20, 10, high, low], seconds)
    };
    let look = |snapshot: &Snapshot| BTreeSet::from_iter(given(snapshot));
    let renew_base = |registry: &mut Registry, seconds: f64| {
        let rebuilt = registry.rebuild().unwrap().build();
        registry.adopt(at(seconds), rebuilt);
        registry.shelf().load_full()
    };
    for n in 0..600 {
        hear(&mut registry, 0.0, &broker(), &nth(n, 0.0));
    }
    let before = renew_base(&mut registry, 1.0);
    assert_eq!(look(&before), (0..600).collect());
    for n in 0..600 {
        registry.goodbye(at(2.0), &broker().source, &format!("u{n}"), at(2.0).unix_s).unwrap();
    }
    let between = renew_base(&mut registry, 3.0);
    assert_eq!(look(&between), BTreeSet::new());
    for n in 600..1200 {
        hear(&mut registry, 4.0, &broker(), &nth(n, 4.0));
    }
    assert_eq!(look(&before), BTreeSet::new());
    assert_eq!(look(&renew_base(&mut registry, 5.0)), (600..1200).collect());
}

#[test]
fn a_heartbeats_load_and_a_verdict_are_seen_by_the_next_look_up() {
    let mut registry = registry();
    let nth = |n: u8, load: u64, seconds: f64| {
        let mut said = beat(&format!("u{n}"), [20, 10, 0, n], seconds);
        said.load = Number::Int(load);
        said
    };
    for n in 0..3 {
        hear(&mut registry, 0.0, &broker(), &nth(n, 10_000, 0.0));
    }
    registry.publish(at(0.0));
    let snapshot = registry.shelf().load_full();
    hear(&mut registry, 1.0, &broker(), &nth(0, 100_000, 1.0));
    hear(&mut registry, 1.0, &broker(), &nth(2, 50_000, 1.0));
    assert_eq!(given(&snapshot), [1, 2, 0]);
    let second = registry.shelf().load().caches().nth(1).unwrap().id;
    registry.verified(second, false);
    assert_eq!(given(&snapshot), [2, 0]);
    registry.verified(second, true);
    registry.goodbye(at(2.0), &broker().source, "u2", at(2.0).unix_s).unwrap();
    assert_eq!(given(&snapshot), [1, 0]);
}
