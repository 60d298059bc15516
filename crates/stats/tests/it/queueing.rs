//! Queueing formulas against reference vectors of twenty digits.

use crate::reference::{close, number, vectors};
use plimsoll_stats::queueing::{
    Finite, Waiting, erlang_b, erlang_c, least_servers_b, least_servers_c,
};

/// Differences of up to this share are those of doubles.
const SHARE: f64 = 1e-10;

#[test]
fn erlangs_formulas_are_the_references() {
    for row in vectors("erlangs_formulas_are_the_references", "erlang_bc.csv") {
        let (offered, servers) = (number(&row[0]), row[1].parse().unwrap());
        let (b, c) = (erlang_b(offered, servers), erlang_c(offered, servers));
        let carried = offered * (1.0 - b);
        // Below that doubles have no digits left.
        let is_tiny = number(&row[2]) < 1e-300;
        assert!(is_tiny || close(b, number(&row[2]), SHARE), "{row:?}: {b}");
        assert!(is_tiny || close(c, number(&row[3]), SHARE), "{row:?}: {c}");
        assert!(close(carried, number(&row[4]), SHARE), "{row:?}: {carried}");
    }
}

#[test]
fn waits_and_responses_are_the_references() {
    for row in vectors("waits_and_responses_are_the_references", "erlang_bc.csv") {
        let (offered, servers) = (number(&row[0]), row[1].parse().unwrap());
        let waiting = Waiting::of(offered, servers, 1.0, 1.0);
        // A saturated pool waits for ever.
        let Some(waiting) = waiting.filter(|_| !row[5].is_empty()) else {
            assert!(waiting.is_none() && row[5].is_empty(), "{row:?}: {waiting:?}");
            continue;
        };
        let wait = waiting.probability * waiting.mean_s;
        let (wanted, queue) = (number(&row[5]), number(&row[7]));
        assert!(wanted < 1e-300 || close(wait, wanted, SHARE), "{row:?}: {wait}");
        assert!(close(1.0 + wait, number(&row[6]), SHARE), "{row:?}: {wait}");
        assert!(queue < 1e-300 || close(offered * wait, queue, SHARE), "{row:?}: {wait}");
    }
}

#[test]
fn the_least_servers_are_the_references() {
    for row in vectors("the_least_servers_are_the_references", "erlang_inverse.csv") {
        let (offered, share) = (number(&row[0]), number(&row[1]));
        let most = 10_000;
        assert_eq!(least_servers_b(offered, share, most), row[2].parse().ok(), "{row:?}");
        assert_eq!(least_servers_c(offered, share, most), row[3].parse().ok(), "{row:?}");
    }
}

#[test]
fn finite_queues_are_the_references() {
    for row in vectors("finite_queues_are_the_references", "mmck.csv") {
        let (servers, room): (u32, u32) = (row[1].parse().unwrap(), row[2].parse().unwrap());
        let queue = Finite::of(number(&row[0]), servers, room).unwrap();
        let response = queue.response();
        for (found, column) in [
            (queue.lost, 4),
            (queue.present, 5),
            (queue.waiting, 6),
            (response, 7),
            (queue.busy / f64::from(servers), 9),
        ] {
            let wanted = number(&row[column]);
            assert!(close(found, wanted, SHARE), "{row:?}: {found} for {wanted}");
        }
        let wait = number(&row[8]);
        assert!((response - 1.0 - wait).abs() < 1e-9 * wait.max(1.0), "{row:?}: {response}");
    }
}
