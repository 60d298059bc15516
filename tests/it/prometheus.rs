//! `--prometheus`: figures of a run while it goes on.

use crate::place::{Place, SOAK, run_folders, test_name};
use crate::program::{Done, Going, PLIMSOLL, wait_for};
use plimsoll_runs::{Phase, Run, Tag};
use plimsoll_stats::Histogram;
use plimsoll_testing::{free_port, installed, not_judged};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// What a server answers to a request for a path; `None` while nobody listens.
pub(crate) fn get(address: &str, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer)
}

/// Reads the text format, version 0.0.4: every sample by name and labels.
fn parse(body: &str) -> BTreeMap<String, f64> {
    let (mut samples, mut kinds) = (BTreeMap::new(), BTreeMap::new());
    for line in body.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
            assert!(kinds.insert(name.to_owned(), kind).is_none(), "{name} is there twice");
        } else if !line.starts_with('#') {
            let (name, value) = line.rsplit_once(' ').unwrap();
            let bare = name.split('{').next().unwrap();
            let family = ["_sum", "_count", "_bucket"]
                .iter()
                .find_map(|end| bare.strip_suffix(end))
                .unwrap_or(bare);
            assert!(kinds.contains_key(bare) || kinds.contains_key(family), "{line} has no type");
            assert!(bare.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{line}");
            let value: f64 = value.parse().unwrap();
            assert!(samples.insert(name.to_owned(), value).is_none(), "{name} is there twice");
        }
    }
    samples
}

#[test]
fn figures_grow_while_a_run_goes_on() {
    let place = Place::new();
    let target =
        place.target(&["--service-time", "const:20ms", "--workers", "50", "--errors", "50%"]);
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let url = target.url();
    let slo = ["--slo", "errors<99%, p99<1m, max<1ms, rate>=1/s"];
    let going = place
        .soak(&[&[&url, "--quiet", "--rate", "40/s", "--prometheus", &address], &slo[..]].concat());
    let scrape = |more_than: f64| {
        wait_for("a scrape", || {
            let answer = get(&address, "/metrics")?;
            assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
            assert!(answer.contains("text/plain; version=0.0.4"), "{answer}");
            let samples = parse(answer.split_once("\r\n\r\n").unwrap().1);
            (samples["plimsoll_completed_total"] > more_than).then_some(samples)
        })
    };
    let first = scrape(0.0);
    let second = scrape(first["plimsoll_completed_total"]);
    let missing = get(&address, "/nothing");
    place.stopped(going).ended_with(3);
    let offered = Run::open(&place.run()).unwrap().total(Phase::Measured).unwrap().offered;
    for (name, before) in &first {
        if name.split('{').next().unwrap().ends_with("_total") {
            assert!(second[name] >= *before, "{name} shrank");
        }
    }
    assert!(second["plimsoll_offered_total"] <= offered as f64);
    let of = |name: &str| second.get(name).copied().unwrap_or(0.0);
    let by_code =
        of("plimsoll_status_total{code=\"200\"}") + of("plimsoll_status_total{code=\"500\"}");
    assert!((by_code - of("plimsoll_completed_total")).abs() < 0.5, "{second:?}");
    assert!(of("plimsoll_errors_total{kind=\"status\"}") > 0.0, "{second:?}");
    assert!(of("plimsoll_last_second_response_seconds{quantile=\"0.5\"}") >= 0.02, "{second:?}");
    let bucket = |le: &str| of(&format!("plimsoll_response_seconds_bucket{{le=\"{le}\"}}"));
    let count = of("plimsoll_response_seconds_count");
    assert!(bucket("0.01") < 0.5 && bucket("0.02") <= bucket("100"), "{second:?}");
    assert!((bucket("+Inf") - count).abs() < 0.5, "{second:?}");
    // Half of the requests fail, however quick they are.
    let within = |clause: &str| of(&format!("plimsoll_within_slo_total{{clause=\"{clause}\"}}"));
    let succeeded = of("plimsoll_succeeded_total");
    assert!((within("errors<99%") - succeeded).abs() < 0.5, "{second:?}");
    assert!((within("p99<1m") - succeeded).abs() < 0.5, "{second:?}");
    assert!(within("max<1ms") < 0.5, "{second:?}");
    assert!(!second.keys().any(|name| name.contains("rate>")), "{second:?}");
    let mean = of("plimsoll_response_seconds_sum") / of("plimsoll_response_seconds_count");
    assert!(mean >= 0.019, "{second:?}");
    assert!(missing.unwrap().starts_with("HTTP/1.1 404 "));
}

