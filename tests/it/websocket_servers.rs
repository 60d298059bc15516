//! Users over WebSockets beside servers that do as real ones do: greet at once, publish out of
//! order, let their listeners go, read nothing, break the protocol. Each of them counts for itself.

use plimsoll_testing::Weight;
use plimsoll_websocket::handshake::{Policy, accept};
use plimsoll_websocket::{CloseCode, Connection, Head, Limits, Message};
use serde_json::Value;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::place::Place;
use crate::program::wait_for;
use crate::websocket_load::{load, named, said};

/// What a server does with a client whose handshake it has answered, and what it writes behind
/// that in the same breath.
struct Behaviour {
    with_101: Vec<u8>,
    then: Box<dyn Fn(TcpStream) + Send + Sync>,
}

/// A server of one behaviour; what its clients have said last, where it reads that.
fn serve(behaviour: Behaviour) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let behaviour = Arc::new(behaviour);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let behaviour = Arc::clone(&behaviour);
            std::thread::spawn(move || {
                if let Some(stream) = shake_hands(stream, &behaviour.with_101) {
                    (behaviour.then)(stream);
                }
            });
        }
    });
    address
}

fn shake_hands(mut stream: TcpStream, with_101: &[u8]) -> Option<TcpStream> {
    stream.set_read_timeout(Some(Duration::from_secs(60))).ok()?;
    let (mut received, mut room) = (Vec::new(), [0; 4096]);
    let head = loop {
        if let Ok(Some((head, _))) = Head::read(&received) {
            break head;
        }
        match stream.read(&mut room) {
            Ok(0) | Err(_) => return None,
            Ok(n) => received.extend_from_slice(&room[..n]),
        }
    };
    let mut answer = Vec::new();
    accept(&head, Policy::default(), &mut answer).ok()?;
    answer.extend_from_slice(with_101);
    stream.write_all(&answer).ok()?;
    Some(stream)
}

/// A frame of text as a server sends it.
fn text(words: &str) -> Vec<u8> {
    frame(0x81, words.as_bytes())
}

/// A frame that has this first byte.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![first];
    match u8::try_from(payload.len()) {
        Ok(len @ 0..=125) => frame.push(len),
        _ => {
            frame.push(126);
            frame.extend_from_slice(&u16::try_from(payload.len()).unwrap().to_be_bytes());
        }
    }
    frame.extend_from_slice(payload);
    frame
}

