//! Users whose WebSockets are lost and opened again, by the whole program.

use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crate::place::{Place, SOAK};
use crate::websocket_peer::{Peer, serve};

/// What one user by a scenario comes to, over this server.
fn one_user(place: &Place, address: std::net::SocketAddr, scenario: &str) -> Value {
    place.write("s.toml", scenario);
    let url = format!("ws://{address}/");
    let run = ["load", &url, "--scenario", "s.toml", "--json", "--users", "1", "-n", "1"];
    place.plimsoll(&[&run[..], &["--for", SOAK]].concat()).ended_with(0).json()
}

fn named<'d>(document: &'d Value, name: &str) -> &'d Value {
    let all = document["by_name"].as_array().unwrap();
    let found = all.iter().find(|figures| figures["name"] == name);
    found.unwrap_or_else(|| panic!("no figures of {name}: {document:#}"))
}

/// The answer to a question of a test, which has its number.
fn answer(peer: &mut Peer, text: &str) {
    let asked: Value = serde_json::from_str(text).unwrap();
    peer.say(&json!({ "op": "ok", "n": asked["n"] }).to_string());
}

const SUBSCRIBER: &str = r#"
[[step]]
name = "join"
connect = "/ws"
headers = { X-Word = "{{uuid}}" }
reconnect = { first = "50ms", most = "200ms" }
[[step]]
name = "enter"
subscribe = '{"op":"subscribe","game":1}'
key = "1"
expect = [ { json = { "/op" = "subscribed" } } ]
[[step]]
think = "const:1s"
[[step]]
name = "ask"
send = '{"op":"ask","n":{{counter}}}'
expect = [ { json = { "/op" = "ok", "/n" = "{{sent:/n}}" } } ]
[[on_message]]
name = "news"
when = { json = { "/op" = "news" } }
broadcast = { sequence = "/seq", key = "/game" }
"#;

