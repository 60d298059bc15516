//! The built-in balancer before real targets: who gets what, comes, fails, drains and goes.

use crate::paths::Paths;
use crate::place::{Place, SOAK, Target};
use crate::program::{Going, PLIMSOLL, wait_for};
use plimsoll_runs::{Phase, Run};
use plimsoll_testing::Weight;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

/// A balancer of a place, with its control socket.
struct Balancer {
    going: Going,
    url: String,
    control: PathBuf,
}

impl Balancer {
    fn start(place: &Place, instances: &[(&str, &str)], arguments: &[&str]) -> Self {
        let control = place.path("balancer.sock");
        let listen = ["balance", "--listen", "127.0.0.1:0", "--control", control.to_str().unwrap()];
        let mut command = place.command(PLIMSOLL, &listen);
        command.args(arguments);
        command.args(instances.iter().map(|(name, address)| format!("{name}={address}")));
        let mut going = place.start(command);
        let address = wait_for("the balancer to listen", || {
            assert!(!going.has_ended(), "{}", going.err());
            going.out().strip_prefix("listening on ")?.strip_suffix('\n').map(str::to_owned)
        });
        Self { going, url: format!("http://{address}/"), control }
    }

    fn address(&self) -> &str {
        self.url.strip_prefix("http://").unwrap().trim_end_matches('/')
    }

    fn order(&self, order: &Value) -> Value {
        let mut stream = UnixStream::connect(&self.control).unwrap();
        stream.write_all(format!("{order}\n").as_bytes()).unwrap();
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn list(&self) -> Value {
        self.order(&json!({ "do": "list" }))
    }

    fn instance(&self, name: &str) -> Option<Value> {
        let list = self.list();
        list["instances"].as_array().unwrap().iter().find(|of| of["name"] == name).cloned()
    }
}

/// Requests that a load's run counts: completed, and failed whatever the reason.
fn counted(place: &Place) -> (u64, u64) {
    let run = Run::open(&place.runs("runs").pop().unwrap()).unwrap();
    let total = run.total(Phase::Measured).unwrap();
    (total.completed, total.offered - total.succeeded)
}

fn targets<const N: usize>(place: &Place, arguments: &[&str]) -> [Target; N] {
    [(); N].map(|()| place.target(arguments))
}

#[test]
fn requests_are_dealt_out_and_counted_at_both_ends() {
    let place = Place::new();
    let [a, b, c] = targets::<3>(&place, &["--workers", "8"]);
    let all = [("a", a.address()), ("b", b.address()), ("c", c.address())];
    let balancer =
        Balancer::start(&place, &all, &["--choose", "round-robin", "--check-every", "0s"]);
    assert_eq!(balancer.control.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    place.load(&[&balancer.url, "--rate", "300/s", "--for", "2s"]).ran();
    let (completed, failed) = counted(&place);
    assert_eq!(failed, 0);
    let list = balancer.list();
    assert_eq!(list["requests"], completed, "{list}");
    let taken = |of: &Value| of["taken"].as_u64().unwrap();
    let each: Vec<u64> = list["instances"].as_array().unwrap().iter().map(taken).collect();
    assert_eq!(each.iter().sum::<u64>(), completed);
    assert!(each.iter().all(|n| n.abs_diff(completed / 3) <= 1), "{each:?}");
    // The targets counted what the balancer gave them.
    for (target, taken) in [a, b, c].into_iter().zip(each) {
        let said = target.end().err;
        assert!(said.starts_with(&format!("{taken} requests")), "{taken}: {said}");
    }
    balancer.going.signal(Signal::INT);
    let done = balancer.going.wait().ended_with(0);
    done.says(&["none lost"]);
    assert!(!balancer.control.exists());
}

/// A path is any text that somebody types: what is there and is no socket of ours is left alone.
#[test]
fn a_control_socket_takes_the_place_of_no_file() {
    let place = Place::new();
    let notes = place.write("notes.txt", "precious");
    std::os::unix::fs::symlink(&notes, place.path("link")).unwrap();
    std::fs::create_dir(place.path("folder")).unwrap();
    for (name, why) in [("notes.txt", "no socket"), ("link", "no socket"), ("folder", "no socket")]
    {
        let listen = ["balance", "--listen", "127.0.0.1:0", "--control", name, "a=127.0.0.1:1"];
        place.plimsoll(&listen).ended_with(4).says(&["listen on", name, why]);
    }
    assert_eq!(std::fs::read_to_string(&notes).unwrap(), "precious");
    assert!(place.path("link").is_symlink() && place.path("folder").is_dir());
    // One that a balancer left that was killed is taken over; one that lives is not.
    drop(std::os::unix::net::UnixListener::bind(place.path("balancer.sock")).unwrap());
    let balancer = Balancer::start(&place, &[("a", "127.0.0.1:1")], &[]);
    let second =
        ["balance", "--listen", "127.0.0.1:0", "--control", "balancer.sock", "a=127.0.0.1:1"];
    place.plimsoll(&second).ended_with(4).says(&["another server listens there"]);
    assert_eq!(balancer.list()["instances"].as_array().unwrap().len(), 1);
}

/// A body of chunks has no length: its end is heard, not counted.
#[test]
fn answers_in_chunks_are_answers_and_their_connections_serve_on() {
    let place = Place::new();
    let paths = Paths::start();
    let url = paths.url();
    let address = url.trim_start_matches("http://").trim_end_matches('/');
    let balancer = Balancer::start(&place, &[("a", address)], &[]);
    let url = format!("{}chunked", balancer.url);
    place.load(&[&url, "--users", "2", "-n", "40", "--for", SOAK]).ran();
    assert_eq!(counted(&place), (40, 0));
    let list = balancer.list();
    assert_eq!((&list["requests"], &list["answered"]), (&40.into(), &40.into()), "{list}");
    assert!(list["lost"].as_object().unwrap().values().all(|n| *n == 0), "{list}");
    balancer.going.signal(Signal::INT);
    let Balancer { going, .. } = balancer;
    going.wait().ended_with(0).says(&["none lost"]);
}

#[test]
fn an_answer_of_two_lengths_is_none() {
    let place = Place::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let instance = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut read = [0; 4096];
            let Ok(n @ 1..) = stream.read(&mut read) else { continue };
            let length = if read[..n].starts_with(b"GET /less") { 3 } else { 9 };
            let answer = format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nTransfer-Encoding: chunked\r\n\
                 \r\n5\r\nhello\r\n0\r\n\r\n"
            );
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    let never = ["--check-every", "0s"];
    let balancer = Balancer::start(&place, &[("a", &instance)], &never);
    for path in ["less", "more"] {
        let mut stream = TcpStream::connect(balancer.address()).unwrap();
        let ask = format!("GET /{path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        stream.write_all(ask.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 502") && !answer.contains("hel"), "{answer}");
    }
    let list = balancer.list();
    assert_eq!(list["lost"]["instance_failed"], 2, "{list}");
    assert_eq!(list["lost"]["client_gone"], 0, "{list}");
}