/// The metrics' names in a text.
fn metrics_of(text: &str) -> std::collections::BTreeSet<&str> {
    let starts = text.match_indices("plimsoll_").map(|(at, _)| &text[at..]);
    let is_part = |c: char| c.is_ascii_lowercase() || c == '_';
    starts.map(|rest| &rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())]).collect()
}

#[test]
fn the_dashboard_asks_for_metrics_that_there_are() {
    let dashboard = include_str!("../../packaging/grafana/plimsoll.json");
    let read: serde_json::Value = serde_json::from_str(dashboard).unwrap();
    assert!(read["panels"].as_array().unwrap().len() >= 6);
    let place = Place::new();
    let target = place.target(&["--service-time", "const:2ms"]);
    place.write("list.csv", "url,name\n/a,a\n/b,b\n");
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let url = target.url();
    let load = [&url, "--urls", "list.csv", "--rate", "40/s", "--slo", "p99<1m", "--quiet"];
    let going = place.soak(&[&load[..], &["--prometheus", &address]].concat());
    let page = wait_for("a scrape with names", || {
        get(&address, "/metrics").filter(|page| page.contains("plimsoll_name_requests_total{"))
    });
    place.stopped(going).ran();
    let known = metrics_of(&page);
    let unknown: Vec<_> =
        metrics_of(dashboard).into_iter().filter(|of| !known.contains(of)).collect();
    assert!(unknown.is_empty(), "{unknown:?} of {known:?}");
}

/// Sends a byte a second of a request that never ends, until it is told to stop.
fn drip(address: &str, stop: Receiver<()>) -> std::thread::JoinHandle<()> {
    let mut stream = TcpStream::connect(address).unwrap();
    std::thread::spawn(move || {
        for byte in b"GET /metrics HTTP/1.1\r\nX-Slow: ".iter().chain(std::iter::repeat(&b'x')) {
            // The server may have cut it by now, which is all the same here.
            let _ = stream.write_all(&[*byte]);
            if stop.recv_timeout(Duration::from_secs(1)) != Err(RecvTimeoutError::Timeout) {
                return;
            }
        }
    })
}

/// The port serves others beside a client that takes its time, and the last second is served too.
#[test]
fn a_slow_client_holds_up_no_scrape_and_the_last_second_is_served() {
    let place = Place::new();
    let target = place.target(&["--service-time", "const:1ms"]);
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let url = target.url();
    let mut going = place.soak(&[&url, "--quiet", "--rate", "40/s", "--prometheus", &address]);
    wait_for("a scrape", || get(&address, "/metrics"));
    let (dripping, stop) = channel();
    let slow = drip(&address, stop);
    let mut taken = Vec::new();
    for _ in 0..3 {
        let begun = Instant::now();
        let answer = get(&address, "/metrics").expect("it answers beside the slow one");
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        taken.push(begun.elapsed());
    }
    assert!(!slow.is_finished(), "the slow one is at it all the while");
    println!("scrapes beside a client of one byte a second took {taken:?}");
    let run = place.loads(&mut going);
    place.plimsoll(&["stop", run.to_str().unwrap()]).ended_with(0);
    let mut last = String::new();
    wait_for("the end of the port", || match get(&address, "/metrics") {
        Some(answer) if answer.contains("\r\n\r\n") => {
            last = answer;
            None
        }
        _ => Some(()),
    });
    drop(dripping);
    slow.join().unwrap();
    going.wait().ran();
    let samples = parse(last.split_once("\r\n\r\n").unwrap().1);
    let completed = samples["plimsoll_completed_total"];
    let all = Run::open(&run).unwrap().total(Phase::Measured).unwrap().completed as f64;
    assert!((completed - all).abs() < 0.5, "the last scrape saw {completed} of {all} answers");
}

#[test]
fn a_name_of_another_host_is_not_answered() {
    let place = Place::new();
    let target = place.calm();
    let port = plimsoll_testing::free_port().to_string();
    let address = format!("127.0.0.1:{port}");
    let load = ["load", &target.url(), "--rate", "5/s", "--for", "ever", "--quiet"];
    let load = [&load[..], &["--prometheus", &address]].concat();
    let going = place.start(place.command(crate::program::PLIMSOLL, &load));
    wait_for("the exporter to listen", || get(&address, "/metrics"));
    for (host, status) in [
        ("rebound.example", 421),
        ("rebound.example:80", 421),
        ("localhost", 200),
        ("127.0.0.1", 200),
        ("[::1]:9", 200),
    ] {
        let mut stream = TcpStream::connect(&address).unwrap();
        write!(stream, "GET /metrics HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{host}: {answer}");
    }
    place.stopped(going).ran();
}

