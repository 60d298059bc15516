//! The server: one thread that waits in epoll for requests and for departures.
//!
//! Requests are timed when their last byte has been read, with a reading of the clock each, and
//! put into the computed queue at once. Departures wait in a heap; they are looked after between
//! any two events, so that neither a flood of requests nor one of connections starves them. A
//! late wake-up delays the answers that were due meanwhile, and nothing else.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use rustix::net::{Shutdown, SocketFlags, accept_with, shutdown};

use crate::burn::{Job, Workers};
use crate::clock;
use crate::connection::{Connection, Next, Watch};
use crate::counters::{Answered, Moment};
use crate::desk::Desk;
use crate::error::TargetError;
use crate::http::answer::{Answer, Answers, Status};
use crate::http::head::{Link, Reject};
use crate::http::reader::{Event, Request};
use crate::listen::{Listener, descriptor_limit, raise_descriptor_limit};
use crate::options::{Address, Options};
use crate::slab::{Key, Slab};
use crate::stats::Stats;
use crate::timers::{Due, What};

/// epoll's names for what is no connection.
const LISTENER: u64 = u64::MAX;
const BELL: u64 = u64::MAX - 1;
/// Connections accepted before others have their turn.
const ACCEPTS: usize = 16;
const EVENTS: usize = 256;
const BUFFER: usize = 64 * 1024;
/// Longest wait, so that being told to stop is noticed.
const LONGEST_WAIT_NS: u64 = 50_000_000;
/// How long what a client sends after a refusal is dropped, before it is hung up on.
const LINGER_NS: u64 = 1_000_000_000;
const SECOND_NS: u64 = 1_000_000_000;

/// A server that listens but does not answer yet.
#[derive(Debug)]
pub struct Server {
    options: Options,
    listener: Listener,
}

impl Server {
    /// Opens the listening socket; clients may connect from now on.
    ///
    /// # Errors
    ///
    /// When options do not go together, or the address cannot be listened on.
    pub fn bind(options: Options, address: &Address) -> Result<Self, TargetError> {
        options.check()?;
        raise_descriptor_limit();
        Ok(Self { options, listener: Listener::bind(address)? })
    }

    /// Where it listens: the port is the one the system chose where 0 was asked for.
    #[must_use]
    pub fn local_addr(&self) -> &Address {
        &self.listener.address
    }

    /// Serves until `stop` is set, then answers for [`Options::drain`] what has been read.
    ///
    /// # Errors
    ///
    /// When descriptors run out, the log cannot be written, or the system refuses to go on.
    #[expect(clippy::needless_pass_by_value, reason = "run is handed to a thread of its own")]
    pub fn run(self, stop: Arc<AtomicBool>) -> Result<Stats, TargetError> {
        Loop::new(self)?.run(&stop)
    }
}

struct Loop {
    options: Options,
    listener: Option<Listener>,
    epoll: OwnedFd,
    connections: Slab<Connection>,
    desk: Desk,
    workers: Option<Workers>,
    due: Due,
    answers: Answers,
    answered: Answered,
    buffer: Vec<u8>,
    scratch: Vec<u8>,
    /// Last reading of the clock.
    now_ns: u64,
    /// Until when answers go out, once told to stop.
    drain_until_ns: Option<u64>,
    idle_ns: u64,
}

