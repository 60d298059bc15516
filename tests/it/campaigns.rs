//! Campaigns: every target from every vantage point as often as is said, never two at a time of one
//! target or from one vantage point, and what their labels say.

use crate::bus::Hall;
use crate::fleet::{asked, signal, workers};
use crate::fleet_cells::only;
use crate::program::{PLIMSOLL, wait_for};
use plimsoll_runs::experiment::{Experiment, State};
use plimsoll_testing::Weight;
use plimsoll_testing::servers::RabbitMq;
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::path::Path;

/// A campaign of some targets from two workers, whose loads are of `load`.
fn plan(targets: &[(&str, String, &str)], more: &str, load: &str) -> String {
    let target = |(name, url, kind): &(&str, String, &str)| {
        format!("[campaign.target.{name}]\nurl = '{url}'\nlabels = {{ kind = '{kind}' }}\n")
    };
    let targets: String = targets.iter().map(target).collect();
    format!(
        "[campaign]\nfrom = {{ w1 = {{ region = 'eu' }}, w2 = {{ region = 'us' }} }}\n{more}\n\
         {targets}[load]\n{load}\n[experiment]\nrespond = ['p50']\n"
    )
}

/// When the run of each cell began and ended, with its levels.
fn spans(path: &Path) -> Vec<(BTreeMap<String, String>, u64, u64)> {
    let experiment = Experiment::open(path).unwrap();
    let cells = experiment.cells().unwrap().into_iter();
    let span = |row: plimsoll_runs::experiment::CellRow| {
        assert_eq!(row.state, State::Done, "{row:?}");
        let run = experiment.run(row.cell.number).unwrap().unwrap();
        let began = run.meta().started_unix_ns;
        (row.cell.factors.clone(), began, began + run.meta().duration_ns)
    };
    cells.map(span).collect()
}

#[test]
fn each_target_is_measured_from_each_vantage_point_and_never_twice_at_a_time() {
    let test = "each_target_is_measured_from_each_vantage_point_and_never_twice_at_a_time";
    let Some(rabbit) = RabbitMq::shared(test).map(RabbitMq::virtual_host) else { return };
    let hall = Hall::at(rabbit.url(), Weight::WAITS, &["w1", "w2"]);
    let place = &hall.place;
    let slow = place.target(&["--service-time", "const:40ms", "--workers", "100"]);
    let fast =
        ["const:10ms"; 3].map(|time| place.target(&["--service-time", time, "--workers", "100"]));
    let both = ["w1", "w2"].map(|name| hall.worker(name, &["--may", "load=127.0.0.0/8"]));
    let [b, c, d] = fast.each_ref().map(crate::place::Target::url);
    let targets = [("a", slow.url(), "vm"), ("b", b, "vm"), ("c", c, "vm"), ("d", d, "metal")];
    place.write("plan.toml", plan(&targets, "runs = 3", "rate = '50/s'\nfor = '1s'"));
    let check = [&["check", "plan.toml"][..], &hall.flags()].concat();
    place.plimsoll(&check).ended_with(0).prints(&["4 targets: a, b, c, d", "cells       24"]);
    let run = [&["run", "plan.toml", "--quiet", "--out", "all"][..], &hall.flags()].concat();
    place.plimsoll(&run).ran();
    let path = only(place, "all");
    let spans = spans(&path);
    assert_eq!(spans.len(), 24);
    let overlap = |a: &(_, u64, u64), b: &(_, u64, u64)| a.1 < b.2 && b.1 < a.2;
    for (at, one) in spans.iter().enumerate() {
        for other in &spans[..at] {
            let shared = ["target", "from"].iter().any(|of| one.0[*of] == other.0[*of]);
            assert!(!shared || !overlap(one, other), "{one:?} {other:?}");
        }
    }
    // Each server was asked what was planned, and by nobody else.
    for target in [&slow, &fast[0], &fast[2]] {
        assert!(asked(place, target).ends_with(" 300"), "{}", asked(place, target));
    }
    let analysis = place.plimsoll(&["analyse", path.to_str().unwrap(), "--json"]).json();
    let of = |factor: &str, label: &str| {
        let all = analysis["by_label"].as_array().unwrap().iter();
        let found = all.filter(|of| of["factor"] == factor && of["label"] == label);
        let groups = found.flat_map(|of| of["groups"].as_array().unwrap());
        groups
            .map(|of| (of["value"].as_str().unwrap().to_owned(), of["n"].as_u64().unwrap()))
            .collect::<Vec<_>>()
    };
    let owned = |of: &[(&str, u64)]| {
        of.iter().map(|(value, n)| ((*value).to_owned(), *n)).collect::<Vec<_>>()
    };
    assert_eq!(of("target", "kind"), owned(&[("metal", 6), ("vm", 18)]), "{analysis}");
    assert_eq!(of("from", "region"), owned(&[("eu", 12), ("us", 12)]));
    assert_eq!(analysis["poor"][0]["level"], "a", "{}", analysis["poor"]);
    assert_eq!(analysis["poor"].as_array().unwrap().len(), 1);
    let text = place.plimsoll(&["analyse", path.to_str().unwrap()]);
    text.prints(&["poor        target a", "kind", "metal"]);
    // A part of the pairs.
    for (pairs, cells) in [("a from w1, b from w2, c from w2, d from w1", 4), ("all", 8)] {
        let set = format!("campaign.pairs={pairs}");
        let set = ["--set", &set, "--set", "campaign.runs=1"];
        let check = place.plimsoll(&[&check[..], &set].concat()).ended_with(0);
        check.prints(&[&format!("cells       {cells}")]);
    }
    // Three rounds, of which each begins an hour after the one before.
    let hourly = [&check[..], &["--set", "campaign.every=1h"]].concat();
    place.plimsoll(&hourly).ended_with(0).prints(&["takes       2 h"]);
    hall.end(both.into());
}

