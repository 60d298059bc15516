//! What newcomers type first, in the words of other tools, and the hints that they get: each hint
//! is typed as it stands, by a shell, and works.

use crate::nginx::nginx;
use crate::place::Place;
use crate::program::{Done, PLIMSOLL};
use crate::recording::Recording;
use crate::redirects::servers;
use plimsoll_testing::Weight;
use std::net::TcpListener;
use std::path::Path;

/// A few requests, which end a load soon whatever else is said of its length.
const FEW: &str = "-n 20 --quiet";

/// Runs a line as a shell takes it; the program is found by its name.
fn shell(place: &Place, line: &str) -> Done {
    let mut command = place.command("sh", &["-c", line]);
    let folder = Path::new(PLIMSOLL).parent().unwrap().display().to_string();
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{folder}:{path}"));
    place.start(command).wait()
}

/// The hint that was given, without the word before it.
fn hint(done: &Done) -> &str {
    let line = done.err.lines().find_map(|line| line.strip_prefix("hint: "));
    line.unwrap_or_else(|| panic!("no hint in:\n{}", done.err))
}

/// The ways that a hint names, joined by `, or `.
fn ways(done: &Done) -> Vec<String> {
    let hint = hint(done).trim_start_matches("for example ");
    hint.split(", or ").map(str::to_owned).collect()
}

#[test]
fn a_load_that_says_nothing_of_how_much_is_told_what_to_type() {
    let place = Place::new();
    let target = place.calm();
    let url = target.url();
    let bare = place.load(&[&url]).ended_with(2);
    assert_eq!(ways(&bare), ["--rate 100/s --for 30s", "--users 50 --for 30s"]);
    for way in ways(&bare) {
        shell(&place, &format!("plimsoll load {url} {way} {FEW}")).ran();
    }
    let counted = place.load(&[&url, "-n", "20"]).ended_with(2);
    assert_eq!(ways(&counted), ["--rate 100/s", "--users 50"]);
    for way in ways(&counted) {
        shell(&place, &format!("plimsoll load {url} {way} {FEW}")).ran();
    }
    let users = place.load(&[&url, "--users", "2"]).ended_with(2);
    let way = &ways(&users)[0];
    shell(&place, &format!("plimsoll load {url} --users 2 {way} {FEW}")).ran();
}

#[test]
fn connections_beside_a_number_of_requests_are_users_and_that_is_said() {
    let place = Place::new();
    let target = place.calm();
    let url = target.url();
    let said = "note: -c 5 without a rate means --users 5";
    for ends in [["-n", "20"], ["--for", "1s"]] {
        let load = [&["load", &url, "-c", "5"], &ends[..]].concat();
        let done = place.plimsoll(&[&load[..], &["--json"]].concat()).ran();
        assert!(done.err.starts_with(said), "{}", done.err);
        assert_eq!(done.json()["schema"], 1, "the document stays one");
        let plan = place.plimsoll(&[&load[..], &["--print-plan"]].concat()).ended_with(0);
        plan.prints(&["users = 5\n", "connections = 5\n"]);
    }
    for shape in [["--rate", "20/s"], ["--users", "2"], ["--set", "load.users=2"]] {
        let load = [&["load", &url, "-c", "5", "-n", "20"], &shape[..]].concat();
        let plan = place.plimsoll(&[&load[..], &["--print-plan"]].concat()).ended_with(0);
        assert!(plan.err.is_empty(), "{}", plan.err);
        plan.prints(&["connections = 5\n"]);
    }
    // A pool that grows is none of users.
    place.load(&[&url, "-c", "5..9", "-n", "20"]).ended_with(2).says(&["--users 50"]);
}

#[test]
fn words_of_other_tools_are_answered_with_options_that_work() {
    let place = Place::new();
    let target = place.calm();
    let url = target.url();
    place.write("users.toml", "[[step]]\nget = \"/\"\n");
    let cases = [
        ("-r 20", "--connect-rate 20/s", "--users 2 --scenario users.toml"),
        ("-o json", "--json", "--rate 100/s"),
        ("-o page.html", "--report FILE", "--rate 100/s"),
        ("-v", "--samples", "--rate 100/s"),
        ("-b a=b", "-H 'Cookie: NAME=VALUE'", "--rate 100/s"),
        ("--format json", "--out FOLDER", "--rate 100/s"),
        ("--ramp-up 10s", "--connect-rate 20/s", "--users 2 --scenario users.toml"),
        ("-L", "--follow 5", "--rate 100/s"),
    ];
    for (word, tip, beside) in cases {
        let load = format!("plimsoll load {url} {beside}");
        let done = shell(&place, &format!("{load} {word}")).ended_with(2);
        done.says(&["  tip: ", tip, "Usage: plimsoll load"]);
        shell(&place, &format!("{load} {tip} {FEW}")).ran();
    }
    for old in ["-s", "-d", "-f"] {
        let client = ["shoal", "client", "--server", "http://127.0.0.1:1/", old];
        let done = place.plimsoll(&client).ended_with(2);
        done.says(&["  tip: ", "Usage: plimsoll shoal client"]);
    }
}

