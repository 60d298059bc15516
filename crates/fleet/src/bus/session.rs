//! A session over a bus, at either end: what is read and written there as over a pipe.
//!
//! A thread has the [`Stream`]; it signs what is said, and believes nothing that the other end has
//! not signed for this session. What is said waits bounded: who writes more waits, as at a pipe.

use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use plimsoll_load::clock::monotonic_ns;

use super::envelope::{self, Head, Kind, Nonce};
use super::key::{PublicKey, Secret};
use super::post::Post;
use super::stream::{Came, Out, Stream};

/// So much waits to be said at most, bytes.
const MOST_SAID: usize = 4 << 20;
/// So much waits to be read at most, bytes: what comes beyond it is not taken, and comes again.
const MOST_UNREAD: usize = 8 << 20;
/// So many events wait at most.
const EVENTS: usize = 64;
/// So long the other end may take to hear the last words.
const LAST_NS: u64 = 3_000_000_000;
/// Where nothing is due, it is looked so often all the same.
const LOOK: Duration = Duration::from_millis(500);
/// The longest last words that are kept, bytes.
const WORDS: usize = 2048;

/// Which end of a session this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Controller,
    Worker,
}

/// What a session needs.
pub(super) struct Session {
    pub(super) side: Side,
    pub(super) own: Arc<Secret>,
    pub(super) other: PublicKey,
    pub(super) controller: Nonce,
    pub(super) worker: Nonce,
    pub(super) post: Post,
    /// The key by which the other end is found.
    pub(super) to: String,
}

/// What happens to a session.
enum Event {
    /// A message for it, of which nothing is believed.
    Came(Vec<u8>),
    Say(Vec<u8>),
    /// Nothing more is said than these last words.
    End(String),
    /// Nothing more is heard or said.
    Cut,
    /// All that is on its way may be lost.
    Back,
}

/// What others see of a session.
#[derive(Default)]
pub(super) struct Status {
    /// How many messages of the other end were heard.
    heard: AtomicU64,
    /// How many bytes wait to be read, and to be taken apart.
    unread: AtomicUsize,
    unopened: AtomicUsize,
    /// How many messages were not believed.
    refused: AtomicU64,
    flow: Mutex<Flow>,
    moved: Condvar,
}

#[derive(Default)]
struct Flow {
    /// How many bytes were written, and are not yet in the stream; how many wait there.
    written: usize,
    waiting: usize,
    /// Whether nothing is said any more.
    is_over: bool,
    /// The last words of the other end, once they were heard; or why nothing more is heard of it.
    last_words: Option<String>,
    /// Whether nothing more is heard or said.
    is_cut: bool,
}

impl Status {
    fn flow(&self) -> MutexGuard<'_, Flow> {
        self.flow.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why nothing more is heard or said, where that is so.
    fn is_cut(&self) -> Option<String> {
        let flow = self.flow();
        flow.is_cut.then(|| flow.last_words.clone().unwrap_or_default())
    }
}

/// Both ends of a session, for whoever reads and writes there, and for whoever has its mail.
pub(crate) struct Ends {
    pub(crate) reader: Reader,
    pub(crate) writer: Writer,
    pub(crate) door: Door,
}

/// Where mail for a session is handed in.
#[derive(Clone)]
pub(crate) struct Door {
    events: SyncSender<Event>,
    status: Arc<Status>,
    post: Post,
}

/// What the other end says, as bytes; at its end the session is over.
pub(crate) struct Reader {
    chunks: Receiver<Vec<u8>>,
    chunk: Vec<u8>,
    at: usize,
    status: Arc<Status>,
}

/// What is said to the other end, as bytes. When it goes, nothing more is said.
pub(crate) struct Writer {
    events: SyncSender<Event>,
    status: Arc<Status>,
    last_words: String,
}

impl Session {
    /// What is heard at this end: a part, the last one, how far the other end has heard.
    fn kinds_heard(&self) -> (Kind, Kind, Kind) {
        match self.side {
            Side::Controller => (Kind::Answered, Kind::AnsweredLast, Kind::WorkerHeard),
            Side::Worker => (Kind::Told, Kind::ToldLast, Kind::ControllerHeard),
        }
    }

