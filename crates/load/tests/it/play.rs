//! Seeded HTTP/1 answers, right ones and mutated ones, played through the driver as the engine
//! plays them: in pieces, with bytes passed over unseen where the driver has no interest, to the
//! end.
//!
//! Shared with `examples/http1_mutate.rs`, which looks for trouble as long as one likes.

use crate::mutation::{Ways, below, mutate};
use plimsoll_load::driver::{Driver, Event, Fate, Slot};
use plimsoll_load::http1::Http1;
use plimsoll_load::http1::encode::{Encoder, Head};
use plimsoll_load::http1::head::MAX_HEAD;
use plimsoll_runs::ErrorKind;
use plimsoll_workload::arrivals::Share;
use plimsoll_workload::random::Stream;
use plimsoll_workload::request::{RenderState, Request, Requests, Url};
use std::sync::Arc;

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// A whole answer, by code and bytes.
    Done(u16, u64),
    /// There will be none.
    Failed(ErrorKind),
    /// The connection ended before.
    None,
}

/// A driver for `GET` (index 0) and `HEAD` (index 1).
pub(crate) fn driver() -> Http1 {
    let get = || Request::new(Url::parse("http://test.example/").expect("a URL"));
    let head = get().method("HEAD").expect("a method");
    let mut requests = Requests::one(get());
    requests.list.push(head);
    let settings = Head { user_agent: "plimsoll".into(), host: None, close: false, proxy: None };
    let render = RenderState::new(1, Share::WHOLE);
    Http1::new(Encoder::new(Arc::new(requests), settings, render), false)
}

/// Plays what a server sends to one request and then closes. `piece` says how much comes at once,
/// and is asked again for how much of what is of no interest is passed over.
///
/// # Panics
/// Where the driver breaks its own rules.
pub(crate) fn play(
    driver: &mut Http1,
    is_head: bool,
    bytes: &[u8],
    mut piece: impl FnMut(usize) -> usize,
    pass_over: bool,
) -> End {
    let slot = Slot(5);
    let (mut out, mut events, mut end) = (Vec::new(), Vec::new(), End::None);
    let mut connection = driver.open(&mut out);
    assert_eq!(driver.room(&connection), 1, "a new connection takes a request");
    driver.request(&mut connection, slot, u32::from(is_head), &mut out);
    let (mut at, mut first_bytes) = (0, 0);
    while at < bytes.len() {
        assert!(end == End::None || driver.room(&connection) == 1, "kept, so it takes another");
        let left = bytes.len() - at;
        let disinterest = driver.disinterest(&connection);
        let n = piece(left).clamp(1, left);
        let unseen = usize::try_from(disinterest).unwrap_or(usize::MAX).min(n);
        let fate = if unseen > 0 && pass_over {
            at += unseen;
            driver.discarded(&mut connection, unseen as u64, &mut events)
        } else {
            at += n;
            let mut answer = Vec::new();
            let fate =
                driver.receive(&mut connection, &bytes[at - n..at], &mut answer, &mut events);
            assert!(answer.is_empty(), "nothing is sent in answer");
            fate
        };
        assert!(connection.held() <= MAX_HEAD, "{} bytes are kept", connection.held());
        take(&mut events, slot, &mut end, &mut first_bytes);
        if fate == Fate::Close {
            assert_eq!(driver.room(&connection), 0, "closed, so it takes none");
            return end;
        }
    }
    driver.end(&mut connection, &mut events);
    take(&mut events, slot, &mut end, &mut first_bytes);
    assert_eq!(driver.room(&connection), 0, "at its end it takes none");
    end
}

fn take(events: &mut Vec<Event>, slot: Slot, end: &mut End, first_bytes: &mut u32) {
    for event in events.drain(..) {
        let (of, new) = match event {
            Event::FirstByte(of) => {
                *first_bytes += 1;
                assert!(*end == End::None && *first_bytes == 1, "a first byte comes first, once");
                (of, None)
            }
            Event::Done { slot, code, bytes } => (slot, Some(End::Done(code, bytes))),
            Event::Failed { slot, kind } => (slot, Some(End::Failed(kind))),
            Event::Refused(of) => (of, Some(End::Failed(ErrorKind::Reset))),
        };
        assert_eq!(of, slot, "about the one request there is");
        if let Some(new) = new {
            assert_eq!(*end, End::None, "one end for each request");
            *end = new;
        }
    }
}

/// An answer as it should be, and what it comes to.
pub(crate) struct Answer {
    pub(crate) bytes: Vec<u8>,
    pub(crate) is_head: bool,
    pub(crate) end: End,
}

fn one_of<'a>(random: &mut Stream, list: &[&'a str]) -> &'a str {
    list[below(random, list.len())]
}