#[test]
fn what_a_search_would_do_is_said_and_printed_without_a_network() {
    let place = Place::weighing(Weight::WAITS);
    let search = ["capacity", "http://no-such-host.invalid/", "--slo", "p99<1s", "--repeat", "3"];
    let done = place.plimsoll(&[&search[..], &["--check"]].concat()).ended_with(0);
    done.prints(&["search, live: http://no-such-host.invalid/", "SLO         p99<1s"]);
    done.prints(&["cells       3"]);
    let plan = place.plimsoll(&[&search[..], &["--print-plan"]].concat()).ended_with(0);
    place.write("plan.toml", &plan.out);
    let checked = place.plimsoll(&["capacity", "plan.toml", "--check", "--json"]).ended_with(0);
    assert_eq!(checked.json()["most_cells"], 3);
    let done = place.plimsoll(&["check", "plan.toml"]).ended_with(0);
    done.prints(&["search, live: http://no-such-host.invalid/"]);
    assert!(place.runs("runs").is_empty(), "a run folder was left");
}

#[test]
fn what_a_load_would_do_is_said_without_a_network() {
    let place = Place::weighing(Weight::WAITS);
    place.write(
        "users.toml",
        "hosts = [\"api.invalid\"]\n[[step]]\nget = \"http://api.invalid/\"\n",
    );
    let load = "load http://no-such-host.invalid/ --rate 5/s --for 1s --check";
    for more in ["", "--scenario users.toml", "--addresses spread", "--from-address ::1"] {
        shell(&place, &format!("plimsoll {load} {more}")).ended_with(0).prints(&["requests     5"]);
    }
    let load: Vec<&str> = load.split(' ').filter(|word| *word != "--check").collect();
    place.plimsoll(&load).ended_with(4).says(&["no-such-host.invalid"]);
}

#[test]
fn status_follow_and_stop_look_where_runs_were_kept() {
    let place = Place::new();
    let target = place.calm();
    place.load(&[&target.url(), "--rate", "20/s", "--for", "1s", "--out", "one"]).ran();
    let run = place.runs("one").pop().unwrap();
    let name = run.file_name().unwrap().to_str().unwrap();
    for of in [&["--out", "one"][..], &[name, "--out", "one"]] {
        let status = place.plimsoll(&[&["status"], of].concat()).ended_with(0);
        status.prints(&[name, "complete"]);
        place.plimsoll(&[&["follow"], of].concat()).ended_with(0).prints(&["complete"]);
        place.plimsoll(&[&["stop"], of].concat()).ended_with(2).says(&["nobody executes it"]);
    }
    let none = place.plimsoll(&["status", "--out", "two"]).ended_with(2);
    none.says(&["there is none in two"]);
}

#[test]
fn slos_as_other_tools_write_them_are_told_how_they_are_written_here() {
    let place = Place::weighing(Weight::WAITS);
    for (theirs, ours) in [
        ("p(95)<200ms", "p95<200ms"),
        ("p95<200ms and errors<1%", "p95<200ms,errors<1%"),
        ("p95<200ms && errors<1%", "p95<200ms,errors<1%"),
        ("p95<200", "200ms"),
    ] {
        let load = "load http://127.0.0.1:1/ --rate 5/s --for 1s --check --slo";
        let done = shell(&place, &format!("plimsoll {load} '{theirs}'")).ended_with(2);
        assert!(hint(&done).contains(ours), "{}", done.err);
        let ours = if ours == "200ms" { format!("p95<{ours}") } else { ours.to_owned() };
        shell(&place, &format!("plimsoll {load} '{ours}'")).ended_with(0);
    }
}

#[test]
fn a_scenario_in_the_place_of_a_plan_is_told_where_it_goes() {
    let place = Place::weighing(Weight::WAITS);
    let url = "http://127.0.0.1:1/";
    place.write("users.toml", "[[step]]\nget = \"/\"\n");
    for command in ["load", "capacity", "run", "check"] {
        let done = place.plimsoll(&[command, "users.toml"]).ended_with(2);
        done.says(&["users.toml is a scenario"]);
        let line = hint(&done).replace("URL", url);
        shell(&place, &format!("{line} --check")).ended_with(0);
    }
}

