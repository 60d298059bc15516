//! Verification at work: hostile servers, a server's states, Debian's Squid.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use plimsoll_net::url::Url;
use plimsoll_shoal::heartbeat::Kind;
use plimsoll_shoal::server::Options;
use plimsoll_shoal::verify::{Aim, Allowed, IN_FLIGHT, Object, Outcome, Settings, probe};
use plimsoll_testing::free_port;
use serde_json::{Value, json};

use crate::agent_squid::Squid;
use crate::serve::{Server, answer, ok};
use crate::support::live::{Live, options, said, text, until, with};

const URL: &str = "http://origin.example/cvmfs/some.repo/.cvmfswhitelist";
const BODY: &str = "20261122090000\nNsome.repo\n";

/// What a server is told: loopback may be asked, at these ports, a network every fifth of a second.
fn settings(url: &str, ports: &[u16]) -> Settings {
    let private = vec!["127.0.0.0/8".parse().unwrap()];
    Settings {
        object: Object::new(Url::parse(url).unwrap(), None).unwrap(),
        allowed: Allowed::new(private, ports.to_vec()).unwrap(),
        every: Duration::from_millis(200),
    }
}

fn verifying(settings: Settings) -> Live {
    Live::start(Options { verify: Some(settings), ..options() })
}

fn announce(live: &Live, host: &str, at: SocketAddr) {
    // No loopback address is public.
    let private = json!({"public_ip": null, "private_ip": at.ip(), "cache_port": at.port()});
    let beat = with(said(&host.replace('.', "-"), host, "192.0.2.1"), &private);
    let answer = live.announce(&beat);
    assert_eq!(answer.status, 204, "{}", text(&answer));
}

fn becomes(live: &Live, host: &str, state: &str) {
    until(&format!("{host} {state}"), || (live.listed(host)["state"] == state).then_some(()));
}

fn metric(live: &Live, name: &str) -> u64 {
    let metrics = text(&live.get("/metrics"));
    let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("{name}: {metrics}")).parse().unwrap()
}

fn questions(live: &Live, outcome: Outcome) -> u64 {
    metric(live, &format!("shoal_verify_questions_total{{outcome=\"{}\"}}", outcome.name()))
}

/// Asks once, outside of any server.
fn ask(at: SocketAddr) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let object = Object::new(Url::parse(URL).unwrap(), None).unwrap();
    let aim = Aim { address: at.ip(), port: at.port(), kind: Kind::Squid };
    runtime.block_on(probe(aim, &object))
}

/// Takes one connection and does as it likes with it.
fn hostile(act: impl FnOnce(TcpStream) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 4096];
        let _ = stream.read(&mut request);
        act(stream);
    });
    address
}

/// Sends the same again and again until the other end has had enough.
fn endless(stream: &mut TcpStream, what: &[u8], pause: Duration) -> usize {
    let mut sent = 0;
    while stream.write_all(what).is_ok() {
        sent += what.len();
        std::thread::park_timeout(pause);
    }
    sent
}

#[test]
fn rule_5_whatever_is_there_a_question_ends_soon_and_reads_little() {
    let head = "HTTP/1.1 200 OK\r\n";
    let good = Server::start(|_| ok(BODY));
    assert_eq!(ask(good.address), Outcome::Good);
    let (sender, sent) = std::sync::mpsc::channel();
    let body = hostile(move |mut stream| {
        let _ = stream.write_all(format!("{head}\r\n").as_bytes());
        let _ = sender.send(endless(&mut stream, BODY.repeat(40).as_bytes(), Duration::ZERO));
    });
    assert_eq!(ask(body), Outcome::Long);
    // What it could send before it was cut off went into the systems' buffers, no more.
    assert!(sent.recv().unwrap() < 64 << 20);
    let heads = hostile(move |mut stream| {
        let _ = stream.write_all(head.as_bytes());
        endless(&mut stream, b"X-Header: of many\r\n", Duration::ZERO);
    });
    assert_eq!(ask(heads), Outcome::Long);
    // Two seconds in all, not from byte to byte.
    let drip = hostile(move |mut stream| {
        let _ = stream.write_all(head.as_bytes());
        endless(&mut stream, b"X", Duration::from_millis(20));
    });
    assert_eq!(ask(drip), Outcome::Slow);
    let silent = Server::start(|_| None);
    assert_eq!(ask(silent.address), Outcome::Silent);
    assert_eq!(ask(hostile(drop)), Outcome::Closed);
    let other = hostile(|mut stream| {
        let _ = stream.write_all(b"+OK Redis at your service\r\n");
    });
    assert_eq!(ask(other), Outcome::Malformed);
    assert_eq!(ask(([127, 0, 0, 1], free_port()).into()), Outcome::Refused);
    for (status, body, outcome) in [
        ("200 OK", "<html>Welcome to the hotel</html>", Outcome::Body),
        ("404 Not Found", BODY, Outcome::Status),
        ("403 Forbidden", "ERR_ACCESS_DENIED", Outcome::Status),
        ("503 Service Unavailable", "ERR_CONNECT_FAIL", Outcome::Gateway),
    ] {
        let server = Server::start(move |_| answer(status, body));
        assert_eq!(ask(server.address), outcome, "{status}");
    }
}

