//! One request and its answer: framing, bounds, and that it is over in time.

use std::time::Duration;

use plimsoll_net::http::client::{
    Answer, Ask, Dial, Error, Limits, Peer, Plain, Request, decode, through,
};
use plimsoll_net::url::{Url, is_host};
use proptest::prelude::*;

use plimsoll_testing::free_port;

use crate::serve::{Server, ok};

const SHORT: Limits = Limits { total: Duration::from_millis(200), answer_bytes: 2000 };
const LONG: Limits = Limits { total: Duration::from_secs(20), answer_bytes: 2000 };

fn body_of(bytes: &[u8], ended: bool) -> Option<String> {
    let answer = decode(bytes, ended).unwrap()?;
    Some(String::from_utf8(answer.body).unwrap())
}

#[test]
fn bodies_end_where_their_framing_says() {
    let cases: [(&str, Option<&str>, &str); 8] = [
        ("Content-Length: 3\r\n\r\nabcd", Some("abc"), "a length"),
        ("Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc", Some("abc"), "one length twice"),
        ("content-length:3\r\n\r\nab", None, "more is to come"),
        ("\r\nuntil the end", None, "only the end ends it"),
        (
            "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n",
            Some("abcde"),
            "c",
        ),
        ("Transfer-Encoding: Chunked\r\n\r\n3\r\nabc\r\n", None, "no last chunk"),
        ("Transfer-Encoding: chunked\r\n\r\nA\r\nabc", None, "half a chunk"),
        (
            "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n1\r\nz\r\n0\r\n\r\n",
            Some("z"),
            "both",
        ),
    ];
    for (rest, body, what) in cases {
        let bytes = format!("HTTP/1.1 200 OK\r\n{rest}");
        assert_eq!(body_of(bytes.as_bytes(), false).as_deref(), body, "{what}");
    }
    assert_eq!(body_of(b"HTTP/1.0 200 OK\n\nabc", true).as_deref(), Some("abc"));
    assert_eq!(body_of(b"HTTP/1.1 204 No Content\r\n\r\n", false).as_deref(), Some(""));
    let continued =
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(decode(continued, false).unwrap().unwrap().status, 404);
}

#[test]
fn what_is_not_http_is_named() {
    let cases: [(&[u8], bool); 12] = [
        (b"SSH-2.0-x\r\n", false),
        (b"HTTP/1.1 2x0 OK\r\n\r\n", false),
        (b"HTTP/1.1\r\n\r\n", false),
        (b"HTTP/1.1 999 OK\r\n\r\n", false),
        (b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n", false),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", false),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", false),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\n", false),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", false),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n", false),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", true),
        (b"HTTP/1.1 200", true),
    ];
    for (bytes, ended) in cases {
        let error = decode(bytes, ended).unwrap_err();
        assert!(matches!(error, Error::Malformed(_)), "{}", String::from_utf8_lossy(bytes));
    }
    let endless = [b"HTTP/1.1 200 OK\r\n".as_slice(), &b"a: b\r\n".repeat(4000)].concat();
    assert!(matches!(decode(&endless, false), Err(Error::Malformed(_))));
}

#[test]
fn urls_are_taken_apart_and_put_together() {
    let url = Url::parse("http://[2001:db8::1]:8080/a/b?c=d").unwrap();
    assert_eq!((url.host.as_str(), url.port), ("2001:db8::1", 8080));
    assert_eq!(url.to_string(), "http://[2001:db8::1]:8080/a/b?c=d");
    let url = Url::parse("registry.example").unwrap();
    assert_eq!((url.port, url.path.as_str(), url.secure), (80, "/", false));
    assert_eq!(url.join("/nearest/7/").to_string(), "http://registry.example/nearest/7/");
    assert_eq!(Url::parse("https://a").unwrap().port, 443);
    assert_eq!(Url::parse("http://a?b").unwrap().path, "/?b");
    for wrong in [
        "",
        "ftp://a",
        "http://",
        "http://a:0",
        "http://a:65536",
        "http://a:+1",
        "http://u@a",
        "http://a b/",
        "http://a/\r\nX: y",
        "http://[1.2.3.4]/",
        "http://a_b/",
        "http://a/#b",
        "http://[::1]x/",
        "http://-o/",
    ] {
        assert!(Url::parse(wrong).is_err(), "{wrong:?}");
    }
    assert!(is_host("a-b.c.example") && is_host("192.0.2.1") && is_host("2001:db8::1"));
    for wrong in ["", "a b", "a;b", "$(x)", "a\"", "-rf", ".", "a:1", &"a".repeat(254)] {
        assert!(!is_host(wrong), "{wrong:?}");
    }
}

