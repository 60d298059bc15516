//! Users who go through a scenario: where they come from, who thinks, who waits for a connection.
//!
//! A user sits in a *seat*, whose number stands for him in the engine's tables and is another's
//! when he has ended; with [`IN_BACKGROUND`] set it stands for what he does beside his steps
//! ([`returns`]). Seats, think times and waiting requests are kept here; connections, sockets and
//! recording are the worker's (`worker::users`).
//!
//! # Cost
//!
//! A user costs his memory in the scenario, the bytes that he sends, and an entry in a heap while
//! he thinks: some 2 kB, and no thread.

mod arrivals;
mod broadcasts;
mod messages;
mod returns;
mod server_clock;

use plimsoll_runs::labels::NO_LABEL;
use plimsoll_runs::{Labelled, UserCounts};
use plimsoll_workload::scenario::{
    Came, End, Failure, FailureKind, GroupEnd, Lane, Message, Next, Now, Received, Scenario,
    Sending, User,
};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::driver::IN_BACKGROUND;
use broadcasts::Heard;
use messages::Awaited;
use returns::{Back, Return};
use server_clock::Asking;

pub(crate) use messages::{Early, Over};
pub(crate) use returns::Held;
pub(crate) use server_clock::Known;

pub(crate) use arrivals::{Arrivals, Numbers};

/// A user, and what he has of the engine's.
struct Seat {
    user: User,
    /// His connections: what each is, and the worker's number of it.
    connections: Vec<(Lane, u32)>,
    /// What he wants to send and has no connection for yet.
    sending: Option<Sending>,
    /// Whether he has been told what came of his last request.
    is_told: bool,
    /// The messages that he awaits.
    awaited: Option<Awaited>,
    /// The step of his that waits for a WebSocket to be opened again.
    held: Option<Held>,
    /// The handshake by which he opens one again.
    back: Option<Back>,
    /// How he leaves, once that has been answered.
    leaving: Option<Leaving>,
    /// The last broadcasts that he has had.
    heard: Vec<Heard>,
    /// Why WebSockets of his are closed, by their numbers.
    gone: Vec<(u16, Box<str>)>,
    /// Whether it is his turn.
    has_turn: bool,
    /// What has come since then, until his step begins.
    early: VecDeque<Early>,
    /// The number of his label.
    label: u16,
}

/// How a user leaves his seat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leaving {
    /// By himself.
    Ended(End),
    /// As the load ends.
    Cut,
}

/// The users of one thread.
pub(crate) struct Users {
    pub(crate) scenario: Arc<Scenario>,
    seats: Vec<Option<Seat>>,
    vacant: Vec<u32>,
    arrivals: Arrivals,
    numbers: Arc<Numbers>,
    /// Who thinks, until when.
    thinking: BinaryHeap<Reverse<(u64, u32)>>,
    /// Whose turn it is.
    ready: VecDeque<u32>,
    /// Whose requests wait for a connection, by when they were due.
    waiting: BTreeSet<(u64, u32)>,
    /// For whom a connection is to be opened, in their order.
    pub(crate) wanting: VecDeque<u32>,
    /// Connections on which a request that waits may go now.
    pub(crate) usable: VecDeque<u32>,
    /// Groups that have ended and are not recorded yet.
    pub(crate) groups: Vec<GroupEnd>,
    /// Whose labels came, and how many users, since it was last asked.
    pub(crate) labelled: Labelled,
    /// What became of users since it was last taken.
    pub(crate) counts: UserCounts,
    /// Until when messages are awaited, with who awaits them; some await none any more.
    deadlines: BinaryHeap<Reverse<(u64, u32)>>,
    /// How many steps await messages.
    awaiting: u32,
    /// How many of them count as requests.
    awaiting_requests: u32,
    /// Who opens a WebSocket again, and when.
    returns: BinaryHeap<Reverse<Return>>,
    /// Who has opened which one again since it was last asked.
    pub(crate) returned: VecDeque<(u32, u16)>,
    /// Who leaves, as his last handshake has been answered.
    pub(crate) leavers: VecDeque<(u32, Leaving)>,
    /// Whose steps wait for that, by until when they do.
    held: BTreeSet<(u64, u32)>,
    /// How many of these count as requests.
    held_requests: u64,
    /// Who asks for the server's time, and what is known of it.
    asking: Asking,
    /// Handshakes that have opened no WebSocket since it was last asked.
    pub(crate) refused: u64,
    /// Broadcasts that are lost for good, since it was last asked.
    pub(crate) lost: u64,
    /// How long messages are awaited where a step does not say.
    timeout_ns: u64,
    /// No step starts from here on.
    end_ns: u64,
    /// Where answers are unpacked.
    room: Vec<u8>,
    /// The wall clock less the run's.
    pub(crate) wall_offset: i64,
}

