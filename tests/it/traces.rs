//! `traceparent`: what servers are sent, and which of the slowest requests are named.

use crate::nginx::nginx;
use crate::place::Place;
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};

/// A request as the server saw it.
#[derive(Debug, Clone)]
struct Seen {
    path: String,
    /// The values of its headers `traceparent`, in whatever case.
    values: Vec<String>,
    /// Those of `X-Trace`.
    others: Vec<String>,
}

#[derive(Default)]
struct State {
    seen: Vec<Seen>,
    answered: usize,
}

/// A server that keeps what it was sent. `/slow` is answered when so many others were.
struct Server {
    address: SocketAddr,
    state: Arc<(Mutex<State>, Condvar)>,
}

impl Server {
    fn start(others: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new((Mutex::new(State::default()), Condvar::new()));
        let of = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&of);
                std::thread::spawn(move || serve(&stream, &state, others));
            }
        });
        Self { address, state }
    }

    fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// What it saw so far, which it then forgets.
    fn seen(&self) -> Vec<Seen> {
        std::mem::take(&mut self.state.0.lock().unwrap().seen)
    }
}

fn serve(stream: &TcpStream, (state, answered): &(Mutex<State>, Condvar), others: usize) {
    stream.set_nodelay(true).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    while let Some(seen) = request(&mut reader) {
        let path = seen.path.clone();
        let mut state = state.lock().unwrap();
        state.seen.push(seen);
        if path == "/slow" {
            state = answered.wait_while(state, |state| state.answered < others).unwrap();
        }
        let head = match path.as_str() {
            "/moved" => "302 Found\r\nLocation: /home",
            "/gone" => "404 Not Found",
            _ => "200 OK",
        };
        let mut out = stream;
        let answer = format!("HTTP/1.1 {head}\r\nContent-Length: 2\r\n\r\nok");
        if out.write_all(answer.as_bytes()).is_err() {
            return;
        }
        state.answered += 1;
        answered.notify_all();
    }
}

fn request(reader: &mut impl BufRead) -> Option<Seen> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut seen = Seen { path, values: Vec::new(), others: Vec::new() };
    loop {
        line.clear();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line == "\r\n" {
            return Some(seen);
        }
        let (name, value) = line.split_once(':')?;
        match name.to_ascii_lowercase().as_str() {
            "traceparent" => seen.values.push(value.trim().to_owned()),
            "x-trace" => seen.others.push(value.trim().to_owned()),
            _ => {}
        }
    }
}

/// The trace id of a value and whether it is to be recorded, if it is one (Trace Context, section
/// 3.2.2).
fn read(value: &str) -> Option<(&str, bool)> {
    let is_hex = |text: &str, length: usize| {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        text.len() == length && text.bytes().all(is_digit) && text.bytes().any(|byte| byte != b'0')
    };
    let parts: Vec<&str> = value.split('-').collect();
    let ["00", trace, parent, flags @ ("00" | "01")] = parts[..] else { return None };
    (is_hex(trace, 32) && is_hex(parent, 16)).then_some((trace, flags == "01"))
}

/// The trace ids with the flag, and those without; each request has exactly one valid value, and no
/// two have the same id.
fn split(seen: &[Seen]) -> (BTreeSet<&str>, BTreeSet<&str>) {
    let (mut sampled, mut others) = (BTreeSet::new(), BTreeSet::new());
    for of in seen {
        let [value] = &of.values[..] else { panic!("one value: {of:?}") };
        let (id, is_sampled) = read(value).unwrap_or_else(|| panic!("a valid value: {of:?}"));
        let is_new = if is_sampled { sampled.insert(id) } else { others.insert(id) };
        assert!(is_new, "{of:?} twice");
    }
    assert!(sampled.is_disjoint(&others));
    (sampled, others)
}

/// The trace ids of the slowest, as a summary has them.
fn slowest(summary: &Value) -> Vec<&str> {
    let all = summary["slowest_traces"].as_array().map_or(&[][..], Vec::as_slice);
    all.iter().map(|of| of["trace_id"].as_str().unwrap()).collect()
}

