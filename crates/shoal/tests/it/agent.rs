//! A whole agent against real sockets: a cache that answers or not, registries that are there or
//! not, and a root below which networks come and go.

use std::fs;
use std::net::IpAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use plimsoll_net::http::client::Plain;
use plimsoll_net::url::Url;
use plimsoll_shoal::Now;
use plimsoll_shoal::agent::announce::{Announce, Failure, Http, Message};
use plimsoll_shoal::agent::{self, Event, Health, Options, Probe, World, metadata};
use serde_json::Value;

use plimsoll_testing::free_port;

use crate::serve::{Server, answer, ok};

const FIB: &str = "|-- 127.0.0.1\n/32 host LOCAL\n|-- 192.0.2.7\n/32 host LOCAL\n";
const PATIENCE: Duration = Duration::from_secs(30);

/// Both clocks of this machine.
#[expect(clippy::disallowed_methods, reason = "a real agent needs a real clock")]
fn clock() -> Now {
    static BEGIN: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    let begin = BEGIN.get_or_init(std::time::Instant::now);
    let elapsed_ns = u64::try_from(begin.elapsed().as_nanos()).unwrap();
    let unix = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    Now { elapsed_ns, unix_s: unix.as_secs_f64() }
}

pub(crate) struct Running {
    stop: Arc<AtomicBool>,
    /// Added to the wall clock, in seconds.
    shift: Arc<AtomicI64>,
    events: Receiver<Event>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    pub(crate) fn start(options: Options, root: &Path, registries: Vec<Box<dyn Announce>>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let shift = Arc::new(AtomicI64::new(0));
        let (sender, events) = channel();
        let (stopped, shifted, root) = (stop.clone(), shift.clone(), root.to_owned());
        let thread = std::thread::spawn(move || {
            let shifted = |now: Now| {
                let shift = f64::from(i32::try_from(shifted.load(Ordering::SeqCst)).unwrap());
                Now { unix_s: now.unix_s + shift, ..now }
            };
            let drawn = AtomicU32::new(0);
            let world = World {
                root,
                now: &|| shifted(clock()),
                stop: &stopped,
                seed: 7,
                uuid: &mut || format!("{:032x}", drawn.fetch_add(1, Ordering::SeqCst) + 1),
                way_out: &Vec::new,
                registries,
                dial: Arc::new(Plain),
            };
            agent::run(options, world, &mut |event| drop(sender.send(event))).unwrap();
        });
        Self { stop, shift, events, thread: Some(thread) }
    }

    /// Waits for an event; what comes before it is passed over.
    pub(crate) fn until(&self, wanted: impl Fn(&Event) -> bool) -> Event {
        loop {
            let event = self.events.recv_timeout(PATIENCE).expect("an event that never came");
            if wanted(&event) {
                return event;
            }
        }
    }

    pub(crate) fn end(mut self) -> Vec<Event> {
        self.stop.store(true, Ordering::SeqCst);
        self.thread.take().unwrap().join().unwrap();
        self.events.try_iter().collect()
    }
}

pub(crate) fn host() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir_all(root.path().join("proc/net")).unwrap();
    fs::write(root.path().join("proc/net/fib_trie"), FIB).unwrap();
    root
}

pub(crate) fn options(cache_port: u16) -> Options {
    Options {
        port: Some(cache_port),
        interval: Duration::from_secs(1),
        probe_interval: Duration::from_millis(50),
        probe: Probe { url: None, time: PATIENCE },
        counters: false,
        ..Options::default()
    }
}

fn http(server: &str) -> Box<dyn Announce> {
    Box::new(Http::new(&Url::parse(server).unwrap(), Arc::new(Plain), None))
}

fn is_announced(event: &Event) -> bool {
    matches!(event, Event::Announced(_))
}

fn body_of(request: &str) -> Value {
    serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap()
}

#[test]
fn every_registry_is_told_and_left_though_another_is_away() {
    let cache = Server::start(|_| answer("400 Bad Request", ""));
    let one = Server::start(|_| answer("204 No Content", ""));
    let other = Server::start(|_| answer("204 No Content", ""));
    let silent = Server::start(|_| None);
    let refusing = format!("http://127.0.0.1:{}", free_port());
    let host = host();
    let registries = [&refusing, &silent.url(), &one.url(), &other.url()].map(|url| http(url));
    let agent = Running::start(options(cache.address.port()), host.path(), registries.into());
    for server in [&one, &other] {
        let url = format!("{}/", server.url());
        for _ in 0..2 {
            agent.until(|event| *event == Event::Announced(url.clone()));
        }
    }
    let events = agent.end();
    for server in [&one, &other] {
        let seen = server.seen();
        let (last, beats) = seen.split_last().unwrap();
        assert!(last.starts_with("DELETE /v1/heartbeat HTTP/1.1\r\n"), "{last}");
        assert_eq!(body_of(last)["uuid"], format!("{:032x}", 1));
        assert_eq!(body_of(last).get("load"), None);
        assert!(beats.len() >= 2);
        let mut before = 0.0;
        for beat in beats {
            assert!(beat.starts_with("POST /v1/heartbeat HTTP/1.1\r\n"), "{beat}");
            assert!(beat.contains("\r\nContent-Type: application/json\r\n"));
            let body = body_of(beat);
            assert_eq!(body["public_ip"], "192.0.2.7");
            assert_eq!(body["cache_port"], cache.address.port());
            assert!(body["timestamp"].as_f64().unwrap() > before, "each is newer");
            before = body["timestamp"].as_f64().unwrap();
        }
        assert!(events.contains(&Event::Left(format!("{}/", server.url()))));
    }
}

