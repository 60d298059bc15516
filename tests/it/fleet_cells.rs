//! Cells of an experiment that several processes execute: the same as by one, each once, whoever is
//! lost, and nobody left.

use crate::fleet::{are_gone, signal, workers};
use crate::place::Place;
use crate::program::wait_for;
use plimsoll_runs::FigureRow;
use plimsoll_runs::experiment::{Experiment, State};
use plimsoll_testing::Weight;
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A pool that is overloaded for a while, under two policies.
pub(crate) const POOL: &str = "\
[load]
schedule = '20/s for 2m, 60/s for 4m'
arrivals = 'poisson'
[measure]
slo = 'p99<400ms'
[pool]
max = 8
start = 2
[instance]
service = 'exp:70ms'
cores = 2
limit = 10
boot = 'const:60s'
[policy.eager]
kind = 'threshold'
datapoints = 2
[policy.always]
kind = 'fixed'
start = 8
";

/// Clusters of caches, whose cells of one replication share their requests.
const CLUSTERS: &str = "\
repeat = 3
[workload]
objects = 200
clients = 4
[load]
rate = '20/s'
for = '1m'
[cluster]
nodes = 2
size = '20%'
protocol = ['none', 'icp']
";

/// A simulated server, whose service time is a factor.
const SERVER: &str = "\
[target]
url = 'http://127.0.0.1:1/'
[load]
rate = '20/s'
for = '20s'
arrivals = 'poisson'
[instance]
service = 'exp:20ms'
[factor]
'instance.service' = ['exp:20ms', 'exp:40ms']
[experiment]
replications = 6
";

fn place() -> Place {
    let place = Place::weighing(Weight::COMPUTES);
    place.write("pool.toml", format!("repeat = 20\n{POOL}"));
    place.write("clusters.toml", CLUSTERS);
    place.write("server.toml", SERVER);
    place.write("long.toml", format!("repeat = 4000\n{POOL}"));
    place
}

pub(crate) fn only(place: &Place, out: &str) -> PathBuf {
    let all = place.runs(out);
    assert_eq!(all.len(), 1, "{all:?}");
    all[0].clone()
}

/// What became of each cell, with its figures.
pub(crate) fn figures(path: &Path) -> BTreeMap<u32, (State, Vec<FigureRow>)> {
    let experiment = Experiment::open(path).unwrap();
    let rows = experiment.cells().unwrap().into_iter();
    let figures = |number| experiment.figures_of(number).unwrap();
    rows.map(|row| (row.cell.number, (row.state, figures(row.cell.number)))).collect()
}

#[test]
fn cells_come_to_the_same_whoever_executes_them() {
    let place = place();
    for plan in ["pool.toml", "clusters.toml", "server.toml"] {
        let run = |out: &str, more: &[&str]| {
            let run = ["run", plan, "--simulated", "--quiet", "--keep-cells", "--out", out];
            place.plimsoll(&[&run[..], more].concat())
        };
        let (a, b) = (format!("{plan}-alone"), format!("{plan}-together"));
        let (alone, together) = (run(&a, &[]), run(&b, &["--workers", "3"]));
        assert_eq!(alone.code(), together.code(), "{plan}: {}", together.err);
        let (a, b) = (only(&place, &a), only(&place, &b));
        assert!(figures(&a).len() >= 6, "{plan}");
        assert_eq!(figures(&a), figures(&b), "{plan}");
        let shown = |text: &str| text.split("\n  run ").next().unwrap_or_default().to_owned();
        assert_eq!(shown(&alone.out), shown(&together.out));
        // Their runs hold the same, but for when that was.
        let (a, b) = (Experiment::open(&a).unwrap(), Experiment::open(&b).unwrap());
        for row in a.cells().unwrap() {
            let number = row.cell.number;
            let runs = (a.run(number).unwrap().unwrap(), b.run(number).unwrap().unwrap());
            assert_eq!(runs.0.figures().unwrap(), runs.1.figures().unwrap(), "{plan} {number}");
            assert_eq!(runs.0.intervals().unwrap(), runs.1.intervals().unwrap());
            assert_eq!(runs.0.decisions().unwrap(), runs.1.decisions().unwrap());
            let meta = |run: &plimsoll_runs::Run| {
                let meta = run.meta().clone();
                (meta.cell, meta.factors, meta.seed, meta.plan_sha256, meta.inputs_sha256)
            };
            assert_eq!(meta(&runs.0).0, meta(&runs.1).0);
            assert_eq!(meta(&runs.0).1, meta(&runs.1).1);
            assert_eq!(meta(&runs.0).2, meta(&runs.1).2);
            assert_eq!(meta(&runs.0).4, meta(&runs.1).4);
        }
    }
}

