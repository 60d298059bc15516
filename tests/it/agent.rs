//! `plimsoll agent`: the collectors of a host as a service, and who may ask it.

use crate::place::Place;
use crate::program::{Going, PLIMSOLL, wait_for};
use plimsoll_runs::Run;
use rustix::process::Signal;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

/// Starts an agent at a port of the system's choice. Returns it with its address.
fn start(place: &Place, arguments: &[&str]) -> (Going, String) {
    let all = [&["agent", "--listen", "127.0.0.1:0", "--every", "100ms"], arguments].concat();
    let agent = place.start(place.command(PLIMSOLL, &all));
    let address = wait_for("the agent listens", || {
        let line = agent.out();
        Some(line.lines().next()?.strip_prefix("listening on ")?.to_owned())
    });
    (agent, address)
}

/// What is answered to some bytes, up to the end of the connection.
fn ask(address: &str, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(bytes).unwrap();
    let mut answer = Vec::new();
    // A connection that is cut with bytes unread is reset; what came before counts.
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8(answer).unwrap()
}

/// The status and the body of a request with these headers.
fn get(address: &str, what: &str, headers: &str) -> (u16, String) {
    let answer = ask(address, format!("{what} HTTP/1.1\r\n{headers}\r\n").as_bytes());
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer}"));
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

fn host(address: &str) -> String {
    format!("Host: {address}\r\n")
}

#[test]
fn a_host_is_asked_by_page_metrics_json_and_a_line() {
    let place = Place::new();
    let (agent, address) = start(&place, &["--processes", "plimsoll", "--name", "web7"]);
    let own = host(&address);
    let files = || std::fs::read_dir(place.path(".")).unwrap().count();
    let before = files();
    let json = wait_for("a sample", || {
        let (status, body) = get(&address, "GET /json", &own);
        assert_eq!(status, 200, "{body}");
        let value: Value = serde_json::from_str(&body).unwrap();
        (value["series"].as_array().unwrap().len() > 50).then_some(value)
    });
    assert_eq!(json["faults"], serde_json::json!({}), "{json}");
    let of = |name: &str| {
        let all = json["series"].as_array().unwrap();
        all.iter().find(|of| of["name"] == name).unwrap_or_else(|| panic!("{name}")).clone()
    };
    let total = of("node_memory_MemTotal_bytes")["value"].as_f64().unwrap();
    let known = std::fs::read_to_string("/proc/meminfo").unwrap();
    let known: f64 = known.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!((total - known * 1024.0).abs() < 1.0, "{total} {known}");
    assert!(of("plimsoll_processes")["value"].as_f64().unwrap() >= 1.0);

    let (_, metrics) = get(&address, "GET /metrics", &own);
    assert!(metrics.contains("# TYPE node_cpu_seconds_total counter\n"), "{metrics}");
    assert!(metrics.contains("node_memory_MemTotal_bytes "), "{metrics}");
    let lines = ask(&address, b"STATS\n");
    assert!(lines.lines().any(|line| line.starts_with("node_load1 ")), "{lines}");
    assert!(!lines.contains('#'), "{lines}");
    let (status, page) = get(&address, "GET /", &own);
    assert!(status == 200 && page.contains("node_load1") && !page.contains("--processes"));
    let course = wait_for("two samples", || {
        let (_, body) = get(&address, "GET /json/node_load1", &own);
        let value: Value = serde_json::from_str(&body).ok()?;
        (value["at_unix_ns"].as_array()?.len() > 1).then_some(value)
    });
    assert_eq!(course["series"].as_array().unwrap().len(), 1, "{course}");
    let (_, clock) = get(&address, "GET /clock", &own);
    let clock: Value = serde_json::from_str(&clock).unwrap();
    assert!(clock["came_unix_ns"].as_u64() <= clock["answered_unix_ns"].as_u64(), "{clock}");

    // By another name, in another way, or of what is not there.
    assert_eq!(get(&address, "GET /json", "Host: rebound.example\r\n").0, 421);
    assert_eq!(get(&address, "GET /json", "Host: web7:5555\r\n").0, 200);
    assert_eq!(get(&address, "GET /json", "Host: localhost\r\n").0, 200);
    assert_eq!(get(&address, "POST /json", &own).0, 405);
    assert_eq!(get(&address, "GET /json/no_such_series", &own).0, 404);
    agent.signal(Signal::TERM);
    agent.wait().ended_with(0);
    assert_eq!(files(), before, "nothing on disk");
}

#[test]
fn a_line_and_a_request_are_bounded() {
    let place = Place::new();
    let (_agent, address) = start(&place, &[]);
    let long = [&b"STATS"[..], &[b'x'; 400], b"\n"].concat();
    assert_eq!(ask(&address, &long), "", "longer than 256 bytes");
    assert_eq!(ask(&address, b"STATSX\n"), "");
    // A second line is not answered.
    let once = ask(&address, b"STATS\nSTATS\n");
    assert!(once.matches("plimsoll_collect_seconds").count() <= 1, "{once}");
    let began = Instant::now();
    assert_eq!(ask(&address, b"STATS"), "", "it never ends");
    let silent = ask(&address, b"GET / HTT");
    assert!(!silent.contains("200 OK"), "{silent}");
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    let head = format!("Host: 127.0.0.1\r\nX: {}\r\n", "y".repeat(20_000));
    let answer = ask(&address, format!("GET / HTTP/1.1\r\n{head}\r\n").as_bytes());
    assert!(!answer.contains("200 OK"), "{answer}");
    // And it answers all the same.
    assert_eq!(get(&address, "GET /json", &host(&address)).0, 200);
}

