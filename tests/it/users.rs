//! Loads of users who go through a scenario: `--scenario`, and `plimsoll scenario try`.

use crate::place::Place;
use crate::program::Done;
use serde_json::Value;

const CHECKOUT: &str = r#"
[data.accounts]
file = "accounts.csv"

[[step]]
name = "log in"
post = "/login"
form = { user = "{{accounts.user}}", password = "{{accounts.password}}" }
take.token = { css = "input[name=token]", attribute = "value" }

[[step]]
think = "const:50ms"

[[step]]
group = "checkout"
steps = [
    { name = "basket", post = "/basket", form = { item = "{{random:1..9}}", token = "{{token}}" }, take = { token = { header = "X-Token" } } },
    { think = "const:20ms" },
    { name = "buy", get = "/buy", query = { token = "{{token}}" }, check = { status = 200, contains = "token" } },
]
"#;

fn shop(place: &Place) {
    place.write("checkout.toml", CHECKOUT.to_owned());
    place.write("accounts.csv", "user,password\nanna,pear tree\nben,\"p,q\"\n".to_owned());
}

fn named<'a>(summary: &'a Value, name: &str) -> &'a Value {
    let mut all = summary["by_name"].as_array().unwrap().iter();
    all.find(|of| of["name"] == name).unwrap_or_else(|| panic!("no {name} in {summary}"))
}

fn load(place: &Place, url: &str, more: &[&str]) -> Done {
    let first = [url, "--scenario", "checkout.toml", "--json"];
    place.load(&[&first[..], more].concat())
}

#[test]
fn users_arrive_by_the_clock_and_go_through_all_steps_once() {
    let place = Place::new();
    shop(&place);
    let target = place.target(&["--sessions", "--workers", "100", "--path", "/buy=const:10ms"]);
    let done = load(&place, &target.url(), &["--rate", "20/s", "--for", "3s"]);
    let summary = done.json();
    let users = &summary["users"];
    assert_eq!((&users["arrived"], &users["failed"]), (&60.into(), &0.into()), "{summary}");
    let (finished, cut) = (users["finished"].as_u64().unwrap(), users["cut"].as_u64().unwrap());
    assert_eq!(finished + cut, 60, "{users}");
    assert!(finished >= 55 && users["active_peak"].as_u64().unwrap() >= 1, "{users}");
    assert_eq!(summary["errors"]["total"].as_u64().unwrap_or(0), 0, "{summary}");
    let login = named(&summary, "log in");
    assert_eq!((&login["count"], &login["kind"]), (&60.into(), &"step".into()));
    let buy = named(&summary, "buy");
    assert!(buy["service_us"]["p50"].as_f64().unwrap() >= 10_000.0, "{buy}");
    let group = named(&summary, "checkout");
    assert_eq!((&group["count"], &group["kind"]), (&finished.into(), &"group".into()), "{group}");
    let (sum, whole) = (&group["response_us"]["p50"], &group["duration_us"]["p50"]);
    let think = whole.as_f64().unwrap() - sum.as_f64().unwrap();
    assert!((19_000.0..40_000.0).contains(&think), "the think time is in: {group}");
    // What the server counted is what we counted.
    let counted = target.end();
    counted.says(&["/login:", "/buy:"]);
}

#[test]
fn who_ends_is_replaced_until_so_many_have_come() {
    let place = Place::new();
    shop(&place);
    let target = place.target(&["--sessions", "--workers", "100"]);
    let more = ["--users", "5", "-n", "12", "--connect-rate", "50/s"];
    let summary = load(&place, &target.url(), &more).json();
    let users = &summary["users"];
    assert_eq!((&users["arrived"], &users["finished"]), (&12.into(), &12.into()), "{users}");
    assert_eq!(named(&summary, "buy")["succeeded"], 12);
    assert!(users["active_peak"].as_u64().unwrap() <= 5, "{users}");
    assert!(summary["duration_s"].as_f64().unwrap() < 20.0, "it ends with the last: {summary}");
}

#[test]
fn rows_that_are_handed_out_once_end_the_arrivals() {
    let place = Place::new();
    shop(&place);
    place.write(
        "checkout.toml",
        CHECKOUT.replace("accounts.csv\"", "accounts.csv\"\norder = \"once\""),
    );
    let target = place.target(&["--sessions", "--workers", "100"]);
    let done = load(&place, &target.url(), &["--rate", "20/s", "--for", "1s"]);
    let summary = done.json();
    assert_eq!(summary["users"]["arrived"], 2, "{summary}");
    assert!(summary["warnings"].to_string().contains("were used up"), "{summary}");
}

