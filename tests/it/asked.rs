//! What is asked, and when: traces, profiles, replays, lists, templates.

use crate::place::Place;
use crate::recording::Recording;
use std::collections::BTreeMap;

#[test]
fn a_trace_gives_the_rate_of_each_second() {
    let place = Place::new();
    let target = place.calm();
    place.write("day.csv", "time_s,rate\n0,10\n60,40\n120,20\n180,0\n");
    let arguments = ["--trace", "day.csv", "--speed", "60", "--samples", "--json"];
    let summary = place.load(&[&[target.url().as_str()], &arguments[..]].concat());
    let summary = summary.ran().json();
    assert_eq!((&summary["offered"], &summary["duration_s"]), (&70.into(), &4.0.into()));
    assert_eq!(due_by_second(&place), [10, 40, 20]);
}

/// How many requests of the last run were due in each second.
fn due_by_second(place: &Place) -> Vec<u32> {
    let run = plimsoll_runs::Run::open(&place.run()).unwrap();
    let mut seconds = Vec::new();
    for sample in run.samples().unwrap().unwrap() {
        let second = usize::try_from(sample.unwrap().due_ns / 1_000_000_000).unwrap();
        seconds.resize(seconds.len().max(second + 1), 0);
        seconds[second] += 1;
    }
    seconds
}

#[test]
fn a_trace_may_be_made_of_a_log_and_loaded() {
    let place = Place::new();
    let server = Recording::start();
    place.write("access.log", LOG);
    let arguments = ["trace", "from-log", "access.log", "-o", "day.csv", "--urls", "urls.csv"];
    let made = place.plimsoll(&arguments).ended_with(0);
    made.says(&["7 requests in 3 s", "1 lines cannot be read", "line 4: not a line"]);
    let info = place.plimsoll(&["trace", "info", "day.csv", "--json"]).ended_with(0).json();
    assert_eq!((&info["requests"], &info["duration_s"]), (&7.into(), &3.0.into()), "{info}");
    let url = server.url();
    let load = [&url, "--trace", "day.csv", "--urls", "urls.csv", "--order", "weighted"];
    place.load(&load).ran();
    let known = ["/", "/a?x=1", "/b", "/login"];
    let asked = server.asked();
    assert_eq!(asked.len(), 7);
    assert!(asked.iter().all(|one| known.contains(&&one.line()[4..])), "{asked:?}");
}

#[test]
fn a_profile_is_a_day() {
    let place = Place::new();
    let target = place.calm();
    let url = target.url();
    let load = [&url, "--profile", "clarknet-day", "--speed", "600", "--scale", "5/s..50/s"];
    let cut = [&load[..], &["--from", "12h", "--to", "12h20m", "--json"]].concat();
    let summary = place.load(&cut).ran().json();
    assert_eq!(summary["duration_s"], 2.0, "{summary}");
    let offered = summary["offered"].as_u64().unwrap();
    assert!((10..=100).contains(&offered), "{summary}");
}

const LOG: &str = "\
192.0.2.1 - - [20/Nov/2026:05:00:00 +0000] \"GET / HTTP/1.1\" 200 10 \"-\" \"agent\"
192.0.2.2 - - [20/Nov/2026:05:00:00 +0000] \"GET /a?x=1 HTTP/1.1\" 200 10 \"-\" \"agent\"
192.0.2.1 - - [20/Nov/2026:05:00:01 +0000] \"HEAD /b HTTP/1.1\" 200 0 \"-\" \"agent\"
not a line of a log
192.0.2.1 - - [20/Nov/2026:05:00:01 +0000] \"POST /login HTTP/1.1\" 302 10 \"-\" \"agent\"
192.0.2.3 - - [20/Nov/2026:05:00:02 +0000] \"GET / HTTP/1.1\" 200 10 \"-\" \"agent\"
192.0.2.3 - - [20/Nov/2026:05:00:02 +0000] \"GET /b HTTP/1.1\" 200 10 \"-\" \"agent\"
192.0.2.3 - - [20/Nov/2026:05:00:02 +0000] \"GET /a?x=1 HTTP/1.1\" 200 10 \"-\" \"agent\"
";

