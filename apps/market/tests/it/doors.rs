//! Who may do what: users, strangers, the administrator; and the bounds of what is taken.

use std::net::TcpStream;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::program::unix_ns;
use crate::stores::{ADMIN, Stores};

#[test]
fn a_user_sees_and_stakes_only_his_own_money() {
    let Some(stores) = Stores::start("a_user_sees_and_stakes_only_his_own_money") else { return };
    let market = stores.market(&[]);
    let (ann, bob) = (market.user("Ann"), market.user("Bob"));
    assert_eq!((market.balance(&ann), market.balance(&bob)), (100_000, 100_000));
    let pool = market.pool(market.game(), "10m");
    let stake = json!({"pool": pool, "outcome": 0, "stake": 500, "n": 1});
    let his = format!("/users/{}/predictions", bob.0);
    // For another user, by nobody's token, by none.
    let wrong = [(Some(ann.1.as_str()), 403), (Some("0123456789abcdef"), 401), (None, 401)];
    for (token, expected) in wrong {
        for (method, body) in [("POST", &stake), ("GET", &Value::Null)] {
            let (status, answer) = market.http.ask(method, &his, token, body);
            assert_eq!(status, expected, "{method} by {token:?}: {answer}");
        }
        let account = format!("/users/{}", bob.0);
        assert_eq!(market.http.ask("GET", &account, token, &Value::Null).0, expected);
    }
    // Over WebSocket a prediction has no user but the connection's.
    let mut socket = market.http.socket(&ann.1);
    let mut for_bob = json!({"op": "predict", "user": bob.0, "n": 7});
    for (key, value) in stake.as_object().unwrap() {
        for_bob[key] = value.clone();
    }
    let answer = socket.ask(&for_bob);
    assert_eq!((&answer["op"], &answer["n"]), (&json!("error"), &json!(1)), "{answer}");
    // Nor does a connection change its user.
    let other = socket.ask(&json!({"op": "hello", "token": bob.1}));
    assert_eq!(other["op"], "error", "{other}");
    assert_eq!(socket.next(), Err(1008));
    assert_eq!((market.balance(&ann), market.balance(&bob)), (100_000, 100_000));
    let (_, answer) = market.http.ask("POST", &his, Some(&bob.1), &stake);
    assert_eq!(answer, json!({"op": "ok", "n": 1, "balance": 99_500}));
    assert_eq!(market.balance(&ann), 100_000);
    market.assert_money_line();
}

#[test]
fn a_stranger_has_no_connection() {
    let Some(stores) = Stores::start("a_stranger_has_no_connection") else { return };
    let market = stores.market(&[]);
    let connect = || TcpStream::connect(market.http.address).unwrap();
    assert_eq!(market.http.socket_on(connect(), Some("nobody's")).err(), Some(401));
    let mut socket = market.http.socket_on(connect(), None).unwrap();
    // What it is o'clock everybody may know.
    let before = unix_ns();
    let told = socket.ask(&json!({"op": "time", "n": 2}));
    let at: u64 = told["at"].as_str().unwrap().parse().unwrap();
    assert_eq!((&told["op"], &told["n"]), (&json!("time"), &json!(2)), "{told}");
    assert!((before - 1_000..=unix_ns()).contains(&at), "{told} behind {before}");
    assert_eq!(socket.ask(&json!({"op": "games", "n": 3}))["op"], "error");
    assert_eq!(socket.next(), Err(1008));
    let mut socket = market.http.socket_on(connect(), None).unwrap();
    assert_eq!(socket.ask(&json!({"op": "hello", "token": "nobody's"}))["op"], "error");
    assert_eq!(socket.next(), Err(1008));
    // By the header nothing needs to be said.
    let (_, token) = market.user("Ann");
    let mut socket = market.http.socket_on(connect(), Some(&token)).unwrap();
    let answer = socket.ask(&json!({"op": "games", "n": 3}));
    assert_eq!(answer, json!({"op": "games", "n": 3, "games": []}));
}

#[test]
fn the_administrator_has_a_token_or_there_is_none() {
    let test = "the_administrator_has_a_token_or_there_is_none";
    let Some(stores) = Stores::start(test) else { return };
    let with = stores.market(&[]);
    let game = with.game();
    let pool = with.pool(game, "10m");
    let database = stores.another_database();
    let without = stores.market_of(&database.url(), &[]);
    let (_, user) = with.user("Ann");
    let calls = [
        ("POST", "/admin/games".to_owned(), json!({"name": "A – B"})),
        ("POST", format!("/admin/games/{game}/end"), Value::Null),
        ("POST", format!("/admin/pools/{pool}/close"), Value::Null),
        ("POST", format!("/admin/pools/{pool}/resolve"), json!({"outcome": 0})),
        ("POST", "/admin/reconnect".to_owned(), json!({"to": "ws://127.0.0.1/ws"})),
        ("GET", "/admin/ledger".to_owned(), Value::Null),
    ];
    for (method, path, body) in calls {
        for token in [None, Some(user.as_str()), Some("guessed-guessed-guessed")] {
            let (status, answer) = with.http.ask(method, &path, token, &body);
            assert_eq!(status, 401, "{path}: {answer}");
        }
        for token in [None, Some(ADMIN), Some("")] {
            let (status, answer) = without.http.ask(method, &path, token, &body);
            assert_eq!(status, 403, "{path}: {answer}");
        }
    }
    let state = stores.sql(&format!("SELECT state FROM pools WHERE id = {pool}"));
    assert_eq!(state, "open");
}

