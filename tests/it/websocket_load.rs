//! Users over WebSockets, by the whole program: against the program's own server, and against
//! Python's `websockets` where that is.

use rustix::process::Signal;
use serde_json::Value;
use std::process::Command;

use crate::place::Place;
use crate::program::{Going, PLIMSOLL, wait_for};

/// A server of WebSockets and its address.
pub(crate) fn server(place: &Place) -> (Going, String) {
    server_with(place, &[])
}

/// The same, with further arguments.
fn server_with(place: &Place, more: &[&str]) -> (Going, String) {
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

const CLOCK: &str = r#"
[clock]
send = '{"type":"time"}'
answer = { json = { "/type" = "time" } }
time_ns = "/at"
every = "100ms"
"#;

/// What never comes is awaited, on a WebSocket and behind its end.
const WAIT: &str = r#"
on_failure = "go on"
[[step]]
connect = "/ws"
[[step]]
name = "silence"
send = "x"
expect = [ { contains = "never", within = "150ms" } ]
[[step]]
name = "listen"
expect = [ { contains = "never", within = "100ms" } ]
[[step]]
close = true
[[step]]
name = "gone"
send = "y"
expect = [ { contains = "y" } ]
"#;

/// A load of so many users by a scenario, at a time and in all.
fn load(place: &Place, url: &str, scenario: &str, (users, all): (&str, &str)) -> Command {
    let mut command = place.command(PLIMSOLL, &["load", url, "--scenario", scenario, "--json"]);
    command.args(["--users", users, "-n", all, "--for", "60s"]);
    command
}

/// What such a load has said.
fn said(place: &Place, url: &str, scenario: &str, users: (&str, &str)) -> Value {
    place.start(load(place, url, scenario, users)).wait().went_well().json()
}

fn named<'d>(document: &'d Value, name: &str) -> &'d Value {
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
    let listening = place.start(listen);
    // They have joined long before anything is said, and stay until long after.
    std::thread::sleep(std::time::Duration::from_secs(1));
    let spoke = said(&place, &url, "speak.toml", ("1", "1"));
    let heard: Value = listening.wait().went_well().json();
    assert_eq!(named(&spoke, "cast")["succeeded"], 3);
    let of = &heard["websocket"]["broadcast"];
    assert_eq!(of["received"], 24, "eight had three each: {heard:#}");
    for none in ["lost", "doubled", "disorder", "skipped"] {
        assert_eq!(of[none], 0, "{none}: {of}");
    }
    assert_eq!(of["latency_us"]["count"].as_u64().unwrap() + of["ahead"].as_u64().unwrap(), 24);
    assert_eq!(of["spread_us"]["count"], 3, "of each of the three: {of}");
    assert_eq!(named(&heard, "news")["kind"], "broadcast");
    assert_eq!(named(&heard, "news")["count"], 24);
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
    let document = document.went_well().json();
    let of = &document["websocket"]["broadcast"];
    let news = named(&document, "news");
    let number = |of: &Value| of.as_u64().unwrap();
    let [all, measured, spreads] =
        [&of["received"], &of["latency_us"]["count"], &of["spread_us"]["count"]].map(number);
    assert_eq!(measured + number(&of["ahead"]), number(&news["count"]), "{document:#}");
    assert!(measured < all && spreads > 0, "{document:#}");
    // One of each pair may have come before the phase, and those of the end may be cut.
    assert!(2 * spreads <= measured + 2, "{document:#}");
}

