//! Tests that hold upper bounds of time, which a busy machine breaks: they run with the machine to
//! themselves.

mod distance;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::program::now;
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

/// The milliseconds between broadcasts of one game, while four processes are given predictions.
fn gaps(stores: &Stores, check: &str) -> Vec<u64> {
    let switches = ["--batch-check", check, "--window", "200ms"];
    let all: Vec<_> = (0..4).map(|_| stores.market(&switches)).collect();
    let game = all[0].game();
    let pool = all[0].pool(game, "10m");
    let mut looks = all[0].http.socket(&all[0].user("looks").1);
    looks.ask(&json!({"op": "subscribe", "game": game}));
    let stop = AtomicBool::new(false);
    let told: Vec<u64> = std::thread::scope(|scope| {
        for market in &all {
            let (stop, mut socket) = (&stop, market.http.socket(&market.user("plays").1));
            scope.spawn(move || {
                for n in 1.. {
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    assert_eq!(socket.predict(pool, 0, 1, n)["op"], "ok");
                }
            });
        }
        let mut at = || looks.pushed()["at"].as_str().unwrap().parse::<u64>().unwrap();
        let told = (0..40).map(|_| at() / 1_000_000).collect();
        stop.store(true, Ordering::Relaxed);
        told
    });
    told.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect()
}

#[test]
fn a_check_in_two_steps_lets_two_processes_tell_at_once() {
    let test = "a_check_in_two_steps_lets_two_processes_tell_at_once";
    let Some(stores) = Stores::start(test) else { return };
    let atomic = gaps(&stores, "atomic");
    assert!(atomic.iter().all(|gap| *gap >= 199), "{atomic:?}");
    let split = gaps(&stores, "split");
    assert!(split.iter().any(|gap| *gap < 100), "{split:?}");
}
