//! Which cells may stand in effects, rankings and means: one question, answered alike by `analyse`,
//! `runs show`, `compare`, the page and the exit code.

use crate::comparing::say_valid;
use crate::place::{Place, events};
use crate::program::PLIMSOLL;
use plimsoll_testing::Weight;
use serde_json::Value;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

/// Two rates on a simulated server, three replications.
const PLAN: &str = "\
name = 'two rates'
seed = 4
[experiment]
replications = 3
respond = ['p50', 'rate']
[factor]
\"load.rate\" = ['50/s', '100/s']
[target]
url = 'http://127.0.0.1:9/'
[load]
rate = '50/s'
for = '20s'
arrivals = 'poisson'
[instance]
service = 'exp:3ms'
";

/// Simulates the plan into a folder of its own; the experiment's path.
fn simulated(place: &Place, out: &str, more: &[&str]) -> String {
    place.write("plan.toml", PLAN);
    let run = ["run", "plan.toml", "--simulated", "--out", out, "-q"];
    place.plimsoll(&[&run[..], more].concat()).ended_with(0);
    format!("{out}/{}", place.runs(out)[0].file_name().unwrap().to_str().unwrap())
}

fn analysed(place: &Place, of: &str, code: i32) -> Value {
    place.plimsoll(&["analyse", of, "--json"]).ended_with(code).json()
}

fn notes(of: &Value) -> String {
    of["warnings"].to_string()
}

/// The numbers of the cells of a rate.
fn cells_of(analysis: &Value, rate: &str) -> Vec<u64> {
    let all = analysis["cells"].as_array().unwrap().iter();
    let own = all.filter(|cell| cell["factors"]["load.rate"] == rate);
    own.map(|cell| cell["id"].as_u64().unwrap()).collect()
}

fn cell_of(place: &Place, experiment: &str, number: u64) -> PathBuf {
    place.path(&format!("{experiment}/cells/{number:04}"))
}

/// Where the plan does not say by which figure effects are computed, it is the highest percentile
/// that each cell can state: as `check` says before, and in all that is told of the experiment.
#[test]
fn effects_are_by_default_of_a_percentile_that_every_cell_can_state() {
    let place = Place::weighing(Weight::COMPUTES);
    let plan = PLAN.replace("respond = ['p50', 'rate']\n", "");
    for (length, figure) in [("20s", "p99"), ("19s", "p90"), ("200ms", "p50")] {
        place.write("plan.toml", plan.replace("'20s'", &format!("'{length}'")));
        let named = serde_json::json!([format!("response_us.{figure}")]);
        let check = ["check", "plan.toml", "--simulated", "--json"];
        assert_eq!(place.plimsoll(&check).ended_with(0).json()["respond"], named);
        let run = ["run", "plan.toml", "--simulated", "--json", "--out", length, "-q"];
        let said = place.plimsoll(&run).ended_with(0).json();
        assert_eq!(said["experiment"]["respond"], named, "{length}");
        let kept = place.runs(length)[0].display().to_string();
        assert_eq!(analysed(&place, &kept, 0)["experiment"]["respond"], named);
    }
}

/// What the generator made is in no effect and in no mean, wherever they are told; the cell is
/// named, and the comparison refused.
#[test]
fn a_cell_that_is_not_valid_is_left_out_everywhere_and_named() {
    let place = Place::weighing(Weight::COMPUTES);
    let (a, b) = (simulated(&place, "a", &[]), simulated(&place, "b", &[]));
    place.plimsoll(&["compare", &a, &b]).ended_with(0);
    let before = analysed(&place, &a, 0);
    let numbers = cells_of(&before, "100/s");
    say_valid(&cell_of(&place, &a, numbers[1]), &["the test says so"]);

    let after = analysed(&place, &a, 5);
    let cell = &after["cells"][usize::try_from(numbers[1]).unwrap() - 1];
    assert_eq!((&cell["valid"], &cell["left_out"]), (&false.into(), &"not_valid".into()));
    assert_eq!(cell["invalid_because"], serde_json::json!(["the test says so"]));
    let wanted = format!("the generator was the limit in 1 of 6 cells ({})", numbers[1]);
    assert!(notes(&after).contains(&wanted), "{}", notes(&after));
    let combination = |of: &Value, rate: &str| {
        let all = of["combinations"].as_array().unwrap().iter();
        all.clone().find(|one| one["factors"]["load.rate"] == rate).unwrap().clone()
    };
    let (was, is) = (combination(&before, "100/s"), combination(&after, "100/s"));
    assert_eq!((&was["counted"], &is["counted"]), (&3.into(), &2.into()));
    assert_eq!(is["figures"]["response_us.p50"]["n"], 2);
    assert_eq!(combination(&after, "50/s"), combination(&before, "50/s"));
    let effect = |of: &Value| of["effects"][0]["means"].clone();
    assert_ne!(effect(&after), effect(&before), "its value is in no effect");

    let text = place.plimsoll(&["analyse", &a]).ended_with(5).out;
    assert!(text.contains("not valid   cell"), "{text}");
    assert!(text.contains("1 not valid") && text.contains("3/3"), "{text}");
    let shown = place.plimsoll(&["runs", "show", &a, "--json"]).ended_with(0).json();
    let shown = combination(&serde_json::json!({ "combinations": shown["results"] }), "100/s");
    assert_eq!((&shown["done"], &shown["counted"]), (&3.into(), &2.into()));
    assert_eq!(shown["figures"]["rate_mean"]["mean"], is["figures"]["rate_mean"]["mean"]);
    assert_eq!(shown["aside"][0]["left_out"], "not_valid");
    place.plimsoll(&["report", &a, "-o", "page.html"]).ended_with(0);
    let page = std::fs::read_to_string(place.path("page.html")).unwrap();
    assert!(page.contains("The generator was the limit") && page.contains("the test says so"));

    for sides in [[&a, &b], [&b, &a]] {
        let refused = place.plimsoll(&["compare", sides[0], sides[1]]).ended_with(5);
        refused.says(&["not valid", &format!("cell {} of", numbers[1]), "the test says so"]);
    }
}

