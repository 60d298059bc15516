//! How it is sent: sockets, connections, threads, users; every single request kept.

use crate::json::assert_sums;
use crate::place::{Place, SOAK, Target};
use plimsoll_runs::{Phase, Run, Sample};
use plimsoll_testing::{has_ipv6, skip};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{TcpListener, ToSocketAddrs};

/// Runs a load of 40 requests that all must be answered; returns its summary.
#[track_caller]
fn forty(place: &Place, url: &str, arguments: &[&str]) -> Value {
    let load = [&[url, "--rate", "40/s", "--for", "1s", "--json"], arguments].concat();
    let summary = place.load(&load).ran().json();
    assert_sums(&summary);
    assert_eq!((&summary["offered"], &summary["succeeded"]), (&40.into(), &40.into()), "{summary}");
    summary
}

#[test]
fn a_unix_socket() {
    let place = Place::new();
    let socket = place.path("server.sock");
    let listen = format!("unix:{}", socket.display());
    let target =
        Target::start(&place, &listen, &["--service-time", "const:20ms", "--workers", "50"]);
    assert_eq!(target.address(), listen);
    let url = format!("http+unix://{}/path?x=1", socket.to_str().unwrap().replace('/', "%2F"));
    forty(&place, &url, &[]);
    target.end().ended_with(0);
    assert!(!socket.exists(), "the socket is removed");
}

#[test]
fn an_ipv6_address() {
    if !has_ipv6("an_ipv6_address") {
        return;
    }
    let place = Place::new();
    let target =
        Target::start(&place, "[::1]:0", &["--service-time", "const:20ms", "--workers", "50"]);
    assert!(target.url().starts_with("http://[::1]:"), "{}", target.url());
    forty(&place, &target.url(), &[]);
}

#[test]
fn a_name_that_is_resolved_by_hand() {
    let place = Place::new();
    let target = place.calm();
    let port = target.address().rsplit_once(':').unwrap().1;
    let url = format!("http://shop.example:{port}/");
    forty(&place, &url, &["--resolve", &format!("shop.example:{port}:127.0.0.1")]);
}

#[test]
fn connections_that_are_kept_and_that_are_not() {
    let place = Place::new();
    let target = place.calm();
    let kept = forty(&place, &target.url(), &["--connections", "5"]);
    assert_eq!(kept["connections"]["opened"], 5, "{kept}");
    assert_eq!(kept["connections"]["peak"], 5, "{kept}");
    let single = forty(&place, &target.url(), &["--connection", "per-request"]);
    assert_eq!(single["connections"]["opened"], 40, "{single}");
    assert_eq!(single["connect_us"]["count"], 40, "{single}");
    // Two are enough for a while; a third is opened when it is needed.
    let slow = place.target(&["--service-time", "const:200ms", "--workers", "100"]);
    let grown = forty(&place, &slow.url(), &["--connections", "2..30"]);
    let opened = grown["connections"]["opened"].as_u64().unwrap();
    assert!((3..=30).contains(&opened), "{grown}");
}

#[test]
fn every_request_is_kept() {
    let place = Place::new();
    let target = place.calm();
    let arguments = ["--samples", "--threads", "2", "--warm-up", "1s", "--arrivals", "random"];
    let summary = forty(&place, &target.url(), &arguments);
    assert_eq!(summary["generator"]["threads"], 2, "{summary}");
    let run = Run::open(&place.run()).unwrap();
    let samples: Vec<Sample> = run.samples().unwrap().unwrap().map(Result::unwrap).collect();
    let of = |phase| samples.iter().filter(move |sample| sample.phase == phase);
    assert_eq!(of(Phase::Measured).count() as u64, summary["offered"].as_u64().unwrap());
    let warm_up = summary["warm_up"]["offered"].as_u64().unwrap();
    assert_eq!(of(Phase::WarmUp).count() as u64, warm_up);
    for sample in &samples {
        let is_measured = sample.due_ns >= 1_000_000_000;
        assert_eq!(sample.phase == Phase::Measured, is_measured, "{sample:?}");
        assert!(sample.due_ns <= sample.sent_ns, "{sample:?}");
        assert!(sample.sent_ns + 20_000_000 <= sample.done_ns, "{sample:?}");
        assert!(sample.first_byte_ns <= sample.done_ns, "{sample:?}");
        assert_eq!((sample.status, sample.error), (200, None), "{sample:?}");
    }
    let bytes: u64 = of(Phase::Measured).map(|sample| sample.bytes).sum();
    assert_eq!(Some(bytes), summary["bytes"]["in"].as_u64(), "{summary}");
}

