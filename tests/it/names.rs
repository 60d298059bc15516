//! Figures by name, request lists, so many requests.

use crate::paths::Paths;
use crate::place::Place;
use crate::program::{PLIMSOLL, wait_for};
use plimsoll_testing::{Weight, free_address};
use serde_json::Value;

pub(crate) fn named<'a>(summary: &'a Value, name: &str) -> &'a Value {
    let mut all = summary["by_name"].as_array().unwrap().iter();
    all.find(|of| of["name"] == name).unwrap_or_else(|| panic!("no {name} in {summary}"))
}

pub(crate) fn names(summary: &Value) -> Vec<&str> {
    let all = summary["by_name"].as_array().unwrap().iter();
    all.map(|of| of["name"].as_str().unwrap()).collect()
}

/// Fails unless the figures by name add up to those of all.
#[track_caller]
pub(crate) fn assert_adds_up(summary: &Value) {
    let sum = |key: &str| -> u64 {
        let all = summary["by_name"].as_array().unwrap().iter();
        all.map(|of| of[key].as_u64().unwrap()).sum()
    };
    assert_eq!(sum("count"), summary["offered"].as_u64().unwrap(), "{summary}");
    assert_eq!(sum("succeeded"), summary["succeeded"].as_u64().unwrap(), "{summary}");
    assert_eq!(sum("bytes_in"), summary["bytes"]["in"].as_u64().unwrap(), "{summary}");
    let all = summary["by_name"].as_array().unwrap();
    for (kind, n) in summary["errors"].as_object().unwrap() {
        let of_kind = all.iter().map(|of| of["failures"][kind].as_u64().unwrap_or(0)).sum::<u64>();
        assert_eq!(of_kind, n.as_u64().unwrap(), "{kind} of {summary}");
    }
    let answered: u64 = all.iter().map(|of| of["response_us"]["count"].as_u64().unwrap()).sum();
    assert_eq!(answered, summary["response_us"]["count"].as_u64().unwrap());
}

#[test]
fn failures_are_told_by_name_wherever_figures_are() {
    let place = Place::new();
    let server = Paths::start();
    place.write("list.csv", "url,name\n/,home\n/status/503,broken\n/moved,gone\n");
    let run = ["--urls", "list.csv", "--rate", "90/s", "--for", "2s", "--ok", "200,302"];
    let done = place.load(&[&[server.url().as_str()], &run[..], &["--json"]].concat());
    let summary = done.json();
    assert_eq!(names(&summary), ["home", "broken", "gone"]);
    assert_adds_up(&summary);
    let broken = named(&summary, "broken");
    assert_eq!(broken["failures"], serde_json::json!({ "status": 60 }), "{broken}");
    assert_eq!((&broken["errors"], &broken["succeeded"]), (&60.into(), &0.into()));
    assert_eq!(named(&summary, "gone")["redirects"], 60);
    assert_eq!(named(&summary, "home")["redirects"], 0);

    let folder = place.run();
    let path = folder.to_str().unwrap();
    let shown = place.plimsoll(&["runs", "show", path]).ended_with(0);
    assert!(shown.out.contains("by name") && shown.out.contains("broken"), "{}", shown.out);
    let table = place.plimsoll(&["export", path, "--format", "names-csv"]).ended_with(0).out;
    let rows: Vec<&str> = table.lines().collect();
    assert!(rows[0].starts_with("name,kind,names,count,succeeded,errors,failures,redirects"));
    assert!(rows[2].starts_with("broken,request,,60,0,60,status:60,0,"), "{}", rows[2]);
    place.plimsoll(&["report", path, "-o", "page.html"]).ended_with(0);
    let page = std::fs::read_to_string(place.path("page.html")).unwrap();
    assert!(page.contains("By name") && page.contains("broken"));
    // The folder tells the same without its summary.
    std::fs::remove_file(folder.join("summary.json")).unwrap();
    let rebuilt = place.plimsoll(&["runs", "show", path, "--json"]).ended_with(0).json();
    assert_eq!(rebuilt["by_name"], summary["by_name"]);
    // One URL alone has no names.
    let one = place.load(&[&server.url(), "--rate", "50/s", "--for", "1s", "--json"]).json();
    assert_eq!(one.get("by_name"), None);
}