impl Users {
    /// Users of a scenario, of whom none has arrived.
    #[must_use]
    pub(crate) fn new(
        scenario: Arc<Scenario>,
        arrivals: Arrivals,
        numbers: Arc<Numbers>,
        timeout_ns: u64,
    ) -> Self {
        Self {
            scenario,
            seats: Vec::new(),
            vacant: Vec::new(),
            arrivals,
            numbers,
            thinking: BinaryHeap::new(),
            ready: VecDeque::new(),
            waiting: BTreeSet::new(),
            wanting: VecDeque::new(),
            usable: VecDeque::new(),
            groups: Vec::new(),
            labelled: Labelled::default(),
            counts: UserCounts::default(),
            deadlines: BinaryHeap::new(),
            awaiting: 0,
            awaiting_requests: 0,
            returns: BinaryHeap::new(),
            returned: VecDeque::new(),
            leavers: VecDeque::new(),
            held: BTreeSet::new(),
            held_requests: 0,
            asking: Asking::default(),
            refused: 0,
            lost: 0,
            timeout_ns,
            end_ns: u64::MAX,
            room: Vec::new(),
            wall_offset: 0,
        }
    }

    /// From an offset on, users arrive at these times.
    pub(crate) fn offer(&mut self, from: u64, times: &crate::source::Times, number: u64) {
        if let Arrivals::Open { open, .. } = &mut self.arrivals {
            open.offer(from, times, number);
        }
    }

    fn moment(&self, ns: u64) -> Now {
        let unix = i64::try_from(ns).unwrap_or(i64::MAX).saturating_add(self.wall_offset);
        Now { ns, unix_ns: u64::try_from(unix).unwrap_or(0) }
    }

    fn seat(&mut self, seat: u32) -> Option<&mut Seat> {
        self.seats.get_mut((seat & !IN_BACKGROUND) as usize)?.as_mut()
    }

    fn seat_of(&self, seat: u32) -> Option<&Seat> {
        self.seats.get((seat & !IN_BACKGROUND) as usize)?.as_ref()
    }

    /// Seats those who have arrived by now, and gives those their turn who have thought.
    pub(crate) fn arrive(&mut self, now: u64) {
        while let Some(at) = self.arrivals.take(now, self.end_ns) {
            self.begin(at);
        }
        while let Some(&Reverse((until, seat))) = self.thinking.peek() {
            if until > now {
                break;
            }
            self.thinking.pop();
            self.gives_turn(seat);
        }
    }

    /// Seats a new user who arrives then.
    fn begin(&mut self, at: u64) {
        let Some(number) = self.arrivals.number(&self.numbers) else { return };
        let Some(mut user) = User::new(&self.scenario, number, at) else {
            self.counts.rows_used_up = true;
            self.arrivals.stop();
            return;
        };
        let label = self.label(&mut user, at);
        let seated = Seat {
            user,
            connections: Vec::new(),
            sending: None,
            is_told: true,
            awaited: None,
            held: None,
            back: None,
            leaving: None,
            heard: Vec::new(),
            gone: Vec::new(),
            has_turn: false,
            early: VecDeque::new(),
            label,
        };
        let seat = match self.vacant.pop() {
            Some(seat) => {
                self.seats[seat as usize] = Some(seated);
                seat
            }
            None => {
                self.seats.push(Some(seated));
                u32::try_from(self.seats.len() - 1).unwrap_or(u32::MAX)
            }
        };
        self.counts.arrived += 1;
        let active = self.numbers.active.fetch_add(1, Ordering::Relaxed) + 1;
        self.counts.active_peak = self.counts.active_peak.max(u64::from(active));
        self.gives_turn(seat);
    }

    /// The number of the label of a user who arrives then.
    fn label(&mut self, user: &mut User, at: u64) -> u16 {
        let now = self.moment(at);
        let Some(label) = user.label(&self.scenario, now) else { return NO_LABEL };
        let Ok(mut labels) = self.numbers.labels.lock() else { return NO_LABEL };
        let (number, new) = labels.number(&label);
        self.labelled.labels.extend(new.map(|label| (number, label)));
        self.labelled.others = labels.others();
        *self.labelled.arrived.entry(number).or_default() += 1;
        number
    }

    /// The number of the label of the user in a seat.
    pub(crate) fn label_of(&self, seat: u32) -> u16 {
        self.seat_of(seat).map_or(NO_LABEL, |of| of.label)
    }

    /// How many have their turn now.
    pub(crate) fn ready(&self) -> usize {
        self.ready.len()
    }

