//! Pools of real servers: a policy in charge of each, the balancer that gives requests to them, and
//! the simulation that says beforehand what comes of it.

use crate::place::{Place, SOAK, events, run_folders};
use crate::program::{PLIMSOLL, wait_for};
use plimsoll_runs::{DecisionRow, Phase, Run, Tag};
use plimsoll_testing::Weight;
use rustix::process::Signal;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

pub(crate) const PLAN: &str = "\
name = 'two policies'
seed = 3
[experiment]
at_once = 2
[testbed]
provider = 'process'
[role.web]
recipe = 'target'
vars = { workers = 2, service = 'exp:20ms' }
[pool]
role = 'web'
max = 5
decide_every = '500ms'
[instance]
service = 'exp:20ms'
cores = 2
limit = 20
boot = 'const:500ms'
[billing]
unit = 'second'
price = 0.17
[load]
schedule = '40/s for 2s, 160/s for 4s, 20/s for 3s'
arrivals = 'poisson'
[policy.quick]
kind = 'target'
target = 60
period = '500ms'
down_window = '1s'
[policy.fixed]
kind = 'fixed'
instances = 3
[measure]
slo = 'p90<1m, errors<90%'
";

pub(crate) fn number(of: &Value, name: &str) -> f64 {
    of["figures"][name].as_f64().unwrap_or_else(|| panic!("{name}: {of}"))
}

fn cell<'a>(document: &'a Value, policy: &str) -> &'a Value {
    let cells = document["cells"].as_array().unwrap();
    cells.iter().find(|cell| cell["factors"]["policy"] == policy).unwrap()
}

/// The same policy decides the same where it sees the same; another one would not have.
fn replayed_alike(place: &Place, run: &Run, decisions: usize) {
    let path = run.path().to_str().unwrap().to_owned();
    let replayed = |policy: &str| {
        place.plimsoll(&["elastic", "replay", &path, "--policy", policy, "--json"]).ran().json()
    };
    let own = replayed("quick");
    assert_eq!((&own["decisions"], &own["differ"]), (&decisions.into(), &0.into()), "{own}");
    let other = replayed("fixed instances=5");
    assert!(other["differ"].as_u64().unwrap() > 0, "{other}");
    assert_eq!(other["moments"][0]["would"]["desired"], 5, "{other}");
}

/// What was predicted stands beside what came of it, and is what the simulation of the plan says.
fn predicted_beside(place: &Place, live: &Value) {
    let predicted = live["predictions"].as_array().unwrap();
    let of = |policy: &str, figure: &str| {
        let is_it = |one: &&Value| one["policy"] == policy && one["figure"] == figure;
        predicted.iter().find(is_it).unwrap_or_else(|| panic!("{figure}: {predicted:?}")).clone()
    };
    let simulated = place.plimsoll(&["run", "plan.toml", "--simulated", "--json"]).ran().json();
    for policy in ["quick", "fixed"] {
        let (of, simulated) = (of(policy, "instance_hours"), cell(&simulated, policy));
        let says = number(simulated, "instance_hours");
        assert_eq!(of["simulated"].as_f64().map(f64::to_bits), Some(says.to_bits()), "{of}");
        assert!(of["agrees"].is_boolean() && of["ratio"].as_f64().unwrap() > 0.2, "{of}");
        let names = |of: &Value| of["figures"].as_object().unwrap().keys().cloned().collect();
        let (one, other): (BTreeSet<String>, BTreeSet<String>) =
            (names(cell(live, policy)), names(simulated));
        let differ: Vec<&String> = one
            .symmetric_difference(&other)
            // Percentiles of which too few answers tell.
            .filter(|name| !name.starts_with("response_us.p"))
            .collect();
        assert_eq!(differ, Vec::<&String>::new(), "{policy}");
    }
}

