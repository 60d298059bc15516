//! Users who speak over WebSockets, walked through without a socket.

use std::io;
use std::path::Path;

use plimsoll_plan::{Environment, WrittenScenario, read_scenario};
use plimsoll_workload::request::Url;
use plimsoll_workload::scenario::{Counted, End, FailureKind, Heard, Next, Now, Scenario, User};

const SECOND: u64 = 1_000_000_000;

fn read(text: &str) -> Scenario {
    let open = |_: &Path| Err(io::Error::from(io::ErrorKind::NotFound));
    let environment = Environment::Unread;
    let (origin, open) = ("s.toml", &open as &dyn Fn(&Path) -> io::Result<Vec<u8>>);
    let scenario =
        read_scenario(&WrittenScenario { text, origin, environment, places: None, open });
    scenario.unwrap().at(&Url::parse("ws://game.example/").unwrap(), 1)
}

fn at(s: u64) -> Now {
    Now { ns: s * SECOND, unix_ns: s * SECOND }
}

/// What a user says next, which is sent at once.
fn says(user: &mut User, scenario: &Scenario, s: u64) -> String {
    let next = user.next(scenario, at(s), &mut Vec::new());
    assert!(matches!(next, Next::Say { sends: true, .. }), "{next:?}");
    let said = String::from_utf8(user.said().to_vec()).unwrap();
    user.has_said(scenario, at(s), 10 * SECOND);
    said
}

