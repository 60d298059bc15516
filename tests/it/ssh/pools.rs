//! Live pools on other hosts: instances that come and go there, what a kill of the controller
//! leaves, a host that goes away, and one that comes back.

use super::{Server, beds, down, left, nothing_is_left, place};
use crate::place::{Place, events, test_name};
use crate::pools::{for_ever, kill};
use crate::program::{PLIMSOLL, wait_for};
use plimsoll_runs::{Run, SeriesRow};
use plimsoll_testing::{Weight, cgroups, has_cgroups};
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a host is left alone that was lost, and some.
const RESTS: Duration = Duration::from_secs(32);

/// Writes a pool of so many instances on two hosts, whose load goes on until it is ended.
fn write(place: &Place, servers: [&Server; 2], (instances, start): (u32, u32)) {
    super::write(place, servers, "");
    let hosts = std::fs::read_to_string(place.path("plan.toml")).unwrap();
    let (testbed, _) = hosts.split_once("[role.data]").unwrap();
    let testbed = testbed.replace("two roles", "pool on hosts");
    let plan = format!(
        "seed = 3
{testbed}
[role.web]
recipe = 'target'
hosts = ['first', 'second']
vars = {{ workers = 4, service = 'const:10ms' }}
[pool]
role = 'web'
max = 4
start = {start}
decide_every = '500ms'
[instance]
service = 'const:10ms'
cores = 4
boot = 'const:500ms'
[balancer]
choose = 'least-connections'
[billing]
unit = 'second'
[load]
{}
[collect]
from = ['host'{}]
every = '200ms'
[policy.one]
kind = 'schedule'
times = '00:00={instances}'
start = {start}
[measure]
slo = 'p90<1m, errors<90%'
",
        for_ever("40/s"),
        if cgroups().is_ok() { ", 'cgroup'" } else { "" }
    );
    place.write("plan.toml", plan);
}

/// The processes of instances on hosts, by their names.
fn serving(place: &Place) -> BTreeMap<String, i32> {
    let folder = place.path("hosts").display().to_string();
    let mut all = BTreeMap::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|of| of.parse().ok()) else { continue };
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        let Some((own, _)) = line.split_once("/plimsoll target --listen") else { continue };
        let name = own.rsplit_once("-web-").filter(|_| own.starts_with(&folder));
        all.extend(name.map(|(_, number)| (format!("web-{number}"), pid)));
    }
    all
}

fn number(of: &Value, name: &str) -> f64 {
    of["figures"][name].as_f64().unwrap_or_else(|| panic!("{name}: {of}"))
}

/// Nothing is forgotten: all that was offered is served, lost, or was open at the end. Returns how
/// many were lost.
fn lost(of: &Value) -> f64 {
    let [offered, served, lost, open] =
        ["offered", "served", "lost", "in_flight_at_end"].map(|name| number(of, name));
    assert!(served > 0.0 && (offered - served - lost - open).abs() < 0.5, "{of}");
    lost
}

/// The run of the only cell.
fn cell(place: &Place) -> PathBuf {
    place.run().join("cells/0001")
}

/// What was sampled of an instance, or a host.
fn samples(place: &Place, name: &str, of: &str) -> Vec<SeriesRow> {
    samples_in(&cell(place), name, of)
}

fn samples_in(run: &Path, name: &str, of: &str) -> Vec<SeriesRow> {
    let all = Run::open(run).unwrap().series(name).unwrap();
    let is_its = |row: &SeriesRow| row.labels.get("instance").is_some_and(|label| label == of);
    all.into_iter().filter(is_its).collect()
}