#[test]
fn policies_in_charge_of_real_servers_are_held_against_their_prediction() {
    let place = Place::measuring();
    place.write("plan.toml", PLAN);
    let check = place.plimsoll(&["check", "plan.toml"]).ended_with(0);
    check.prints(&["pool, live", "balance --listen", "2 cells at once", "takes       9"]);
    let live = place.plimsoll(&["run", "plan.toml", "--json"]).ran().json();
    for policy in ["quick", "fixed"] {
        let of = cell(&live, policy);
        assert_eq!((&of["state"], &of["world"]), (&"done".into(), &"live".into()), "{of}");
        let [offered, served, lost, open] =
            ["offered", "served", "lost", "in_flight_at_end"].map(|name| number(of, name));
        assert!(offered > 500.0 && served > 0.5 * offered, "{of}");
        assert!((offered - served - lost - open).abs() < 0.5, "{of}");
        assert!(number(of, "instance_hours") > 0.0 && number(of, "cpu_mean") > 1.0, "{of}");
    }
    // Another rate wants more servers, and a fixed number of them is three from the start on.
    assert!(number(cell(&live, "quick"), "scale_out") >= 1.0, "{live}");
    let fixed = ["scale_out", "scale_in"].map(|name| number(cell(&live, "fixed"), name));
    assert_eq!(fixed.map(f64::to_bits), [0.0, 0.0].map(f64::to_bits));

    let folder = place.run();
    let run = Run::open(&folder.join(cell(&live, "quick")["run"].as_str().unwrap())).unwrap();
    let decisions = run.decisions().unwrap();
    assert!(decisions.len() >= 14, "a decision every half second: {}", decisions.len());
    let first = decisions.iter().find(|of| of.desired > of.before).unwrap();
    assert_eq!((first.rule.as_str(), first.done), ("target", first.desired - first.before));
    assert!(first.observation.contains("\"cpu\":"), "{first:?}");
    let events: Vec<String> = run.events().unwrap().into_iter().map(|of| of.text).collect();
    for state in ["instance 1 ready: web-1", "instance 2 requested"] {
        assert!(events.iter().any(|text| text.starts_with(state)), "{state}: {events:?}");
    }
    // The second may be taken away before it is ready, as long as its host is busy.
    let is_later = |text: &String| text.contains(" ready: web-") && !text.ends_with("web-1");
    assert!(events.iter().any(is_later), "{events:?}");
    let names: BTreeSet<String> = run
        .series_names()
        .unwrap()
        .into_iter()
        .filter(|name| name.ends_with("_ready_instances"))
        .collect();
    assert_eq!(
        names.into_iter().collect::<Vec<_>>(),
        ["pool_ready_instances", "predicted_ready_instances"]
    );

    replayed_alike(&place, &run, decisions.len());
    predicted_beside(&place, &live);
    place.plimsoll(&["testbed", "status"]).ended_with(0);
}

/// Where the balancer of the pool of this place listens.
fn balancer(place: &Place) -> Option<String> {
    let pid = servers(place).remove("balancer-1")?;
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let line = String::from_utf8_lossy(&line).into_owned();
    line.split('\0').skip_while(|word| *word != "--listen").nth(1).map(str::to_owned)
}

#[test]
fn who_comes_back_after_a_kill_adopts_what_is_there_and_loses_nothing() {
    let place = Place::new();
    place.write("plan.toml", one_policy("start = 2", "kind = 'fixed'\ninstances = 2"));
    let going = place.run_for_ever(&["--json"]);
    let at = wait_for("the balancer", || balancer(&place));
    let before = wait_for("both", || Some(servers(&place)).filter(|of| of.len() == 3));
    // Somebody else's requests, all the time.
    let url = format!("http://{at}/");
    let other = place.soak(&[&url, "--rate", "50/s", "--json", "--out", "others"]);
    going.signal(Signal::KILL);
    going.wait();
    assert_eq!(servers(&place), before, "they serve on");
    let going = place.run_for_ever(&["--json"]);
    let lost = place.stopped(other).ran().json();
    assert_eq!(lost["succeeded"], lost["offered"], "{lost}");
    let again = place.stopped(going).ran();
    again.says(&["going on with"]);
    let live = again.json();
    let of = &live["cells"][0];
    assert_eq!(number(of, "adopted").to_bits(), 2.0_f64.to_bits(), "{of}");
    let [offered, served, lost, open] =
        ["offered", "served", "lost", "in_flight_at_end"].map(|name| number(of, name));
    assert!((offered - served - lost - open).abs() < 0.5, "{of}");
    // No orphan: all of it is undone with the cell.
    assert_eq!(beds(&place), Vec::<Value>::new());
    let is_gone = |pid: &i32| !std::path::Path::new(&format!("/proc/{pid}/exe")).exists();
    assert!(before.values().all(is_gone), "{before:?}");
}

