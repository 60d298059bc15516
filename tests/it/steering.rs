//! An experiment that goes on, from another terminal: how far it is, what happens, and how it is
//! asked to stop; and what ends it before its last cell.

use crate::place::{Place, SOAK, cell};
use crate::program::{Going, PLIMSOLL, wait_for};
use plimsoll_runs::experiment::{Experiment, State};
use plimsoll_testing::{Weight, installed};
use rustix::process::Signal;
use serde_json::Value;

/// Four combinations of a load on the built-in target, a second each.
const PLAN: &str = "\
name = 'steered'
seed = 5
[experiment]
replications = 2
respond = ['rate']
[factor]
\"role.web.vars.workers\" = [1, 2]
\"load.users\" = [1, 2]
[testbed]
provider = 'process'
[role.web]
recipe = 'target'
vars = { service = 'const:2ms' }
[target]
url = 'http://{{role.web.address}}:{{role.web.port}}/'
[load]
users = 1
for = '1s'
";

fn status(place: &Place) -> Option<Value> {
    let done = place.plimsoll(&["status", "--json"]);
    (done.code() != Some(2)).then(|| done.json())
}

/// Whether a status is not of the experiment that is the last one now.
fn another(place: &Place) -> impl Fn(&Value) -> bool {
    let last = status(place).map(|of| of["id"].clone());
    move |of| Some(&of["id"]) != last.as_ref()
}

/// How many cells are done.
fn done(of: &Value) -> u64 {
    of["cells"]["done"].as_u64().unwrap()
}

/// Begins the plan, and waits until so many cells are done and another one goes on.
fn begun(place: &Place, done: u64) -> (Going, Value) {
    let mut going = place.start(place.command(PLIMSOLL, &["run", "plan.toml", "--quiet"]));
    let status = wait_for("a cell that goes on", || {
        assert!(!going.has_ended(), "{}{}", going.out(), going.err());
        status(place)
            .filter(|of| of["cells"]["done"].as_u64() >= Some(done) && of["cells"]["running"] == 1)
    });
    (going, status)
}

#[test]
fn an_experiment_is_seen_followed_and_stopped_from_another_terminal() {
    let place = Place::new();
    place.write("plan.toml", PLAN);
    place.plimsoll(&["status"]).ended_with(2).says(&["there is none in runs"]);
    let (going, seen) = begun(&place, 1);
    assert_eq!((&seen["state"], &seen["name"]), (&"running".into(), &"steered".into()), "{seen}");
    assert_eq!(seen["process"], going.id(), "{seen}");
    assert_eq!(seen["cells"]["planned"], 8);
    let running = &seen["running"][0];
    assert!(running["factors"]["load.users"].is_string(), "{seen}");
    assert!(running["since_s"].as_f64().unwrap() < seen["elapsed_s"].as_f64().unwrap());
    assert!(seen["remaining_s"].as_f64().unwrap() > 1.0, "{seen}");
    // Another one would write the same cells.
    let second = place.plimsoll(&["run", "plan.toml"]).ended_with(2);
    second.says(&["another program", &format!("process {}", going.id())]);

    let follow = place.start(place.command(PLIMSOLL, &["follow"]));
    wait_for("what has happened", || follow.out().contains("start it").then_some(()));
    place.plimsoll(&["stop"]).ended_with(0).says(&["was asked to stop when the cell"]);
    let done = going.wait().ended_with(4);
    done.says(&["ended: it was asked to stop"]);
    let followed = follow.wait().ended_with(4).out;
    assert!(followed.contains("begins: load.users"), "{followed}");
    assert!(followed.contains("asked to stop when"), "{followed}");
    let ended = status(&place).unwrap();
    assert_eq!((&ended["state"], &ended["process"]), (&"stopped".into(), &Value::Null), "{ended}");
    // The cell that went on was finished.
    let cells = &ended["cells"];
    assert!(cells["done"].as_u64() > seen["cells"]["done"].as_u64(), "{ended}");
    assert_eq!((&cells["stopped"], &cells["running"]), (&0.into(), &0.into()), "{ended}");
    place.plimsoll(&["stop"]).ended_with(2).says(&["nobody executes it"]);

    // It goes on where it was; what was asked then is over.
    let (going, _) = begun(&place, cells["done"].as_u64().unwrap());
    place.plimsoll(&["stop", "--now"]).ended_with(0);
    going.wait().ended_with(4);
    let ended = status(&place).unwrap();
    assert_eq!((&ended["state"], &ended["cells"]["stopped"]), (&"stopped".into(), &1.into()));
    let told = place.plimsoll(&["status"]).ended_with(4).out;
    assert!(told.contains("stopped: it was asked to stop"), "{told}");
    place.plimsoll(&["run", "plan.toml", "--quiet"]).ran();
    let ended = status(&place).unwrap();
    assert_eq!((&ended["state"], &ended["cells"]["left"]), (&"complete".into(), &0.into()));
}

