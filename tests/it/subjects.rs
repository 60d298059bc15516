//! Figures of names, labels, users and WebSockets: in SLOs, as what an experiment responds by, and
//! each field of a summary either a figure of the registry or on the manual's list of those that
//! are none.

use serde_json::Value;

use crate::place::Place;
use crate::websocket_load::{ROOM, server};
use plimsoll_stats::figure;

const SHOP: &str = r#"
label = "{{accounts.region}}"
[data.accounts]
file = "accounts.csv"
[[step]]
name = "predict"
get = "/{{accounts.path}}"
[[step]]
name = "home"
get = "/"
"#;
const ACCOUNTS: &str = "region,path\neu,near\nasia,far\n";

fn shop(place: &Place) -> crate::place::Target {
    place.write("s.toml", SHOP);
    place.write("accounts.csv", ACCOUNTS);
    place.target(&["--path", "/near=const:2ms", "--path", "/far=const:120ms", "--workers", "50"])
}

/// The verdict on each clause of a document.
fn verdicts(document: &Value) -> Vec<(&str, &Value)> {
    let all = document["slo"].as_array().unwrap().iter();
    all.map(|of| (of["expr"].as_str().unwrap(), &of["pass"])).collect()
}

#[test]
fn an_slo_may_be_about_a_name_by_label_and_about_users() {
    let place = Place::new();
    let target = shop(&place);
    let url = target.url();
    let load = |slo: &str| {
        let users = ["--scenario", "s.toml", "--users", "4", "-n", "60", "--json", "-t", "1"];
        place.load(&[&[url.as_str()][..], &users, &["--slo", slo]].concat())
    };
    let slo = "predict@asia: p50<50ms, predict@asia: p50<60s, @eu: errors<1%, home@eu: p50<60s, \
               users.failed<=0, users.arrived>1k, predict@mars: p50<60s";
    let document = load(slo).ended_with(3).json();
    let (yes, no) = (Value::Bool(true), Value::Bool(false));
    let wanted = [
        ("predict@asia: p50<50ms", &no),
        ("predict@asia: p50<60s", &yes),
        ("@eu: errors<1%", &yes),
        ("home@eu: p50<60s", &yes),
        ("users.failed<=0", &yes),
        ("users.arrived>1k", &no),
        ("predict@mars: p50<60s", &no),
    ];
    assert_eq!(verdicts(&document), wanted);
    let never = &document["slo"][6];
    assert!(never["note"].as_str().unwrap().contains("name or label"), "{never}");
    // Names by label add up to those of the label.
    for of in document["by_label"].as_array().unwrap() {
        let sum = |key: &str| -> u64 {
            of["by_name"].as_array().unwrap().iter().map(|name| name[key].as_u64().unwrap()).sum()
        };
        assert_eq!(
            (of["count"].as_u64(), of["succeeded"].as_u64()),
            (Some(sum("count")), Some(sum("succeeded")))
        );
    }
    for (slo, said) in [
        ("predct@eu: p50<1s", "did you mean `predict`?"),
        ("a@b@c: p50<1s", "NAME@LABEL"),
        ("broadcast.lost<1", "no user of this load opens a WebSocket"),
        ("users.faild<1", "did you mean users.failed?"),
        ("home: users.failed<1", "by name there are"),
    ] {
        let err = load(slo).ended_with(2).err;
        assert!(err.contains(said), "{slo}: {err}");
    }
    let plain =
        place.load(&[&url, "--users", "1", "-n", "5", "--slo", "@eu: p50<1s"]).ended_with(2);
    assert!(plain.err.contains("users of this load have no labels"), "{}", plain.err);
    let plain =
        place.load(&[&url, "--users", "1", "-n", "5", "--slo", "users.failed<1"]).ended_with(2);
    assert!(plain.err.contains("this load has no users"), "{}", plain.err);
}