    /// It is a user's turn.
    fn gives_turn(&mut self, seat: u32) {
        if let Some(of) = self.seat(seat) {
            of.has_turn = true;
        }
        self.ready.push_back(seat);
    }

    /// The next whose turn it is.
    pub(crate) fn take_ready(&mut self) -> Option<u32> {
        let seat = self.ready.pop_front()?;
        if let Some(of) = self.seat(seat) {
            of.has_turn = false;
        }
        Some(seat)
    }

    /// What the user in a seat does next, at `now`; `None` where his next step is due when the load
    /// has ended.
    pub(crate) fn next(&mut self, seat: u32, now: u64) -> Option<Next> {
        let now = self.moment(now);
        let of = self.seats.get_mut(seat as usize)?.as_mut()?;
        let next = of.user.next(&self.scenario, now, &mut self.groups);
        let starts_at = match &next {
            Next::Ask(sending) if sending.is_redirect => 0,
            Next::Ask(sending) | Next::Say { sending, .. } | Next::Unsent { sending, .. } => {
                sending.due_ns
            }
            // Who thinks is there until the load has ended, and so are his connections.
            Next::Think { .. } | Next::Close { .. } | Next::Done(_) => 0,
        };
        (starts_at < self.end_ns).then_some(next)
    }

    /// Lets a user think.
    pub(crate) fn think(&mut self, seat: u32, until_ns: u64) {
        self.thinking.push(Reverse((until_ns, seat)));
    }

    /// Lets others have their turn before a user goes on.
    pub(crate) fn go_on_later(&mut self, seat: u32) {
        self.gives_turn(seat);
    }

    /// What the user in a seat sends.
    pub(crate) fn message(&self, seat: u32) -> Option<&Message> {
        let of = self.seat_of(seat)?;
        match seat & IN_BACKGROUND {
            0 => Some(of.user.message()),
            _ => of.user.returning(of.back.as_ref()?.channel),
        }
    }

    /// Notes what he wants to send, until it is sent.
    pub(crate) fn wants(&mut self, seat: u32, sending: Sending) {
        let Some(of) = self.seat(seat) else { return };
        match &mut of.back {
            Some(back) if seat & IN_BACKGROUND != 0 => back.sending = Some(sending),
            _ => (of.sending, of.is_told) = (Some(sending), false),
        }
        self.waiting.insert((sending.due_ns, seat));
    }

    /// What a user waits to send, who does not wait any more.
    pub(crate) fn take_sending(&mut self, seat: u32) -> Option<Sending> {
        let of = self.seat(seat)?;
        let sending = match seat & IN_BACKGROUND {
            0 => of.sending.take(),
            _ => of.back.as_mut().and_then(|back| back.sending.take()),
        }?;
        self.waiting.remove(&(sending.due_ns, seat));
        Some(sending)
    }

    /// The connection that he waits for; `None` where he does not wait any more.
    pub(crate) fn wanted(&self, seat: u32) -> Option<Lane> {
        let of = self.seat_of(seat)?;
        let waits = match seat & IN_BACKGROUND {
            0 => of.sending.is_some(),
            _ => of.back.as_ref().is_some_and(|back| back.sending.is_some()),
        };
        let message = self.message(seat).filter(|_| waits);
        message.map(Message::lane)
    }

    /// Whether he waits for that connection: his seat, as it stands for what he is to send on it.
    pub(crate) fn awaits(&self, seat: u32, lane: Lane) -> Option<u32> {
        [seat, seat | IN_BACKGROUND].into_iter().find(|seat| self.wanted(*seat) == Some(lane))
    }

    /// His connection of a kind, if he has had one.
    pub(crate) fn connection(&self, seat: u32, lane: Lane) -> Option<u32> {
        let connections = &self.seat_of(seat)?.connections;
        connections.iter().find(|(to, _)| *to == lane).map(|(_, at)| *at)
    }

    /// He has that connection to the server from now on, in the place of one before.
    pub(crate) fn owns(&mut self, seat: u32, lane: Lane, at: u32) {
        let Some(of) = self.seat(seat) else { return };
        of.connections.retain(|(to, _)| *to != lane);
        of.connections.push((lane, at));
    }

    /// Tells a user of an answer; what came of it, where he awaits one.
    pub(crate) fn answered(
        &mut self,
        seat: u32,
        received: &Received<'_>,
        response_ns: u64,
        at: u64,
    ) -> Option<Came> {
        let now = self.moment(at);
        if seat & IN_BACKGROUND != 0 {
            return self.has_answered_return(seat, (received, response_ns), now);
        }
        let of = self.seats.get_mut(seat as usize)?.as_mut()?;
        of.is_told = true;
        let came = of.user.answered(&self.scenario, received, response_ns, now, &mut self.room);
        let opens = of.user.message().upgrade.is_some();
        self.refused += u64::from(opens && matches!(came, Came::Failed(_)));
        Some(came)
    }

