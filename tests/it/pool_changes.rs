//! Around a change of a pool nothing is lost or refused, whichever balancer it has; and what is cut
//! or lost all the same is told by its cause.

use crate::place::{Place, events};
use crate::pools::{for_ever, kill, number, servers};
use crate::program::wait_for;
use plimsoll_runs::Run;
use plimsoll_testing::installed;
use rustix::process::Signal;
use serde_json::Value;
use std::net::TcpStream;
use std::path::{Path, PathBuf};

const KINDS: [&str; 3] = ["built-in", "nginx", "haproxy"];

/// A pool of three behind a balancer, under a load that goes on until the test ends it.
fn plan(kind: &str, (pool, service): (&str, &str), (rate, policy): (&str, &str)) -> String {
    format!(
        "name = 'changes of a pool'
seed = 3
[testbed]
provider = 'process'
[role.web]
recipe = 'target'
vars = {{ workers = 50, service = '{service}' }}
[pool]
role = 'web'
max = 4
start = 3
decide_every = '500ms'
{pool}
[instance]
service = '{service}'
cores = 50
[balancer]
kind = '{kind}'
choose = 'round-robin'
[target]
url = 'http://127.0.0.1:1/'
method = 'POST'
[load]
{}
timeout = '30s'
[policy.one]
{policy}
[measure]
slo = 'errors<99%'
",
        for_ever(rate)
    )
}

/// One that keeps three instances, and one that keeps as many as the rate needs, which is one.
const KEEPS: &str = "kind = 'fixed'\ninstances = 3";
const SHRINKS: &str =
    "kind = 'target'\nmetric = 'rate'\ntarget = 100\nperiod = '500ms'\ndown_window = '0s'";

/// A rate of which no request comes near a moment at which nginx closes connections that nobody
/// used: 1,373 ms after they were opened, and again where they were opened anew
/// (`client_header_timeout`). What is sent as it closes is the balancer's to answer for, whatever
/// leaves meanwhile.
const BESIDE: &str = "149/m";

/// The balancers that are there, each with a place for it.
fn each_kind(test: &str, with: impl Fn(&str, &Place)) {
    for kind in KINDS {
        if kind == "built-in" || installed(test, kind).is_some() {
            with(kind, &Place::new());
        }
    }
}

/// Waits until so many things were told of instances.
fn told(run: &Path, what: &str, times: usize) {
    wait_for(what, || {
        let of = events(run, "instance");
        (of.iter().filter(|of| of.contains(what)).count() >= times).then_some(())
    });
}

fn by_cause(of: &Value) -> Vec<(String, f64)> {
    let figures = of["figures"].as_object().unwrap();
    let lost = figures.iter().filter_map(|(name, value)| {
        let cause = name.strip_prefix("lost_by.")?;
        Some((cause.to_owned(), value.as_f64()?)).filter(|(_, count)| *count > 0.0)
    });
    lost.collect()
}

/// The only cell, of which all that was offered is served, lost or in flight.
fn cell(document: &Value) -> &Value {
    let of = &document["cells"][0];
    let [offered, served, lost, open] =
        ["offered", "served", "lost", "in_flight_at_end"].map(|name| number(of, name));
    assert!((offered - served - lost - open).abs() < 0.5, "{of}");
    of
}

/// What the balancer did not tell.
fn untold(place: &Place, of: &Value) -> Vec<String> {
    let run = place.run().join(of["run"].as_str().unwrap());
    let texts = events(&run, "balancer").into_iter();
    texts.filter(|text| text.contains("did not tell")).collect()
}

#[test]
fn who_leaves_ends_what_it_has_or_what_it_has_is_drained() {
    each_kind("who_leaves", |kind, place| {
        for drain in ["", "drain = '500ms'"] {
            place.write("plan.toml", plan(kind, (drain, "const:6s"), (BESIDE, SHRINKS)));
            let mut going = place.run_for_ever(&["--json", "--new"]);
            let run = place.loads(&mut going);
            told(&run, "terminated", 2);
            let live = place.stopped(going).ran().json();
            let of = cell(&live);
            let lost = by_cause(of);
            let causes: Vec<&str> = lost.iter().map(|(cause, _)| &**cause).collect();
            let expected: &[&str] = if drain.is_empty() { &[] } else { &["drained"] };
            assert_eq!(causes, expected, "{kind}: {lost:?}");
            // Those who leave are ended when they have answered, or their time is over.
            assert!(!drain.is_empty() || number(of, "served") > 0.0, "{kind}: {of}");
        }
    });
}