#[test]
fn names_are_merged_across_threads_and_told_live() {
    let place = Place::new();
    let server = Paths::start();
    place.write("list.csv", "url,name,weight\n/a,often,3\n/b,seldom,1\n");
    let (url, address) = (server.url(), free_address().to_string());
    let load = [
        "load",
        &url,
        "--urls",
        "list.csv",
        "--rate",
        "400/s",
        "--for",
        "12s",
        "--threads",
        "2",
        "--prometheus",
        &address,
    ];
    let going = place.start(place.command(PLIMSOLL, &load));
    let page = wait_for("figures by name", || {
        let mut stream = std::net::TcpStream::connect(&address).ok()?;
        std::io::Write::write_all(&mut stream, b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
            .ok()?;
        let mut text = String::new();
        std::io::Read::read_to_string(&mut stream, &mut text).ok()?;
        text.contains("plimsoll_name_requests_total{name=\"seldom\"}").then_some(text)
    });
    assert!(page.contains("# TYPE plimsoll_name_response_seconds histogram"), "{page}");
    assert!(page.contains("plimsoll_name_response_seconds_count{name=\"often\"}"), "{page}");
    let done = going.wait();
    assert!(done.err.contains("often: ") && done.err.contains("seldom: "), "{}", done.err);
    let path = place.run();
    let summary = place.plimsoll(&["runs", "show", path.to_str().unwrap(), "--json"]).json();
    assert_adds_up(&summary);
    let count = |name: &str| named(&summary, name)["count"].as_f64().unwrap();
    let share = count("often") / (count("often") + count("seldom"));
    assert!((share - 0.75).abs() < 0.05, "{share}");
}

#[test]
fn what_was_never_sent_has_a_name_too() {
    let place = Place::new();
    let server = Paths::start();
    place.write("list.txt", "/wait/400\n/a\n");
    let done = place.load(&[
        &server.url(),
        "--urls",
        "list.txt",
        "--rate",
        "100/s",
        "--for",
        "2s",
        "--connections",
        "1",
        "--max-waiting",
        "3",
        "--drain",
        "500ms",
        "--json",
    ]);
    let summary = done.json();
    assert!(summary["errors"]["client_saturated"].as_u64().unwrap() > 100, "{summary}");
    assert_adds_up(&summary);
    let dropped = &named(&summary, "/a")["failures"]["client_saturated"];
    assert!(dropped.as_u64().unwrap() > 40, "{summary}");
}

#[test]
fn replays_are_told_by_the_pattern_of_their_paths() {
    let place = Place::new();
    let server = Paths::start();
    let line = |n: u32, path: String| {
        format!(
            "10.0.0.1 - - [20/Nov/2026:10:00:0{} +0000] \"GET {path} HTTP/1.1\" 200 5\n",
            n / 50
        )
    };
    let log: String = (0..150)
        .map(|n| match n % 3 {
            0 => line(n, format!("/items/{n}?from=list")),
            1 => line(n, format!("/img/{n}.png")),
            _ => line(n, "/about".to_owned()),
        })
        .collect();
    place.write("access.log", log);
    let done = place.load(&[&server.url(), "--replay", "access.log", "--json"]);
    let summary = done.json();
    assert_eq!(names(&summary), ["/items/{id}", "/img/{id}.png", "/about"]);
    assert_adds_up(&summary);
    assert_eq!(named(&summary, "/items/{id}")["count"], 50);
}

#[test]
fn a_thousand_names_have_figures_and_the_rest_share_theirs() {
    let place = Place::new();
    let server = Paths::start();
    let list: String = (0..1_020).map(|n| format!("/p{n}\n")).collect();
    place.write("long.txt", list);
    let done = place.load(&[
        &server.url(),
        "--urls",
        "long.txt",
        "--order",
        "in-order",
        "--rate",
        "600/s",
        "--for",
        "2s",
        "--json",
    ]);
    let summary = done.json();
    assert_eq!(summary["by_name"].as_array().unwrap().len(), 1_001);
    let other = summary["by_name"].as_array().unwrap().last().unwrap();
    assert_eq!((&other["name"], &other["names"]), (&"other".into(), &20.into()));
    assert_eq!(other["count"], 20, "{other}");
    assert_adds_up(&summary);
    let said = summary["warnings"].as_array().unwrap().iter();
    assert!(said.clone().any(|of| of.as_str().unwrap().contains("20 more count under `other`")));
}

/// The same three requests in each form.
const FORMS: [(&str, &str); 3] = [
    (
        "list.csv",
        "url,method,header:X-Kind,body,name,weight\n\
         /items?a=1,,,,front,2\n\
         /buy,POST,own,\"{\"\"n\"\": {{counter}}}\",buy,1\n\
         /drop,DELETE,,,,0.5\n",
    ),
    (
        "list.jsonl",
        "{\"url\": \"/items?a=1\", \"name\": \"front\", \"weight\": 2}\n\
         # a comment\n\
         {\"path\": \"/buy\", \"method\": \"POST\", \"headers\": {\"X-Kind\": \"own\"}, \
         \"body\": \"{\\\"n\\\": {{counter}}}\", \"name\": \"buy\"}\n\
         {\"url\": \"/drop\", \"method\": \"DELETE\", \"weight\": 0.5}\n",
    ),
    (
        "targets.txt",
        "# name: front\nGET /items?a=1\n\n# name: buy\nPOST /buy\nX-Kind: own\n@body.json\n\n\
         DELETE /drop\n",
    ),
];

#[test]
fn request_lists_of_every_form_are_asked_as_they_stand() {
    let place = Place::new();
    let server = Paths::start();
    place.write("body.json", "{\"n\": 0}");
    for (file, text) in FORMS {
        place.write(file, text);
        let done = place.plimsoll(&[
            "load",
            "--quiet",
            &server.url(),
            "--urls",
            file,
            "--order",
            "round-robin",
            "-H",
            "X-Kind: all",
            "-n",
            "30",
            "--users",
            "1",
            "--json",
        ]);
        let summary = done.json();
        assert_eq!(names(&summary), ["front", "buy", "DELETE /drop"], "{file}");
        assert_eq!(summary["sent"], 30, "{file}");
        let asked = server.asked().requests;
        assert_eq!(asked.len(), 30, "{file}");
        assert!(asked[0].starts_with("GET /items?a=1 HTTP/1.1\r\n"), "{}", asked[0]);
        assert!(asked[0].contains("X-Kind: all\r\n"), "{}", asked[0]);
        assert!(asked[1].starts_with("POST /buy ") && asked[1].contains("X-Kind: own\r\n"));
        assert!(!asked[1].contains("X-Kind: all"), "its own comes first: {}", asked[1]);
        assert!(asked[1].contains("{\"n\": "), "{}", asked[1]);
        assert!(asked[2].starts_with("DELETE /drop "), "{}", asked[2]);
    }
}

#[test]
fn what_is_wrong_with_a_list_is_said_with_its_place() {
    let place = Place::weighing(Weight::WAITS);
    for (file, text, parts) in [
        ("a.csv", "url,method\n/a,GET\n/b,get\n", &["a.csv:3:4:", "write GET"][..]),
        ("b.csv", "url,nmae\n/a,x\n", &["b.csv:1:5:", "did you mean `name`?"]),
        ("c.csv", "url,name\n/a,x,y\n", &["c.csv:2:6:", "2 columns"]),
        ("d.csv", "url,name\n/a,\"x\n", &["d.csv:2:4:", "closing quote"]),
        (
            "e.jsonl",
            "{\"url\": \"/a\"}\n{\"url\": \"/b\", \"mthod\": \"GET\"}\n",
            &["e.jsonl:2:", "`method`"],
        ),
        ("f.jsonl", "{\"url\": \"/a\"\n", &["f.jsonl:1:", "JSON"]),
        ("g.txt", "GET /a\nX: 1\n\nGET /b\nno header\n", &["g.txt:5:1:", "header"]),
        ("h.txt", "GET /a\n@missing.json\n", &["h.txt:2:2:", "missing.json"]),
    ] {
        place.write(file, text);
        let args = ["load", "http://127.0.0.1:9/", "--urls", file, "--rate", "5/s", "--for", "1s"];
        place.plimsoll(&args).ended_with(2).says(parts);
    }
}

#[test]
fn so_many_requests_are_sent_and_no_more() {
    let place = Place::new();
    let server = Paths::start();
    let url = server.url();
    for shape in [
        &["--users", "3", "--threads", "2"][..],
        &["--users", "1", "--connections", "4", "--threads", "4"],
        &["--rate", "500/s"],
        &["--rate", "500/s", "--arrivals", "poisson", "--threads", "3"],
    ] {
        let load = ["load", "--quiet", &url, "-n", "101", "--json"];
        let done = place.plimsoll(&[&load[..], shape].concat());
        let summary = done.json();
        assert_eq!(summary["sent"], 101, "{shape:?}: {summary}");
        assert_eq!(summary["run"]["ended"], "complete");
        assert_eq!(server.asked().requests.len(), 101, "{shape:?}");
        assert!(summary["duration_s"].as_f64().unwrap() < 60.0, "{summary}");
    }
    // Whichever comes first.
    let done = place.load(&[&url, "-n", "1M", "--rate", "50/s", "--for", "1s", "--json"]);
    assert_eq!(done.json()["offered"], 50);
    let plan = format!("[target]\nurl = '{url}'\n[load]\nusers = 2\nrequests = 12\n");
    place.write("plan.toml", plan);
    let done = place.plimsoll(&["load", "plan.toml", "--quiet", "--json"]);
    assert_eq!(done.json()["sent"], 12);
}
