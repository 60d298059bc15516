//! Bodies of requests: DATA as far as the peer's windows are open (RFC 9113, section 5.2 and 6.9),
//! the rest when they open.

use super::frame::{self, flag, kind};
use super::{Connection, receive::Violation};
use std::sync::Arc;

/// What the peer allows, and what waits for it to allow more.
pub(super) struct Sending {
    /// Bytes that may be sent on the connection.
    window: i64,
    /// Bytes that may be sent on a new stream.
    first_window: i64,
    max_payload: usize,
    /// Bodies that are not sent whole, in the order in which they were begun.
    waiting: Vec<Waiting>,
}

struct Waiting {
    id: u32,
    /// Bytes that may be sent on this stream; below zero after the peer has made windows smaller.
    window: i64,
    body: Arc<[u8]>,
    sent: usize,
}

impl Default for Sending {
    fn default() -> Self {
        Self {
            window: i64::from(frame::FIRST_WINDOW),
            first_window: i64::from(frame::FIRST_WINDOW),
            max_payload: frame::MAX_PAYLOAD,
            waiting: Vec::new(),
        }
    }
}

impl Sending {
    /// Sends as much of a body as may be sent; `true` when it is sent whole.
    fn some(&mut self, waiting: &mut Waiting, out: &mut Vec<u8>) -> bool {
        loop {
            let left = waiting.body.len() - waiting.sent;
            let open = usize::try_from(self.window.min(waiting.window)).unwrap_or(0);
            let n = left.min(open).min(self.max_payload);
            if n == 0 {
                return left == 0;
            }
            let ends = if n == left { flag::END_STREAM } else { 0 };
            frame::head(n, kind::DATA, ends, waiting.id, out);
            out.extend_from_slice(&waiting.body[waiting.sent..waiting.sent + n]);
            waiting.sent += n;
            // A frame is shorter than 2^24.
            let n = i64::try_from(n).unwrap_or(0);
            self.window -= n;
            waiting.window -= n;
        }
    }

    /// Bytes on the heap, without the bodies.
    pub(super) fn held(&self) -> usize {
        self.waiting.capacity() * size_of::<Waiting>()
    }

    /// Whether a body waits for a window.
    pub(super) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Does not send the rest of a body.
    pub(super) fn forget(&mut self, id: u32) {
        self.waiting.retain(|waiting| waiting.id != id);
    }

    /// Does not send the rest of any body.
    pub(super) fn forget_all(&mut self) {
        self.waiting.clear();
    }

    /// The peer takes frames of this length.
    pub(super) fn allow_payload(&mut self, len: u32) {
        self.max_payload = len as usize;
    }

    /// A new stream's window is this from now on, and that of others differs by as much.
    pub(super) fn allow_first(&mut self, window: u32) -> Result<(), Violation> {
        let change = i64::from(window) - self.first_window;
        self.first_window = i64::from(window);
        for waiting in &mut self.waiting {
            waiting.window += change;
            if waiting.window > i64::from(frame::MOST) {
                return Err(Violation);
            }
        }
        Ok(())
    }

    /// The connection's window is so much wider.
    pub(super) fn widen(&mut self, by: u32) -> Result<(), Violation> {
        self.window += i64::from(by);
        if self.window > i64::from(frame::MOST) { Err(Violation) } else { Ok(()) }
    }

    /// A stream's window is so much wider; `false` if that is more than a window can be.
    pub(super) fn widen_stream(&mut self, id: u32, by: u32) -> bool {
        let Some(waiting) = self.waiting.iter_mut().find(|waiting| waiting.id == id) else {
            return true;
        };
        waiting.window += i64::from(by);
        waiting.window <= i64::from(frame::MOST)
    }
}

impl Connection {
    /// Begins to send the body of a new stream.
    pub(super) fn send_body(&mut self, id: u32, body: Arc<[u8]>, out: &mut Vec<u8>) {
        let mut waiting = Waiting { id, window: self.sending.first_window, body, sent: 0 };
        if !self.sending.some(&mut waiting, out) {
            if let Some(at) = self.streams.find(id) {
                self.streams.at(at).sending = true;
            }
            self.sending.waiting.push(waiting);
        }
    }

    /// Goes on with bodies, after a window has opened.
    pub(super) fn send_more(&mut self, out: &mut Vec<u8>) {
        let mut waiting = std::mem::take(&mut self.sending.waiting);
        waiting.retain_mut(|one| {
            let whole = self.sending.some(one, out);
            if whole && let Some(at) = self.streams.find(one.id) {
                self.streams.at(at).sending = false;
            }
            !whole
        });
        self.sending.waiting = waiting;
    }
}