#[test]
fn an_experiment_may_respond_by_a_name_at_a_label() {
    let place = Place::new();
    let target = shop(&place);
    let plan = |respond: &str| {
        format!(
            "[experiment]\nrespond = {respond}\nreplications = 2\n[factor]\n'load.users' = [2, 4]\n\
             [target]\nurl = '{}'\nscenario = 's.toml'\n[load]\nusers = 2\n\
             requests = 80\nthreads = 1\n",
            target.url()
        )
    };
    place.write("p.toml", plan("['predict@asia: p50', '@eu: errors', 'users.arrived']"));
    let run = place.plimsoll(&["run", "p.toml", "--json", "-q"]);
    let document = run.ran().json();
    let names = ["predict@asia: response_us.p50", "@eu: errors", "users.arrived"];
    assert_eq!(document["experiment"]["respond"], serde_json::json!(names), "{document:#}");
    for cell in document["cells"].as_array().unwrap() {
        let slow = cell["figures"][names[0]].as_f64().unwrap();
        assert!(slow >= 120_000.0, "{cell:#}");
        assert_eq!(cell["figures"][names[1]], 0.0, "{cell:#}");
    }
    let effects = document["effects"].as_array().unwrap();
    assert!(effects.iter().any(|of| of["figure"] == names[0]), "{document:#}");
    // The same figures compare two such experiments, and what none has is refused.
    place.plimsoll(&["run", "p.toml", "--new", "-q"]).ran();
    let mut both: Vec<String> = std::fs::read_dir(place.path("runs"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.join("experiment.sqlite").exists())
        .map(|path| path.display().to_string())
        .collect();
    both.sort();
    let compare = |figure: &str| {
        let words = ["compare", &both[0], &both[1], "--json", "--tolerance", "100%"];
        place.plimsoll(&[&words[..], &["--figure", figure]].concat())
    };
    let done = compare("p50");
    // Whether one is slower is not what is looked at.
    assert!([Some(0), Some(3)].contains(&done.code()), "{}", done.err);
    let compared = done.json();
    let of = |name: &str| {
        compared["figures"].as_array().unwrap().iter().filter(|of| of["figure"] == name).count()
    };
    assert_eq!((of(names[0]), of("response_us.p50")), (2, 2), "once a combination: {compared:#}");
    compare("cost").ended_with(2).says(&["not all of both sides have it"]);
    compare("users.arrived").ended_with(2).says(&["none is the better"]);
    // A label that never comes: the experiment does not say what it was to say.
    place.write("p.toml", plan("['predict@mars: p50']"));
    let never = place.plimsoll(&["run", "p.toml", "--json", "-q"]).ended_with(4).json();
    assert_eq!(never["experiment"]["absent"], serde_json::json!(["predict@mars: p50"]));
    for (respond, said) in [
        ("['nonsense']", "no figure is called so"),
        ("['predct: p50']", "did you mean `predict`?"),
        ("['predict: cost']", "no figure is called so"),
        ("['websocket.sent']", "no user of this load opens a WebSocket"),
    ] {
        place.write("p.toml", plan(respond));
        for command in ["check", "run"] {
            let err = place.plimsoll(&[command, "p.toml"]).ended_with(2).err;
            assert!(err.contains(said), "{respond}: {err}");
        }
    }
}

/// The fields that are no figures, as the manual has them; `*` stands for any rest.
fn no_figures() -> Vec<String> {
    let page = include_str!("../../docs/figures.md");
    let table = page.split("<!-- no figures -->").nth(1).expect("the manual's table");
    let cells = table.lines().filter_map(|line| line.strip_prefix("| `")?.split(" | ").next());
    cells.flat_map(|cell| cell.split(", ")).map(|name| name.replace('`', "")).collect()
}

/// The paths of all values, with what a list's items are called in the place of their numbers.
fn leaves(path: &str, value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(pairs) => {
            for (key, value) in pairs {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                leaves(&path, value, found);
            }
        }
        Value::Array(items) => {
            items.iter().for_each(|item| leaves(&format!("{path}[]"), item, found));
        }
        _ => found.push(path.to_owned()),
    }
}

#[test]
fn each_field_of_a_summary_is_a_figure_or_is_said_to_be_none() {
    let place = Place::new();
    let (server, address) = server(&place);
    let room = format!("label = \"{{{{random:1..2}}}}\"\n{ROOM}");
    place.write("room.toml", &room);
    let url = format!("ws://{address}/");
    let arguments = ["--scenario", "room.toml", "--users", "4", "--for", "2s", "--json"];
    let traced = ["--traceparent", "all"];
    let slo = ["--slo", "broadcast.lost<=0, broadcast.latency_us.p50<60s, websocket.sent>1"];
    let document =
        place.load(&[&[url.as_str()][..], &arguments, &traced, &slo].concat()).ran().json();
    drop(server);
    assert!(
        document["slo"].as_array().unwrap().iter().all(|of| of["pass"] == true),
        "{document:#}"
    );
    let (mut fields, none) = (Vec::new(), no_figures());
    leaves("", &document, &mut fields);
    assert!(fields.iter().any(|of| of == "slowest_traces[].trace_id"), "{document:#}");
    assert!(fields.iter().any(|of| of.starts_with("by_label[].by_name[].")), "{document:#}");
    let is_figure = |path: &str| {
        let of = |subject: &str, field: &str| {
            let field = match field {
                "count" => "offered",
                "users" => "users.arrived",
                _ => field,
            };
            let field = field.replace("latency_us", "websocket.broadcast.latency_us");
            figure::named(&format!("{subject}: {field}")).is_some()
        };
        let at = |prefix: &str| path.strip_prefix(prefix);
        at("by_label[].by_name[].")
            .map(|field| of("a@b", field))
            .or_else(|| at("by_label[].").map(|field| of("@b", field)))
            .or_else(|| at("by_name[].").map(|field| of("a", field)))
            .unwrap_or_else(|| figure::named(path).is_some())
    };
    let unknown: Vec<&String> = fields
        .iter()
        .filter(|path| !is_figure(path) && !none.iter().any(|of| figure::fits(of, path)))
        .collect();
    assert!(unknown.is_empty(), "neither figures nor on the list of docs/figures.md: {unknown:?}");
}
