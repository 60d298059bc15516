//! Caches of a client's own site come first.

use std::net::IpAddr;

use plimsoll_shoal::heartbeat::Number;
use plimsoll_shoal::order::{Pick, Question, Sites, nearest};
use plimsoll_shoal::registry::{Snapshot, State};
use plimsoll_workload::random::Stream;

use crate::members::{beat, cache, question, snapshot};

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// Eight caches at one place; two behind each of four public addresses, the first of these known
/// by an external one, the second announced as an IPv4 address within IPv6.
fn sites_of_two() -> Snapshot {
    let caches = (0..8).map(|number| {
        let mut beat = beat(number);
        let public = ip(&format!("203.0.113.{}", number / 2));
        (beat.public_ip, beat.external_ip) = match number / 2 {
            0 => (None, Some(public)),
            1 => (Some(ip("::ffff:203.0.113.1")), None),
            _ => (Some(public), None),
        };
        beat.private_ip = Some(ip(&format!("10.0.0.{}", number % 2)));
        cache(&beat, number, Some((46.2, 6.1)))
    });
    snapshot(caches.collect(), 5)
}

fn numbers(snapshot: &Snapshot, question: &Question<'_>, local: bool) -> Vec<u64> {
    let mut picks = Vec::new();
    nearest(snapshot, question, &mut Stream::named(5, "own"), &mut picks);
    assert!(picks.is_sorted_by_key(|pick| !pick.local), "own ones first");
    let own = picks.iter().filter(|pick| pick.local == local);
    let mut numbers: Vec<_> = own.map(|pick: &Pick<'_>| pick.cache.number).collect();
    numbers.sort_unstable();
    numbers
}

#[test]
fn those_announced_from_the_clients_address_come_first() {
    let snapshot = sites_of_two();
    for site in 0..4 {
        let client = ip(&format!("203.0.113.{site}"));
        for client in [client, ip(&format!("::ffff:{client}"))] {
            let question = Question { client, count: 8, ..question(Some((-33.0, 151.0))) };
            assert_eq!(numbers(&snapshot, &question, true), [2 * site, 2 * site + 1]);
            assert_eq!(numbers(&snapshot, &question, false).len(), 6);
            let nowhere = Question { spot: None, ..question };
            assert_eq!(numbers(&snapshot, &nowhere, true), [2 * site, 2 * site + 1]);
            let one = Question { count: 1, ..question };
            assert_eq!(numbers(&snapshot, &one, true).len(), 1);
        }
    }
    let stranger = Question { client: ip("203.0.113.9"), ..question(None) };
    assert!(numbers(&snapshot, &stranger, true).is_empty());
}

#[test]
fn own_ones_are_served_as_others_are() {
    let snapshot = sites_of_two();
    let question = Question { client: ip("203.0.113.3"), count: 8, ..question(Some((46.0, 6.0))) };
    snapshot.joined[1].set_state(State::Drained);
    assert_eq!(numbers(&snapshot, &question, true), [7]);
    snapshot.joined[2].end();
    assert!(numbers(&snapshot, &question, true).is_empty());
    assert_eq!(numbers(&snapshot, &question, false).len(), 6);
}

#[test]
fn own_ones_come_by_load() {
    let snapshot = sites_of_two();
    snapshot.base.caches[4].set_load(Number::Int(100_000));
    let question = Question { client: ip("203.0.113.2"), count: 1, ..question(None) };
    for seed in 0..20 {
        let mut picks = Vec::new();
        nearest(&snapshot, &question, &mut Stream::named(seed, "load"), &mut picks);
        assert_eq!(picks[0].cache.number, 5);
    }
}

#[test]
fn a_table_pins_caches_to_networks() {
    let table = "
        # two campuses
        192.0.2.0/24,2001:db8::/32 203.0.113.1       # both behind it
        192.0.2.128/25 203.0.113.2/10.0.0.1,203.0.113.3/10.0.0.0
        192.0.2.200 203.0.113.99
        192.0.2.0/24 203.0.113.3/10.0.0.1
    ";
    let sites = Sites::parse(table).unwrap();
    let snapshot = sites_of_two();
    for (client, own) in [
        ("192.0.2.1", &[2, 3, 7][..]),
        ("::ffff:192.0.2.1", &[2, 3, 7]),
        ("2001:db8::77", &[2, 3]),
        ("192.0.2.129", &[5, 6]),
        ("192.0.2.200", &[]),
        ("198.51.100.1", &[]),
        ("2001:db9::1", &[]),
    ] {
        let sites = Some(&sites);
        let question = Question { client: ip(client), count: 8, sites, ..question(None) };
        assert_eq!(numbers(&snapshot, &question, true), own, "{client}");
        assert_eq!(numbers(&snapshot, &question, false).len(), 8 - own.len());
    }
}

#[test]
fn a_wrong_table_names_its_line() {
    for (text, message) in [
        ("\n192.0.2.0/24\n", "line 2 of the sites: not `NETWORK[,NETWORK…] CACHE[,CACHE…]`"),
        (
            "192.0.2.0/24 192.0.2.1 x",
            "line 1 of the sites: not `NETWORK[,NETWORK…] CACHE[,CACHE…]`",
        ),
        ("192.0.2.0/33 192.0.2.1", "line 1 of the sites: `192.0.2.0/33` is no network"),
        (
            "# a\n# b\n192.0.2.0/24 here",
            "line 3 of the sites: `here` is no cache's `ADDRESS` or `PUBLIC/PRIVATE`",
        ),
        (
            "192.0.2.0/24 192.0.2.1,",
            "line 1 of the sites: `` is no cache's `ADDRESS` or `PUBLIC/PRIVATE`",
        ),
    ] {
        assert_eq!(Sites::parse(text).unwrap_err().to_string(), message);
    }
    assert_eq!(Sites::parse("\n # nothing\n").unwrap(), Sites::default());
}
