//! The money line: whatever comes twice, at once, too late, or not to its end, no money is made or
//! lost.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::client::Http;
use crate::program::{pause, wait_for};
use crate::stores::Stores;

#[test]
fn a_prediction_is_confirmed_and_told_to_who_subscribed() {
    let test = "a_prediction_is_confirmed_and_told_to_who_subscribed";
    let Some(stores) = Stores::start(test) else { return };
    let market = stores.market(&[]);
    let game = market.game();
    let pool = market.pool(game, "10m");
    let (ann, bob) = (market.user("Ann"), market.user("Bob"));
    let mut looks = market.http.socket(&bob.1);
    let answer = looks.ask(&json!({"op": "subscribe", "game": game, "n": 1}));
    assert_eq!(answer, json!({"op": "subscribed", "n": 1, "game": game, "seq": 0}));
    let mut plays = market.http.socket(&ann.1);
    let games = plays.ask(&json!({"op": "games"}));
    assert_eq!(games["games"], json!([{"game": game, "name": "A – B", "state": "open"}]));
    let answer = plays.predict(pool, 1, 700, 12);
    assert_eq!(answer, json!({"op": "ok", "n": 12, "balance": 99_300}));
    let told = looks.pushed();
    let at: u64 = told["at"].as_str().unwrap().parse().unwrap();
    assert!(at > 1_700_000_000_000_000_000, "{told}");
    let expected = json!({"op": "distribution", "game": game, "pool": pool, "seq": 1,
        "at": told["at"], "skipped": 0, "shares": [0, 700]});
    assert_eq!(told, expected);
    let pools = plays.ask(&json!({"op": "pools", "game": game}));
    let one = &pools["pools"][0];
    assert_eq!((&one["shares"], &one["state"]), (&json!([0, 700]), &json!("open")), "{pools}");
    assert_eq!((&one["question"], &one["outcomes"]), (&json!("Who wins?"), &json!(["A", "B"])));
    let path = format!("/users/{}/predictions", ann.0);
    let (_, own) = market.http.ask("GET", &path, Some(&ann.1), &Value::Null);
    let own = &own["predictions"][0];
    assert_eq!((&own["stake"], &own["n"], &own["payout"]), (&json!(700), &json!(12), &Value::Null));
    let ledger = market.assert_money_line();
    assert_eq!((&ledger["staked"], &ledger["house"]), (&json!(700), &json!(0)));
}