#[test]
fn a_cell_whose_worker_is_lost_is_executed_once_more_after_its_load_has_ended() {
    let test = "a_cell_whose_worker_is_lost_is_executed_once_more_after_its_load_has_ended";
    let Some(rabbit) = RabbitMq::shared(test).map(RabbitMq::virtual_host) else { return };
    let hall = Hall::at(rabbit.url(), Weight::WAITS, &["w1", "w2"]);
    let place = &hall.place;
    let targets = [(); 2].map(|()| place.calm());
    let both = ["w1", "w2"].map(|name| hall.worker(name, &["--may", "load=127.0.0.0/8"]));
    let named = [("a", targets[0].url(), "vm"), ("b", targets[1].url(), "vm")];
    place.write("plan.toml", plan(&named, "runs = 1", "rate = '20/s'\nfor = '4s'"));
    let run = [&["run", "plan.toml", "--quiet", "--out", "all"][..], &hall.flags()].concat();
    let mut going = place.start(place.command(PLIMSOLL, &run));
    wait_for("both serve", || both.iter().all(|of| !workers(of).is_empty()).then_some(()));
    place.loads(&mut going);
    let servants = workers(&both[0]);
    signal(servants[0], Signal::KILL);
    let done = going.wait();
    done.ran().says(&["signal 9 ended it", "it is tried once more at the end"]);
    let path = only(place, "all");
    assert_eq!(spans(&path).len(), 4);
    let analysis = place.plimsoll(&["analyse", path.to_str().unwrap(), "--json"]).json();
    let cells = analysis["cells"].as_array().unwrap().iter();
    let failed: Vec<_> = cells.filter(|cell| cell.get("failures").is_some()).collect();
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert_eq!(failed[0]["factors"]["from"], "w1");
    hall.end(both.into());
}

#[test]
fn what_a_campaign_cannot_be_is_refused_with_its_place() {
    let place = crate::place::Place::new();
    let url = |port: u16| format!("http://127.0.0.1:{port}/");
    let targets = [("a", url(1), "vm"), ("b", url(2), "vm")];
    let fleet = "\n[fleet]\nhosts = { w1 = '10.0.0.1', w2 = '10.0.0.2' }\n";
    let whole = plan(&targets, "runs = 2", "users = 1\nfor = '1s'") + fleet;
    let refused = |from: &str, to: &str, wanted: &str| {
        let text = whole.replace(from, to);
        assert_ne!(text, whole);
        place.write("plan.toml", text);
        place.plimsoll(&["check", "plan.toml"]).ended_with(2).says(&[wanted, "plan.toml:"]);
    };
    refused("runs = 2", "runs = 0", "runs");
    refused("runs = 2", "runs = 2\npairs = 'same kind'", "no vantage point has the kind `vm`");
    refused("runs = 2", "runs = 2\npairs = 'same zone'", "has no label `zone`");
    refused("runs = 2", "runs = 2\npairs = ['a from w1']", "nobody measures the target `b`");
    refused("runs = 2", "runs = 2\npairs = ['a from w3', 'b from w1']", "`a from w3`");
    refused("127.0.0.1:2/", "127.0.0.1:1/x", "is the same server as `a`");
    refused(
        "w2 = { region = 'us' }",
        "w3 = { region = 'us' }",
        "expected one of the hosts of [fleet], found `w3`",
    );
    refused(fleet, "", "the plan has no [fleet]");
    refused("[campaign.target.b]\nurl = ", "[campaign.target.b]\nurn = ", "url");
    refused("[load]", "[factor]\nfrom = [1, 2]\n[load]", "is where it measures from");
}
