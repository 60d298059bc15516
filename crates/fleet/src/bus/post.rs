//! The way to a broker and from it: two connections, made again as often as they break.
//!
//! One hears, the other one sends, so that nobody who waits for a message keeps one back. Nothing
//! is kept for a broker that is away: who sends hears when it is back, and says it again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use plimsoll_load::clock::monotonic_ns;
use plimsoll_net::amqp::{Broker, Connection, Error, Exchange, Heard, Message, Queue, Value};
use plimsoll_net::http::client::{Deadline, Dial};

use super::envelope::LONGEST;

/// The exchange of all messages.
const EXCHANGE: Exchange<'static> =
    Exchange { name: "plimsoll.fleet", kind: "direct", is_durable: true };
/// Each side is to hear the other so often.
const HEARTBEAT: Duration = Duration::from_secs(5);
/// How long the greeting and the declarations may take.
const GREETING: Duration = Duration::from_secs(5);
/// How soon an end is noticed, and how often who sends looks what the broker says.
const LOOK: Duration = Duration::from_millis(250);
/// How long who sends looks.
const GLANCE: Duration = Duration::from_millis(1);
/// Between attempts, the first time and at most.
const FIRST: Duration = Duration::from_millis(200);
const MOST: Duration = Duration::from_secs(2);
/// Messages on their way to us that we have not acknowledged.
const PREFETCH: u16 = 16;
/// Letters that wait to be sent.
const LETTERS: usize = 64;
/// A message that nobody has fetched for so long is dropped, milliseconds.
const TTL_MS: u32 = 10_000;
/// So many bytes wait for a reader at most.
const QUEUED: u32 = 64 << 20;
/// What a broker says of a queue that is somebody else's.
pub(super) const LOCKED: u16 = 405;

/// A broker, and how it is reached.
#[derive(Clone)]
pub struct Bus {
    /// The broker.
    pub broker: Broker,
    /// What connects to it.
    pub dial: Arc<dyn Dial>,
    /// What it shows of us.
    pub name: String,
}

/// What is heard.
pub(super) enum Mail {
    /// A message, of which nothing is believed.
    Message(Vec<u8>),
    /// A connection is new: what was on its way may be lost.
    Back,
}

/// Who sends.
#[derive(Clone)]
pub(super) struct Post {
    letters: SyncSender<(String, Vec<u8>)>,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    hears: AtomicBool,
    sends: AtomicBool,
    is_over: AtomicBool,
}

impl State {
    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }
}

/// A queue of our own, and the keys of messages that come into it.
#[derive(Clone)]
pub(super) struct Mailbox {
    pub(super) name: String,
    pub(super) keys: Vec<String>,
}

/// The connections, as long as it is there.
pub(super) struct Office {
    post: Post,
}

impl Drop for Office {
    fn drop(&mut self) {
        self.post.state.is_over.store(true, Ordering::Release);
    }
}

impl Office {
    /// Connects to a broker. Mail is told to `tell`, which keeps the broker waiting where it is
    /// full.
    ///
    /// # Errors
    /// [`Error`]: of the first time. Later on it is tried again and again.
    pub(super) fn open(bus: Bus, queue: Mailbox, tell: SyncSender<Mail>) -> Result<Self, Error> {
        let (letters, to_send) = sync_channel(LETTERS);
        let state = Arc::<State>::default();
        let hears = hearing(&bus, &queue)?;
        let sends = sending(&bus)?;
        state.hears.store(true, Ordering::Release);
        state.sends.store(true, Ordering::Release);
        let (own, of, back) = (state.clone(), bus.clone(), tell.clone());
        thread::spawn(move || hear((&of, &queue), hears, &tell, &own));
        let own = state.clone();
        thread::spawn(move || send(&bus, sends, (&to_send, &back), &own));
        Ok(Self { post: Post { letters, state } })
    }

    /// Who sends.
    pub(super) fn post(&self) -> &Post {
        &self.post
    }
}

impl Post {
    /// Sends a message to whoever has a key; it is lost where the broker is away.
    pub(super) fn send(&self, key: &str, message: Vec<u8>) {
        if !self.is_away() {
            // Nobody takes it where all is over.
            let _ = self.letters.send((key.to_owned(), message));
        }
    }

    /// Whether the broker is away, or takes nothing.
    pub(super) fn is_away(&self) -> bool {
        let is = |of: &AtomicBool| of.load(Ordering::Acquire);
        !is(&self.state.hears) || !is(&self.state.sends)
    }
}

