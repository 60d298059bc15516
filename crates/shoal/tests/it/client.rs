//! A whole client against real registries and caches, and what of an answer is believed.

use std::fs;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_net::http::client::{Deadline, Dial, Error as HttpError, Peer, Plain, Wire};
use plimsoll_net::url::Url;
use plimsoll_shoal::Now;
use plimsoll_shoal::client::answer::parse;
use plimsoll_shoal::client::choose::{Candidate, band, candidates, is_object, order};
use plimsoll_shoal::client::output::{cvmfs, frontier, into_frontier_server, with_fixed};
use plimsoll_shoal::client::{Ask, Error, Form, Options, Outcome, Source, Use, World, run};
use plimsoll_testing::shared;
use proptest::prelude::*;
use serde_json::{Value, json};

use plimsoll_testing::free_port;

use crate::serve::{Server, answer, ok};

/// The signed list's beginning.
const OBJECT: &str = "20261122000000\nE20261222000000\nNatlas.cern.ch\n";

fn options(servers: &[&Server]) -> Options {
    let servers = servers.iter().map(|server| Url::parse(&server.url()).unwrap()).collect();
    let (time, object_time) = (Duration::from_secs(30), Duration::from_secs(30));
    let file = "/nowhere/default.local".into();
    Options { time, object_time, file, ..Options::new(servers) }
}

fn run_at(options: &Options, dial: Arc<dyn Dial>, unix_s: f64) -> Result<Outcome, Error> {
    let own = vec!["10.1.9.9".parse().unwrap()];
    run(options, &World { dial, now: &|| Now { elapsed_ns: 0, unix_s }, own })
}

fn run_now(options: &Options) -> Outcome {
    run_at(options, Arc::new(Plain), 1000.0).unwrap()
}

/// An answer of an old registry with caches on this host.
fn listing(ports: &[u16]) -> String {
    let entries = ports.iter().enumerate().map(|(rank, port)| {
        format!(
            "\"{rank}\": {{\"hostname\": \"c{rank}.example\", \"squid_port\": {port}, \
                 \"public_ip\": \"127.0.0.1\", \"local\": null}}"
        )
    });
    format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
}

fn proxy(port: u16) -> String {
    format!("http://127.0.0.1:{port}")
}

/// Leads each address of an answer to a port of this host where a cache listens, because the
/// recorded addresses are not this host's; registries are dialled as they are.
struct Led {
    caches: Vec<(String, u16)>,
}

impl Dial for Led {
    fn dial(&self, peer: Peer<'_>, deadline: &Deadline) -> Result<Box<dyn Wire>, HttpError> {
        let led = self.caches.iter().find(|(host, _)| host == peer.host);
        match led {
            Some((_, port)) => Plain.dial(Peer::new("127.0.0.1", *port), deadline),
            None => Plain.dial(peer, deadline),
        }
    }
}

/// A cache that delivers after so many others have been asked.
fn delivering(turn: usize, taken: &Arc<std::sync::Mutex<usize>>) -> Server {
    let taken = taken.clone();
    Server::start(move |_| {
        let (_keep, never) = std::sync::mpsc::channel::<()>();
        for _ in 0..20_000 {
            if *taken.lock().unwrap() == turn {
                break;
            }
            let _ = never.recv_timeout(Duration::from_millis(1));
        }
        // The next one's answer is later by more than a thread's whim.
        let _ = never.recv_timeout(Duration::from_millis(100));
        *taken.lock().unwrap() += 1;
        ok(OBJECT)
    })
}

/// The body that the real server gave this client's address for this path, and the order in which
/// the recorded client found the caches.
fn recorded(request: &str) -> Option<(String, Value)> {
    let fixtures = shared("lines_are_those_of_shoals_client", "reference/shoal-fixtures")?;
    let read = |name: &str| -> Value {
        serde_json::from_slice(&fs::read(fixtures.join(name)).unwrap()).unwrap()
    };
    let runs = read("client_and_broadcast.json");
    let run = runs["runs"].as_array().unwrap().iter().find(|run| run["request"] == request);
    let menu = request.split('/').nth(1).unwrap();
    let bodies = read("server_responses.json");
    // The client ran beside the cache whose private address it printed.
    let is_beside = |cache: &Value| cache["private_ip"] == "10.1.2.3" && cache["local"] == true;
    let is_wanted = |entry: &&Value| {
        let path = entry["path"].as_str().unwrap();
        let caches = entry["body_json"].as_object();
        path.trim_start_matches('/').split('/').next() == Some(menu)
            && caches.is_some_and(|caches| caches.values().any(is_beside))
    };
    let all = bodies.as_array().unwrap();
    let body = all.iter().filter(is_wanted).max_by_key(|e| e["body_raw"].as_str().unwrap().len());
    Some((body.unwrap()["body_raw"].as_str().unwrap().to_owned(), run.unwrap().clone()))
}