#[test]
fn a_policy_starts_instances_on_hosts_which_are_watched_there_and_leave_nothing() {
    let Some(place) = place() else { return };
    let servers = [Server::start(&place, "first"), Server::start(&place, "second")];
    write(&place, [&servers[0], &servers[1]], (3, 1));
    let check = place.plimsoll(&["check", "plan.toml"]).ended_with(0);
    let by_cgroups = has_cgroups(&test_name());
    if by_cgroups {
        check.prints(&["make the cgroups plimsoll-example-web-1, without limits"]);
    }
    check.prints(&[
        "pool        up to 4 instances of web at once",
        "on the host first up to 2, and 4 where the others are away, at its ports 8080 to 8083",
        "reach the host second",
        "balance --listen 127.0.0.1:",
    ]);
    let mut going = place.run_for_ever(&["--json"]);
    let bed = beds(&place).pop().unwrap();
    let cell_now = place.loads(&mut going);
    wait_for("the third instance", || {
        events(&cell_now, "instance").iter().any(|of| of.contains("ready: web-3")).then_some(())
    });
    // Each is watched for a while.
    for name in ["web-1", "web-2", "web-3"].into_iter().filter(|_| by_cgroups) {
        let used = || samples_in(&cell_now, "container_cpu_usage_seconds_total", name);
        wait_for(name, || {
            let used = used();
            (used.len() > 3 && used.last()?.value > used.first()?.value).then_some(())
        });
    }
    let done = place.stopped(going).ran();
    nothing_is_left(&place);
    let of = done.json()["cells"][0].clone();
    assert!(lost(&of) < 0.5, "{of}");
    assert_eq!(number(&of, "scale_out").to_bits(), 2.0_f64.to_bits(), "{of}");
    let told = events(&cell(&place), "instance");
    assert!(told.iter().any(|text| text.contains("ready: web-3")), "{told:?}");
    // Each host is watched, and each instance, whichever host it is on.
    for host in ["first", "second"] {
        assert!(!samples(&place, "node_load1", host).is_empty(), "{host}");
    }
    for name in ["web-1", "web-2", "web-3"].into_iter().filter(|_| by_cgroups) {
        let used = samples(&place, "container_cpu_usage_seconds_total", name);
        let (first, last) = (used.first().unwrap(), used.last().unwrap());
        assert!(used.len() > 3 && last.value > first.value, "{name}: {used:?}");
    }
    // No cgroup of it is left.
    let groups = std::fs::read_dir("/sys/fs/cgroup").unwrap().flatten();
    let groups = groups.map(|of| of.path()).chain([PathBuf::from("/sys/fs/cgroup")]);
    for folder in groups {
        let own = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let mut own = own.map(|of| of.file_name().to_string_lossy().into_owned());
        assert_eq!(own.find(|name| name.contains(&bed)), None, "{}", folder.display());
    }
}

#[test]
fn a_pool_on_hosts_is_adopted_after_a_kill_and_loses_nothing() {
    let Some(place) = place() else { return };
    let servers = [Server::start(&place, "first"), Server::start(&place, "second")];
    write(&place, [&servers[0], &servers[1]], (2, 2));
    let going = place.run_for_ever(&[]);
    let before = wait_for("both", || Some(serving(&place)).filter(|of| of.len() == 2));
    going.signal(Signal::KILL);
    going.wait();
    assert_eq!(serving(&place), before, "they serve on");
    let mut again = place.run_for_ever(&["--json"]);
    assert_eq!(serving(&place), before, "nobody was started, nobody ended: {}", again.err());
    let cell_now = place.loads(&mut again);
    let watched = [("node_load1", "second"), ("container_cpu_usage_seconds_total", "web-2")];
    let watched = &watched[..1 + usize::from(has_cgroups(&test_name()))];
    for (name, of) in watched {
        let is_seen = || (!samples_in(&cell_now, name, of).is_empty()).then_some(());
        wait_for("agents that were made anew", is_seen);
    }
    let again = place.stopped(again).ran();
    again.says(&["going on with"]);
    let of = again.json()["cells"][0].clone();
    assert_eq!(number(&of, "adopted").to_bits(), 2.0_f64.to_bits(), "{of}");
    assert!(lost(&of) < 0.5, "{of}");
    for (name, of) in watched {
        assert!(!samples(&place, name, of).is_empty(), "{of} is not watched");
    }
    nothing_is_left(&place);
}

#[test]
fn what_a_killed_pool_has_on_hosts_is_taken_down() {
    let Some(place) = place() else { return };
    let servers = [Server::start(&place, "first"), Server::start(&place, "second")];
    write(&place, [&servers[0], &servers[1]], (4, 2));
    let going = place.start(place.command(PLIMSOLL, &["run", "plan.toml", "--quiet"]));
    // While some serve, and some are being started.
    wait_for("a third instance", || (serving(&place).len() > 2).then_some(()));
    going.signal(Signal::KILL);
    going.wait();
    assert!(!left(&place).is_empty());
    down(&place).into_iter().for_each(|done| drop(done.ended_with(0)));
    nothing_is_left(&place);
}

