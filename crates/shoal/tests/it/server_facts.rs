//! What a server tells of itself (its log, its counters), and the headers that users expect.

use std::collections::BTreeMap;

use plimsoll_shoal::answer::openapi::DOCUMENT;
use plimsoll_shoal::server::Options;
use serde_json::Value;

use crate::support::live::{Ask, Live, options, places, said, text, until};

#[test]
fn each_request_is_a_line_of_json_without_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("access.log");
    let live = Live::start(Options { access_log: Some(path.clone()), ..options() });
    let secret = "d03b93b6e4b811f19f970e468af6f828";
    live.announce(&said(secret, "one.example", "192.0.2.10"));
    live.announce_from("203.0.113.9", &said(secret, "one.example", "192.0.2.10"));
    live.get_from("203.0.113.9", "/nearest/3?x={%0a\\}");
    live.get("/v1/nearest?ip=2001:db8::1");
    live.get("/no'such\"path");
    let long = format!("/{}", "x".repeat(5000));
    live.get(&long);
    live.raw(b"HEAD /all HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    let bye = format!("{{\"uuid\": \"{secret}\", \"timestamp\": 1, \"goodbye\": true}}");
    let target = "/v1/heartbeat";
    live.order(Ask { method: "DELETE", target, headers: &[], body: bye.as_bytes() });
    // Whoever reads the log sees it while the server runs.
    let lines = || std::fs::read_to_string(&path).unwrap().lines().count();
    until("eight lines", || (lines() == 8).then_some(()));
    live.get("/all");
    live.stop();
    let log = std::fs::read_to_string(&path).unwrap();
    assert!(!log.contains(secret));
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 9, "{log}");
    let keys = ["time", "client", "method", "path", "status", "bytes", "us"];
    for line in &lines {
        let own: Vec<&String> = line.as_object().unwrap().keys().collect();
        assert_eq!(own.len(), keys.len());
        assert!(keys.iter().all(|key| line.get(key).is_some()), "{line}");
        assert!(line["time"].as_f64().unwrap() > 1.7e9, "{line}");
    }
    let found = |method: &str, path: &str| {
        lines.iter().find(|line| line["method"] == method && line["path"] == path).unwrap()
    };
    let asked = found("GET", "/nearest/3?x={%0a\\}");
    assert_eq!((&asked["client"], &asked["status"]), (&"203.0.113.9".into(), &200.into()));
    assert_eq!(found("GET", "/no'such\"path")["status"], 404);
    assert_eq!(found("DELETE", "/v1/heartbeat")["status"], 400);
    assert_eq!(found("GET", &long[..512])["status"], 404);
    let mut statuses: Vec<u64> = lines
        .iter()
        .filter(|line| line["method"] == "POST")
        .map(|line| line["status"].as_u64().unwrap())
        .collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [204, 403]);
}

/// A sample's name with its labels, and its value, for each line that is no comment; comments are
/// checked.
fn samples(page: &str) -> BTreeMap<String, f64> {
    let mut kinds = BTreeMap::new();
    let mut samples = BTreeMap::new();
    for line in page.lines() {
        if let Some(comment) = line.strip_prefix("# ") {
            let words: Vec<&str> = comment.splitn(3, ' ').collect();
            match words[..] {
                ["HELP", name, help] => assert!(!name.is_empty() && !help.is_empty()),
                ["TYPE", name, kind] => {
                    assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
                    assert!(kinds.insert(name.to_owned(), kind.to_owned()).is_none(), "{line}");
                }
                _ => panic!("{line}"),
            }
            continue;
        }
        let (sample, value) = line.rsplit_once(' ').unwrap();
        let name = sample.split('{').next().unwrap();
        let of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        assert!(name.chars().all(of_name), "{line}");
        let base = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end));
        let kind = kinds.get(name).or_else(|| kinds.get(base?)).unwrap_or_else(|| panic!("{line}"));
        assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
        let before = samples.insert(sample.to_owned(), value.parse().unwrap());
        assert!(before.is_none(), "{line} twice");
    }
    assert!(page.ends_with('\n'));
    samples
}

