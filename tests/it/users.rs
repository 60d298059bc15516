//! Loads of users who go through a scenario: `--scenario`, and `plimsoll scenario try`.

use crate::place::{Place, SOAK};
use crate::program::Done;
use plimsoll_testing::Weight;
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

[[step.steps]]
name = "basket"
post = "/basket"
form = { item = "{{random:1..9}}", token = "{{token}}" }
take.token = { header = "X-Token" }

[[step.steps]]
think = "const:20ms"

[[step.steps]]
name = "buy"
get = "/buy"
query = { token = "{{token}}" }
check = { status = 200, contains = "token" }
"#;

pub(crate) fn shop(place: &Place) {
    place.write("checkout.toml", CHECKOUT);
    place.write("accounts.csv", "user,password\nanna,pear tree\nben,\"p,q\"\n");
}

pub(crate) fn named<'a>(summary: &'a Value, name: &str) -> &'a Value {
    let mut all = summary["by_name"].as_array().unwrap().iter();
    all.find(|of| of["name"] == name).unwrap_or_else(|| panic!("no {name} in {summary}"))
}

pub(crate) fn load(place: &Place, url: &str, more: &[&str]) -> Done {
    let first = [url, "--scenario", "checkout.toml", "--json"];
    place.load(&[&first[..], more].concat())
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
    let summary = done.ended_with(4).json();
    assert_eq!(summary["users"]["arrived"], 2, "{summary}");
    assert_eq!(summary["run"]["ended"], "stopped", "{summary}");
    assert!(summary["warnings"].to_string().contains("were used up"), "{summary}");
    // As many users as there are rows are a load that is complete.
    let as_many = ["--rate", "20/s", "--for", "1s", "-n", "2"];
    let summary = load(&place, &target.url(), &as_many).ran().json();
    assert_eq!(summary["users"]["arrived"], 2, "{summary}");
    assert_eq!(summary["run"]["ended"], "complete", "{summary}");
}

/// Who thinks beyond the end of a load is there until then, and the load is as long as it was asked
/// to be.
#[test]
fn who_thinks_stays_until_the_load_has_ended() {
    let place = Place::weighing(Weight::WAITS);
    let text = "[[step]]\nname = \"in\"\nget = \"/in\"\n[[step]]\nthink = \"const:10m\"\n";
    place.write("checkout.toml", text);
    let target = place.target(&[]);
    for how in [&["--users", "20"][..], &["--users", "20", "--connect-rate", "40/s"]] {
        let summary = load(&place, &target.url(), &[how, &["--for", "1s"]].concat()).json();
        assert_eq!((&summary["offered"], &summary["users"]["arrived"]), (&20.into(), &20.into()));
        assert_eq!(summary["users"]["active_peak"], 20, "{summary}");
        assert_eq!(summary["connections"]["peak"], 20, "{summary}");
        assert_eq!(summary["duration_s"], 1.0, "{summary}");
    }
}

#[test]
fn a_failed_step_ends_its_user_and_counts_by_its_kind() {
    let place = Place::new();
    let text = "[[step]]\nname = \"a\"\nget = \"/a\"\ntake.x = { regex = \"nothing like it\" }\n\
                [[step]]\nname = \"b\"\nget = \"/b/{{x}}\"\n";
    place.write("checkout.toml", text);
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
    let more = ["--rate", "20/s", "--for", SOAK, "--junit", "j.xml"];
    let summary = load(&place, &target.url(), &more).ended_with(4).json();
    assert!(summary["duration_s"].as_f64().unwrap() < 1200.0, "{summary}");
    assert_eq!(summary["run"]["ended"], "stopped", "{summary}");
    assert!(summary["warnings"].to_string().contains("ends the run"), "{summary}");
    let junit = std::fs::read_to_string(place.path("j.xml")).unwrap();
    assert!(junit.contains("<error"), "{junit}");
}

#[test]
fn a_target_that_is_not_there_fails_users_at_a_pace() {
    let place = Place::weighing(Weight::WAITS);
    shop(&place);
    let done = load(&place, "http://127.0.0.1:9/", &["--users", "3", "--for", "1s"]);
    done.ended_with(4);
}

