//! A server by hand: its bytes, and what becomes of them.

mod flow;
mod frames;
mod requests;

use super::frame::{self, flag, kind};
use super::hpack::encode::{self, Literal};
use super::{Connection, Http2, code, setting};
use crate::driver::{Driver, Event, Fate, Slot};
use crate::http1::encode::Head;
use plimsoll_runs::ErrorKind;
use plimsoll_workload::arrivals::Share;
use plimsoll_workload::request::{RenderState, Request, Requests, Template, Url};
use plimsoll_workload::scenario::Message;
use std::sync::Arc;

const SHARE: Share = Share { index: 0, of: 1 };

fn get(target: &str) -> Request {
    Request::new(Url::parse(&format!("http://example.org{target}")).unwrap())
}

fn driver(list: Vec<Request>, streams: u32, once: bool) -> Http2 {
    let mut requests = Requests::one(get("/"));
    requests.list = list;
    let head = Head { user_agent: "plimsoll".into(), host: None, close: false, proxy: None };
    Http2::new(Arc::new(requests), head, RenderState::new(1, SHARE), streams, once)
}

/// One connection with what was sent and what has happened on it.
struct Peer {
    driver: Http2,
    connection: Connection,
    sent: Vec<u8>,
    events: Vec<Event>,
    fate: Fate,
}

impl Peer {
    fn new(driver: Http2) -> Self {
        Self::with(driver, &[])
    }

    /// A connection whose peer has sent these settings.
    fn with(mut driver: Http2, settings: &[(u16, u32)]) -> Self {
        let mut sent = Vec::new();
        let connection = driver.open(&mut sent);
        let mut peer = Self { driver, connection, sent, events: Vec::new(), fate: Fate::Keep };
        let mut bytes = Vec::new();
        frame::settings(settings, &mut bytes);
        peer.receive(&bytes);
        assert_eq!((peer.fate, &peer.events[..]), (Fate::Keep, &[][..]));
        peer.sent.clear();
        peer
    }

    /// One with so many requests under way, in slots from 0 and streams from 1.
    fn asking(count: u32) -> Self {
        let mut peer = Self::new(driver(vec![get("/")], 100, false));
        for slot in 0..count {
            peer.ask(slot, 0);
        }
        peer.sent.clear();
        peer
    }

    fn ask(&mut self, slot: u32, index: u32) {
        let mut out = Vec::new();
        let bytes = self.driver.request(&mut self.connection, Slot(slot), index, &mut out);
        self.sent.extend_from_slice(bytes);
    }

    fn room(&self) -> u32 {
        self.driver.room(&self.connection)
    }

    fn receive(&mut self, bytes: &[u8]) {
        let (sent, events) = (&mut self.sent, &mut self.events);
        self.fate = self.driver.receive(&mut self.connection, bytes, sent, events);
    }

    /// What has happened since the last time, for these bytes.
    fn after(&mut self, bytes: &[u8]) -> Vec<Event> {
        self.receive(bytes);
        std::mem::take(&mut self.events)
    }

    /// What was sent since the last time, as frames: kind, flags, stream, payload.
    fn sent_frames(&mut self) -> Vec<(u8, u8, u32, Vec<u8>)> {
        frames(&std::mem::take(&mut self.sent))
    }
}

fn frames(mut bytes: &[u8]) -> Vec<(u8, u8, u32, Vec<u8>)> {
    let mut list = Vec::new();
    while let Some(head) = frame::Head::read(bytes) {
        let (payload, rest) = bytes[frame::HEAD..].split_at(head.len);
        list.push((head.kind, head.flags, head.stream, payload.to_vec()));
        bytes = rest;
    }
    assert!(bytes.is_empty(), "half a frame was sent");
    list
}

fn raw(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    frame::head(payload.len(), kind, flags, stream, &mut out);
    out.extend_from_slice(payload);
    out
}

fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, value) in fields {
        encode::field(name, value.as_bytes(), Literal::Plain, &mut out);
    }
    out
}

fn head(stream: u32, fields: &[(&str, &str)], flags: u8) -> Vec<u8> {
    raw(kind::HEADERS, flags | flag::END_HEADERS, stream, &block(fields))
}

fn data(stream: u32, body: &[u8], flags: u8) -> Vec<u8> {
    raw(kind::DATA, flags, stream, body)
}

fn settings(list: &[(u16, u32)]) -> Vec<u8> {
    let mut out = Vec::new();
    frame::settings(list, &mut out);
    out
}

/// A whole answer in two frames, and the bytes it counts.
fn answer(stream: u32, status: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len().to_string();
    let mut out = head(stream, &[(":status", status), ("content-length", &length)], 0);
    out.extend(data(stream, body, flag::END_STREAM));
    out
}

fn done(slot: u32, code: u16, bytes: usize) -> Event {
    Event::Done { slot: Slot(slot), code, bytes: bytes as u64 }
}

fn failed(slot: u32) -> Event {
    Event::Failed { slot: Slot(slot), kind: ErrorKind::Protocol }
}