#[test]
fn rule_5_nobody_goes_where_an_answer_or_a_name_points() {
    let trap = Server::start(|_| ok(BODY));
    let port = trap.address.port();
    let to =
        format!("HTTP/1.1 302 Found\r\nLocation: {}/x\r\nContent-Length: 0\r\n\r\n", trap.url());
    let moved = Server::start_at("127.0.1.1:0", move |_| Some(to.clone().into_bytes()));
    let live = verifying(settings(URL, &[moved.address.port(), port]));
    // Its name is the trap's address, at which nothing was announced.
    let named = said("n", "127.0.0.1", "192.0.2.1");
    let private = json!({"public_ip": null, "private_ip": "127.0.2.1", "cache_port": port});
    let named = with(named, &private);
    assert_eq!(live.announce(&named).status, 204);
    announce(&live, "moved.example", moved.address);
    becomes(&live, "moved.example", "failing");
    becomes(&live, "127.0.0.1", "failing");
    assert!(questions(&live, Outcome::Redirect) >= 2);
    assert!(trap.seen().is_empty(), "{:?}", trap.seen());
    // What was asked, was asked for our object, of whomever.
    let asked = moved.seen();
    assert!(asked.iter().all(|request| request.starts_with(&format!("GET {URL} HTTP/1.1\r\n"))));
}

#[test]
fn rule_5_other_addresses_and_ports_are_never_asked() {
    let (private, port) = (Server::start(|_| ok(BODY)), Server::start(|_| ok(BODY)));
    // The first is at a listed port but loopback is not named; of the second it is.
    let own = Allowed::new(Vec::new(), vec![private.address.port()]).unwrap();
    let first = verifying(Settings { allowed: own, ..settings(URL, &[1]) });
    announce(&first, "private.example", private.address);
    let second = verifying(settings(URL, &[private.address.port()]));
    announce(&second, "port.example", port.address);
    for (live, reason) in [(&first, "address"), (&second, "port")] {
        let name = format!("shoal_verify_not_allowed_total{{reason=\"{reason}\"}}");
        until(reason, || (metric(live, &name) == 1).then_some(()));
        assert_eq!(metric(live, "shoal_verify_aims"), 0);
    }
    // Another one is asked meanwhile, and more than once.
    announce(&second, "other.example", private.address);
    until("questions", || (questions(&second, Outcome::Good) >= 3).then_some(()));
    assert!(port.seen().is_empty());
    assert_eq!(second.listed("port.example")["state"], "unverified");
    assert_eq!(first.listed("private.example")["state"], "unverified");
}

#[test]
fn rule_5_fifty_at_once() {
    // One that listens at every address of loopback, and keeps each connection until it is ended.
    let listener = TcpListener::bind("0.0.0.0:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (open, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let highest = Arc::clone(&most);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (open, highest) = (Arc::clone(&open), Arc::clone(&highest));
            std::thread::spawn(move || {
                highest.fetch_max(open.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                let mut stream = stream.unwrap();
                let mut request = [0; 4096];
                // Until the other end closes.
                while stream.read(&mut request).is_ok_and(|count| count > 0) {}
                open.fetch_sub(1, Ordering::SeqCst);
            });
        }
    });
    let live = verifying(settings(URL, &[port]));
    for n in 0..120_u8 {
        announce(&live, &format!("silent{n}.example"), ([127, 0, n, 1], port).into());
    }
    until("all at once", || (metric(&live, "shoal_verify_in_flight") == 50).then_some(()));
    until("all were asked", || (questions(&live, Outcome::Silent) >= 120).then_some(()));
    // One that was ended here may be counted there a moment longer.
    let most = most.load(Ordering::SeqCst);
    assert!((IN_FLIGHT / 2..=2 * IN_FLIGHT).contains(&most), "{most}");
    // Where nobody delivers, silence takes nobody off the list.
    let list = live.json("/v1/caches");
    let caches = list["caches"].as_array().unwrap();
    assert!(caches.iter().all(|cache| cache["state"] == "unverified"));
}