#[test]
fn what_a_killed_pool_leaves_is_undone_where_it_does_not_serve_any_more() {
    let place = Place::new();
    place.write(
        "plan.toml",
        PLAN.replace("two policies", "killed").replace(SCHEDULE, &for_ever("40/s")),
    );
    let going = place.start(place.command(PLIMSOLL, &["run", "plan.toml", "--quiet"]));
    let webs = |of: &Value| {
        let things = of["things"].as_array().into_iter().flatten();
        things.filter_map(|of| of["instance"].as_str()).filter(|of| of.starts_with("web-")).count()
    };
    wait_for("servers of a pool", || {
        (beds(&place).iter().map(webs).sum::<usize>() > 2).then_some(())
    });
    going.signal(Signal::KILL);
    going.wait();
    for thing in beds(&place).iter().filter_map(|of| of["things"].as_array()).flatten() {
        if thing["instance"] == "balancer-1" {
            kill(i32::try_from(thing["pid"].as_i64().unwrap()).unwrap(), Signal::KILL);
        }
    }
    assert!(!beds(&place).is_empty());
    // Who goes on with it undoes what was left, and goes on where it was.
    let again = place.run_for_ever(&[]);
    // A cell that has not begun when it is asked to stop does not begin.
    wait_for("both policies", || (place.loads_of(&again) == 2).then_some(()));
    let again = place.stopped(again).ran();
    again.says(&["going on with", "undoes what a killed process has left of it"]);
    assert_eq!(beds(&place), Vec::<Value>::new());
}

#[test]
fn what_a_live_pool_cannot_do_is_refused_by_name() {
    let place = Place::weighing(Weight::WAITS);
    let plan = |from: &str, to: &str| {
        assert!(PLAN.contains(from), "{from}");
        place.write("plan.toml", PLAN.replace(from, to));
        place.plimsoll(&["check", "plan.toml"]).ended_with(2)
    };
    plan("role = 'web'\n", "").says(&["a pool live", "--simulated"]);
    plan("role = 'web'", "role = 'wb'").says(&["[role.wb]"]);
    plan("seed = 3", "speed = 10").says(&["speed = 2", "decide_every"]);
    let twice = "profile = { name = 'clarknet-day', to = '1h', speed = 9 }";
    place.write("plan.toml", PLAN.replace(SCHEDULE, twice).replace("seed = 3", "speed = 2"));
    let told = place.plimsoll(&["check", "plan.toml", "--simulated"]).ended_with(2);
    told.says(&["by `speed` and by that of the trace or profile"]);
}

/// The beds of the experiments of this place: other programs may have some, too.
fn beds(place: &Place) -> Vec<Value> {
    let status = place.plimsoll(&["testbed", "status", "--json"]).ended_with(0).json();
    let is_ours = |of: &&Value| {
        let experiment = of["experiment"].as_str().unwrap_or_default();
        experiment.starts_with(place.path("").to_str().unwrap())
    };
    status["testbeds"].as_array().unwrap().iter().filter(is_ours).cloned().collect()
}

/// The processes of the beds of this place, by the names of their instances.
pub(crate) fn servers(place: &Place) -> BTreeMap<String, i32> {
    let beds = beds(place);
    let things = beds.iter().flat_map(|of| of["things"].as_array());
    let process = |of: &Value| {
        let is_it = of["what"] == "process";
        let pid = i32::try_from(of["pid"].as_i64()?).ok()?;
        is_it.then(|| Some((of["instance"].as_str()?.to_owned(), pid)))?
    };
    things.flatten().filter_map(process).collect()
}

pub(crate) fn kill(pid: i32, signal: Signal) {
    rustix::process::kill_process(rustix::process::Pid::from_raw(pid).unwrap(), signal).unwrap();
}

/// What stands in [`PLAN`] for how much, and when.
const SCHEDULE: &str = "schedule = '40/s for 2s, 160/s for 4s, 20/s for 3s'";

/// A load that goes on until the test ends it.
pub(crate) fn for_ever(rate: &str) -> String {
    format!("rate = '{rate}'\nfor = 'ever'\nat_most = '{SOAK}'")
}