#[test]
fn users_ask_think_and_ask_again() {
    let place = Place::new();
    let target = place.calm();
    let arguments = ["--users", "4", "--think", "const:80ms", "--for", "2s", "--json"];
    let summary = place.load(&[&[target.url().as_str()], &arguments[..]].concat());
    let summary = summary.ran().json();
    assert_sums(&summary);
    // 20 ms and 80 ms a round: ten a second each, fewer where the machine is busy.
    let completed = summary["completed"].as_u64().unwrap();
    assert!((8..=80).contains(&completed), "{summary}");
    assert_eq!(summary["connections"]["peak"], 4, "{summary}");
}

#[test]
fn refusals_and_redirects_are_counted_as_what_they_are() {
    let place = Place::new();
    let full = place.target(&["--service-time", "const:100ms", "--workers", "1", "--queue", "0"]);
    let url = full.url();
    let arguments = [&url, "--rate", "40/s", "--for", "1s", "--json"];
    let summary = place.load(&arguments).ran().json();
    assert_sums(&summary);
    assert_eq!(summary["errors"]["status"], summary["status"]["503"], "{summary}");
    assert!(summary["status"]["503"].as_u64().unwrap() >= 20, "{summary}");
    // Said to be expected, they are successes.
    let ok = [&arguments[..], &["--ok", "200,503"]].concat();
    let summary = place.load(&ok).ran().json();
    assert_eq!(summary["succeeded"], 40, "{summary}");
}

#[test]
fn a_name_with_several_addresses_leads_to_one_that_answers() {
    let test = "a_name_with_several_addresses_leads_to_one_that_answers";
    if !has_ipv6(test) {
        return;
    }
    if ("localhost", 80).to_socket_addrs().unwrap().count() < 2 {
        return skip(test, "namespaces: localhost has one address");
    }
    let place = Place::new();
    let target =
        Target::start(&place, "[::1]:0", &["--service-time", "const:20ms", "--workers", "50"]);
    let port = target.address().rsplit_once(':').unwrap().1;
    let summary = forty(&place, &format!("http://localhost:{port}/"), &[]);
    let told = format!("localhost: the load goes to [::1]:{port}, as 127.0.0.1:{port} (");
    assert!(summary["warnings"].to_string().contains(&told), "{summary}");
}

/// Answers each request with these bytes; what the first was like is sent.
fn answering(answer: &'static str) -> (String, std::sync::mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/a", listener.local_addr().unwrap());
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let tell = tell.clone();
            std::thread::spawn(move || {
                let mut request = [0; 4096];
                while let Ok(n @ 1..) = stream.read(&mut request) {
                    let _ = tell.send(String::from_utf8_lossy(&request[..n]).into_owned());
                    let _ = stream.write_all(answer.as_bytes());
                }
            });
        }
    });
    (url, told)
}

#[test]
fn header_names_go_out_as_typed_and_the_host_first() {
    let place = Place::new();
    let (url, told) = answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    let headers = ["-H", "X-Dock-Key: 7", "-H", "x-berth: 8", "-H", "HOST: shop.example"];
    forty(&place, &url, &headers);
    let request = told.recv().unwrap();
    let lines: Vec<&str> = request.split("\r\n").collect();
    assert_eq!(lines[..2], ["GET /a HTTP/1.1", "HOST: shop.example"], "{request}");
    assert!(lines.contains(&"X-Dock-Key: 7") && lines.contains(&"x-berth: 8"), "{request}");
    assert_eq!(request.to_lowercase().matches("host:").count(), 1, "{request}");
}

#[test]
fn answers_that_only_lead_elsewhere_are_told() {
    let place = Place::new();
    let (url, _told) = answering("HTTP/1.1 301 Moved\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n");
    let warned = |arguments: &[&str]| {
        let load = [&[url.as_str(), "--rate", "20/s", "--for", "1s", "--json"], arguments].concat();
        let summary = place.load(&load).ran().json();
        summary["warnings"].to_string().contains("redirects are not followed")
    };
    assert!(warned(&[]) && !warned(&["--ok", "301"]));
}

#[test]
fn a_folder_that_is_removed_in_mid_run_ends_it() {
    let place = Place::new();
    let target = place.calm();
    let load = ["load", &target.url(), "--rate", "20/s", "--for", SOAK];
    let going = place.start(place.command(crate::program::PLIMSOLL, &load));
    let run = crate::program::wait_for("a run with a second in it", || {
        let run = place.runs("runs").pop()?;
        let log = std::fs::read_to_string(run.join("latency.hlog")).ok()?;
        log.contains("Tag=response,").then_some(run)
    });
    std::fs::remove_dir_all(&run).unwrap();
    going.wait().ended_with(4).says(&["not there any more", "removed or moved"]);
}
