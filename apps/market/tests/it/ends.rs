//! Games that play themselves, and what a process leaves that is killed while it plays them.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::program::wait_for;
use crate::stores::{Market, Stores};

fn count(stores: &Stores, sql: &str) -> u64 {
    stores.sql(&format!("SELECT COUNT(*) FROM {sql}")).parse().unwrap()
}

#[test]
fn the_feed_plays_and_what_a_kill_leaves_is_given_back() {
    let test = "the_feed_plays_and_what_a_kill_leaves_is_given_back";
    let Some(stores) = Stores::start(test) else { return };
    let feed = ["--feed", "7", "--match-time", "3s"];
    let mut plays = stores.market(&feed);
    let serves = stores.market(&[]);
    let user = serves.user("Ann");
    let mut socket = serves.http.socket(&user.1);
    wait_for("two matches", || {
        stake_on_all(&stores, &serves, &mut socket);
        (count(&stores, "games WHERE state = 'ended'") >= 2).then_some(())
    });
    let resolved = count(&stores, "pools WHERE state = 'resolved'");
    assert!(resolved > 0, "no pool had an outcome that anybody staked on");
    serves.assert_money_line();
    let open = || (count(&stores, "pools WHERE state = 'open'") > 0).then_some(());
    wait_for("an open pool", open);
    stake_on_all(&stores, &serves, &mut socket);
    plays.going.signal(Signal::KILL);
    plays.going.ended();
    let game = stores.sql("SELECT MAX(id) FROM games");
    let _plays = stores.market(&feed);
    let done = || (count(&stores, &format!("games WHERE id > {game}")) > 0).then_some(());
    wait_for("the next match", done);
    let left = format!("pools WHERE game = {game} AND state IN ('open', 'closed')");
    assert_eq!(count(&stores, &left), 0);
    serves.assert_money_line();
}

/// Stakes on each outcome of each pool that is open, once a pool.
fn stake_on_all(stores: &Stores, market: &Market, socket: &mut crate::client::Socket) {
    let open = stores.sql("SELECT id FROM pools WHERE state = 'open'");
    for pool in open.lines().map(|pool| pool.parse::<u64>().unwrap()) {
        for outcome in 0..3 {
            let answer = socket.predict(pool, outcome, 10, pool * 10 + u64::from(outcome));
            assert_ne!(answer["op"], "error", "{answer}");
        }
    }
    assert_eq!(market.http.ask("GET", "/games", None, &Value::Null).0, 200);
    assert_eq!(socket.ask(&json!({"op": "games"}))["op"], "games");
}
