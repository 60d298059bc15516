//! Who is told of predictions, how often, and what of those who do not read.

use std::collections::BTreeMap;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::net::sockopt::set_socket_recv_buffer_size;
use rustix::net::{AddressFamily, SocketType, connect, socket};
use serde_json::{Value, json};

use crate::program::{now, wait_for};
use crate::stores::{Market, Stores};

/// Predictions of a user at a process, until told to stop.
fn predict_on(market: &Market, token: &str, pool: u64, stop: &AtomicBool) -> u64 {
    let mut socket = market.http.socket(token);
    let mut n = 0;
    while !stop.load(Ordering::Relaxed) {
        n += 1;
        assert_eq!(socket.predict(pool, 0, 1, n)["op"], "ok");
    }
    n
}

#[test]
fn a_game_is_told_of_once_in_three_seconds_and_to_all_over_four_processes() {
    let test = "a_game_is_told_of_once_in_three_seconds_and_to_all_over_four_processes";
    let Some(stores) = Stores::start(test) else { return };
    let all: Vec<_> = (0..4).map(|_| stores.market(&[])).collect();
    let game = all[0].game();
    let pool = all[0].pool(game, "10m");
    let stop = AtomicBool::new(false);
    let mut looking: Vec<_> = all
        .iter()
        .map(|market| {
            let mut socket = market.http.socket(&market.user("looks").1);
            socket.ask(&json!({"op": "subscribe", "game": game}));
            socket
        })
        .collect();
    let (staked, told) = std::thread::scope(|scope| {
        let placing: Vec<_> = all
            .iter()
            .map(|market| {
                let stop = &stop;
                let token = market.user("plays").1;
                scope.spawn(move || predict_on(market, &token, pool, stop))
            })
            .collect();
        let told: Vec<Vec<Value>> =
            looking.iter_mut().map(|socket| (0..4).map(|_| socket.pushed()).collect()).collect();
        stop.store(true, Ordering::Relaxed);
        let staked: u64 = placing.into_iter().map(|one| one.join().unwrap()).sum();
        (staked, told)
    });
    assert!(told.iter().all(|one| *one == told[0]), "{told:?}");
    let at = |one: &Value| one["at"].as_str().unwrap().parse::<u64>().unwrap();
    for pair in told[0].windows(2) {
        let gap = at(&pair[1]) - at(&pair[0]);
        assert!((3_000_000_000..3_500_000_000).contains(&gap), "{gap} ns between {pair:?}");
        assert_eq!(pair[1]["seq"].as_u64(), pair[0]["seq"].as_u64().map(|seq| seq + 1));
        assert_eq!(pair[1]["skipped"], 0);
    }
    // What came last is told when its window has passed, though nothing comes after it.
    let start = now();
    for socket in &mut looking {
        assert_eq!(socket.pushed()["shares"], json!([staked, 0]));
    }
    assert!(start.elapsed() < Duration::from_millis(3_500));
    assert!(staked > 200, "{staked} predictions are no load");
    // What is in Redis alone can be lost.
    let pools = all[3].http.ask("GET", &format!("/games/{game}/pools"), None, &Value::Null).1;
    assert_eq!(pools["pools"][0]["shares"], json!([staked, 0]));
}

#[test]
fn without_batches_there_are_as_many_broadcasts_as_predictions() {
    let test = "without_batches_there_are_as_many_broadcasts_as_predictions";
    let Some(stores) = Stores::start(test) else { return };
    let market = stores.market(&["--batching", "off"]);
    let game = market.game();
    let pools = [market.pool(game, "10m"), market.pool(game, "10m")];
    let mut looks = market.http.socket(&market.user("looks").1);
    looks.ask(&json!({"op": "subscribe", "game": game}));
    let mut plays = market.http.socket(&market.user("plays").1);
    let mut last = BTreeMap::new();
    for n in 1..=40_u64 {
        assert_eq!(plays.predict(pools[usize::from(n % 2 == 0)], 1, 10, n)["op"], "ok");
        let told = looks.pushed();
        assert_eq!((&told["seq"], &told["skipped"]), (&json!(n), &json!(0)));
        last.insert(told["pool"].as_u64().unwrap(), told["shares"].clone());
    }
    assert_eq!(last, BTreeMap::from(pools.map(|pool| (pool, json!([0, 200])))));
    // As fast as they come, too; a reader who is slower is told how many were left out.
    for n in 41..=80_u64 {
        assert_eq!(plays.predict(pools[0], 1, 10, n)["op"], "ok");
    }
    let mut seq = 40;
    while seq < 80 {
        let told = looks.pushed();
        seq += 1 + told["skipped"].as_u64().unwrap();
        assert_eq!(told["seq"], seq);
        assert_eq!(told["shares"], json!([0, 200 + (seq - 40) * 10]));
    }
    assert_eq!(market.figure("market_broadcasts_published_total"), 80);
}

#[test]
fn a_slow_reader_is_told_what_was_left_out() {
    let test = "a_slow_reader_is_told_what_was_left_out";
    let Some(stores) = Stores::start(test) else { return };
    let market = stores.market(&["--batching", "off"]);
    let game = market.game();
    let pool = market.pool(game, "10m");
    // Little fits on the way to it.
    let slow = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    set_socket_recv_buffer_size(&slow, 2_048).unwrap();
    connect(&slow, &market.http.address).unwrap();
    let token = market.user("slow").1;
    let mut slow = market.http.socket_on(TcpStream::from(slow), Some(&token)).unwrap();
    slow.ask(&json!({"op": "subscribe", "game": game}));
    let mut plays = market.http.socket(&market.user("plays").1);
    let mut placed = 0;
    let mut is_behind = false;
    while !is_behind {
        for _ in 0..250 {
            placed += 1;
            assert_eq!(plays.predict(pool, 0, 1, placed)["op"], "ok");
        }
        is_behind = market.figure("market_skips_total") > 50;
        assert!(placed < 50_000, "{placed} broadcasts wait for one client");
    }
    let mut skipped = 0;
    let mut seq = 0;
    while seq < placed {
        let told = slow.pushed();
        let left_out = told["skipped"].as_u64().unwrap();
        assert_eq!(told["seq"].as_u64(), Some(seq + left_out + 1), "{told}");
        seq += left_out + 1;
        skipped += left_out;
    }
    assert!(skipped > 50, "{skipped} were left out");
    let counted = || (market.figure("market_skips_total") == skipped).then_some(());
    wait_for("the figure of skips", counted);
}