/// A broadcast of a number.
fn tick(op: &str, number: u32) -> Vec<u8> {
    text(&format!(r#"{{"op":"{op}","seq":{number}}}"#))
}

/// Waits until the client has closed: reads what it says, and throws that away.
fn until_closed(mut stream: TcpStream) {
    let mut room = [0; 4096];
    while stream.read(&mut room).is_ok_and(|n| n > 0) {}
}

/// A server that writes all that and then waits for its client's close.
fn publishing(frames: Vec<Vec<u8>>) -> SocketAddr {
    let then = move |mut stream: TcpStream| {
        let _ = stream.write_all(&frames.concat());
        until_closed(stream);
    };
    serve(Behaviour { with_101: Vec::new(), then: Box::new(then) })
}

/// Users who listen until a message says that all is said.
const LISTEN: &str = r#"
[[step]]
name = "join"
connect = "/ws"
[[step]]
expect = [ { json = { "/op" = "over" } } ]
[[on_message]]
name = "tick"
when = { json = { "/op" = "tick" } }
broadcast = { sequence = "/seq" }
[[on_message]]
name = "news"
when = { json = { "/op" = "news" } }
broadcast = { sequence = "/seq" }
"#;

fn over() -> Vec<u8> {
    text(r#"{"op":"over"}"#)
}

/// What came of four users who listen.
fn listened(place: &Place, frames: Vec<Vec<u8>>) -> Value {
    let url = format!("ws://{}/", publishing(frames));
    place.write("listen.toml", LISTEN);
    said(place, &url, "listen.toml", ("4", "4"))
}

fn counts(document: &Value, wanted: [u64; 4]) {
    let of = &document["websocket"]["broadcast"];
    let found = ["received", "lost", "doubled", "disorder"].map(|name| of[name].as_u64().unwrap());
    assert_eq!(found, wanted, "{document:#}");
}

#[test]
fn what_comes_with_the_101_is_awaited_by_the_next_step() {
    let place = Place::weighing(Weight::WAITS);
    let then = |stream: TcpStream| until_closed(stream);
    let with_101 = [text("welcome"), tick("tick", 1), text("second")].concat();
    let address = serve(Behaviour { with_101, then: Box::new(then) });
    let scenario = r#"
[[step]]
name = "join"
connect = "/ws"
[[step]]
name = "welcome"
expect = [ { contains = "welcome", within = "30s" } ]
[[step]]
send = "hello"
[[step]]
name = "second"
expect = [ { contains = "second", within = "30s" } ]
[[on_message]]
name = "tick"
when = { json = { "/op" = "tick" } }
broadcast = { sequence = "/seq" }
"#;
    place.write("welcome.toml", scenario);
    let document = said(&place, &format!("ws://{address}/"), "welcome.toml", ("5", "20"));
    for step in ["welcome", "second"] {
        assert_eq!(named(&document, step)["succeeded"], 20, "{document:#}");
    }
    let of = &document["websocket"];
    assert_eq!((&of["received"], &of["unmatched"]), (&60.into(), &0.into()), "{document:#}");
    assert_eq!(of["broadcast"]["received"], 20, "{document:#}");
}

#[test]
fn what_comes_late_or_of_another_rule_is_not_lost() {
    let place = Place::weighing(Weight::WAITS);
    let late = [1, 3, 2, 4, 6, 7, 5].map(|number| tick("tick", number));
    counts(&listened(&place, [&late[..], &[over()]].concat()), [28, 0, 0, 8]);
    let lost = [1, 4, 4, 3].map(|number| tick("tick", number));
    counts(&listened(&place, [&lost[..], &[over()]].concat()), [16, 4, 4, 4]);
    // Two rules without keys, each with numbers of its own.
    let mut two = Vec::new();
    for number in 1..=20 {
        two.extend([tick("tick", number), tick("news", number)]);
    }
    two.push(over());
    let document = listened(&place, two);
    counts(&document, [160, 0, 0, 0]);
    assert_eq!(document["websocket"]["broadcast"]["spread_us"]["count"], 40, "{document:#}");
}

#[test]
fn a_broadcast_that_a_step_expects_is_one() {
    let place = Place::weighing(Weight::WAITS);
    let mut frames: Vec<_> = (1..=9).map(|number| tick("tick", number)).collect();
    frames.push(over());
    let url = format!("ws://{}/", publishing(frames));
    // Each third is expected by a step, also the very first.
    let steps = r#"
[[step]]
name = "join"
connect = "/ws"
[[step]]
name = "own"
expect = [ { json = { "/seq" = 1 } }, { json = { "/seq" = 4 } }, { json = { "/seq" = 7 } } ]
"#;
    place.write(
        "own.toml",
        format!("{steps}{}", &LISTEN[LISTEN.find("[[step]]\nexpect").unwrap()..]),
    );
    let document = said(&place, &url, "own.toml", ("4", "4"));
    counts(&document, [36, 0, 0, 0]);
    assert_eq!(named(&document, "tick")["count"], 36, "{document:#}");
    assert_eq!(document["websocket"]["unmatched"], 0, "{document:#}");
}

/// The server's close is answered by its code; that it let its listeners go is said, with its
/// words where a step waited.
#[test]
fn a_server_that_lets_its_listeners_go_is_answered_and_told() {
    let place = Place::weighing(Weight::WAITS);
    let answered = Arc::new(Mutex::new(Vec::new()));
    let all = Arc::clone(&answered);
    let then = move |mut stream: TcpStream| {
        let reason = [&1012_u16.to_be_bytes()[..], b"service restart"].concat();
        let _ = stream.write_all(&[tick("tick", 1), frame(0x88, &reason)].concat());
        let mut connection = Connection::server(None, Limits::default());
        let (mut room, mut out) = ([0; 4096], Vec::new());
        while let Ok(n @ 1..) = stream.read(&mut room) {
            let mut bytes = &room[..n];
            while let Ok(Some(message)) = connection.receive(&mut bytes, &mut out) {
                if let Message::Close(close) = message {
                    all.lock().unwrap().push(close.code.map(CloseCode::get));
                    return;
                }
            }
        }
        all.lock().unwrap().push(None);
    };
    let address = serve(Behaviour { with_101: Vec::new(), then: Box::new(then) });
    place.write("listen.toml", LISTEN);
    let document = said(&place, &format!("ws://{address}/"), "listen.toml", ("5", "5"));
    let of = &document["websocket"];
    assert_eq!((&of["let_go"]["1012"], &of["closed"]), (&5.into(), &serde_json::json!({})), "{of}");
    let (warnings, reasons) = (document["warnings"].to_string(), document["reasons"].to_string());
    assert!(warnings.contains("the server closed 5 of 5 WebSockets"), "{warnings}");
    assert!(warnings.contains("5 with 1012"), "{warnings}");
    let steps = document["by_name"].to_string();
    assert!(reasons.contains("service restart"), "{reasons} {steps}");
    assert_eq!(*answered.lock().unwrap(), [Some(1012); 5]);
}

fn waits(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// Whose load is over goes away with a close that arrives, also where the server speaks on: bytes
/// of his that nobody read would have it thrown away.
#[test]
fn a_close_at_the_end_of_a_load_reaches_servers_that_speak_on() {
    let place = Place::weighing(Weight::WAITS);
    let (heard, come) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicUsize::new(0)));
    let (all, here) = (Arc::clone(&heard), Arc::clone(&come));
    let then = move |mut stream: TcpStream| {
        here.fetch_add(1, Relaxed);
        let mut connection = Connection::server(None, Limits::default());
        let (mut room, mut out) = ([0; 4096], Vec::new());
        stream.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        let code = loop {
            let ticks: Vec<u8> = (0..20).flat_map(|number| tick("tick", number)).collect();
            let is_there = stream.write_all(&ticks).is_ok();
            match stream.read(&mut room) {
                // A wait with a limit also ends when the process goes on after it was stopped.
                Err(error) if waits(&error) && is_there => {}
                Ok(n @ 1..) => {
                    if let Ok(Some(Message::Close(close))) =
                        connection.receive(&mut &room[..n], &mut out)
                    {
                        break close.code.map(CloseCode::get);
                    }
                }
                _ => break None,
            }
        };
        let _ = stream.write_all(&out);
        all.lock().unwrap().push(code);
    };
    let address = serve(Behaviour { with_101: Vec::new(), then: Box::new(then) });
    place.write("stay.toml", LISTEN);
    let url = format!("ws://{address}/");
    let users = ["--scenario", "stay.toml", "--users", "40", "--drain", "1s", "--json"];
    let going = place.soak(&[&[&url[..]], &users[..]].concat());
    wait_for("all to have come", || (come.load(Relaxed) == 40).then_some(()));
    let document = place.stopped(going).json();
    assert_eq!(document["websocket"]["closed"]["1001"], 40, "{document:#}");
    wait_for("all to have gone", || (heard.lock().unwrap().len() == 40).then_some(()));
    assert_eq!(*heard.lock().unwrap(), [Some(1001); 40]);
}

/// What breaks the protocol is answered by the code that says so (RFC 6455, section 7.4.1), and is
/// said to be the server's doing.
#[test]
fn a_server_that_breaks_the_protocol_is_told_so() {
    let place = Place::weighing(Weight::WAITS);
    for (frames, code, words) in [
        (frame(0xc1, b"x"), 1002, "reserved"),
        (frame(0x83, b"x"), 1002, "no WebSocket"),
        (frame(0x09, b"x"), 1002, "no WebSocket"),
        (frame(0x80, b"x"), 1002, "no WebSocket"),
        (frame(0x81, b"\xff\xfe"), 1007, "no WebSocket"),
        (frame(0x88, &[3]), 1002, "no WebSocket"),
        (frame(0x88, &999_u16.to_be_bytes()), 1002, "no WebSocket"),
        ([&[0x82, 127][..], &(32_u64 << 20).to_be_bytes()].concat(), 1009, "no WebSocket"),
    ] {
        let codes = Arc::new(Mutex::new(Vec::new()));
        let all = Arc::clone(&codes);
        let bytes = frames.clone();
        let then = move |mut stream: TcpStream| {
            let _ = stream.write_all(&bytes);
            let mut received = Vec::new();
            let mut room = [0; 4096];
            let end = loop {
                match stream.read(&mut room) {
                    Ok(0) => break None,
                    Ok(n) => received.extend_from_slice(&room[..n]),
                    Err(error) => break Some(error.kind()),
                }
            };
            let mut connection = Connection::server(None, Limits::default());
            let (mut bytes, mut out) = (&received[..], Vec::new());
            let close = match connection.receive(&mut bytes, &mut out) {
                Ok(Some(Message::Close(close))) => close.code.map(CloseCode::get),
                _ => None,
            };
            all.lock().unwrap().push((close, end.filter(|end| *end == ErrorKind::ConnectionReset)));
        };
        let address = serve(Behaviour { with_101: Vec::new(), then: Box::new(then) });
        place.write("listen.toml", LISTEN);
        let document = said(&place, &format!("ws://{address}/"), "listen.toml", ("1", "1"));
        let reasons = document["reasons"].to_string();
        assert!(reasons.contains("what the server sent") || reasons.contains(words), "{reasons}");
        assert!(document["websocket"].get("let_go").is_none(), "it was us: {document:#}");
        assert_eq!(document["websocket"]["closed"][code.to_string()], 1, "{document:#}");
        let told = codes.lock().unwrap().clone();
        assert_eq!(told, [(Some(code), None)], "{frames:?}: {reasons}");
    }
}

/// A server that reads nothing holds its users up: no more is sent than what the system takes.
#[test]
fn a_server_that_reads_nothing_is_sent_no_more_than_the_system_takes() {
    let place = Place::weighing(Weight::WAITS);
    let (hold, held) = std::sync::mpsc::channel::<()>();
    let held = Mutex::new(held);
    let then = move |stream: TcpStream| {
        let _ = held.lock().unwrap().recv_timeout(Duration::from_secs(60));
        drop(stream);
    };
    let address = serve(Behaviour { with_101: Vec::new(), then: Box::new(then) });
    let scenario = format!(
        "[[step]]\nconnect = \"/ws\"\n[[step]]\nloop = 2000\nsteps = [ {{ name = \"flood\", send = \
         \"{}\" }} ]\n",
        "x".repeat(20_000)
    );
    place.write("flood.toml", scenario);
    let mut command = load(&place, &format!("ws://{address}/"), "flood.toml", ("1", "1"));
    command.args(["--timeout", "2s"]);
    let document = place.start(command).wait().json();
    drop(hold);
    let out = document["traffic"]["out"].as_u64().or(document["bytes"]["out"].as_u64()).unwrap();
    assert!(out < 30_000_000, "40 MB were to be sent: {document:#}");
    let flood = named(&document, "flood");
    assert_eq!(flood["failures"]["unanswered"], 1, "{document:#}");
}

/// Bytes are those of the wire.
#[test]
fn bytes_are_those_of_the_wire() {
    let place = Place::weighing(Weight::WAITS);
    let frames = [tick("tick", 1), frame(0x89, b"ping"), text(&"y".repeat(300)), over()];
    let wire = frames.concat().len() as u64;
    let document = listened(&place, frames.to_vec());
    let of_handshakes = named(&document, "join")["bytes_in"].as_u64().unwrap();
    let all = document["bytes"]["in"].as_u64().unwrap();
    assert_eq!(all - of_handshakes, 4 * wire, "{document:#}");
}

#[test]
fn clauses_that_nothing_feeds_are_refused() {
    let place = Place::weighing(Weight::WAITS);
    place.write("listen.toml", LISTEN);
    let words = ["load", "ws://127.0.0.1:9/", "--scenario", "listen.toml", "--users", "1"];
    for clause in ["tick: lost<1%", "p99<1s, tick: errors<1%"] {
        let done = place.plimsoll(&[&words[..], &["--for", "1s", "--slo", clause]].concat());
        done.ended_with(2).says(&["`tick` are messages", "times"]);
    }
    for clause in ["tick: p99<1s", "join: errors<1%"] {
        let more = ["--for", "1s", "--slo", clause, "--check"];
        place.plimsoll(&[&words[..], &more].concat()).ended_with(0);
    }
}

/// Messages: their bytes, and whether they were binary.
type Kept = Arc<Mutex<Vec<(Vec<u8>, bool)>>>;

/// A server that answers each message, and keeps what it was.
fn answering(kept: Kept) -> SocketAddr {
    let then = move |mut stream: TcpStream| {
        let mut connection = Connection::server(None, Limits::default());
        let mut room = [0; 4096];
        while let Ok(n @ 1..) = stream.read(&mut room) {
            let (mut bytes, mut out) = (&room[..n], Vec::new());
            let mut came = Vec::new();
            while let Ok(Some(message)) = connection.receive(&mut bytes, &mut out) {
                match message {
                    Message::Text(text) => came.push((text.as_bytes().to_vec(), false)),
                    Message::Binary(bytes) => came.push((bytes.to_vec(), true)),
                    _ => {}
                }
            }
            for message in came {
                // What asks for it is answered by what a rule answers.
                let ask = if message.0 == b"ask" { "asked" } else { "ok" };
                kept.lock().unwrap().push(message);
                connection.send(Message::Text(ask), &mut out).unwrap();
            }
            if stream.write_all(&out).is_err() {
                return;
            }
        }
    };
    serve(Behaviour { with_101: Vec::new(), then: Box::new(then) })
}

#[test]
fn messages_are_binary_where_a_step_or_a_rule_says_so() {
    let place = Place::weighing(Weight::WAITS);
    let kept = Kept::default();
    let url = format!("ws://{}/", answering(Arc::clone(&kept)));
    let scenario = r#"
[[step]]
connect = "/ws"
[[step]]
send = "plain"
expect = [ { contains = "ok" } ]
[[step]]
send = "user {{user}}"
binary = true
expect = [ { contains = "ok" } ]
[[step]]
send = "/wCA"
binary = "base64"
expect = [ { contains = "ok" } ]
[[step]]
send = "ask"
expect = [ { contains = "ok" } ]
[[on_message]]
name = "asked"
when = { contains = "asked" }
send = "AAE"
binary = "base64"
"#;
    place.write("binary.toml", scenario);
    let wanted: [(&[u8], bool); 5] = [
        (b"plain", false),
        (b"user 0", true),
        (&[0xff, 0x00, 0x80], true),
        (b"ask", false),
        (&[0, 1], true),
    ];
    let check = |of: &str| {
        let seen = std::mem::take(&mut *kept.lock().unwrap());
        let wanted: Vec<_> = wanted.iter().map(|(bytes, of)| (bytes.to_vec(), *of)).collect();
        assert_eq!(seen, wanted, "{of}");
    };
    let document = said(&place, &url, "binary.toml", ("1", "1"));
    assert_eq!(document["errors"], serde_json::json!({}), "{document:#}");
    check("load");
    place.plimsoll(&["scenario", "try", "binary.toml", &url]).ended_with(0);
    check("try");
    // What is no base64 is not sent.
    place.write("wrong.toml", scenario.replace("/wCA", "no base64!"));
    let tried = place.plimsoll(&["scenario", "try", "wrong.toml", &url]);
    assert!(tried.out.contains("expected base64"), "{}", tried.out);
    place.write("odd.toml", scenario.replace("binary = true", "binary = 'hex'"));
    let odd = place.plimsoll(&["scenario", "try", "odd.toml", &url]).ended_with(2);
    odd.says(&["expected true, false or \"base64\""]);
}