/// Waits until cells are done of what goes on, and more are to be.
pub(crate) fn until_some_are_done(place: &Place, out: &str) -> PathBuf {
    wait_for("some cells", || {
        let path = place.runs(out).into_iter().next()?;
        let rows = Experiment::open(&path).ok()?.cells().ok()?;
        let done = rows.iter().filter(|row| row.state == State::Done).count();
        assert!(done < rows.len() || done == 0, "all are done already");
        (done > 10).then_some(path)
    })
}

#[test]
fn a_worker_that_is_lost_gives_its_cells_to_others() {
    let place = place();
    let run = ["run", "long.toml", "--simulated", "--quiet", "--yes", "--workers", "3"];
    let alone = ["run", "long.toml", "--simulated", "--quiet", "--yes", "--out", "alone"];
    let alone = place.plimsoll(&alone).ended_with(0);
    for (sent, cause) in [(Signal::KILL, "signal 9 ended it"), (Signal::STOP, "silent for")] {
        let out = format!("by-{}", sent.as_raw());
        let set = ["--out", &out, "--set", "fleet.lost_after=1s"];
        let command = place.command(crate::program::PLIMSOLL, &[&run[..], &set].concat());
        let going = place.start(command);
        let path = until_some_are_done(&place, &out);
        let pids = workers(&going);
        assert_eq!(pids.len(), 3);
        signal(pids[1], sent);
        let done = going.wait().ended_with(0);
        done.says(&["worker 2 is lost", cause, "its cells are given to others"]);
        are_gone(&pids);
        assert_eq!(figures(&path), figures(&only(&place, "alone")), "{cause}");
        let tables = |out: &str| -> Vec<String> {
            let lines = out.lines().filter(|line| !line.contains("worker"));
            lines.take_while(|line| !line.starts_with("  run ")).map(str::to_owned).collect()
        };
        assert_eq!(tables(&done.out), tables(&alone.out));
        let told = Experiment::open(&path).unwrap().events().unwrap();
        assert!(told.iter().any(|(_, event)| event.text.contains(cause)), "{told:?}");
        let arriving = std::fs::read_dir(path.join("cells")).unwrap().flatten();
        let left = arriving.filter(|of| of.path().extension().is_some()).count();
        assert_eq!(left, 0, "nothing of runs that did not come whole");
    }
}

#[test]
fn an_experiment_whose_controller_was_killed_goes_on() {
    let place = place();
    let run = ["run", "long.toml", "--simulated", "--quiet", "--yes", "--workers", "2"];
    for sent in [Signal::KILL, Signal::INT] {
        let out = format!("by-{}", sent.as_raw());
        let run = [&run[..], &["--out", &out]].concat();
        let going = place.start(place.command(crate::program::PLIMSOLL, &run));
        let path = until_some_are_done(&place, &out);
        let pids = workers(&going);
        assert_eq!(pids.len(), 2);
        going.signal(sent);
        let done = going.wait();
        assert_ne!(done.code(), Some(0));
        are_gone(&pids);
        if sent == Signal::INT {
            done.says(&["go on with"]);
            assert!(!done.err.contains("is lost"), "{}", done.err);
        }
        // Others may go on with it, and it with others.
        let more = ["run", "long.toml", "--simulated", "--quiet", "--yes", "--out", &out];
        let more = if sent == Signal::KILL {
            [&more[..], &["--workers", "3"]].concat()
        } else {
            more.to_vec()
        };
        place.plimsoll(&more).ended_with(0).says(&["going on with"]);
        let all = figures(&path);
        assert_eq!(all.len(), 8000);
        assert!(all.values().all(|(state, _)| *state == State::Done));
        only(&place, &out);
    }
}