#[test]
fn what_a_killed_instance_had_is_lost_by_it_behind_each_balancer() {
    each_kind("what_a_killed_instance_had", |kind, place| {
        place.write("plan.toml", plan(kind, ("", "const:3s"), ("20/s", KEEPS)));
        let mut going = place.run_for_ever(&["--json"]);
        let run = place.loads(&mut going);
        kill(servers(place)["web-2"], Signal::KILL);
        told(&run, "failed: web-2 ended by itself", 1);
        told(&run, "ready: web-4", 1);
        let live = place.stopped(going).ran().json();
        let of = cell(&live);
        let lost = by_cause(of);
        let causes: Vec<&str> = lost.iter().map(|(cause, _)| &**cause).collect();
        assert_eq!(causes, ["instance_failed"], "{kind}: {lost:?}");
        assert_eq!(untold(place, of), Vec::<String>::new(), "{kind}");
    });
}

/// Where the balancer of a place works, and what of it listens.
fn balancer(place: &Place) -> (i32, PathBuf) {
    let pid = servers(place)["balancer-1"];
    (pid, std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap())
}

#[test]
fn connections_without_a_request_are_none() {
    if installed("connections_without_a_request", "haproxy").is_none() {
        return;
    }
    let place = Place::new();
    // 200 connections within a period or two would be 200/s at least; a standstill of seconds,
    // after which requests come at once, is far below.
    place.write("plan.toml", plan("haproxy", ("", "const:2ms"), ("5/s", SHRINKS)));
    let mut going = place.run_for_ever(&["--json"]);
    let run = place.loads(&mut going);
    told(&run, "terminated", 2);
    let text = std::fs::read_to_string(balancer(&place).1.join("haproxy.cfg")).unwrap();
    let bind = text.lines().find_map(|line| line.trim().strip_prefix("bind ")).unwrap();
    let at = bind.split_whitespace().next().unwrap();
    let decisions = || Run::open(&run).unwrap().decisions().unwrap();
    let before = decisions().len();
    let all: Vec<TcpStream> = (0..200).map(|_| TcpStream::connect(at).unwrap()).collect();
    drop(all);
    wait_for("three decisions", || (decisions().len() >= before + 3).then_some(()));
    let live = place.stopped(going).ran().json();
    let of = cell(&live);
    assert_eq!(number(of, "scale_out").to_bits(), 0.0_f64.to_bits(), "{of}");
    assert_eq!(untold(&place, of), Vec::<String>::new());
}

/// The processes that a process has started.
fn children(parent: i32) -> Vec<i32> {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let numbers = all.filter_map(|of| of.file_name().to_string_lossy().parse::<i32>().ok());
    let is_its = |pid: &i32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        status.lines().any(|line| line == format!("PPid:\t{parent}"))
    };
    numbers.filter(is_its).collect()
}

#[test]
fn a_balancer_whose_master_has_ended_is_made_anew_and_nothing_is_left_of_it() {
    if installed("a_balancer_whose_master_has_ended", "nginx").is_none() {
        return;
    }
    let place = Place::new();
    place.write("plan.toml", plan("nginx", ("", "const:20ms"), ("40/s", KEEPS)));
    let mut going = place.run_for_ever(&["--json"]);
    let run = place.loads(&mut going);
    let (master, _) = balancer(&place);
    let workers = wait_for("its worker", || Some(children(master)).filter(|of| !of.is_empty()));
    kill(master, Signal::KILL);
    let others = wait_for("another balancer", || {
        let is_another = servers(&place).get("balancer-1").is_some_and(|pid| *pid != master);
        is_another.then(|| balancer(&place).0)
    });
    // An instance comes in behind the new one.
    kill(servers(&place)["web-1"], Signal::KILL);
    told(&run, "ready: web-4", 1);
    let workers = [workers, children(others)].concat();
    let live = place.stopped(going).ran().json();
    let of = cell(&live);
    assert_eq!(number(of, "start_failures").to_bits(), 0.0_f64.to_bits(), "{of}");
    let is_left = |pid: &&i32| Path::new(&format!("/proc/{pid}/exe")).exists();
    assert_eq!(workers.iter().filter(is_left).count(), 0, "{workers:?}");
}