#[test]
fn a_request_cannot_be_bent() {
    let request = Request { method: "GET", target: "/", host: "h", headers: &[], body: &[] };
    assert!(request.encode().is_ok());
    let cases = [
        Request { target: "/a b", ..request },
        Request { target: "/\r\nX: y", ..request },
        Request { target: "", ..request },
        Request { host: "h\r\nX: y", ..request },
        Request { headers: &[("A", "b\r\nX: y")], ..request },
        Request { headers: &[("A B", "c")], ..request },
    ];
    for wrong in cases {
        assert!(matches!(wrong.encode(), Err(Error::Request(_))), "{wrong:?}");
    }
}

#[test]
fn a_real_exchange() {
    let server = Server::start(|_| ok("hello"));
    let url = Url::parse(&server.url()).unwrap().join("a?b=c");
    let ask = Ask { method: "POST", body: b"{}", headers: &[("X-Y", "z")], ..Ask::get(&url) };
    assert_eq!(ask.send(&Plain, LONG).unwrap().body, b"hello");
    let host = server.address;
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(
        server.seen(),
        [format!(
            "POST /a?b=c HTTP/1.1\r\nHost: {host}\r\nUser-Agent: plimsoll/{version}\r\n\
             Accept: */*\r\nConnection: close\r\nX-Y: z\r\nContent-Length: 2\r\n\r\n{{}}"
        )]
    );
    let object = Url::parse("http://origin.example/o").unwrap();
    let proxy = host.ip().to_string();
    through(&Plain, Peer::new(&proxy, host.port()), &object, LONG).unwrap();
    assert!(server.seen()[1].starts_with("GET http://origin.example/o HTTP/1.1\r\nHost: origin"));
}

#[test]
fn what_is_away_silent_slow_or_endless_is_over_in_time() {
    let get = |url: &str, limits| Ask::get(&Url::parse(url).unwrap()).send(&Plain, limits);
    let refusing = format!("http://127.0.0.1:{}", free_port());
    assert!(matches!(get(&refusing, SHORT), Err(Error::Connect { .. })));
    let silent = Server::start(|_| None);
    assert!(matches!(get(&silent.url(), SHORT), Err(Error::Late(_))));
    let endless =
        Server::start(|_| Some([b"HTTP/1.1 200 OK\r\n\r\n".as_slice(), &[b'x'; 9999]].concat()));
    assert!(matches!(get(&endless.url(), LONG), Err(Error::Long(2000))));
    let broken = Server::start(|_| Some(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx".to_vec()));
    assert!(matches!(get(&broken.url(), LONG), Err(Error::Malformed(_))));
    assert!(matches!(get("http://no.such.name.invalid", LONG), Err(Error::Lookup { .. })));
    assert!(matches!(get("https://127.0.0.1", LONG), Err(Error::Encryption(_))));
}

/// Drips a byte at a time, each within the time of a read: the total still ends it.
#[test]
fn a_dripping_peer_is_over_in_time() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = Url::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    let dripping = std::thread::spawn(move || {
        use std::io::Write as _;
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_nodelay(true).unwrap();
        let (_keep, never) = std::sync::mpsc::channel::<()>();
        let mut bytes = b"HTTP/1.1 200 OK\r\n\r\n".iter().chain(std::iter::repeat(&b'x'));
        while stream.write_all(&[*bytes.next().unwrap()]).is_ok() {
            let _ = never.recv_timeout(Duration::from_millis(20));
        }
    });
    assert!(matches!(Ask::get(&url).send(&Plain, SHORT), Err(Error::Late(_))));
    dripping.join().unwrap();
}

#[test]
fn the_wanted_family_is_dialled_first() {
    let v4 = Server::start(|_| ok("4"));
    let port = v4.address.port();
    let deadline = plimsoll_net::http::client::Deadline::after(Duration::from_secs(20));
    for ipv6 in [Some(false), Some(true), None] {
        let peer = Peer { ipv6, ..Peer::new("localhost", port) };
        // Whatever is first, the other family is tried too.
        assert!(Plain.dial(peer, &deadline).is_ok(), "{ipv6:?}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_decoded_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = decode(&bytes, false);
        let _ = decode(&[b"HTTP/1.1 200 OK\r\n", bytes.as_slice()].concat(), true);
        let chunked = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
        let _ = decode(&[chunked, bytes.as_slice()].concat(), true);
    }

    #[test]
    fn every_cut_of_an_answer_is_only_incomplete(
        body in prop::collection::vec(any::<u8>(), 0..200),
        chunk in 1usize..50,
        cut in 0usize..1000,
    ) {
        let mut bytes = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
        for part in body.chunks(chunk) {
            bytes.extend_from_slice(format!("{:x}\r\n", part.len()).as_bytes());
            bytes.extend_from_slice(part);
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(b"0\r\n\r\n");
        let whole: Option<Answer> = decode(&bytes, false).unwrap();
        prop_assert_eq!(whole.unwrap().body, body);
        let cut = cut % bytes.len();
        match decode(&bytes[..cut], false) {
            Ok(None) => {}
            // The trailers' empty line is not waited for.
            Ok(Some(_)) => prop_assert!(cut >= bytes.len() - 4),
            Err(error) => prop_assert!(false, "{error} at {cut}"),
        }
    }
}
