//! The switches: each changes what it is for, and nothing of the money.

use serde_json::{Value, json};

use crate::program::wait_for;
use crate::stores::{Market, Stores};

#[test]
fn workers_that_block_or_not_serve_the_same_market() {
    let test = "workers_that_block_or_not_serve_the_same_market";
    let Some(stores) = Stores::start(test) else { return };
    let switches: [&[&str]; 3] = [
        &["--db", "blocking", "--workers", "2"],
        &["--workers", "4", "--db-connections", "2"],
        &["--batch-check", "split"],
    ];
    let all = switches.map(|more| stores.market(more));
    let game = all[0].game();
    let pool = all[0].pool(game, "10m");
    let mut looking = all.each_ref().map(|market| {
        let mut socket = market.http.socket(&market.user("looks").1);
        socket.ask(&json!({"op": "subscribe", "game": game}));
        socket
    });
    std::thread::scope(|scope| {
        for (number, market) in all.iter().enumerate() {
            for user in 0..4 {
                scope.spawn(move || {
                    let user = market.user(&format!("user {number} {user}"));
                    let mut socket = market.http.socket(&user.1);
                    for n in 1..=10 {
                        let answer = socket.predict(pool, 0, 10, n);
                        let balance = 100_000 - 10 * i64::try_from(n).unwrap();
                        assert_eq!(answer, json!({"op": "ok", "n": n, "balance": balance}));
                    }
                });
            }
        }
    });
    for socket in &mut looking {
        // The last of them has all, whoever told it.
        while socket.pushed()["shares"] != json!([1_200, 0]) {}
    }
    assert_eq!(all[1].assert_money_line()["staked"], 1_200);
    for market in &all {
        assert_eq!(market.figure("market_predictions_placed_total"), 40);
        let calls = "market_database_seconds_count{operation=\"predict\"}";
        assert_eq!(market.figure(calls), 40);
    }
}

#[test]
fn lists_are_read_from_the_replica_and_money_is_not() {
    let test = "lists_are_read_from_the_replica_and_money_is_not";
    let Some(stores) = Stores::start(test) else { return };
    // A replica that has stopped long ago, with another game.
    let replica = stores.another_database();
    let elsewhere = stores.market_of(&replica.url(), &[]);
    drop(elsewhere);
    let market = stores.market(&["--database-replica", &replica.url()]);
    let game = market.game();
    let pool = market.pool(game, "10m");
    let user = market.user("Ann");
    let games = market.http.ask("GET", "/games", None, &Value::Null).1;
    assert_eq!(games["games"], json!([]), "the replica has none");
    let mut socket = market.http.socket(&user.1);
    assert_eq!(socket.predict(pool, 0, 10, 1)["op"], "ok");
    assert_eq!(socket.predict(pool, 0, 10, 1)["balance"], 99_990);
    let path = format!("/users/{}", user.0);
    assert_eq!(market.http.ask("GET", &path, Some(&user.1), &Value::Null).0, 404);
    assert_eq!(market.assert_money_line()["staked"], 10);
}

#[test]
fn broadcasts_come_through_a_replica_of_redis() {
    let test = "broadcasts_come_through_a_replica_of_redis";
    let Some(stores) = Stores::start(test) else { return };
    let (replica, url) = stores.redis_replica(test);
    let (near, far) = (stores.market(&[]), stores.market(&["--redis-replica", &url]));
    let game = near.game();
    let pool = near.pool(game, "10m");
    let (ann, bob) = (near.user("Ann"), far.user("Bob"));
    let mut looks = far.http.socket(&ann.1);
    looks.ask(&json!({"op": "subscribe", "game": game}));
    // Whoever is at the replica writes where the other does.
    assert_eq!(far.http.socket(&bob.1).predict(pool, 1, 30, 1)["op"], "ok");
    assert_eq!(looks.pushed()["shares"], json!([0, 30]));
    let told = |market: &Market| market.figure("market_broadcasts_total") == 1;
    wait_for("both to be told", || (told(&near) && told(&far)).then_some(()));
    // Without it the others go on, and money does not need it.
    drop(replica);
    assert_eq!(near.http.socket(&ann.1).predict(pool, 1, 30, 1)["op"], "ok");
    assert_eq!(looks.predict(pool, 1, 30, 2)["op"], "ok");
    assert_eq!(near.assert_money_line()["staked"], 90);
}

#[test]
fn connections_to_the_database_are_kept() {
    let Some(stores) = Stores::start("connections_to_the_database_are_kept") else { return };
    let market = stores.market(&["--db-connections", "2"]);
    let pool = market.pool(market.game(), "10m");
    let mut socket = market.http.socket(&market.user("Ann").1);
    assert_eq!(socket.predict(pool, 0, 10, 1)["op"], "ok");
    let ids = || {
        let sql = "SELECT id FROM information_schema.processlist \
                   WHERE user <> 'root' AND db = DATABASE() ORDER BY id";
        stores.sql(sql)
    };
    let before = ids();
    for n in 2..50 {
        assert_eq!(socket.predict(pool, 0, 10, n)["op"], "ok");
    }
    assert!((2..=6).contains(&before.lines().count()), "{before}");
    assert_eq!(ids(), before);
}

#[test]
fn a_list_with_predictions_grows_by_each() {
    let Some(stores) = Stores::start("a_list_with_predictions_grows_by_each") else { return };
    let market = stores.market(&["--list-predictions", "on"]);
    let game = market.game();
    let pool = market.pool(game, "10m");
    let (ann, bob) = (market.user("Ann"), market.user("Bob"));
    let mut socket = market.http.socket(&ann.1);
    let mut list = || socket.ask(&json!({"op": "pools", "game": game}));
    assert_eq!(list()["pools"][0]["predictions"], json!([]));
    let mut sizes = Vec::new();
    for n in 1_000..1_020 {
        socket.predict(pool, 0, 100, n);
        let list = socket.ask(&json!({"op": "pools", "game": game}));
        sizes.push(list["pools"][0]["predictions"].to_string().len());
    }
    let each = (sizes[19] - sizes[9]) / 10;
    assert!((128..=140).contains(&each), "{each} bytes a prediction");
    // Only his own.
    let mut socket = market.http.socket(&bob.1);
    let list = socket.ask(&json!({"op": "pools", "game": game}));
    assert_eq!(list["pools"][0]["predictions"], json!([]));
}
