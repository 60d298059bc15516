//! One thread of the engine: its own epoll, connections, share of the schedule and recorder.
//! Nothing is shared on the hot path but one number a thread, which tells the others whether it has
//! a free connection.
//!
//! A *turn* is: poll; take events; count what has become due; start what is due while a connection
//! is free; look for time-outs; hand over slices that have ended.

mod connect;
mod explain;
mod follow;
mod free;
mod linger;
mod messages;
mod pace;
mod race;
mod receive;
mod returns;
mod start;
mod traces;
pub(crate) mod tunnel;
mod users;

use crate::clock::{Clock, Denied, thread_cpu_ns};
use crate::config::{Config, Pacing};
use crate::connection::Connection;
use crate::driver::{Driver, Event, Slot};
use crate::in_flight::InFlight;
use crate::pick::Pick;
use crate::recorder::Recorder;
use crate::source::users::Numbers;
use crate::source::{Source, Times};
use crate::sys;
use crate::way::Endpoint;
use free::Free;
use plimsoll_runs::{ErrorKind, Phase};
use plimsoll_workload::arrivals::Share;
use rustix::event::epoll;
use start::turn_of;
use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender};

/// What a session tells its threads.
pub(crate) enum Command {
    /// All are connected: time begins.
    Go(Clock),
    /// From an offset on, these times hold.
    Offer {
        /// The offset.
        from: u64,
        /// When they are due, from that offset on.
        times: Times,
        /// Which offer this is.
        number: u64,
    },
    /// What waits is not to be sent any more.
    DiscardWaiting,
    /// What is due from this offset on is of the measured phase.
    MeasureFrom(u64),
    /// No more will be offered after this offset; end when all is answered, or `drain` later.
    EndAt(u64),
    /// Offer no more, finish what is in flight.
    Stop,
    /// End now.
    Abort,
}

/// What a thread says before the start.
#[derive(Debug)]
pub(crate) struct Connected {
    /// Connections that are open.
    pub(crate) open: u32,
    /// Why one could not be opened.
    pub(crate) failed: Option<(ErrorKind, std::io::Error)>,
    /// Why there is no such thread.
    pub(crate) fault: Option<std::io::Error>,
}

/// What the threads of a session share.
pub(crate) struct Shared {
    /// Free connections, a number for each thread.
    pub(crate) free: Vec<AtomicU32>,
    /// Set when commands wait.
    pub(crate) commands: Vec<AtomicBool>,
    /// Serial numbers for connections.
    pub(crate) serial: AtomicU32,
    /// Connections that are open, of all threads.
    pub(crate) open: AtomicU32,
    /// Threads whose first connection is open, or could not be opened.
    pub(crate) first: AtomicU32,
    /// The numbers of users.
    pub(crate) users: Arc<Numbers>,
}

/// One thread's ends of the channels.
pub(crate) struct Line {
    /// Which thread of this process.
    pub(crate) index: u32,
    /// Which share of the load it has.
    pub(crate) share: Share,
    /// What the session tells.
    pub(crate) commands: Receiver<Command>,
    /// Says that connecting is over.
    pub(crate) connected: Sender<Connected>,
    /// Wakes the thread.
    pub(crate) wake: Arc<OwnedFd>,
    /// What all share.
    pub(crate) shared: Arc<Shared>,
}

