//! What of WebSockets cannot be understood is said: times and numbers that are none, places that
//! are not there, handshakes in odd forms, steps that fail without being requests.

use crate::place::{Place, SOAK};
use crate::program::{PLIMSOLL, wait_for};
use crate::websocket_load::{load, said, server};
use crate::websocket_peer::{Peer, serve};
use plimsoll_testing::Weight;
use plimsoll_websocket::Head;
use plimsoll_websocket::handshake::{Policy, accept};
use rustix::process::Signal;
use serde_json::Value;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::time::{SystemTime, UNIX_EPOCH};

/// One who hears ten broadcasts, published in some unit, and answers the last.
fn hears(broadcast: &str) -> String {
    format!(
        "[[step]]\nconnect = \"/\"\n[[step]]\nname = \"all\"\n\
         expect = [ {{ json = {{ \"/op\" = \"over\" }} }} ]\n\
         [[on_message]]\nname = \"tick\"\nwhen = {{ json = {{ \"/op\" = \"tick\" }} }}\n\
         broadcast = {broadcast}\n"
    )
}

/// Says ten broadcasts, each with what is made of the time and its number.
fn says(tick: fn(f64, u64) -> String) -> impl Fn(Peer) + Send + Sync {
    move |mut peer: Peer| {
        for number in 0..10 {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
            peer.say(&format!("{{\"op\":\"tick\",{}}}", tick(now, number)));
        }
        peer.say("{\"op\":\"over\"}");
        while peer.next().is_some() {}
    }
}

/// The summary of a load of one user.
fn summary(place: &Place, scenario: &str, tick: fn(f64, u64) -> String) -> Value {
    let address = serve(|_| true, says(tick));
    place.write("s.toml", scenario);
    said(place, &format!("ws://{address}/"), "s.toml", ("1", "1"))
}

#[test]
fn times_of_another_unit_are_in_no_figure_and_seconds_are_read() {
    let place = Place::weighing(Weight::WAITS);
    let seconds: fn(f64, u64) -> String = |now, n| format!("\"at\":{now},\"seq\":{n}");
    let in_ms = "{ published_ms = \"/at\", sequence = \"/seq\" }";
    for (broadcast, tick) in [
        (in_ms, seconds),
        (
            "{ published_s = \"/at\", sequence = \"/seq\" }",
            (|now, n| format!("\"at\":{},\"seq\":{n}", now * 1e3)) as fn(f64, u64) -> String,
        ),
        ("{ published_ns = \"/at\", sequence = \"/seq\" }", |now, n| {
            format!("\"at\":\"{:.0}\",\"seq\":{n}", now * 1e6)
        }),
    ] {
        let of = summary(&place, &hears(broadcast), tick);
        let found = &of["websocket"]["broadcast"];
        assert_eq!((&found["received"], &found["misdated"]), (&10.into(), &10.into()), "{of:#}");
        assert_eq!(found["latency_us"]["count"], 0, "{of:#}");
        assert!(of["warnings"].to_string().contains("another unit"), "{of:#}");
    }
    let of = summary(&place, &hears("{ published_s = \"/at\", sequence = \"/seq\" }"), seconds);
    let found = &of["websocket"]["broadcast"];
    assert_eq!(found["latency_us"]["count"], 10, "{of:#}");
    assert!(found["misdated"].is_null(), "{of:#}");
}

#[test]
fn a_place_that_cannot_be_read_is_named() {
    let place = Place::weighing(Weight::WAITS);
    let broadcast = "{ published_ms = \"/at\", sequence = \"/seq\" }";
    for (tick, why) in [
        (
            (|_, n| format!("\"at\":\"2026-11-29T12:00:00Z\",\"seq\":{n}"))
                as fn(f64, u64) -> String,
            "`tick`: expected milliseconds since 1970 at /at, found other text",
        ),
        (
            |now, n| format!("\"at\":{},\"seq\":{n}.0", now * 1e3),
            "`tick`: expected a whole number at /seq, found a number that is none",
        ),
        (|_, n| format!("\"seq\":{n}"), "milliseconds since 1970 at /at, found nothing"),
    ] {
        let of = summary(&place, &hears(broadcast), tick);
        let told = of["warnings"].to_string();
        assert!(told.contains(why) && told.contains("10 messages"), "{why}: {of:#}");
        assert_eq!(of["websocket"]["unmatched"], 10, "{of:#}");
    }
}

