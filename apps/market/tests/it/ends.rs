//! Games that play themselves, what a process leaves that is killed while it plays them, and what
//! the stores of the manual leave.

use std::net::TcpStream;
use std::process::Command;

use plimsoll_testing::{free_address, installed};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::client::Http;
use crate::program::{Running, listening, wait_for};
use crate::stores::{Market, Stores};

/// What the manual starts a market with.
#[test]
fn the_stores_of_the_manual_start_and_leave_nothing_when_they_end() {
    let test = "the_stores_of_the_manual_start_and_leave_nothing_when_they_end";
    if installed(test, "mariadbd").is_none() || installed(test, "redis-server").is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let ports = [free_address(), free_address()];
    let mut command = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/stores.sh"));
    command.arg(folder.path()).args(ports.map(|address| address.port().to_string()));
    let (mut stores, told) = Running::telling(&mut command);
    let mut command = Command::new(env!("CARGO_BIN_EXE_market"));
    command.args(["--listen", "127.0.0.1:0"]).args(told.split_whitespace());
    let (market, address) = listening(&mut command);
    let games = Http { address }.ask("GET", "/games", None, &Value::Null);
    assert_eq!(games, (200, json!({"games": []})), "{told}");
    drop(market);
    stores.signal(Signal::TERM);
    assert!(stores.ended().success());
    for address in ports {
        assert!(TcpStream::connect(address).is_err(), "{address} still answers");
    }
}

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
