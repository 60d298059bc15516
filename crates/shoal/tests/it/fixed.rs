//! Caches that run no agent: from a site list to what clients are told.

use std::fs;
use std::net::IpAddr;

use plimsoll_shoal::client::import::parse;
use plimsoll_shoal::fixed::{LeftOut, List, ListError};
use plimsoll_shoal::heartbeat::{Heartbeat, Upstream};
use plimsoll_shoal::registry::{Identity, Kept, Origin, Registry, Settings, Source};
use plimsoll_shoal::server::{Options, Server, StartError};

use crate::support::live::{Live, options, said, until};
use crate::support::made_up::{Meridian, at, beat, ip};

const SITES: &str = r#"{
 "SITE-A": {"ips": ["198.51.100.0/25", "198.51.100.128/25"], "proxies": [
   {"default": ["one.example:3128", "inner.example:3128", "gone.example:3128"]},
   {"atlas": ["one.example:3129"], "cvmfs": ["two.example:3128"], "since": "May"}]},
 "SITE-B\u001b": {"proxies": [
   {"default": ["[2001:db8::7]:3128"], "ipranges": ["192.0.2.4-192.0.2.9"]},
   {"frontier": ["two.example:3128"], "default": ["one.example:3128"]}]}
}"#;

fn look_up(host: &str) -> Option<IpAddr> {
    let known = match host {
        "one.example" => "203.0.113.1",
        "two.example" => "203.0.113.2",
        "inner.example" => "10.1.2.3",
        "gone.example" => return None,
        address => address,
    };
    Some(known.parse().unwrap())
}

fn list() -> List {
    List::resolve(&parse(SITES.as_bytes()).unwrap().caches, look_up).0
}

#[test]
fn a_site_list_becomes_a_list_of_addresses() {
    let (list, left_out) = List::resolve(&parse(SITES.as_bytes()).unwrap().caches, look_up);
    let short: Vec<_> = list
        .caches
        .iter()
        .map(|one| {
            let networks: Vec<_> = one.networks.iter().map(ToString::to_string).collect();
            (&*one.site, &*one.host, one.port, one.address.to_string(), one.upstream, networks)
        })
        .collect();
    let networks = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
    let both = Upstream::Both;
    assert_eq!(
        short,
        [
            // Named by two entries: its networks are those of both, put together.
            (
                "SITE-A",
                "one.example",
                3128,
                "203.0.113.1".into(),
                both,
                networks(&["198.51.100.0/24"])
            ),
            (
                "SITE-A",
                "two.example",
                3128,
                "203.0.113.2".into(),
                both,
                networks(&["198.51.100.0/24"])
            ),
            (
                "SITE-B",
                "2001:db8::7",
                3128,
                "2001:db8::7".into(),
                both,
                networks(&["192.0.2.4/30", "192.0.2.8/31"])
            ),
        ]
    );
    let left: Vec<_> = left_out.iter().map(|(cache, why)| (&*cache.host, *why)).collect();
    assert_eq!(
        left,
        [
            ("inner.example", LeftOut::Private),
            ("gone.example", LeftOut::Unknown),
            ("one.example", LeftOut::Purpose),
        ]
    );
    let (read, left_out) = List::parse(list.to_json().as_bytes()).unwrap();
    assert!(read == list && left_out.is_empty(), "{left_out:?}");
}

/// What the registry would refuse is not written: nobody is reached there.
#[test]
fn an_address_of_nobody_is_left_out() {
    let hosts = [
        "0.0.0.0",
        "0.1.2.3",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "169.254.1.1",
        "::",
        "ff02::1",
        "fe80::1",
        "127.0.0.1",
        "::1",
        "::ffff:0.0.0.0",
    ];
    let proxies = hosts.iter().map(|host| match host.contains(':') {
        true => format!("\"[{host}]:3128\""),
        false => format!("\"{host}:3128\""),
    });
    let sites = format!(
        r#"{{"A":{{"proxies":[{{"default":[{}]}}]}},"B":{{"proxies":[{{"default":["203.0.113.9:3128"]}}]}}}}"#,
        proxies.collect::<Vec<_>>().join(",")
    );
    let found = parse(sites.as_bytes()).unwrap();
    let (list, left_out) = List::resolve(&found.caches, |host| host.parse().ok());
    assert_eq!(list.caches.iter().map(|one| &*one.host).collect::<Vec<_>>(), ["203.0.113.9"]);
    assert_eq!(left_out.len() + found.faults.len(), hosts.len(), "{left_out:?}");
    assert!(List::parse(list.to_json().as_bytes()).unwrap().1.is_empty());
}

