//! A session: threads that hold connections, a rate that can change without draining them, and what
//! is observed, in slices of 250 ms.
//!
//! A run is one use of it ([`crate::run`]); the search for a capacity and the control of live
//! servers are others.

mod users;

use users::{numbers, users};

use crate::clock::Clock;
use crate::config::Config;
use crate::connection::local_cause;
use crate::drivers::{StoreDriver, start};
use crate::http1::Http1;
use crate::http1::encode::Encoder;
use crate::http2::{self, Http2};
use crate::protocol::Protocol;
use crate::recorder::{Recorder, Slice};
use crate::source::users::Numbers;
use crate::source::{Closed, Open, Source, Times};
use crate::way::Endpoint;
use crate::worker::{Command, Connected, Line, Shared};
use plimsoll_runs::{ErrorKind, LocalCause, Secrets};
use plimsoll_units::failure::{Failure, Kind};
use plimsoll_workload::arrivals::Share;
use plimsoll_workload::distribution::Distribution;
use plimsoll_workload::random::Stream;
use plimsoll_workload::request::RenderState;
use rustix::event::{EventfdFlags, eventfd};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Why a session could not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// No connection could be made: nothing was sent.
    #[error("connect to {endpoint}")]
    Unreachable {
        /// Where to.
        endpoint: Endpoint,
        /// Which step failed.
        kind: ErrorKind,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// This host let no connection be opened: nothing was sent.
    #[error("connect to {endpoint}: {}", cause.what())]
    Local {
        /// Where to.
        endpoint: Endpoint,
        /// What of this host's own there was too little of, or what it forbids.
        cause: LocalCause,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
    /// The process may not open as many descriptors as the session needs.
    #[error(
        "open {needed} descriptors ({connections} connections and {others} of our own): this \
         process may have {allowed}"
    )]
    Descriptors {
        /// How many it needs.
        needed: u64,
        /// For connections.
        connections: u32,
        /// For everything else.
        others: u64,
        /// The hard limit.
        allowed: u64,
    },
    /// It was interrupted before the connections were open: nothing was sent.
    #[error("connect to {endpoint}: interrupted")]
    Interrupted {
        /// Where to.
        endpoint: Endpoint,
    },
    /// The operating system gave no thread, epoll or eventfd.
    #[error("start the engine's threads")]
    System(#[source] io::Error),
}

/// How users of a session come by their requests.
#[derive(Debug, Clone)]
pub enum Load {
    /// By schedules, which are offered once the session has started.
    Open {
        /// How many requests at most.
        limit: Option<u64>,
    },
    /// By users who ask, think and ask again.
    Closed {
        /// How many.
        users: u32,
        /// How long they think.
        think: Distribution,
        /// Until when they ask.
        end_ns: u64,
        /// How many requests at most.
        limit: Option<u64>,
    },
}

/// A running session.
pub struct Session {
    clock: Clock,
    threads: Vec<Thread>,
    shared: Arc<Shared>,
    filled: Receiver<Box<Slice>>,
    /// Slices that some threads have not delivered yet, oldest first.
    gathering: BTreeMap<u64, Gathering>,
    /// The number of the next slice that is handed out.
    next: u64,
    /// The slice that was handed out last.
    current: Option<Box<Slice>>,
    offers: u64,
}

struct Thread {
    handle: Option<JoinHandle<()>>,
    commands: Sender<Command>,
    wake: Arc<OwnedFd>,
    empty: Sender<Box<Slice>>,
    /// The number of its last slice, once it has ended.
    last: Option<u64>,
}

struct Gathering {
    slice: Box<Slice>,
    delivered: usize,
}

/// Descriptors that a process needs besides the connections: files of the run, terminal, epoll.
pub const OTHER_DESCRIPTORS: u64 = 64;

impl Session {
    /// Starts threads and opens the connections; time begins when all are open.
    ///
    /// # Errors
    /// [`SessionError`]: nothing has been sent then.
    pub fn start(config: &Config, load: &Load) -> Result<Self, SessionError> {
        Self::start_unless(config, load, || false)
    }

    /// The same, unless it is interrupted while connections are being opened, which is asked
    /// several times a second.
    ///
    /// # Errors
    /// [`SessionError`]: nothing has been sent then.
    pub fn start_unless(
        config: &Config,
        load: &Load,
        interrupted: impl FnMut() -> bool,
    ) -> Result<Self, SessionError> {
        let mut session = Self::connect(config, load, interrupted)?;
        session.begin(Clock::start());
        Ok(session)
    }

