//! HTTP/2 (RFC 9113) with header compression (RFC 7541): many requests at once on a connection, as
//! streams.
//!
//! # What an answer counts
//!
//! The bytes of an answer are those of its frames: HEADERS, CONTINUATION and DATA with their heads
//! of nine bytes and their padding, interim answers and trailers included.
//!
//! # What ends a stream, and what ends the connection
//!
//! A message that is malformed (RFC 9113, section 8.1.1: no `:status`, a field that no answer may
//! have, another length than the one announced) ends its stream, which is reset. A frame that may
//! not come, or a header block that cannot be read, ends the connection: everything on it fails as
//! [`ErrorKind::Protocol`](plimsoll_runs::ErrorKind::Protocol). The engine closes the socket then,
//! so that no GOAWAY is sent.
//!
//! After GOAWAY nothing more is sent on a connection; it is closed as soon as the rest is answered.
//!
//! # Flow control
//!
//! Bodies are not kept, so there is nothing to protect: windows are as good as open, and are given
//! back by halves. Bodies of requests keep to the peer's windows.

mod frame;
mod hpack;
mod receive;
mod request;
mod send;
mod streams;
#[cfg(test)]
mod tests;

use crate::driver::{Driver, Event, Fate, Follow, Slot, Words};
use crate::http1::encode::{Head, is_repeatable, is_repeatable_method};
use crate::redirects::Redirects;
use frame::{code, kind, setting};
use hpack::decode::Decoder;
use hpack::texts::Texts;
use plimsoll_workload::check::Answer;
use plimsoll_workload::request::{RenderState, Requests};
use plimsoll_workload::scenario::Message;
use plimsoll_workload::traceparent::Traceparent;
use request::{Encoder, Table};
use send::Sending;
use std::collections::BTreeMap;
use std::sync::Arc;
use streams::Streams;

/// What is agreed on by TLS (section 3.2).
pub const ALPN: &[u8] = b"h2";

/// The windows that we offer for answers, and for a whole connection.
const WINDOW: u32 = 1 << 30;

/// The driver: what can be asked, and how it is asked.
pub struct Http2 {
    encoder: Encoder,
    /// Requests at once on a connection.
    streams: u32,
    /// The last number that a stream may have.
    last_id: u32,
    /// For a header block and strings on their way.
    block: Vec<u8>,
    text: Vec<u8>,
    /// Streams on which an answer has begun in the bytes that are being received.
    begun: Vec<u32>,
    /// Whether answers are kept.
    keeps: bool,
    /// What users send, where there is a scenario in place of a list.
    users: Option<Made>,
    words: Words,
    redirects: Redirects,
}

/// What users send.
struct Made {
    /// The schemes of the servers that they ask, by their numbers.
    schemes: Vec<&'static str>,
    /// By the users' seats.
    messages: Vec<MadeMessage>,
}

/// What a user sends.
#[derive(Default)]
struct MadeMessage {
    block: Vec<u8>,
    body: Option<Arc<[u8]>>,
    is_head: bool,
    is_repeatable: bool,
    /// How much of the answer's body is kept, bytes.
    keep: usize,
}

/// What is kept of the answers on a connection, where that is wanted.
#[derive(Default)]
struct Kept {
    texts: Texts,
    /// By the number of their slot.
    answers: BTreeMap<u32, Answer>,
    /// The slot whose DATA is passed over, and how many of its bytes are content.
    skip: (u32, usize),
}

/// A connection's state.
pub struct Connection {
    streams: Streams,
    /// The number of the next stream.
    next_id: u32,
    /// What the peer allows at once.
    peer_streams: u32,
    /// Whether the peer has sent its first SETTINGS.
    settled: bool,
    /// No more requests: the peer is going away.
    leaving: bool,
    /// Whether we have reset a stream, on which frames may then still come.
    has_reset: bool,
    /// What the peer's table holds, the size it may have, and whether that is still to be said.
    table: Table,
    table_size: usize,
    resize: bool,
    decoder: Decoder,
    /// Frames that are no part of an answer since the last that was one.
    idle_frames: u32,
    /// A frame that is not whole, unless it is DATA.
    partial: Vec<u8>,
    /// Bytes of DATA that are still to come, and the stream that they end, or 0.
    skip: usize,
    skip_ends: u32,
    /// A header block that is not whole, its stream (0: none) and what came with it.
    block: Vec<u8>,
    block_of: u32,
    block_ends: bool,
    block_bytes: u64,
    /// Bytes of DATA that the connection's window has not been given back.
    taken: u32,
    sending: Sending,
    kept: Option<Box<Kept>>,
}