impl Loop {
    fn new(server: Server) -> Result<Self, TargetError> {
        let Server { options, listener } = server;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)
            .map_err(TargetError::system("make an epoll descriptor"))?;
        let data = epoll::EventData::new_u64(LISTENER);
        epoll::add(&epoll, &listener.fd, data, epoll::EventFlags::IN)
            .map_err(TargetError::system("watch the listening socket"))?;
        let workers = options
            .burn
            .then(|| Workers::start(options.workers, options.queue_bound))
            .transpose()?;
        if let Some(workers) = &workers {
            let data = epoll::EventData::new_u64(BELL);
            epoll::add(&epoll, workers.bell(), data, epoll::EventFlags::IN)
                .map_err(TargetError::system("watch the workers"))?;
        }
        let usual = options.usual_body();
        let (timers, now_ns) = (options.timers, clock::now_ns());
        Ok(Self {
            desk: Desk::new(&options)?,
            answers: Answers::new(usual, usual.unwrap_or(u64::MAX)),
            answered: Answered::default(),
            options,
            listener: Some(listener),
            epoll,
            connections: Slab::new(),
            workers,
            due: Due::new(timers, now_ns),
            buffer: vec![0; BUFFER],
            scratch: Vec::new(),
            now_ns,
            drain_until_ns: None,
            idle_ns: 0,
        })
    }

    fn run(mut self, stop: &AtomicBool) -> Result<Stats, TargetError> {
        // A timer may be late by this much to be fired with others; best is none at all.
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        let started_ns = self.now_ns;
        let mut flushed_ns = started_ns;
        let mut events = Vec::with_capacity(EVENTS);
        while !self.is_over(stop) {
            self.wait(&mut events)?;
            for event in &events {
                self.handle(*event)?;
                self.fire_due();
            }
            self.fire_due();
            if self.now_ns - flushed_ns >= SECOND_NS {
                flushed_ns = self.now_ns;
                self.desk.flush()?;
            }
        }
        let elapsed_ns = clock::now_ns() - started_ns;
        self.desk.stats.elapsed_ns = elapsed_ns;
        let idle = self.idle_ns as f64 / elapsed_ns.max(1) as f64;
        self.desk.stats.loop_busy_share = 1.0 - idle.min(1.0);
        let workers = self.options.workers.get();
        let burnt = self.workers.map(Workers::stop).map(|(burnt_ns, peak)| {
            self.desk.stats.peak_in_system = peak;
            burnt_ns
        });
        self.desk.finish(workers, burnt)
    }

    /// Waits for events until the next timer.
    fn wait(&mut self, events: &mut Vec<epoll::Event>) -> Result<(), TargetError> {
        let before = clock::now_ns();
        let wait_ns = self.due.sleep_ns(before, LONGEST_WAIT_NS);
        // It is below a second: LONGEST_WAIT_NS.
        let timeout = Timespec { tv_sec: 0, tv_nsec: i64::try_from(wait_ns).unwrap_or(0) };
        events.clear();
        let spare = rustix::buffer::spare_capacity(events);
        match epoll::wait(&self.epoll, spare, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(TargetError::system("wait for events")(errno)),
        }
        self.now_ns = clock::now_ns();
        let is_poll = wait_ns == 0;
        if !is_poll || events.is_empty() {
            self.idle_ns += self.now_ns - before;
        }
        self.due.waited(before, self.now_ns, is_poll && events.is_empty());
        Ok(())
    }

    fn handle(&mut self, event: epoll::Event) -> Result<(), TargetError> {
        match event.data.u64() {
            LISTENER => self.accept(),
            BELL => self.take_done(),
            bits => {
                let key = Key::from_bits(bits);
                let flags = event.flags;
                if flags.intersects(epoll::EventFlags::ERR | epoll::EventFlags::HUP) {
                    self.connections.remove(key);
                    return Ok(());
                }
                if flags.contains(epoll::EventFlags::OUT) {
                    self.send_due(key);
                }
                if flags.contains(epoll::EventFlags::IN) {
                    self.read(key)?;
                }
                Ok(())
            }
        }
    }

    fn accept(&mut self) -> Result<(), TargetError> {
        let Some(listener) = &self.listener else { return Ok(()) };
        for _ in 0..ACCEPTS {
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            let fd = match accept_with(&listener.fd, flags) {
                Ok(fd) => fd,
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR | Errno::CONNABORTED | Errno::PROTO) => continue,
                Err(errno @ (Errno::MFILE | Errno::NFILE)) => {
                    return Err(TargetError::Descriptors {
                        open: self.connections.len(),
                        limit: descriptor_limit(),
                        source: io::Error::from(errno),
                    });
                }
                Err(errno) => return Err(TargetError::system("accept a connection")(errno)),
            };
            let key =
                self.connections.insert(Connection::new(fd, self.options.depends_on_request()));
            let Some(connection) = self.connections.get_mut(key) else { continue };
            let data = epoll::EventData::new_u64(key.to_bits());
            epoll::add(&self.epoll, &connection.fd, data, epoll::EventFlags::IN)
                .map_err(TargetError::system("watch a connection"))?;
            let stats = &mut self.desk.stats;
            stats.connections += 1;
            stats.connections_peak = stats.connections_peak.max(self.connections.len() as u64);
        }
        Ok(())
    }

    /// Reads once from a connection, and decides upon every request in what came.
    fn read(&mut self, key: Key) -> Result<(), TargetError> {
        let Some(connection) = self.connections.get_mut(key) else { return Ok(()) };
        let read = match connection.receive(&mut self.buffer) {
            Ok(Some(0)) if connection.is_lingering || connection.owed() == 0 => {
                self.connections.remove(key);
                return Ok(());
            }
            Ok(Some(0)) => {
                connection.is_read_out = true;
                self.watch(key);
                return Ok(());
            }
            Ok(Some(read)) => read,
            Ok(None) => return Ok(()),
            Err(_) => {
                self.connections.remove(key);
                return Ok(());
            }
        };
        self.desk.stats.bytes_in += read as u64;
        if connection.is_lingering {
            return Ok(());
        }
        let buffer = std::mem::take(&mut self.buffer);
        let outcome = self.take_requests(key, &buffer[..read]);
        self.buffer = buffer;
        outcome?;
        self.send_due(key);
        Ok(())
    }

    fn take_requests(&mut self, key: Key, mut bytes: &[u8]) -> Result<(), TargetError> {
        let Some(connection) = self.connections.get_mut(key) else { return Ok(()) };
        while let Some(event) = connection.reader.next(&mut bytes) {
            let asked;
            let (request, fate) = match event {
                Event::Request(request) if request.is_of_counters => {
                    self.tell_counters(key, request, bytes.is_empty());
                    return Ok(());
                }
                Event::Request(request) => {
                    asked = connection.reader.take_asked();
                    let asked = asked.as_deref();
                    let fate = match &self.workers {
                        None => self.desk.arrive(asked)?,
                        Some(workers) => self.desk.arrive_to_burn(workers.is_full(), asked),
                    };
                    (request, fate)
                }
                Event::Continue => {
                    // Behind an answer that is owed it would come too late to be of use.
                    if connection.owed() == 0 {
                        connection.owe(interim());
                    }
                    continue;
                }
                Event::Reject(reject) => {
                    self.desk.stats.rejected += 1;
                    connection.owe(refusal(reject));
                    continue;
                }
            };
            if request.link == Link::Close {
                connection.is_read_out = true;
            }
            let page = self.desk.page(asked.as_deref(), &fate, request.link, request.is_head);
            let number = connection.owe(Answer {
                release_ns: fate.depart_ns,
                body: u32::try_from(fate.body).unwrap_or(u32::MAX),
                status: fate.status,
                link: request.link,
                is_head: request.is_head,
                page: page.map(Box::new),
            });
            self.now_ns = self.now_ns.max(fate.arrived_ns);
            match &mut self.workers {
                Some(workers) if fate.depart_ns == u64::MAX => {
                    workers.give(Job { key, number, fate });
                }
                Some(_) => self.desk.burnt(&fate, fate.depart_ns)?,
                None if fate.depart_ns > self.now_ns => {
                    self.due.set(fate.depart_ns, key, What::Depart);
                }
                None => {}
            }
        }
        Ok(())
    }

    /// Answers a request for the counters. A client that pipelines it, before or behind others, is
    /// hung up on.
    fn tell_counters(&mut self, key: Key, request: Request, is_last: bool) {
        let open = self.connections.len() as u64;
        let Some(connection) = self.connections.get_mut(key) else { return };
        let stats = &self.desk.stats;
        let moment = Moment {
            requests: stats.requests,
            answered: self.answered,
            workers: self.options.workers.get(),
            open,
            connections: stats.connections,
            bytes_in: stats.bytes_in,
            bytes_out: stats.bytes_out,
            cpu_ns: clock::process_cpu_ns(),
            at_hand: self.desk.at_hand(self.workers.as_ref()),
        };
        let answer = moment.answer(request.link, request.is_head);
        if is_last && connection.send_at_once(answer.as_bytes()) {
            self.desk.stats.bytes_out += answer.len() as u64;
            connection.is_read_out |= request.link == Link::Close;
        } else {
            // The next event finds it closed.
            let _ = shutdown(&connection.fd, Shutdown::Both);
        }
    }

    /// Fires the timers that are due by the last reading of the clock. Those that come due
    /// meanwhile have to wait for the next event, as events have to wait for these.
    fn fire_due(&mut self) {
        let until_ns = self.now_ns;
        while let Some(timer) = self.due.take(until_ns) {
            if self.connections.get_mut(timer.key).is_none() {
                continue;
            }
            self.now_ns = clock::now_ns();
            match timer.what {
                What::Depart => {
                    self.desk.stats.late.record(self.now_ns - timer.at_ns);
                    self.send_due(timer.key);
                }
                What::HangUp => {
                    self.connections.remove(timer.key);
                }
            }
        }
    }

    /// Sends what is due on a connection, and does what follows from it.
    fn send_due(&mut self, key: Key) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        let (answers, answered) = (&self.answers, &mut self.answered);
        let (next, sent) = connection.send_due(self.now_ns, answers, &mut self.scratch, answered);
        self.desk.stats.bytes_out += sent;
        match next {
            Next::Stay => self.watch(key),
            Next::Close => {
                self.connections.remove(key);
            }
            Next::Linger => {
                connection.is_lingering = true;
                connection.is_read_out = true;
                // A client that is gone shows in the next event.
                let _ = shutdown(&connection.fd, Shutdown::Write);
                self.watch(key);
                self.due.set(self.now_ns + LINGER_NS, key, What::HangUp);
            }
        }
    }

    /// Tells epoll what the connection waits for, where that has changed.
    fn watch(&mut self, key: Key) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        let wants = connection.wants();
        if wants == connection.watched {
            return;
        }
        connection.watched = wants;
        let data = epoll::EventData::new_u64(key.to_bits());
        let modified = epoll::modify(&self.epoll, &connection.fd, data, flags_of(wants));
        debug_assert!(modified.is_ok(), "a connection that is open is watched: {modified:?}");
    }

    /// Releases the answers whose work the workers have done.
    fn take_done(&mut self) -> Result<(), TargetError> {
        let Some(workers) = &mut self.workers else { return Ok(()) };
        for done in workers.take_done() {
            self.desk.burnt(&done.job.fate, done.at_ns)?;
            self.now_ns = clock::now_ns();
            if let Some(connection) = self.connections.get_mut(done.job.key) {
                connection.release(done.job.number, self.now_ns);
                self.send_due(done.job.key);
            }
        }
        Ok(())
    }

    /// Whether the loop has come to its end; begins the end when told to stop.
    fn is_over(&mut self, stop: &AtomicBool) -> bool {
        if let Some(until_ns) = self.drain_until_ns {
            return self.connections.len() == 0 || self.now_ns >= until_ns;
        }
        if !stop.load(Ordering::Relaxed) {
            return false;
        }
        // Closing the socket turns new connections away; what has been read is still answered.
        self.listener = None;
        let drain = u64::try_from(self.options.drain.as_nanos()).unwrap_or(u64::MAX);
        self.drain_until_ns = Some(clock::now_ns().saturating_add(drain));
        for key in self.connections.keys() {
            let Some(connection) = self.connections.get_mut(key) else { continue };
            connection.is_read_out = true;
            if connection.owed() == 0 {
                self.connections.remove(key);
            } else {
                self.watch(key);
            }
        }
        self.connections.len() == 0
    }
}

/// The answer that asks a client to go on and send the body.
fn interim() -> Answer {
    let (status, link) = (Status::Continue, Link::Keep);
    Answer { release_ns: 0, body: 0, status, link, is_head: true, page: None }
}

/// The answer to what is no request.
fn refusal(reject: Reject) -> Answer {
    let (status, link) = (Status::from(reject), Link::Close);
    Answer { release_ns: 0, body: 0, status, link, is_head: false, page: None }
}

fn flags_of(watch: Watch) -> epoll::EventFlags {
    let mut flags = epoll::EventFlags::empty();
    flags.set(epoll::EventFlags::IN, watch.read);
    flags.set(epoll::EventFlags::OUT, watch.write);
    flags
}
