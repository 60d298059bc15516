//! Every failure has a cause in words: what the peer sent, or what the system said.

use crate::drive::{Output, closed, drive, get, to};
use crate::server::Server;
use plimsoll_runs::{ErrorKind, Phase, Reason};
use plimsoll_workload::request::Requests;
use std::net::TcpListener;
use std::sync::Arc;

/// Six requests by two users to a server that answers so, and closes behind it if told.
fn ask(answer: &[u8], closes: bool) -> Output {
    let (answer, most) = (answer.to_vec(), if closes { 1 } else { usize::MAX });
    let server = Server::tcp(move |mut peer| peer.serve(&answer, most));
    drive(&to(server.address()), &closed(2, 20_000, Some(6)))
}

fn only(seen: &Output) -> Reason {
    let slice = seen.phase(Phase::Measured);
    let found: Vec<Reason> = slice.reasons.first().into_iter().cloned().collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found.into_iter().next().unwrap()
}

#[test]
fn what_was_not_understood_is_shown_with_its_place() {
    for (answer, wanted) in [
        ("SSH-2.0-OpenSSH_9.2\r\n", "not a status line of HTTP/1.x: \"SSH-2.0-OpenSSH_9.2"),
        ("HTTP/1.1 20 OK\r\n\r\n", "not a status line of HTTP/1.x: \"HTTP/1.1 20 OK\""),
        (
            "HTTP/1.1 200 OK\r\nServer: x\r\nContent-Length: 1, 2\r\n\r\nx",
            "line 3 of the answer's head was not understood: \"Content-Length: 1, 2\"",
        ),
        (
            "HTTP/1.1 200 OK\r\nno colon\x1b[2J\r\n\r\n",
            "line 2 of the answer's head was not understood: \"no colon\\x1b[2J\"",
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\nxyz\r\n",
            "not the size of a chunk, or its end, at byte 1 of \"xyz\\x0d\\x0a\"",
        ),
        (
            "HTTP/1.1 200 OK\r\nX: a\r\n b\r\nno colon\r\nY: z\r\n\r\n",
            "line 4 of the answer's head was not understood: \"no colon\"",
        ),
        (
            "HTTP/1.1 101 Switching\r\n\r\n",
            "the peer changes the protocol unasked: \"HTTP/1.1 101 Switching\"",
        ),
    ] {
        let reason = only(&ask(answer.as_bytes(), false));
        assert_eq!((reason.kind, reason.count), (ErrorKind::Protocol, 6), "{answer:?}");
        assert!(reason.text.starts_with(wanted), "{answer:?}: {}", reason.text);
    }
}

#[test]
fn ends_say_where_in_the_answer_they_came() {
    let reason = only(&ask(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", true));
    assert_eq!((reason.kind, reason.count), (ErrorKind::Reset, 6));
    assert!(reason.text.contains("in the middle of the answer"), "{}", reason.text);
    let reason = only(&ask(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", false));
    assert_eq!((reason.kind, reason.count), (ErrorKind::Status, 6));
    assert!(reason.text.contains("404"), "{}", reason.text);
}

#[test]
fn silence_is_told_with_its_limit() {
    let server = Server::tcp(|mut peer| {
        peer.request();
        // Until the client closes: it sends nothing behind a request that it has given up.
        peer.request();
    });
    let mut config = to(server.address());
    config.timeout_ns = 300_000_000;
    let reason = only(&drive(&config, &closed(2, 20_000, Some(4))));
    assert_eq!(
        (reason.kind, reason.text.as_str()),
        (ErrorKind::Timeout, "no answer within 300 ms")
    );
}

#[test]
fn refused_connections_have_the_systems_name_for_it() {
    // Open for the first connection, gone behind it.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = std::thread::spawn(move || {
        let accepted = listener.accept();
        drop(listener);
        drop(accepted);
    });
    let mut config = to(address);
    config.connections = (1, 1);
    let seen = drive(&config, &closed(1, 20_000, Some(6)));
    server.join().unwrap();
    let slice = seen.phase(Phase::Measured);
    let refused = slice.reasons.first().into_iter().find(|one| one.kind == ErrorKind::Connect);
    let refused = refused.unwrap();
    assert_eq!(refused.text, "ECONNREFUSED: Connection refused");
    assert_eq!(refused.count, slice.counters.errors_of(ErrorKind::Connect));
    let attempts: u64 = seen.sum(|interval| interval.connect_failed);
    let told: u64 =
        seen.sum(|interval| interval.refusals.first().iter().map(|reason| reason.count).sum());
    assert_eq!(attempts, told);
}

#[test]
fn our_secrets_are_shown_in_no_cause() {
    let server = Server::tcp(|mut peer| {
        while let Some(request) = peer.request() {
            // A server that shows what it was sent.
            peer.write(&[b"what? ", &request[..], b"hunter2\r\n"].concat());
        }
    });
    let mut config = to(server.address());
    let request = get().header("Authorization: Basic YW5uOmh1bnRlcjI=").unwrap();
    config.requests = Arc::new(Requests::one(request));
    let seen = drive(&config, &closed(1, 20_000, Some(3)));
    let slice = seen.phase(Phase::Measured);
    for reason in slice.reasons.first() {
        assert!(!reason.text.contains("YW5u") && !reason.text.contains("hunter2"), "{reason:?}");
    }
}