fn recorded_run(request: &str, purpose: Use, count: usize) {
    let Some((body, run)) = recorded(request) else { return };
    let printed = run["stdout"].as_str().unwrap();
    let hosts: Vec<String> = printed
        .split("http://")
        .skip(1)
        .map(|part| part.split(':').next().unwrap().to_owned())
        .collect();
    // Each cache that was printed delivers in its turn, which is what decided then; no other does.
    let taken = Arc::new(std::sync::Mutex::new(0));
    let caches: Vec<Server> = (0..hosts.len()).map(|turn| delivering(turn, &taken)).collect();
    let refusing = free_port();
    let led = hosts.iter().cloned().zip(caches.iter().map(|cache| cache.address.port()));
    let offered = parse(body.as_bytes()).unwrap().offers;
    let others =
        offered.iter().filter_map(|offer| offer.public).map(|ip| (ip.to_string(), refusing));
    let dial = Led { caches: led.chain(others).collect() };
    let registry = Server::start(move |_| ok(&body));
    let server = run["env"]["FRONTIER_SERVER"].as_str().map(str::to_owned);
    let options = Options {
        purpose,
        count,
        form: Form::Old,
        frontier_server: server,
        ..options(&[&registry])
    };
    let outcome = run_at(&options, Arc::new(dial), 0.0).unwrap();
    assert_eq!(outcome.line.clone() + "\n", printed);
    let first = registry.seen()[0].lines().next().unwrap().to_owned();
    assert_eq!(first, format!("{request} HTTP/1.1"));
}

#[test]
fn lines_are_those_of_shoals_client() {
    recorded_run("GET /nearestcvmfs/7/", Use::Cvmfs, 2);
    recorded_run("GET /nearestcvmfs/9/", Use::Cvmfs, 4);
    recorded_run("GET /nearestconditions/7/", Use::Frontier, 2);
}

#[test]
fn every_recorded_answer_is_read() {
    let recorded = "reference/shoal-fixtures/server_responses.json";
    let Some(path) = shared("every_recorded_answer_is_read", recorded) else { return };
    let all: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let mut read = 0;
    for entry in all.as_array().unwrap() {
        let body = entry["body_raw"].as_str().unwrap();
        let is_list = entry["headers"]["Content-Type"] == "application/json";
        let answer = parse(body.as_bytes());
        assert_eq!(answer.is_some(), is_list, "{}", entry["path"]);
        let Some(answer) = answer else { continue };
        let expected = entry["body_json"].as_object().map_or(0, serde_json::Map::len);
        assert_eq!((answer.offers.len(), answer.dropped), (expected, 0), "{}", entry["path"]);
        read += answer.offers.len();
    }
    assert!(read > 50, "{read}");
}

#[test]
fn what_delivers_is_used_and_the_rest_is_not() {
    let fine = Server::start(|_| ok(OBJECT));
    let other = Server::start(|_| ok("<html>pay for the network here</html>"));
    let denied = Server::start(|_| answer("403 Forbidden", OBJECT));
    let silent = Server::start(|_| None);
    let ports = [free_port(), silent.address.port(), other.address.port()];
    let all = [ports.as_slice(), &[denied.address.port(), fine.address.port()]].concat();
    let registry = Server::start(move |_| ok(&listing(&all)));
    let options = Options { object_time: Duration::from_secs(1), ..options(&[&registry]) };
    let outcome = run_now(&options);
    assert_eq!(outcome.line, proxy(fine.address.port()));
    assert_eq!(outcome.source, Source::Registry(format!("{}/", registry.url())));
    let asked = &fine.seen()[0];
    let url = "http://cvmfs-stratum-one.cern.ch/cvmfs/atlas.cern.ch/.cvmfswhitelist";
    assert!(asked.starts_with(&format!("GET {url} HTTP/1.1\r\nHost: cvmfs-stratum-one.cern.ch")));
}

