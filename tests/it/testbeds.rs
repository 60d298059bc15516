//! Plans that start their own servers: run, killed, gone on with, and what they leave behind.

use crate::place::{Place, cell, events, test_name};
use crate::program::{PLIMSOLL, wait_for};
use plimsoll_runs::experiment::{AGAIN, Experiment};
use plimsoll_testing::{Weight, has_instances};
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

pub(crate) const TARGET: &str = "\
name = 'workers'
seed = 7
[experiment]
replications = 2
respond = ['rate', 'p90']
[factor]
\"role.web.vars.workers\" = [1, 4]
\"load.users\" = [4, 8]
[testbed]
provider = 'process'
[role.web]
recipe = 'target'
vars = { service = 'const:4ms' }
[target]
url = 'http://{{role.web.address}}:{{role.web.port}}/'
[load]
users = 4
for = '3s'
[collect]
from = ['host']
[measure]
slo = 'p99<2s, availability>=50%'
";

/// The test-beds of this machine that stand, or were left.
fn all_beds(place: &Place) -> Vec<Value> {
    let all = place.plimsoll(&["testbed", "status", "--json"]).ended_with(0).json();
    all["testbeds"].as_array().unwrap().clone()
}

/// Their ids, and whether each is in use.
fn beds(place: &Place) -> BTreeMap<String, bool> {
    let id = |of: &Value| of["id"].as_str().unwrap().to_owned();
    all_beds(place).iter().map(|of| (id(of), of["is_running"] == true)).collect()
}

