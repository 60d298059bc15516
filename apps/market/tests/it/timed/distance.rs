//! Stores that are far away: what waits for each answer, and what serves others meanwhile.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::program::{now, pause};
use crate::stores::{Market, Stores};

/// There and back, in milliseconds.
const ROUND_TRIP: u64 = 20;

/// The round trips of a prediction: begin, pool, balance, row, commit.
const TRIPS: u64 = 5;

/// Users who predict at the same time.
const USERS: u64 = 8;

/// An address at which `to` answers later. What is sent is never more than a question or an answer,
/// so each is held back by itself.
fn far(to: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let carry = |mut from: TcpStream, mut to: TcpStream| {
        let mut bytes = [0; 16 << 10];
        while let Ok(count @ 1..) = from.read(&mut bytes) {
            pause(ROUND_TRIP / 2);
            if to.write_all(&bytes[..count]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(std::net::Shutdown::Both);
    };
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let Ok(server) = TcpStream::connect(to) else { return };
            for end in [&client, &server] {
                end.set_nodelay(true).unwrap();
            }
            let (back, forth) = (server.try_clone().unwrap(), client.try_clone().unwrap());
            std::thread::spawn(move || carry(client, server));
            std::thread::spawn(move || carry(back, forth));
        }
    });
    address
}

/// Predictions in a second, of all users.
fn rate(market: &Market) -> f64 {
    let pool = market.pool(market.game(), "10m");
    let (count, ready) = (AtomicU64::new(0), Barrier::new(usize::try_from(USERS).unwrap()));
    let long = Duration::from_secs(4);
    std::thread::scope(|scope| {
        for user in 0..USERS {
            let (count, ready, token) = (&count, &ready, market.user(&format!("user {user}")).1);
            scope.spawn(move || {
                let mut socket = market.http.socket(&token);
                // Connections and statements are made ready by the first ones.
                for n in 0..2 {
                    assert_eq!(socket.predict(pool, 0, 1, n)["op"], "ok");
                }
                ready.wait();
                let start = now();
                for n in 2.. {
                    assert_eq!(socket.predict(pool, 0, 1, n)["op"], "ok");
                    if start.elapsed() > long {
                        break;
                    }
                    count.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    f64::from(u32::try_from(count.load(Ordering::Relaxed)).unwrap()) / long.as_secs_f64()
}

#[test]
fn a_worker_that_blocks_takes_what_its_round_trips_allow() {
    let test = "a_worker_that_blocks_takes_what_its_round_trips_allow";
    let Some(stores) = Stores::start(test) else { return };
    let database = stores.url_through(far(stores.mariadb()));
    let admin = stores.folder().join("admin").display().to_string();
    let of = |switches: &[&str]| {
        let market = stores.market_of(&database, &[&["--admin-token", &admin], switches].concat());
        rate(&market)
    };
    let law = 1_000.0 / f64::from(u32::try_from(TRIPS * ROUND_TRIP).unwrap());
    for workers in ["1", "2"] {
        let rate = of(&["--db", "blocking", "--workers", workers]);
        let law = law * workers.parse::<f64>().unwrap();
        // A busy host is slower, and none is quicker than the way.
        assert!((0.6 * law..1.05 * law).contains(&rate), "{workers}: {rate}/s, not {law}/s");
    }
    let rate = of(&["--db", "async"]);
    assert!(rate > 3.0 * law, "{rate}/s of one worker, {law}/s if it waited");
}