#[test]
fn who_takes_nothing_of_an_answer_gives_its_place_back() {
    let place = Place::new();
    let [target] = targets(&place, &["--body", "50MB"]);
    let limits = ["--limit", "1", "--send-timeout", "500ms"];
    let balancer = Balancer::start(&place, &[("a", target.address())], &limits);
    let mut stream = TcpStream::connect(balancer.address()).unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    wait_for("the place to be given back", || {
        (balancer.list()["lost"]["client_gone"] == 1).then_some(())
    });
    let url = balancer.url.clone();
    place.load(&[&url, "--users", "1", "-n", "1", "--for", SOAK]).ran();
    assert_eq!(counted(&place), (1, 0));
    drop(stream);
}

#[test]
fn nobody_notices_who_comes_and_who_drains() {
    let place = Place::new();
    let [a, b, c] = targets::<3>(&place, &["--workers", "64", "--service-time", "const:20ms"]);
    let all = [("a", a.address()), ("b", b.address())];
    let balancer = Balancer::start(&place, &all, &[]);
    let going = place.soak(&[&balancer.url, "--rate", "200/s", "--quiet"]);
    wait_for("requests", || (balancer.list()["requests"].as_u64().unwrap() > 100).then_some(()));
    let added = balancer.order(&json!({"do": "add", "name": "c", "address": c.address()}));
    assert_eq!(added, json!({ "ok": true }));
    let twice = balancer.order(&json!({"do": "add", "name": "c", "address": c.address()}));
    assert!(twice["error"].as_str().unwrap().contains("one has that name"), "{twice}");
    for name in ["a", "b"] {
        let drained = balancer.order(&json!({"do": "drain", "name": name, "within_ms": 1000}));
        assert_eq!(drained, json!({ "ok": true }));
        assert_eq!(balancer.instance(name), None);
    }
    let before = balancer.instance("c").unwrap()["taken"].as_u64().unwrap();
    wait_for("the newcomer to have it all", || {
        (balancer.instance("c").unwrap()["taken"].as_u64().unwrap() > before + 100).then_some(())
    });
    place.stopped(going).ran();
    let (completed, failed) = counted(&place);
    assert!(completed > 200 && failed == 0, "{completed} {failed}");
}

#[test]
fn who_is_killed_or_frozen_is_out_and_safe_requests_go_elsewhere() {
    let place = Place::new();
    let [a, b, c] = targets::<3>(&place, &["--workers", "8"]);
    let all = [("a", a.address()), ("b", b.address()), ("c", c.address())];
    let arguments = [
        "--choose",
        "round-robin",
        "--check",
        "/",
        "--check-every",
        "200ms",
        "--check-within",
        "1s",
    ];
    let balancer = Balancer::start(&place, &all, &arguments);
    let going = place.soak(&[&balancer.url, "--rate", "100/s", "--quiet"]);
    wait_for("requests", || (balancer.list()["requests"].as_u64().unwrap() > 50).then_some(()));
    b.signal(Signal::STOP);
    let is = |name: &str, state: &str| {
        wait_for("its state", || {
            (balancer.instance(name).unwrap()["state"] == state).then_some(())
        });
    };
    is("b", "out");
    b.signal(Signal::CONT);
    is("b", "in");
    a.signal(Signal::KILL);
    is("a", "out");
    place.stopped(going).ran();
    let (completed, failed) = counted(&place);
    assert!(completed > 50 && failed == 0, "{completed} {failed}: {}", balancer.list());
}

