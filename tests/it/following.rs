//! Pools whose instances somebody else starts and ends: they announce themselves by their agents,
//! come into the balancer when they are well, and leave it when they are gone.

use crate::place::{Place, Target, events};
use crate::pools::for_ever;
use crate::program::{Going, PLIMSOLL, wait_for};
use plimsoll_runs::Run;
use plimsoll_testing::{Weight, free_port};
use rustix::process::Signal;
use serde_json::Value;

fn plan(place: &Place, more: &str) -> u16 {
    let port = free_port();
    let plan = format!(
        "name = 'followed'
seed = 3
[testbed]
provider = 'process'
[role.web]
recipe = 'target'
[pool]
role = 'web'
follow = 'agents'
heard_at = '127.0.0.1:{port}'
max = 4
decide_every = '500ms'
[instance]
service = 'const:5ms'
cores = 4
[balancer]
choose = 'round-robin'
[load]
{}
[policy.one]
kind = 'fixed'
instances = 3
[measure]
slo = 'p90<1m, errors<90%'
{more}",
        for_ever("50/s")
    );
    place.write("plan.toml", plan);
    port
}

/// The agent of a server that announces it.
fn agent(place: &Place, at: u16, name: &str, server: &Target) -> Going {
    let to = format!("http://127.0.0.1:{at}");
    let words = ["agent", "--listen", "127.0.0.1:0", "--every", "300ms", "--announce", &to];
    let mut command = place.command(PLIMSOLL, &words);
    command.args(["--name", name, "--serves", server.address()]);
    place.start(command)
}

fn number(of: &Value, name: &str) -> f64 {
    of["figures"][name].as_f64().unwrap_or_else(|| panic!("{name}: {of}"))
}

/// How many instances take requests, as the last event of each says.
fn members(place: &Place) -> Option<Vec<String>> {
    let cell = place.runs("runs").pop()?.join("cells");
    let cell = std::fs::read_dir(cell).ok()?.flatten().next()?.path();
    Run::open(&cell).ok()?;
    Some(events(&cell, "instance"))
}

#[test]
fn who_is_announced_gets_requests_and_who_is_silent_is_out() {
    let place = Place::new();
    let at = plan(&place, "");
    let servers: Vec<Target> =
        (0..3).map(|_| place.target(&["--service-time", "const:5ms"])).collect();
    let mut going = place.start(place.command(PLIMSOLL, &["run", "plan.toml", "--json"]));
    let first = agent(&place, at, "web-a", &servers[0]);
    place.loads(&mut going);
    let second = agent(&place, at, "web-b", &servers[1]);
    let third = agent(&place, at, "web-c", &servers[2]);
    let says = |text: &str| {
        wait_for(text, || members(&place)?.iter().any(|of| of.contains(text)).then_some(()));
    };
    says("ready: web-a");
    says("ready: web-b");
    says("ready: web-c");
    // One leaves, as it says; the agent of another is killed, while its server serves on.
    second.signal(Signal::TERM);
    says("draining: web-b");
    third.signal(Signal::KILL);
    says("draining: web-c");
    let cell = place.loads(&mut going);
    wait_for("a decision on one", || {
        Run::open(&cell).unwrap().decisions().unwrap().last()?.before.eq(&1).then_some(())
    });
    let live = place.stopped(going).ran().json();
    first.signal(Signal::TERM);
    let of = &live["cells"][0];
    let [offered, served, lost, open] =
        ["offered", "served", "lost", "in_flight_at_end"].map(|name| number(of, name));
    assert!((offered - served - lost - open).abs() < 0.5, "{of}");
    // Each served when it was taken out, so nothing is lost.
    assert!(lost < 0.5, "{of}");
    let run = Run::open(&place.run().join(of["run"].as_str().unwrap())).unwrap();
    let decisions = run.decisions().unwrap();
    // Three are wanted all the time, and nobody starts them: what is decided is only told.
    assert!(decisions.iter().all(|of| of.desired == 3 && of.done == 0), "{decisions:?}");
    assert!(decisions.iter().any(|of| of.before == 3), "{decisions:?}");
    assert_eq!(decisions.last().unwrap().before, 1, "{decisions:?}");
    let refused = decisions.iter().find(|of| of.before < 3).unwrap();
    assert_eq!(refused.limited_by.as_deref(), Some("provider"), "{refused:?}");
}

