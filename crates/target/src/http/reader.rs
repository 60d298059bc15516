//! The stream of requests on one connection: bytes in, however they were cut, requests out.
//!
//! Idle it holds no buffer: the bytes of a head that has not come whole are kept until it has,
//! bodies are dropped as they come.

use super::chunked::Chunked;
use super::head::{self, Framing, Head, Link, MAX_HEAD, Reject};
use super::request_head::RequestHead;

/// What the bytes amounted to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A request has been read to its last byte.
    Request(Request),
    /// A head has been read whose client waits for `100 Continue` before it goes on.
    Continue,
    /// The bytes are no request; nothing more is read from this connection.
    Reject(Reject),
}

/// A request that has been read whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// HEAD: the answer has no body.
    pub is_head: bool,
    /// What becomes of the connection.
    pub link: Link,
    /// It asks for the server's own counters.
    pub is_of_counters: bool,
}

/// Reads requests from a stream of bytes.
#[derive(Debug)]
pub struct Reader {
    state: State,
    request: Request,
    /// The beginning of a head that has not come whole.
    #[expect(clippy::box_collection, reason = "one word in every idle connection, not three")]
    partial: Option<Box<Vec<u8>>>,
    /// Whether it is noted what each request asks for.
    notes: bool,
    /// What the request that is being read asks for, where that is noted.
    asked: Option<Box<RequestHead>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Head,
    Length(u64),
    Chunked(Chunked),
    /// After a refusal, or a request that closes: what follows is dropped.
    Over,
}

impl Default for Reader {
    fn default() -> Self {
        Self::new()
    }
}

impl Reader {
    /// At the beginning of a connection.
    #[must_use]
    pub fn new() -> Self {
        let request = Request { is_head: false, link: Link::Keep, is_of_counters: false };
        Self { state: State::Head, request, partial: None, notes: false, asked: None }
    }

    /// The same; it is noted what each request asks for, where `notes` says so.
    #[must_use]
    pub fn noting(self, notes: bool) -> Self {
        Self { notes, ..self }
    }

    /// What the request that was read last asks for, where that is noted.
    pub fn take_asked(&mut self) -> Option<Box<RequestHead>> {
        self.asked.take()
    }

    /// Takes bytes from the front of `bytes` until they make an event; `None` when all are taken.
    pub fn next(&mut self, bytes: &mut &[u8]) -> Option<Event> {
        loop {
            match &mut self.state {
                State::Over => {
                    *bytes = &[];
                    return None;
                }
                State::Head => match self.head(bytes) {
                    Ok(head) => {
                        let head = head?;
                        let Head { is_head, link, is_of_counters, .. } = head;
                        self.request = Request { is_head, link, is_of_counters };
                        match head.framing {
                            Framing::Length(0) => return Some(self.finish()),
                            Framing::Length(length) => self.state = State::Length(length),
                            Framing::Chunked => self.state = State::Chunked(Chunked::new()),
                        }
                        // A client that has begun with the body already does not wait.
                        if head.expects_continue && bytes.is_empty() {
                            return Some(Event::Continue);
                        }
                    }
                    Err(reject) => return Some(self.reject(reject)),
                },
                State::Length(left) => {
                    let run = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
                    if let Some(asked) = &mut self.asked {
                        asked.body(&bytes[..run]);
                    }
                    *bytes = &bytes[run..];
                    *left -= run as u64;
                    return (*left == 0).then(|| self.finish());
                }
                State::Chunked(body) => {
                    let asked = &mut self.asked;
                    let data = |data: &[u8]| {
                        if let Some(asked) = asked {
                            asked.body(data);
                        }
                    };
                    return match body.drop_from(bytes, data) {
                        Ok(is_complete) => is_complete.then(|| self.finish()),
                        Err(reject) => Some(self.reject(reject)),
                    };
                }
            }
        }
    }

    /// Whether the connection is between two requests.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.state == State::Head && self.partial.is_none()
    }

    fn finish(&mut self) -> Event {
        self.state = if self.request.link == Link::Close { State::Over } else { State::Head };
        Event::Request(self.request)
    }

    fn reject(&mut self, reject: Reject) -> Event {
        self.state = State::Over;
        self.partial = None;
        Event::Reject(reject)
    }

    fn head(&mut self, bytes: &mut &[u8]) -> Result<Option<Head>, Reject> {
        if self.partial.is_some() {
            return self.head_in_parts(bytes);
        }
        // Empty lines before a request line are passed over, RFC 9112 section 2.2.
        while let [b'\r', b'\n', rest @ ..] = bytes {
            *bytes = rest;
        }
        if bytes.is_empty() {
            return Ok(None);
        }
        let head = head::parse(bytes)?;
        match head {
            Some(head) => {
                self.note(&bytes[..head.len]);
                *bytes = &bytes[head.len..];
            }
            None => self.keep(bytes),
        }
        Ok(head)
    }

    /// Notes what a whole head asks for.
    #[inline]
    fn note(&mut self, head: &[u8]) {
        if self.notes {
            self.asked = Some(Box::new(RequestHead::of(head)));
        }
    }

    /// Keeps all the bytes for later.
    fn keep(&mut self, bytes: &mut &[u8]) {
        self.partial = Some(Box::new(bytes.to_vec()));
        *bytes = &[];
    }

    /// A head of which some bytes had been kept. It is parsed anew only when a line has ended, so
    /// that a client that sends single bytes does not cost a parse for each.
    fn head_in_parts(&mut self, bytes: &mut &[u8]) -> Result<Option<Head>, Reject> {
        let Some(mut partial) = self.partial.take() else { return Ok(None) };
        let before = partial.len();
        let room = bytes.len().min(MAX_HEAD.saturating_sub(before));
        partial.extend_from_slice(&bytes[..room]);
        if !bytes[..room].contains(&b'\n') && partial.len() < MAX_HEAD {
            *bytes = &bytes[room..];
            self.partial = Some(partial);
            return Ok(None);
        }
        let blank = partial.chunks(2).take_while(|pair| *pair == b"\r\n").count() * 2;
        let head = head::parse(&partial[blank..])?;
        match head {
            // What was kept held no whole head, so this one ends within `bytes`.
            Some(head) => {
                self.note(&partial[blank..blank + head.len]);
                *bytes = &bytes[(blank + head.len).saturating_sub(before)..];
            }
            None if partial.len() >= MAX_HEAD => return Err(Reject::TooLarge),
            None => {
                *bytes = &bytes[room..];
                if blank < partial.len() {
                    partial.drain(..blank);
                    self.partial = Some(partial);
                }
            }
        }
        Ok(head)
    }
}