#[test]
fn what_a_step_does_not_send_cannot_be_awaited() {
    let place = Place::weighing(Weight::WAITS);
    let (server, address) = server(&place);
    for (sends, expects, why) in [
        ("42[\"echo\",{\"n\":1}]", "{{sent:/n}}", "`sent:/n`, found none: what is sent is no JSON"),
        ("{\"id\":{{counter}}}", "a{{sent:/n}}", "what is sent has nothing there"),
        ("{\"n\":\"\"}", "{{sent:/n}}", "what is sent has nothing there"),
    ] {
        let scenario = format!(
            "[[step]]\nconnect = \"/\"\n[[step]]\nname = \"say\"\nsend = '{sends}'\n\
             expect = [ {{ contains = '{expects}' }} ]\n"
        );
        place.write("s.toml", &scenario);
        let tried = place.plimsoll(&["scenario", "try", "s.toml", &format!("ws://{address}/")]);
        tried.ended_with(4).prints(&["failed, variable", why]);
        let of = said(&place, &format!("ws://{address}/"), "s.toml", ("1", "1"));
        assert_eq!(of["errors"]["variable"], 1, "{of:#}");
        assert!(of["reasons"].to_string().contains("what is sent"), "{of:#}");
    }
    let default = "[[step]]\nconnect = \"/\"\n[[step]]\nsend = '{\"type\":\"echo\",\"n\":5}'\n\
                   expect = [ { contains = '{{sent:/m or \"5\"}}' } ]\n";
    place.write("s.toml", default);
    let url = format!("ws://{address}/");
    place.plimsoll(&["scenario", "try", "s.toml", &url]).ended_with(0);
    server.signal(Signal::INT);
    server.wait();
}

#[test]
fn steps_that_only_await_are_told_where_they_fail() {
    let place = Place::weighing(Weight::WAITS);
    let address = serve(|_| true, |mut peer| while peer.next().is_some() {});
    place.write(
        "s.toml",
        "[[step]]\nconnect = \"/\"\n[[step]]\nexpect = [ { contains = 'x', within = '1ms' } ]\n",
    );
    let of = said(&place, &format!("ws://{address}/"), "s.toml", ("2", "4"));
    assert_eq!(of["websocket"]["failed_steps"], 4, "{of:#}");
    assert!(of["warnings"].to_string().contains("4 steps failed that only"), "{of:#}");
}

#[test]
fn a_token_of_each_user_is_a_subprotocol() {
    let place = Place::weighing(Weight::WAITS);
    let address = serve(
        |_| true,
        |mut peer: Peer| {
            let offered = peer.field("sec-websocket-protocol").unwrap_or_default();
            peer.say(&offered);
            while peer.next().is_some() {}
        },
    );
    let scenario = |token: &str| {
        format!(
            "[vars]\ntoken = \"{token}\"\n[[step]]\nname = \"join\"\nconnect = \"/\"\n\
             protocols = [\"jwt.v1\", \"{{{{token}}}}\"]\n\
             [[step]]\nexpect = [ {{ contains = 'jwt.v1, abc.def-ghi' }} ]\n"
        )
    };
    let url = format!("ws://{address}/");
    place.write("s.toml", scenario("abc.def-ghi"));
    place.plimsoll(&["scenario", "try", "s.toml", &url]).ended_with(0);
    let of = said(&place, &url, "s.toml", ("1", "3"));
    assert_eq!((&of["websocket"]["connected"], &of["succeeded"]), (&3.into(), &3.into()), "{of:#}");
    place.write("s.toml", scenario("two words"));
    place.plimsoll(&["scenario", "try", "s.toml", &url]).ended_with(4).prints(&["it is a token"]);
}