/// Draws an answer.
pub(crate) fn answer(random: &mut Stream) -> Answer {
    let mut bytes = Vec::new();
    let end = ["\r\n", "\n"][usize::from(below(random, 8) == 0)];
    while below(random, 5) == 0 {
        let interim = one_of(random, &["100 Continue", "103 Early Hints", "102 ", "199"]);
        bytes.extend_from_slice(format!("HTTP/1.1 {interim}{end}Link: x{end}{end}").as_bytes());
    }
    let code = [200, 200, 200, 204, 304, 404, 500, 999][below(random, 8)];
    let is_head = below(random, 6) == 0;
    let none = is_head || matches!(code, 204 | 304);
    let version = one_of(random, &["HTTP/1.1", "HTTP/1.1", "HTTP/1.0"]);
    let mut head = format!("{version} {code} Some Reason{end}");
    for _ in 0..below(random, 6) {
        head +=
            one_of(random, &["Server: x", "X-Empty:", "Date : Mon, 1 Jan", "content-lengthy: 7"]);
        head += end;
        if below(random, 8) == 0 {
            head += one_of(random, &[" folded", "\tfolded: x", "  "]);
            head += end;
        }
    }
    head += one_of(random, &["", "", "Connection: close", "connection: Keep-Alive, x"]);
    if !head.ends_with(end) {
        head += end;
    }
    let body = vec![b'b'; [0, 1, 2, 17, 300, 5000][below(random, 6)]];
    match below(random, 3) {
        0 => {
            head += &format!("Content-Length: {}{end}{end}", body.len());
            bytes.extend_from_slice(head.as_bytes());
            bytes.extend_from_slice(if none { b"" } else { &body });
        }
        1 => {
            head += &format!("Transfer-Encoding: chunked{end}{end}");
            bytes.extend_from_slice(head.as_bytes());
            if !none {
                chunks(random, &body, &mut bytes);
            }
        }
        _ => {
            head += end;
            bytes.extend_from_slice(head.as_bytes());
            bytes.extend_from_slice(if none { b"" } else { &body });
        }
    }
    let done = End::Done(code, bytes.len() as u64);
    Answer { bytes, is_head, end: done }
}

fn chunks(random: &mut Stream, body: &[u8], bytes: &mut Vec<u8>) {
    let mut left = body;
    while !left.is_empty() {
        let (chunk, rest) = left.split_at(1 + below(random, left.len()));
        let extension = one_of(random, &["", "", ";a=b", " "]);
        let zeros = one_of(random, &["", "", "0", "00000000000000000000"]);
        bytes.extend_from_slice(format!("{zeros}{:X}{extension}\r\n", chunk.len()).as_bytes());
        bytes.extend_from_slice(chunk);
        bytes.extend_from_slice(b"\r\n");
        left = rest;
    }
    bytes.extend_from_slice(one_of(random, &["0\r\n\r\n", "0\r\nT: x\r\n\r\n"]).as_bytes());
}

/// What answers are changed with.
pub(crate) const WAYS: Ways = Ways {
    marks: b"\r\n :;,0fF9\0\xff",
    word: |random| {
        let words = [
            "Content-Length: 3\r\n",
            "Transfer-Encoding: chunked\r\n",
            "\r\n\r\n",
            "HTTP/1.1 100 x\r\n\r\n",
            "ffffffffffffffff\r\n",
            "HTTP/1.1 200 OK\r\n",
            "0\r\n\r\n",
            "Content-Length: 18446744073709551615\r\n",
            "Connection: close\r\n",
            "X: a\r\n b\r\n\tc\r\n",
            "Content-Length :\r\n 3\r\n",
            "\r\n",
            "000000",
        ];
        one_of(random, &words).into()
    },
    long_bits: 20,
};

/// Plays one drawn case in several ways; what they say must agree.
///
/// # Panics
/// Where they do not.
pub(crate) fn case(seed: u64, number: u64) {
    let mut random = Stream::named(seed, &format!("http1/{number}"));
    let mut driver = driver();
    let Answer { mut bytes, is_head, end } = answer(&mut random);
    let mutated = below(&mut random, 4) > 0;
    if mutated {
        mutate(&mut random, &mut bytes, &WAYS);
    }
    let whole = play(&mut driver, is_head, &bytes, |left| left, false);
    if !mutated {
        assert_eq!(whole, end, "{:?}", String::from_utf8_lossy(&bytes));
    }
    let sizes = [1, 2, 7, 100, 4000, 16 * 1024, 100_000];
    for pass_over in [false, true] {
        let most = sizes[below(&mut random, sizes.len())];
        let most = if bytes.len() > 20_000 { most.max(100) } else { most };
        let piece = |_| 1 + below(&mut random, most);
        let pieces = play(&mut driver, is_head, &bytes, piece, pass_over);
        assert_eq!(whole, pieces, "whole and in pieces: {:?}", bytes.escape_ascii());
    }
}
