//! `--web`: the report of a run in a browser while it goes on.

use crate::place::{Place, SOAK, Target};
use crate::program::{Going, PLIMSOLL, wait_for};
use plimsoll_runs::Run;
use plimsoll_testing::Weight;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What a server answers to a request of these lines; `None` while nobody listens.
fn said(address: &str, head: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    write!(stream, "{head}\r\n\r\n").ok()?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok()?;
    Some(String::from_utf8(answer).unwrap())
}

pub(crate) fn get(address: &str, path: &str) -> Option<String> {
    said(address, &format!("GET {path} HTTP/1.1\r\nHost: {address}"))
}

/// Where a program says that its page is.
fn address(going: &mut Going) -> String {
    wait_for("the page", || {
        let err = going.err();
        assert!(!going.has_ended(), "{err}");
        let line = err.lines().find_map(|line| line.strip_prefix("live page: http://"))?;
        Some(line.strip_suffix('/')?.to_owned())
    })
}

/// A load with a page, and where that is.
pub(crate) fn load(place: &Place, target: &Target, flags: &[&str]) -> (Going, String) {
    let url = target.url();
    let arguments = [&["load", &url, "--quiet"], flags].concat();
    let mut going = place.start(place.command(PLIMSOLL, &arguments));
    let address = address(&mut going);
    (going, address)
}

/// Takes all events from a version of the page on, to their end.
pub(crate) fn events(address: &str, path: &str) -> JoinHandle<String> {
    let (address, path) = (address.to_owned(), path.to_owned());
    std::thread::spawn(move || get(&address, &path).expect("a stream"))
}

/// The path of the events that a page names.
pub(crate) fn path_of(page: &str) -> String {
    let (_, rest) = page.split_once("data-events=\"").expect("it names its events");
    format!("/{}", rest.split('"').next().unwrap())
}

/// The body of an answer; where it came in chunks, without what tells of them.
fn body(answer: &str) -> String {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    if !head.to_ascii_lowercase().contains("transfer-encoding: chunked") {
        return body.to_owned();
    }
    let (mut out, mut left) = (String::new(), body);
    while let Some((size, rest)) = left.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        out.push_str(&rest[..size]);
        left = &rest[size + 2..];
    }
    out
}

/// Events by name, each with its data.
pub(crate) fn parsed(stream: &str) -> Vec<(String, String)> {
    let body = body(stream);
    let one = |event: &str| {
        let of = |field: &str| {
            let lines = event.lines().filter_map(|line| line.strip_prefix(field));
            lines.collect::<Vec<_>>().join("\n")
        };
        let name = of("event: ");
        (!name.is_empty()).then(|| (name, of("data: ")))
    };
    body.split("\n\n").filter_map(one).collect()
}

/// What each part of the page last was.
fn last_parts(events: &[(String, String)]) -> BTreeMap<&str, &str> {
    let parts = events.iter().filter(|(name, _)| name == "part");
    parts.map(|(_, data)| data.split_once('\n').unwrap()).collect()
}