/// A combination of which no cell is valid is none: not the best, and in no effect.
#[test]
fn where_no_cell_is_valid_nothing_is_best() {
    let place = Place::weighing(Weight::COMPUTES);
    let a = simulated(&place, "a", &[]);
    let all = analysed(&place, &a, 0);
    let best = all["best"]["factors"]["load.rate"].as_str().unwrap().to_owned();
    for number in cells_of(&all, &best) {
        say_valid(&cell_of(&place, &a, number), &["the test says so"]);
    }
    let rest = analysed(&place, &a, 5);
    assert_ne!(rest["best"]["factors"]["load.rate"], best);
    assert_eq!(rest["effects"], serde_json::json!([]));
    let other = rest["best"]["factors"]["load.rate"].as_str().unwrap().to_owned();
    for number in cells_of(&all, &other) {
        say_valid(&cell_of(&place, &a, number), &["the test says so"]);
    }
    assert_eq!(analysed(&place, &a, 5)["best"], Value::Null);
}

/// A host that was noisy beside a cell marks it, and takes nothing away.
#[test]
fn a_noisy_host_marks_a_cell_that_counts() {
    let place = Place::weighing(Weight::COMPUTES);
    let a = simulated(&place, "a", &[]);
    let before = analysed(&place, &a, 0);
    let file = cell_of(&place, &a, 2).join("summary.json");
    let mut summary: Value =
        serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    summary["host"]["steal_share"] = 0.3.into();
    std::fs::write(&file, summary.to_string()).unwrap();
    let after = analysed(&place, &a, 0);
    assert_eq!(after["effects"], before["effects"]);
    assert_eq!(after["cells"][1]["left_out"], Value::Null);
    assert!(after["cells"][1]["noise"][0].as_str().unwrap().contains("30%"), "{after}");
    assert!(notes(&after).contains("this host was too busy in 1 of 6 cells (2)"));
    let text = place.plimsoll(&["runs", "show", &a]).ended_with(0).out;
    assert!(text.contains("1 busy host"), "{text}");
}

/// A comparison of experiments says what it leaves out, and refuses other loads.
#[test]
fn experiments_of_other_loads_are_refused_and_what_stands_alone_is_named() {
    let place = Place::weighing(Weight::COMPUTES);
    let a = simulated(&place, "a", &[]);
    let more = simulated(&place, "more", &["--set", "factor.load.rate=50/s,100/s,150/s,200/s"]);
    let text = place.plimsoll(&["compare", &more, &a]).ended_with(0).out;
    assert!(text.contains("they stand in A alone: 2 combinations: 150/s; 200/s"), "{text}");
    let document = place.plimsoll(&["compare", &a, &more, "--json"]).ended_with(0).json();
    assert_eq!(document["alone"]["b"], serde_json::json!(["150/s", "200/s"]));
    assert!(document["warnings"][0].as_str().unwrap().contains("in B alone"), "{document}");
    let changes = [("shorter", ["--scale", "10%"]), ("warm", ["--set", "load.warm_up=1s"])];
    for (out, change) in changes {
        let other = simulated(&place, out, &change);
        let refused = place.plimsoll(&["compare", &a, &other]).ended_with(2);
        refused.says(&["whose loads differ", "load."]);
    }
    // Another server under the same load is what is compared.
    let slower = simulated(&place, "slower", &["--set", "instance.service=exp:6ms"]);
    place.plimsoll(&["compare", &a, &slower]).ended_with(3).says(&[]);
}