    /// Begins it.
    pub(super) fn begin(self) -> Ends {
        let (events, happens) = sync_channel(EVENTS);
        let (tell, chunks) = channel();
        let status = Arc::<Status>::default();
        let post = self.post.clone();
        let running = Running { of: self, status: status.clone(), stream: Stream::default() };
        thread::spawn(move || running.go_on(&happens, tell));
        let reader = Reader { chunks, chunk: Vec::new(), at: 0, status: status.clone() };
        let writer =
            Writer { events: events.clone(), status: status.clone(), last_words: String::new() };
        Ends { reader, writer, door: Door { events, status, post } }
    }
}

impl Door {
    /// How many messages of the other end were heard.
    pub(crate) fn heard(&self) -> u64 {
        self.status.heard.load(Ordering::Acquire)
    }

    /// Whether the session is over.
    pub(crate) fn is_over(&self) -> bool {
        self.status.flow().is_over
    }

    /// The last words of the other end; empty where there are none.
    pub(crate) fn last_words(&self) -> String {
        self.status.flow().last_words.clone().unwrap_or_default()
    }

    /// Whether this end's broker is away.
    pub(crate) fn is_cut_off(&self) -> bool {
        self.post.is_away()
    }

    /// How many messages for the session were not believed.
    pub(super) fn refused(&self) -> u64 {
        self.status.refused.load(Ordering::Acquire)
    }

    /// Hands in a message. It is dropped where too much waits: it comes again.
    pub(super) fn hand_in(&self, message: Vec<u8>) {
        let length = message.len();
        if self.status.unopened.fetch_add(length, Ordering::AcqRel) > MOST_UNREAD
            || self.events.try_send(Event::Came(message)).is_err()
        {
            self.status.unopened.fetch_sub(length, Ordering::AcqRel);
        }
    }

    /// All that is on its way may be lost.
    pub(super) fn again(&self) {
        // Where it is busy it sends again after a while.
        let _ = self.events.try_send(Event::Back);
    }

    /// Ends the session at this end, for this reason: nothing more is heard.
    pub(super) fn cut(&self, why: &str) {
        let mut flow = self.status.flow();
        flow.is_cut = true;
        flow.last_words.get_or_insert_with(|| why.to_owned());
        drop(flow);
        // Where it is busy it looks soon.
        let _ = self.events.try_send(Event::Cut);
    }

    /// Whether the other end has said its last words, or nobody hears it any more.
    pub(super) fn has_heard_last(&self) -> bool {
        self.status.flow().last_words.is_some()
    }
}

impl Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.chunk.len() {
            let Ok(chunk) = self.chunks.recv() else { return Ok(0) };
            self.status.unread.fetch_sub(chunk.len(), Ordering::AcqRel);
            (self.chunk, self.at) = (chunk, 0);
        }
        let length = buffer.len().min(self.chunk.len() - self.at);
        buffer[..length].copy_from_slice(&self.chunk[self.at..self.at + length]);
        self.at += length;
        Ok(length)
    }
}

impl Writer {
    /// Says nothing more than these last words.
    pub(super) fn end(mut self, words: String) {
        self.last_words = words;
    }
}

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = bytes.len().min(MOST_SAID);
        let mut flow = self.status.flow();
        while flow.written + flow.waiting > MOST_SAID && !flow.is_over {
            flow = self.status.moved.wait(flow).unwrap_or_else(PoisonError::into_inner);
        }
        if flow.is_over {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        flow.written += length;
        drop(flow);
        let said = self.events.send(Event::Say(bytes[..length].to_vec()));
        said.map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let _ = self.events.send(Event::End(std::mem::take(&mut self.last_words)));
    }
}

/// A session that goes on.
struct Running {
    of: Session,
    status: Arc<Status>,
    stream: Stream,
}