#[test]
fn the_page_is_whole_at_once_grows_by_events_and_ends_with_the_run() {
    let place = Place::new();
    let target = place.calm();
    let flags = ["--rate", "50/s", "--for", SOAK, "--slo", "p90<5s", "--web"];
    let (mut going, address) = load(&place, &target, &flags);
    // Its first second is too little to judge by.
    let is_judged = |page: &String| {
        page.contains("The run goes on") && !page.contains("Not judged: p90&lt;5s.")
    };
    let page = wait_for("a verdict so far", || get(&address, "/").filter(is_judged));
    // Drawn anew, as a second has gone by.
    // tidy: allow(waits, the page is drawn once a second)
    std::thread::sleep(Duration::from_millis(1100));
    let began = Instant::now();
    let again = get(&address, "/").unwrap();
    println!("the page of {} bytes took {:?}", again.len(), began.elapsed());
    let head = page.split("\r\n\r\n").next().unwrap();
    assert!(head.contains("connect-src 'self'") && head.contains("no-store"), "{head}");
    let page = body(&page);
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"), "{page}");
    // On a busy machine it may not be valid so far, and says so.
    assert!(
        page.contains("Valid so far. p90&lt;5s held.") || page.contains("Not valid: "),
        "{page}"
    );
    assert!(page.contains("id=\"response\"") && page.contains("id=\"plan\""), "{page}");
    for outside in ["src=", "href=\"http", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
    let (stream, whole) = (events(&address, &path_of(&page)), events(&address, "/events/other-9"));
    let seconds = |run: &Path| Run::open(run).unwrap().intervals().unwrap().len();
    let run = place.loads(&mut going);
    let before = seconds(&run);
    wait_for("six more seconds", || (seconds(&run) > before + 6).then_some(()));
    let done = place.stopped(going);
    let (stream, whole) = (stream.join().unwrap(), whole.join().unwrap());
    done.ran().says(&["report: "]);
    assert!(TcpStream::connect(&address).is_err(), "it ends with the run");

    assert!(stream.contains("content-type: text/event-stream\r\n"), "{stream}");
    let told = parsed(&stream);
    let count = |name: &str| told.iter().filter(|(of, _)| of == name).count();
    assert!(count("drawn") >= 2 && count("now") >= 3, "{stream}");
    assert_eq!((count("end"), told.last().unwrap().0.as_str()), (1, "end"));
    let lines = told.iter().filter(|(name, _)| name == "now");
    assert!(lines.clone().any(|(_, text)| text.contains(" s of 20 m 00 s measuring")), "{stream}");
    // The plan has not changed since the page was taken, and so is not told again.
    let parts = last_parts(&told);
    assert!(parts.contains_key("header") && parts.contains_key("#load"), "{stream}");
    assert!(!parts.contains_key("#plan") && !parts.contains_key("main"), "{stream}");

    // What was told last is the report, which is kept and no other than `plimsoll report` makes.
    let run = place.run();
    let kept = std::fs::read_to_string(run.join("artifacts/report.html")).unwrap();
    assert!(parts.values().all(|part| kept.contains(part)), "{kept}");
    assert!(kept.contains("p90&lt;5s held.") && !kept.contains("goes on"), "{kept}");
    let run = run.to_str().unwrap().to_owned();
    place.plimsoll(&["report", &run, "-o", "anew.html"]).ended_with(0);
    assert_eq!(kept, std::fs::read_to_string(place.path("anew.html")).unwrap());
    // Who has another page is told of all of this one.
    let all = parsed(&whole);
    assert!(last_parts(&all[..2]).contains_key("main"), "{whole}");
    // Reading it while it was written has left nothing behind.
    let left: Vec<_> = std::fs::read_dir(&run).unwrap().map(|of| of.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_str().unwrap().ends_with("-wal")), "{left:?}");
}

#[test]
fn who_names_no_loopback_asks_for_something_else_or_wants_to_change_it_is_refused() {
    let place = Place::new();
    let target = place.calm();
    let (going, address) = load(&place, &target, &["--rate", "5/s", "--for", SOAK, "--web"]);
    let port = address.rsplit_once(':').unwrap().1;
    for (head, status) in [
        ("GET / HTTP/1.1\r\nHost: evil.example", "421"),
        ("GET / HTTP/1.1\r\nHost: 192.0.2.1", "421"),
        ("GET /events/0 HTTP/1.1\r\nHost: evil.example", "421"),
        ("GET / HTTP/1.0", "421"),
        (&format!("GET / HTTP/1.1\r\nHost: localhost:{port}"), "200"),
        (&format!("HEAD / HTTP/1.1\r\nHost: [::1]:{port}"), "200"),
        (&format!("POST / HTTP/1.1\r\nHost: localhost:{port}\r\nContent-Length: 0"), "405"),
        (&format!("GET /plan.toml HTTP/1.1\r\nHost: localhost:{port}"), "404"),
    ] {
        let answer = said(&address, head).unwrap();
        assert_eq!(answer.split(' ').nth(1), Some(status), "{head}: {answer}");
        if status != "200" {
            assert!(!answer.contains("<html"), "{answer}");
        }
    }
    place.stopped(going).ran();
}

#[test]
fn a_page_is_served_on_the_loopback_only_and_where_there_is_room() {
    let place = Place::weighing(Weight::WAITS);
    let load = ["load", "http://127.0.0.1:9/", "--rate", "1/s", "--for", "1s", "--web"];
    for wrong in ["0.0.0.0:8089", "192.0.2.1:8089", "[::]:8089"] {
        let done = place.plimsoll(&[&load[..], &[wrong]].concat()).ended_with(2);
        done.says(&[&format!("serve the page on {wrong}: "), "hint: ", "on this host only"]);
    }
    for wrong in ["http://127.0.0.1:9/", "70000", "here:80"] {
        let done = place.plimsoll(&[&load[..], &[wrong]].concat()).ended_with(2);
        done.says(&["--web", "a port or a loopback address"]);
    }
    let taken = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let _taken = TcpListener::bind(taken).unwrap();
    let done = place.plimsoll(&[&load[..], &[&taken.to_string()]].concat()).ended_with(4);
    done.says(&[&format!("serve the page at {taken}: "), "in use", "another --web"]);
    assert!(!place.path("runs").exists(), "nothing has begun");
}