#[test]
fn a_failed_step_ends_its_user_and_counts_by_its_kind() {
    let place = Place::new();
    let text = "[[step]]\nname = \"a\"\nget = \"/a\"\ntake.x = { regex = \"nothing like it\" }\n\
                [[step]]\nname = \"b\"\nget = \"/b/{{x}}\"\n";
    place.write("checkout.toml", text.to_owned());
    let target = place.target(&[]);
    let summary = load(&place, &target.url(), &["--rate", "20/s", "--for", "1s"]).json();
    assert_eq!(summary["users"]["failed"], 20, "{summary}");
    assert_eq!(named(&summary, "a")["failures"]["take"], 20, "{summary}");
    assert_eq!(named(&summary, "b")["count"], 0, "{summary}");
    assert!(summary["reasons"].to_string().contains("expected something to take for `x`"));
    let on = format!("on_failure = \"go on\"\n{text}");
    place.write("checkout.toml", on);
    let summary = load(&place, &target.url(), &["--rate", "20/s", "--for", "1s"]).json();
    assert_eq!(named(&summary, "b")["failures"]["variable"], 20, "{summary}");
    let error = |kind: &str| summary["errors"][kind].as_u64().unwrap_or(0);
    let never: u64 = ["connect", "local", "dns", "tls", "client_saturated", "cut", "variable"]
        .map(error)
        .iter()
        .sum();
    let (offered, sent) = (&summary["offered"], &summary["sent"]);
    assert_eq!(offered.as_u64().unwrap(), sent.as_u64().unwrap() + never, "{summary}");
    place.write("checkout.toml", format!("on_failure = \"end run\"\n{text}"));
    let summary = load(&place, &target.url(), &["--rate", "20/s", "--for", "30s"]).json();
    assert!(summary["duration_s"].as_f64().unwrap() < 20.0, "{summary}");
    assert!(summary["warnings"].to_string().contains("ends the run"), "{summary}");
}

#[test]
fn a_target_that_is_not_there_fails_users_at_a_pace() {
    let place = Place::new();
    shop(&place);
    let done = load(&place, "http://127.0.0.1:9/", &["--users", "3", "--for", "1s"]);
    done.ended_with(4);
}

#[test]
fn one_user_is_shown_step_by_step() {
    let place = Place::new();
    let text = CHECKOUT.replace("{{accounts.password}}", "{{env.PASSWORD}}");
    shop(&place);
    place.write("checkout.toml", text);
    let target = place.target(&["--sessions"]);
    let url = target.url();
    let try_it = |more: &[&str]| {
        let first = ["scenario", "try", "checkout.toml", &url];
        let mut command = place.command(crate::program::PLIMSOLL, &[&first[..], more].concat());
        command.env("PASSWORD", "pear & plum tree");
        place.start(command).wait()
    };
    let done = try_it(&[]).ended_with(0);
    let out = &done.out;
    for part in
        ["log in\n", "> POST ", "< 200 in", "token = ", "thinks 50 ms", "finished: 3 requests"]
    {
        assert!(out.contains(part), "{part}: {out}");
    }
    assert!(!out.contains("plum") && out.contains("password=…"), "{out}");
    assert!(out.contains("cookie: plimsoll=…") && out.contains("set-cookie: plimsoll=…"), "{out}");
    let shown = try_it(&["--json", "--user", "1"]).ended_with(0).json();
    assert_eq!((&shown["ended"], &shown["requests"]), (&"finished".into(), &3.into()), "{shown}");
    assert_eq!(shown["steps"][0]["body"], "user=ben&password=…", "{shown}");
    assert!(shown["steps"][0]["taken"]["token"].is_string(), "{shown}");
    let unset = place.plimsoll(&["scenario", "try", "checkout.toml", &url]).ended_with(2);
    unset.says(&["checkout.toml:8:", "environment variable that is set", "hint: export PASSWORD="]);
}

#[test]
fn a_wrong_scenario_is_told_before_any_load() {
    let place = Place::new();
    place.write("checkout.toml", "[[step]]\nget = \"/{{tokn}}\"\n".to_owned());
    let url = "http://127.0.0.1:9/";
    for more in [&["--check"][..], &[][..]] {
        let done = load(&place, url, &[&["--rate", "1/s", "--for", "1s"], more].concat());
        done.ended_with(2)
            .says(&["checkout.toml:2:10: expected a variable that an earlier step takes"]);
    }
    let plan = "[target]\nurl = \"http://127.0.0.1:9/\"\nscenario = \"checkout.toml\"\nmethod = \"PUT\"\n\
                http = \"2\"\n[load]\nrate = \"1/s\"\nfor = \"1s\"\nconnections = 3\nconnect_rate = \"1/s\"\n";
    place.write("p.toml", plan.to_owned());
    place.plimsoll(&["check", "p.toml"]).ended_with(2).says(&[
        "`method` and `scenario` exclude each other",
        "users ask by HTTP/1.1, found http 2",
        "`connections` goes with requests",
        "`connect_rate` goes with `users` and a scenario",
    ]);
}

#[test]
fn the_example_is_gone_through() {
    let place = Place::new();
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/scenarios/checkout.toml");
    let target = place.target(&["--sessions", "--path", "/buy=exp:20ms", "--workers", "100"]);
    let url = target.url();
    let tried = place.plimsoll(&["scenario", "try", examples, &url]).ended_with(0);
    tried.says(&[]);
    let run = ["--scenario", examples, "--rate", "10/s", "--for", "5s", "--json", "-t", "2"];
    let summary = place.load(&[&[url.as_str()][..], &run].concat()).json();
    assert_eq!(summary["users"]["failed"], 0, "{summary}");
    let kinds: Vec<&str> = summary["by_name"]
        .as_array()
        .unwrap()
        .iter()
        .map(|of| of["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["step", "step", "step", "group", "step", "step"], "{summary}");
}
