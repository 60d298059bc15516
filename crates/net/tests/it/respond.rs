//! The small server: who asks is answered, whoever else does what.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::channel;
use std::time::Duration;

use plimsoll_net::http::access::is_for_loopback;
use plimsoll_net::http::client::{Ask, Limits, Plain};
use plimsoll_net::http::respond::{Answer, Body, Bounds, Parts, Request, Server};
use plimsoll_net::url::Url;

/// Longer than anything takes here, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(30);

fn start(bounds: Bounds) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let answer = |request: &Request<'_>| {
        let status = if request.path == "/here" { 200 } else { 404 };
        Answer::new(status, "text/plain", format!("{} {}", request.method, request.path))
    };
    Server::start(listener, "respond", bounds, answer).unwrap()
}

/// Status and body.
fn get(address: SocketAddr, path: &str) -> (u16, String) {
    let url = Url::parse(&format!("http://{address}{path}")).unwrap();
    let answer = Ask::get(&url).send(&Plain, Limits::within(PATIENCE)).unwrap();
    (answer.status, String::from_utf8(answer.body).unwrap())
}

/// What comes back for these bytes, until the server hangs up.
fn said(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    // The server may have hung up before all is written.
    let _ = stream.write_all(bytes);
    let mut text = Vec::new();
    let _ = stream.read_to_end(&mut text);
    String::from_utf8(text).unwrap()
}