/// Replications follow each other on one page, and in the end it is that of all of them; it stays
/// until it is interrupted, where that is wanted.
#[test]
fn a_plan_of_several_runs_has_one_page_that_may_stay() {
    let place = Place::new();
    let target = place.calm();
    let url = target.url();
    let plan = format!(
        "name = \"twice\"\nrepeat = 2\n[target]\nurl = \"{url}\"\n\
         [load]\nrate = \"20/s\"\nfor = \"3s\"\n"
    );
    place.write("plan.toml", plan);
    let arguments = ["run", "plan.toml", "--quiet", "--web", "--web-stay"];
    let mut going = place.start(place.command(PLIMSOLL, &arguments));
    let address = address(&mut going);
    let page = get(&address, "/").unwrap();
    assert!(page.contains("<h1>twice</h1>"), "{page}");
    let told = events(&address, &path_of(&page)).join().unwrap();
    let told = parsed(&told);
    let runs = |of: &str| {
        let parts = told.iter().filter(|(name, _)| name == "part");
        parts.filter(|(_, data)| data.contains(of)).count()
    };
    let experiment = place.run();
    let id = experiment.file_name().unwrap().to_str().unwrap().to_owned();
    assert!(runs(&format!("{id}/0001")) > 0 && runs(&format!("{id}/0002")) > 0, "{told:?}");
    let kept =
        wait_for("the kept page", || std::fs::read_to_string(experiment.join("report.html")).ok());
    let stays = get(&address, "/").unwrap();
    assert_eq!(body(&stays), kept);
    assert!(stays.contains("script-src") && !stays.contains("connect-src"), "{stays}");
    assert!(!going.has_ended());
    going.signal(rustix::process::Signal::INT);
    going.wait().ran().says(&["interrupt (Ctrl-C) to end"]);
}

/// Chromium looks at the page: parts are exchanged under what the user has opened and chosen.
#[test]
fn a_browser_shows_the_page_as_it_grows_and_the_report_in_the_end() {
    let name = "a_browser_shows_the_page_as_it_grows_and_the_report_in_the_end";
    if !crate::scenarios::has_browser(name) {
        return;
    }
    let place = Place::weighing(Weight::COMPUTES);
    let target = place.target(&["--service-time", "exp:5ms", "--workers", "100"]);
    // tidy: allow(waits, the browser looks at a load that ends before its eyes)
    let flags = ["--rate", "200/s", "--for", "30s", "--web", "--name", "watched"];
    let (going, address) = load(&place, &target, &flags);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/node/watch_page.js");
    let url = format!("http://{address}/");
    let mut command = place.command("node", &[script, "chromium", &url, "profile", "seen.json"]);
    command.env("HOME", place.path(""));
    place.start(command).wait().ended_with(0);
    going.wait().ran();
    let seen = std::fs::read_to_string(place.path("seen.json")).unwrap();
    let seen: serde_json::Value = serde_json::from_str(&seen).unwrap();
    assert_eq!(seen["faults"], serde_json::json!([]), "{seen:#}");
    assert_ne!(seen["first"], seen["later"], "{seen:#}");
    assert_eq!((&seen["isOpen"], &seen["isChosen"]), (&true.into(), &true.into()), "{seen:#}");
    for held in ["isDragged", "isBack", "isCloser", "isOff"] {
        assert_eq!(seen[held], true, "{held}: {seen:#}");
    }
    let text = |key: &str| seen[key].as_str().unwrap().to_owned();
    assert!(text("says").starts_with("Live ") && text("says").contains(" of 30 s"), "{seen:#}");
    assert!(text("readout").contains("offered"), "{seen:#}");
    assert_eq!(text("readout"), text("stillThere"));
    assert!(text("ended").contains("alid") && !text("ended").contains("goes on"), "{seen:#}");
    let kept = std::fs::read_to_string(place.run().join("artifacts/report.html")).unwrap();
    assert!(kept.contains("6,000 due") && text("main").contains("Response time"), "{seen:#}");
}

