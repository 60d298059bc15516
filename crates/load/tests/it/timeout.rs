//! Time-outs: counted from sent, and the connection goes with the request.

use crate::drive::{MS, closed, drive, open, to};
use crate::server::{Gate, OK, Server};
use plimsoll_load::Pacing;
use plimsoll_runs::ErrorKind;
use std::time::Duration;

#[test]
fn a_request_is_given_up_a_time_out_after_it_was_sent() {
    // The first request of the first connections is answered when all is over.
    let gate = Gate::new();
    let late = gate.clone();
    let server = Server::tcp(move |mut peer| {
        if peer.index < 2 {
            peer.request();
            late.wait_for(Duration::from_secs(10));
            peer.write(OK);
        }
        peer.serve(OK, usize::MAX);
    });
    for pacing in [Pacing::Precise, Pacing::Thrifty] {
        let mut config = to(server.address());
        config.timeout_ns = 1000 * MS;
        config.pacing = pacing;
        let first = pacing == Pacing::Precise;
        let seen = drive(&config, &open(50.0, 900));
        let given_up: Vec<_> =
            seen.samples.iter().filter(|one| one.error == Some(ErrorKind::Timeout)).collect();
        assert_eq!(given_up.len(), if first { 2 } else { 0 }, "{:?}", seen.counts());
        assert_eq!(seen.counts().succeeded, 45 - given_up.len() as u64);
        for sample in given_up {
            assert!(sample.done_ns - sample.sent_ns >= 1000 * MS, "{sample:?}");
            assert_eq!((sample.status, sample.first_byte_ns), (0, 0));
        }
        // Each connection that was closed is replaced when it is needed.
        let opened = seen.sum(|interval| interval.opened);
        assert!(if first { (3..=4).contains(&opened) } else { opened == 2 }, "{opened} opened");
        // The answers come now, to nobody.
        gate.open();
    }
}

#[test]
fn waiting_for_a_connection_is_no_part_of_the_time_out() {
    // One connection, three users, 120 ms an answer: the last waits 240 ms and is sent then.
    let server = Server::tcp(|mut peer| {
        while peer.request().is_some() {
            Gate::new().wait_for(Duration::from_millis(120));
            peer.write(OK);
        }
    });
    let mut config = to(server.address());
    config.connections = (1, 1);
    config.timeout_ns = 2000 * MS;
    let seen = drive(&config, &closed(3, 20_000, Some(3)));
    assert_eq!(seen.counts().succeeded, 3);
    let longest = seen.samples.iter().map(|one| one.done_ns - one.due_ns).max().unwrap();
    let services = seen.samples.iter().map(|one| one.done_ns - one.sent_ns);
    assert!(longest >= 360 * MS, "{longest}");
    assert_eq!(services.filter(|service| *service >= 119 * MS).count(), 3);
}

#[test]
fn half_an_answer_is_none() {
    let server = Server::tcp(|mut peer| {
        peer.request();
        peer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
        peer.request();
    });
    let mut config = to(server.address());
    config.timeout_ns = 100 * MS;
    let seen = drive(&config, &closed(2, 20_000, Some(2)));
    assert_eq!(seen.errors(ErrorKind::Timeout), 2, "{:?}", seen.counts());
    assert!(seen.samples.iter().all(|one| one.first_byte_ns > 0 && one.bytes == 0));
}