/// The slow one is asked for first, and answered after all others: none took as long.
#[test]
fn the_slowest_by_the_server_is_the_first_and_each_is_one_that_was_to_be_recorded() {
    let place = Place::new();
    let server = Server::start(39);
    let list = format!("url,name\n/slow,slow one\n{}", "/gone,\n".repeat(39));
    place.write("list.csv", list);
    let url = server.url();
    let load =
        [url.as_str(), "--urls", "list.csv", "--order", "in-order", "--users", "2", "-n", "40"];
    let more = ["-t", "1", "--traceparent", "all", "--samples", "--json", "--timeout", "10m"];
    let summary = place.load(&[&load[..], &more].concat()).ran().json();
    let seen = server.seen();
    let (sampled, others) = split(&seen);
    assert_eq!((sampled.len(), others.len()), (40, 0));
    let slow = slowest(&summary);
    assert_eq!(slow.len(), 20, "{summary}");
    assert!(slow.iter().all(|id| sampled.contains(id)), "{summary}");
    let of_slow = seen.iter().find(|of| of.path == "/slow").unwrap();
    assert_eq!(Some(slow[0]), read(&of_slow.values[0]).map(|(id, _)| id), "{summary}");
    let all = summary["slowest_traces"].as_array().unwrap();
    let times: Vec<f64> = all.iter().map(|of| of["response_us"].as_f64().unwrap()).collect();
    assert!(times.is_sorted_by(|a, b| a >= b), "{summary}");
    assert_eq!(summary["response_us"]["max"], all[0]["response_us"]);
    let first = (&all[0]["status"], &all[0]["error"], &all[0]["name"], &all[0]["due_s"]);
    assert_eq!(first, (&200.into(), &Value::Null, &"slow one".into(), &0.0.into()), "{summary}");
    assert_eq!((&all[1]["status"], &all[1]["error"]), (&404.into(), &"status".into()));
    // A run that is kept has them, and so has its page.
    let run = place.run();
    let path = run.to_str().unwrap();
    let shown = place.plimsoll(&["runs", "show", path, "--json"]).ended_with(0).json();
    assert_eq!(shown["slowest_traces"], summary["slowest_traces"]);
    let table = place.plimsoll(&["runs", "show", path]).ended_with(0);
    table.prints(&["slowest traces", slow[0], slow[3], "and 16 more"]);
    assert!(!table.out.contains(slow[4]), "{}", table.out);
    place.plimsoll(&["report", path, "-o", "page.html"]).ended_with(0);
    let page = std::fs::read_to_string(place.path("page.html")).unwrap();
    assert!(slow.iter().all(|id| page.contains(id)) && page.contains("Slowest traces"));
    // Each sample has its trace.
    let lines = place.plimsoll(&["export", path, "--format", "samples-jsonl"]).ended_with(0).out;
    let of_samples: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ids: BTreeSet<&str> = of_samples.iter().filter_map(|of| of["trace_id"].as_str()).collect();
    assert_eq!(ids, sampled);
    let csv = place.plimsoll(&["export", path, "--format", "samples-csv"]).ended_with(0).out;
    assert!(csv.lines().next().unwrap().ends_with(",trace_id"), "{csv}");
}