#[test]
fn of_each_cache_that_does_not_deliver_it_is_told_why() {
    let denied = Server::start(|_| answer("403 Forbidden", OBJECT));
    let other = Server::start(|_| ok("<html>pay for the network here</html>"));
    let (denied_port, other_port, gone) =
        (denied.address.port(), other.address.port(), free_port());
    let all = [denied_port, other_port, gone];
    let registry = Server::start(move |_| ok(&listing(&all)));
    let nobody = run_at(&options(&[&registry]), Arc::new(Plain), 0.0).unwrap_err();
    let text = nobody.to_string();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let says = |begins: &str, ends: &str| {
        let is_it = |line: &&&str| line.contains(begins) && line.contains(ends);
        assert!(lines.iter().find(is_it).is_some(), "{begins} {ends}: {text}");
    };
    says("none of the 3 caches", "delivers");
    says(&format!("{}: ", proxy(denied_port)), "is answered 403");
    says(&format!("{}: ", proxy(other_port)), "what comes is not http://cvmfs-stratum-one.cern.ch");
    says(&format!("{}: ", proxy(gone)), "connect");
    let hint = plimsoll_units::failure::Failure::hint(&nobody).unwrap();
    assert!(hint.contains("--object") && hint.contains("--fallback"), "{hint}");
}

#[test]
fn registries_are_asked_in_order_and_why_one_is_passed_over_is_told() {
    let fine = Server::start(|_| ok(OBJECT));
    let port = fine.address.port();
    let ailing = Server::start(|_| answer("500 Internal Server Error", "null"));
    let strange = Server::start(|_| ok("<html>"));
    let registry = Server::start(move |_| ok(&listing(&[port])));
    let never = Server::start(|_| ok("null"));
    let outcome = run_now(&options(&[&ailing, &strange, &registry, &never]));
    assert_eq!(outcome.value, proxy(port));
    let (ailing, strange) = (ailing.url(), strange.url());
    assert_eq!(
        outcome.notes,
        [
            format!("{ailing}/: the answer's status is 500"),
            format!("{strange}/: the answer is not HTTP/1: its body lists no caches"),
        ]
    );
    assert_eq!(never.seen(), [] as [String; 0]);
}

#[test]
fn our_own_path_tells_bands_and_an_old_registry_is_asked_the_old_way() {
    let taken = Arc::new(std::sync::Mutex::new(0));
    let caches: Vec<Server> = (0..3).map(|turn| delivering(turn, &taken)).collect();
    let entry = |cache: &Server, km: f64, local: bool| {
        json!({"host": "c.example", "port": cache.address.port(), "public_ip": "127.0.0.1",
               "type": "squid", "upstream": "both", "distance_km": km, "local": local})
    };
    // The quickest is far, the local one is slowest.
    let all = [
        entry(&caches[0], 900.0, false),
        entry(&caches[1], 30.0, false),
        entry(&caches[2], 350.0, true),
        json!({"host": "f.example", "port": 1, "upstream": "frontier", "distance_km": 1.0}),
    ];
    let body = json!({"client": {}, "generation": 1, "caches": all}).to_string();
    let ours = Server::start(move |_| ok(&body));
    let options_of = |server| Options { ask: Ask::V1, count: 3, ..options(&[server]) };
    let outcome = run_now(&options_of(&ours));
    let [far, near, local] = [0, 1, 2].map(|index: usize| proxy(caches[index].address.port()));
    assert_eq!(outcome.line, format!("{near}|{local};{far}"));
    assert!(ours.seen()[0].starts_with("GET /v1/nearest?n=8 HTTP/1.1\r\n"));
    let fine = Server::start(|_| ok(OBJECT));
    let port = fine.address.port();
    let old = Server::start(move |request| match request.starts_with("GET /nearestcvmfs/8/ ") {
        true => ok(&listing(&[port])),
        false => answer("404 Not Found", "not found"),
    });
    assert_eq!(run_now(&options_of(&old)).line, proxy(port));
    assert_eq!(old.seen().len(), 2);
    // A path as the settings of Shoal's client have it.
    let path = Url::parse(&format!("{}/nearestcvmfs", old.url())).unwrap();
    let options = Options { servers: vec![path], count: 3, ..options(&[]) };
    assert_eq!(run_now(&options).line, proxy(port));
}

