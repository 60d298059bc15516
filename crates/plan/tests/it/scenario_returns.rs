//! Users whose WebSockets are lost: when they try again, and what they say then, in simulated time.

use std::io;
use std::path::Path;

use plimsoll_plan::{Environment, WrittenScenario, read_scenario};
use plimsoll_workload::request::Url;
use plimsoll_workload::scenario::take::Headers;
use plimsoll_workload::scenario::{Came, Heard, Next, Now, Received, Scenario, User};
use proptest::prelude::*;

const MS: u64 = 1_000_000;

const TEXT: &str = r#"
[[step]]
name = "join"
connect = "/ws?word={{uuid}}"
reconnect = { first = "500ms", most = "8s" }
[[step]]
subscribe = '{"op":"subscribe","game":{{counter}}}'
key = "{{loop}}"
expect = [ { json = { "/op" = "subscribed", "/game" = "{{sent:/game}}" },
             take.seq = { json = "/seq" } } ]
[[step]]
subscribe = '{"op":"subscribe","game":{{counter}}}'
key = "chat"
expect = [ { json = { "/op" = "subscribed", "/game" = "{{sent:/game}}" } } ]
[[step]]
send = "{{seq}}"
[[step]]
close = true
[[step]]
think = "exp:1s"
[vars]
seq = 0
"#;

fn read(seed: u64) -> Scenario {
    let open = |_: &Path| Err(io::Error::from(io::ErrorKind::NotFound));
    let (origin, open) = ("s.toml", &open as &dyn Fn(&Path) -> io::Result<Vec<u8>>);
    let environment = Environment::Unread;
    let written = WrittenScenario { text: TEXT, origin, environment, places: None, open };
    read_scenario(&written).unwrap().at(&Url::parse("ws://game.example/").unwrap(), seed)
}

fn at(ms: u64) -> Now {
    Now { ns: ms * MS, unix_ns: ms * MS }
}

fn opened() -> Received<'static> {
    Received { status: 101, headers: Headers(&[]), body: b"", is_whole: true }
}

/// A user who has opened his WebSocket.
fn online(scenario: &Scenario, number: u64) -> User {
    let mut user = User::new(scenario, number, 0).unwrap();
    let next = user.next(scenario, at(0), &mut Vec::new());
    assert!(matches!(next, Next::Ask(_)), "{next:?}");
    let came = user.answered(scenario, &opened(), 1, at(0), &mut Vec::new());
    assert_eq!(came, Came::Passed);
    user
}

/// How long he waits before each of so many attempts in vain, from a loss on; ms.
fn waits(user: &mut User, scenario: &Scenario, attempts: usize) -> Vec<f64> {
    let (mut now, mut online) = (at(1_000), 1_000 * MS);
    (0..attempts)
        .map(|_| {
            let due = user.loses(scenario, 1, std::mem::take(&mut online), now).unwrap();
            let wait = due - now.ns;
            now = Now { ns: due, unix_ns: due };
            wait as f64 / MS as f64
        })
        .collect()
}

proptest! {
    #[test]
    fn waits_are_drawn_up_to_a_bound_that_doubles(seed in any::<u64>(), number in 0..1_000_u64) {
        let scenario = read(seed);
        let waits = waits(&mut online(&scenario, number), &scenario, 8);
        let bounds = [500.0, 1e3, 2e3, 4e3, 8e3, 8e3, 8e3, 8e3];
        for (wait, bound) in waits.iter().zip(bounds) {
            prop_assert!((0.0..=bound).contains(wait), "{:?}", waits);
        }
        let again = self::waits(&mut online(&scenario, number), &scenario, 8);
        prop_assert_eq!(&waits, &again, "the same user of the same seed");
        let other = self::waits(&mut online(&scenario, number + 1), &scenario, 8);
        prop_assert_ne!(&waits, &other);
    }
}

#[test]
fn the_jitter_is_full() {
    let scenario = read(7);
    const USERS: usize = 4_000;
    let mut shares: Vec<f64> = (0..USERS)
        .map(|number| {
            let mut user = online(&scenario, number as u64);
            waits(&mut user, &scenario, 1)[0] / 500.0
        })
        .collect();
    shares.sort_by(f64::total_cmp);
    // Kolmogorov and Smirnov, one in a thousand: those who are dropped together do not come back
    // together.
    let farthest = shares.iter().enumerate().map(|(at, share)| {
        let (below, above) = (at as f64 / USERS as f64, (at + 1) as f64 / USERS as f64);
        (share - below).abs().max((above - share).abs())
    });
    let farthest = farthest.fold(0.0, f64::max);
    assert!(farthest < 1.95 / (USERS as f64).sqrt(), "{farthest}");
}