/// A search has its page while it goes on, with the windows so far, and its report in the end.
#[test]
fn a_search_has_a_page_while_it_goes_on() {
    let place = Place::new();
    let target = place.target(&["--service-time", "exp:4ms", "--workers", "8"]);
    let url = target.url();
    let search = ["capacity", &url, "--slo", "p90<30ms", "--max-time", "8s", "--quiet"];
    let refused = place.plimsoll(&[&search[..], &["--web", "0.0.0.0:0"]].concat());
    refused.ended_with(2).says(&["on this host only"]);
    let mut going = place.start(place.command(PLIMSOLL, &[&search[..], &["--web"]].concat()));
    let address = address(&mut going);
    let has_windows = |page: &String| page.contains("id=\"staircase-0\"");
    let page = wait_for("windows so far", || get(&address, "/").filter(has_windows));
    assert!(page.contains("is still going on. These are the windows up to then."), "{page}");
    let told = parsed(&events(&address, &path_of(&page)).join().unwrap());
    assert!(told.iter().any(|(name, text)| name == "now" && text.contains(" offered")), "{told:?}");
    assert_eq!(told.last().unwrap().0, "end");
    let done = going.wait();
    assert!(matches!(done.code(), Some(0 | 4)), "{}", done.err);
    done.says(&["report: "]);
    assert!(TcpStream::connect(&address).is_err(), "it ends with the search");
    let kept = std::fs::read_to_string(place.run().join("artifacts/report.html")).unwrap();
    let parts = last_parts(&told);
    assert!(parts.values().all(|part| kept.contains(part)), "{kept}");
    assert!(kept.contains("id=\"staircase-0\"") && !kept.contains("still going on"), "{kept}");
}

/// Searches of a series follow each other on one page, which becomes that of the series.
#[test]
fn a_series_of_searches_has_one_page() {
    let place = Place::new();
    let target = place.target(&["--service-time", "exp:4ms", "--workers", "8"]);
    let url = target.url();
    let search = ["capacity", &url, "--slo", "p90<30ms", "--max-time", "3s", "--repeat", "2"];
    let mut going =
        place.start(place.command(PLIMSOLL, &[&search[..], &["--quiet", "--web"]].concat()));
    let address = address(&mut going);
    let page = get(&address, "/").unwrap();
    let told = parsed(&events(&address, &path_of(&page)).join().unwrap());
    let runs = |number: &str| {
        let parts = told.iter().filter(|(name, _)| name == "part");
        parts.filter(|(_, data)| data.contains(number)).count()
    };
    going.wait().says(&["report: "]);
    let left = std::fs::read_dir(place.path("runs")).unwrap();
    let names: Vec<String> =
        left.map(|of| of.unwrap().file_name().into_string().unwrap()).collect();
    let report = names.iter().find_map(|name| name.strip_suffix(".report.html"));
    let series = report.unwrap_or_else(|| panic!("no report among {names:?}"));
    assert!(runs(&format!("{series}-1")) > 0 && runs(&format!("{series}-2")) > 0, "{told:?}");
}

/// Cells of a simulated experiment are shown when they are done, while others go on.
#[test]
fn simulated_cells_are_shown_as_they_are_done() {
    let place = Place::weighing(Weight::COMPUTES);
    let plan = "name = \"pools\"\nrepeat = 40\n[load]\nrate = \"400/s\"\nfor = \"10m\"\n\
                [instance]\nservice = \"exp:10ms\"\n[pool]\nmax = 20\n\
                [policy.few]\nkind = \"fixed\"\nstart = 6\n[policy.more]\nkind = \"fixed\"\n\
                start = 9\n";
    place.write("pools.toml", plan);
    let run = ["run", "pools.toml", "--simulated", "--quiet", "--threads", "1", "--web"];
    let mut going = place.start(place.command(PLIMSOLL, &run));
    let address = address(&mut going);
    let page = get(&address, "/").unwrap();
    let told = parsed(&events(&address, &path_of(&page)).join().unwrap());
    let done = |text: &str| -> Option<u64> {
        let (before, _) = text.split_once(" of 80 cells done")?;
        before.rsplit(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    };
    let is_header =
        |(name, data): &&(String, String)| name == "part" && data.starts_with("header\n");
    let headers: Vec<&String> = told.iter().filter(is_header).map(|(_, data)| data).collect();
    // It is sent where it has changed; last, where all cells are done already, in that all is over.
    assert!(headers.windows(2).all(|pair| pair[0] != pair[1]), "{headers:?}");
    let seen: Vec<u64> = headers.into_iter().filter_map(|data| done(data)).collect();
    let before_the_last = &seen[..seen.len() - 1];
    assert!(before_the_last.windows(2).all(|pair| pair[0] < pair[1]), "{seen:?}");
    assert!(seen.is_sorted(), "{seen:?}");
    assert!(seen.len() >= 2 && seen[0] < 80 && seen.last() == Some(&80), "{seen:?}");
    let lines = told.iter().filter(|(name, text)| name == "now" && text.ends_with(" done."));
    assert!(lines.count() >= 2, "{told:?}");
    going.wait().ran().says(&["report: "]);
    let kept = std::fs::read_to_string(place.run().join("report.html")).unwrap();
    assert!(kept.contains(last_parts(&told)["header"]), "{kept}");
}