#[test]
fn a_single_run_is_seen_and_followed_from_another_terminal() {
    let place = Place::new();
    let target = place.calm();
    let load = ["load", "--quiet", &target.url(), "--rate", "20/s", "--for", SOAK];
    let going = place.start(place.command(PLIMSOLL, &load));
    let seen = wait_for("a run that goes on", || status(&place));
    assert_eq!((&seen["state"], &seen["process"]), (&"running".into(), &going.id().into()));
    assert_eq!((&seen["cells"]["planned"], &seen["cells"]["left"]), (&1.into(), &1.into()));
    let left = seen["remaining_s"].as_f64().unwrap();
    assert!((0.0..=1200.0).contains(&left), "{seen}");
    let told = place.plimsoll(&["status"]).ended_with(0).out;
    assert!(told.starts_with("run ") && told.contains("0 of 1 done, 1 left"), "{told}");
    let now = place.plimsoll(&["stop", "--now"]).ended_with(2);
    now.says(&["ends with its next second", "interrupt it in the terminal of process"]);
    let follow = place.start(place.command(PLIMSOLL, &["follow"]));
    going.signal(Signal::INT);
    going.wait().ended_with(4);
    let followed = follow.wait().ended_with(4).out;
    assert!(followed.contains("interrupted; 0 of 1 done, 1 stopped, 1 left"), "{followed}");
    let seen = status(&place).unwrap();
    assert_eq!((&seen["state"], &seen["process"]), (&"interrupted".into(), &Value::Null));

    let going = place.start(place.command(PLIMSOLL, &load));
    let state = |wanted: &str| {
        wait_for(wanted, || Some(status(&place)?).filter(|of| of["state"] == wanted))
    };
    state("running");
    going.signal(Signal::KILL);
    going.wait();
    assert_eq!(state("killed")["elapsed_s"], Value::Null);
    let short = ["load", "--quiet", &target.url(), "--rate", "20/s", "--for", "1s"];
    place.plimsoll(&short).ran();
    assert_eq!(state("complete")["cells"]["done"], 1);
    place.plimsoll(&["follow"]).ended_with(0);
}

/// Servers that tell of each request, and of a secret.
const TALKING: &str = "\
name = 'talking'
[testbed]
provider = 'process'
[role.web]
recipe = 'talking'
vars.password = { env = 'TALKING_SECRET' }
[target]
url = 'http://{{role.web.address}}:{{role.web.port}}/'
[load]
rate = '20/s'
for = 'ever'
at_most = '20m'
";
const TALKER: &str = "\
about = 'Tells of each request, and of a secret.'
packages = ['python3']
port = 8000
start = ['python3', '-u', '{{folder}}/talk.py', '{{address}}', '{{port}}']
check = {}
[vars]
password = ''
[[write]]
path = 'password'
text = '{{vars.password}}'
[[write]]
path = 'talk.py'
text = '''
import http.server, os, sys
secret = open(os.path.join(os.path.dirname(sys.argv[0]), \"password\")).read()
class Talk(http.server.BaseHTTPRequestHandler):
    protocol_version = \"HTTP/1.1\"
    def do_GET(self):
        print(\"a request with\", secret, flush=True)
        self.send_response(200)
        self.send_header(\"Content-Length\", \"0\")
        self.end_headers()
    def log_message(self, *a):
        pass
http.server.ThreadingHTTPServer((sys.argv[1], int(sys.argv[2])), Talk).serve_forever()
'''
";