#[test]
fn what_is_odd_is_left_out_and_said_where() {
    let row = |change: (&str, &str)| list().to_json().replacen(change.0, change.1, 1);
    for (text, fault) in [
        (row(("\"203.0.113.1\"", "\"one\"")), "cache 1 of the list: `one` is not an address"),
        (row(("\"two.example\"", "\"$(two)\"")), "cache 2 of the list: `$(two)` is not a host"),
        (row(("3128", "0")), "cache 1 of the list: `0` is not a port"),
        (row(("both", "all")), "cache 1 of the list: `all` is not both, cvmfs or frontier"),
        (row(("/24", "/44")), "cache 1 of the list: `198.51.100.0/44` is not a network"),
    ] {
        let (read, left_out) = List::parse(text.as_bytes()).unwrap();
        let [error] = &left_out[..] else { panic!("{left_out:?}") };
        assert!(error.to_string().starts_with(fault), "{error}");
        assert_eq!(read.caches.len(), list().caches.len() - 1, "the others stay");
    }
    // Where nothing is left it is no list.
    let mut alone = list();
    alone.caches.truncate(1);
    let text = alone.to_json().replace("203.0.113.1", "0.0.0.0");
    let error = List::parse(text.as_bytes()).unwrap_err().to_string();
    assert!(error.starts_with("cache 1 of the list: `0.0.0.0` is not an address"), "{error}");
    for text in [row(("\"host\"", "\"hots\"")), row(("3128", "65536")), "{".into(), "[]".into()] {
        let error = List::parse(text.as_bytes()).unwrap_err();
        let cause = std::error::Error::source(&error).unwrap().to_string();
        assert!(cause.contains("line ") && cause.contains("column "), "{cause}");
    }
    let long = vec![b' '; plimsoll_shoal::fixed::MOST_BYTES + 1];
    assert!(matches!(List::parse(&long), Err(ListError::Long)));
}

fn beats() -> Vec<Heartbeat> {
    list().caches.iter().map(|cache| cache.beat(0.0)).collect()
}

#[test]
fn they_live_on_until_they_are_listed_no_more() {
    let mut registry = Registry::new(Settings::default(), [1; 32], Kept::default());
    let beats = beats();
    assert_eq!(registry.fix(at(0.0), &beats, &Meridian), 3);
    let names = |registry: &mut Registry, seconds: f64| -> Vec<String> {
        while registry.sweep(at(seconds), 100).more {}
        registry.publish(at(seconds));
        let snapshot = registry.shelf().load_full();
        snapshot.caches().map(|cache| cache.hostname().to_owned()).collect()
    };
    let ids = |registry: &Registry| -> Vec<u64> {
        registry.shelf().load().caches().map(|cache| cache.id).collect()
    };
    assert_eq!(names(&mut registry, 1e6), ["one.example", "two.example", "[2001:db8::7]"]);
    let before = ids(&registry);
    // Once more is not twice, and changes nothing.
    assert_eq!(registry.fix(at(1e6), &beats, &Meridian), 3);
    assert_eq!((registry.len(), ids(&registry)), (3, before.clone()));
    registry.unfix(&[Identity::of(&beats[1])]);
    assert_eq!(names(&mut registry, 1e6 + 1.0), ["one.example", "[2001:db8::7]"]);
    registry.fix(at(1e6 + 2.0), &beats, &Meridian);
    names(&mut registry, 1e6 + 3.0);
    let mut after = ids(&registry);
    after.swap(1, 2);
    assert_eq!(after, before, "the same cache has the same name again");
}