fn sending(bus: &Bus) -> Result<Connection, Error> {
    let deadline = Deadline::after(GREETING);
    let Bus { broker, dial, name } = bus;
    let mut connection = Connection::open(dial.as_ref(), broker, name, HEARTBEAT, &deadline)?;
    connection.declare_exchange(EXCHANGE, &deadline)?;
    Ok(connection)
}

fn hearing(bus: &Bus, queue: &Mailbox) -> Result<Connection, Error> {
    let deadline = Deadline::after(GREETING);
    let mut connection = sending(bus)?;
    let arguments =
        [("x-message-ttl", Value::Number(TTL_MS)), ("x-max-length-bytes", Value::Number(QUEUED))];
    let Mailbox { name, keys } = queue;
    let queue = Queue { name, is_durable: false, is_exclusive: true, arguments: &arguments };
    connection.declare_queue(queue, &deadline)?;
    for key in keys {
        connection.bind(name, EXCHANGE.name, key, &deadline)?;
    }
    connection.consume(name, PREFETCH, &deadline)?;
    Ok(connection)
}

/// Hears messages for ever.
fn hear((bus, queue): (&Bus, &Mailbox), first: Connection, tell: &SyncSender<Mail>, state: &State) {
    let mut connection = first;
    while !state.is_over() {
        if listen(&mut connection, tell, state).is_ok() {
            return connection.close();
        }
        state.hears.store(false, Ordering::Release);
        match again(state, || hearing(bus, queue)) {
            None => return,
            Some(new) => connection = new,
        }
        state.hears.store(true, Ordering::Release);
        if tell.send(Mail::Back).is_err() {
            return;
        }
    }
}

/// Hears messages until nobody takes them any more.
fn listen(
    connection: &mut Connection,
    tell: &SyncSender<Mail>,
    state: &State,
) -> Result<(), Error> {
    while !state.is_over() {
        let mut last = None;
        while let Some(heard) = connection.next(LONGEST)? {
            let Heard::Delivery(message) = heard else { continue };
            last = Some(message.tag);
            // One that is too long has no body.
            if tell.send(Mail::Message(message.body)).is_err() {
                return Ok(());
            }
        }
        if let Some(tag) = last {
            connection.acknowledge(tag)?;
        }
        connection.read(LOOK)?;
    }
    Ok(())
}

/// Sends messages for ever.
fn send(
    bus: &Bus,
    first: Connection,
    (letters, tell): (&Receiver<(String, Vec<u8>)>, &SyncSender<Mail>),
    state: &State,
) {
    let mut connection = first;
    while !state.is_over() {
        if deliver(&mut connection, letters, state).is_ok() {
            return connection.close();
        }
        state.sends.store(false, Ordering::Release);
        match again(state, || sending(bus)) {
            None => return,
            Some(new) => connection = new,
        }
        // What waited is as old as the connection: it is said again by whoever said it.
        while letters.try_recv().is_ok() {}
        state.sends.store(true, Ordering::Release);
        if tell.send(Mail::Back).is_err() {
            return;
        }
    }
}

/// Sends messages until there are no more.
fn deliver(
    connection: &mut Connection,
    letters: &Receiver<(String, Vec<u8>)>,
    state: &State,
) -> Result<(), Error> {
    let mut looked_ns = monotonic_ns();
    let publish = |connection: &mut Connection, (key, body): (String, Vec<u8>)| {
        connection.publish(&Message {
            exchange: EXCHANGE.name,
            key: &key,
            content_type: "application/octet-stream",
            headers: &[],
            body: &body,
        })
    };
    while !state.is_over() {
        match letters.recv_timeout(LOOK) {
            Ok(letter) => {
                publish(connection, letter)?;
                let unlooked_ns = monotonic_ns().saturating_sub(looked_ns);
                if Duration::from_nanos(unlooked_ns) < LOOK {
                    continue;
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
        looked_ns = monotonic_ns();
        connection.read(GLANCE)?;
        // Messages that nobody was there for come back: they are said again.
        while connection.next(0)?.is_some() {}
        state.sends.store(!connection.is_blocked(), Ordering::Release);
    }
    // The last words of sessions that are over.
    letters.try_iter().try_for_each(|letter| publish(connection, letter))
}

/// Connects again, sooner at first; `None` where nobody wants it any more.
fn again(state: &State, connect: impl Fn() -> Result<Connection, Error>) -> Option<Connection> {
    let mut pause = FIRST;
    while !state.is_over() {
        if let Ok(connection) = connect() {
            return Some(connection);
        }
        thread::park_timeout(pause);
        pause = (pause * 2).min(MOST);
    }
    None
}