impl Running {
    fn go_on(mut self, happens: &Receiver<Event>, tell: Sender<Vec<u8>>) {
        let mut tell = Some(tell);
        let mut ended_ns = None;
        loop {
            let now_ns = monotonic_ns();
            let wait = self.stream.due_in(now_ns).map_or(LOOK, Duration::from_nanos).min(LOOK);
            let mut taken = 0;
            let first = match happens.recv_timeout(wait) {
                Ok(event) => Some(event),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => break,
            };
            let now_ns = monotonic_ns();
            for event in first.into_iter().chain(happens.try_iter().take(EVENTS)) {
                match event {
                    Event::Came(message) => self.hear(&message, &mut tell, now_ns),
                    Event::Say(bytes) => {
                        self.stream.say(&bytes);
                        taken += bytes.len();
                    }
                    Event::End(words) => {
                        self.stream.end(words.as_bytes());
                        ended_ns.get_or_insert(now_ns);
                    }
                    Event::Back => self.stream.again(),
                    Event::Cut => {}
                }
            }
            if let Some(words) = self.status.is_cut() {
                tell = None;
                self.stream.end(words.as_bytes());
                ended_ns.get_or_insert(now_ns);
            }
            if self.of.post.is_away() {
                // Nobody can hear the last words yet.
                ended_ns = ended_ns.map(|_| now_ns);
            } else {
                self.stream.due(now_ns).into_iter().for_each(|out| self.send(out));
            }
            self.tell_flow(taken);
            let is_late = ended_ns.is_some_and(|of| now_ns.saturating_sub(of) > LAST_NS);
            let has_heard_last = tell.is_none();
            if is_late || (has_heard_last && self.stream.is_over()) {
                break;
            }
        }
        // The other end waits for it: nothing that is said later tells it that it was heard.
        self.send(Out::Heard);
        self.status.flow().is_over = true;
        self.status.moved.notify_all();
    }

    /// Tells who writes how much waits, after so much of it was taken.
    fn tell_flow(&self, taken: usize) {
        let mut flow = self.status.flow();
        flow.written = flow.written.saturating_sub(taken);
        flow.waiting = self.stream.waiting();
        drop(flow);
        self.status.moved.notify_all();
    }

    fn hear(&mut self, message: &[u8], tell: &mut Option<Sender<Vec<u8>>>, now_ns: u64) {
        self.status.unopened.fetch_sub(message.len(), Ordering::AcqRel);
        let Some((Head { kind, number, heard, .. }, bytes)) = self.believed(message) else {
            self.status.refused.fetch_add(1, Ordering::AcqRel);
            return;
        };
        let (_, last, only_heard) = self.of.kinds_heard();
        self.status.heard.fetch_add(1, Ordering::AcqRel);
        self.stream.acknowledged(heard, now_ns);
        if kind == only_heard {
            return;
        }
        let has_room = self.status.unread.load(Ordering::Acquire) < MOST_UNREAD;
        if self.stream.hear(number, has_room, now_ns) == Came::Nothing {
            return;
        }
        if kind == last {
            let words = String::from_utf8_lossy(&bytes[..bytes.len().min(WORDS)]);
            let words = words.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
            self.status.flow().last_words.get_or_insert(words);
            *tell = None;
        } else if let Some(tell) = tell {
            self.status.unread.fetch_add(bytes.len(), Ordering::AcqRel);
            // Who does not read any more is about to end it.
            let _ = tell.send(bytes.to_vec());
        }
    }

    /// What a message says, where it is the other end's and for this session.
    fn believed<'a>(&self, message: &'a [u8]) -> Option<(Head, &'a [u8])> {
        let sealed = envelope::open(message)?;
        let Head { kind, controller, worker, .. } = sealed.head;
        let is_ours = (controller, worker) == (self.of.controller, self.of.worker);
        let (said, last, only_heard) = self.of.kinds_heard();
        let is_heard = is_ours && [said, last, only_heard].contains(&kind);
        let bytes = is_heard.then(|| sealed.said_by(&self.of.other))??;
        Some((sealed.head, bytes))
    }

    fn send(&self, out: Out) {
        let Session { side, own, controller, worker, post, to, .. } = &self.of;
        let (number, kind, bytes) = match (out, side) {
            (Out::Heard, Side::Controller) => (0, Kind::ControllerHeard, Vec::new()),
            (Out::Heard, Side::Worker) => (0, Kind::WorkerHeard, Vec::new()),
            (Out::Part { number, is_last, bytes }, side) => {
                let kind = match (side, is_last) {
                    (Side::Controller, false) => Kind::Told,
                    (Side::Controller, true) => Kind::ToldLast,
                    (Side::Worker, false) => Kind::Answered,
                    (Side::Worker, true) => Kind::AnsweredLast,
                };
                (number, kind, bytes)
            }
        };
        let (controller, worker, heard) = (*controller, *worker, self.stream.heard());
        let from = own.public().id();
        let head = Head { kind, from, controller, worker, number, heard };
        post.send(to, envelope::seal(own, &head, &bytes));
    }
}
