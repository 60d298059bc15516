//! `plimsoll agent`: the collectors of a host as a service, and who may ask it.

use crate::place::Place;
use crate::program::{Going, PLIMSOLL, wait_for};
use plimsoll_testing::Weight;
use rustix::process::Signal;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

/// Starts an agent at a port of the system's choice. Returns it with its address.
pub(crate) fn start(place: &Place, arguments: &[&str]) -> (Going, String) {
    let all = [&["agent", "--listen", "127.0.0.1:0", "--every", "100ms"], arguments].concat();
    let agent = place.start(place.command(PLIMSOLL, &all));
    let address = wait_for("the agent listens", || {
        let line = agent.out();
        Some(line.lines().next()?.strip_prefix("listening on ")?.to_owned())
    });
    (agent, address)
}

/// What is answered to some bytes, up to the end of the connection.
pub(crate) fn ask(address: &str, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(bytes).unwrap();
    let mut answer = Vec::new();
    // A connection that is cut with bytes unread is reset; what came before counts.
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8(answer).unwrap()
}

/// The status and the body of a request with these headers.
pub(crate) fn get(address: &str, what: &str, headers: &str) -> (u16, String) {
    let answer = ask(address, format!("{what} HTTP/1.1\r\n{headers}\r\n").as_bytes());
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer}"));
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

pub(crate) fn host(address: &str) -> String {
    format!("Host: {address}\r\n")
}

#[test]
fn a_host_is_asked_by_page_metrics_json_and_a_line() {
    let place = Place::weighing(Weight::WAITS);
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
fn a_token_is_asked_for_in_a_header_and_a_line_cannot_give_it() {
    let place = Place::weighing(Weight::WAITS);
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
    let place = Place::weighing(Weight::WAITS);
    let refused = place.plimsoll(&["agent", "--listen", "0.0.0.0:0"]).ended_with(2);
    refused.says(&["--allow", "--token-file"]);
    for (flag, text) in [("--allow", "10.0.0.0/99"), ("--listen", "here"), ("--every", "often")] {
        place.plimsoll(&["agent", flag, text]).ended_with(2).says(&[text]);
    }
}

/// A load beside which another host is watched: this one, by an agent.
pub(crate) const WATCHED: &str = "\
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
fn hosts_have_names_of_their_own_and_agents_are_no_source() {
    let place = Place::weighing(Weight::WAITS);
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