#[test]
fn excess_waits_or_is_refused_and_told_by_cause() {
    let place = Place::new();
    let [a] = targets::<1>(&place, &["--workers", "1", "--service-time", "const:100ms"]);
    let arguments =
        ["--limit", "1", "--queue", "2", "--queue-timeout", "150ms", "--check-every", "0s"];
    let balancer = Balancer::start(&place, &[("a", a.address())], &arguments);
    // Twice as many as it can serve.
    // tidy: allow(waits, twice of what it can serve, whenever it is looked at)
    place.load(&[&balancer.url, "--rate", "20/s", "--for", "3s"]);
    let (completed, failed) = counted(&place);
    let list = balancer.list();
    let lost = |cause: &str| list["lost"][cause].as_u64().unwrap();
    let lost = lost("queue_full") + lost("queue_timeout") + lost("no_slot");
    assert_eq!((lost, list["requests"].as_u64().unwrap()), (failed, completed), "{list}");
    assert!((15..=45).contains(&lost), "{list}");
    // Nobody is there: it is said, and no request waits for ever.
    assert_eq!(balancer.order(&json!({"do": "remove", "name": "a"})), json!({ "ok": true }));
    let mut stream = TcpStream::connect(balancer.address()).unwrap();
    stream.write_all(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi").unwrap();
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 503");
}

#[test]
fn a_websocket_is_passed_through_and_told_when_its_server_goes() {
    let place = Place::weighing(Weight::WAITS);
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap().to_string();
    // Answers the upgrade, and sends each byte back as it came.
    let echo = std::thread::spawn(move || {
        let (mut stream, _) = server.accept().unwrap();
        let mut head = String::new();
        let mut lines = BufReader::new(stream.try_clone().unwrap());
        while !head.ends_with("\r\n\r\n") {
            lines.read_line(&mut head).unwrap();
        }
        let answer = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n\
                      Upgrade: websocket\r\n\r\n";
        stream.write_all(answer.as_bytes()).unwrap();
        let (mut all, mut buffer) = (Vec::new(), [0; 64]);
        while let Ok(read @ 1..) = lines.read(&mut buffer) {
            all.extend_from_slice(&buffer[..read]);
            let _ = stream.write_all(&buffer[..read]);
        }
        (head, all)
    });
    let balancer = Balancer::start(&place, &[("ws", &address)], &["--check-every", "0s"]);
    let mut client = TcpStream::connect(balancer.address()).unwrap();
    let asks = "GET /chat HTTP/1.1\r\nHost: here\r\nConnection: keep-alive, Upgrade\r\n\
                Upgrade: websocket\r\nSec-WebSocket-Key: x\r\n\r\n";
    client.write_all(asks.as_bytes()).unwrap();
    let mut lines = BufReader::new(client.try_clone().unwrap());
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        lines.read_line(&mut head).unwrap();
    }
    assert!(head.starts_with("HTTP/1.1 101"), "{head}");
    let frame = [0x82, 0x83, 0, 0, 0, 0, 1, 2, 3];
    client.write_all(&frame).unwrap();
    let mut back = [0; 9];
    lines.read_exact(&mut back).unwrap();
    assert_eq!(back, frame);
    assert_eq!(balancer.instance("ws").unwrap()["upgraded"], 1);
    let drained = balancer.order(&json!({"do": "drain", "name": "ws", "within_ms": 100}));
    assert_eq!(drained, json!({ "ok": true }));
    let mut last = Vec::new();
    lines.read_to_end(&mut last).unwrap();
    assert_eq!(last, [0x88, 2, 0x03, 0xe9], "going away, 1001");
    let (head, all) = echo.join().unwrap();
    let head = head.to_ascii_lowercase();
    assert!(
        head.contains("upgrade: websocket") && head.contains("x-forwarded-for: 127.0.0.1"),
        "{head}"
    );
    assert_eq!(all, [&frame[..], &[0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe9]].concat());
}

#[test]
fn what_cannot_be_is_refused() {
    let place = Place::weighing(Weight::WAITS);
    let refuses = |arguments: &[&str], said: &[&str]| {
        let all = [&["balance", "--listen", "127.0.0.1:0"], arguments].concat();
        place.plimsoll(&all).ended_with(2).says(said);
    };
    refuses(&["web"], &["NAME=ADDRESS:PORT"]);
    refuses(&["web=nowhere"], &["127.0.0.1:8080"]);
    refuses(&["--choose", "fastest"], &["round-robin"]);
    refuses(&["--choose", "random", "--ties", "next"], &["--ties"]);
    refuses(&["--limit", "0"], &["--limit"]);
    refuses(&["--check", "health"], &["begins with /"]);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let done = place.plimsoll(&["balance", "--listen", &address]).ended_with(4);
    done.says(&["failed to listen on", &address]);
}