#[test]
fn the_bound_begins_anew_behind_a_connection_that_lasted() {
    let scenario = read(3);
    let mut user = online(&scenario, 0);
    let now = at(0);
    let greatest = |online_ms: u64| {
        let mut user = user.clone();
        let draws = (0..200).map(|_| user.loses(&scenario, 1, online_ms * MS, now).unwrap());
        draws.max().unwrap() / MS
    };
    assert!((4_000..=8_000).contains(&greatest(0)), "in vain again and again");
    assert!((400..=500).contains(&greatest(9_000)), "each has lasted");
    // A connection that is dropped sooner than the last wait may have taken is one more attempt.
    assert!((4_000..=8_000).contains(&greatest(100)));
    assert_eq!(user.loses(&scenario, 2, 0, now), None, "another connection is not his");
}

#[test]
fn he_comes_back_in_the_same_words_and_subscribes_anew() {
    let scenario = read(1);
    let mut user = online(&scenario, 4);
    let word = user.message().target.clone();
    let mut said = Vec::new();
    for game in 0..2 {
        let next = user.next(&scenario, at(game), &mut Vec::new());
        assert!(matches!(next, Next::Say { sends: true, .. }), "{next:?}");
        said.push(user.said().to_vec());
        user.has_said(&scenario, at(game), 1_000 * MS);
        let answer = format!(r#"{{"op":"subscribed","game":{game},"seq":{}}}"#, 10 + game);
        let heard = user.hear(&scenario, 1, answer.as_bytes(), at(game));
        assert!(matches!(heard, Heard::Expected { is_last: true, .. }), "{heard:?}");
    }
    assert_eq!(user.take_subscribed().len(), 2);
    let due = user.loses(&scenario, 1, 5_000 * MS, at(5_000)).unwrap();
    let then = Now { ns: due, unix_ns: due };
    assert!(user.returns(&scenario, 1, due + 1, then).is_none(), "not what he was to do");
    let sending = user.returns(&scenario, 1, due, then).unwrap();
    assert_eq!(
        (sending.due_ns, scenario.names()[usize::from(sending.name)].name.as_str()),
        (due, "join")
    );
    assert!(user.returns(&scenario, 1, due, then).is_none(), "once");
    let refused = Received { status: 503, ..opened() };
    let came = user.returned(&scenario, 1, (&refused, 1), then, &mut Vec::new());
    assert!(matches!(came, Came::Failed(_)), "{came:?}");
    let due = user.loses(&scenario, 1, 0, then).unwrap();
    assert!(user.returns(&scenario, 1, due, then).is_some());
    assert_eq!(user.returning(1).unwrap().target, word);
    let came = user.returned(&scenario, 1, (&opened(), 1), then, &mut Vec::new());
    assert_eq!(came, Came::Passed);
    let again: Vec<&[u8]> = user.subscriptions(1).map(|(bytes, _)| bytes).collect();
    assert_eq!(again, said);
    // Each answer is for the subscription that it is of, once, and gives what it gave.
    let hear = |user: &mut User, text: &str| user.hear(&scenario, 1, text.as_bytes(), then);
    assert_eq!(hear(&mut user, r#"{"op":"subscribed","game":1}"#), Heard::Again);
    assert_eq!(hear(&mut user, r#"{"op":"subscribed","game":1}"#), Heard::Unmatched);
    assert_eq!(hear(&mut user, r#"{"op":"subscribed","game":0,"seq":77}"#), Heard::Again);
    assert_eq!(user.take_subscribed().len(), 2, "what came before is none of his");
    user.next(&scenario, then, &mut Vec::new());
    assert_eq!(user.said(), b"77", "his counter is as it was, and what he takes is new");
    user.has_said(&scenario, then, 1_000 * MS);
    let next = user.next(&scenario, then, &mut Vec::new());
    assert_eq!(next, Next::Close { channel: 1, code: 1000 });
    assert_eq!(user.loses(&scenario, 1, 0, then), None, "he wanted it closed");
    assert_eq!(user.subscriptions(1).count(), 0);
}