#[test]
fn what_servers_say_is_followed_live_by_their_numbers_and_without_secrets() {
    let test = "what_servers_say_is_followed_live_by_their_numbers_and_without_secrets";
    if installed(test, "python3").is_none() {
        return;
    }
    let place = Place::new();
    std::fs::create_dir(place.path("recipes")).unwrap();
    place.write("recipes/talking.toml", TALKER);
    place.write("plan.toml", TALKING);
    let mut run = place.command(PLIMSOLL, &["run", "plan.toml", "--quiet"]);
    run.env("TALKING_SECRET", "a-word-that-nobody-sees");
    let going = place.start(run);
    wait_for("a run that goes on", || status(&place).filter(|of| of["state"] == "running"));
    let follow = place.start(place.command(PLIMSOLL, &["follow"]));
    let line = "web-1 | a request with ***";
    wait_for("what the server says", || follow.out().contains(line).then_some(()));
    place.stopped(going).ran();
    let followed = follow.wait().ended_with(0).out;
    assert!(!followed.contains("nobody-sees"), "{followed}");
    let run = place.run();
    assert!(!run.join("outputs.live").exists(), "it is gone with the execution");
    let kept = std::fs::read_to_string(run.join("artifacts/web-1.log")).unwrap();
    assert!(kept.contains("a request with ***"), "{kept}");
}

#[test]
fn what_a_kill_left_is_told_as_killed() {
    let place = Place::new();
    place.write("plan.toml", PLAN);
    let (going, _) = begun(&place, 1);
    going.signal(Signal::KILL);
    going.wait();
    let seen = place.plimsoll(&["status", "--json"]).ended_with(4).json();
    assert_eq!((&seen["state"], &seen["process"]), (&"killed".into(), &Value::Null), "{seen}");
    assert_eq!((&seen["running"], &seen["remaining_s"]), (&serde_json::json!([]), &Value::Null));
    place.plimsoll(&["follow"]).ended_with(4).says(&[]);
    // Its servers stand until somebody ends them.
    let beds = place.plimsoll(&["testbed", "status", "--json"]).ended_with(0).json();
    let here = place.run().canonicalize().unwrap();
    let is_its = |bed: &&Value| bed["experiment"].as_str().map(std::path::Path::new) == Some(&here);
    let its: Vec<&Value> = beds["testbeds"].as_array().unwrap().iter().filter(is_its).collect();
    assert_eq!((its.len(), &its[0]["is_running"]), (1, &false.into()), "{beds}");
    place.plimsoll(&["testbed", "down", its[0]["id"].as_str().unwrap()]).ended_with(0);
}

/// The plan without servers of its own, on a target that is there.
fn on(url: &str, experiment: &str, factor: &str) -> String {
    format!(
        "name = 'steered'\nseed = 5\n[experiment]\n{experiment}\n[factor]\n{factor}\n\
         [target]\nurl = '{url}'\n[load]\nusers = 1\nfor = '1s'\n"
    )
}

/// The document of a run of the plan. Where all is to be well, a busy machine may make the
/// generator late, which the figures that are looked at do not hang on.
fn document(place: &Place, flags: &[&str], code: i32) -> Value {
    let done = place.plimsoll(&[&["run", "plan.toml", "--json"], flags].concat());
    if code == 0 { done.ran().json() } else { done.ended_with(code).json() }
}

#[test]
fn a_budget_ends_before_the_cell_that_would_exceed_it() {
    let place = Place::new();
    let target = place.target(&[]);
    place.write("plan.toml", on(&target.url(), "budget = '2500ms'", "\"load.users\" = [1, 2, 4]"));
    place.plimsoll(&["check", "plan.toml"]).ended_with(0).prints(&["budget      2.5 s"]);
    let of = document(&place, &[], 4);
    let whole = &of["experiment"];
    let done = whole["cells_done"].as_u64().unwrap();
    assert!((1..3).contains(&done) && whole["complete"] == false, "{whole}");
    let seen = status(&place).unwrap();
    assert!(seen["reason"].as_str().unwrap().contains("budget of 2.5 s"), "{seen}");
    // Time between sessions does not count, that of earlier ones does: there is no room for both
    // of the others.
    let again = document(&place, &[], 4)["experiment"]["cells_done"].as_u64().unwrap();
    assert!((done..3).contains(&again), "{again} after {done}");
    assert_eq!(document(&place, &["--budget", "1h"], 0)["experiment"]["cells_done"], 3);
}

