//! The server's side: a thread that hears every heartbeat of a broker, for ever.
//!
//! # Acknowledgements
//!
//! The queue dies with the connection, so nothing that was not acknowledged ever comes again.
//! Acknowledgements are there to hold the broker back: at most [`PREFETCH`] messages are on their
//! way, the rest waits in the queue, where it grows old and is dropped (`x-message-ttl`,
//! `x-max-length`) instead of filling our memory. One acknowledges all of a batch.
//!
//! # When the broker is away
//!
//! Nothing is forgotten: caches live on for their time. It is tried again after 0.5 s to 30 s, each
//! time twice as long, spread by half ("equal jitter": M. Brooker, "Exponential backoff and
//! jitter", 2015), so that many servers do not come back at once.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use plimsoll_workload::random::Stream;

use super::{Broker, Error};
use crate::auth::HEADERS;
use crate::heartbeat::MAX_BYTES;
use crate::server::{BrokerStatus, Letter, Shared};
use plimsoll_net::amqp::{Connection, Delivery, Exchange, Fields, Heard, Queue, Value};
use plimsoll_net::http::client::{Deadline, Dial};
use plimsoll_units::failure::chain;
use plimsoll_units::truncate;

/// Messages on their way to us.
const PREFETCH: u16 = 1024;
/// Messages for which the registry is locked once.
const BATCH: usize = 64;
/// How long the greeting and the declarations may take.
const GREETING: Duration = Duration::from_secs(10);
/// How soon the end is noticed.
const LOOK: Duration = Duration::from_millis(250);
/// Between attempts.
const FIRST_S: f64 = 0.5;
const LAST_S: f64 = 30.0;
/// A connection that lasted so long was a good one, nanoseconds.
const LASTED_NS: u64 = 30_000_000_000;

/// What a consumer is told.
#[derive(Debug, Clone)]
pub struct Options {
    /// Whom to hear.
    pub broker: Broker,
    /// The exchange's name.
    pub exchange: String,
    /// Clouds to be heard, beside agents without a cloud; all if empty.
    pub clouds: Vec<String>,
    /// This host's name, of which the queue's is made.
    pub hostname: String,
    /// Tells this consumer's queue from all others, and spreads its attempts.
    pub seed: u64,
    /// How long a message waits in the queue.
    pub message_ttl: Duration,
    /// How many messages wait in the queue.
    pub most_queued: u32,
    /// Either side is heard once in this time, or is taken for dead.
    pub heartbeat: Duration,
}

impl Options {
    /// As a server is told where nothing more is said. `seed` is any number drawn at random.
    #[must_use]
    pub fn new(broker: Broker, hostname: String, seed: u64) -> Self {
        Self {
            broker,
            exchange: super::EXCHANGE.to_owned(),
            clouds: Vec::new(),
            hostname,
            seed,
            message_ttl: Duration::from_secs(30),
            most_queued: 200_000,
            heartbeat: Duration::from_secs(20),
        }
    }
}

/// A thread that hears a broker.
#[derive(Debug)]
pub struct Consumer {
    status: Arc<BrokerStatus>,
    thread: JoinHandle<()>,
}

impl Consumer {
    /// Begins to hear. Ends when the server is told to ([`Shared::stop`]), and never by itself.
    /// `log` is told what is new: that it hears, and why it does not.
    ///
    /// # Errors
    ///
    /// The system has no thread to give.
    pub fn spawn(
        options: Options,
        dial: Arc<dyn Dial>,
        shared: Arc<Shared>,
        mut log: impl FnMut(&str) + Send + 'static,
    ) -> io::Result<Self> {
        let status = shared.add_broker(options.broker.to_string());
        let told = Arc::clone(&status);
        let run = move || {
            let mut listener = Listener::new(options, shared, told);
            listener.run(dial.as_ref(), &mut log);
        };
        let thread = std::thread::Builder::new().name("amqp".to_owned()).spawn(run)?;
        Ok(Self { status, thread })
    }

    /// How it stands with the broker.
    #[must_use]
    pub fn status(&self) -> &Arc<BrokerStatus> {
        &self.status
    }

    /// Waits for its end, after [`Shared::stop`].
    pub fn join(self) {
        // A thread that panicked has said so.
        let _ = self.thread.join();
    }
}

struct Listener {
    options: Options,
    shared: Arc<Shared>,
    status: Arc<BrokerStatus>,
    random: Stream,
    letters: Vec<Letter>,
    /// Of the last delivery that was read.
    tag: u64,
}

impl Listener {
    fn new(options: Options, shared: Arc<Shared>, status: Arc<BrokerStatus>) -> Self {
        let random = Stream::named(options.seed, "broker");
        Self { options, shared, status, random, letters: Vec::with_capacity(BATCH), tag: 0 }
    }