/// A plan of one policy, under a load that goes on until the test ends it.
pub(crate) fn one_policy(pool: &str, policy: &str) -> String {
    let start = PLAN.find("[policy.quick]").unwrap();
    let plan = PLAN[..start]
        .replace("two policies", "one policy")
        .replace("at_once = 2", "")
        .replace("max = 5", &format!("max = 5\n{pool}"))
        .replace(SCHEDULE, &for_ever("40/s"));
    format!("{plan}[policy.one]\n{policy}\n[measure]\nslo = 'p10<1m, errors<90%'\n")
}

#[test]
fn what_fails_is_replaced_and_what_is_lost_is_counted() {
    let place = Place::new();
    place.write("plan.toml", one_policy("start = 2", "kind = 'fixed'\ninstances = 2"));
    let mut going = place.run_for_ever(&["--json"]);
    // Before the load has begun, a pool without a balancer is none.
    let cell = place.loads(&mut going);
    let pid_of = |name: &str| wait_for(name, || servers(&place).get(name).copied());
    let (first, second) = (pid_of("web-1"), pid_of("web-2"));
    // One is killed, one takes connections and answers nothing.
    kill(first, Signal::KILL);
    pid_of("web-3");
    kill(second, Signal::STOP);
    pid_of("web-4");
    wait_for("the end of web-2", || (!servers(&place).contains_key("web-2")).then_some(()));
    // The balancer is killed, too, with requests in it: those of a moment in which it does nothing.
    let balancer = pid_of("balancer-1");
    kill(balancer, Signal::STOP);
    // tidy: allow(waits, requests gather in a balancer that does nothing)
    std::thread::sleep(Duration::from_millis(400));
    kill(balancer, Signal::KILL);
    wait_for("another balancer", || {
        servers(&place).get("balancer-1").is_some_and(|pid| *pid != balancer).then_some(())
    });
    // It is whole again when two take requests, and serves from then on.
    let served = || Run::open(&cell).unwrap().total(Phase::Measured).unwrap().succeeded;
    let is_whole =
        || Run::open(&cell).unwrap().decisions().unwrap().last()?.before.eq(&2).then_some(());
    wait_for("two of them", is_whole);
    let before = served();
    wait_for("more to be served", || (served() > before + 100).then_some(()));
    wait_for("another decision", is_whole);
    let live = place.stopped(going).ran().json();
    let of = &live["cells"][0];
    assert_eq!(number(of, "replaced").to_bits(), 2.0_f64.to_bits(), "{of}");
    assert_eq!(number(of, "start_failures").to_bits(), 0.0_f64.to_bits(), "{of}");
    let [offered, served, lost, open] =
        ["offered", "served", "lost", "in_flight_at_end"].map(|name| number(of, name));
    assert!((offered - served - lost - open).abs() < 0.5, "{of}");
    // What lost its balancer is not blamed on its clients.
    assert!(number(of, "lost_by.balancer_failed") > 0.0, "{of}");
    let folder = place.run();
    let run = Run::open(&folder.join(of["run"].as_str().unwrap())).unwrap();
    // Response times are of what was served, as in the simulator.
    let mut times = run.histogram(Phase::Measured, Tag::Response).unwrap();
    let failed = run.histogram(Phase::Measured, Tag::FailedResponse).unwrap();
    times.subtract(&failed);
    // Those that were open at the end of the load, and came after it, are in no figure of the pool.
    let (all, slowest) = (times.count() as f64, times.max().unwrap() as f64 / 1e3);
    assert!((served..=served + open).contains(&all), "{all} {of}");
    let summed = times.mean().unwrap() / 1e3 * all;
    let of_pool = number(of, "response_us.mean") * served;
    let after = (all - served) * slowest;
    assert!((summed - after..=summed * 1.01).contains(&(of_pool * 1.005)), "{summed} {of}");
    // Who lost an instance was told so by an answer, who lost the balancer had none.
    let answered = failed.count() as f64;
    assert!((number(of, "lost_by.instance_failed")..=lost).contains(&answered), "{answered} {of}");
    let events: Vec<String> = run.events().unwrap().into_iter().map(|of| of.text).collect();
    for text in [
        "failed: web-1 ended by itself",
        "failed: web-2 answered",
        "instance 3 ready: web-3",
        "balancer-1 failed",
        "balancer-1 is there again",
    ] {
        assert!(events.iter().any(|of| of.contains(text)), "{text}: {events:#?}");
    }
    // It is whole again: from some time on two take requests, until the end.
    let last = run.decisions().unwrap().pop().unwrap();
    assert_eq!((last.before, last.desired), (2, 2), "{last:?}");
}