impl Http2 {
    /// A driver for these requests, `streams` of them at once on a connection. With `once`, each
    /// request gets a connection of its own.
    #[must_use]
    pub fn new(
        requests: Arc<Requests>,
        head: Head,
        render: RenderState,
        streams: u32,
        once: bool,
    ) -> Self {
        Self {
            encoder: Encoder::new(requests, head, render),
            streams: streams.max(1),
            last_id: if once { 1 } else { frame::MOST },
            block: Vec::new(),
            text: Vec::new(),
            begun: Vec::new(),
            keeps: false,
            users: None,
            words: Words::default(),
            redirects: Redirects::default(),
        }
    }

    /// The same, which follows up to so many redirects a request.
    #[must_use]
    pub fn following(self, most: u32) -> Self {
        let redirects = Redirects::new(most, self.encoder.host().map(str::to_owned));
        Self { redirects, ..self }
    }

    /// The same, which keeps answers.
    #[must_use]
    pub fn keeping(self) -> Self {
        Self { keeps: true, ..self }
    }

    /// The same for users, whose requests are given one by one; the servers that they ask have
    /// these schemes, by their numbers.
    #[must_use]
    pub fn of_users(self, schemes: Vec<&'static str>) -> Self {
        let users = Some(Made { schemes, messages: Vec::new() });
        Self { keeps: true, users, ..self }
    }

    /// What the user in a seat sends, where there are users.
    fn made(&self, seat: u32) -> Option<&MadeMessage> {
        self.users.as_ref()?.messages.get(seat as usize)
    }

    /// Whether nothing is or will be under way on a connection.
    fn is_over(&self, connection: &Connection) -> bool {
        connection.streams.len() == 0 && (connection.leaving || connection.next_id > self.last_id)
    }
}

impl Connection {
    /// Bytes it holds on the heap, but for bodies of requests, which it shares: what 18,000 of them
    /// cost, and what a peer can make of it.
    #[must_use]
    pub fn held(&self) -> usize {
        self.partial.capacity()
            + self.block.capacity()
            + self.streams.held()
            + self.decoder.held()
            + self.sending.held()
    }

    /// Says that the table is to be smaller if the peer wants it so, before the next header block.
    fn resize(&mut self, block: &mut Vec<u8>) {
        if std::mem::take(&mut self.resize) {
            hpack::encode::resize(self.table_size, block);
        }
    }

    /// The peer allows a table of this size.
    fn allow_table(&mut self, size: usize, needed: usize) {
        if size < self.table_size {
            self.table_size = size;
            self.resize = true;
            if size < needed {
                self.table = Table::None;
            }
        }
    }

    /// Ends a stream on our side.
    fn reset(&mut self, id: u32, code: u32, out: &mut Vec<u8>) {
        self.has_reset = true;
        frame::number(kind::RST_STREAM, id, code, out);
    }
}

impl Driver for Http2 {
    type Connection = Connection;

    const GATHERS: bool = true;
    const READ: usize = 64 * 1024;

    fn open(&mut self, out: &mut Vec<u8>) -> Connection {
        out.extend_from_slice(frame::PREFACE);
        let settings = [(setting::ENABLE_PUSH, 0), (setting::INITIAL_WINDOW_SIZE, WINDOW)];
        frame::settings(&settings, out);
        frame::number(kind::WINDOW_UPDATE, 0, WINDOW - frame::FIRST_WINDOW, out);
        Connection {
            streams: Streams::default(),
            next_id: 1,
            peer_streams: u32::MAX,
            settled: false,
            leaving: false,
            has_reset: false,
            table: Table::Empty,
            table_size: hpack::TABLE_SIZE,
            resize: false,
            decoder: Decoder::new(self.redirects.is_on()),
            idle_frames: 0,
            partial: Vec::new(),
            skip: 0,
            skip_ends: 0,
            block: Vec::new(),
            block_of: 0,
            block_ends: false,
            block_bytes: 0,
            taken: 0,
            sending: Sending::default(),
            kept: self.keeps.then(Box::default),
        }
    }

    #[inline]
    fn room(&self, connection: &Connection) -> u32 {
        if connection.leaving || connection.next_id > self.last_id {
            return 0;
        }
        let numbers = (self.last_id - connection.next_id) / 2 + 1;
        // Until the peer has said what it allows, one request asks it: more could be refused.
        let allowed = if connection.settled { connection.peer_streams } else { 1 };
        let at_once = self.streams.min(allowed);
        at_once.saturating_sub(connection.streams.len()).min(numbers)
    }