#[test]
fn a_cache_that_dies_is_taken_away_and_one_that_returns_is_announced() {
    let cache = Server::start(|_| ok("fine"));
    let address = cache.address;
    let registry = Server::start(|_| answer("204 No Content", ""));
    let host = host();
    let agent = Running::start(options(address.port()), host.path(), vec![http(&registry.url())]);
    agent.until(is_announced);
    drop(cache);
    agent.until(|event| *event == Event::Health(Health::Dead));
    agent.until(|event| matches!(event, Event::Left(_)));
    let count = registry.seen().len();
    for _ in 0..5 {
        agent.until(|event| matches!(event, Event::Probe(_)));
    }
    assert_eq!(registry.seen().len(), count, "nothing is said of a dead cache");
    let _cache = Server::start_at(&address.to_string(), |_| ok("fine"));
    agent.until(|event| *event == Event::Health(Health::Alive));
    agent.until(is_announced);
    agent.end();
}

/// Connections are accepted by the kernel even then.
#[test]
fn a_cache_that_is_stopped_is_dead() {
    let cache = Server::start(|_| None);
    let registry = Server::start(|_| answer("204 No Content", ""));
    let host = host();
    let probe = Probe { url: None, time: Duration::from_millis(100) };
    let options = Options { probe, ..options(cache.address.port()) };
    let agent = Running::start(options, host.path(), vec![http(&registry.url())]);
    agent.until(|event| *event == Event::Health(Health::Dead));
    agent.end();
    assert_eq!(registry.seen(), [] as [String; 0]);
}

#[test]
fn a_probe_with_a_url_goes_through_the_cache_and_wants_200() {
    let is_wanted = Arc::new(AtomicBool::new(false));
    let wanted = is_wanted.clone();
    let cache = Server::start(move |_| match wanted.load(Ordering::SeqCst) {
        true => ok("object"),
        false => answer("503 Service Unavailable", ""),
    });
    let registry = Server::start(|_| answer("204 No Content", ""));
    let host = host();
    let url = Url::parse("http://origin.example/object").unwrap();
    let probe = Probe { url: Some(url), time: PATIENCE };
    let options = Options { probe, ..options(cache.address.port()) };
    let agent = Running::start(options, host.path(), vec![http(&registry.url())]);
    let failed = agent.until(|event| matches!(event, Event::Probe(_)));
    assert_eq!(failed, Event::Probe("the answer's status is 503".to_owned()));
    is_wanted.store(true, Ordering::SeqCst);
    agent.until(is_announced);
    assert!(cache.seen()[0].starts_with("GET http://origin.example/object HTTP/1.1\r\n"));
    agent.end();
}

#[test]
fn nothing_is_said_before_there_is_a_network() {
    let cache = Server::start(|_| ok("fine"));
    let registry = Server::start(|_| answer("204 No Content", ""));
    let root = tempfile::tempdir().unwrap();
    fs::create_dir_all(root.path().join("proc/net")).unwrap();
    let agent =
        Running::start(options(cache.address.port()), root.path(), vec![http(&registry.url())]);
    agent.until(|event| *event == Event::Health(Health::Alive));
    assert_eq!(registry.seen(), [] as [String; 0]);
    fs::write(root.path().join("proc/net/fib_trie"), FIB).unwrap();
    let there = agent.until(|event| matches!(event, Event::Network(_)));
    let Event::Network(addresses) = there else { unreachable!() };
    assert_eq!(addresses.public, Some("192.0.2.7".parse().unwrap()));
    agent.until(is_announced);
    agent.end();
}

#[test]
fn a_host_behind_a_translation_asks_how_it_is_seen() {
    let cache = Server::start(|_| ok("fine"));
    let registry = Server::start(|request| match request.starts_with("GET /v1/nearest?n=1 ") {
        true => ok("{\"client\": {\"ip\": \"198.51.100.9\", \"located\": false}, \"caches\": []}"),
        false => answer("204 No Content", ""),
    });
    let host = host();
    let private = FIB.replace("192.0.2.7", "10.1.2.3");
    fs::write(host.path().join("proc/net/fib_trie"), private).unwrap();
    let outside = Some(Url::parse(&registry.url()).unwrap());
    let options = Options { outside, ..options(cache.address.port()) };
    let agent = Running::start(options, host.path(), vec![http(&registry.url())]);
    let external = Some("198.51.100.9".parse().unwrap());
    agent.until(|event| matches!(event, Event::Network(seen) if seen.external == external));
    agent.until(is_announced);
    agent.until(is_announced);
    agent.end();
    let seen = registry.seen();
    let last = seen.iter().rfind(|request| request.starts_with("POST ")).unwrap();
    assert_eq!(body_of(last)["private_ip"], "10.1.2.3");
    assert_eq!(body_of(last)["external_ip"], "198.51.100.9");
    assert_eq!(seen.iter().filter(|request| request.starts_with("GET ")).count(), 1, "once");
}