#[test]
fn a_changed_plan_is_refused_with_what_differs_and_adopted_where_that_is_wanted() {
    let place = Place::new();
    let target = place.target(&[]);
    let plan = |factor| on(&target.url(), "budget = '3s'", factor);
    place.write("plan.toml", plan("\"load.users\" = [1, 2, 4]"));
    let first = document(&place, &[], 4);
    let done: Vec<Value> = cells(&first).into_iter().filter(|of| of["state"] == "done").collect();
    assert!(!done.is_empty(), "{first}");
    place.write("plan.toml", plan("\"load.users\" = [1, 2, 4, 8]"));
    let refused = place.plimsoll(&["run", "plan.toml"]).ended_with(2);
    refused.says(&["another plan", "factor.load.users: [1, 2, 4, 8], was [1, 2, 4]", "--adopt"]);
    let of = document(&place, &["--adopt", "--budget", "1h"], 0);
    assert_eq!(of["experiment"]["cells_done"], 4, "{of}");
    // One that a busy host has made invalid is executed once more.
    for cell in &done {
        let same = cells(&of).into_iter().find(|of| of["factors"] == cell["factors"]).unwrap();
        if same["failures"] != cell["failures"] {
            continue;
        }
        assert_eq!(same["figures"], cell["figures"], "a cell that was equal ran again");
    }
    assert_eq!(place.runs("runs").len(), 1);
}

/// A cell of a load whose recipe copies another file, and one of a pool whose recipe has changed,
/// are other cells, though the plan is the same.
#[test]
fn what_recipes_hold_is_part_of_a_cell() {
    let place = Place::new();
    std::fs::create_dir(place.path("recipes")).unwrap();
    let model = |ms: u32| {
        format!(
            "{{\"schema\": 1, \"service_time\": {{\"quantiles\": [[0, \"{ms}ms\"], \
             [1, \"{ms}ms\"]]}}, \"cores\": 1, \"concurrency\": 8}}"
        )
    };
    let recipe = include_str!("../../recipes/target.toml").to_owned();
    let load = PLAN
        .replace("replications = 2", "replications = 2\nbudget = '2500ms'")
        .replace("\"role.web.vars.workers\" = [1, 2]\n", "")
        .replace("service = 'const:2ms'", "model = 'model.json'");
    let pool = crate::pools::PLAN
        .replace("at_once = 2", "budget = '3500ms'")
        .replace("recipe = 'target'", "recipe = 'own'")
        .replace("40/s for 2s, 160/s for 4s, 20/s for 3s", "40/s for 2s");
    let kinds = [
        (load, "model.json", model(2), model(3)),
        (pool, "recipes/own.toml", recipe.clone(), recipe + "# Another one.\n"),
    ];
    for (plan, file, before, after) in kinds {
        place.write("plan.toml", plan);
        place.write(file, before);
        place.plimsoll(&["run", "plan.toml", "--quiet"]).ended_with(4).says(&["budget"]);
        let says = |status| place.plimsoll(&["run", "plan.toml", "--quiet"]).ended_with(status);
        says(4).says(&["budget"]);
        place.write(file, after);
        says(2).says(&["another plan", "what it reads"]);
        std::fs::remove_dir_all(place.path("runs")).unwrap();
    }
}

fn cells(of: &Value) -> Vec<Value> {
    of["cells"].as_array().unwrap().clone()
}