#[test]
fn counters_are_prometheus_s_and_count() {
    let live = Live::start(options());
    let page = || {
        let answer = live.get("/metrics");
        let kind = answer.header("content-type");
        assert_eq!(kind, Some("text/plain; version=0.0.4; charset=utf-8"));
        samples(&text(&answer))
    };
    let before = page();
    live.announce(&said("secret-1", "one.example", "192.0.2.10"));
    live.listed("one.example");
    live.announce(&said("secret-1", "one.example", "192.0.2.10"));
    live.announce_from("203.0.113.9", &said("secret-2", "two.example", "192.0.2.11"));
    live.message("POST", b"{", &[("X-Forwarded-For", "203.0.113.9")]);
    for _ in 0..7 {
        live.get("/nearest");
    }
    for _ in 0..3 {
        live.get("/v1/nearest");
    }
    live.get("/x");
    let after = page();
    let more = |sample: &str| after[sample] - before.get(sample).copied().unwrap_or(0.0);
    for (sample, count) in [
        ("shoal_http_requests_total{path=\"nearest\",code=\"2xx\"}", 7.0),
        ("shoal_http_requests_total{path=\"v1_nearest\",code=\"2xx\"}", 3.0),
        ("shoal_http_requests_total{path=\"heartbeat\",code=\"2xx\"}", 2.0),
        ("shoal_http_requests_total{path=\"heartbeat\",code=\"4xx\"}", 2.0),
        ("shoal_http_requests_total{path=\"other\",code=\"4xx\"}", 1.0),
        ("shoal_lookup_seconds_count", 10.0),
        ("shoal_lookup_seconds_bucket{le=\"+Inf\"}", 10.0),
        ("shoal_caches{state=\"unverified\"}", 1.0),
        ("shoal_caches{state=\"banned\"}", 0.0),
        ("shoal_refused_total{reason=\"full\"}", 0.0),
        ("shoal_caches_joined_total", 1.0),
        ("shoal_heartbeats_renewed_total", 1.0),
        ("shoal_refused_total{reason=\"address_mismatch\"}", 1.0),
        ("shoal_refused_total{reason=\"malformed\"}", 1.0),
    ] {
        assert!((more(sample) - count).abs() < 1e-9, "{sample}: {}", more(sample));
    }
    let buckets: Vec<f64> = after
        .iter()
        .filter(|(sample, _)| sample.starts_with("shoal_lookup_seconds_bucket"))
        .map(|(_, count)| *count)
        .collect();
    assert!(buckets.iter().all(|count| (0.0..=10.0).contains(count)), "{buckets:?}");
}

#[test]
fn answers_have_the_headers_that_users_expect() {
    let live = Live::start(options());
    let near = live.get("/v1/nearest");
    assert_eq!(near.header("cache-control"), Some("no-store"));
    assert_eq!(near.header("content-type"), Some("application/json"));
    for path in ["/nearest", "/all"] {
        assert_eq!(live.get(path).header("content-type"), Some("application/json"));
    }
    let document = live.get("/v1/openapi.json");
    assert_eq!(document.header("content-type"), Some("application/json"));
    assert_eq!(text(&document), DOCUMENT);
    for path in ["/v1/health", "/v1/ready"] {
        assert_eq!(live.get(path).header("cache-control"), Some("no-store"), "{path}");
    }
    let accepted = live.announce(&said("secret-1", "one.example", "192.0.2.10"));
    assert_eq!(accepted.status, 204);
    assert_eq!((accepted.header("content-type"), accepted.header("content-length")), (None, None));
    assert!(accepted.header("date").is_some());
}

#[test]
fn the_geo_api_orders_servers_by_distance() {
    let Some(geography) = places("the_geo_api_orders_servers_by_distance") else { return };
    let live = Live::start(Options { geography, ..options() });
    // London, Linköping and Milton, from Boxford.
    let (uk, se, us) = ("81.2.69.160", "89.160.20.112", "216.160.83.56");
    let ask = |client: &str, caching: &str, list: &str| {
        let target = format!("/cvmfs/atlas.cern.ch/api/v1.0/geo/{caching}/{list}");
        live.get_from(client, &target)
    };
    let answer = ask("2.125.160.216", "_", &format!("{us},{uk},{se}"));
    assert_eq!((answer.status, &*text(&answer)), (200, "2,3,1\n"));
    assert_eq!(answer.header("content-type"), Some("text/plain"));
    assert_eq!(answer.header("cache-control"), Some("max-age=3600"));
    // From where the proxy is, if that is known.
    let answer = ask("2.125.160.216", us, &format!("{uk},{se},{us}"));
    assert_eq!(text(&answer), "3,2,1\n");
    let answer = ask("203.0.113.9", se, &format!("{uk},{us},{se},203.0.113.1"));
    assert_eq!(text(&answer), "3,1,2,4\n");
    // Behind the separator stand fallback proxies.
    let answer = ask("2.125.160.216", "_", &format!("{us},{se},+PXYSEP+,{us},{uk}"));
    assert_eq!(text(&answer), "2,1,5,4,3\n");
    // A name is looked up (this one without a network): one that is nowhere is last.
    let answer = ask("2.125.160.216", "localhost", &format!("localhost,{se},{uk}"));
    assert_eq!(text(&answer), "3,2,1\n");
    let nowhere = ask("203.0.113.9", "_", uk);
    let said = "Bad Request: remote addr not found in database\n";
    assert_eq!((nowhere.status, &*text(&nowhere)), (400, said));
    for (path, said) in [
        ("/cvmfs/a/api/x", "Bad Request: malformed api URL\n"),
        ("/cvmfs/a/api/v1.0/who/x/y", "Bad Request: unrecognized api function\n"),
        ("/cvmfs/a/api/v1.0/geo/x", "Bad Request: no slash in geo path\n"),
    ] {
        let answer = live.get(path);
        assert_eq!((answer.status, &*text(&answer)), (400, said), "{path}");
    }
    let put = Ask { method: "PUT", target: "/cvmfs/a/api/v1.0/geo/x/y", headers: &[], body: &[] };
    assert_eq!(live.send(put).status, 405);
}