    /// A request of a user has ended: it is his turn again.
    pub(crate) fn finished(&mut self, seat: u32, at: u64) {
        if seat & IN_BACKGROUND != 0 {
            return self.has_tried_again(seat, at);
        }
        let now = self.moment(at);
        let Some(Some(of)) = self.seats.get_mut(seat as usize) else { return };
        if !std::mem::replace(&mut of.is_told, true) {
            self.refused += u64::from(of.user.message().upgrade.is_some());
            of.user.broke(&self.scenario, now);
        }
        self.gives_turn(seat);
    }

    /// A user leaves his seat; his connections are returned, to be closed. Where another takes his
    /// place, that one arrives at `at`.
    pub(crate) fn leave(&mut self, seat: u32, how: Leaving, at: u64) -> Vec<(Lane, u32)> {
        self.forgets_broadcasts(seat, |_| true);
        let Some(of) = self.seats.get_mut(seat as usize).and_then(Option::take) else {
            return Vec::new();
        };
        self.vacant.push(seat);
        self.asks_no_more(seat);
        self.numbers.active.fetch_sub(1, Ordering::Relaxed);
        if let Some(awaited) = &of.awaited {
            self.awaiting -= 1;
            self.awaiting_requests -= u32::from(awaited.is_request);
        }
        if let Some(sending) = of.sending {
            self.waiting.remove(&(sending.due_ns, seat));
        }
        match how {
            Leaving::Ended(End::Finished) => self.counts.finished += 1,
            Leaving::Ended(End::Failed) => self.counts.failed += 1,
            Leaving::Ended(End::EndRun) => {
                self.counts.failed += 1;
                self.counts.end_run = true;
            }
            Leaving::Cut => self.counts.cut += 1,
        }
        if how != Leaving::Cut && at < self.end_ns {
            self.arrivals.replace(at);
        }
        of.connections
    }

    /// The seats of all who are there.
    pub(crate) fn seated(&self) -> Vec<u32> {
        let seats = self.seats.iter().enumerate().filter(|(_, seat)| seat.is_some());
        seats.filter_map(|(at, _)| u32::try_from(at).ok()).collect()
    }

    /// How many requests wait for a connection.
    pub(crate) fn waiting(&self) -> u64 {
        self.waiting.len() as u64 + self.held_requests
    }

    /// Since when the oldest of them is due.
    pub(crate) fn oldest_waiting(&self) -> Option<u64> {
        self.waiting.first().map(|(due, _)| *due)
    }

    /// Whose request has waited longest.
    pub(crate) fn longest_waiting(&self) -> Option<u32> {
        self.waiting.first().map(|(_, seat)| *seat)
    }

    /// When somebody has his turn next, or arrives.
    pub(crate) fn next_due(&mut self) -> Option<u64> {
        let has_turn = !self.ready.is_empty() || !self.returned.is_empty();
        if has_turn || !self.usable.is_empty() || !self.leavers.is_empty() {
            return Some(0);
        }
        let thinking = self.thinking.peek().map(|Reverse((until, _))| *until);
        let starts = thinking.into_iter().chain(self.arrivals.next_due());
        let starts = starts.chain(self.next_return()).chain(self.next_question());
        let starts = starts.min().filter(|at| *at < self.end_ns);
        let limits = self.next_deadline().into_iter().chain(self.next_overdue());
        starts.into_iter().chain(limits).min()
    }

    /// Whether nobody is there, and nobody will arrive.
    pub(crate) fn is_used_up(&self) -> bool {
        self.vacant.len() == self.seats.len() && self.arrivals.is_used_up()
    }

    /// No step starts from then on, and nobody arrives.
    pub(crate) fn end_at(&mut self, at: u64) {
        self.end_ns = self.end_ns.min(at);
        self.arrivals.end_at(at);
    }

    /// No step starts any more.
    pub(crate) fn stop(&mut self) {
        self.end_at(0);
        self.arrivals.stop();
    }
}

/// The kind of failure that a failure of a scenario is.
pub(crate) fn kind_of(failure: &Failure) -> plimsoll_runs::ErrorKind {
    match failure.kind {
        FailureKind::Check => plimsoll_runs::ErrorKind::Check,
        FailureKind::Take => plimsoll_runs::ErrorKind::Take,
        FailureKind::Variable => plimsoll_runs::ErrorKind::Variable,
        FailureKind::Redirect => plimsoll_runs::ErrorKind::Redirect,
        FailureKind::Unanswered => plimsoll_runs::ErrorKind::Unanswered,
        FailureKind::Closed => plimsoll_runs::ErrorKind::Closed,
    }
}