/// A server that sends something before each 101, or something odd within it.
fn odd(before: &'static [u8], field: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let (mut read, mut chunk) = (Vec::new(), [0; 4096]);
            let head = loop {
                match stream.read(&mut chunk) {
                    Ok(n @ 1..) => read.extend_from_slice(&chunk[..n]),
                    _ => break None,
                }
                if let Some((head, _)) = Head::read(&read).unwrap() {
                    break Some(head);
                }
            };
            let Some(head) = head else { continue };
            let mut answer = Vec::new();
            accept(&head, Policy::default(), &mut answer).unwrap();
            let end = answer.len() - 2;
            answer.splice(end..end, field.iter().copied());
            let _ = stream.write_all(&[before, &answer].concat());
            while let Ok(1..) = stream.read(&mut chunk) {}
        }
    });
    format!("ws://{address}/")
}

#[test]
fn handshakes_are_read_as_http_has_them() {
    let place = Place::weighing(Weight::WAITS);
    place.write("s.toml", "[[step]]\nname = \"join\"\nconnect = \"/\"\n");
    let early: &[u8] = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";
    let both: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n";
    for (before, field) in [(early, &b""[..]), (both, b""), (b"", b"X-Place: K\xf6ln\r\n")] {
        let url = odd(before, field);
        place.plimsoll(&["scenario", "try", "s.toml", &url]).ended_with(0);
        let of = said(&place, &url, "s.toml", ("1", "2"));
        assert_eq!(of["websocket"]["connected"], 2, "{of:#}");
    }
    let long: &'static [u8] = format!("X-Long: {}\r\n", "x".repeat(20_000)).leak().as_bytes();
    let url = odd(b"", long);
    let tried = place.plimsoll(&["scenario", "try", "s.toml", &url]);
    tried.ended_with(4).prints(&["answer to the handshake cannot be read", "16 KiB"]);
    let of = place.start(load(&place, &url, "s.toml", ("1", "1"))).wait().ended_with(4).json();
    assert!(of["reasons"].to_string().contains("longer than 16 KiB"), "{of:#}");
    let socket = ["scenario", "try", "s.toml", "ws+unix://%2Fnowhere/"];
    place.plimsoll(&socket).ended_with(4).prints(&["not over a Unix socket"]);
}

#[test]
fn a_run_that_is_killed_has_its_names_and_websockets() {
    let place = Place::weighing(Weight::WAITS);
    let address = serve(
        |_| true,
        |mut peer: Peer| {
            peer.say("{\"op\":\"tick\",\"seq\":1}");
            while peer.next().is_some() {}
        },
    );
    place.write(
        "s.toml",
        "[[step]]\nname = \"join\"\nconnect = \"/\"\n[[step]]\nthink = \"const:1h\"\n\
         [[on_message]]\nname = \"tick\"\nwhen = { json = { \"/op\" = \"tick\" } }\n\
         broadcast = { sequence = \"/seq\" }\n",
    );
    let url = format!("ws://{address}/");
    let load = ["load", &url, "--scenario", "s.toml", "--users", "3", "--for", SOAK, "--quiet"];
    let mut going = place.start(place.command(PLIMSOLL, &load));
    let run = place.loads(&mut going);
    let show = || {
        let path = run.to_str().unwrap();
        place.plimsoll(&["runs", "show", path, "--json"]).ended_with(0).json()
    };
    let counted = |of: &Value| {
        let names = of["by_name"].as_array().cloned().unwrap_or_default();
        let join = names.iter().find(|name| name["name"] == "join").cloned().unwrap_or_default();
        join["count"].as_u64() == Some(3) && of["websocket"]["broadcast"]["received"] == 3
    };
    wait_for("figures by name", || counted(&show()).then_some(()));
    going.signal(Signal::KILL);
    going.wait();
    let of = show();
    assert!(counted(&of) && of["run"]["ended"] == "incomplete", "{of:#}");
}