#[test]
fn what_is_lost_is_opened_again_and_subscribed_to_anew() {
    let place = Place::new();
    let (sequence, words) = (AtomicU64::new(0), Arc::new(std::sync::Mutex::new(Vec::new())));
    let kept = Arc::clone(&words);
    // The second handshake is refused.
    let address = serve(
        |number| number != 1,
        move |mut peer| {
            kept.lock().unwrap().push(peer.field("x-word"));
            while let Some(text) = peer.next() {
                if !text.contains("subscribe") {
                    answer(&mut peer, &text);
                    continue;
                }
                peer.say(r#"{"op":"subscribed"}"#);
                for _ in 0..2 {
                    let seq = sequence.fetch_add(1, Ordering::Relaxed);
                    peer.say(&format!(r#"{{"op":"news","game":1,"seq":{seq}}}"#));
                }
                if peer.number == 0 {
                    // Much is published while he is offline.
                    sequence.fetch_add(10, Ordering::Relaxed);
                    return peer.close(1012);
                }
            }
        },
    );
    let document = one_user(&place, address, SUBSCRIBER);
    let of = &document["websocket"];
    let counts = ["connected", "refused", "reconnected", "unmatched"].map(|key| of[key].as_u64());
    assert_eq!(counts, [Some(2), Some(1), Some(1), Some(0)], "{document:#}");
    assert_eq!(of["closed"], json!({ "1000": 1 }), "{document:#}");
    assert_eq!(of["let_go"], json!({ "1012": 1 }), "{document:#}");
    // Each handshake counts as any other: one more was refused, and one more opened it.
    let join = named(&document, "join");
    assert_eq!((&join["count"], &join["succeeded"]), (&3.into(), &2.into()), "{join}");
    assert_eq!(join["failures"]["check"], 1, "{join}");
    assert_eq!((&document["offered"], &document["succeeded"]), (&5.into(), &4.into()));
    // He subscribed once by a step, and once more in his background.
    assert_eq!((&named(&document, "enter")["count"], &of["sent"]), (&1.into(), &3.into()));
    assert_eq!(named(&document, "ask")["succeeded"], 1, "{document:#}");
    let broadcast = &of["broadcast"];
    assert_eq!((&broadcast["received"], &broadcast["lost"]), (&4.into(), &0.into()), "{of}");
    let words = words.lock().unwrap();
    assert_eq!((words.len(), &words[0]), (2, &words[1]), "he asks in the words of the first time");
}

const PATIENT: &str = r#"
on_failure = "go on"
[[step]]
connect = "/ws"
reconnect = { first = "20ms", most = "50ms" }
[[step]]
think = "const:100ms"
[[step]]
name = "soon"
send = '{"n":1}'
expect = [ { json = { "/n" = 1 }, within = "150ms" } ]
[[step]]
name = "later"
send = '{"n":2}'
expect = [ { json = { "/n" = 2 } } ]
"#;

#[test]
fn a_step_waits_until_it_is_open_again_and_fails_as_offline_behind_its_time() {
    let place = Place::new();
    let dropped: Arc<OnceLock<Instant>> = Arc::default();
    let since = Arc::clone(&dropped);
    let address = serve(
        move |number| {
            number == 0 || since.get().is_some_and(|at| at.elapsed() >= Duration::from_millis(800))
        },
        move |mut peer| {
            if peer.number == 0 {
                dropped.set(Instant::now()).unwrap();
                // Without a word.
                return;
            }
            while let Some(text) = peer.next() {
                answer(&mut peer, &text);
            }
        },
    );
    let document = one_user(&place, address, PATIENT);
    let (soon, later) = (named(&document, "soon"), named(&document, "later"));
    assert_eq!(soon["failures"], json!({ "offline": 1 }), "{document:#}");
    assert_eq!((&later["succeeded"], &later["count"]), (&1.into(), &1.into()), "{document:#}");
    // It was due about 250 ms behind the loss, and nobody was let in before 800 ms.
    let response = later["response_us"]["min"].as_f64().unwrap();
    let service = later["service_us"]["min"].as_f64().unwrap();
    assert!(response > 200_000.0 && service < response, "{later}");
    let of = &document["websocket"];
    assert_eq!((&of["reconnected"], &of["let_go"]["1006"]), (&1.into(), &1.into()), "{of}");
    assert!(of["refused"].as_u64().unwrap() >= 2, "{of}");
    assert!(document["reasons"].to_string().contains("not opened again in time"), "{document:#}");
    crate::json::assert_sums(&document);
}

const LEAVES: &str = r#"
on_failure = "go on"
[[step]]
connect = "/ws"
RECONNECT
[[step]]
send = '{"n":1}'
expect = [ { json = { "/n" = 1 } } ]
[[step]]
close = CODE
[[step]]
think = "const:300ms"
[[step]]
name = "gone"
send = '{"n":2}'
expect = [ { json = { "/n" = 2 } } ]
"#;

#[test]
fn what_its_user_closes_is_not_opened_again_nor_is_what_was_not_to_be() {
    let place = Place::new();
    let opened = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&opened);
    let address = serve(
        |_| true,
        move |mut peer| {
            count.fetch_add(1, Ordering::Relaxed);
            while let Some(text) = peer.next() {
                answer(&mut peer, &text);
                if text.contains("drop") {
                    return;
                }
            }
        },
    );
    let closes = LEAVES.replace("RECONNECT", "reconnect = { first = \"10ms\" }");
    let document = one_user(&place, address, &closes.replace("CODE", "3000"));
    assert_eq!(opened.load(Ordering::Relaxed), 1, "{document:#}");
    assert_eq!(document["websocket"]["reconnected"], 0);
    assert_eq!(named(&document, "gone")["failures"]["offline"], 1, "at once: {document:#}");
    // Dropped, and not to be opened again: as without the key.
    let drops =
        LEAVES.replace("RECONNECT", "reconnect = false").replace("\"n\":1", "\"drop\":1,\"n\":1");
    let document = one_user(&place, address, &drops.replace("CODE", "true"));
    assert_eq!(opened.load(Ordering::Relaxed), 2, "{document:#}");
    assert_eq!(named(&document, "gone")["failures"]["offline"], 1, "{document:#}");
}

const HOSTED: &str = r#"
on_failure = "go on"
[[step]]
connect = "/ws"
reconnect = true
[[step]]
loop = "until the end"
steps = [
  { name = "echo", send = '{"n":{{counter}}}',
    expect = [ { json = { "/n" = "{{sent:/n}}" }, within = "300ms" } ] },
  { think = "exp:10ms" },
]
"#;

#[test]
fn many_who_are_dropped_again_and_again_are_all_accounted_for() {
    let place = Place::new();
    let address = serve(
        |number| !number.is_multiple_of(5),
        |mut peer| {
            // Some leave with a code, some without a word, some with a question on its way.
            for _ in 0..3 + peer.number % 7 {
                let Some(text) = peer.next() else { return };
                answer(&mut peer, &text);
            }
            match peer.number % 3 {
                0 => peer.close(1001),
                1 => drop(peer.next()),
                _ => {}
            }
        },
    );
    place.write("s.toml", HOSTED.replace("reconnect = true", "reconnect = { first = \"20ms\" }"));
    let url = format!("ws://{address}/");
    let run = ["load", &url, "--scenario", "s.toml", "--json", "--users", "60", "-t", "2"];
    // tidy: allow(waits, users come back again and again, until the end)
    let document = place.plimsoll(&[&run[..], &["--for", "3s"]].concat()).ran().json();
    let of = &document["websocket"];
    let count = |key: &str| of[key].as_u64().unwrap();
    assert!(count("reconnected") > 60, "{document:#}");
    // Some were refused the first time, and had nothing to come back to.
    assert!(count("connected") - count("reconnected") <= 60, "{document:#}");
    let sum = |key: &str| -> u64 {
        of[key].as_object().into_iter().flat_map(|of| of.values()).filter_map(Value::as_u64).sum()
    };
    let closed = sum("closed") + sum("let_go");
    assert_eq!(closed, count("connected"), "each is closed once: {of}");
    crate::json::assert_sums(&document);
}
