//! The public WebSocket benchmarks, by the whole program: against the program's own server, and
//! against one that loses a broadcast and repeats another.

use plimsoll_testing::Weight;
use plimsoll_websocket::encode::Encoder;
use plimsoll_websocket::handshake::{Policy, accept};
use plimsoll_websocket::{Connection, Head, Limits, Message};
use rustix::process::Signal;
use serde_json::Value;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use crate::place::Place;
use crate::program::{Done, PLIMSOLL, wait_for};
use crate::websocket_load::server;
use crate::websocket_peer::serve as serve_peers;

/// Three steps of twenty clients, whatever the machine is busy with.
const STEPS: [&str; 12] = [
    "--step",
    "20",
    "--samples",
    "19",
    "--concurrent",
    "4",
    "--max-clients",
    "60",
    "--limit",
    "20s",
    "--connect-rate",
    "500/s",
];

fn bench(place: &Place, kind: &str, url: &str, more: &[&str]) -> Done {
    place.plimsoll(&[&["wsbench", kind, url], more].concat())
}

#[test]
fn every_broadcast_reaches_every_client_and_the_way_to_each_is_told() {
    let place = Place::new();
    let (server, address) = server(&place);
    let url = format!("ws://{address}/");
    let more = [&STEPS[..], &["--threads", "2", "--json"]].concat();
    let of = bench(&place, "broadcast", &url, &more).ended_with(0).json();
    assert_eq!(
        (&of["ended"], &of["clients"], &of["url"]),
        (&"clients".into(), &60.into(), &url.into())
    );
    assert_eq!((&of["whole"], &of["samples"]), (&true.into(), &20.into()), "{of:#}");
    let check = &of["check"];
    assert_eq!(check["expected"], 20 * (20 + 40 + 60), "{check}");
    assert_eq!(check["received"], check["expected"], "{check}");
    for none in ["lost", "doubled", "disorder", "unmatched", "closed"] {
        assert_eq!(check[none], 0, "{none}: {check}");
    }
    let steps = of["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 3, "{of:#}");
    for (step, clients) in steps.iter().zip([20, 40, 60]) {
        assert_eq!((&step["clients"], &step["samples"]), (&clients.into(), &20.into()), "{step}");
        // To each client; of those that a busy host has kept from being read it is not known when.
        let told = step["latency_us"]["count"].as_u64().unwrap();
        assert_eq!(told + step["unread"].as_u64().unwrap(), 20 * clients, "{step}");
        assert_eq!(step["spread_us"]["count"], 20, "of each broadcast: {step}");
        // The last one has it when it was sent to all, and the answer is behind that.
        let (first, last) = (&step["latency_us"]["min"], &step["latency_us"]["max"]);
        assert!(first.as_f64() < last.as_f64(), "{step}");
        assert!(step["round_trip_us"]["p95"].as_f64() <= step["round_trip_us"]["max"].as_f64());
        assert_eq!(step["within"], true);
    }
    assert!(!place.path("runs").exists(), "no run is kept");
    server.signal(Signal::INT);
    let told: Value = server.wait().ended_with(0).json();
    assert_eq!((&told["connected"], &told["broadcasts"]), (&60.into(), &60.into()), "{told}");
}

#[test]
fn echoes_come_back_to_their_senders() {
    let place = Place::new();
    let (server, address) = server(&place);
    let more = [&STEPS[..], &["--payload", "1KiB", "-H", "Origin: http://here"]].concat();
    let done = bench(&place, "echo", &format!("ws://{address}/ws"), &more).ended_with(0);
    done.prints(&[
        "60 with p95 of the round trip within 20 s",
        "60 echoes, each",
        "round trip p50",
    ]);
    assert!(!done.out.contains("first to last"), "{}", done.out);
    done.says(&["20 clients  p95", "60 clients  p95"]);
    server.signal(Signal::INT);
    let told: Value = server.wait().ended_with(0).json();
    assert_eq!((&told["connected"], &told["received"]), (&60.into(), &60.into()), "{told}");
}

#[test]
fn a_limit_that_no_step_keeps_is_told() {
    let place = Place::new();
    let (_server, address) = server(&place);
    let mut more: Vec<&str> = STEPS.to_vec();
    more[9] = "1ns";
    more.push("--json");
    let of = bench(&place, "broadcast", &format!("ws://{address}/"), &more).ended_with(3).json();
    assert_eq!((&of["ended"], &of["clients"]), (&"limit".into(), &Value::Null), "{of:#}");
    assert_eq!((&of["steps"][0]["within"], &of["whole"]), (&false.into(), &true.into()), "{of:#}");
}

#[test]
fn who_cannot_join_is_told() {
    let place = Place::new();
    let http = place.target(&[]);
    let url = format!("ws://{}/", http.address());
    let of = bench(&place, "echo", &url, &[&STEPS[..], &["--json"]].concat()).ended_with(4).json();
    assert_eq!((&of["ended"], &of["clients"]), (&"refused".into(), &Value::Null), "{of:#}");
    assert!(of["why"].as_str().unwrap().contains("expected status 101, found 200"), "{of:#}");
    let done = bench(&place, "echo", "ws://127.0.0.1:9/", &STEPS).ended_with(4);
    done.prints(&["a client could not join", "no step has held"]);
}

#[test]
fn an_interrupt_ends_it_with_what_is_known() {
    let place = Place::new();
    let (_server, address) = server(&place);
    let url = format!("ws://{address}/");
    let slow = ["--step", "2", "--samples", "1", "--concurrent", "1", "--connect-rate", "10/s"];
    let arguments = [&["wsbench", "broadcast", &url], &slow[..]].concat();
    let going = place.start(place.command(PLIMSOLL, &arguments));
    wait_for("a step", || going.err().contains("2 clients  p95").then_some(()));
    going.signal(Signal::INT);
    going.wait().ended_with(4).prints(&["ended         interrupted"]);
}

#[test]
fn what_is_wrong_is_told_before_anything_is_sent() {
    let place = Place::weighing(Weight::WAITS);
    for (more, says) in [
        (&["--step", "4", "--concurrent", "5"][..], "--concurrent"),
        (&["--step", "0"], "--step"),
        (&["--max-clients", "10"], "--max-clients"),
        (&["--connect-rate", "0/s"], "--connect-rate"),
        (&["-H", "Origin"], "--header"),
    ] {
        bench(&place, "echo", "ws://127.0.0.1:9/", more).ended_with(2).says(&[says]);
    }
    bench(&place, "echo", "redis://127.0.0.1:9/", &[]).ended_with(2);
    bench(&place, "all", "ws://127.0.0.1:9/", &[]).ended_with(2).says(&["echo, broadcast"]);
}

/// A server that does not send the second broadcast to the first client, and sends the first one to
/// the second client twice.
fn wrong_server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let clients: Arc<Mutex<Vec<TcpStream>>> = Arc::default();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let clients = clients.clone();
            std::thread::spawn(move || serve(stream, &clients));
        }
    });
    format!("ws://{address}/")
}