#[test]
fn a_replay_asks_the_same_in_the_same_order() {
    let place = Place::new();
    let server = Recording::start();
    place.write("access.log", LOG);
    // One attempt, on one connection: the order of arrival is that of sending.
    let done = place.plimsoll(&[
        "load",
        &server.url(),
        "--quiet",
        "--replay",
        "access.log",
        "--connections",
        "1",
        "--json",
        "--samples",
    ]);
    let summary = done.ran().json();
    let asked: Vec<String> = server.asked().iter().map(|one| one.line().to_owned()).collect();
    // What may change something on the server is not asked again unless one says so.
    let wanted = ["GET /", "GET /a?x=1", "HEAD /b", "GET /", "GET /b", "GET /a?x=1"];
    assert_eq!(asked, wanted);
    assert_eq!(summary["offered"], 6, "{summary}");
    let warnings = summary["warnings"].to_string();
    assert!(warnings.contains("6 requests are replayed; left out: 1 of POST, 1 lines that cannot"));
    // In each second of the run as many as were logged in it.
    assert_eq!(due_by_second(&place), [2, 1, 3]);
}

#[test]
fn a_list_is_asked_by_weight_and_in_order() {
    let place = Place::new();
    place.write("urls.txt", "# path, weight\n/often\t9\n/seldom\t1\n/never\t0\n");
    let tally = |order: &str| {
        let server = Recording::start();
        let url = server.url();
        let load = [&url, "--urls", "urls.txt", "--order", order, "--rate", "100/s", "--for", "2s"];
        let done = place.plimsoll(&[&["load", "--quiet", "--json"], &load[..]].concat());
        done.ran();
        let mut tally: BTreeMap<String, u32> = BTreeMap::new();
        for one in server.asked() {
            *tally.entry(one.line().to_owned()).or_default() += 1;
        }
        tally
    };
    let weighted = tally("weighted");
    assert_eq!(weighted.values().sum::<u32>(), 200);
    assert!((160..=196).contains(&weighted["GET /often"]), "{weighted:?}");
    assert!(!weighted.contains_key("GET /never"), "{weighted:?}");
    let turns = tally("round-robin");
    assert_eq!(turns.values().copied().collect::<Vec<_>>(), [66, 67, 67], "{turns:?}");
    let once = tally("in-order");
    assert_eq!(once.values().copied().collect::<Vec<_>>(), [1, 1, 1], "{once:?}");
}

#[test]
fn headers_and_bodies_are_made_for_each_request() {
    let place = Place::new();
    let server = Recording::start();
    let load = [
        "load",
        &server.url(),
        "--quiet",
        "--rate",
        "20/s",
        "--for",
        "1s",
        "-X",
        "POST",
        "-H",
        "X-Number: n{{counter}}",
        "-H",
        "Content-Type: application/json",
        "--body",
        "{\"id\": \"{{uuid}}\", \"of\": {{random:1..6}}}",
        "--host",
        "shop.example",
        "--connections",
        "1",
    ];
    place.plimsoll(&load).ran();
    let asked = server.asked();
    assert_eq!(asked.len(), 20);
    let mut ids = Vec::new();
    for (number, one) in asked.iter().enumerate() {
        assert_eq!(one.line(), "POST /");
        assert_eq!(one.header("host"), Some("shop.example"));
        assert_eq!(one.header("content-type"), Some("application/json"));
        assert_eq!(one.header("user-agent"), Some(concat!("plimsoll/", env!("CARGO_PKG_VERSION"))));
        let counted: usize = one.header("x-number").unwrap()[1..].parse().unwrap();
        assert!(counted == number || counted == number + 1, "{counted} in place {number}");
        let body: serde_json::Value = serde_json::from_str(&one.body).unwrap();
        assert!((1..=6).contains(&body["of"].as_u64().unwrap()), "{}", one.body);
        ids.push(body["id"].as_str().unwrap().to_owned());
    }
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 20, "{ids:?}");
    assert!(ids.iter().all(|id| id.len() == 36), "{ids:?}");

    // A file is sent as it is, placeholders and all.
    let server = Recording::start();
    place.write("body.txt", "{{counter}}\n");
    let load =
        [&server.url(), "--rate", "5/s", "--for", "1s", "-X", "PUT", "--body-file", "body.txt"];
    place.load(&load).ran();
    assert!(server.asked().iter().all(|one| one.body == "{{counter}}\n"));
}