#[test]
fn the_same_number_stakes_once_and_gets_the_same_answer() {
    let test = "the_same_number_stakes_once_and_gets_the_same_answer";
    let Some(stores) = Stores::start(test) else { return };
    let (one, two) = (stores.market(&[]), stores.market(&[]));
    let pool = one.pool(one.game(), "2s");
    let ann = one.user("Ann");
    let mut sockets = [one.http.socket(&ann.1), two.http.socket(&ann.1)];
    let first = sockets[0].predict(pool, 0, 1_000, 5);
    assert_eq!(first, json!({"op": "ok", "n": 5, "balance": 99_000}));
    let refused = sockets[0].predict(pool, 0, 99_001, 6);
    assert_eq!(refused, json!({"op": "refused", "n": 6, "reason": "funds"}));
    for (stake, n, reason) in [(0, 7, "stake"), (-5, 8, "stake"), (1_000_000_001, 9, "stake")] {
        assert_eq!(sockets[0].predict(pool, 0, stake, n)["reason"], reason);
    }
    assert_eq!(sockets[0].predict(pool, 2, 5, 10)["reason"], "unknown");
    assert_eq!(sockets[0].predict(pool + 1, 0, 5, 11)["reason"], "unknown");
    // Elsewhere, otherwise, over the other way, and too late: the answer stands.
    assert_eq!(sockets[1].predict(pool, 1, 50, 5), first);
    assert_eq!(sockets[1].predict(pool, 0, 10, 6), refused);
    pause(2_100);
    let path = format!("/users/{}/predictions", ann.0);
    let again = json!({"pool": pool, "outcome": 0, "stake": 1_000, "n": 5});
    assert_eq!(two.http.ask("POST", &path, Some(&ann.1), &again), (200, first));
    let late = sockets[1].predict(pool, 0, 10, 12);
    assert_eq!(late, json!({"op": "refused", "n": 12, "reason": "closed"}));
    // Many at once, at two processes.
    let pool = one.pool(one.game(), "10m");
    let answers: Vec<Value> = std::thread::scope(|scope| {
        let ask = |http: Http| {
            let (token, path) = (&ann.1, &path);
            let body = json!({"pool": pool, "outcome": 0, "stake": 100, "n": 99});
            scope.spawn(move || http.ask("POST", path, Some(token), &body).1)
        };
        let all: Vec<_> =
            (0..12).map(|turn| ask(if turn % 2 == 0 { one.http } else { two.http })).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let expected = json!({"op": "ok", "n": 99, "balance": 98_900});
    assert!(answers.iter().all(|answer| *answer == expected), "{answers:?}");
    assert_eq!(one.assert_money_line()["staked"], 1_100);
}

#[test]
fn a_pool_pays_once_however_often_and_wherever_it_is_resolved() {
    let test = "a_pool_pays_once_however_often_and_wherever_it_is_resolved";
    let Some(stores) = Stores::start(test) else { return };
    let (one, two) = (stores.market(&["--rake", "10%"]), stores.market(&["--rake", "10%"]));
    let game = one.game();
    let pool = one.pool(game, "10m");
    let users = ["Ann", "Bob", "Cyd"].map(|name| one.user(name));
    let mut sockets = users.each_ref().map(|user| two.http.socket(&user.1));
    for socket in &mut sockets {
        socket.ask(&json!({"op": "subscribe", "game": game}));
    }
    for (socket, (outcome, stake)) in sockets.iter_mut().zip([(0, 100), (0, 200), (1, 301)]) {
        assert_eq!(socket.predict(pool, outcome, stake, 1)["op"], "ok");
    }
    let resolve = format!("/admin/pools/{pool}/resolve");
    let ask =
        |http: Http, body: &Value| http.ask("POST", &resolve, Some(crate::stores::ADMIN), body);
    assert_eq!(ask(one.http, &json!({"outcome": 0})).0, 409, "it still takes stakes");
    one.admin("POST", &format!("/admin/pools/{pool}/close"), &Value::Null);
    assert_eq!(sockets[0].predict(pool, 0, 5, 2)["reason"], "closed");
    assert_eq!(ask(one.http, &json!({"outcome": 2})).0, 404);
    std::thread::scope(|scope| {
        for turn in 0..8 {
            let http = if turn % 2 == 0 { one.http } else { two.http };
            scope.spawn(move || {
                let expected = json!({"pool": pool, "state": "resolved", "outcome": 0});
                assert_eq!(ask(http, &json!({"outcome": 0})), (200, expected));
            });
        }
    });
    assert_eq!(ask(two.http, &json!({"outcome": 1})).0, 409);
    assert_eq!(ask(two.http, &json!({"void": true})).0, 409);
    // 601 less 60 are 541: a third is 180, two thirds are 360, and a cent is left.
    let balances = users.each_ref().map(|user| one.balance(user));
    assert_eq!(balances, [100_080, 100_160, 99_699]);
    let ledger = one.assert_money_line();
    assert_eq!((&ledger["staked"], &ledger["house"]), (&json!(0), &json!(61)));
    for (socket, payout) in sockets.iter_mut().zip([180, 360, 0]) {
        let told = loop {
            let told = socket.pushed();
            if told["op"] != "distribution" {
                break told;
            }
        };
        let expected = json!({"op": "resolved", "pool": pool, "outcome": 0, "payout": payout});
        assert_eq!(told, expected);
    }
    // Nobody right, or void: everybody has the stake back.
    for verdict in [json!({"outcome": 1}), json!({"void": true})] {
        let pool = one.pool(game, "10m");
        assert_eq!(sockets[2].predict(pool, 0, 9_699, pool)["op"], "ok");
        one.admin("POST", &format!("/admin/pools/{pool}/close"), &Value::Null);
        let answer = one.admin("POST", &format!("/admin/pools/{pool}/resolve"), &verdict);
        assert_eq!(answer["state"], "void");
        assert_eq!(one.balance(&users[2]), 99_699);
        one.assert_money_line();
    }
}

/// What a user was told, by number.
type Confirmed = Mutex<Vec<(u64, Value)>>;

/// Places predictions until told to stop, each again until it is confirmed, some of them twice.
fn stakes(addresses: &[Http], token: &str, pools: &[u64], told: &Confirmed, stop: &AtomicBool) {
    let mut n = 0;
    let mut at = 0;
    while !stop.load(Ordering::Relaxed) {
        n += 1;
        let pool = pools[usize::try_from(n).unwrap() % pools.len()];
        let message = json!({"op": "predict", "pool": pool, "outcome": n % 2, "stake": n, "n": n});
        for turn in 0.. {
            // Whoever answers: the one that was killed does not.
            let http = addresses[at % addresses.len()];
            let Ok(stream) = std::net::TcpStream::connect(http.address) else {
                at += 1;
                pause(5);
                continue;
            };
            let answer =
                http.try_socket(stream, token).and_then(|mut it| it.try_ask(&message).ok());
            match answer {
                Some(answer) if answer["op"] != "error" => {
                    told.lock().unwrap().push((n, answer));
                    // A twentieth is sent again, by another process.
                    if turn > 0 || n % 20 != 0 {
                        break;
                    }
                    at += 1;
                }
                _ => at += 1,
            }
        }
    }
}

#[test]
fn the_money_line_holds_over_kills_with_four_processes_and_a_late_replica() {
    let test = "the_money_line_holds_over_kills_with_four_processes_and_a_late_replica";
    let Some(stores) = Stores::start(test) else { return };
    // Lists and balances are read where they are late by two seconds.
    let replica = stores.replica(test, 2);
    let switches = ["--database-replica", &replica.url];
    let all: Vec<_> = (0..4).map(|_| stores.market(&switches)).collect();
    let status = |(user, token): &(u64, String)| {
        all[0].http.ask("GET", &format!("/users/{user}"), Some(token), &Value::Null).0
    };
    for (name, at_once) in [("Ann", [404, 503]), ("Bob", [404, 404])] {
        // Before the first of them, the replica has not even the tables.
        let user = all[0].user(name);
        assert!(at_once.contains(&status(&user)), "the replica knows {name} at once");
        wait_for("the replica", || (status(&user) == 200).then_some(()));
    }
    let users: Vec<_> = (0..6).map(|user| all[0].user(&format!("user {user}"))).collect();
    let game = all[0].game();
    let pools = [(); 3].map(|()| all[0].pool(game, "10m"));
    let addresses: Vec<Http> = all.iter().map(|market| market.http).collect();
    let told: Vec<Confirmed> = users.iter().map(|_| Mutex::default()).collect();
    let stop = AtomicBool::new(false);
    let placed = || told.iter().map(|told| told.lock().unwrap().len()).sum::<usize>();
    std::thread::scope(|scope| {
        for (user, told) in users.iter().zip(&told) {
            let (addresses, stop) = (&addresses, &stop);
            scope.spawn(move || stakes(addresses, &user.1, &pools, told, stop));
        }
        for step in 1..=3_usize {
            let until = placed() + 150;
            wait_for("predictions", || (placed() > until).then_some(()));
            // In the midst of it one is killed, and a pool ends, asked for twice.
            all[step].going.signal(Signal::KILL);
            let pool = pools[step - 1];
            all[0].admin("POST", &format!("/admin/pools/{pool}/close"), &Value::Null);
            for _ in 0..2 {
                let path = format!("/admin/pools/{pool}/resolve");
                all[0].admin("POST", &path, &json!({"outcome": step % 2}));
            }
            all[0].assert_money_line();
        }
        stop.store(true, Ordering::Relaxed);
    });
    let ledger = all[0].assert_money_line();
    assert_eq!(ledger["staked"], 0, "{ledger}");
    let each: Vec<usize> = told.iter().map(|told| told.lock().unwrap().len()).collect();
    assert!(each.iter().all(|told| *told > 0) && each.iter().sum::<usize>() > 450, "{each:?}");
    for (user, told) in users.iter().zip(&told) {
        let told = told.lock().unwrap();
        for (n, answer) in told.iter() {
            // What was confirmed is there once, and as it was confirmed.
            let row = stores.sql(&format!(
                "SELECT COALESCE(refused, 'ok'), IF(refused IS NULL, balance, 0) FROM predictions \
                 WHERE user = {} AND n = {n}",
                user.0
            ));
            let word = answer["reason"].as_str().unwrap_or("ok");
            let balance = answer["balance"].as_i64().unwrap_or_default();
            assert_eq!(row, format!("{word}\t{balance}"), "{answer}");
        }
    }
}