#[test]
fn a_followed_pool_is_adopted_after_a_kill() {
    let place = Place::new();
    let at = plan(&place, "");
    let servers: Vec<Target> =
        (0..2).map(|_| place.target(&["--service-time", "const:5ms"])).collect();
    let going = place.start(place.command(PLIMSOLL, &["run", "plan.toml", "--json"]));
    let agents = [agent(&place, at, "web-a", &servers[0]), agent(&place, at, "web-b", &servers[1])];
    wait_for("both", || {
        let all = members(&place)?;
        ["ready: web-a", "ready: web-b"]
            .iter()
            .all(|text| all.iter().any(|of| of.contains(text)))
            .then_some(())
    });
    going.signal(Signal::KILL);
    going.wait();
    let again = place.stopped(place.run_for_ever(&["--json"])).ran();
    again.says(&["going on with"]);
    let of = again.json()["cells"][0].clone();
    assert_eq!(number(&of, "adopted").to_bits(), 2.0_f64.to_bits(), "{of}");
    assert!(number(&of, "lost") < 0.5, "{of}");
    agents.iter().for_each(|of| of.signal(Signal::TERM));
}

/// One that is not well for a while is out, and is the same one when it is back: it was not ended,
/// so it is charged once.
#[test]
fn who_is_not_well_for_a_while_is_charged_once() {
    let place = Place::new();
    let at = plan(&place, "[billing]\nunit = 'hour'\nprice = 0.17\n");
    let servers: Vec<Target> =
        (0..2).map(|_| place.target(&["--service-time", "const:5ms"])).collect();
    let mut going = place.start(place.command(PLIMSOLL, &["run", "plan.toml", "--json"]));
    let agents = [agent(&place, at, "web-a", &servers[0]), agent(&place, at, "web-b", &servers[1])];
    let count = |text: &str| {
        let all = members(&place).unwrap_or_default();
        all.iter().filter(|of| of.contains(text)).count()
    };
    let says = |text: &str, times: usize| {
        wait_for(text, || (count(text) >= times).then_some(()));
    };
    says("ready: web-a", 1);
    says("ready: web-b", 1);
    place.loads(&mut going);
    servers[0].signal(Signal::STOP);
    says("out: web-a answered no health check", 1);
    servers[0].signal(Signal::CONT);
    says("ready: web-a", 2);
    let live = place.stopped(going).ran().json();
    agents.iter().for_each(|of| of.signal(Signal::TERM));
    let of = &live["cells"][0];
    // Two begun hours, of two instances.
    assert_eq!(number(of, "instance_hours").to_bits(), 2.0_f64.to_bits(), "{of}");
    let run = Run::open(&place.run().join(of["run"].as_str().unwrap())).unwrap();
    let decisions = run.decisions().unwrap();
    assert!(decisions.iter().any(|of| of.before == 2), "{decisions:?}");
    // What was seen then is seen again: one of two that is out is not ready.
    let path = run.path().to_str().unwrap().to_owned();
    let replay = ["elastic", "replay", &path, "--policy", "one", "--json"];
    let replayed = place.plimsoll(&replay).ended_with(0).json();
    assert_eq!(replayed["differ"], 0, "{replayed}");
}

#[test]
fn what_cannot_be_followed_is_refused_by_name() {
    let place = Place::weighing(Weight::WAITS);
    let at = plan(&place, "");
    let check = |set: &[&str]| {
        let mut words = vec!["check", "plan.toml"];
        set.iter().for_each(|pair| words.extend(["--set", pair]));
        place.plimsoll(&words)
    };
    check(&[]).ended_with(0);
    check(&["pool.follow=asg:"]).ended_with(2).says(&["agents, asg:NAME or tag:KEY=VALUE"]);
    check(&["pool.follow=tag:role"]).ended_with(2).says(&["agents, asg:NAME or tag:KEY=VALUE"]);
    check(&["pool.follow=hosts"]).ended_with(2).says(&["agents, asg:NAME or tag:KEY=VALUE"]);
    let elsewhere = format!("pool.heard_at=0.0.0.0:{at}");
    check(&[&elsewhere]).ended_with(2).says(&["token_file"]);
    check(&["experiment.at_once=2"]).ended_with(2).says(&["at_once"]);
    let weighs = ["balancer.weights=self-test", "balancer.choose=weighted"];
    check(&weighs).ended_with(2).says(&["test themselves"]);
    // An agent needs to say who it is, and where it serves.
    let announce = ["agent", "--listen", "127.0.0.1:0", "--announce", "http://127.0.0.1:1"];
    place.plimsoll(&announce).ended_with(2);
    let wrong = [&announce[..], &["--name", "a", "--serves", "nowhere"]].concat();
    place.plimsoll(&wrong).ended_with(2).says(&["--serves"]);
}