#[test]
fn instances_of_a_host_that_goes_away_are_replaced_on_another() {
    let Some(place) = place() else { return };
    let first = Server::start(&place, "first");
    // A host that is gone, and one that is silent.
    for (out, signal) in [("gone", Signal::KILL), ("silent", Signal::STOP)] {
        let second = Server::start(&place, "second");
        write(&place, [&first, &second], (2, 2));
        let mut going = place.run_for_ever(&["--json", "--out", out]);
        let cell_now = place.loads(&mut going);
        second.signal(signal);
        wait_for("one in its place", || {
            events(&cell_now, "instance").iter().any(|of| of.contains("ready: web-3")).then_some(())
        });
        let done = place.stopped(going);
        // The cell is whole; what could not be undone is said, and stands in the ledger.
        let done = done.ran();
        done.says(&["is done, and then", "reach the host second"]);
        let of = done.json()["cells"][0].clone();
        lost(&of);
        assert_eq!(number(&of, "replaced").to_bits(), 1.0_f64.to_bits(), "{of}");
        let run = place.runs(out).pop().unwrap().join("cells/0001");
        let told = events(&run, "instance");
        let says = |text: &str| told.iter().any(|of| of.contains(text));
        assert!(says("failed: web-2: reach the host second"), "{told:?}");
        assert!(says("ready: web-3"), "{told:?}");
        for done in down(&place) {
            let done = done.ended_with(4);
            assert!(done.err.contains("reach the host second"), "{}", done.err);
        }
        if signal == Signal::STOP {
            second.signal(Signal::CONT);
        }
        let again = Server::start(&place, "again");
        write(&place, [&first, &again], (2, 2));
        down(&place).into_iter().for_each(|done| drop(done.ended_with(0)));
        nothing_is_left(&place);
    }
}

#[test]
fn a_host_that_comes_back_is_cleared_and_used_again() {
    let Some(place) = place() else { return };
    let (first, second) = (Server::start(&place, "first"), Server::start(&place, "second"));
    write(&place, [&first, &second], (2, 2));
    let mut going = place.run_for_ever(&["--json"]);
    let cell_now = place.loads(&mut going);
    let before = wait_for("both", || Some(serving(&place)).filter(|of| of.len() == 2));
    second.signal(Signal::KILL);
    let lost_at = Instant::now();
    wait_for("one in its place", || serving(&place).get("web-3").copied());
    assert!(serving(&place).contains_key("web-2"), "nobody can end it");
    // It is there again, at another port.
    let again = Server::start(&place, "again");
    let plan = std::fs::read_to_string(place.path("plan.toml")).unwrap();
    write(&place, [&first, &again], (2, 2));
    place.write("plan.toml", plan);
    // tidy: allow(waits, a host that was lost is left alone for so long)
    std::thread::sleep(RESTS.saturating_sub(lost_at.elapsed()));
    kill(serving(&place)["web-3"], Signal::KILL);
    // The place that is free has the fewest, and what was left there goes first.
    wait_for("one on the host that is back", || serving(&place).get("web-4").copied());
    assert!(!serving(&place).values().any(|pid| *pid == before["web-2"]), "it was ended");
    wait_for("it to take requests", || {
        events(&cell_now, "instance").iter().any(|of| of.contains("ready: web-4")).then_some(())
    });
    let done = place.stopped(going).ran();
    let of = done.json()["cells"][0].clone();
    lost(&of);
    assert_eq!(number(&of, "replaced").to_bits(), 2.0_f64.to_bits(), "{of}");
    nothing_is_left(&place);
}

#[test]
fn what_no_pool_on_hosts_can_do_is_refused_by_name() {
    let place = Place::weighing(Weight::WAITS);
    let plan = "[testbed]\nprovider = 'ssh'\n[testbed.hosts]\na = '127.0.0.1'\n[role.web]\n\
                recipe = 'target'\n[pool]\nrole = 'web'\nmax = 2\n[instance]\nservice = \
                'const:1ms'\n[load]\nrate = '1/s'\nfor = '5m'\n[policy.one]\nkind = 'fixed'\n\
                instances = 1\n";
    place.write("plan.toml", plan);
    place.plimsoll(&["check", "plan.toml"]).ended_with(0);
    let at_once = ["check", "plan.toml", "--set", "experiment.at_once=2"];
    place.plimsoll(&at_once).ended_with(2).says(&["several pools at once on the same hosts"]);
    let bake = ["testbed", "bake", "web", "plan.toml"];
    place.plimsoll(&bake).ended_with(2).says(&["an image of an instance on another host"]);
}