/// The thread's state.
pub(crate) struct Worker<D: Driver> {
    config: Config,
    line: Line,
    driver: D,
    recorder: Recorder,
    source: Source,
    pick: Pick,
    clock: Clock,
    epoll: OwnedFd,
    connections: Vec<Connection<D::Connection>>,
    /// Connections that can take a request.
    free: Free,
    /// Those that are being opened, in order.
    opening: VecDeque<(u64, u32, u32)>,
    /// How many of these are opened for a request that has to be sent again.
    reserved: usize,
    in_flight: InFlight,
    /// Requests that wait to be sent again on any connection, oldest first.
    again: VecDeque<Slot>,
    buffer: Vec<u8>,
    plain: Vec<u8>,
    scratch: Vec<u8>,
    events: Vec<Event>,
    epoll_events: Vec<epoll::Event>,
    dirty: Vec<u32>,
    /// Broadcasts that came, until the server's clock is known by which they were published.
    unbooked: VecDeque<messages::Came>,
    /// Sockets of WebSockets that are over, left to their peers until then.
    lingering: VecDeque<(u64, OwnedFd)>,
    /// Whether the load is over, and all that is left is to end it.
    is_ending: bool,
    /// Where the search for a closed entry goes on.
    vacant_from: u32,
    /// Closed entries of users' own connections.
    vacant_entries: Vec<u32>,
    /// Attempts to connect that failed, and why the first did.
    failures: usize,
    first_failure: Option<(ErrorKind, std::io::Error)>,
    now: u64,
    /// When all connections were last looked at, by a poll that reported everything.
    looked: u64,
    /// Since when what the present poll has reported may have been there.
    unread_since: u64,
    /// Where the kernel stamps arrivals: its wall clock less our clock, in nanoseconds.
    stamps: Option<i64>,
    /// Whether users measure broadcasts, which count from these stamps always.
    hears_broadcasts: bool,
    /// Round trips of handshakes since the last slice: their sum, and how many.
    handshakes: (u64, u64),
    /// When a connection is renewed next.
    renew_at: u64,
    /// Whether it has slept while answers were on their way: their stamps are wanted then.
    sleeps: bool,
    open: u32,
    /// How many were open in all threads at the last slice's end.
    open_before: u64,
    most: u32,
    /// No new connection before this, after one has failed.
    back_off_until: u64,
    back_off_ns: u64,
    /// Since when another thread has had a free connection while requests waited here.
    free_elsewhere_since: Option<u64>,
    /// Since when this host has let no further connection be opened while requests waited here.
    short_since: Option<u64>,
    published_free: u32,
    spins: u32,
    begin_turn: u64,
    /// When the turn before the present one began.
    begin_turn_before: u64,
    end_at: u64,
    stopping: bool,
    aborted: bool,
    cpu_ns: u64,
    denied: Denied,
    denied_ns: u64,
    slice_from: u64,
    fault: Option<String>,
}

/// What epoll says of the eventfd that wakes the thread.
const WAKE: u64 = u64::MAX;
/// A turn without work that took longer was not idle: the thread was kept from its core, by a quota
/// or a neighbour, and what it could not do meanwhile is not the target's doing.
const LONGEST_IDLE_NS: u64 = 100_000;
/// Events taken at once.
const EVENTS: usize = 256;