#[test]
fn a_trace_in_the_place_of_a_plan_is_told_where_it_goes() {
    let place = Place::weighing(Weight::WAITS);
    place.write("week.csv", "time_s,rate\n0,2\n60,3\n120,0\n");
    let pool = "[load]\nrate = '5/s'\nfor = '1m'\n[pool]\n[instance]\nservice = 'exp:70ms'\n\
                [billing]\n[policy.one]\nkind = 'fixed'\n";
    place.write("pool.toml", pool);
    let done = place.plimsoll(&["simulate", "week.csv", "--service", "exp:3s"]).ended_with(2);
    done.says(&["week.csv: it is a trace"]);
    let (_, line) = hint(&done).split_once(": ").unwrap();
    shell(&place, &line.replace("PLAN", "pool.toml")).ended_with(0);
}

#[test]
fn a_plan_of_several_combinations_is_told_what_executes_it() {
    let place = Place::new();
    let target = place.calm();
    let pool = "[load]\nrate = '5/s'\nfor = '1m'\n[pool]\n[instance]\nservice = 'exp:70ms'\n\
                [billing]\n[policy.one]\nkind = 'fixed'\n[factor]\n\"pool.max\" = [1, 2]\n";
    place.write("pool.toml", pool);
    let done = place.plimsoll(&["simulate", "pool.toml", "--decisions"]).ended_with(2);
    done.says(&["the plan has several"]);
    shell(&place, hint(&done)).ended_with(0).prints(&["cells       2 of 2 done"]);
    let load = format!(
        "[target]\nurl = '{}'\n[load]\nfor = '1s'\nrate = '5/s'\n[factor]\n\
         \"load.rate\" = ['5/s', '9/s']\n",
        target.url()
    );
    place.write("load.toml", load);
    let done = place.plimsoll(&["load", "load.toml"]).ended_with(2);
    shell(&place, hint(&done)).ran().prints(&["cells       2 of 2 done"]);
}

#[test]
fn users_cannot_be_searched_for_but_tried_at_several_rates() {
    let place = Place::weighing(Weight::WAITS);
    place.write("users.toml", "[[step]]\nget = \"/\"\n");
    let search = ["capacity", "http://127.0.0.1:1/", "--scenario", "users.toml", "--slo", "p99<1s"];
    let done = place.plimsoll(&search).ended_with(2);
    done.says(&["a scenario goes with a load, not with a search"]);
    let (_, line) = hint(&done).split_once(": ").unwrap();
    let line = line.replace("URL", "http://127.0.0.1:1/").replace("FILE", "users.toml");
    // Nothing is put on a server here: what the line would do is said.
    let line = line.replace("plimsoll run", "plimsoll check");
    shell(&place, &line).ended_with(0).prints(&["cells       3", "load.rate 20/s"]);
}

#[test]
fn the_server_may_stand_before_the_scenario() {
    let place = Place::new();
    let server = Recording::start();
    place.write("users.toml", "[[step]]\nget = \"/a\"\n");
    for order in [["users.toml", &server.url()], [&server.url(), "users.toml"]] {
        place.plimsoll(&[&["scenario", "try"], &order[..]].concat()).ended_with(0);
    }
    assert_eq!(server.asked().len(), 2);
}

#[test]
fn a_step_asks_for_compression_only_where_its_headers_say_so() {
    let place = Place::new();
    let server = Recording::start();
    let steps = "[[step]]\nget = \"/plain\"\n[[step]]\nget = \"/checked\"\n\
                 check = { contains = \"ok\" }\ntake.all = { regex = \"(.*)\" }\n";
    place.write("users.toml", steps);
    let url = server.url();
    let load = ["load", &url, "--scenario", "users.toml", "--users", "1", "--for", "1s", "-n", "2"];
    place.plimsoll(&[&load[..], &["--quiet"]].concat()).ran();
    let asked = server.asked();
    assert!(asked.len() >= 2, "{asked:?}");
    assert!(asked.iter().all(|one| one.header("accept-encoding").is_none()), "{asked:?}");
    let before = asked.len();
    let step = "[[step]]\nget = \"/\"\nheaders.accept-encoding = \"gzip\"\n";
    place.write("users.toml", step);
    place.plimsoll(&[&load[..], &["--quiet"]].concat()).ran();
    let asked = server.asked().split_off(before);
    assert!(asked.iter().all(|one| one.header("accept-encoding") == Some("gzip")), "{asked:?}");
}