#[test]
fn it_falls_back_to_the_last_good_answer_and_then_to_the_static_list() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("default.local");
    fs::write(&file, "CVMFS_QUOTA_LIMIT=1\nCVMFS_HTTP_PROXY='http://site:3128;DIRECT'\n").unwrap();
    let fine = Server::start(|_| ok(OBJECT));
    let port = fine.address.port();
    let registry = Server::start(move |_| ok(&listing(&[port])));
    let options = Options {
        file: file.clone(),
        state: Some(folder.path().join("state.json")),
        apply: true,
        ..options(&[&registry])
    };
    let dry = Options { dry_run: true, ..options.clone() };
    let would = run_now(&dry);
    let value = format!("{};http://site:3128;DIRECT", proxy(port));
    let file_name = file.display();
    let lines =
        format!("-CVMFS_HTTP_PROXY='http://site:3128;DIRECT'\n+CVMFS_HTTP_PROXY=\"{value}\"\n");
    assert_eq!(would.difference, format!("--- {file_name}\n+++ {file_name}\n@@ -2 +2 @@\n{lines}"));
    assert!(would.changed);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing written");
    let plimsoll_writes =
        |value: &str| format!("CVMFS_QUOTA_LIMIT=1\nCVMFS_HTTP_PROXY=\"{value}\"\n");
    assert!(run_now(&options).changed);
    assert_eq!(fs::read_to_string(&file).unwrap(), plimsoll_writes(&value));
    let again = run_now(&options);
    assert!(!again.changed, "the same again");
    drop(registry);
    let outcome = run_at(&options, Arc::new(Plain), 1060.0).unwrap();
    assert_eq!(outcome.source, Source::Memory { age_s: 60 });
    assert_eq!(outcome.value, value);
    assert!(outcome.notes[0].contains("connect to 127.0.0.1"), "{:?}", outcome.notes);
    drop(fine);
    let outcome = run_now(&options);
    assert_eq!((outcome.source, outcome.changed), (Source::Fixed, true));
    assert_eq!(outcome.notes[1], "none of the last good answer's caches delivers");
    let site = plimsoll_writes("http://site:3128;DIRECT");
    assert_eq!(fs::read_to_string(&file).unwrap(), site, "the site's own, not what was found once");
    let given = Options { fixed: Some("http://given:1".to_owned()), ..options };
    assert_eq!(run_now(&given).value, "http://given:1");
    let nothing = Options { file: "/nowhere".into(), state: None, apply: false, ..given.clone() };
    let nothing = Options { fixed: None, ..nothing };
    assert!(matches!(run_at(&nothing, Arc::new(Plain), 0.0), Err(Error::Nothing(_))));
    let bent = Options { fixed: Some("$(x)".to_owned()), ..given };
    assert!(matches!(run_at(&bent, Arc::new(Plain), 0.0), Err(Error::Value(_))));
}

#[test]
fn no_cache_anywhere_is_no_reason_to_forget_the_last_answer() {
    let folder = tempfile::tempdir().unwrap();
    let fine = Server::start(|_| ok(OBJECT));
    let port = fine.address.port();
    let registry = Server::start(move |_| ok(&listing(&[port])));
    let state = Some(folder.path().join("state.json"));
    run_now(&Options { state: state.clone(), ..options(&[&registry]) });
    let empty = Server::start(|_| ok("null"));
    let outcome = run_now(&Options { state, ..options(&[&empty]) });
    assert_eq!(outcome.value, proxy(port));
    assert_eq!(outcome.notes, [format!("none of the 0 caches of {}/ delivers", empty.url())]);
}

#[test]
fn frontier_keeps_its_static_list_behind() {
    let fine = Server::start(|_| ok(OBJECT));
    let port = fine.address.port();
    let registry = Server::start(move |_| ok(&listing(&[port])));
    let options = Options { purpose: Use::Frontier, ..options(&[&registry]) };
    let new = format!("(proxyurl=http://127.0.0.1:{port})");
    let server = Some("(serverurl=http://f:8000/atlr)(proxyurl=http://old:3128)".to_owned());
    let with_server = Options { frontier_server: server, ..options.clone() };
    let expected = format!("(serverurl=http://f:8000/atlr){new}(proxyurl=http://old:3128)");
    assert_eq!(run_now(&with_server).line, expected);
    let old = Options { form: Form::Old, ..with_server };
    assert_eq!(run_now(&old).line, format!("\"{new}\""));
    let fixed = Some("http://a:1|http://b:2;DIRECT".to_owned());
    let with_fixed = Options { fixed, ..options };
    let expected = format!("{new}(proxyurl=http://a:1)(proxyurl=http://b:2)");
    assert_eq!(run_now(&with_fixed).line, expected);
    assert!(registry.seen()[0].starts_with("GET /nearestconditions/7/ "));
}