#[test]
fn no_request_has_two_and_no_run_repeats_one() {
    let place = Place::new();
    let server = Server::start(0);
    let url = server.url();
    let load = |more: &[&str]| {
        let load = [url.as_str(), "-n", "300", "--users", "4", "-t", "2", "--seed", "7", "--json"];
        let summary = place.load(&[&load[..], more].concat()).ran().json();
        (summary, server.seen())
    };
    let (first, second) = (load(&["--traceparent", "20%"]), load(&["--traceparent", "20%"]));
    let all = [first.1.clone(), second.1].concat();
    let (sampled, others) = split(&all);
    assert_eq!(sampled.len() + others.len(), 600);
    let slow = slowest(&first.0);
    assert!(!slow.is_empty() && slow.iter().all(|id| sampled.contains(id)), "{slow:?}");
    // Nobody is asked to record, and yet each has one.
    let (summary, seen) = load(&["--traceparent", "0%"]);
    assert_eq!((split(&seen).0.len(), slowest(&summary).len()), (0, 0));
    // Who has the header keeps it, in whatever case, and is none of ours.
    let own = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let (summary, seen) = load(&["--traceparent", "all", "-H", &format!("TraceParent: {own}")]);
    assert!(seen.iter().all(|of| of.values == [own]), "{:?}", seen[0]);
    assert_eq!(slowest(&summary).len(), 0);
    // The word alone, in a header of another name: one in a hundred, and no header besides.
    let (_, seen) = load(&["-H", "X-Trace: {{traceparent}}"]);
    assert!(seen.iter().all(|of| of.values.is_empty() && of.others.len() == 1));
    let flags = seen.iter().filter(|of| read(&of.others[0]).unwrap().1).count();
    assert!(flags < 30, "{flags} of 300 at 1%");
    // The same twice within one request.
    let (_, seen) = load(&["--traceparent", "all", "-H", "X-Trace: {{traceparent}}"]);
    assert!(seen.iter().all(|of| of.values == of.others), "{:?}", seen[0]);
    split(&seen);
    // Without either there is nothing.
    let (summary, seen) = load(&[]);
    assert!(seen.iter().all(|of| of.values.is_empty()));
    assert_eq!(summary.get("slowest_traces"), None);
}

#[test]
fn a_redirect_is_kept_under_the_id_that_was_sent_last() {
    let place = Place::new();
    let server = Server::start(0);
    let url = format!("{}moved", server.url());
    let load = [url.as_str(), "-n", "10", "--users", "1", "--follow", "3", "--traceparent", "all"];
    let summary = place.load(&[&load[..], &["--json"]].concat()).ran().json();
    let seen = server.seen();
    assert_eq!((seen.len(), &summary["redirects"]), (20, &10.into()));
    for hops in seen.chunks(2) {
        assert_eq!([&*hops[0].path, &hops[1].path], ["/moved", "/home"]);
        assert_eq!((hops[0].values.len(), &hops[0].values), (1, &hops[1].values));
    }
    let last: Vec<Seen> = seen.into_iter().filter(|of| of.path == "/home").collect();
    let slow: BTreeSet<&str> = slowest(&summary).into_iter().collect();
    assert_eq!(slow, split(&last).0);
}

const SHOP: &str = r#"
[[step]]
name = "home"
get = "/home"
[[step]]
name = "moved"
get = "/moved"
follow = 1
[[step]]
name = "own"
get = "/own"
headers = { TraceParent = "{{traceparent}}", X-Trace = "{{traceparent}}" }
"#;

#[test]
fn users_are_traced_by_each_request() {
    let place = Place::new();
    let server = Server::start(0);
    place.write("shop.toml", SHOP);
    let url = server.url();
    let load = |more: &[&str]| {
        let load = [url.as_str(), "--scenario", "shop.toml", "--users", "2", "-n", "8", "--json"];
        let summary = place.load(&[&load[..], more].concat()).ran().json();
        (summary, server.seen())
    };
    let (summary, seen) = load(&["--traceparent", "all"]);
    assert_eq!(seen.len(), 8 * 4, "{summary}");
    let (moved, others): (Vec<Seen>, Vec<Seen>) =
        seen.into_iter().partition(|of| of.path == "/moved");
    let (sampled, _) = split(&others);
    assert_eq!((sampled.len(), moved.len()), (24, 8));
    // What follows a redirect has its id: the server saw it last at the end of the way.
    assert!(moved.iter().all(|of| sampled.contains(read(&of.values[0]).unwrap().0)));
    for of in others.iter().filter(|of| of.path == "/own") {
        assert_eq!(of.values, of.others, "the same within a request");
    }
    let slow = slowest(&summary);
    assert_eq!(slow.len(), 20, "{summary}");
    assert!(slow.iter().all(|id| sampled.contains(id)), "{summary}");
    let names = summary["slowest_traces"].as_array().unwrap().iter().map(|of| &of["name"]);
    assert!(names.into_iter().all(Value::is_string), "{summary}");
    // The word alone: those steps that have it, and one of each hundred.
    let (_, seen) = load(&[]);
    assert!(seen.iter().all(|of| of.values.is_empty() == (of.path != "/own")), "{seen:?}");
    assert!(seen.iter().flat_map(|of| &of.values).all(|value| read(value).is_some()));
}

