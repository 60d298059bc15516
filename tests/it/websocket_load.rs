//! Users over WebSockets, by the whole program: against the program's own server, and against
//! Python's `websockets` where that is.

use plimsoll_testing::Weight;
use rustix::process::Signal;
use serde_json::Value;
use std::process::Command;

use crate::place::{Place, SOAK};
use crate::program::{Going, PLIMSOLL, wait_for};

/// A server of WebSockets and its address.
pub(crate) fn server(place: &Place) -> (Going, String) {
    server_with(place, &[])
}

/// The same, with further arguments.
pub(crate) fn server_with(place: &Place, more: &[&str]) -> (Going, String) {
    let arguments = ["target", "--websocket", "--listen", "127.0.0.1:0", "--json"];
    let server = place.start(place.command(PLIMSOLL, &[&arguments[..], more].concat()));
    let address = wait_for("the server to listen", || {
        let said = server.err();
        said.lines().find_map(|line| line.strip_prefix("listening on ")).map(str::to_owned)
    });
    (server, address)
}

/// Eight who listen, or one who speaks three times.
const CAST: &str = r#"
[[step]]
name = "join"
connect = "/ws"
[[step]]
think = "const:300ms"
[[step]]
if = { var = "speaker", is = "yes" }
then = [ { loop = 3, steps = [
  { name = "cast", send = '{"type":"broadcast","payload":{{counter}}}',
    expect = [ { json = { "/type" = "broadcastResult" } } ] },
  { think = "const:50ms" },
] } ]
[[step]]
think = "const:6s"
[[on_message]]
name = "news"
when = { json = { "/type" = "broadcast" } }
broadcast = { published_ns = "/at", sequence = "/seq" }
[vars]
speaker = "no"
"#;

/// All speak ten times, and all hear it.
pub(crate) const ROOM: &str = r#"
[[step]]
connect = "/ws"
[[step]]
think = "const:300ms"
[[step]]
loop = 10
steps = [
  { name = "cast", send = '{"type":"broadcast","payload":{{counter}}}',
    expect = [ { json = { "/type" = "broadcastResult" } } ] },
  { think = "const:20ms" },
]
[[step]]
think = "const:200ms"
[[on_message]]
when = { json = { "/type" = "broadcast" } }
broadcast = { published_ns = "/at", sequence = "/seq" }
"#;

/// The same rule with a name.
const NEWS: &str = "[[on_message]]\nname = \"news\"";

/// A load of so many users by a scenario, at a time and in all.
pub(crate) fn load(
    place: &Place,
    url: &str,
    scenario: &str,
    (users, all): (&str, &str),
) -> Command {
    let mut command = place.command(PLIMSOLL, &["load", url, "--scenario", scenario, "--json"]);
    command.args(["--users", users, "-n", all, "--for", SOAK]);
    command
}

/// What such a load has said.
pub(crate) fn said(place: &Place, url: &str, scenario: &str, users: (&str, &str)) -> Value {
    place.start(load(place, url, scenario, users)).wait().ran().json()
}

pub(crate) fn named<'d>(document: &'d Value, name: &str) -> &'d Value {
    let all = document["by_name"].as_array().unwrap();
    let found = all.iter().find(|figures| figures["name"] == name);
    found.unwrap_or_else(|| panic!("no figures of {name}: {document:#}"))
}

#[test]
fn messages_are_sent_expected_and_counted() {
    let place = Place::new();
    let (server, address) = server(&place);
    place.write(
        "echo.toml",
        r#"
[[step]]
name = "join"
connect = "/ws"
[[step]]
loop = 5
steps = [
  { name = "echo", send = '{"n":{{counter}}}', expect = [ { json = { "/n" = "{{sent:/n}}" } } ] },
  { think = "const:10ms" },
]
[[step]]
name = "leave a word"
send = "bye"
[[step]]
close = true
"#,
    );
    let url = format!("ws://{address}/");
    let document = said(&place, &url, "echo.toml", ("4", "20"));
    let of = &document["websocket"];
    assert_eq!((&of["connected"], &of["refused"]), (&20.into(), &0.into()), "{document:#}");
    assert_eq!(of["sent"], 120, "five echoes and a word each");
    assert_eq!(of["closed"]["1000"], 20, "{of}");
    let received = of["received"].as_u64().unwrap();
    assert!((100..=120).contains(&received), "the word comes back where he has not left: {of}");
    // 20 handshakes and 100 messages that expect an answer.
    assert_eq!((&document["offered"], &document["succeeded"]), (&120.into(), &120.into()));
    let echo = named(&document, "echo");
    assert_eq!((&echo["count"], &echo["kind"]), (&100.into(), &"step".into()), "{echo}");
    assert_eq!(named(&document, "join")["kind"], "handshake");
    assert_eq!(named(&document, "leave a word")["count"], 20);
    assert_eq!(document["users"]["finished"], 20);
    server.signal(Signal::INT);
    let done: Value = server.wait().ended_with(0).json();
    assert_eq!((&done["connected"], &done["received"]), (&20.into(), &120.into()), "{done}");
}

