//! Bytes of a server, changed at random: whatever comes, every request ends once, what is sent are
//! whole frames, and memory stays within bounds.

use plimsoll_load::driver::{Driver, Event, Fate, Slot};
use plimsoll_load::http1::encode::Head;
use plimsoll_load::http2::Http2;
use plimsoll_workload::arrivals::Share;
use plimsoll_workload::random::Stream;
use plimsoll_workload::request::{RenderState, Request, Requests, Template, Url};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Requests at once.
const STREAMS: u32 = 24;
/// What a connection may hold: a block of 256 KiB and the frame that makes it too long, doubled as
/// vectors grow; a table of 4 KiB; streams.
const MOST_HELD: usize = 700 * 1024;
/// The body of each second request.
const BODY: usize = 70_000;

/// A header block with additions to the table, coded strings, a length.
const BLOCKS: [&[u8]; 6] = [
    &[0x88],
    &[0x48, 0x82, 0x64, 0x02, 0x58, 0x85, 0xae, 0xc3, 0x77, 0x1a, 0x4b],
    &[0x3f, 0xe1, 0x1f, 0x88, 0x40, 0x01, b'x', 0x03, b'a', b'b', b'c', 0xbe],
    &[0x88, 0x0f, 0x0d, 0x01, b'5', 0x0f, 0x27, 0x02, b'h', b'2'],
    &[0x8d, 0x10, 0x01, b'y', 0x00],
    &[0x08, 0x03, b'1', b'0', b'3'],
];

struct Round {
    random: Stream,
    driver: Http2,
    sent: Vec<u8>,
    live: BTreeSet<u32>,
    next_slot: u32,
    asked: usize,
}

/// One connection from its beginning to its end, or for as long as there are bytes.
pub(crate) fn round(seed: u64) {
    let mut random = Stream::named(seed, "http2-mutate");
    let streams = u32::try_from(random.below(u64::from(STREAMS))).unwrap() + 1;
    let get = Request::new(Url::parse("http://test.example/").unwrap());
    let mut requests = Requests::one(get.clone());
    requests.list.push(get.body(Template::literal(vec![b'x'; BODY])));
    let head = Head { user_agent: "plimsoll".into(), host: None, close: false, proxy: None };
    let render = RenderState::new(1, Share { index: 0, of: 1 });
    let once = random.below(20) == 0;
    let driver = Http2::new(Arc::new(requests), head, render, streams, once);
    let bytes = changed(&mut random);
    let mut round =
        Round { random, driver, sent: Vec::new(), live: BTreeSet::new(), next_slot: 0, asked: 0 };
    round.play(&bytes, streams);
}

impl Round {
    fn play(&mut self, bytes: &[u8], streams: u32) {
        let mut preface = Vec::new();
        let mut connection = self.driver.open(&mut preface);
        let mut events = Vec::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            while self.driver.room(&connection) > 0 && self.random.below(3) > 0 {
                let (slot, index) = (Slot(self.next_slot), self.next_slot % 2);
                let mut out = Vec::new();
                let sent = self.driver.request(&mut connection, slot, index, &mut out);
                self.sent.extend_from_slice(sent);
                self.live.insert(self.next_slot);
                self.next_slot += 1;
                self.asked += 1;
            }
            if self.random.below(16) == 0
                && let Some(&slot) = self.live.first()
            {
                self.live.remove(&slot);
                let fate = self.driver.abandon(&mut connection, Slot(slot), &mut self.sent);
                if fate == Fate::Close {
                    assert!(self.live.is_empty());
                    break;
                }
            }
            let most = if self.random.below(4) == 0 { 8 } else { 3000 };
            let n = usize::try_from(self.random.below(most)).unwrap().min(rest.len());
            let (part, after) = rest.split_at(n);
            rest = after;
            let fate = self.driver.receive(&mut connection, part, &mut self.sent, &mut events);
            events.drain(..).for_each(|event| self.take(event, bytes.len()));
            let live = u32::try_from(self.live.len()).unwrap();
            assert!(self.driver.room(&connection) <= streams.saturating_sub(live));
            assert!(connection.held() <= MOST_HELD, "{} bytes are held", connection.held());
            if fate == Fate::Close {
                assert!(self.live.is_empty(), "unanswered: {:?}", self.live);
                break;
            }
        }
        self.driver.end(&mut connection, &mut events);
        assert!(events.is_empty());
        self.sent_is_whole(bytes.len());
    }

    fn take(&mut self, event: Event, received: usize) {
        match event {
            Event::FirstByte(slot) => assert!(self.live.contains(&slot.0)),
            Event::Done { slot, code, bytes } => {
                assert!(self.live.remove(&slot.0), "{slot:?} is answered twice");
                assert!((200..1000).contains(&code));
                assert!((9..=received as u64).contains(&bytes));
            }
            Event::Failed { slot, .. } | Event::Refused(slot) => {
                assert!(self.live.remove(&slot.0), "{slot:?} ends twice");
            }
        }
    }

    /// Whole frames, and no more of them than were asked for: in answer to a frame, at most one of
    /// the same length or 13 bytes.
    fn sent_is_whole(&self, received: usize) {
        let (mut rest, mut data) = (&self.sent[..], 0);
        while let Some((head, after)) = rest.split_at_checked(9) {
            let len = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
            data += if head[3] == 0 { len } else { 0 };
            rest = after.get(len..).expect("whole frames");
        }
        assert!(rest.is_empty(), "half a frame's head was sent");
        assert!(data <= self.asked * BODY);
        assert!(self.sent.len() - data <= 2 * received + self.asked * 300 + data / 100 + 20);
    }
}