#[test]
fn the_servers_clock_is_asked_for_and_what_it_is_ahead_is_taken_off() {
    let place = Place::new();
    place.write("room.toml", ROOM);
    place.write("asks.toml", format!("{CLOCK}{ROOM}"));
    let (_same, same) = server(&place);
    let (_ahead, ahead) = server_with(&place, &["--clock-ahead", "250ms"]);
    let run = |address: &str, scenario: &str| {
        let url = format!("ws://{address}/");
        place.start(load(&place, &url, scenario, ("8", "8"))).wait().went_well().json()
    };
    let plain = run(&same, "room.toml");
    let truth = plain["websocket"]["broadcast"]["latency_us"]["p50"].as_f64().unwrap();
    assert_eq!(plain["websocket"]["broadcast"].get("offset_us"), None, "nobody has asked");

    // As the clocks are, all of it came before it was said.
    let wrong = run(&ahead, "room.toml");
    let of = &wrong["websocket"]["broadcast"];
    assert_eq!((&of["ahead"], &of["latency_us"]["count"]), (&of["received"], &0.into()), "{of}");
    assert!(wrong["warnings"].to_string().contains("[clock] in the scenario asks"), "{wrong:#}");

    let right = run(&ahead, "asks.toml");
    let of = &right["websocket"]["broadcast"];
    assert_eq!((&of["ahead"], &of["lost"]), (&0.into(), &0.into()), "{right:#}");
    assert_eq!(right["websocket"]["unmatched"], 0, "{right:#}");
    let [offset, error] = ["offset_us", "offset_error_us"].map(|key| of[key].as_f64().unwrap());
    assert!((offset - 250_000.0).abs() <= error && error < 100_000.0, "{of}");
    let p50 = of["latency_us"]["p50"].as_f64().unwrap();
    // Two runs on a busy machine differ by themselves.
    assert!((p50 - truth).abs() <= error + 2_000.0, "{p50} and {truth} ± {error}");
    assert_eq!(of["latency_us"]["count"], of["received"], "none came before the clock was known");
    // Few ask: five times each right away, then every 100 ms for the rest of the second.
    let asked =
        right["websocket"]["sent"].as_u64().unwrap() - plain["websocket"]["sent"].as_u64().unwrap();
    assert!((5..=4 * 30).contains(&asked), "{asked}");
    place.plimsoll(&["report", "-o", "room.html"]).ended_with(0);
    let page = std::fs::read_to_string(place.path("room.html")).unwrap();
    assert!(page.contains("clock ahead"));
}

/// However long he would think, a user hears what comes until the load has ended.
#[test]
fn who_thinks_longer_than_the_load_listens_to_its_end() {
    let place = Place::new();
    let (_server, address) = server(&place);
    place.write("listen.toml", "[[step]]\nconnect = \"/\"\n[[step]]\nthink = \"const:1h\"\n");
    let url = format!("ws://{address}/");
    let words =
        ["load", &url, "--scenario", "listen.toml", "--users", "3", "--for", "1s", "--json"];
    let document = place.plimsoll(&words).ended_with(0).json();
    let online_s = document["websocket"]["online_s"].as_f64().unwrap();
    assert!((2.5..4.0).contains(&online_s), "{document:#}");
    assert_eq!(document["users"]["cut"], 3, "{document:#}");
}

#[test]
fn what_does_not_come_is_unanswered_and_what_is_no_websocket_is_refused() {
    let place = Place::new();
    let (_server, address) = server(&place);
    place.write("wait.toml", WAIT);
    let url = format!("ws://{address}/");
    let document = said(&place, &url, "wait.toml", ("2", "4"));
    let (silence, listen, gone) =
        (named(&document, "silence"), named(&document, "listen"), named(&document, "gone"));
    assert_eq!(silence["failures"]["unanswered"], 4, "{document:#}");
    assert_eq!(listen["failures"]["unanswered"], 4, "{document:#}");
    assert_eq!(gone["failures"]["offline"], 4, "{document:#}");
    assert_eq!((&document["offered"], &document["succeeded"]), (&12.into(), &4.into()));
    assert_eq!(document["errors"]["unanswered"], 4, "who only waits asks for nothing");
    let response = silence["response_us"]["min"].as_f64().unwrap();
    assert!((150_000.0..400_000.0).contains(&response), "as long as it was awaited: {response}");

    // A server that speaks HTTP only.
    let target = place.start(place.command(PLIMSOLL, &["target", "--listen", "127.0.0.1:0"]));
    let address = wait_for("the target to listen", || {
        let said = target.out();
        said.lines().find_map(|line| line.strip_prefix("listening on ")).map(str::to_owned)
    });
    let url = format!("ws://{address}/");
    let document = said(&place, &url, "wait.toml", ("1", "1"));
    assert_eq!(document["websocket"]["refused"], 1, "{document:#}");
    assert_eq!(document["errors"]["check"], 1, "{document:#}");
    assert!(document["reasons"].to_string().contains("expected status 101, found 200"));
}

#[test]
fn a_url_of_websockets_wants_a_scenario() {
    let place = Place::new();
    let done = place.plimsoll(&["load", "ws://127.0.0.1:9/", "--rate", "1/s", "--for", "1s"]);
    done.ended_with(2).says(&["scenario", "connect, send, expect"]);
}