    #[inline]
    fn request<'a>(
        &'a mut self,
        connection: &mut Connection,
        slot: Slot,
        index: u32,
        out: &'a mut Vec<u8>,
    ) -> &'a [u8] {
        let id = connection.next_id;
        connection.next_id = id.saturating_add(2);
        if let Some(made) = self.users.as_ref().and_then(|of| of.messages.get(index as usize)) {
            connection.streams.add(id, slot, made.is_head);
            if let Some(kept) = &mut connection.kept {
                let answer = Answer { most: Some(made.keep), ..Answer::default() };
                kept.answers.insert(slot.0, answer);
            }
            self.block.clear();
            connection.resize(&mut self.block);
            self.block.extend_from_slice(&made.block);
            frame::headers(&self.block, made.body.is_none(), id, out);
            if let Some(body) = made.body.clone() {
                connection.send_body(id, body, out);
            }
            return out;
        }
        if self.redirects.is_on() {
            if self.redirects.request(slot).is_none() && !self.encoder.request(index).is_static() {
                self.redirects.begin(slot, self.encoder.rendered(index));
            }
            if let Some(request) = self.redirects.request(slot) {
                connection.streams.add(id, slot, request.method == "HEAD");
                self.block.clear();
                connection.resize(&mut self.block);
                let body = self.encoder.make_other(request, &mut self.block);
                frame::headers(&self.block, body.is_none(), id, out);
                if let Some(body) = body {
                    connection.send_body(id, body, out);
                }
                return out;
            }
        }
        connection.streams.add(id, slot, self.encoder.is_head(index));
        if let Some(kept) = &mut connection.kept {
            kept.answers.insert(slot.0, Answer::default());
        }
        let table = connection.table;
        if table == Table::Empty {
            connection.table = Table::Filled;
        }
        if self.encoder.is_made(index) && !connection.resize {
            let (frame, body) = self.encoder.made(index, table, id);
            let Some(body) = body else { return frame };
            out.extend_from_slice(frame);
            connection.send_body(id, body, out);
            return out;
        }
        self.block.clear();
        connection.resize(&mut self.block);
        let body = self.encoder.make_now(index, table, &mut self.block);
        self.encoder.next();
        frame::headers(&self.block, body.is_none(), id, out);
        if let Some(body) = body {
            connection.send_body(id, body, out);
        }
        out
    }

    fn take_traceparent(&mut self) -> Option<Traceparent> {
        self.encoder.take_traceparent()
    }

    fn prepare(&mut self, seat: u32, message: &Message, host: &str, keep: u64) {
        let Some(Made { schemes, messages }) = &mut self.users else { return };
        let at = seat as usize;
        if at >= messages.len() {
            messages.resize_with(at + 1, MadeMessage::default);
        }
        let made = &mut messages[at];
        let scheme = schemes.get(usize::from(message.origin)).copied().unwrap_or("http");
        made.body = self.encoder.make_message(message, (scheme, host), &mut made.block);
        made.is_head = message.method == "HEAD";
        made.is_repeatable = is_repeatable_method(&message.method);
        made.keep = usize::try_from(keep).unwrap_or(usize::MAX);
    }

    fn is_repeatable(&self, slot: Slot, index: u32) -> bool {
        if let Some(made) = self.made(index) {
            return made.is_repeatable;
        }
        is_repeatable(self.redirects.request(slot).unwrap_or(self.encoder.request(index)))
    }

    fn follow(&mut self, slot: Slot, index: u32, code: u16) -> Follow {
        match self.redirects.follow(slot, self.encoder.request(index), code) {
            Ok(follow) => follow,
            Err(why) => {
                self.words.say(slot, why);
                Follow::Astray
            }
        }
    }

    fn forget(&mut self, slot: Slot) {
        self.redirects.end(slot);
    }

    fn receive(
        &mut self,
        connection: &mut Connection,
        bytes: &[u8],
        out: &mut Vec<u8>,
        events: &mut Vec<Event>,
    ) -> Fate {
        self.words.clear();
        let mut receiving = receive::Receiving {
            connection,
            words: &mut self.words,
            culprit: None,
            text: &mut self.text,
            begun: &mut self.begun,
            table_needed: self.encoder.table_size(),
            redirects: &mut self.redirects,
            out,
            events,
        };
        let result = receiving.all(bytes);
        receiving.announce();
        if result.is_err() {
            receiving.fail(bytes);
            return Fate::Close;
        }
        if self.is_over(connection) { Fate::Close } else { Fate::Keep }
    }

    fn words(&mut self, slot: Slot) -> Option<Vec<u8>> {
        self.words.take(slot)
    }

    fn answer(&mut self, connection: &mut Connection, slot: Slot) -> Option<Answer> {
        connection.kept.as_mut()?.answers.remove(&slot.0)
    }

    /// No answer ends with the connection: what is not whole has failed.
    fn end(&mut self, _: &mut Connection, _: &mut Vec<Event>) {}

    fn abandon(&mut self, connection: &mut Connection, slot: Slot, out: &mut Vec<u8>) -> Fate {
        if let Some(id) = connection.streams.with_slot(slot)
            && let Some(at) = connection.streams.find(id)
        {
            connection.streams.remove(at);
            connection.sending.forget(id);
            connection.kept.iter_mut().for_each(|kept| drop(kept.answers.remove(&slot.0)));
            connection.reset(id, code::CANCEL, out);
        }
        if self.is_over(connection) { Fate::Close } else { Fate::Keep }
    }
}