impl<D: Driver> Worker<D> {
    /// A thread's state before it connects.
    ///
    /// # Errors
    /// When the kernel gives no epoll.
    pub(crate) fn new(
        config: Config,
        line: Line,
        driver: D,
        source: Source,
        recorder: Recorder,
    ) -> std::io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &*line.wake, epoll::EventData::new_u64(WAKE), epoll::EventFlags::IN)?;
        let of = line.share.of;
        let part = |all: u32| all / of + u32::from(line.share.index < all % of);
        let (least, most) = (part(config.connections.0), part(config.connections.1).max(1));
        let pick = Pick::new(&config, line.share).map_err(std::io::Error::other)?;
        Ok(Self {
            driver,
            recorder,
            source,
            pick,
            clock: Clock::start(),
            epoll,
            connections: (0..least).map(|_| Connection::closed()).collect(),
            free: Free::default(),
            opening: VecDeque::new(),
            reserved: 0,
            in_flight: InFlight::new(),
            again: VecDeque::new(),
            buffer: vec![0; D::READ],
            plain: Vec::new(),
            scratch: Vec::new(),
            events: Vec::new(),
            epoll_events: Vec::with_capacity(EVENTS),
            dirty: Vec::new(),
            unbooked: VecDeque::new(),
            lingering: VecDeque::new(),
            is_ending: false,
            vacant_from: 0,
            vacant_entries: Vec::new(),
            failures: 0,
            first_failure: None,
            now: 0,
            looked: 0,
            unread_since: 0,
            stamps: None,
            hears_broadcasts: config.hears_broadcasts(),
            handshakes: (0, 0),
            renew_at: 0,
            sleeps: config.pacing == Pacing::Thrifty,
            open: 0,
            open_before: 0,
            most,
            back_off_until: 0,
            back_off_ns: 0,
            free_elsewhere_since: None,
            short_since: None,
            published_free: 0,
            spins: 0,
            begin_turn: 0,
            begin_turn_before: 0,
            end_at: u64::MAX,
            stopping: false,
            aborted: false,
            cpu_ns: thread_cpu_ns(),
            denied: Denied::of_this_thread(),
            denied_ns: 0,
            slice_from: 0,
            fault: None,
            config,
            line,
        })
    }

    /// Connects, waits for the others, and works until the end.
    pub(crate) fn run(mut self) {
        sys::set_timer_slack(1);
        sys::map_large_blocks();
        let failed = self.connect_all();
        let open = self.open;
        if self.line.connected.send(Connected { open, failed, fault: None }).is_err() {
            return;
        }
        match self.line.commands.recv() {
            Ok(Command::Go(clock)) => self.clock = clock,
            _ => return,
        }
        for connection in &mut self.connections {
            connection.free_since = 0;
        }
        self.recorder.begin();
        // It was counted in a time of its own.
        (self.back_off_until, self.back_off_ns) = (0, 0);
        self.now = self.clock.now();
        self.begin_turn = self.now;
        self.looked = self.now;
        self.denied_ns = self.denied.total_ns();
        while !self.is_over() {
            if !self.turn() {
                return;
            }
        }
        self.finish();
    }

    fn is_over(&mut self) -> bool {
        if self.aborted || self.fault.is_some() {
            return true;
        }
        // What became due since it was last counted is not to be forgotten.
        let counted = self.source.next_due().is_none_or(|due| due > self.now);
        let awaited = self.source.awaiting();
        let idle =
            counted && self.in_flight.len() == 0 && awaited == 0 && self.source.waiting() == 0;
        let drained = self.now >= self.end_at.saturating_add(self.config.drain_ns);
        let offered = self.stopping || self.now >= self.end_at || self.source.is_used_up();
        offered && (idle || drained)
    }

    /// One turn; `false` when nobody listens any more.
    fn turn(&mut self) -> bool {
        let poll = self.poll();
        let mut work = poll.events > 0;
        self.take_events(poll.events);
        if self.stamps.is_some() {
            // The events' own times lie in the past.
            self.now = self.clock.now();
        }
        if self.line.shared.commands[self.line.index as usize].load(Ordering::Acquire) {
            self.obey();
        }
        self.count_due();
        work |= self.start_due();
        self.expire();
        self.renew();
        self.publish_free();
        let end = self.clock.now();
        let took = end.saturating_sub(poll.idle_until);
        if work || took > LONGEST_IDLE_NS {
            let interval = self.recorder.at(self.begin_turn);
            interval.busy_ns += took;
            interval.turn.record(took);
        }
        let before = std::mem::replace(&mut self.begin_turn_before, self.begin_turn);
        self.now = end;
        self.begin_turn = end;
        self.hand_over(before)
    }

    /// Hands over the slices that ended by a time; `false` when nobody listens any more.
    ///
    /// What arrived before a slice's end is read by the turn after it at the latest, or, of an
    /// answer in parts, by the next: a slice is handed over when both have been.
    fn hand_over(&mut self, until: u64) -> bool {
        while until >= self.recorder.end_ns() {
            let end = self.recorder.end_ns();
            self.sum_up(end);
            if !self.recorder.rotate(end, None) {
                return false;
            }
        }
        true
    }

    /// Fills in what a slice says about its end.
    fn sum_up(&mut self, end: u64) {
        let cpu = thread_cpu_ns();
        let denied = self.denied.total_ns();
        let waiting = self.source.waiting();
        let oldest_waiting = self.source.oldest_waiting();
        let oldest_sent = self.in_flight.oldest().map(|(_, sent, _)| sent.due);
        let rtt_ns = self.round_trip();
        let open = u64::from(self.line.shared.open.load(Ordering::Relaxed));
        let open_before = std::mem::replace(&mut self.open_before, open);
        let in_flight = self.in_flight.len() + self.source.awaiting_requests();
        let since = self.recorder.since_end();
        let interval = self.recorder.interval();
        interval.cpu_ns = cpu - self.cpu_ns;
        interval.denied_ns = denied.saturating_sub(self.denied_ns);
        interval.thread_ns = end.saturating_sub(self.slice_from);
        // A turn that crossed the slice's end was counted where it ended.
        interval.waiting = waiting.saturating_add_signed(-since.waiting);
        interval.in_flight = u64::from(in_flight).saturating_add_signed(-since.in_flight);
        interval.connections = interval.connections.max(open).max(open_before);
        interval.rtt_ns = rtt_ns;
        let late = |due: Option<u64>| due.map_or(0, |due| end.saturating_sub(due));
        interval.oldest_outstanding_ns = late(oldest_waiting).max(late(oldest_sent));
        interval.behind = late(oldest_waiting) > 1_000_000;
        self.cpu_ns = cpu;
        self.denied_ns = denied;
        self.slice_from = end;
    }

    fn obey(&mut self) {
        self.line.shared.commands[self.line.index as usize].store(false, Ordering::Release);
        while let Ok(command) = self.line.commands.try_recv() {
            match command {
                Command::Go(_) => {}
                Command::Offer { from, times, number } => match &mut self.source {
                    Source::Open(open) => open.offer(from, &times, number),
                    Source::Users(users) => users.offer(from, &times, number),
                    Source::Closed(_) => {}
                },
                Command::MeasureFrom(at) => self.config.measured_from_ns = at,
                Command::DiscardWaiting => self.discard_waiting(),
                Command::EndAt(at) => {
                    self.end_at = at;
                    self.source.end_at(at);
                }
                Command::Stop => {
                    self.count_due();
                    self.source.stop();
                    self.discard_waiting();
                    self.stopping = true;
                    self.end_at = self.end_at.min(self.now);
                }
                Command::Abort => self.aborted = true,
            }
        }
    }

    fn phase(&self, due: u64) -> Phase {
        if due < self.config.measured_from_ns { Phase::WarmUp } else { Phase::Measured }
    }

    fn count_due(&mut self) {
        let measured_from = self.config.measured_from_ns;
        let recorder = &mut self.recorder;
        let now = self.now;
        let (names, pick) = (self.config.names.as_deref(), &mut self.pick);
        let (free, connections, driver) = (&self.free, &self.connections, &self.driver);
        let unopened = u64::from(self.most.saturating_sub(self.open));
        let spare = || {
            let open = free.all().filter_map(|at| connections[at as usize].protocol.as_ref());
            unopened + open.map(|protocol| u64::from(driver.room(protocol))).sum::<u64>()
        };
        self.source.poll(now, spare, |due, dropped| {
            let phase = if due < measured_from { Phase::WarmUp } else { Phase::Measured };
            recorder.offered(due, phase);
            if dropped {
                let name = turn_of(names, pick);
                recorder.never_sent((due, name), now, phase, ErrorKind::ClientSaturated);
            }
        });
    }

    fn discard_waiting(&mut self) {
        self.cut_waiting_users();
        while let Some(due) = self.source.take() {
            let phase = self.phase(due.at);
            let name = turn_of(self.config.names.as_deref(), &mut self.pick);
            self.recorder.never_sent((due.at, name), self.now, phase, ErrorKind::Cut);
            self.source.finished(due.user, self.now);
        }
    }

    /// Tells the other threads how many connections are free here.
    #[inline]
    fn publish_free(&mut self) {
        let free = self.free.len();
        if free != self.published_free {
            self.published_free = free;
            let index = self.line.index as usize;
            self.line.shared.free[index].store(free, Ordering::Relaxed);
        }
    }

    /// The network's round trip: the mean over the handshakes of the slice; where there was none,
    /// the least that the kernel remembers of a few connections.
    fn round_trip(&mut self) -> u64 {
        let (sum, count) = std::mem::take(&mut self.handshakes);
        if let Some(mean) = sum.checked_div(count) {
            return mean;
        }
        if matches!(self.config.endpoint, Endpoint::Unix(_)) {
            return 0;
        }
        let open = self.connections.iter().filter_map(|connection| connection.socket().ok());
        let least = open.take(8).filter_map(sys::round_trip).map(|trip| trip.least_ns);
        least.filter(|&ns| ns > 0).min().unwrap_or(0)
    }

    /// Cuts what was not sent, leaves what was not answered, hands over the last slice.
    fn finish(mut self) {
        self.count_due();
        self.discard_waiting();
        let slots: Vec<_> = self.in_flight.slots().collect();
        let silent = |c: &&Connection<_>| c.is_silent() || (c.answered == 0 && c.in_use > 0);
        let silent = self.connections.iter().filter(silent).count();
        self.recorder.interval().silent += silent as u64;
        for slot in slots {
            self.end_request(slot, None, 0, Some(ErrorKind::InFlightAtEnd));
        }
        self.cut_messages();
        self.is_ending = true;
        self.cut_users();
        // An interval has a length, however soon after another it ends, and holds what came last.
        let end = self.now.max(self.slice_from) + 1;
        if !self.hand_over(end - 1) {
            return;
        }
        self.sum_up(end);
        let fault = self.fault.take();
        let _ = self.recorder.rotate(end, Some(fault));
        self.see_off();
    }
}