#[test]
fn only_hosts_and_ports_pass() {
    let entry = |host: &str, port: Value| json!({"hostname": host, "squid_port": port});
    let wrong = [
        entry("a;reboot", json!(3128)),
        entry("$(reboot)", json!(3128)),
        entry("a b", json!(3128)),
        entry("", json!(3128)),
        entry("-rf", json!(3128)),
        entry("a.b", json!(0)),
        entry("a.b", json!(65536)),
        entry("a.b", json!(-1)),
        entry("a.b", json!("3128;x")),
        entry("a.b", json!(31.5)),
        entry("a.b", json!("+80")),
        json!({"squid_port": 3128}),
        json!({"hostname": "a.b"}),
        json!({"hostname": 7, "squid_port": 3128}),
        json!({"hostname": "a.b", "squid_port": 3128, "public_ip": "1.2.3.4|x"}),
        json!({"hostname": "a.b", "squid_port": 3128, "private_ip": "10.0.0.256"}),
        json!(7),
    ];
    let mut entries: serde_json::Map<String, Value> =
        wrong.iter().enumerate().map(|(rank, entry)| (rank.to_string(), entry.clone())).collect();
    entries.insert("90".to_owned(), entry("fine.example", json!("3128")));
    let answer = parse(Value::Object(entries).to_string().as_bytes()).unwrap();
    assert_eq!(answer.dropped, wrong.len());
    let [offer] = answer.offers.as_slice() else { panic!("{:?}", answer.offers) };
    assert_eq!((offer.host.as_deref(), offer.port), (Some("fine.example"), 3128));
    for strange in ["", "[]", "7", "{\"a\": {}}", "{\"caches\": 7}", "{"] {
        assert_eq!(parse(strange.as_bytes()), None, "{strange}");
    }
    for empty in ["null", "{}", "{\"caches\": []}"] {
        assert_eq!(parse(empty.as_bytes()).unwrap().offers, [], "{empty}");
    }
}

#[test]
fn ranks_are_numbers_not_texts() {
    let ranks = (0..12)
        .rev()
        .map(|rank| format!("\"{rank}\": {{\"hostname\": \"c{rank}\", \"cache_port\": 1}}"));
    let body = format!("{{{}}}", ranks.collect::<Vec<_>>().join(", "));
    let offers = parse(body.as_bytes()).unwrap().offers;
    let hosts: Vec<String> = offers.into_iter().filter_map(|offer| offer.host).collect();
    assert_eq!(hosts, (0..12).map(|rank| format!("c{rank}")).collect::<Vec<_>>());
}

#[test]
fn a_private_address_is_for_the_same_network_only() {
    let own: Vec<IpAddr> = vec!["10.1.9.9".parse().unwrap()];
    let host_of = |local: bool, private: &str| {
        let entry = json!({"hostname": "c.example", "squid_port": 3128, "public_ip": "192.0.2.1",
                           "private_ip": private, "local": local});
        let offers = parse(json!({"0": entry}).to_string().as_bytes()).unwrap().offers;
        candidates(&offers, &own, Use::Cvmfs)[0].host.clone()
    };
    assert_eq!(host_of(true, "10.1.2.3"), "10.1.2.3");
    assert_eq!(host_of(true, "10.2.2.3"), "192.0.2.1");
    assert_eq!(host_of(false, "10.1.2.3"), "192.0.2.1");
}

#[test]
fn lists_are_written_as_their_readers_want_them() {
    let cache = |host: &str, band| Candidate { host: host.to_owned(), port: 1, band };
    let caches =
        [cache("a", Some(0)), cache("b", Some(0)), cache("c", Some(2)), cache("::1", None)];
    let expected = "http://a:1|http://b:1;http://c:1;http://[::1]:1";
    assert_eq!(cvmfs(&caches, Form::Bands), expected);
    assert_eq!(cvmfs(&caches, Form::Old), expected.replace('|', ";"));
    assert_eq!(frontier(&caches[..2]), "(proxyurl=http://a:1)(proxyurl=http://b:1)");
    assert_eq!(into_frontier_server("(p)", "(serverurl=s)"), "(serverurl=s)(p)");
    assert_eq!(with_fixed("a;b", "b|c; a ;DIRECT"), "a;b;c;DIRECT");
    assert_eq!(with_fixed("", "b|c;DIRECT"), "b|c;DIRECT");
    let bands = [0.0, 99.9, 100.0, 199.9, 200.0, 400.0, 20_000.0].map(band);
    assert_eq!(bands, [0, 0, 1, 1, 2, 3, 8]);
}