#[test]
fn a_token_is_asked_for_in_a_header_and_a_line_cannot_give_it() {
    let place = Place::new();
    let file = place.write("token", "s3cret-word\n");
    let path = file.to_str().unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let open = ["agent", "--listen", "127.0.0.1:0", "--token-file", path];
    place.plimsoll(&open).ended_with(2).says(&["others can read it", "chmod 600"]);
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let (agent, address) = start(&place, &["--token-file", path]);
    let own = host(&address);
    assert_eq!(get(&address, "GET /json", &own).0, 401);
    assert_eq!(get(&address, "GET /json?token=s3cret-word", &own).0, 401, "never in a URL");
    let with = |token: &str| {
        let headers = format!("{own}Authorization: Bearer {token}\r\n");
        get(&address, "GET /json", &headers).0
    };
    assert_eq!((with("s3cret-word"), with("s3cret-wor"), with("s3cret-word1")), (200, 401, 401));
    assert_eq!(ask(&address, b"STATS\n"), "", "a line has no token");
    assert!(!agent.out().contains("s3cret") && !agent.err().contains("s3cret"));
}

#[test]
fn beyond_this_host_it_is_said_who_may_ask() {
    let place = Place::new();
    let refused = place.plimsoll(&["agent", "--listen", "0.0.0.0:0"]).ended_with(2);
    refused.says(&["--allow", "--token-file"]);
    for (flag, text) in [("--allow", "10.0.0.0/99"), ("--listen", "here"), ("--every", "often")] {
        place.plimsoll(&["agent", flag, text]).ended_with(2).says(&[text]);
    }
}

/// A load beside which another host is watched: this one, by an agent.
const WATCHED: &str = "\
name = 'another host'
[target]
url = 'URL'
[load]
rate = '50/s'
for = '3s'
[collect]
every = '200ms'
agents = { web7 = 'AGENT', gone = '127.0.0.1:1' }
token_file = 'token'
[measure]
slo = 'instance.web7.host.memory<100%, instance.web7.host.load>=0 for 1s'
";

#[test]
fn a_plan_watches_another_host_on_its_own_time_axis() {
    let place = Place::new();
    let token = place.write("token", "a long random word");
    std::fs::set_permissions(&token, std::fs::Permissions::from_mode(0o600)).unwrap();
    let target = place.calm();
    let (_agent, address) = start(&place, &["--token-file", token.to_str().unwrap()]);
    let plan = WATCHED.replace("URL", &target.url()).replace("AGENT", &address);
    place.write("plan.toml", &plan);
    place.plimsoll(&["run", "plan.toml"]).went_well();
    let run = Run::open(&place.run()).unwrap();
    let verdicts = run.summary().unwrap().slo;
    assert!(verdicts.iter().all(|of| of.pass == Some(true)), "{verdicts:?}");

    // Both clocks are the same: what was found lies within what it may be off.
    let fact = |name: &str| -> i64 {
        let found = run.meta().host.iter().find(|(known, _)| known == name);
        found.unwrap_or_else(|| panic!("{name}")).1.parse().unwrap()
    };
    let (ahead, within) = (fact("clock_of_web7_ahead_ns"), fact("clock_of_web7_within_ns"));
    assert!(ahead.abs() <= within, "{ahead} ±{within}");

    // A sample stands where the agent took it, and not where it was asked for it.
    let headers = format!("{}Authorization: Bearer a long random word\r\n", host(&address));
    let (_, course) = get(&address, "GET /json/node_context_switches_total", &headers);
    let course: Value = serde_json::from_str(&course).unwrap();
    let (times, values) = (&course["at_unix_ns"], &course["series"][0]["values"]);
    let taken = |value: f64| {
        let place = values.as_array().unwrap().iter().position(|of| of.as_f64() == Some(value))?;
        times[place].as_u64()
    };
    let samples = run.series("node_context_switches_total").unwrap();
    assert!(samples.len() > 5, "{samples:?}");
    assert!(samples.iter().all(|of| of.labels["instance"] == "web7"), "{samples:?}");
    let mut apart: Vec<i64> = samples
        .iter()
        .map(|of| taken(of.value.unwrap()).unwrap() as i64 - of.at_ns as i64)
        .collect();
    apart.sort_unstable();
    let (low, high) = (apart[apart.len() / 4], apart[apart.len() * 3 / 4]);
    assert!(high - low < 50_000_000, "the agent samples each 100 ms: {apart:?}");

    // One that is away is told, and its token stands nowhere.
    let events = run.events().unwrap();
    assert!(events.iter().any(|of| of.text.contains("agent of gone could not be read")));
    let plan = std::fs::read_to_string(place.run().join("plan.toml")).unwrap();
    assert!(!plan.contains("long random"), "{plan}");
}

#[test]
fn hosts_have_names_of_their_own_and_agents_are_no_source() {
    let place = Place::new();
    let told = |from: &str, to: &str| {
        let plan = WATCHED.replace("URL", "http://127.0.0.1:1/").replace("AGENT", "127.0.0.1:1");
        place.write("plan.toml", plan.replace("token_file = 'token'\n", "").replace(from, to));
        place.plimsoll(&["check", "plan.toml"])
    };
    told("every =", "every =").ended_with(0);
    told("web7 =", "'web 7' =").ended_with(2).says(&["web 7", "letters, digits"]);
    told("every =", "from = ['agent']\nevery =").ended_with(2).says(&["agents = {"]);
    told("every =", "token_file = 'none'\nevery =").ended_with(2).says(&["none"]);
}
