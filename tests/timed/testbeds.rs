//! How many times the rate is that a server with more workers, or more of a core, answers at.

use crate::place::Place;
use crate::testbeds::TARGET;
use plimsoll_runs::Run;
use plimsoll_testing::{Weight, has_instances, installed};
use serde_json::Value;

fn effect<'a>(of: &'a Value, factor: &str, figure: &str) -> &'a Value {
    let mut effects = of["effects"].as_array().unwrap().iter();
    effects.find(|of| of["factor"] == factor && of["figure"] == figure).unwrap()
}

#[test]
fn a_load_with_factors_starts_its_servers_and_tells_effects() {
    let place = Place::weighing(Weight::ALONE);
    place.write("plan.toml", TARGET);
    let told = place.plimsoll(&["check", "plan.toml"]).ended_with(0).out;
    assert!(told.contains("seed") && told.contains("target --listen"), "{told}");
    assert!(!place.path("runs").exists());
    let done = place.plimsoll(&["run", "plan.toml", "--new", "--json"]);
    let done = done.ran();
    let (is_sure, of) = (done.code() == Some(0), done.json());
    let whole = &of["experiment"];
    assert_eq!((&whole["cells_planned"], &whole["cells_done"]), (&8.into(), &8.into()), "{whole}");
    assert_eq!((&whole["seed"], &whole["complete"]), (&7.into(), &true.into()));
    // Four workers of 4 ms take four times as much as one.
    let workers = effect(&of, "role.web.vars.workers", "rate_mean");
    let [low, high] = [0, 1].map(|end| workers["ci95"][end].as_f64().unwrap());
    assert!(low > 1.6 && high < 8.0, "{workers}");
    assert_eq!(workers["levels"], serde_json::json!(["1", "4"]));
    assert_eq!(of["best"]["factors"]["role.web.vars.workers"], "4", "{}", of["best"]);
    for cell in of["cells"].as_array().unwrap() {
        assert_eq!(cell["state"], "done", "{cell}");
        assert!(cell["gate"] == "held" || !is_sure, "{cell}");
    }

    // A cell keeps what was done for it, and a plan that names no place of a server.
    let folder = place.run();
    let run = Run::open(&folder.join("cells/0001")).unwrap();
    let events = run.events().unwrap();
    let done: Vec<&str> = events.iter().map(|event| event.text.as_str()).collect();
    assert!(done.iter().any(|text| text.starts_with("web-1: start it (service")), "{done:?}");
    let plan = std::fs::read_to_string(folder.join("cells/0001/plan.toml")).unwrap();
    // The host was watched, once a second.
    let cpu = run.series("node_cpu_seconds_total").unwrap();
    assert!(cpu.iter().any(|row| row.at_ns > 1_000_000_000), "{cpu:?}");
    assert!(plan.contains("{{role.web.address}}") && !plan.contains("[factor]"), "{plan}");
    // It says the same again, by its exit code too: a busy machine may not be sure of its cells.
    let code = if is_sure { 0 } else { 5 };
    let again = place.plimsoll(&["analyse", "--json"]).ended_with(code).json();
    assert_eq!(again, of);
    let text = place.plimsoll(&["analyse"]).ended_with(code).out;
    assert!(text.contains("effect of") && text.contains("best "), "{text}");
}

#[test]
fn nginx_with_a_greater_share_of_a_core_answers_more() {
    let test = "nginx_with_a_greater_share_of_a_core_answers_more";
    if installed(test, "nginx").is_none() || !has_instances(test) {
        return;
    }
    let place = Place::weighing(Weight::ALONE);
    let plan = TARGET
        .replace("'process'", "'namespace'")
        .replace("recipe = 'target'\nvars = { service = 'const:4ms' }", "recipe = 'nginx'")
        .replace("\"role.web.vars.workers\" = [1, 4]", "\"role.web.cpu\" = ['10%', '20%']")
        .replace("\"load.users\" = [4, 8]\n", "")
        .replace("['host']", "['host', 'cgroup', 'nginx']");
    place.write("plan.toml", plan);
    let check = place.plimsoll(&["check", "plan.toml"]).ended_with(0);
    assert!(
        check.out.contains("cpu.cfs_quota_us") || check.out.contains("cpu.max"),
        "{}",
        check.out
    );
    let done = place.plimsoll(&["run", "plan.toml", "--new", "--json"]);
    let of = done.ran().json();
    let cpu = effect(&of, "role.web.cpu", "rate_mean");
    assert!(cpu["effect"].as_f64().unwrap() > 1.2, "{cpu}");
    let little = ["run", "plan.toml", "--set", "role.web.cpu_period=5ms"];
    place.plimsoll(&little).ended_with(2).says(&["role.web.cpu", "a longer cpu_period"]);
    let run = Run::open(&place.run().join("cells/0001")).unwrap();
    let names = run.series_names().unwrap();
    for wanted in ["nginx_http_requests_total", "plimsoll_collector_up"] {
        assert!(names.iter().any(|name| name == wanted), "{wanted}: {names:?}");
    }
    let text = place.plimsoll(&["run", "plan.toml", "--set", "role.web.vars.wrong=1"]);
    text.ended_with(2).says(&["its recipe has", "keepalive"]);
}