/// A number below `most`.
fn below(random: &mut Stream, most: usize) -> usize {
    usize::try_from(random.below(most as u64)).unwrap()
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut out = payload.len().to_be_bytes()[5..].to_vec();
    out.extend_from_slice(&[kind, flags]);
    out.extend_from_slice(&stream.to_be_bytes());
    out.extend_from_slice(payload);
    out
}

/// A server's frames, most of them in order, then changed in some places.
fn changed(random: &mut Stream) -> Vec<u8> {
    let mut frames = vec![frame(4, 0, 0, &[0, 3, 0, 0, 0, 100, 0, 4, 0, 1, 0, 0])];
    let count = below(random, 60);
    for _ in 0..count {
        let stream = u32::try_from(below(random, 40)).unwrap() * 2 + 1;
        some_frames(random, stream, &mut frames);
    }
    if below(random, 3) == 0 && frames.len() > 2 {
        let (a, b) = (below(random, frames.len()), below(random, frames.len()));
        frames.swap(a, b);
    }
    let mut bytes = frames.concat();
    for _ in 0..below(random, 4) {
        change(random, &mut bytes);
    }
    bytes
}

fn some_frames(random: &mut Stream, stream: u32, frames: &mut Vec<Vec<u8>>) {
    let block = BLOCKS[below(random, BLOCKS.len())];
    match below(random, 14) {
        0..=4 => {
            frames.push(frame(1, 4, stream, block));
            frames.push(frame(0, 1, stream, b"hello"));
        }
        5 => frames.push(frame(1, 5, stream, block)),
        6 => {
            let cut = below(random, block.len() + 1);
            frames.push(frame(1, 1, stream, &block[..cut]));
            frames.push(frame(9, 4, stream, &block[cut..]));
        }
        7 => {
            let len = below(random, 17_000);
            frames.push(frame(1, 4, stream, BLOCKS[0]));
            frames.push(frame(0, 8, stream, &vec![9; len]));
            frames.push(frame(0, 1, stream, b""));
        }
        8 => frames.push(frame(3, 0, stream, &[0, 0, 0, 7])),
        9 => frames.push(frame(6, 0, 0, b"opaquely")),
        10 => {
            let stream = if below(random, 3) == 0 { 0 } else { stream };
            frames.push(frame(8, 0, stream, &[0, 1, 0, 0]));
        }
        11 => frames.push(frame(4, 0, 0, &[0, 1, 0, 0, 0, 0, 0, 4, 0, 0, 0, 9])),
        12 => {
            // A block that is too long, in parts.
            frames.push(frame(1, 0, stream, &[0; 16_000]));
            frames.extend((0..6).map(|_| frame(9, 0, stream, &[0; 16_000])));
        }
        _ => {
            let last = u8::try_from(stream % 64).unwrap();
            frames.push(frame(7, 0, 0, &[0, 0, 0, last, 0, 0, 0, 0]));
        }
    }
}

/// Changes one place.
fn change(random: &mut Stream, bytes: &mut Vec<u8>) {
    if bytes.is_empty() {
        return;
    }
    let at = below(random, bytes.len());
    let end = (at + 1 + below(random, 20)).min(bytes.len());
    match below(random, 6) {
        0 => bytes[at] ^= 1 << below(random, 8),
        1 => bytes[at] = u8::try_from(below(random, 256)).unwrap(),
        2 => drop(bytes.drain(at..end)),
        3 => {
            let copy = bytes[at..end].to_vec();
            bytes.splice(at..at, copy);
        }
        4 => {
            let noise: Vec<u8> = (at..end).map(|_| random.next_u64().to_le_bytes()[0]).collect();
            bytes.splice(at..at, noise);
        }
        _ => bytes.truncate(at),
    }
}
