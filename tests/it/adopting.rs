//! A controller that is killed, and one that goes on: whichever balancer the pool has, it serves
//! meanwhile, and is adopted as it stands.

use crate::place::Place;
use crate::pools::{for_ever, kill, servers};
use crate::program::{Going, wait_for};
use plimsoll_testing::{has_instances, installed};
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeMap;

fn plan(kind: &str, provider: &str, more: &str) -> String {
    format!(
        "name = 'adopted, {kind}'
seed = 3
[testbed]
provider = '{provider}'
[role.web]
recipe = 'target'
vars = {{ workers = 4, service = 'const:10ms' }}
[pool]
role = 'web'
max = 4
start = 2
decide_every = '500ms'
[instance]
service = 'const:10ms'
cores = 4
boot = 'const:500ms'
[balancer]
kind = '{kind}'
choose = 'least-connections'
{more}
[load]
{}
[policy.one]
kind = 'fixed'
instances = 2
[measure]
slo = 'p90<1m, errors<90%'
",
        for_ever("40/s")
    )
}

fn number(of: &Value, name: &str) -> f64 {
    of["figures"][name].as_f64().unwrap_or_else(|| panic!("{name}: {of}"))
}

/// The port on which a process of the bed listens, where it listens on one.
fn port(pid: i32) -> Option<u16> {
    let inodes: Vec<String> = std::fs::read_dir(format!("/proc/{pid}/fd"))
        .ok()?
        .flatten()
        .filter_map(|entry| std::fs::read_link(entry.path()).ok())
        .filter_map(|link| Some(link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.into()))
        .collect();
    let table = std::fs::read_to_string(format!("/proc/{pid}/net/tcp")).ok()?;
    table.lines().skip(1).find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_its = words.get(3) == Some(&"0A") && inodes.iter().any(|of| of == words[9]);
        is_its.then(|| u16::from_str_radix(words[1].split(':').nth(1)?, 16).ok())?
    })
}

/// Whoever goes on, which has adopted both instances: the same processes, and nobody else but a
/// successor of `gone`, if somebody is.
fn adopts(place: &Place, before: &BTreeMap<String, i32>, gone: Option<&str>) -> Going {
    let again = place.run_for_ever(&["--json"]);
    let mut now = servers(place);
    now.retain(|name, _| Some(name.as_str()) != gone);
    assert_eq!(&now, before, "nobody was started, nobody ended: {}", again.err());
    again
}

/// Ends whoever has adopted both instances: nothing is lost, and no orphan is left.
fn ends(place: &Place, again: Going) {
    let again = place.stopped(again).ran();
    again.says(&["going on with"]);
    let of = again.json()["cells"][0].clone();
    assert_eq!(number(&of, "adopted").to_bits(), 2.0_f64.to_bits(), "{of}");
    let [offered, served, lost, open] =
        ["offered", "served", "lost", "in_flight_at_end"].map(|name| number(&of, name));
    assert!(offered > 0.0 && (offered - served - lost - open).abs() < 0.5, "{of}");
    assert!(lost < 0.5, "{of}");
    assert_eq!(servers(place), BTreeMap::new());
}

fn adopted(test: &str, kind: &str) {
    if installed(test, kind).is_none() {
        return;
    }
    let place = Place::new();
    place.write("plan.toml", plan(kind, "process", ""));
    let going = place.run_for_ever(&[]);
    let before = wait_for("both", || Some(servers(&place)).filter(|of| of.len() == 3));
    let port = wait_for("its port", || port(before["balancer-1"]));
    // Somebody else's requests, from before the kill until after the adoption.
    let url = format!("http://127.0.0.1:{port}/");
    let other = place.soak(&[&url, "--rate", "50/s", "--json", "--out", "others"]);
    going.signal(Signal::KILL);
    going.wait();
    let again = adopts(&place, &before, None);
    let other = place.stopped(other).ran().json();
    assert_eq!(other["succeeded"], other["offered"], "{other}");
    ends(&place, again);
}

#[test]
fn a_pool_behind_nginx_is_adopted_and_loses_nothing() {
    adopted("a_pool_behind_nginx_is_adopted_and_loses_nothing", "nginx");
}

#[test]
fn a_pool_behind_haproxy_is_adopted_and_loses_nothing() {
    adopted("a_pool_behind_haproxy_is_adopted_and_loses_nothing", "haproxy");
}

#[test]
fn two_balancers_are_adopted_as_they_stand_also_where_one_is_gone() {
    let test = "two_balancers_are_adopted_as_they_stand_also_where_one_is_gone";
    if !has_instances(test) {
        return;
    }
    for kills_first in [false, true] {
        let place = Place::new();
        place.write("plan.toml", plan("built-in", "namespace", "count = 2"));
        place.plimsoll(&["check", "plan.toml"]).ended_with(0);
        let going = place.run_for_ever(&[]);
        let mut before = wait_for("all", || Some(servers(&place)).filter(|of| of.len() == 4));
        if kills_first {
            let first = before.remove("balancer-1").unwrap();
            kill(first, Signal::KILL);
            // Its address is moved within a look, which it may be killed before: both are right.
        }
        going.signal(Signal::KILL);
        going.wait();
        let again = adopts(&place, &before, kills_first.then_some("balancer-1"));
        ends(&place, again);
    }
}