    /// Starts threads and opens the connections; time begins with [`Session::begin`].
    ///
    /// # Errors
    /// [`SessionError`]: nothing has been sent then.
    pub fn connect(
        config: &Config,
        load: &Load,
        interrupted: impl FnMut() -> bool,
    ) -> Result<Self, SessionError> {
        allow_descriptors(config, load)?;
        let count = config.threads.clamp(1, config.connections.1.max(1));
        let shared = Arc::new(Shared {
            free: (0..count).map(|_| AtomicU32::new(0)).collect(),
            commands: (0..count).map(|_| AtomicBool::new(false)).collect(),
            // No two connections of a load have one number, in whichever process they are.
            serial: AtomicU32::new(u32::MAX / config.part.processes.max(1) * config.part.process),
            open: AtomicU32::new(0),
            first: AtomicU32::new(0),
            users: numbers(load, config.part),
        });
        let (filled_in, filled) = channel();
        let (connected_in, connected) = channel();
        let secrets = Arc::new(config.secrets());
        let mut threads = Vec::new();
        for index in 0..count {
            let of = config.part.before + count + config.part.after;
            let share = Share { index: config.part.before + index, of };
            let ends = (index, share);
            let thread = spawn(config, load, &secrets, ends, &shared, &filled_in, &connected_in)
                .map_err(SessionError::System)?;
            threads.push(thread);
        }
        drop(connected_in);
        let session = Self {
            clock: Clock::start(),
            threads,
            shared,
            filled,
            gathering: BTreeMap::new(),
            next: 0,
            current: None,
            offers: 0,
        };
        session.await_connections(config, &connected, interrupted)?;
        Ok(session)
    }

    /// Time begins with a clock, once its zero has come: it is waited for.
    pub fn begin(&mut self, clock: Clock) {
        clock.wait_for_start();
        self.clock = clock;
        self.tell(|| Command::Go(clock));
    }

    fn await_connections(
        &self,
        config: &Config,
        connected: &Receiver<Connected>,
        mut interrupted: impl FnMut() -> bool,
    ) -> Result<(), SessionError> {
        let (mut open, mut failed, mut waiting) = (0, None, self.threads.len());
        while waiting > 0 {
            let thread = match connected.recv_timeout(Duration::from_millis(50)) {
                Ok(thread) => thread,
                // The threads hear of it when the session is dropped.
                Err(RecvTimeoutError::Timeout) if interrupted() => {
                    return Err(SessionError::Interrupted { endpoint: config.endpoint.clone() });
                }
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => break,
            };
            waiting -= 1;
            if let Some(fault) = thread.fault {
                return Err(SessionError::System(fault));
            }
            open += thread.open;
            failed = failed.or(thread.failed);
        }
        match failed {
            Some((kind, source)) if open == 0 => {
                let endpoint = config.endpoint.clone();
                Err(match local_cause(&source) {
                    Some(cause) => SessionError::Local { endpoint, cause, source },
                    None => SessionError::Unreachable { endpoint, kind, source },
                })
            }
            _ => Ok(()),
        }
    }

    /// The session's time: offsets of all that it observes.
    #[must_use]
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// From `from_ns` on, offers requests at these times instead of those before; connections and
    /// requests in flight stay as they are, and what already waits is still sent.
    pub fn offer(&mut self, from_ns: u64, times: &Times) {
        let number = self.offers;
        self.offers += 1;
        self.tell(|| Command::Offer { from: from_ns, times: times.clone(), number });
    }

    /// What is due from `at_ns` on is of the measured phase. The offset must lie ahead: what was
    /// due before is counted already.
    pub fn measure_from(&mut self, at_ns: u64) {
        self.tell(|| Command::MeasureFrom(at_ns));
    }

    /// What waits for a connection is not sent any more: it is counted as cut.
    pub fn discard_waiting(&mut self) {
        self.tell(|| Command::DiscardWaiting);
    }

    /// The session ends at `at_ns`, when all is answered, or the drain time later.
    pub fn end_at(&mut self, at_ns: u64) {
        self.tell(|| Command::EndAt(at_ns));
    }

    /// Offers no more, finishes what is in flight, ends.
    pub fn stop(&mut self) {
        self.tell(|| Command::Stop);
    }

    /// Ends at once.
    pub fn abort(&mut self) {
        self.tell(|| Command::Abort);
    }

    fn tell(&self, command: impl Fn() -> Command) {
        for (thread, waits) in self.threads.iter().zip(&self.shared.commands) {
            // A thread that has ended needs no commands.
            if thread.commands.send(command()).is_ok() {
                waits.store(true, Ordering::Release);
                let _ = rustix::io::write(&*thread.wake, &1u64.to_ne_bytes());
            }
        }
    }

