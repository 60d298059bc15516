//! Seeded mutations of request streams, shared by the tests and the example that runs longer.

use plimsoll_target::http::reader::{Event, Reader};
use plimsoll_workload::random::Stream;

/// Valid streams of requests of many kinds.
pub(crate) const CORPUS: [&[u8]; 6] = [
    b"GET / HTTP/1.1\r\nHost: h\r\n\r\nGET /2 HTTP/1.1\r\nHost: h\r\nAccept: */*\r\n\r\n",
    b"POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\n\r\nhello world\
      HEAD / HTTP/1.1\r\nHost: h\r\n\r\n",
    b"PUT /b HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n\
      5\r\nhello\r\n1;ext=1\r\n!\r\n0\r\nT: v\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n",
    b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET / HTTP/1.0\r\n\r\nGET / HTTP/1.0\r\n\r\n",
    b"\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc\r\n",
];

/// Pieces that are likely to matter where they do not belong.
const PIECES: [&[u8]; 14] = [
    b"\r\n",
    b"\r",
    b"\n",
    b"\r\n\r\n",
    b" ",
    b":",
    b"\0",
    b"0\r\n\r\n",
    b"ffffffffffffffff",
    b"Content-Length: 5\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"GET / HTTP/1.1\r\n",
    b";",
    b"Connection: close\r\n",
];

/// Every byte there is.
const BYTES: [u8; 256] = {
    let mut bytes = [0; 256];
    let mut at = 1;
    while at < 256 {
        bytes[at] = bytes[at - 1] + 1;
        at += 1;
    }
    bytes
};

/// The requests and refusals in the bytes, given at once.
pub(crate) fn read_whole(bytes: &[u8]) -> Vec<Event> {
    read_cut(bytes, |_| usize::MAX)
}

/// The same, given in parts: `len(at)` bytes from `at` on. `Continue` is left out, since it
/// rightly depends on the cut.
pub(crate) fn read_cut(bytes: &[u8], mut len: impl FnMut(usize) -> usize) -> Vec<Event> {
    let mut reader = Reader::new();
    let mut events = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let end = at.saturating_add(len(at).max(1)).min(bytes.len());
        let mut part = &bytes[at..end];
        while let Some(event) = reader.next(&mut part) {
            assert!(events.len() <= bytes.len(), "more requests than bytes");
            if event != Event::Continue {
                events.push(event);
            }
        }
        assert!(part.is_empty(), "every byte is taken or refused");
        at = end;
    }
    events
}

/// Mutates a stream as the seed says, reads it whole, byte by byte and cut at random, and panics
/// where they differ; returns how many requests and refusals there were.
pub(crate) fn run_seed(seed: u64) -> (usize, usize) {
    let mut stream = Stream::named(seed, "mutate");
    #[expect(clippy::cast_possible_truncation, reason = "below n")]
    let mut below = |n: usize| stream.below(n.max(1) as u64) as usize;
    let mut bytes: Vec<u8> = Vec::new();
    for _ in 0..=below(3) {
        bytes.extend_from_slice(CORPUS[below(CORPUS.len())]);
    }
    for _ in 0..=below(4) {
        let at = below(bytes.len() + 1);
        match below(6) {
            0 if at < bytes.len() => bytes[at] = BYTES[below(256)],
            1 if at < bytes.len() => bytes[at] ^= 1 << below(8),
            2 => drop(bytes.drain(at..(at + below(20)).min(bytes.len()))),
            3 => {
                let again = bytes[at..(at + below(40)).min(bytes.len())].to_vec();
                drop(bytes.splice(at..at, again));
            }
            4 => drop(bytes.splice(at..at, vec![BYTES[below(256)]; below(20_000)])),
            _ => drop(bytes.splice(at..at, PIECES[below(PIECES.len())].iter().copied())),
        }
    }
    // A head in parts is looked at when a line ends: so the last one ends.
    bytes.extend_from_slice(b"\n");
    let whole = read_whole(&bytes);
    assert_eq!(read_cut(&bytes, |_| 1), whole, "seed {seed}, byte by byte");
    assert_eq!(read_cut(&bytes, |_| below(60)), whole, "seed {seed}, cut at random");
    let refused = whole.iter().filter(|event| matches!(event, Event::Reject(_))).count();
    (whole.len() - refused, refused)
}