#[test]
fn states_follow_what_is_found_and_an_operator_s_word_stands() {
    let good = Server::start_at("127.0.1.1:0", |_| ok(BODY));
    let away = SocketAddr::from(([127, 0, 2, 1], free_port()));
    let other = Server::start_at("127.0.3.1:0", |_| ok(BODY));
    let ports = [good.address, away, other.address].map(|address| address.port());
    let live = verifying(settings(URL, &ports));
    announce(&live, "good.example", good.address);
    announce(&live, "away.example", away);
    becomes(&live, "good.example", "verified");
    becomes(&live, "away.example", "failing");
    assert_eq!(live.nearest("192.0.2.1", ""), ["good.example"]);
    // It comes back.
    let back = Server::start_at(&away.to_string(), |_| ok(BODY));
    becomes(&live, "away.example", "verified");
    // And goes again, beside its living agent.
    drop(back);
    becomes(&live, "away.example", "failing");
    // Operators decide, whatever is found.
    let id = |host: &str| live.listed(host)["id"].as_str().unwrap().to_owned();
    for (host, state) in [("good.example", "drained"), ("away.example", "banned")] {
        assert_eq!(live.put_state(&id(host), state).status, 204);
    }
    let asked = good.seen().len();
    // Some of others' turns pass.
    announce(&live, "other.example", other.address);
    until("turns", || (other.seen().len() >= 5).then_some(()));
    assert_eq!(live.listed("good.example")["state"], "drained");
    assert_eq!(live.listed("away.example")["state"], "banned");
    // They are left alone: one question may have been under way.
    assert!(good.seen().len() <= asked + 1);
    assert_eq!(live.put_state(&id("good.example"), "unverified").status, 204);
    becomes(&live, "good.example", "verified");
}

#[test]
fn a_wrong_object_is_told_and_takes_nobody_off() {
    let wrong = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let serve = |at: &str| {
        let wrong = Arc::clone(&wrong);
        Server::start_at(at, move |_| {
            if wrong.load(Ordering::SeqCst) { answer("404 Not Found", "") } else { ok(BODY) }
        })
    };
    let (one, two) = (serve("127.0.1.1:0"), serve("127.0.2.1:0"));
    let live = verifying(settings(URL, &[one.address.port(), two.address.port()]));
    announce(&live, "one.example", one.address);
    announce(&live, "two.example", two.address);
    becomes(&live, "one.example", "verified");
    becomes(&live, "two.example", "verified");
    let suspect = || live.json("/v1/health")["object"].clone();
    assert_eq!(suspect(), "answers");
    wrong.store(true, Ordering::SeqCst);
    until("the suspicion", || (suspect() == "suspect").then_some(()));
    assert_eq!(metric(&live, "shoal_verify_object_suspect"), 1);
    assert!(text(&live.get("/")).contains("The object of verification does not answer"));
    let asked = questions(&live, Outcome::Status);
    until("more of them", || (questions(&live, Outcome::Status) >= asked + 8).then_some(()));
    for host in ["one.example", "two.example"] {
        assert_eq!(live.listed(host)["state"], "verified", "{host}");
    }
    wrong.store(false, Ordering::SeqCst);
    until("the object again", || (suspect() == "answers").then_some(()));
    assert!(!text(&live.get("/")).contains("The object of verification"));
}

#[test]
fn details_are_for_operators_only() {
    let away = SocketAddr::from(([127, 0, 1, 1], free_port()));
    let live = verifying(settings(URL, &[away.port()]));
    announce(&live, "away.example", away);
    becomes(&live, "away.example", "failing");
    for path in ["/v1/caches", "/v1/nearest", "/all", "/v1/health", "/nearest"] {
        let body = text(&live.get(path));
        for detail in ["refused", "origin.example", "cvmfswhitelist", "outcome"] {
            assert!(!body.contains(detail), "{path}: {body}");
        }
    }
    let plain = Live::start(options());
    announce(&plain, "away.example", away);
    let keys = |live: &Live| -> Vec<String> {
        let cache: Value = live.listed("away.example");
        cache.as_object().unwrap().keys().cloned().collect()
    };
    assert_eq!(keys(&live), keys(&plain));
    // Without verification there is nothing of it in the metrics either.
    assert!(!text(&plain.get("/metrics")).contains("verify"));
    assert!(metric(&live, "shoal_verify_changes_total{state=\"failing\"}") == 1);
}

#[test]
fn a_real_squid_is_verified_and_only_it_is_given() {
    let start = || Squid::start("a_real_squid_is_verified_and_only_it_is_given");
    let (Some(mut alive), Some(mut dead)) = (start(), start()) else { return };
    let origin = Server::start(|_| ok(BODY));
    let url = format!("{}/cvmfs/some.repo/.cvmfswhitelist", origin.url());
    let settings = settings(&url, &[alive.port, dead.port]);
    let options = Options { verify: Some(settings), verified_only: true, ..options() };
    let live = Live::start(options);
    for (host, squid) in [("one.example", &alive), ("two.example", &dead)] {
        announce(&live, host, ([127, 0, 0, 1], squid.port).into());
    }
    becomes(&live, "one.example", "verified");
    becomes(&live, "two.example", "verified");
    dead.end();
    becomes(&live, "two.example", "failing");
    assert_eq!(live.nearest("192.0.2.1", ""), ["one.example"]);
    assert!(text(&live.get("/nearest")).contains("one.example"));
    // The origin goes: the caches say so, and stay what they are.
    drop(origin);
    let gateway = questions(&live, Outcome::Gateway);
    until("errors", || (questions(&live, Outcome::Gateway) > gateway + 3).then_some(()));
    assert_eq!(live.listed("one.example")["state"], "verified");
    alive.end();
    becomes(&live, "one.example", "failing");
    assert_eq!(text(&live.get("/nearest")), "null");
}