#[test]
fn an_agent_of_its_own_takes_a_cache_over() {
    let mut registry = Registry::new(Settings::default(), [1; 32], Kept::default());
    let here = [20, 10, 0, 1];
    let said = beat("a", here, 0.0);
    let fixed = [Heartbeat { uuid: "".into(), ..said.clone() }];
    let identity = Identity::of(&said);
    let origin = |source| Origin { source, trusted: false };
    let count = |registry: &mut Registry| {
        while registry.sweep(at(500.0), 100).more {}
        registry.len()
    };
    registry.fix(at(0.0), &fixed, &Meridian);
    // By a broker anybody may say anything.
    let refused = registry.heard(at(1.0), &origin(Source::Broker), &said, &Meridian);
    assert_eq!(refused.unwrap_err().reason(), "other_source");
    registry.heard(at(1.0), &origin(Source::Peer(ip(here))), &said, &Meridian).unwrap();
    assert_eq!(registry.fix(at(2.0), &fixed, &Meridian), 0, "the agent's stays");
    registry.unfix(&[identity]);
    assert_eq!(registry.len(), 1, "the agent's stays");
    assert_eq!(count(&mut registry), 0, "and ends as agents' do");
    assert_eq!(registry.fix(at(501.0), &fixed, &Meridian), 1);
    let copied = Settings { most_entries: 0, ..Settings::default() };
    let mut full = Registry::new(copied, [1; 32], Kept::default());
    assert_eq!((full.fix(at(0.0), &fixed, &Meridian), full.len()), (0, 0), "no room");
}

#[test]
fn a_server_lists_them_and_follows_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("static.json");
    fs::write(&file, list().to_json()).unwrap();
    let live = Live::start(Options { fixed: Some(file.clone()), ..options() });
    live.lists(3);
    let one = live.listed("one.example");
    assert_eq!((&one["cloud"], &one["load_kib_s"]), (&"SITE-A".into(), &0.into()));
    // A client of its network gets them first, and is told that they are its own.
    assert_eq!(live.announce(&said("a", "agent.example", "203.0.113.9")).status, 204);
    live.listed("agent.example");
    let mut own = live.nearest("198.51.100.200", "?n=2");
    own.sort();
    assert_eq!(own, ["one.example", "two.example"]);
    assert_eq!(live.nearest("192.0.2.9", "?n=1"), ["[2001:db8::7]"]);
    // Brackets, wherever a host goes into a URL.
    for (path, part) in [
        ("/proxy.pac", "PROXY [2001:db8::7]:3128;"),
        ("/wpad.dat", "PROXY http://[2001:db8::7]:3128;"),
        ("/nearest/1", "\"hostname\": \"[2001:db8::7]\""),
    ] {
        let body = String::from_utf8(live.get_from("192.0.2.9", path).body).unwrap();
        assert!(body.contains(part), "{path}: {body}");
    }

    let mut less = list();
    less.caches.remove(0);
    less.caches[0].host = "deux.example".to_owned();
    fs::write(&file, less.to_json()).unwrap();
    live.listed("deux.example");
    live.lists(3);
    assert_eq!(live.nearest("198.51.100.200", "?n=1"), ["deux.example"]);
    // What is no list changes nothing, and is counted.
    fs::write(&file, "{").unwrap();
    until("the failure to be counted", || {
        let text = String::from_utf8(live.get("/metrics").body).unwrap();
        text.contains("\nshoal_static_failures_total 1\n").then_some(())
    });
    live.lists(3);
    live.stop();
}

#[test]
fn a_server_does_not_start_without_its_list() {
    let folder = tempfile::tempdir().unwrap();
    for file in [folder.path().join("absent"), folder.path().to_owned()] {
        let started = Server::start(Options { fixed: Some(file), ..options() });
        assert!(matches!(started, Err(StartError::Fixed(_))));
    }
}