/// A real Prometheus scrapes, and computes the percentiles that the run has.
#[test]
fn prometheus_computes_the_percentiles_of_two_runs_at_once() {
    let place = Place::new();
    let Some(prometheus) = installed(&test_name(), "prometheus") else { return };
    let target = place.target(&["--service-time", "exp:5ms", "--workers", "50"]);
    let url = target.url();
    let ports = [free_port(), free_port()].map(|port| port.to_string());
    let runs = ["first", "second"].map(|out| place.path(out));
    let mut going: Vec<Going> = ports
        .iter()
        .zip(&runs)
        .map(|(port, out)| {
            let load = ["load", &url, "--rate", "200/s", "--for", "ever", "--at-most", SOAK];
            let more = ["--quiet", "--prometheus", port, "--out", out.to_str().unwrap()];
            place.start(place.command(PLIMSOLL, &[&load[..], &more].concat()))
        })
        .collect();
    let [first, second] = &ports;
    let config = format!(
        "global: {{scrape_interval: 1s}}\nscrape_configs:\n- job_name: plimsoll\n  \
         static_configs: [{{targets: ['127.0.0.1:{first}', '127.0.0.1:{second}']}}]\n"
    );
    place.write("prometheus.yml", config);
    let own = free_port();
    let address = format!("127.0.0.1:{own}");
    let flags = ["--config.file=prometheus.yml", "--storage.tsdb.path=tsdb"];
    let listen = format!("--web.listen-address={address}");
    let mut server = place
        .start(place.command(prometheus.to_str().unwrap(), &[&flags[..], &[&listen]].concat()));
    let ask = |query: &str| -> Option<f64> {
        let path = format!("/api/v1/query?query={query}");
        let answer = get(&address, &path)?;
        let body: Value = serde_json::from_str(answer.split_once("\r\n\r\n")?.1.trim()).ok()?;
        body["data"]["result"][0]["value"][1].as_str()?.parse().ok()
    };
    // Both have been scraped often enough.
    wait_for("2,000 requests of both", || {
        assert!(!server.has_ended(), "{}", server.err());
        for load in &mut going {
            assert!(!load.has_ended(), "{}", load.err());
        }
        let both = ask("count(plimsoll_completed_total%3E1000)")?;
        (both > 1.5).then_some(())
    });
    let going = going.into_iter().zip(&runs);
    let dones: Vec<Done> = going
        .map(|(going, out)| {
            let run = run_folders(out).pop().unwrap();
            place.plimsoll(&["stop", run.to_str().unwrap()]).ended_with(0);
            going.wait()
        })
        .collect();
    dones.into_iter().for_each(|done| drop(done.ran()));
    let of = |name: &str| format!("last_over_time(plimsoll_response_seconds_{name}%5B1h%5D)");
    let counted = ask(&format!("sum({})", of("count")));
    judged_by_buckets(&runs, counted, |q| {
        let query = format!("histogram_quantile({q},sum+by(le)({}))", of("bucket"));
        ask(&query).expect("a quantile")
    });
}

/// Whether quantiles lie in the buckets that hold those of all answers of some runs.
fn judged_by_buckets(runs: &[PathBuf], counted: Option<f64>, quantile: impl Fn(f64) -> f64) {
    let mut all = Histogram::new();
    for out in runs {
        let run = Run::open(&run_folders(out).pop().unwrap()).unwrap();
        for phase in Phase::ALL {
            all.add(&run.histogram(phase, Tag::Response).unwrap());
        }
    }
    if counted != Some(all.count() as f64) {
        let why = format!("{counted:?} of {} answers were scraped", all.count());
        not_judged(&test_name(), &why);
        return;
    }
    let bounds = (-4..=2).flat_map(|power| [1.0, 2.0, 5.0].map(|of| of * 10_f64.powi(power)));
    let bounds: Vec<f64> = [0.0].into_iter().chain(bounds).collect();
    for q in [0.5, 0.9, 0.99] {
        let own = all.value_at_quantile(q).unwrap() as f64 / 1e9;
        let at = bounds.partition_point(|bound| *bound < own);
        let (low, high) = (bounds[at - 1], bounds[at]);
        let told = quantile(q);
        let is_within = (low * 0.999..=high * 1.001).contains(&told);
        assert!(is_within, "p{q}: {told} s by Prometheus, {own} s in the runs");
    }
}