#[test]
fn scaled_cells_are_as_much_shorter_and_others() {
    let place = Place::new();
    let target = place.target(&[]);
    place.write("plan.toml", on(&target.url(), "", "\"load.users\" = [1, 2]"));
    let full = place.plimsoll(&["check", "plan.toml", "--json"]).ended_with(0).json();
    let of = place.plimsoll(&["check", "plan.toml", "--scale", "50%", "--json"]).ended_with(0);
    let (full, of) = (full["duration_s"].as_f64().unwrap(), of.json());
    assert!(of["duration_s"].as_f64().unwrap() < full, "{of}");
    assert!(of["warnings"][0].as_str().unwrap().contains("50% as long"), "{of}");
    document(&place, &["--scale", "50%", "--budget", "1h"], 0);
    let folder = place.run();
    let plan = std::fs::read_to_string(folder.join("cells/0001/plan.toml")).unwrap();
    assert!(plan.contains("for = \"500ms\""), "{plan}");
    let shown = place.plimsoll(&["runs", "show"]).ended_with(0).out;
    assert!(shown.contains("50% as long"), "{shown}");
    place.plimsoll(&["check", "plan.toml", "--scale", "0%"]).ended_with(2);
}

#[test]
fn the_first_failure_ends_where_that_is_wanted() {
    let place = Place::new();
    // A server that ends at once.
    place.write("plan.toml", PLAN.replace("const:2ms", "const:no"));
    let done = place.plimsoll(&["run", "plan.toml", "--fail-fast"]).ended_with(4);
    done.says(&["cell 1 failed", "--fail-fast was said"]);
    let cells = &status(&place).unwrap()["cells"];
    assert_eq!((&cells["failed"], &cells["left"]), (&1.into(), &8.into()), "{cells}");
    // What was done for the cell stands in the journal.
    let shown = place.plimsoll(&["runs", "show", "--json"]).ended_with(0).json();
    let failed = |of: &Value| of["class"] == "failure" && of["kind"] == "testbed";
    assert!(shown["events"].as_array().unwrap().iter().any(failed), "{shown}");
}

#[test]
fn very_many_cells_are_run_only_where_that_is_said() {
    let place = Place::weighing(Weight::WAITS);
    let levels = |from: u32| (from..from + 101).map(|n| n.to_string()).collect::<Vec<_>>();
    let factor = format!(
        "\"load.users\" = [{}]\n\"load.connections\" = [{}]",
        levels(1).join(", "),
        levels(200).join(", ")
    );
    place.write("plan.toml", on("http://127.0.0.1:9/", "", &factor));
    place.plimsoll(&["check", "plan.toml"]).ended_with(0).prints(&["10,201", "`run` wants --yes"]);
    place.plimsoll(&["run", "plan.toml"]).ended_with(2).says(&["10,201 cells", "--yes"]);
}

#[test]
fn factors_of_several_keys_and_constraints_between_them() {
    let place = Place::new();
    let target = place.target(&[]);
    let experiment = "respond = ['rate']\nconstraints = ['crowd = large needs load.timeout = 2s']";
    let factor = "\"load.timeout\" = ['1s', '2s']\n[factor.crowd]\n\
                  small = { \"load.users\" = 1 }\n\
                  large = { \"load.users\" = 4, load.connections = 4 }";
    place.write("plan.toml", on(&target.url(), experiment, factor));
    place
        .plimsoll(&["check", "plan.toml"])
        .ended_with(0)
        .prints(&["cells       3", "1 combination is left out: crowd = large needs"]);
    let of = document(&place, &["--scale", "50%"], 0);
    assert_eq!(cells(&of).len(), 3, "{of}");
    for cell in cells(&of) {
        let number = cell["id"].as_u64().unwrap();
        let plan = place.run().join(format!("cells/{number:04}/plan.toml"));
        let plan = std::fs::read_to_string(plan).unwrap();
        let is_large = cell["factors"]["crowd"] == "large";
        assert_eq!(plan.contains("connections = 4"), is_large, "{plan}");
        assert!(!is_large || cell["factors"]["load.timeout"] == "2s", "{cell}");
    }
    let wrong = experiment.replace("large", "larg");
    place.write("plan.toml", on(&target.url(), &wrong, factor));
    place.plimsoll(&["check", "plan.toml"]).ended_with(2).says(&["did you mean `large`"]);
}

/// A simulated load of three combinations, whose replications vary.
const VARYING: &str = "\
seed = 4
[experiment]
until = 'p99 within 12%'
at_most = 12
respond = ['p99']
[factor]
\"load.rate\" = ['20/s', '60/s']
[target]
url = 'http://127.0.0.1:9/'
[load]
rate = '20/s'
for = '1m'
arrivals = 'poisson'
[instance]
service = 'exp:10ms'
";