#[test]
fn a_redirect_that_nobody_expected_is_told_how_it_is_followed() {
    let test = "a_redirect_that_nobody_expected_is_told_how_it_is_followed";
    let place = Place::new();
    let config = |port| servers(port, "", "127.0.0.1:1");
    let Some((_nginx, port)) = nginx(&place, test, config) else { return };
    let url = format!("http://127.0.0.1:{port}/");
    let hint = "follow = 5 in this step, or at the top of the scenario, follows it";
    place.write("users.toml", "[[step]]\nget = \"/one\"\n");
    let done = place.plimsoll(&["scenario", "try", "users.toml", &url]).ended_with(4);
    done.prints(&["expected status 2xx, found 302", hint]);
    for text in ["[[step]]\nget = \"/one\"\nfollow = 5\n", "follow = 5\n[[step]]\nget = \"/one\"\n"]
    {
        place.write("users.toml", text);
        place.plimsoll(&["scenario", "try", "users.toml", &url]).ended_with(0);
    }
}

#[test]
fn pages_and_figures_take_a_port_alone_and_a_target_is_no_port() {
    let place = Place::new();
    let target = place.calm();
    let url = target.url();
    // A port that was free a moment ago: whoever takes it meanwhile is found out by the message.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let load = [&url, "--rate", "20/s", "--for", "1s", "--prometheus", &port];
    let done = place.load(&load);
    assert!(!done.err.contains("--prometheus"), "{}", done.err);
    let wrong = [&url, "--rate", "20/s", "--for", "1s", "--prometheus", "x"];
    place.load(&wrong).ended_with(2).says(&["--prometheus", "127.0.0.1:5555"]);
    let done = place.plimsoll(&["load", "--web", &url, "--rate", "20/s"]).ended_with(2);
    done.says(&["expected a port or a loopback address"]);
    let line = done.err.lines().find_map(|line| line.split_once("before it: ")).unwrap().1;
    shell(&place, &format!("plimsoll load {line} --rate 20/s {FEW}")).ran();
}

#[test]
fn a_port_that_speaks_no_tls_is_told() {
    let place = Place::new();
    let target = place.calm();
    let secure = target.url().replace("http://", "https://");
    for version in ["1.1", "auto"] {
        let load = [&secure, "--http", version, "--rate", "20/s", "--for", "1s"];
        let done = place.load(&load).ended_with(4);
        done.says(&["speaks no TLS", "try http:// in place of https://"]);
    }
    place.load(&[&target.url(), "--rate", "20/s", "--for", "1s"]).ran();
}

#[test]
fn a_run_whose_every_request_failed_is_not_called_good() {
    let place = Place::new();
    let target = place.target(&["--errors", "100%"]);
    let load = ["--rate", "50/s", "--for", "1s"];
    let url = target.url();
    let load = [&[url.as_str()], &load[..]].concat();
    let done = place.load(&load).ran();
    let note = "every request failed: status 500";
    done.prints(&[note]);
    let summary = place.load(&[&load[..], &["--json"]].concat()).ran().json();
    assert_eq!(summary["warnings"][0], note, "{summary}");
    if summary["run"]["valid"] == true {
        let page = place.path("page.html");
        let page = page.to_str().unwrap();
        let run = place.run();
        place.plimsoll(&["report", run.to_str().unwrap(), "-o", page]).ended_with(0);
        let html = std::fs::read_to_string(page).unwrap();
        assert!(html.contains("Valid, but every request failed. No objective was set."), "{html}");
    }
    // What is asked of the server decides the exit code.
    let slo = place.load(&[&load[..], &["--slo", "errors<1%"]].concat());
    assert_eq!(slo.code(), Some(3), "{}", slo.out);
}

#[test]
fn several_runs_are_told_quietly_by_what_they_come_to() {
    let place = Place::new();
    let target = place.calm();
    let load = [&target.url(), "--rate", "20/s", "--for", "250ms", "--repeat", "2"];
    let done = place.load(&load).ran();
    done.prints(&["2 replications, mean and 95% interval:", "group"]);
    assert!(!done.out.contains("  traffic"), "no table of a run: {}", done.out);
    assert!(!done.out.contains("[-") && !done.out.contains("[\u{2212}"), "{}", done.out);
    let told = place.plimsoll(&[&["load"], &load[..]].concat()).ran();
    assert_eq!(told.out.matches("  traffic").count(), 2, "{}", told.out);
}
