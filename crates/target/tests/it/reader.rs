//! The reader of requests: what it takes, what it refuses, and that it does not matter how the
//! bytes were cut, for valid streams and for seeded mutations of them.
//!
//! `cargo run -p plimsoll-target --release --example mutate -- SEEDS` runs the same mutations
//! over more seeds.

#[path = "../../examples/mutations/mod.rs"]
mod mutations;

use mutations::{CORPUS, read_cut, read_whole, run_seed};
use plimsoll_target::http::head::{Link, MAX_HEAD, Reject};
use plimsoll_target::http::reader::{Event, Reader, Request};

fn get(link: Link) -> Event {
    Event::Request(Request { is_head: false, link, is_of_counters: false })
}

fn all(bytes: &[u8]) -> Vec<Event> {
    let mut reader = Reader::new();
    let mut rest = bytes;
    let mut events = Vec::new();
    while let Some(event) = reader.next(&mut rest) {
        events.push(event);
    }
    events
}

#[test]
fn accepts_what_is_right() {
    let keep = [
        "GET / HTTP/1.1\r\nHost: h\r\n\r\n",
        "\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET http://h:80/a?b HTTP/1.1\r\nhost:h\r\nX:\r\n\r\n",
        "OPTIONS * HTTP/1.1\r\nHOST: \t h \t\r\nA: \u{e9}\r\n\r\n",
        "PUT /a HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\ncontent-length: 3\r\n\r\nabc",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: Chunked\r\n\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n\
         a;x=\"y\"\r\n0123456789\r\n00\r\nTrailer: t\r\n\r\n",
    ];
    for text in keep {
        assert_eq!(all(text.as_bytes()), [get(Link::Keep)], "{text:?}");
    }
    let close = [
        "GET / HTTP/1.0\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nConnection: keep-alive, Close\r\n\r\n",
    ];
    for text in close {
        assert_eq!(all(text.as_bytes()), [get(Link::Close)], "{text:?}");
    }
    let keep10 = "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n";
    assert_eq!(all(keep10.as_bytes()), [get(Link::Keep10)]);
    let head = all(b"HEAD / HTTP/1.1\r\nHost: h\r\n\r\n");
    let request = Request { is_head: true, link: Link::Keep, is_of_counters: false };
    assert_eq!(head, [Event::Request(request)]);
}

#[test]
fn only_their_own_path_asks_for_the_counters() {
    for (path, asks) in [
        ("/-/metrics", true),
        ("/", false),
        ("/-/metrics/", false),
        ("/-/metrics?x", false),
        ("http://h/-/metrics", false),
        ("*", false),
    ] {
        let text = format!("GET {path} HTTP/1.1\r\nHost: h\r\n\r\n");
        let request = Request { is_head: false, link: Link::Keep, is_of_counters: asks };
        assert_eq!(all(text.as_bytes()), [Event::Request(request)], "{path}");
    }
}

#[test]
fn refuses_what_is_wrong() {
    let bad = [
        " / HTTP/1.1\r\n",
        "GET  / HTTP/1.1\r\n",
        "GET a HTTP/1.1\r\n",
        "GET / HTTP/1.1 \r\n",
        "GET /\0 HTTP/1.1\r\n",
        "GET / HTTP/1.1\nHost: h\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nHost: h\r\n\r\n",
        "GET / HTTP/1.1\r\nHost : h\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\n folded\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\rX: y\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\u{0}\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\n: y\r\n\r\n",
        "GET /\r\n",
        "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: +3\r\n\r\n",
        "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: \r\n\r\n",
        "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 3, 3\r\n\r\n",
        "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n",
        "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
        "PUT / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
        "PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n\r\n",
        "PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n;x\r\n",
        "PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n",
        "PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n10000000000000000\r\n",
    ];
    for text in bad {
        assert_eq!(all(text.as_bytes()), [Event::Reject(Reject::Bad)], "{text:?}");
    }
    let cases = [
        ("BREW / HTTP/1.1\r\n", Reject::NotImplemented),
        ("PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip\r\n\r\n", Reject::NotImplemented),
        ("GET / HTTP/2.0\r\n", Reject::Version),
        ("GET / HTTP/1.2\r\n", Reject::Version),
    ];
    for (text, reject) in cases {
        assert_eq!(all(text.as_bytes()), [Event::Reject(reject)], "{text:?}");
    }
}

#[test]
fn a_head_may_be_so_long_and_no_longer() {
    let start = "GET / HTTP/1.1\r\nHost: h\r\nX: ";
    let of = |len: usize| format!("{start}{}\r\n\r\n", "y".repeat(len - start.len() - 4));
    for (len, event) in
        [(MAX_HEAD, get(Link::Keep)), (MAX_HEAD + 1, Event::Reject(Reject::TooLarge))]
    {
        let text = of(len);
        assert_eq!(all(text.as_bytes()), [event], "{len} bytes at once");
        assert_eq!(read_cut(text.as_bytes(), |_| 1000), [event], "{len} bytes in parts");
    }
    // Without an end in sight it is refused as soon as it is too long.
    let endless = vec![b'A'; MAX_HEAD];
    assert_eq!(read_cut(&endless, |_| 1), [Event::Reject(Reject::TooLarge)]);
}

#[test]
fn asks_a_client_that_waits_to_go_on() {
    let head = b"PUT / HTTP/1.1\r\nHost: h\r\nExpect: 100-Continue\r\nContent-Length: 2\r\n\r\n";
    assert_eq!(all(head), [Event::Continue]);
    // Who has begun with the body does not wait; a body of nothing is not waited for.
    assert_eq!(all(&[head.as_slice(), b"a"].concat()), []);
    let empty = b"PUT / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(all(empty), [get(Link::Keep)]);
}

#[test]
fn idle_means_between_two_requests() {
    let mut reader = Reader::new();
    for (bytes, is_idle) in
        [("", true), ("GET / HT", false), ("TP/1.1\r\nHost: h\r\n\r\n", true), ("\r", false)]
    {
        let mut rest = bytes.as_bytes();
        while reader.next(&mut rest).is_some() {}
        assert_eq!((reader.is_idle(), rest), (is_idle, [].as_slice()), "after {bytes:?}");
    }
}

#[test]
fn it_does_not_matter_how_valid_streams_are_cut() {
    for stream in CORPUS {
        let whole = read_whole(stream);
        assert!(!whole.is_empty() && !whole.iter().any(|e| matches!(e, Event::Reject(_))));
        for len in 1..stream.len() {
            assert_eq!(read_cut(stream, |_| len), whole, "in parts of {len}");
            // Once in two, at every byte.
            assert_eq!(read_cut(stream, |at| if at < len { len - at } else { usize::MAX }), whole);
        }
    }
}

#[test]
fn mutated_streams_are_survived_and_read_alike_however_cut() {
    for seed in 0..20_000 {
        run_seed(seed);
    }
}