#[test]
fn replications_are_added_until_a_figure_is_known() {
    let place = Place::weighing(Weight::COMPUTES);
    place.write("plan.toml", VARYING);
    let check = place.plimsoll(&["check", "plan.toml", "--simulated"]).ended_with(0);
    check.prints(&["p99 within 12%: at most 12 replications", "at most 24"]);
    let flags = ["--simulated", "--quiet"];
    let of = document(&place, &flags, 0);
    let until = of["experiment"]["until"].as_str().unwrap();
    let count = cells(&of).len();
    assert!(count > 10 && count <= 24 && count.is_multiple_of(2), "{count}");
    assert!(until.contains(&format!("{} replications", count / 2)), "{until}");

    // Another time it is killed before the end, and comes to the same cells and figures.
    place.write("again.toml", VARYING);
    let is_another = another(&place);
    let run = ["run", "again.toml", "--simulated", "--quiet"];
    let going = place.start(place.command(PLIMSOLL, &run));
    wait_for("some cells", || status(&place).filter(|of| is_another(of) && done(of) >= 3));
    going.signal(Signal::KILL);
    going.wait();
    let again = [&["run", "again.toml", "--json"], &flags[..]].concat();
    let again = place.plimsoll(&again).ended_with(0).json();
    assert_eq!(again["experiment"]["until"], of["experiment"]["until"]);
    let figures = |of: &Value| cells(of).iter().map(|of| of["figures"].clone()).collect::<Vec<_>>();
    assert_eq!(figures(&again), figures(&of));

    // Where it is not reached, that is said and is no failure.
    place.write("far.toml", VARYING.replace("12%", "1%").replace("at_most = 12", "at_most = 5"));
    let far = place.plimsoll(&["run", "far.toml", "--json", "--simulated"]).ended_with(0).json();
    assert_eq!(far["experiment"]["cells_done"], 10);
    let until = far["experiment"]["until"].as_str().unwrap();
    assert!(until.contains("was not reached with 5 replications: load.rate"), "{until}");
}

/// Twelve combinations, of which that with most cores and least work is the best.
const SCREENED: &str = "\
seed = 4
[experiment]
design = 'screening'
replications = 4
respond = ['p99']
[factor]
\"instance.cores\" = [1, 2, 3]
\"instance.service\" = ['exp:14ms', 'exp:10ms', 'exp:8ms', 'exp:6ms']
[target]
url = 'http://127.0.0.1:9/'
[load]
rate = '60/s'
for = '1m'
arrivals = 'poisson'
[instance]
service = 'exp:10ms'
[measure]
slo = 'p99<1s'
";