#[test]
fn whoever_refuses_to_start_instances_is_asked_again_later() {
    let place = Place::new();
    std::fs::create_dir(place.path("recipes")).unwrap();
    let flag = place.path("refuses");
    // The first comes to stand, others only while there is no flag.
    let script = format!(
        "test {{{{number}}}} -eq 1 || test ! -e {} || exit 1; exec \"$0\" target --listen \
         {{{{address}}}}:{{{{port}}}} --service-time const:5ms --workers 2",
        flag.display()
    );
    place.write(
        "recipes/flaky.toml",
        format!(
            "about = 'Fails while a flag is there.'\nport = 8080\n\
             start = ['sh', '-c', '''{script}''', '{{{{plimsoll}}}}']\n\
             check = {{ http = '/-/metrics', within_s = 5 }}\n"
        ),
    );
    std::fs::write(&flag, "").unwrap();
    let plan = one_policy("start = 1", "kind = 'schedule'\ntimes = '00:00=3'\nstart = 1");
    let plan = plan.replace("recipe = 'target'", "recipe = 'flaky'");
    let vars = "vars = { workers = 2, service = 'exp:20ms' }";
    place.write("plan.toml", plan.replace(vars, ""));
    let mut going = place.run_for_ever(&["--json"]);
    let cell = place.loads(&mut going);
    wait_for("two refusals", || {
        let failed = events(&cell, "instance").iter().filter(|of| of.contains("failed")).count();
        (failed >= 2).then_some(())
    });
    std::fs::remove_file(&flag).unwrap();
    let is_whole = |run: &Run| run.decisions().unwrap().last().is_some_and(|of| of.before == 3);
    wait_for("all three", || is_whole(&Run::open(&cell).unwrap()).then_some(()));
    let live = place.stopped(going).ran().json();
    let of = &live["cells"][0];
    let failures = number(of, "start_failures");
    assert!(failures >= 2.0, "{of}");
    let folder = place.run();
    let run = Run::open(&folder.join(of["run"].as_str().unwrap())).unwrap();
    let decisions = run.decisions().unwrap();
    let is_refused =
        |of: &&plimsoll_runs::DecisionRow| of.limited_by.as_deref() == Some("provider");
    assert!(decisions.iter().any(|of| is_refused(&of)), "{decisions:?}");
    let last = decisions.last().unwrap();
    assert_eq!((last.before, last.desired), (3, 3), "{last:?}");
}

/// A recipe of one's own, whose server works for 5 ms: at 20/s a tenth of a core, half of a fifth.
pub(crate) fn works(place: &Place) {
    std::fs::create_dir(place.path("recipes")).unwrap();
    let recipe = "about = 'Works.'\nport = 8080\nstart = ['{{plimsoll}}', 'target', '--listen', \
                  '{{address}}:{{port}}', '--burn', '--service-time', 'const:5ms']\n\
                  check = { http = '/-/metrics' }\ncollect = { target = '{{address}}:{{port}}' }\n";
    place.write("recipes/works.toml", recipe);
}

#[test]
fn instances_without_cgroups_are_as_busy_as_their_requests() {
    let place = Place::new();
    works(&place);
    let policy = "kind = 'threshold'\nupper = 1\nlower = 0.1\ndatapoints = 1\nperiod = '500ms'\n\
                  cooldown = '1m'";
    let plan = one_policy("start = 1", policy)
        .replace("recipe = 'target'", "recipe = 'works'")
        .replace("vars = { workers = 2, service = 'exp:20ms' }", "");
    place.write("plan.toml", plan);
    let mut going = place.run_for_ever(&["--json"]);
    let cell = place.loads(&mut going);
    wait_for("another instance", || {
        let decisions = Run::open(&cell).unwrap().decisions().unwrap();
        decisions.iter().any(|of| of.desired > of.before).then_some(())
    });
    let live = place.stopped(going).ran().json();
    let of = &live["cells"][0];
    assert!(number(of, "cpu_mean") > 1.0, "{of}");
    let run = Run::open(&place.run().join(of["run"].as_str().unwrap())).unwrap();
    let decisions = run.decisions().unwrap();
    let added = decisions.iter().find(|of| of.desired > of.before).unwrap();
    assert!(added.reason.starts_with("cpu above 1"), "{added:?}");
}