/// The ids of those of this test's experiments; other tests have theirs meanwhile.
fn beds_of_runs(place: &Place) -> Vec<String> {
    let Ok(runs) = place.path("runs").canonicalize() else { return Vec::new() };
    let is_its = |of: &&Value| {
        of["experiment"].as_str().is_some_and(|folder| Path::new(folder).starts_with(&runs))
    };
    let all = all_beds(place);
    all.iter().filter(is_its).map(|of| of["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn what_a_kill_leaves_is_found_and_undone_and_the_rest_goes_on() {
    let place = Place::new();
    place.write("plan.toml", TARGET);
    let mut going = place.start(place.command(PLIMSOLL, &["run", "plan.toml", "--quiet"]));
    let journal = || {
        let folder = place.runs("runs").into_iter().next()?;
        Experiment::open(&folder).ok()
    };
    wait_for("a cell that is done, and one that goes on", || {
        assert!(!going.has_ended(), "{}{}", going.out(), going.err());
        let done = journal()?.progress().ok()?.done;
        let stands = !beds_of_runs(&place).is_empty();
        (done >= 1 && stands).then_some(())
    });
    going.signal(Signal::KILL);
    going.wait();
    let done = journal().unwrap().progress().unwrap().done;
    let first = cell(&place.run(), 1).ended_ns;
    let left = beds_of_runs(&place);
    for id in &left {
        place.plimsoll(&["testbed", "down", id]).ended_with(0);
    }
    assert!(beds_of_runs(&place).is_empty());
    place.plimsoll(&["testbed", "down", "none"]).ended_with(2).says(&["no ledger has it"]);

    let again = place.plimsoll(&["run", "plan.toml", "--quiet"]);
    assert!([Some(0), Some(5)].contains(&again.code()), "{}", again.err);
    again.says(&["going on with", &format!("{} of 8 cells are left", 8 - done)]);
    // But for one that a busy machine has made invalid, which is executed once more.
    let events = Experiment::open(&place.run()).unwrap().events().unwrap();
    let is_again = events.iter().any(|(of, event)| *of == Some(1) && event.kind == AGAIN);
    let ended = cell(&place.run(), 1).ended_ns;
    assert!(is_again || ended == first, "a cell that was done ran again");
    assert_eq!(journal().unwrap().progress().unwrap().done, 8);
    assert!(beds_of_runs(&place).is_empty(), "nothing is left");
}

#[test]
fn a_program_where_others_may_not_go_is_a_server_still() {
    let place = Place::new();
    // The test's folder is its user's alone, as root's home is.
    let own = place.path("plimsoll");
    if std::fs::hard_link(PLIMSOLL, &own).is_err() {
        std::fs::copy(PLIMSOLL, &own).unwrap();
    }
    // A recipe that names the program in the midst of a script.
    let scripted = "about = 'a script'\nport = 8080\ncheck = {}\n\
                    start = ['sh', '-c', 'exec {{plimsoll}} target --listen {{address}}:{{port}} \
                    --workers {{vars.workers}} --service-time {{vars.service}}']\n\
                    [vars]\nworkers = 1\nservice = ''\n";
    std::fs::create_dir(place.path("recipes")).unwrap();
    place.write("recipes/scripted.toml", scripted);
    let kinds = [
        ("process", "target", "plain"),
        ("process", "scripted", "scripted"),
        ("namespace", "target", "apart"),
    ];
    for (provider, recipe, name) in kinds {
        let plan = TARGET.replace("'process'", &format!("'{provider}'"));
        let plan = plan.replace("recipe = 'target'", &format!("recipe = '{recipe}'"));
        place.write("plan.toml", plan.replace("'3s'", "'1s'").replace("replications = 2", ""));
        let run = |what| {
            let arguments = [what, "plan.toml", "--set", &format!("name={name}")];
            place.start(place.command(own.to_str().unwrap(), &arguments)).wait()
        };
        if provider == "namespace" && !has_instances(&test_name()) {
            continue;
        }
        run("check").ended_with(0);
        let done = run("run");
        assert!([Some(0), Some(5)].contains(&done.code()), "{}{}", done.out, done.err);
        assert!(done.out.contains("4 of 4 done"), "{}", done.out);
    }
}

#[test]
fn a_server_that_cannot_start_fails_its_cells_and_says_why() {
    let place = Place::new();
    let recipe = "about = 'ends at once'\nport = 80\nstart = ['sh', '-c', 'echo no luck; exit 7']\n\
                  check = {}\n";
    std::fs::create_dir(place.path("recipes")).unwrap();
    place.write("recipes/bad.toml", recipe);
    let plan = TARGET.replace("recipe = 'target'", "recipe = 'bad'");
    place.write("plan.toml", plan.replace("vars = { service = 'const:4ms' }", ""));
    let refused = place.plimsoll(&["check", "plan.toml"]).ended_with(2);
    refused.says(&["role.web.vars.workers"]);
    let plan = plan.replace("vars = { service = 'const:4ms' }", "");
    let plan = plan.replace("\"role.web.vars.workers\" = [1, 4]\n", "");
    place.write("plan.toml", plan);
    let done = place.plimsoll(&["run", "plan.toml"]).ended_with(4);
    done.says(&["cell 1 failed", "exit code 7: no luck", "tried once more"]);
    // Whoever reads the document learns why at once, too.
    let done = place.plimsoll(&["run", "plan.toml", "--new", "--json"]).ended_with(4);
    done.says(&["cell 1 failed", "no luck"]);
    let cells = place.plimsoll(&["analyse", "--json"]).ended_with(4).json();
    let failed = cells["cells"].as_array().unwrap().iter();
    assert!(failed.clone().all(|cell| cell["state"] == "failed"), "{cells}");
    assert!(failed.clone().all(|cell| cell["reason"].as_str().unwrap().contains("no luck")));
    let twice = |cell: &Value| cell["failures"].as_array().is_some_and(|all| all.len() == 2);
    assert!(failed.clone().all(twice), "{cells}");
}

#[test]
fn a_cell_that_is_done_at_the_second_try_says_why_the_first_one_failed() {
    let place = Place::new();
    // The server's user writes there.
    let open = tempfile::tempdir().unwrap();
    std::fs::set_permissions(open.path(), Permissions::from_mode(0o777)).unwrap();
    let begun = open.path().join("begun").display().to_string();
    let start = format!(
        "[ -e {begun} ] || {{ touch {begun}; echo no luck; exit 7; }}; exec {{{{plimsoll}}}} \
         target --listen {{{{address}}}}:{{{{port}}}} --service-time const:1ms"
    );
    std::fs::create_dir(place.path("recipes")).unwrap();
    let recipe = format!("about = 'fails once'\nport = 80\nstart = ['sh', '-c', '{start}']\n");
    place.write("recipes/once.toml", recipe + "check = { http = '/-/metrics' }\n");
    let plan = TARGET
        .replace("recipe = 'target'\nvars = { service = 'const:4ms' }", "recipe = 'once'")
        .replace("\"role.web.vars.workers\" = [1, 4]\n", "")
        .replace("replications = 2\n", "")
        .replace("'3s'", "'1s'");
    place.write("plan.toml", plan);
    let done = place.plimsoll(&["run", "plan.toml"]).ran();
    done.says(&["cell 1 failed", "no luck", "tried once more"]);
    let of = place.plimsoll(&["analyse", "--json"]).ran().json();
    let cells = of["cells"].as_array().unwrap();
    assert!(cells.iter().all(|cell| cell["state"] == "done"), "{of}");
    // A busy host may have had the other one executed once more, too.
    let has_no_luck = |cell: &&Value| cell["failures"].to_string().contains("no luck");
    let again: Vec<&Value> = cells.iter().filter(has_no_luck).collect();
    let [again] = &again[..] else { panic!("{of}") };
    assert_eq!(again["reason"], "");
    let note = " of 2 cells failed before the one that counts (cell 1: start web-1: it ended";
    assert!(
        of["warnings"]
            .as_array()
            .unwrap()
            .iter()
            .any(|one| { one.as_str().unwrap().contains(note) }),
        "{of}"
    );
    place.plimsoll(&["report", "-o", "page.html"]).ran();
    assert!(std::fs::read_to_string(place.path("page.html")).unwrap().contains(note));
}

#[test]
fn a_plan_that_cannot_be_is_refused_before_anything_is_started() {
    let place = Place::weighing(Weight::WAITS);
    let refuses = |change: (&str, &str), said: &[&str]| {
        assert!(TARGET.contains(change.0), "{}", change.0);
        place.write("plan.toml", TARGET.replace(change.0, change.1));
        place.plimsoll(&["run", "plan.toml"]).ended_with(2).says(said);
        assert!(!place.path("runs").exists());
    };
    refuses(("{{role.web.port}}", "{{role.wed.port}}"), &["a role of the plan", "wed"]);
    refuses(("recipe = 'target'", "recipe = 'apache'"), &["memcached, nginx, redis, target"]);
    refuses(("\"load.users\"", "\"load.user\""), &["a key of the plan as a factor"]);
    refuses(("[4, 8]", "[4, 'many']"), &["load.users", "many"]);
    refuses(("[4, 8]", "[4, 4]"), &["4 twice"]);
    let cpu = ("recipe = 'target'", "recipe = 'target'\ncpu = '20%'");
    refuses(cpu, &["role.web.cpu", "namespace"]);
    let design = ("[experiment]", "[experiment]\ndesign = 'fractional 2^(5-1)'");
    refuses(design, &["5 factors", "load.users"]);
}

#[test]
fn a_test_bed_that_was_left_standing_is_used_and_left() {
    let place = Place::new();
    // One cell, so that it is one run.
    let plan = TARGET.replace("replications = 2\n", "").replace("'3s'", "'1s'");
    let plan = plan.replace("\"role.web.vars.workers\" = [1, 4]\n", "");
    let plan = plan.replace("[factor]\n\"load.users\" = [4, 8]\n", "");
    let plan = plan.replace(", availability>=50%", "");
    // A plan of another test, which could use what stands, must not take it for its own.
    let own = "vars = { service = 'const:4ms' }\nenvironment = { PLAN = 'left standing' }";
    let plan = plan.replace("vars = { service = 'const:4ms' }", own);
    place.write("plan.toml", &plan);
    let up = place.plimsoll(&["testbed", "up", "plan.toml", "--json"]).ended_with(0).json();
    let id = up["id"].as_str().unwrap();
    let (address, port) = (&up["instances"][0]["address"], &up["instances"][0]["port"]);
    assert_eq!((address.as_str(), up["stood_before"].as_bool()), (Some("127.0.0.1"), Some(false)));
    let again = place.plimsoll(&["testbed", "up", "plan.toml", "--json"]).ended_with(0).json();
    assert_eq!((&again["id"], &again["stood_before"]), (&up["id"], &true.into()));
    let status = place.plimsoll(&["testbed", "status"]).ended_with(0).out;
    let listens = format!("127.0.0.1:{port}");
    assert!(status.contains("left standing") && status.contains(&listens), "{status}");

    // What is no part of the test-bed may differ.
    let run = |changed: &str| {
        let done = place.plimsoll(&["run", "plan.toml", "--set", changed]);
        assert!([Some(0), Some(5)].contains(&done.code()), "{}{}", done.out, done.err);
        events(&place.run(), "testbed")
    };
    assert_eq!(run("load.users=2"), [format!("uses the test-bed {id}, which stands")]);
    assert!(beds(&place).contains_key(id), "it is left as it was");
    // Parameters are changed where it stands, and changed back; what else differs has servers of
    // its own.
    let changed = run("role.web.vars.workers=3");
    let uses = format!("uses the test-bed {id}, which stands");
    assert_eq!(changed[..2], [uses, "web-1 is made anew: its command differs".to_owned()]);
    assert!(changed.iter().any(|text| text.starts_with("web-1: start it")), "{changed:?}");
    let more = ["testbed", "up", "plan.toml", "--set", "role.web.vars.workers=3", "--json"];
    let same = place.plimsoll(&more).ended_with(0).json();
    assert_eq!((&same["id"], &same["changes"]), (&up["id"], &serde_json::json!([])), "{same}");
    let back = place.plimsoll(&["testbed", "up", "plan.toml"]).ended_with(0).out;
    assert!(back.contains(id) && back.contains("web-1 is made anew"), "{back}");
    assert!(beds(&place).contains_key(id));
    let own = run("role.web.count=2");
    assert!(own.iter().any(|text| text.starts_with("web-2: stop it")), "{own:?}");
    assert!(own.iter().all(|text| !text.starts_with("uses")), "{own:?}");
    assert!(beds(&place).contains_key(id));
    place.plimsoll(&["testbed", "down", id]).ended_with(0);
    assert!(!beds(&place).contains_key(id));
    let own = run("load.users=2");
    assert!(own.iter().any(|text| text.starts_with("web-1: stop it")), "{own:?}");
}

#[test]
fn a_plan_runs_on_another_test_bed_whose_keys_win_one_by_one() {
    let place = Place::weighing(Weight::WAITS);
    std::fs::create_dir(place.path("there")).unwrap();
    place.write("plan.toml", TARGET);
    place.write("there/motd", "hello\n");
    let other = "[role.web]\nfiles = { 'pages/motd' = 'motd' }\n[role.web.vars]\nworkers = 9\n";
    place.write("there/here.toml", other);
    let check = |more: &[&str]| {
        let arguments = [&["check", "plan.toml", "--testbed", "there/here.toml"], more].concat();
        place.plimsoll(&arguments)
    };
    let told = check(&["--set", "experiment.design=full"]).ended_with(0).out;
    // The plan's own keys stay beside them, and a factor's level wins over both.
    assert!(told.contains("--service-time const:4ms") && told.contains("--workers=1"), "{told}");
    assert!(told.contains("there/motd to ") && told.contains("/pages/motd"), "{told}");
    place.write("plan.toml", TARGET.replace("\"role.web.vars.workers\" = [1, 4]\n", ""));
    let told = check(&[]).ended_with(0).out;
    assert!(told.contains("--workers=9"), "{told}");
    // What the command line says wins over the file.
    let told = check(&["--set", "role.web.vars.workers=7"]).ended_with(0).out;
    assert!(told.contains("--workers=7"), "{told}");

    place.write("there/here.toml", "[load]\nusers = 3\n[disk]\na = 1\n[role.web]\ncuont = 2\n");
    let refused = check(&[]).ended_with(2);
    refused.says(&["here.toml:1:2", "`load`", "not built yet", "here.toml:6:1", "did you mean"]);
}

#[test]
fn what_is_missing_is_told_before_anything_is_started() {
    let place = Place::weighing(Weight::WAITS);
    std::fs::create_dir(place.path("recipes")).unwrap();
    let recipe = "about = 'not there'\npackages = ['plimsoll-no-such-package']\nport = 80\n\
                  start = ['plimsoll-no-such-program']\ncheck = {}\n";
    place.write("recipes/missing.toml", recipe);
    let plan =
        TARGET.replace("recipe = 'target'\nvars = { service = 'const:4ms' }", "recipe = 'missing'");
    let plan = plan.replace("\"role.web.vars.workers\" = [1, 4]\n", "");
    place.write("plan.toml", &plan);
    for command in
        [&["check", "plan.toml"][..], &["run", "plan.toml"], &["testbed", "up", "plan.toml"]]
    {
        let refused = place.plimsoll(command).ended_with(2);
        refused.says(&["`plimsoll-no-such-program`", "apt-get install plimsoll-no-such-package"]);
    }
    assert!(!place.path("runs").exists());
    let plan = TARGET.replace("recipe = 'target'\n", "recipe = 'target'\ncount = 2\n");
    place.write("plan.toml", plan);
    let check = place.plimsoll(&["check", "plan.toml"]).ended_with(0).out;
    let warned = check.contains("role.web has 2 instances") && check.contains("get no load");
    assert!(warned, "{check}");
}

#[test]
fn the_doctor_tells_what_a_plan_wants_of_this_host() {
    let place = Place::weighing(Weight::WAITS);
    place.write("plan.toml", TARGET);
    let of = |arguments: &[&str]| {
        let done = place.plimsoll(&[&["doctor", "--json"], arguments].concat());
        assert!([Some(0), Some(3)].contains(&done.code()), "{}", done.err);
        (done.code(), done.json())
    };
    let (code, plan) = of(&["plan.toml"]);
    assert_eq!(plan["wants"]["connections"], 8, "{}", plan["wants"]);
    let findings = plan["findings"].as_array().unwrap();
    let fit = |of: &Value, name: &str| {
        let found = of["findings"].as_array().unwrap().iter();
        found.clone().find(|of| of["name"] == name).unwrap()["fit"].as_str().unwrap().to_owned()
    };
    assert_eq!(fit(&plan, "descriptors"), "good");
    let is_unfit = findings.iter().any(|of| of["fit"] == "unfit");
    assert_eq!(code == Some(3), is_unfit);
    assert_eq!(plan["testbed"][0]["lacks"], serde_json::json!([]));
    // No host has as many ports.
    let (code, many) = of(&["--connections", "1000000"]);
    assert_eq!((code, fit(&many, "ports").as_str()), (Some(3), "unfit"));
    let text = place.plimsoll(&["doctor"]).out;
    assert!(text.contains("descriptors") && text.contains("provider namespace"), "{text}");
    place.plimsoll(&["doctor", "none.toml"]).ended_with(2);
}
