//! Who is told of predictions, how often, and what of those who do not read.

use std::collections::BTreeMap;
use std::net::TcpStream;

use rustix::net::sockopt::set_socket_recv_buffer_size;
use rustix::net::{AddressFamily, SocketType, connect, socket};
use serde_json::json;

use crate::program::wait_for;
use crate::stores::Stores;

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