    /// The next slice over all threads, in order of time, waiting for it up to `patience`; `None`
    /// when the session has ended, or the time is over ([`Session::has_ended`] tells).
    pub fn next_slice(&mut self, patience: Duration) -> Option<&Slice> {
        while !self.is_complete() {
            match self.filled.recv_timeout(patience) {
                Ok(slice) => self.gather(slice),
                Err(RecvTimeoutError::Timeout) => return None,
                Err(RecvTimeoutError::Disconnected) => {
                    // Threads that are gone without a last slice end with the one before.
                    let next = self.next;
                    for thread in &mut self.threads {
                        thread.last.get_or_insert(next.saturating_sub(1));
                    }
                    break;
                }
            }
        }
        let gathered = self.gathering.remove(&self.next)?;
        self.next += 1;
        if let Some(before) = self.current.replace(gathered.slice) {
            self.give_back(before);
        }
        self.current.as_deref()
    }

    /// Whether all threads have ended and all slices are taken.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.gathering.is_empty() && self.threads.iter().all(|thread| thread.last.is_some())
    }

    /// Whether every thread that reaches the next slice has delivered it, or none does.
    fn is_complete(&self) -> bool {
        let reaches = |thread: &&Thread| thread.last.is_none_or(|last| last >= self.next);
        let expected = self.threads.iter().filter(reaches).count();
        let delivered = self.gathering.get(&self.next).map_or(0, |gathered| gathered.delivered);
        delivered >= expected
    }

    fn gather(&mut self, mut slice: Box<Slice>) {
        if slice.last {
            self.threads[slice.thread as usize].last = Some(slice.number);
        }
        match self.gathering.entry(slice.number) {
            Entry::Vacant(entry) => {
                entry.insert(Gathering { slice, delivered: 1 });
            }
            Entry::Occupied(mut entry) => {
                let gathering = entry.get_mut();
                let whole = &mut gathering.slice;
                whole.interval.merge(&slice.interval);
                whole.interval.len_ns = whole.interval.len_ns.max(slice.interval.len_ns);
                whole.samples.append(&mut slice.samples);
                whole.fault = whole.fault.take().or(slice.fault.take());
                gathering.delivered += 1;
                self.give_back(slice);
            }
        }
    }

    /// Lets a thread fill a slice again: after the first seconds nothing is allocated any more.
    fn give_back(&self, slice: Box<Slice>) {
        if let Some(thread) = self.threads.get(slice.thread as usize) {
            let _ = thread.empty.send(slice);
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.abort();
        for thread in &mut self.threads {
            if let Some(handle) = thread.handle.take() {
                let _ = handle.join();
            }
        }
    }
}

/// Raises the soft limit of descriptors as far as this session needs and the hard limit allows.
fn allow_descriptors(config: &Config, load: &Load) -> Result<(), SessionError> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    // How many users there are at a time is not known of those who arrive by the clock: they have
    // what there is, and who finds none fails by a limit of this host's own.
    let is_known = config.users.is_none() || matches!(load, Load::Closed { .. });
    let most = if is_known { u64::MAX } else { limit.maximum.unwrap_or(u64::MAX) };
    let needed = (config.descriptors() + OTHER_DESCRIPTORS).min(most);
    if limit.current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    match limit.maximum {
        Some(allowed) if allowed < needed => Err(SessionError::Descriptors {
            needed,
            connections: config.connections.1,
            others: needed - u64::from(config.connections.1),
            allowed,
        }),
        maximum => {
            let raised = Rlimit { current: maximum.or(Some(needed)), maximum };
            setrlimit(Resource::Nofile, raised).map_err(|error| SessionError::System(error.into()))
        }
    }
}

