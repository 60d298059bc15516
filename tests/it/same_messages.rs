//! What users send over WebSockets is the same for the same seed, whatever the threads and the
//! server's pace.

use plimsoll_units::hash::fnv_1a;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::place::{Place, SOAK};
use crate::websocket_peer::{Peer, serve};

/// So many users in all, and so many at a time.
const USERS: usize = 1_000;
const AT_A_TIME: &str = "50";

const TEXT: &str = r#"
[[step]]
name = "join"
connect = "/ws?word={{random:1..1000000}}"
headers = { X-User = "{{user}}", X-Word = "{{uuid}}" }
[[step]]
subscribe = '{"op":"subscribe","game":{{random:1..9}},"n":{{counter}}}'
expect = [ { json = { "/op" = "ok", "/n" = "{{sent:/n}}" } } ]
[[step]]
think = "exp:3ms"
[[step]]
loop = "1..4"
steps = [
  { choose = [
    { weight = 2, steps = [ { name = "say",
      send = '{"op":"say","id":"{{uuid}}","n":{{counter}},"round":{{loop}}}',
      expect = [ { json = { "/op" = "ok", "/n" = "{{sent:/n}}" } } ] } ] },
    { weight = 1, steps = [ { name = "tell", send = '{"op":"tell","of":{{random:1..99}}}' } ] },
  ] },
]
[[step]]
name = "bye"
send = '{"op":"bye","n":{{counter}}}'
expect = [ { json = { "/op" = "end" } } ]
[[step]]
close = true
[[on_message]]
name = "asked"
when = { json = { "/op" = "ask" } }
take.id = { json = "/id" }
send = '{"op":"answer","id":{{id}},"word":{{random:1..1000000}}}'
"#;

/// What a user has sent: by his steps, and by his rule. Each is in its own order; which of the two
/// comes first hangs on when messages come.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Sent {
    steps: Vec<String>,
    answers: Vec<String>,
}

/// All that users have sent, by their numbers.
type All = BTreeMap<u64, Sent>;

/// Speaks to one user. What he says is asked about, before it is answered or behind that.
fn speak(mut peer: Peer, delays: bool, all: &Mutex<All>) {
    let user: u64 = peer.field("x-user").unwrap().parse().unwrap();
    let word = peer.field("x-word").unwrap();
    let mut sent = Sent { steps: vec![peer.target(), word], answers: Vec::new() };
    let (mut asked, mut leaves) = (0, false);
    while let Some(text) = peer.next() {
        let message: Value = serde_json::from_str(&text).unwrap();
        let op = message["op"].as_str().unwrap();
        if delays {
            let ms = (user * 7 + text.len() as u64 * 3 + asked) % 11;
            // tidy: allow(waits, the server takes its time)
            std::thread::sleep(Duration::from_millis(ms));
        }
        let ask = |peer: &mut Peer, id: u64| peer.say(&format!(r#"{{"op":"ask","id":{id}}}"#));
        match op {
            "answer" => sent.answers.push(text.clone()),
            _ => sent.steps.push(text.clone()),
        }
        if op == "say" {
            asked += 1;
            // With delays, he is asked while he awaits his answer; without, he may go on before.
            if delays {
                ask(&mut peer, asked);
            }
        }
        if ["subscribe", "say"].contains(&op) {
            peer.say(&format!(r#"{{"op":"ok","n":{}}}"#, message["n"]));
        }
        if op == "say" && !delays {
            ask(&mut peer, asked);
        }
        leaves |= op == "bye";
        if leaves && sent.answers.len() as u64 == asked {
            peer.say(r#"{"op":"end"}"#);
            leaves = false;
        }
    }
    all.lock().unwrap().insert(user, sent);
}

/// All that they send with so many threads, to a server that answers at once or takes its time.
fn sent(place: &Place, threads: &str, delays: bool, seed: &str) -> All {
    let all = Arc::<Mutex<All>>::default();
    let kept = Arc::clone(&all);
    let address = serve(|_| true, move |peer| speak(peer, delays, &kept));
    let url = format!("ws://{address}/");
    let count = USERS.to_string();
    let run = ["load", &url, "--scenario", "s.toml", "--json", "--users", AT_A_TIME, "-n", &count];
    let more = ["-t", threads, "--seed", seed, "--for", SOAK];
    let document = place.plimsoll(&[&run[..], &more].concat()).ran().json();
    assert_eq!(document["users"]["finished"], USERS, "{document:#}");
    // What the last ones have said is kept when their connections are closed.
    crate::program::wait_for("all to have left", || {
        let all = all.lock().unwrap();
        (all.len() == USERS).then(|| all.clone())
    })
}

/// One hash over all that was sent, in the order of the users' numbers.
fn hash(all: &All) -> u64 {
    let texts = all.values().flat_map(|sent| sent.steps.iter().chain(&sent.answers));
    fnv_1a(texts.map(|text| format!("{text}\n")).collect::<String>().as_bytes())
}

#[test]
fn each_user_says_the_same_for_one_and_two_threads_and_with_delays() {
    let place = Place::new();
    place.write("s.toml", TEXT);
    let one = sent(&place, "1", false, "7");
    let of_own: std::collections::BTreeSet<&Vec<String>> =
        one.values().map(|of| &of.steps).collect();
    assert_eq!(of_own.len(), USERS, "each says something of his own");
    assert!(one.values().map(|of| of.answers.len()).sum::<usize>() > USERS, "rules answer, too");
    for (threads, delays) in [("1", true), ("2", false), ("2", true)] {
        let other = sent(&place, threads, delays, "7");
        for (user, of) in &one {
            assert_eq!(of, &other[user], "user {user}, {threads} threads, delays: {delays}");
        }
        assert_eq!(hash(&one), hash(&other), "{threads} threads, delays: {delays}");
    }
    assert_ne!(hash(&one), hash(&sent(&place, "2", false, "8")), "another seed");
}
