//! Several addresses of a name, and several of this host.

use crate::nginx::nginx;
use crate::place::Place;
use plimsoll_testing::Weight;
use std::collections::BTreeSet;

/// From where to where connections went, by the server's log.
fn pairs(place: &Place) -> BTreeSet<(String, String)> {
    let log = std::fs::read_to_string(place.path("pairs.log")).unwrap();
    let pair = |line: &str| {
        let (from, to) = line.split_once(' ').unwrap();
        (from.to_owned(), to.to_owned())
    };
    log.lines().map(pair).collect()
}

#[test]
fn connections_are_spread_over_the_addresses_of_a_name_and_of_this_host() {
    let test = "connections_are_spread_over_the_addresses_of_a_name_and_of_this_host";
    let place = Place::new();
    let log = place.path("pairs.log").display().to_string();
    let Some((_nginx, port)) = nginx(&place, test, |port| {
        format!(
            "log_format pairs '$remote_addr $server_addr';\n\
             server {{ listen 127.0.0.1:{port}; listen 127.0.0.2:{port};\n\
             access_log {log} pairs; location / {{ return 200; }} }}"
        )
    }) else {
        return;
    };
    let url = format!("http://shop.example:{port}/");
    let at = |last: u8| format!("shop.example:{port}:127.0.0.{last}");
    let load = |more: &[&str]| {
        std::fs::write(&log, "").unwrap();
        let (one, two) = (at(1), at(2));
        let all = ["load", &url, "--rate", "40/s", "--for", "1s", "--connection", "per-request"];
        let named = ["--resolve", &one, "--resolve", &two, "--quiet", "--json"];
        let of = place.plimsoll(&[&all[..], &named, more].concat()).ran().json();
        assert_eq!(of["succeeded"], 40, "{of}");
        (pairs(&place), of)
    };
    let pair = |from: u8, to: u8| (format!("127.0.0.{from}"), format!("127.0.0.{to}"));
    assert_eq!(load(&[]).0, BTreeSet::from([pair(1, 1)]));
    let (found, of) = load(&["--addresses", "spread"]);
    assert_eq!(
        found.iter().map(|(_, to)| to.as_str()).collect::<Vec<_>>(),
        ["127.0.0.1", "127.0.0.2"]
    );
    assert!(of["warnings"].to_string().contains("spread over 127.0.0.1"), "{of}");
    let from = ["--from-address", "127.0.0.3,127.0.0.4"];
    assert_eq!(load(&from).0, BTreeSet::from([pair(3, 1), pair(4, 1)]));
    let both = [&["--addresses", "spread"], &from[..]].concat();
    let all = [pair(3, 1), pair(3, 2), pair(4, 1), pair(4, 2)];
    assert_eq!(load(&both).0, BTreeSet::from(all));
}

#[test]
fn an_address_that_is_not_ours_is_refused_before_any_load() {
    let place = Place::weighing(Weight::WAITS);
    let target = place.calm();
    let url = target.url();
    let load = ["load", &url, "--rate", "5/s", "--for", "1s", "--from-address"];
    let by = |address: &str| place.plimsoll(&[&load[..], &[address]].concat()).ended_with(2);
    by("203.0.113.9").says(&["connect from 203.0.113.9", "addresses that this host has"]);
    by("::1").says(&["connect from ::1", "another family"]);
    by("here").says(&["an IP address"]);
}