#[test]
fn what_is_taken_has_bounds() {
    let Some(stores) = Stores::start("what_is_taken_has_bounds") else { return };
    let market = stores.market(&[]);
    let post = |path: &str, body: &str| market.http.text("POST", path, Some(ADMIN), body).0;
    let name = |length| json!({"name": "ä".repeat(length)}).to_string();
    assert_eq!([post("/users", &name(0)), post("/users", &name(101))], [422, 422]);
    assert_eq!(post("/users", &name(100)), 201);
    assert_eq!(post("/users", "{\"name\":\"a\",\"balance\":5}"), 400);
    assert_eq!(post("/users", &json!({"name": "a".repeat(10_000)}).to_string()), 413);
    let game = market.game();
    let pools = format!("/admin/games/{game}/pools");
    let pool = |outcomes: usize, open_for: &str| {
        let outcomes: Vec<String> = (0..outcomes).map(|outcome| outcome.to_string()).collect();
        json!({"question": "?", "outcomes": outcomes, "open_for": open_for}).to_string()
    };
    for (outcomes, open_for) in [(1, "1m"), (17, "1m"), (2, "long"), (2, "9000h")] {
        assert_eq!(post(&pools, &pool(outcomes, open_for)), 422, "{outcomes} {open_for}");
    }
    assert_eq!(post("/admin/games/999/pools", &pool(2, "1m")), 404);
    assert_eq!(post(&pools, &pool(16, "1m")), 201);
    assert_eq!(post("/admin/reconnect", "{\"to\":\"http://elsewhere/\"}"), 422);
    // Too long a message ends the connection, one that is no JSON does not.
    let (_, token) = market.user("Ann");
    let mut socket = market.http.socket(&token);
    assert_eq!(socket.ask(&json!("what?"))["op"], "error");
    for number in 1..=64 {
        let answer = socket.ask(&json!({"op": "subscribe", "game": 1_000 + number}));
        assert_eq!(answer["op"], "subscribed");
    }
    assert_eq!(socket.ask(&json!({"op": "subscribe", "game": game}))["op"], "error");
    socket.ask(&json!({"op": "unsubscribe", "game": 1_001}));
    assert_eq!(socket.ask(&json!({"op": "subscribe", "game": game}))["op"], "subscribed");
    assert!(socket.try_ask(&json!({"op": "x".repeat(5_000)})).is_err());
}

#[test]
fn the_description_names_what_is_answered() {
    let Some(stores) = Stores::start("the_description_names_what_is_answered") else { return };
    let market = stores.market(&[]);
    let (status, page) = market.http.text("GET", "/", None, "");
    assert!(status == 200 && page.starts_with("<!doctype html>"), "{status} {page}");
    let (status, description) = market.http.ask("GET", "/openapi.json", None, &Value::Null);
    assert_eq!(status, 200);
    let mut operations = 0;
    for (path, of) in description["paths"].as_object().unwrap() {
        // No user, game or pool has this number, so nothing is done.
        let asked = ["{user}", "{game}", "{pool}"]
            .iter()
            .fold(path.clone(), |path, parameter| path.replace(parameter, "999"));
        for (method, operation) in of.as_object().unwrap() {
            let answered = market.http.ask(&method.to_uppercase(), &asked, None, &Value::Null);
            let told = operation["responses"].get(answered.0.to_string()).is_some();
            assert!(told || asked == "/ws", "{method} {asked}: {answered:?}");
            operations += 1;
        }
    }
    assert_eq!(operations, 16);
    assert_eq!(market.http.text("GET", "/nothing", None, "").0, 404);
    let figures = market.figure("market_requests_total");
    assert!(figures >= 18, "{figures}");
}

#[test]
fn a_process_that_ends_says_goodbye() {
    let Some(stores) = Stores::start("a_process_that_ends_says_goodbye") else { return };
    let mut market = stores.market(&["--workers", "2"]);
    let (_, token) = market.user("Ann");
    let mut sockets = [(); 3].map(|()| market.http.socket(&token));
    let elsewhere = json!({"to": "ws://127.0.0.1:9/ws"});
    market.admin("POST", "/admin/reconnect", &elsewhere);
    for socket in &mut sockets {
        let told = json!({"op": "reconnect", "to": "ws://127.0.0.1:9/ws"});
        assert_eq!(socket.pushed(), told);
    }
    market.going.signal(Signal::TERM);
    for socket in &mut sockets {
        assert_eq!(socket.next(), Err(1001));
    }
    let status = market.going.ended();
    assert!(status.success(), "{status}");
}

#[test]
fn what_keeps_it_from_starting_is_said() {
    let Some(stores) = Stores::start("what_keeps_it_from_starting_is_said") else { return };
    let short = stores.folder().join("short");
    std::fs::write(&short, "guess\n").unwrap();
    let says = |more: &[&str]| stores.refused(more);
    let token = short.display().to_string();
    assert!(says(&["--admin-token", &token]).contains("has 5 bytes: give it 16 to 1000"));
    assert!(says(&["--admin-token", "/nowhere"]).contains("cannot read the administrator's"));
    assert!(says(&["--rake", "101%"]).contains("--rake"));
    assert!(says(&["--database-replica", "nonsense"]).contains("a URL of a database is mysql://"));
}