#[test]
fn one_user_is_shown_step_by_step() {
    let place = Place::weighing(Weight::WAITS);
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
    let place = Place::weighing(Weight::WAITS);
    place.write("checkout.toml", "[[step]]\nget = \"/{{tokn}}\"\n");
    let url = "http://127.0.0.1:9/";
    for more in [&["--check"][..], &[][..]] {
        let done = load(&place, url, &[&["--rate", "1/s", "--for", "1s"], more].concat());
        done.ended_with(2)
            .says(&["checkout.toml:2:11: expected a variable that an earlier step takes"]);
    }
    let plan = "[target]\nurl = \"http://127.0.0.1:9/\"\nscenario = \"checkout.toml\"\n\
                method = \"PUT\"\nhttp = \"2\"\n[load]\nstreams = 4\nrate = \"1/s\"\nfor = \"1s\"\n\
                connections = 3\nconnect_rate = \"1/s\"\n";
    place.write("p.toml", plan);
    place.plimsoll(&["check", "p.toml"]).ended_with(2).says(&[
        "`method` and `scenario` exclude each other",
        "`streams` goes with requests",
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
    // tidy: allow(waits, fifty users in an open loop, whatever they take)
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

/// A server that keeps what each user has sent, by the header `X-User`, and answers each request
/// after a time that differs, or at once.
struct Listening {
    address: std::net::SocketAddr,
    kept: std::sync::Arc<std::sync::Mutex<std::collections::BTreeMap<u64, String>>>,
}

impl Listening {
    fn start(delays: bool) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let kept = std::sync::Arc::<std::sync::Mutex<_>>::default();
        let all = std::sync::Arc::clone(&kept);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let all = std::sync::Arc::clone(&all);
                std::thread::spawn(move || serve(stream, delays, &all));
            }
        });
        Self { address, kept }
    }
}

fn serve(
    stream: std::net::TcpStream,
    delays: bool,
    kept: &std::sync::Mutex<std::collections::BTreeMap<u64, String>>,
) {
    use std::io::{BufRead as _, Read as _, Write as _};
    let mut reader = std::io::BufReader::new(stream.try_clone().unwrap());
    let mut writer = stream;
    loop {
        let (mut said, mut user, mut length) = (String::new(), 0, 0);
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            let line = line.trim_end();
            let value = |name: &str| line.strip_prefix(name).map(|text| text.trim().parse::<u64>());
            match (value("X-User:"), value("Content-Length:")) {
                (Some(Ok(number)), _) => user = number,
                (_, Some(Ok(number))) => length = number,
                _ => {}
            }
            if line.is_empty() {
                break;
            }
            // The port differs from server to server.
            if !line.starts_with("Host:") {
                said.push_str(line);
                said.push('\n');
            }
        }
        let mut body = vec![0; usize::try_from(length).unwrap()];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        said.push_str(&String::from_utf8(body).unwrap());
        let mut all = kept.lock().unwrap();
        all.entry(user).or_default().push_str(&said);
        drop(all);
        if delays {
            // tidy: allow(waits, the server takes its time)
            std::thread::sleep(std::time::Duration::from_millis((user * 7 + length) % 23));
        }
        if writer.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").is_err() {
            return;
        }
    }
}

#[test]
fn each_user_sends_the_same_for_one_and_two_threads_and_with_delays() {
    let place = Place::new();
    let text = r#"
[[step]]
post = "/a?r={{random:1..1000000}}"
headers = { X-User = "{{user}}" }
json = { id = "{{uuid}}", n = "{{counter}}" }
[[step]]
think = "exp:5ms"
[[step]]
loop = "1..4"
steps = [ { choose = [
    { weight = 2, steps = [
{ put = "/b/{{random:1..99}}", headers = { X-User = "{{user}}" }, body = "{{counter}}/{{loop}}" },
    ] },
    { weight = 1, steps = [ { get = "/c", headers = { X-User = "{{user}}" } } ] },
] } ]
"#;
    place.write("checkout.toml", text);
    let sent = |threads: &str, delays: bool| {
        let server = Listening::start(delays);
        let url = format!("http://{}/", server.address);
        let scenario = ["load", &url, "--scenario", "checkout.toml", "--json"];
        let more = ["--users", "20", "-n", "300", "-t", threads];
        let summary = place.plimsoll(&[&scenario[..], &more].concat()).json();
        assert_eq!(summary["users"]["finished"], 300, "{summary}");
        server.kept.lock().unwrap().clone()
    };
    let one = sent("1", false);
    assert_eq!(one.len(), 300, "each number once");
    let all: std::collections::BTreeSet<&String> = one.values().collect();
    assert_eq!(all.len(), 300, "each sends something of his own");
    assert_eq!(one, sent("2", false));
    assert_eq!(one, sent("2", true));
}

#[test]
fn an_answer_that_is_longer_than_what_is_kept_is_read_and_counted() {
    let place = Place::new();
    let text =
        "[[step]]\nname = \"long\"\nget = \"/\"\ntake.x = { regex = \"a\", default = \"b\" }\n";
    place.write("checkout.toml", text);
    let target = place.target(&["--body", "50MiB"]);
    let summary = load(&place, &target.url(), &["--users", "1", "-n", "2"]).json();
    let long = named(&summary, "long");
    assert_eq!(long["failures"]["take"], 2, "{summary}");
    assert!(long["bytes_in"].as_u64().unwrap() >= 2 * 50 * 1024 * 1024, "{summary}");
}
