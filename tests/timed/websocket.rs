//! How long broadcasts take by the clock of a server, and how long answers are awaited.

use crate::place::Place;
use crate::program::{PLIMSOLL, wait_for};
use crate::websocket_load::{ROOM, load, named, said, server, server_with};
use plimsoll_testing::Weight;

const CLOCK: &str = r#"
[clock]
send = '{"type":"time"}'
answer = { json = { "/type" = "time" } }
time_ns = "/at"
every = "100ms"
"#;

#[test]
fn the_servers_clock_is_asked_for_and_what_it_is_ahead_is_taken_off() {
    let place = Place::weighing(Weight::ALONE);
    place.write("room.toml", ROOM);
    place.write("asks.toml", format!("{CLOCK}{ROOM}"));
    let (_same, same) = server(&place);
    let (_ahead, ahead) = server_with(&place, &["--clock-ahead", "250ms"]);
    let run = |address: &str, scenario: &str| {
        let url = format!("ws://{address}/");
        place.start(load(&place, &url, scenario, ("8", "8"))).wait().ran().json()
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
    let place = Place::weighing(Weight::ALONE);
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

#[test]
fn what_does_not_come_is_unanswered_and_what_is_no_websocket_is_refused() {
    let place = Place::weighing(Weight::ALONE);
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