#[test]
fn the_object_is_known_by_its_name() {
    let path = "/cvmfs/atlas.cern.ch/.cvmfswhitelist";
    assert!(is_object(path, 200, OBJECT.as_bytes()));
    assert!(!is_object(path, 404, OBJECT.as_bytes()));
    assert!(!is_object(path, 200, b"Nother.cern.ch\n"));
    assert!(!is_object(path, 200, b"<html>atlas.cern.ch</html>"));
    assert!(is_object("/anything", 200, b""));
}

proptest! {
    /// Whatever a registry says: nothing reaches a line but schemes, hosts, ports and separators.
    #[test]
    fn no_answer_reaches_a_shell(
        hosts in prop::collection::vec(
            (
                prop_oneof!["[ -~]{0,12}", "[a-zA-Z0-9.$;-]{1,9}"],
                -5i32..70_000,
                prop_oneof![Just(None), "[0-9a-f.:$;`]{0,9}".prop_map(Some)],
            ),
            0..6,
        ),
    ) {
        let entry = |(rank, (host, port, ip)): (usize, &(String, i32, Option<String>))| {
            let entry = json!({"hostname": host, "squid_port": port, "public_ip": ip});
            (rank.to_string(), entry)
        };
        let entries: serde_json::Map<String, Value> = hosts.iter().enumerate().map(entry).collect();
        let answer = parse(Value::Object(entries).to_string().as_bytes()).unwrap();
        prop_assert_eq!(answer.offers.len() + answer.dropped, hosts.len());
        let caches = candidates(&answer.offers, &[], Use::Cvmfs);
        let line = cvmfs(&caches, Form::Bands) + &frontier(&caches);
        let is_fine = |c: char| c.is_ascii_alphanumeric() || ".-:/[]|;()=".contains(c);
        prop_assert!(line.chars().all(is_fine), "{line}");
    }

    #[test]
    fn the_quickest_of_the_nearest_band_is_first(
        times in prop::collection::vec((0u32..4, prop::option::of(0u64..50)), 0..10),
        count in 0usize..6,
    ) {
        let tried = times.iter().enumerate().map(|(n, &(band, ms))| {
            let cache = Candidate { host: n.to_string(), port: 1, band: Some(band) };
            (cache, ms.map(Duration::from_millis))
        });
        let tried: Vec<(Candidate, Option<Duration>)> = tried.collect();
        let chosen = order(tried.clone(), &[], count);
        let delivered = times.iter().filter(|(_, ms)| ms.is_some()).count();
        prop_assert_eq!(chosen.len(), count.min(delivered));
        let keys: Vec<_> = chosen.iter().map(|c| times[c.host.parse::<usize>().unwrap()]).collect();
        prop_assert!(keys.windows(2).all(|pair| pair[0] <= pair[1]), "{keys:?}");
        if let Some(last) = keys.last() {
            let better = times.iter().filter(|key| key.1.is_some() && *key < last).count();
            prop_assert!(better < count.max(1));
        }
        // What was chosen is in use: asked again with times that differ by chance, it stays.
        let standing: Vec<String> = chosen.iter().map(Candidate::url).collect();
        let standing: Vec<&str> = standing.iter().map(String::as_str).collect();
        let noisy = tried.into_iter().enumerate().map(|(n, (cache, time))| {
            (cache, time.map(|time| time + Duration::from_micros(400 * (n as u64 % 3))))
        });
        prop_assert_eq!(order(noisy.collect(), &standing, count), chosen);
    }
}

#[test]
fn a_cache_in_use_gives_way_only_to_one_that_is_noticeably_quicker() {
    let cache = |host: &str| Candidate { host: host.to_owned(), port: 1, band: None };
    let chosen = |used_ms: u64, other_ms: u64| {
        let tried = [("other", other_ms), ("used", used_ms)];
        let tried = tried.map(|(host, ms)| (cache(host), Some(Duration::from_millis(ms))));
        order(tried.to_vec(), &["http://used:1"], 1)[0].host.clone()
    };
    assert_eq!(chosen(11, 10), "used");
    assert_eq!(chosen(14, 10), "other", "a quarter");
    assert_eq!(chosen(3, 2), "used", "a millisecond is chance");
    assert_eq!(chosen(10, 11), "used");
}