#[test]
fn a_clock_set_back_makes_it_another_identity() {
    let cache = Server::start(|_| ok("fine"));
    let registry = Server::start(|_| answer("204 No Content", ""));
    let host = host();
    let agent =
        Running::start(options(cache.address.port()), host.path(), vec![http(&registry.url())]);
    agent.until(is_announced);
    agent.shift.store(-3600, Ordering::SeqCst);
    agent.until(is_announced);
    agent.until(is_announced);
    agent.end();
    let uuids: Vec<Value> =
        registry.seen().iter().map(|request| body_of(request)["uuid"].clone()).collect();
    assert_eq!(uuids[0], format!("{:032x}", 1));
    assert_eq!(uuids[2..], vec![Value::from(format!("{:032x}", 2)); uuids.len() - 2]);
}

#[test]
fn refusals_and_ailments_are_told_apart() {
    let status = Arc::new(Mutex::new(answer("204 No Content", "")));
    let given = status.clone();
    let registry = Server::start(move |_| given.lock().unwrap().clone());
    let sign = |body: &[u8], unix_ms: i64| {
        vec![("X-Test".to_owned(), format!("{} {unix_ms}", body.len()))]
    };
    let url = Url::parse(&registry.url()).unwrap();
    let mut http = Http::new(&url, Arc::new(Plain), Some(Box::new(sign)));
    let address: Option<IpAddr> = Some("127.0.0.1".parse().unwrap());
    let message = Message { body: b"{}", address, unix_ms: 5 };
    http.announce(&message).unwrap();
    assert!(registry.seen()[0].contains("\r\nX-Test: 2 5\r\n"));
    let problem = "{\"reason\": \"range\", \"detail\": \"`load` is not finite\"}";
    *status.lock().unwrap() = answer("400 Bad Request", problem);
    match http.announce(&message).unwrap_err() {
        Failure::Refused { status, reason, wait } => {
            assert_eq!((status, wait), (400, None));
            assert_eq!(reason, "range: `load` is not finite");
        }
        other => panic!("{other:?}"),
    }
    let busy =
        b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 90\r\nContent-Length: 4\r\n\r\n\x1b[0m";
    *status.lock().unwrap() = Some(busy.to_vec());
    match http.announce(&message).unwrap_err() {
        Failure::Refused { status, reason, wait } => {
            assert_eq!((status, wait), (429, Some(Duration::from_secs(90))));
            assert_eq!(reason, "[0m", "no escapes in a log");
        }
        other => panic!("{other:?}"),
    }
    *status.lock().unwrap() = answer("503 Service Unavailable", "");
    assert!(matches!(http.announce(&message), Err(Failure::Away(_))));
    *status.lock().unwrap() = answer("404 Not Found", "");
    assert!(matches!(http.announce(&message), Err(Failure::Refused { status: 404, .. })));
    http.goodbye(&message).unwrap();
}

#[test]
fn a_cloud_tells_address_and_zone() {
    let cloud = Server::start(|request| match request.lines().next().unwrap() {
        "PUT /latest/api/token HTTP/1.1" => ok("secret"),
        _ if !request.contains("\r\nX-aws-ec2-metadata-token: secret\r\n") => {
            answer("401 Unauthorized", "")
        }
        "GET /latest/meta-data/public-ipv4 HTTP/1.1" => ok("198.51.100.7\n"),
        "GET /latest/meta-data/placement/availability-zone HTTP/1.1" => ok("east-1b"),
        _ => answer("404 Not Found", ""),
    });
    let told = metadata::ask(&Plain, &Url::parse(&cloud.url()).unwrap());
    assert_eq!(told.public_ip, Some("198.51.100.7".parse().unwrap()));
    assert_eq!(told.zone.as_deref(), Some("east-1b"));
    // Without version 2, and with answers that are no addresses and no names.
    let other = Server::start(|request| match request.lines().next().unwrap() {
        "GET /latest/meta-data/public-ipv4 HTTP/1.1" => ok("10.0.0.1"),
        "GET /latest/meta-data/placement/availability-zone HTTP/1.1" => ok("a b\"c"),
        "GET /openstack/latest/meta_data.json HTTP/1.1" => ok("{\"availability_zone\": \"nova\"}"),
        _ => answer("404 Not Found", ""),
    });
    let told = metadata::ask(&Plain, &Url::parse(&other.url()).unwrap());
    assert_eq!((told.public_ip, told.zone.as_deref()), (None, Some("nova")));
    let refusing = Url::parse(&format!("http://127.0.0.1:{}", free_port())).unwrap();
    assert_eq!(metadata::ask(&Plain, &refusing), metadata::Metadata::default());
}