#[test]
fn several_messages_are_met_in_any_order_each_by_one_of_its_own() {
    let scenario = read(
        r#"
[[step]]
connect = "/ws"
[[step]]
name = "predict"
send = '{"op":"predict","n":{{counter}}}'
expect = [
  { json = { "/op" = "ok", "/n" = "{{sent:/n}}" }, within = "5s",
    take.balance = { json = "/balance" } },
  { name = "shares", json = { "/op" = "shares" }, count = 2 },
]
[[step]]
send = "{{balance}}"
[[step]]
close = true
[[on_message]]
name = "news"
when = { json = { "/op" = "shares" } }
broadcast = { published_ns = "/at", sequence = "/seq" }
"#,
    );
    assert_eq!(scenario.origins()[0].scheme.name, "http", "a handshake is asked over HTTP");
    let mut user = User::new(&scenario, 0, 0).unwrap();
    let next = user.next(&scenario, at(0), &mut Vec::new());
    assert!(matches!(next, Next::Ask(_)) && user.message().lane().channel == 1, "{next:?}");
    let headers = plimsoll_workload::scenario::take::Headers(&[]);
    let opened =
        plimsoll_workload::scenario::Received { status: 101, headers, body: b"", is_whole: true };
    user.answered(&scenario, &opened, 1, at(0), &mut Vec::new());
    assert_eq!(says(&mut user, &scenario, 1), r#"{"op":"predict","n":0}"#);
    assert_eq!(user.deadline(&scenario, 10 * SECOND), Some(6 * SECOND), "the sooner of the two");
    let hear = |user: &mut User, text: &str| user.hear(&scenario, 1, text.as_bytes(), at(2));
    let shares = r#"{"op":"shares","at":"1999999999","seq":4}"#;
    let counted = |of: Option<Counted>| of.and_then(|of| of.published?.sequence);
    // What a step takes counts for the rule that is for it, too.
    let Heard::Expected { name: Some(_), is_last: false, rule } = hear(&mut user, shares) else {
        panic!("it was expected");
    };
    assert_eq!(counted(rule), Some(4));
    assert_eq!(hear(&mut user, r#"{"op":"ok","n":1}"#), Heard::Unmatched, "another's number");
    let ok = r#"{"op":"ok","n":0,"balance":7}"#;
    let heard = hear(&mut user, ok);
    let expected = Heard::Expected { name: None, is_last: false, rule: None };
    assert_eq!(heard, expected);
    assert_eq!(hear(&mut user, ok), Heard::Unmatched, "it is met already");
    assert_eq!(user.deadline(&scenario, 10 * SECOND), Some(11 * SECOND));
    assert!(matches!(hear(&mut user, shares), Heard::Expected { is_last: true, .. }));
    // The third is nobody's but the rule's.
    let heard = hear(&mut user, shares);
    let Heard::Ruled { of: Counted { published: Some(published), .. }, .. } = heard else {
        panic!("no rule was for it: {heard:?}");
    };
    assert_eq!((published.at_unix_ns, published.sequence), (Some(1_999_999_999), Some(4)));
    assert_eq!(says(&mut user, &scenario, 2), "7");
    let next = user.next(&scenario, at(3), &mut Vec::new());
    assert_eq!(next, Next::Close { channel: 1, code: 1000 });
    user.has_closed(at(3));
    assert_eq!(user.next(&scenario, at(3), &mut Vec::new()), Next::Done(End::Finished));
}

#[test]
fn what_does_not_come_in_time_is_unanswered_and_rules_answer_by_themselves() {
    let scenario = read(
        r#"
[[step]]
connect = "/ws"
[[step]]
name = "wait"
expect = [ { name = "start", contains = "go", within = "3s" } ]
on_failure = "go on"
[[step]]
send = "{{last or \"none\"}}"
[[on_message]]
when = { matches = "^ping (\\d+)$" }
take.last = { regex = "^ping (\\d+)$" }
send = "pong {{last}}"
close = 3001
"#,
    );
    let mut user = User::new(&scenario, 0, 0).unwrap();
    user.next(&scenario, at(0), &mut Vec::new());
    user.broke(&scenario, at(0));
    let ended = user.next(&scenario, at(0), &mut Vec::new());
    assert_eq!(ended, Next::Done(End::Failed), "a connection that fails ends its user");

    let mut user = User::new(&scenario, 0, 0).unwrap();
    user.next(&scenario, at(0), &mut Vec::new());
    let headers = plimsoll_workload::scenario::take::Headers(&[]);
    let opened =
        plimsoll_workload::scenario::Received { status: 101, headers, body: b"", is_whole: true };
    user.answered(&scenario, &opened, 1, at(1), &mut Vec::new());
    let next = user.next(&scenario, at(1), &mut Vec::new());
    assert!(matches!(next, Next::Say { sends: false, awaits: true, .. }), "{next:?}");
    assert_eq!(user.has_said(&scenario, at(1), 60 * SECOND), Some(4 * SECOND));
    let heard = user.hear(&scenario, 1, b"ping 12", at(2));
    assert!(matches!(heard, Heard::Ruled { has_reply: true, close: Some(3001), .. }), "{heard:?}");
    assert_eq!(user.reply(), b"pong 12");
    assert_eq!(user.hear(&scenario, 1, b"ping", at(2)), Heard::Unmatched);
    assert_eq!(user.unanswered(&scenario, at(3), 60 * SECOND), None);
    let failure = user.unanswered(&scenario, at(4), 60 * SECOND).unwrap();
    assert_eq!(failure.kind, FailureKind::Unanswered);
    assert!(failure.what.contains("`start` within 3 s"), "{}", failure.what);
    user.broke(&scenario, at(4));
    assert_eq!(says(&mut user, &scenario, 4), "12", "he goes on");
}

#[test]
fn what_a_user_says_hangs_on_no_other() {
    let text = r#"
[[step]]
connect = "/ws"
on_failure = "go on"
[[step]]
loop = 20
steps = [ { send = '{{user}} {{counter}} {{random:1..1000000}} {{uuid}}' } ]
"#;
    let all = |number: u64| {
        let scenario = read(text);
        let mut user = User::new(&scenario, number, 0).unwrap();
        user.next(&scenario, at(0), &mut Vec::new());
        user.broke(&scenario, at(0));
        (0..20).map(|_| says(&mut user, &scenario, 1)).collect::<Vec<_>>()
    };
    assert_eq!(all(7), all(7));
    assert_ne!(all(7)[0][2..], all(8)[0][2..]);
    assert_ne!(all(7)[0][4..], all(7)[1][4..], "each draw is another");
}