#[test]
fn words_start_workers_that_are_given_what_the_plan_reads() {
    let name = "words_start_workers_that_are_given_what_the_plan_reads";
    if !plimsoll_testing::has_namespaces(name) {
        return;
    }
    let place = place();
    std::fs::create_dir(place.path("data")).unwrap();
    let rows: String = (0..60).map(|minute| format!("{minute},{}\n", 600 + 20 * minute)).collect();
    place.write("data/day.csv", format!("time,requests\n{rows}"));
    let load = "[load.trace]\nfile = 'data/day.csv'\ncolumns = 'minute,count'\n";
    let hides = format!("mount -t tmpfs none {} && exec \\\"$@\\\"", place.path("data").display());
    let pool = POOL.split("[measure]").nth(1).unwrap();
    let fleet = format!(
        "[fleet]\nworkers = 2\nstart = [\"unshare\", \"-m\", \"sh\", \"-c\", \"{hides}\", \"sh\"]\n"
    );
    place.write("alone.toml", format!("repeat = 3\n{load}[measure]{pool}"));
    place.write("plan.toml", format!("repeat = 3\n{load}[measure]{pool}{fleet}"));
    for (plan, out) in [("alone.toml", "alone"), ("plan.toml", "together")] {
        place.plimsoll(&["run", plan, "--simulated", "--quiet", "--out", out]).ran();
    }
    assert_eq!(figures(&only(&place, "alone")), figures(&only(&place, "together")));
    let check = place.plimsoll(&["check", "plan.toml", "--simulated"]).ended_with(0);
    check.prints(&["worker 2: unshare -m sh -c", "worker --stdio"]);
    // It is no part of what its cells are.
    let alone = std::fs::read_to_string(place.path("alone.toml")).unwrap();
    place.write("plan.toml", alone);
    let again = ["run", "plan.toml", "--simulated", "--quiet", "--out", "together", "--adopt"];
    place.plimsoll(&again).ran();
}

#[test]
fn what_workers_cannot_do_is_refused() {
    let place = place();
    place.write("live.toml", format!("{POOL}[fleet]\nworkers = 2\n"));
    let done = place.plimsoll(&["run", "live.toml"]).ended_with(2);
    done.says(&["[fleet]", "steered, by one process", "--simulated"]);
    let tune = "[tune]\npolicy = 'eager'\nvary = { datapoints = '1..3' }\n";
    place.write("tune.toml", format!("{POOL}[fleet]\nworkers = 2\n{tune}"));
    let done = place.plimsoll(&["run", "tune.toml", "--simulated"]).ended_with(2);
    done.says(&["`fleet` does not go with a search for parameters"]);
    let words = "[fleet]\nworkers = 2\nstart = ['sh', '-c', 'echo no queue >&2; exit 3', 'sh']\n";
    place.write("none.toml", format!("repeat = 3\n{POOL}{words}"));
    let done = place.plimsoll(&["run", "none.toml", "--simulated"]).ended_with(4);
    done.says(&["begin with worker", "it ended with 3: no queue"]);
    assert!(place.runs("runs").is_empty());
    // One cell is not given away.
    let one = "[target]\nurl = 'http://127.0.0.1:1/'\n[load]\nrate = '5/s'\nfor = '10s'\n[instance]\nservice = 'exp:20ms'\n";
    place.write("one.toml", format!("{one}[fleet]\nworkers = 2\n"));
    place.plimsoll(&["run", "one.toml", "--simulated", "--quiet"]).ended_with(0);
}