/// Short cells in which the service was down have broken an availability, however fine; cells in
/// which it was up have not shown that they hold it, and are not the best.
#[test]
fn an_availability_breaks_in_a_short_cell_and_only_cannot_hold_there() {
    let place = Place::new();
    let dead = place.target(&["--service-time", "const:1ms", "--workers", "8", "--errors", "100%"]);
    let calm = place.calm();
    let plan = |url: &str| {
        format!(
            "name = 'short'\n[experiment]\nreplications = 2\nrespond = ['p50']\n[factor]\n\
             \"load.rate\" = ['20/s', '30/s']\n[target]\nurl = '{url}'\n[load]\nrate = '20/s'\n\
             for = '2s'\n[measure]\nslo = 'availability>=99.9%'\n"
        )
    };
    let run = |url: &str, code: i32| {
        place.write("plan.toml", plan(url));
        place.plimsoll(&["run", "plan.toml", "--new", "--json", "-q"]).ended_with(code).json()
    };
    let broken = run(&dead.url(), 3);
    for cell in broken["cells"].as_array().unwrap() {
        assert_eq!((&cell["gate"], &cell["slo"]), (&"broken".into(), &false.into()), "{cell}");
        assert_eq!(cell["left_out"], "unavailable", "{cell}");
    }
    assert_eq!((&broken["best"], &broken["effects"]), (&Value::Null, &serde_json::json!([])));
    let open = run(&calm.url(), 5);
    for cell in open["cells"].as_array().unwrap() {
        assert_eq!((&cell["gate"], &cell["slo"]), (&"not_resolvable".into(), &Value::Null));
    }
    assert_eq!(open["best"], Value::Null, "nothing shows that it holds");
    assert!(notes(&open).contains("whether the SLO held cannot be told"), "{}", notes(&open));
}

/// A server that ends under its load is told by name, with how and with its last words, and its
/// cell is not the best for what it still answered.
#[test]
fn a_server_that_ends_under_its_load_is_told_and_its_cell_is_left_out() {
    let place = Place::new();
    std::fs::create_dir(place.path("recipes")).unwrap();
    // The server's user takes the sign away, so that one server ends by it.
    let open = tempfile::tempdir().unwrap();
    std::fs::set_permissions(open.path(), Permissions::from_mode(0o777)).unwrap();
    let sign = open.path().join("sign");
    let start = format!(
        "{{{{plimsoll}}}} target --listen {{{{address}}}}:{{{{port}}}} --service-time const:1ms & \
         while ! rm {}; do sleep 0.05; done 2> /dev/null; kill $!; wait; echo out of luck; exit 7",
        sign.display()
    );
    let recipe = format!("about = 'ends by a sign'\nport = 80\nstart = ['sh', '-c', '{start}']\n");
    place.write("recipes/mortal.toml", recipe + "check = { http = '/-/metrics' }\n");
    let plan = "name = 'mortal'\n[experiment]\nrespond = ['p50']\n\
                [factor]\n\"load.rate\" = ['40/s', '45/s']\n\
                [testbed]\nprovider = 'process'\n[role.web]\nrecipe = 'mortal'\n\
                [target]\nurl = 'http://{{role.web.address}}:{{role.web.port}}/'\n\
                [load]\nrate = '40/s'\nfor = '6s'\n";
    place.write("plan.toml", plan);
    let run = ["run", "plan.toml", "--json", "--quiet"];
    let mut going = place.start(place.command(PLIMSOLL, &run));
    place.loads(&mut going);
    std::fs::write(&sign, "").unwrap();
    let done = going.wait();
    done.says(&["web-1 ended by itself, with exit code 7: out of luck"]);
    let of = done.json();
    let cells = of["cells"].as_array().unwrap();
    let (ended, stayed): (Vec<&Value>, Vec<&Value>) =
        cells.iter().partition(|cell| !cell["servers_ended"].is_null());
    let ([ended], [stayed]) = (&ended[..], &stayed[..]) else { panic!("{of}") };
    assert_eq!((&ended["state"], &ended["left_out"]), (&"done".into(), &"server_ended".into()));
    let told = ended["servers_ended"][0].as_str().unwrap();
    assert_eq!(told, "web-1 ended by itself, with exit code 7: out of luck");
    assert!(notes(&of).contains("servers ended by themselves in 1 of 2 cells"), "{}", notes(&of));
    assert_ne!(of["best"]["factors"], ended["factors"]);
    assert_eq!(stayed["left_out"].as_str().unwrap_or("not_valid"), "not_valid", "{stayed}");
    let run = place.run().join(ended["run"].as_str().unwrap());
    assert_eq!(events(&run, "server_ended"), [told]);
    let text = place.plimsoll(&["analyse"]).out;
    assert!(text.contains("ended       cell") && text.contains("1 a server ended"), "{text}");
    place.plimsoll(&["report", "-o", "page.html"]).ended_with(0);
    let page = std::fs::read_to_string(place.path("page.html")).unwrap();
    assert!(page.contains("Servers ended by themselves") && page.contains("out of luck"));
}