#[test]
fn a_broadcast_reaches_all_and_its_latency_is_told() {
    let place = Place::new();
    let (_server, address) = server(&place);
    place.write("cast.toml", CAST);
    place.write("speak.toml", CAST.replace("speaker = \"no\"", "speaker = \"yes\""));
    let url = format!("ws://{address}/");
    let mut listen = load(&place, &url, "cast.toml", ("8", "8"));
    listen.args(["--threads", "2"]);
    let mut listening = place.start(listen);
    // They have joined before anything is said, and stay until long after.
    let run = place.loads(&mut listening);
    wait_for("all eight", || {
        let seconds = plimsoll_runs::Run::open(&run).unwrap().intervals().unwrap();
        (seconds.last()?.connections == 8).then_some(())
    });
    let spoke = said(&place, &url, "speak.toml", ("1", "1"));
    let heard: Value = listening.wait().ran().json();
    assert_eq!(named(&spoke, "cast")["succeeded"], 3);
    let of = &heard["websocket"]["broadcast"];
    assert_eq!(of["received"], 24, "eight had three each: {heard:#}");
    for none in ["lost", "doubled", "disorder", "skipped"] {
        assert_eq!(of[none], 0, "{none}: {of}");
    }
    assert_eq!(timed(of) + of["ahead"].as_u64().unwrap(), 24);
    assert_eq!(of["spread_us"]["count"], 3, "of each of the three: {of}");
    assert_eq!(named(&heard, "news")["kind"], "broadcast");
    assert_eq!(named(&heard, "news")["count"], 24);
}

/// Broadcasts of which it is known how long they took, or that a busy host has kept from being
/// read.
fn timed(of: &Value) -> u64 {
    of["latency_us"]["count"].as_u64().unwrap() + of["unread"].as_u64().unwrap_or(0)
}

/// What is counted is of the whole run, as connections are; times are of the measured phase, as all
/// other times.
#[test]
fn broadcasts_of_the_warm_up_are_counted_and_in_no_time() {
    let place = Place::new();
    let (_server, address) = server(&place);
    let room = ROOM.replace("loop = 10", "loop = 200").replace("[[on_message]]", NEWS);
    place.write("room.toml", room);
    let url = format!("ws://{address}/");
    let words = ["load", &url, "--scenario", "room.toml", "--users", "2", "--warm-up", "1s"];
    let document = place.plimsoll(&[&words[..], &["--for", "1s", "--json"]].concat());
    let document = document.ran().json();
    let of = &document["websocket"]["broadcast"];
    let news = named(&document, "news");
    let number = |of: &Value| of.as_u64().unwrap();
    let [all, measured, spreads] =
        [&of["received"], &of["latency_us"]["count"], &of["spread_us"]["count"]].map(number);
    assert_eq!(timed(of) + number(&of["ahead"]), number(&news["count"]), "{document:#}");
    assert!(measured < all && spreads > 0, "{document:#}");
    // One of a pair may have come before the phase, and those of the end may be cut: of how many
    // pairs hangs on when the host let them be read.
    assert!(spreads <= measured, "{document:#}");
}

#[test]
fn a_url_of_websockets_wants_a_scenario() {
    let place = Place::weighing(Weight::WAITS);
    let done = place.plimsoll(&["load", "ws://127.0.0.1:9/", "--rate", "1/s", "--for", "1s"]);
    done.ended_with(2).says(&["scenario", "connect, send, expect"]);
}