    fn run(&mut self, dial: &dyn Dial, log: &mut dyn FnMut(&str)) {
        let mut wait_s = FIRST_S;
        while !self.shared.stopped() {
            let mut since_ns = None;
            let ended = self.open(dial).and_then(|connection| {
                since_ns = Some(self.now_ns());
                log(&format!("hearing the broker {}", self.options.broker));
                self.hear(connection)
            });
            let Err(error) = ended else { return };
            // A broker that takes us and drops us again and again is as good as away.
            if since_ns.is_some_and(|since_ns| self.now_ns() > since_ns + LASTED_NS) {
                wait_s = FIRST_S;
            }
            if error.is_lasting() {
                wait_s = LAST_S;
            }
            let hint = super::hint(&error).map(|hint| format!("; {hint}")).unwrap_or_default();
            let text = format!("{}{hint}", chain(&error));
            if self.status.fails(error.reason(), text.clone()) {
                log(&format!("broker {}: {text}", self.options.broker));
            }
            let share = 0.5 + 0.5 * self.random.uniform();
            self.rest(wait_s * share);
            wait_s = (2.0 * wait_s).min(LAST_S);
        }
    }

    fn now_ns(&self) -> u64 {
        self.shared.clock().now().elapsed_ns
    }

    /// Waits, and notices the end.
    fn rest(&self, seconds: f64) {
        let mut left = Duration::from_secs_f64(seconds);
        while !left.is_zero() && !self.shared.stopped() {
            let step = left.min(LOOK);
            std::thread::park_timeout(step);
            left -= step;
        }
    }

    /// A connection with everything declared, on which messages come.
    fn open(&mut self, dial: &dyn Dial) -> Result<Connection, Error> {
        let Options { broker, exchange, clouds, hostname, .. } = &self.options;
        let deadline = Deadline::after(GREETING);
        let name = format!("{hostname} (shoal server)");
        let heartbeat = self.options.heartbeat;
        let mut connection = Connection::open(dial, broker, &name, heartbeat, &deadline)?;
        // As Shoal's own server declares it: any other declaration of the name would be refused.
        let topic = Exchange { name: exchange, kind: "topic", is_durable: false };
        connection.declare_exchange(topic, &deadline)?;
        // Another one each time: the one before may not have gone yet.
        let host = truncate(hostname, 200);
        let queue = format!("{host}-{:016x}{:016x}", self.options.seed, self.random.next_u64());
        let ttl_ms = u32::try_from(self.options.message_ttl.as_millis()).unwrap_or(u32::MAX);
        let arguments = [
            ("x-message-ttl", Value::Number(ttl_ms)),
            ("x-max-length", Value::Number(self.options.most_queued)),
            ("x-overflow", Value::Text("drop-head")),
        ];
        let own =
            Queue { name: &queue, is_durable: false, is_exclusive: true, arguments: &arguments };
        connection.declare_queue(own, &deadline)?;
        let mut keys: Vec<String> = match clouds.is_empty() {
            true => vec!["#".to_owned()],
            // What an agent without a cloud says.
            false => ["info", "bye", "error"].map(str::to_owned).into(),
        };
        keys.extend(clouds.iter().map(|cloud| format!("{cloud}.#")));
        for key in keys {
            connection.bind(&queue, exchange, &key, &deadline)?;
        }
        connection.consume(&queue, PREFETCH, &deadline)?;
        self.letters.clear();
        self.status.serves();
        Ok(connection)
    }

    /// Hears until the server ends.
    fn hear(&mut self, mut connection: Connection) -> Result<(), Error> {
        while !self.shared.stopped() {
            while let Some(heard) = connection.next(MAX_BYTES)? {
                if let Heard::Delivery(delivery) = heard {
                    self.tag = delivery.tag;
                    self.letters.push(letter(delivery));
                }
                if self.letters.len() == BATCH {
                    self.hand_over(&mut connection)?;
                }
            }
            self.hand_over(&mut connection)?;
            connection.read(LOOK)?;
        }
        connection.close();
        Ok(())
    }

    /// Gives what has been read to the registry, and lets the broker send more.
    fn hand_over(&mut self, connection: &mut Connection) -> Result<(), Error> {
        if self.letters.is_empty() {
            return Ok(());
        }
        self.shared.take(&self.letters);
        self.status.brought(self.letters.len(), self.now_ns());
        self.letters.clear();
        connection.acknowledge(self.tag)
    }
}

fn letter(Delivery { key, headers, length, body, .. }: Delivery) -> Letter {
    Letter { key, length, signature: signature(&headers), body }
}

/// The values of the signature's headers; `None` if one is there twice or is no text, or if the
/// table is broken.
fn signature(headers: &[u8]) -> Option<[Option<String>; 3]> {
    let mut values = [const { None }; 3];
    let mut table = Fields(headers);
    while let Some((name, text)) = table.entry().ok()? {
        let index = HEADERS.iter().position(|header| header.as_bytes() == name);
        if let Some(index) = index {
            let text = std::str::from_utf8(text?).ok()?;
            if values[index].replace(text.to_owned()).is_some() {
                return None;
            }
        }
    }
    Some(values)
}