/// What nginx was sent by HTTP/2, of a request list and of users.
#[test]
fn streams_of_http_2_have_one_each() {
    let test = "streams_of_http_2_have_one_each";
    let place = Place::new();
    let log = place.path("nginx/traces.log").display().to_string();
    let config = |port| {
        format!(
            "log_format traces '$server_protocol $uri $http_traceparent';\n\
             server {{ listen 127.0.0.1:{port} http2; access_log {log} traces;\n\
             location / {{ return 200; }} }}"
        )
    };
    let Some((_nginx, port)) = nginx(&place, test, config) else { return };
    place.write("s.toml", "[[step]]\nget = '/home'\n");
    let url = format!("http://127.0.0.1:{port}/home");
    let mut before = 0;
    for way in
        [&["-n", "50", "--users", "5"][..], &["--scenario", "s.toml", "--users", "5", "-n", "50"]]
    {
        let more = ["--http", "2", "--traceparent", "all", "--json"];
        let summary = place.load(&[&[url.as_str()], way, &more].concat()).ran().json();
        let text = std::fs::read_to_string(&log).unwrap();
        let seen: Vec<Seen> = text
            .lines()
            .skip(before)
            .map(|line| {
                let [version, path, value] = line.splitn(3, ' ').collect::<Vec<_>>()[..] else {
                    panic!("{line}")
                };
                assert_eq!(version, "HTTP/2.0");
                // nginx puts two headers of a name into one, with a comma between them.
                Seen { path: path.to_owned(), values: vec![value.to_owned()], others: Vec::new() }
            })
            .collect();
        before += seen.len();
        let (sampled, _) = split(&seen);
        assert_eq!(sampled.len(), 50, "{summary}");
        let slow = slowest(&summary);
        assert_eq!(slow.len(), 20, "{summary}");
        assert!(slow.iter().all(|id| sampled.contains(id)), "{summary}");
    }
}

#[test]
fn what_takes_no_headers_refuses_it_at_its_place() {
    let place = Place::new();
    for scheme in ["redis", "memcached", "mysql", "postgres", "cassandra"] {
        let url = format!("{scheme}://127.0.0.1:9/");
        let done = place.load(&[&url, "--users", "1", "-n", "1", "--traceparent", "1%"]);
        done.ended_with(2)
            .says(&["`traceparent` goes with HTTP", &format!("not with {scheme}://")]);
    }
    let plan = "[target]\nurl = 'redis://127.0.0.1:9/'\n[load]\nusers = 1\nrequests = 1\n\
                traceparent = '1%'\n";
    place.write("plan.toml", plan);
    place.plimsoll(&["check", "plan.toml"]).ended_with(2).says(&["plan.toml:6"]);
    for wrong in ["2", "1.5", "most", "-1%"] {
        let arguments = ["http://127.0.0.1:9/", "--users", "1", "-n", "1"];
        let flag = format!("--traceparent={wrong}");
        place.load(&[&arguments[..], &[&flag]].concat()).ended_with(2);
    }
    place.write("plan.toml", plan.replace("redis", "http"));
    let set = ["load", "plan.toml", "--set", "load.traceparent=all", "--print-plan"];
    let printed = place.plimsoll(&set).ended_with(0).out;
    assert!(printed.contains("traceparent = \"all\""), "{printed}");
}
