//! HTTP/1.1 as the server speaks it.

use std::net::Shutdown;
use std::thread;

use plimsoll_target::{BodySize, Options};

use super::client::{Answer, GET, Running};

fn ok() -> Answer {
    Answer { status: 200, connection: None, length: 1, body: 1 }
}

#[test]
fn a_connection_is_kept_and_its_requests_are_counted() {
    let server = Running::new(Options::default());
    let mut client = server.connect();
    for _ in 0..3 {
        assert_eq!(client.ask(GET), ok());
    }
    drop(client);
    let stats = server.finish();
    assert_eq!((stats.requests, stats.succeeded, stats.connections), (3, 3, 1));
    assert_eq!(stats.bytes_in, 3 * GET.len() as u64);
    assert_eq!(stats.bytes_out, 3 * b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx".len() as u64);
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let server = Running::new(Options::default());
    let mut client = server.connect();
    let mut requests = GET.repeat(499);
    requests.extend_from_slice(b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    client.send(&requests);
    for _ in 0..499 {
        assert_eq!(client.answer(), ok());
    }
    assert_eq!(client.answer().connection.as_deref(), Some("close"));
    assert!(client.is_at_end());
}

#[test]
fn a_client_that_does_not_read_is_not_read_from_for_ever() {
    let server = Running::new(Options::default());
    let mut client = server.connect();
    let mut writer = client.reader.get_ref().try_clone().unwrap();
    let requests = 300_000;
    let sender = thread::spawn(move || {
        std::io::Write::write_all(&mut writer, &GET.repeat(requests)).unwrap();
    });
    for _ in 0..requests {
        assert_eq!(client.answer(), ok());
    }
    sender.join().unwrap();
    assert_eq!(server.finish().requests, requests as u64);
}

#[test]
fn requests_may_be_cut_at_every_byte() {
    let server = Running::new(Options::default());
    let request = b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n\
                    5\r\nhello\r\n0\r\n\r\n";
    let mut client = server.connect();
    for cut in 1..request.len() {
        client.send(&request[..cut]);
        server.barrier();
        assert_eq!(client.ask(&request[cut..]), ok(), "cut at {cut}");
    }
}

#[test]
fn bodies_of_requests_are_read_and_dropped() {
    let server = Running::new(Options::default());
    let mut client = server.connect();
    let mut put = b"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 3000000\r\n\r\n".to_vec();
    put.resize(put.len() + 3_000_000, b'?');
    assert_eq!(client.ask(&put), ok());
    assert_eq!(client.ask(GET), ok());
    let waiting = b"PUT / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n";
    let interim = client.ask(waiting);
    assert_eq!((interim.status, interim.length), (100, 0));
    assert_eq!(client.ask(b"ab"), ok());
}

#[test]
fn head_gets_the_length_without_the_body() {
    let server = Running::new(Options { body: BodySize::Fixed(70_000), ..Options::default() });
    let mut client = server.connect();
    client.send(&[b"HEAD / HTTP/1.1\r\nHost: h\r\n\r\n", GET].concat());
    let head = client.answer_with_body(false);
    assert_eq!((head.status, head.length), (200, 70_000));
    assert_eq!(client.answer().body, 70_000);
}

#[test]
fn http10_closes_unless_it_asks_to_be_kept() {
    let server = Running::new(Options::default());
    let mut client = server.connect();
    let kept = client.ask(b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    assert_eq!(kept.connection.as_deref(), Some("keep-alive"));
    assert_eq!(client.ask(b"GET / HTTP/1.0\r\n\r\n").connection.as_deref(), Some("close"));
    assert!(client.is_at_end());
}

#[test]
fn what_is_no_request_is_refused_and_hung_up_on() {
    let server = Running::new(Options::default());
    let long = format!("GET / HTTP/1.1\r\nX: {}", "y".repeat(20_000));
    let cases = [
        ("GET / HTTP/1.1\r\n\r\n", 400),
        (long.as_str(), 431),
        ("BREW / HTTP/1.1\r\n\r\n", 501),
        ("GET / HTTP/3.0\r\n\r\n", 505),
    ];
    for (request, status) in cases {
        let mut client = server.connect();
        client.send(&GET.repeat(2));
        client.send(request.as_bytes());
        assert_eq!((client.answer(), client.answer()), (ok(), ok()));
        // More than the server has read by now: its answer must not be lost to a reset.
        client.send(&[b'z'; 100_000]);
        let refusal = client.answer();
        assert_eq!((refusal.status, refusal.connection.as_deref()), (status, Some("close")));
        assert!(client.is_at_end());
    }
    let stats = server.finish();
    assert_eq!((stats.requests, stats.rejected), (8, 4));
}

#[test]
fn who_has_ended_sending_still_gets_the_answers() {
    let server = Running::new(Options::default());
    let mut client = server.connect();
    client.send(&GET.repeat(10));
    client.reader.get_ref().shutdown(Shutdown::Write).unwrap();
    for _ in 0..10 {
        assert_eq!(client.answer(), ok());
    }
    assert!(client.is_at_end());
}

#[test]
fn a_large_body_that_is_not_read_holds_up_nobody_else() {
    let size = 100_000_000;
    let server = Running::new(Options { body: BodySize::Fixed(size), ..Options::default() });
    let (mut slow, mut quick) = (server.connect(), server.connect());
    slow.send(&GET.repeat(2));
    server.barrier();
    assert_eq!(quick.ask(GET).body as u64, size);
    assert_eq!(slow.answer().body as u64, size);
    assert_eq!(slow.answer().body as u64, size);
}