fn spawn(
    config: &Config,
    load: &Load,
    secrets: &Arc<Secrets>,
    (index, share): (u32, Share),
    shared: &Arc<Shared>,
    filled: &Sender<Box<Slice>>,
    connected: &Sender<Connected>,
) -> io::Result<Thread> {
    let (commands, commands_out) = channel();
    let (empty, empty_out) = channel();
    let wake = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
    let line = Line {
        index,
        share,
        commands: commands_out,
        connected: connected.clone(),
        wake: wake.clone(),
        shared: shared.clone(),
    };
    let (keep, secrets) = (config.samples, secrets.clone());
    let recorder = Recorder::new(index, keep, secrets, filled.clone(), empty_out);
    let source = source(config, load, share, &shared.users);
    let render = RenderState::new(config.seed, share);
    let render = match &config.traceparents {
        Some(of) => render.traced(of.stream()),
        None => render,
    };
    let requests = config.requests.clone();
    let mut config = config.clone();
    let (head, once) = (config.head.clone(), config.connection_per_request);
    let keeps = !config.checks.is_empty();
    let is_of_users = config.users.is_some();
    let handle = match config.protocol {
        Protocol::Http1 => {
            let driver = Http1::new(Encoder::new(requests, head, render), once);
            let driver = driver.following(config.follow);
            let driver = if keeps { driver.keeping() } else { driver };
            let driver = if is_of_users { driver.of_users() } else { driver };
            start(config, line, driver, source, recorder)?
        }
        Protocol::Http2 => {
            if let Some(tls) = &mut config.tls {
                tls.offer_only(http2::ALPN);
            }
            let streams = config.streams_per_connection;
            let driver = Http2::new(requests, head, render, streams, once);
            let driver = driver.following(config.follow);
            let driver = if keeps { driver.keeping() } else { driver };
            let driver = match &config.users {
                Some(users) => driver.of_users(users.schemes()),
                None => driver,
            };
            start(config, line, driver, source, recorder)?
        }
        Protocol::Store(store) => {
            let left_out = || io::Error::other(format!("speak {store:?}: its driver is left out"));
            let driver = StoreDriver::of(store).ok_or_else(left_out)?;
            (driver.start)(config, line, source, recorder)?
        }
    };
    Ok(Thread { handle: Some(handle), commands, wake, empty, last: None })
}

fn source(config: &Config, load: &Load, share: Share, numbers: &Arc<Numbers>) -> Source {
    if let Some(users) = users(config, load, share, numbers) {
        return users;
    }
    let part = |all: u64| {
        all / u64::from(share.of) + u64::from(u64::from(share.index) < all % u64::from(share.of))
    };
    match load {
        Load::Open { limit } => {
            let max_waiting = config.max_waiting.map(part);
            Source::Open(Open::new(config.seed, share, max_waiting, limit.map(part)))
        }
        Load::Closed { users, think, end_ns, limit } => {
            let random = Stream::named(config.seed, &format!("think/{}", share.index));
            let all = *users;
            let users = u32::try_from(part(u64::from(all))).unwrap_or(u32::MAX);
            let limit = limit.map(|limit| part_of_users(limit, all, share));
            let closed = Closed::new(users, *think, random, *end_ns, limit);
            Source::Closed(closed)
        }
    }
}

/// One share's part of the requests of a closed load: shares that have no user make none.
fn part_of_users(limit: u64, users: u32, share: Share) -> u64 {
    let of = share.of.min(users).max(1);
    let (index, of) = (u64::from(share.index), u64::from(of));
    if index >= of { 0 } else { limit / of + u64::from(index < limit % of) }
}

impl Failure for SessionError {
    fn kind(&self) -> Kind {
        match self {
            Self::Descriptors { .. } => Kind::Usage,
            _ => Kind::Incomplete,
        }
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Unreachable { source, .. } if speaks_no_tls(source) => {
                "the port speaks no TLS: try http:// in place of https://, or ws:// of wss://"
            }
            Self::Unreachable { source, .. } if speaks_no_http2(source) => {
                "the server speaks no HTTP/2: say --http 1.1, or --http auto, which takes what \
                 both speak"
            }
            Self::Unreachable { source, .. } | Self::System(source) => return source.hint(),
            Self::Local { cause, .. } => return Some(cause.remedy().to_string()),
            Self::Descriptors { .. } => {
                "ask for fewer connections, or raise the hard limit (ulimit -Hn, LimitNOFILE= in a \
                 systemd unit, /etc/security/limits.conf)"
            }
            Self::Interrupted { .. } => "nothing was sent",
        };
        Some(hint.to_owned())
    }
}

/// Whether a handshake failed because whoever answers does not speak the protocol that was asked
/// for.
fn speaks_no_http2(error: &io::Error) -> bool {
    use rustls::{AlertDescription, Error};
    let failed = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
    let refused = Error::AlertReceived(AlertDescription::NoApplicationProtocol);
    failed.is_some_and(|error| *error == refused || *error == Error::NoApplicationProtocol)
}

/// Whether a handshake failed because whoever answers does not speak TLS.
#[must_use]
pub fn speaks_no_tls(error: &io::Error) -> bool {
    use rustls::{Error, InvalidMessage};
    let failed = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
    matches!(failed, Some(Error::InvalidMessage(InvalidMessage::InvalidContentType)))
}
