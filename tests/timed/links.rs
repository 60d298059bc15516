//! How long a round trip takes over links between instances of a test-bed, and what they carry.

use crate::links::{PLAN, WILD, has_links, is_busy};
use crate::place::{Place, events};
use plimsoll_testing::{Weight, installed};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use serde_json::Value;
use std::fs::File;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::process::Command;
use std::time::{Duration, Instant};

/// The median of 11 handshakes, milliseconds.
fn handshake(to: SocketAddr) -> f64 {
    let once = || {
        let begun = Instant::now();
        drop(TcpStream::connect_timeout(&to, Duration::from_secs(5)).unwrap());
        begun.elapsed().as_secs_f64() * 1e3
    };
    let mut all: Vec<f64> = (0..11).map(|_| once()).collect();
    all.sort_by(f64::total_cmp);
    all[5]
}

/// The same from within the network of an instance, which only the thread that does it goes into.
fn handshake_from(bed: &str, from: &str, to: SocketAddr) -> f64 {
    let network = File::open(format!("/run/netns/pl-{bed}-{from}")).unwrap();
    let from_there = || {
        move_into_link_name_space(network.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
        handshake(to)
    };
    std::thread::scope(|scope| scope.spawn(from_there).join().unwrap())
}

/// Where an instance of a bed that stands is.
fn address(up: &Value, name: &str) -> SocketAddr {
    let mut all = up["instances"].as_array().unwrap().iter();
    let of = all.find(|of| of["name"] == name).unwrap();
    format!("{}:{}", of["address"].as_str().unwrap(), of["port"]).parse().unwrap()
}

#[test]
fn a_link_takes_as_long_as_it_should_and_is_gone_with_its_bed() {
    let test = "a_link_takes_as_long_as_it_should_and_is_gone_with_its_bed";
    if !has_links(test) {
        return;
    }
    let place = Place::weighing(Weight::ALONE);
    place.write("plan.toml", PLAN);
    let told = place.plimsoll(&["check", "plan.toml"]).ended_with(0);
    assert!(told.out.contains("between near-1 and far-1: 20 ms a round trip"), "{}", told.out);
    assert!(told.out.contains("between far-1 and the load: 20 ms"), "{}", told.out);
    let up = place.plimsoll(&["testbed", "up", "plan.toml", "--json"]);
    if is_busy(test, &up) {
        return;
    }
    let up = up.ended_with(0).json();
    let id = up["id"].as_str().unwrap();
    let at = |name: &str| address(&up, name);
    let (near, far) = (handshake(at("near-1")), handshake(at("far-1")));
    assert!(near < 5.0, "nothing is between the load and near-1: {near} ms");
    assert!((19.9..22.0).contains(&far), "20 ms were asked for: {far} ms");
    for (from, to) in [("near-1", "far-1"), ("far-1", "near-1")] {
        let took = handshake_from(id, from, at(to));
        assert!((19.9..22.0).contains(&took), "20 ms were asked for: {took} ms");
    }
    // A run of the same plan uses them, and the links with them.
    let run = place.plimsoll(&["run", "plan.toml", "--json"]).ran().json();
    let p50 = run["cells"][0]["figures"]["response_us.p50"].as_f64().unwrap();
    assert!((20_900.0..30_000.0).contains(&p50), "1 ms behind 20 ms: {run}");
    let uses = format!("uses the test-bed {id}, which stands");
    assert_eq!(events(&place.run(), "testbed"), [uses]);
    let status = place.plimsoll(&["testbed", "status"]).ended_with(0).out;
    assert!(status.contains("the router of the links"), "{status}");
    let down = place.plimsoll(&["testbed", "down", id]).ended_with(0).out;
    assert!(down.contains("the router of the links"), "{down}");
    let links = Command::new("ip").args(["-o", "link"]).output().unwrap();
    let links = String::from_utf8(links.stdout).unwrap();
    assert!(!links.contains(&format!("wan{id}")), "{links}");
    // A run that makes them itself tells of all round trips, with a link or none.
    let run = place.plimsoll(&["run", "plan.toml", "--new"]);
    if is_busy(test, &run) {
        return;
    }
    run.ran();
    let told = events(&place.run(), "testbed");
    let table = told.iter().find(|text| text.contains("round trips, ms:")).unwrap();
    let row = |name: &str| -> Vec<f64> {
        let row = table.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        row.split_whitespace().map(|word| word.parse().unwrap_or(0.0)).collect()
    };
    let (near, far) = (row("near-1  "), row("far-1   "));
    assert!(near[0] < 0.01 && (19.9..22.0).contains(&near[1]) && near[2] < 5.0, "{table}");
    assert!((19.9..22.0).contains(&far[0]) && (19.9..22.0).contains(&far[2]), "{table}");
}

#[test]
fn a_link_spreads_loses_and_carries_as_much_as_it_should() {
    let test = "a_link_spreads_loses_and_carries_as_much_as_it_should";
    if installed(test, "nginx").is_none() || !has_links(test) {
        return;
    }
    let place = Place::weighing(Weight::ALONE);
    place.write("plan.toml", WILD);
    let told = place.plimsoll(&["check", "plan.toml"]).ended_with(0);
    for says in ["± 4 ms each way, 5% lost each way", "10 ms a round trip, 0.16 Mbit/s each way"] {
        assert!(told.out.contains(says), "{}", told.out);
    }
    let up = place.plimsoll(&["testbed", "up", "plan.toml", "--json"]);
    if is_busy(test, &up) {
        return;
    }
    let up = up.ended_with(0).json();
    let wild = address(&up, "wild-1");
    let tries: Vec<Option<f64>> = (0..150)
        .map(|_| {
            let begun = Instant::now();
            TcpStream::connect_timeout(&wild, Duration::from_millis(250)).ok()?;
            Some(begun.elapsed().as_secs_f64() * 1e3)
        })
        .collect();
    // Of both packets of a handshake at least one is lost in 9.75%: four deviations of 14.6 in 150.
    let lost = tries.iter().filter(|took| took.is_none()).count();
    assert!((1..30).contains(&lost), "{lost} of 150");
    let took: Vec<f64> = tries.into_iter().flatten().collect();
    let (least, most) =
        took.iter().fold((f64::MAX, 0.0_f64), |of, at| (of.0.min(*at), of.1.max(*at)));
    assert!(least > 11.9 && most > least + 5.0, "12 to 28 ms were asked for: {took:?}");
    // Twenty thousand bytes take a second, and longer where the short queue loses some of them.
    let get = [
        "load",
        &format!("http://{}/", address(&up, "thin-1")),
        "--users",
        "1",
        "-n",
        "2",
        "--json",
    ];
    let got = place.plimsoll(&get).json();
    let least_us = got["response_us"]["min"].as_f64().unwrap();
    assert!((1.0e6..6.0e6).contains(&least_us), "0.16 Mbit/s were asked for: {got}");
    place.plimsoll(&["testbed", "down", up["id"].as_str().unwrap()]).ended_with(0);
}