fn serve(mut stream: TcpStream, clients: &Mutex<Vec<TcpStream>>) {
    let (mut buffer, mut head, mut out) = ([0; 4096], Vec::new(), Vec::new());
    let (read, length) = loop {
        let n = stream.read(&mut buffer).unwrap();
        head.extend_from_slice(&buffer[..n]);
        if let Some(read) = Head::read(&head).unwrap() {
            break read;
        }
    };
    assert_eq!(length, head.len(), "nothing is sent before the answer");
    accept(&read, Policy::default(), &mut out).unwrap();
    stream.write_all(&out).unwrap();
    clients.lock().unwrap().push(stream.try_clone().unwrap());
    let mut connection = Connection::server(None, Limits::default());
    while let Ok(n @ 1..) = stream.read(&mut buffer) {
        let (mut bytes, mut out) = (&buffer[..n], Vec::new());
        while let Ok(Some(message)) = connection.receive(&mut bytes, &mut out) {
            let Message::Text(text) = message else { continue };
            broadcast(text, clients);
            let answer = text.replacen("broadcast", "broadcastResult", 1);
            Encoder::new(None).message(Message::Text(&answer), None, &mut out);
        }
        // The client may have gone.
        let _ = stream.write_all(&out);
    }
}

fn broadcast(text: &str, clients: &Mutex<Vec<TcpStream>>) {
    let number: Value = serde_json::from_str(text).unwrap();
    let number = number["payload"]["number"].as_u64().unwrap();
    let mut frame = Vec::new();
    Encoder::new(None).message(Message::Text(text), None, &mut frame);
    for (at, client) in clients.lock().unwrap().iter_mut().enumerate() {
        let times = match (at, number) {
            (0, 1) => 0,
            (1, 0) => 2,
            _ => 1,
        };
        for _ in 0..times {
            client.write_all(&frame).unwrap();
        }
    }
}

#[test]
fn an_echo_that_comes_twice_is_told() {
    let place = Place::new();
    let address = serve_peers(
        |_| true,
        |mut peer| {
            while let Some(text) = peer.next() {
                peer.say(&text);
                peer.say(&text);
            }
        },
    );
    let few = ["--step", "4", "--samples", "3", "--concurrent", "1", "--max-clients", "4"];
    let more = [&few[..], &["--limit", "20s", "--json"]].concat();
    let of = bench(&place, "echo", &format!("ws://{address}/"), &more).ended_with(3).json();
    let check = &of["check"];
    assert_eq!((&check["expected"], &check["received"]), (&3.into(), &3.into()), "{of:#}");
    assert!(check["doubled"].as_u64() >= Some(2) && check["unmatched"] == 0, "{of:#}");
    assert_eq!(of["whole"], false, "{of:#}");
}

#[test]
fn a_broadcast_that_is_lost_or_comes_twice_is_told() {
    let place = Place::new();
    let url = wrong_server();
    let few = ["--step", "4", "--samples", "3", "--concurrent", "1", "--max-clients", "4"];
    let more = [&few[..], &["--limit", "20s", "--json"]].concat();
    let of = bench(&place, "broadcast", &url, &more).ended_with(3).json();
    let check = &of["check"];
    assert_eq!((&check["expected"], &check["received"]), (&12.into(), &12.into()), "{of:#}");
    assert_eq!((&check["lost"], &check["doubled"]), (&1.into(), &1.into()), "{of:#}");
    assert_eq!((&of["whole"], &of["clients"]), (&false.into(), &4.into()), "{of:#}");
    let of = bench(&place, "broadcast", &wrong_server(), &more[..10]).ended_with(3);
    of.prints(&["12 broadcasts of 12: 1 lost", "1 twice"]);
}