#[test]
fn each_request_is_answered_by_the_function() {
    let server = start(Bounds::default());
    let at = server.address();
    assert_eq!(get(at, "/here?a=b"), (200, "GET /here".to_owned()));
    assert_eq!(get(at, "/gone"), (404, "GET /gone".to_owned()));
    let head = said(at, b"HEAD /here HTTP/1.1\r\nHost: h\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && head.contains("content-length: 10\r\n"));
    assert!(head.ends_with("\r\n\r\n") && head.contains("connection: close\r\n"), "{head}");
    let posted = said(at, b"POST /here HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}");
    assert!(posted.ends_with("POST /here"), "{posted}");
    drop(server);
    assert!(TcpStream::connect(at).is_err(), "nobody listens any more");
}

#[test]
fn bytes_that_are_no_request_end_their_connection_only() {
    let server = start(Bounds::default());
    let at = server.address();
    for bytes in [&b"\x16\x03\x01\x02\x00"[..], b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\0"] {
        let told = said(at, &[bytes, b"\r\n\r\n"].concat());
        assert!(told.is_empty() || told.starts_with("HTTP/1.1 400 "), "{told}");
    }
    let long = [b"GET /here HTTP/1.1\r\nX: ".as_slice(), &vec![b'x'; 40_000], b"\r\n\r\n"].concat();
    let told = said(at, &long);
    assert!(told.is_empty() || told.starts_with("HTTP/1.1 431 "), "{told}");
    assert_eq!(get(at, "/here").0, 200);
}

/// A client that sends a byte now and then until it is cut, and says when it was.
fn drip(address: SocketAddr) -> std::sync::mpsc::Receiver<()> {
    let (cut, is_cut) = channel();
    let mut stream = TcpStream::connect(address).unwrap();
    std::thread::spawn(move || {
        let (_keep, never) = channel::<()>();
        for byte in b"GET /here HTTP/1.1\r\nX: ".iter().chain(std::iter::repeat(&b'x')) {
            if stream.write_all(&[*byte]).is_err() {
                break;
            }
            let _ = never.recv_timeout(Duration::from_millis(20));
        }
        let _ = cut.send(());
    });
    is_cut
}

#[test]
fn slow_clients_hold_nobody_up_and_are_cut_in_time() {
    let server = start(Bounds { request: Duration::from_millis(300), ..Bounds::default() });
    let slow: Vec<_> = (0..3).map(|_| drip(server.address())).collect();
    assert_eq!(get(server.address(), "/here").0, 200);
    for one in slow {
        one.recv_timeout(PATIENCE).expect("it is cut");
    }
}

#[test]
fn beyond_the_bound_the_oldest_connection_is_cut() {
    let bounds = Bounds { connections: 4, request: PATIENCE * 10, ..Bounds::default() };
    let server = start(bounds);
    let oldest = drip(server.address());
    let others: Vec<_> = (0..3).map(|_| drip(server.address())).collect();
    // Each finds a place, the first of them that of the oldest.
    for _ in 0..3 {
        let answer = said(server.address(), b"GET /here HTTP/1.1\r\nHost: h\r\n\r\n");
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    }
    oldest.recv_timeout(PATIENCE).expect("it made room");
    assert!(others.iter().all(|one| one.try_recv().is_err()), "there was room for the others");
}

/// A body in parts lasts longer than a request may take, ends where its function does, and nobody
/// is asked for more of it once its client has gone.
#[test]
#[expect(clippy::disallowed_methods, reason = "parts that take long to be made")]
fn parts_come_as_they_are_made_until_their_end_or_that_of_their_client() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (left, gone) = channel::<()>();
    let answer = move |request: &Request<'_>| {
        let (mut n, ends, left) = (0, request.path == "/three", left.clone());
        let next = move || {
            // Dropped with the function that gives the parts.
            let _ = &left;
            // tidy: allow(waits, the answer takes its time)
            std::thread::sleep(Duration::from_millis(100));
            n += 1;
            match n {
                1 => Some(Vec::new()),
                4.. if ends => None,
                _ => Some(format!("part {n}\n").into_bytes()),
            }
        };
        let mut answer = Answer::new(200, "text/plain", "");
        answer.body = Body::Parts(Parts::new(next));
        answer
    };
    let bounds = Bounds { request: Duration::from_millis(150), ..Bounds::default() };
    let server = Server::start(listener, "respond", bounds, answer).unwrap();
    let at = server.address();
    assert_eq!(get(at, "/three"), (200, "part 2\npart 3\n".to_owned()));
    let mut endless = TcpStream::connect(at).unwrap();
    endless.set_read_timeout(Some(PATIENCE)).unwrap();
    endless.write_all(b"GET /endless HTTP/1.1\r\nHost: h\r\n\r\n").unwrap();
    let mut text = String::new();
    while !text.contains("part 9") {
        let mut some = [0; 512];
        let n = endless.read(&mut some).unwrap();
        assert!(n > 0, "cut after: {text}");
        text.push_str(std::str::from_utf8(&some[..n]).unwrap());
    }
    drop(endless);
    drop(server);
    // The server and all of its answers are gone.
    assert_eq!(gone.recv_timeout(PATIENCE), Err(std::sync::mpsc::RecvTimeoutError::Disconnected));
}

#[test]
fn the_loopback_is_told_by_the_header_host() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let answer = |request: &Request<'_>| {
        Answer::new(if is_for_loopback(request) { 200 } else { 421 }, "text/plain", "")
    };
    let server = Server::start(listener, "respond", Bounds::default(), answer).unwrap();
    for (host, is_let_in) in [
        ("Host: 127.0.0.1:80\r\n", true),
        ("Host: 127.8.9.1\r\n", true),
        ("Host: [::1]:80\r\n", true),
        ("Host: LOCALHOST:80\r\n", true),
        ("Host: localhost.example\r\n", false),
        ("Host: 192.0.2.7:80\r\n", false),
        ("Host: [2001:db8::1]\r\n", false),
        ("Host: \r\n", false),
        ("Host: localhost\r\nHost: localhost\r\n", false),
        ("", false),
    ] {
        let text = said(server.address(), format!("GET / HTTP/1.1\r\n{host}\r\n").as_bytes());
        assert_eq!(text.starts_with("HTTP/1.1 200 "), is_let_in, "{host}: {text}");
    }
}