/// Somebody's pool of two hosts, each with an agent.
const WATCHED: &str = "\
name = 'watched'
[collect]
agents = { web1 = 'FIRST', web2 = 'SECOND' }
every = '250ms'
[pool]
max = 5
decide_every = '1s'
[instance]
service = 'exp:20ms'
[load]
rate = '10/s'
for = '1m'
[policy.eager]
kind = 'target'
target = 0.001
period = '1s'
[policy.calm]
kind = 'threshold'
upper = 100.5
lower = 0
datapoints = 1
period = '1s'
";

#[test]
fn somebody_elses_pool_is_watched_and_nothing_is_done() {
    let place = Place::new();
    // Two hosts of one, each with an agent; one goes away meanwhile.
    let agent = || {
        let words = ["agent", "--listen", "127.0.0.1:0", "--every", "250ms"];
        let going = place.start(place.command(PLIMSOLL, &words));
        let address = wait_for("an agent", || {
            let out = going.out();
            Some(out.lines().find_map(|line| line.strip_prefix("listening on "))?.to_owned())
        });
        (going, address.trim_start_matches("http://").trim_end_matches('/').to_owned())
    };
    let ((first, at_first), (second, at_second)) = (agent(), agent());
    let plan = WATCHED.replace("FIRST", &at_first).replace("SECOND", &at_second);
    place.write("plan.toml", &plan);
    let going = place.start(place.command(PLIMSOLL, &["run", "plan.toml", "--shadow", "--json"]));
    // Whether something holds of the decisions of both policies.
    let all = |what: &str, holds: &dyn Fn(&[DecisionRow]) -> bool| {
        wait_for(what, || {
            let cells = run_folders(&place.runs("runs").pop()?.join("cells"));
            let decided = cells.iter().filter_map(|cell| Run::open(cell).ok()?.decisions().ok());
            (decided.filter(|all| holds(all)).count() == 2).then_some(())
        });
    };
    all("decisions on both hosts", &|all| all.iter().filter(|of| of.before == 2).count() > 4);
    drop(second);
    all("a decision on one", &|all| all.last().is_some_and(|of| of.before == 1));
    going.signal(Signal::INT);
    let told = going.wait().ended_with(0).json();
    let cells = told["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 2, "{told}");
    for of in cells {
        assert_eq!(of["world"], "shadow", "{of}");
        let run = Run::open(&place.path(of["run"].as_str().unwrap())).unwrap();
        assert_eq!(run.meta().world, plimsoll_runs::World::Shadow);
        let decisions = run.decisions().unwrap();
        assert!(decisions.iter().all(|of| of.done == 0), "{decisions:?}");
        let seen = decisions.iter().filter(|of| of.observation.contains("\"cpu\":")).count();
        assert!(seen > 4, "{decisions:?}");
        assert_eq!(decisions.last().unwrap().before, 1);
        let texts: Vec<String> = run.events().unwrap().into_iter().map(|of| of.text).collect();
        assert!(texts.iter().any(|of| of == "instance web2 silent"), "{texts:?}");
        // One would always have more; it has not acted, so it says so again and again.
        // Where both were silent for a moment, as on a busy host, each wants the least there may
        // be.
        let grows = |of: &&DecisionRow| of.before > 0 && of.desired > of.before;
        let changes = decisions.iter().filter(grows).count();
        let is_eager = of["factors"]["policy"] == "eager";
        assert_eq!(changes > 3, is_eager, "{of}: {decisions:?}");
    }
    drop(first);
    // What cannot be watched is refused.
    place.write("none.toml", plan.replace("agents =", "#"));
    let none = place.plimsoll(&["run", "none.toml", "--shadow"]).ended_with(2);
    none.says(&["agents", "plimsoll agent"]);
    place.write("rare.toml", plan.replace("every = '250ms'", "every = '1s'"));
    place.plimsoll(&["run", "rare.toml", "--shadow"]).ended_with(2).says(&["collect.every"]);
}