#[test]
fn a_screening_finds_the_best_combination_within_half_of_the_runs() {
    let place = Place::weighing(Weight::COMPUTES);
    place.write("plan.toml", SCREENED);
    let check = place.plimsoll(&["check", "plan.toml", "--simulated"]).ended_with(0);
    check.prints(&["at most 24", "screening: at most 24 cells; which follow the first 12"]);
    let flags = ["--simulated", "--quiet"];
    let of = document(&place, &flags, 0);
    let count = cells(&of).len();
    assert!((16..=24).contains(&count), "{count}");
    assert_eq!(of["experiment"]["complete"], true);
    let best = &of["best"]["factors"];
    assert_eq!(
        (&best["instance.cores"], &best["instance.service"]),
        (&"3".into(), &"exp:6ms".into())
    );
    let told = of["experiment"]["until"].as_str().unwrap();
    assert!(told.contains(&format!("after {count} of at most 24 runs: the best is")), "{told}");
    // What is run more often because it looked good tells of no effect.
    assert_eq!(of["effects"], serde_json::json!([]));
    // What the best is worth is told by what it was not chosen by.
    let is_best = |cell: &&Value| cell["factors"] == *best && cell["replication"] != 0;
    let later: Vec<f64> = cells(&of)
        .iter()
        .filter(is_best)
        .map(|cell| cell["figures"]["response_us.p99"].as_f64().unwrap())
        .collect();
    let mean = later.iter().sum::<f64>() / later.len() as f64;
    assert!((of["best"]["value"].as_f64().unwrap() / mean - 1.0).abs() < 1e-9, "{of}");

    // Another time it is stopped before the end, and comes to the same cells and figures.
    place.write("again.toml", SCREENED);
    let is_another = another(&place);
    let run = ["run", "again.toml", "--simulated", "--quiet"];
    let going = place.start(place.command(PLIMSOLL, &run));
    wait_for("some cells", || status(&place).filter(|of| is_another(of) && done(of) >= 3));
    going.signal(Signal::KILL);
    going.wait();
    let again = [&["run", "again.toml", "--json"], &flags[..]].concat();
    let again = place.plimsoll(&again).ended_with(0).json();
    let figures = |of: &Value| cells(of).iter().map(|of| of["figures"].clone()).collect::<Vec<_>>();
    assert_eq!(figures(&again), figures(&of));
    assert_eq!(again["best"], of["best"]);

    // What cannot be screened is refused by name.
    for (from, to, says) in [
        ("respond = ['p99']", "respond = ['requests']", "neither"),
        ("replications = 4", "until = 'p99 within 5%'", "with `until`"),
        ("[1, 2, 3]", "[]", "1 to 1000 levels"),
    ] {
        place.write("not.toml", SCREENED.replace(from, to));
        place.plimsoll(&["check", "not.toml", "--simulated"]).ended_with(2).says(&[says]);
    }
}

#[test]
fn cells_of_a_block_are_executed_side_by_side() {
    let place = Place::new();
    place.write("plan.toml", PLAN.replace("respond", "at_once = 2\nrespond"));
    let mut going = place.start(place.command(PLIMSOLL, &["run", "plan.toml", "--quiet"]));
    wait_for("two cells that go on", || {
        assert!(!going.has_ended(), "{}{}", going.out(), going.err());
        let rows = Experiment::open(&place.runs("runs").pop()?).ok()?.cells().ok()?;
        (rows.iter().filter(|row| row.state == State::Running).count() == 2).then_some(())
    });
    going.wait().ran();
    let of = place.plimsoll(&["analyse", "--json"]).ran().json();
    assert_eq!(of["experiment"]["cells_done"], 8, "{of}");
    place.plimsoll(&["runs", "show"]).ended_with(0).prints(&["2 cells at once shared the machine"]);
    // Each has servers of its own.
    assert!(cells(&of).iter().all(|cell| cell["state"] == "done"), "{of}");
    // Side by side they are other cells than one by one.
    let first = cell(&place.run(), 1).cell;
    place.write("plan.toml", PLAN);
    document(&place, &["--budget", "2s", "--scale", "100%"], 4);
    assert_ne!(cell(&place.run(), 1).cell.hash, first.hash);
}

#[test]
fn series_are_exported_in_periods() {
    let place = Place::new();
    let target = place.target(&[]);
    let plan = on(&target.url(), "replications = 2", "\"load.users\" = [1, 2]");
    place.write("plan.toml", format!("{plan}[collect]\nfrom = ['host']\n").replace("'1s'", "'3s'"));
    place.plimsoll(&["run", "plan.toml", "--quiet", "--budget", "5s"]).ended_with(4);
    let csv = place.plimsoll(&["export", "runs", "--format", "csv", "--every", "2s"]).ended_with(0);
    let lines: Vec<&str> = csv.out.lines().collect();
    assert_eq!(lines[0], "cell,instance,series,labels,start_s,min,mean,max,sum,count");
    let steal = |start: &str| {
        lines.iter().any(|of| of.starts_with(&format!("1,,host_steal_share,,{start},")))
    };
    assert!(steal("0.0") && steal("2.0"), "{}", csv.out);
    assert!(lines.iter().any(|of| of.contains("node_cpu_seconds_total")), "{}", csv.out);
    let every = ["export", "runs", "--every", "0s"];
    place.plimsoll(&every).ended_with(2).says(&["a duration above zero"]);
    place.plimsoll(&["export", "runs", "--every", "1s", "--format", "json"]).ended_with(2);
}
