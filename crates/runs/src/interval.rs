//! What is observed in one stretch of a run: the unit in which the engine hands over, in which the
//! folder stores and from which every summary is added up.
//!
//! Two ways of counting stand side by side and are never mixed (docs/counting.md):
//!
//! - *by event*: a counter of [`Interval`] counts its own event in the stretch in which it
//!   happened;
//! - *by due phase*: a [`PhaseSlice`] counts requests by the phase in which they were **due**,
//!   whenever the rest of their life took place.
//!
//! Adding intervals is exact: histograms merge bucket by bucket, counters add.

use crate::answered::Answered;
use crate::handshakes::{Handshakes, TlsHandshakes};
use crate::labels::Labelled;
use crate::local::LocalCause;
use crate::names::NamedEvent;
use crate::outcome::{ErrorKind, Phase};
use crate::reasons::Reasons;
use crate::slowest::{Slowest, TraceId};
use crate::tag::{Named, Tag};
use crate::users::UserCounts;
use crate::websocket::WebSocketCounts;
use plimsoll_stats::Histogram;
use serde::{Deserialize, Serialize};

/// Counts of requests and bytes, by whichever rule the owner states.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Due.
    pub offered: u64,
    /// First byte given to the kernel.
    pub sent: u64,
    /// Whole answer read, any status.
    pub completed: u64,
    /// Completed, status expected, all checks passed.
    pub succeeded: u64,
    /// Failures by kind, indexed by `ErrorKind as usize`.
    pub errors: [u64; ErrorKind::ALL.len()],
    /// The failures of [`ErrorKind::Local`] by cause, indexed by `LocalCause as usize`.
    pub local: [u64; LocalCause::ALL.len()],
    /// Answers by code, in order of first appearance; codes are distinct.
    pub status: Vec<(u16, u64)>,
    /// Answers that led their requests elsewhere, where these went on.
    pub redirects: u64,
    /// Bytes received, heads and bodies.
    pub bytes_in: u64,
    /// Bytes sent.
    pub bytes_out: u64,
}

impl Counters {
    /// Counts one answer's code.
    #[inline]
    pub fn status(&mut self, code: u16) {
        self.status_n(code, 1);
    }

    fn status_n(&mut self, code: u16, n: u64) {
        match self.status.iter_mut().find(|(known, _)| *known == code) {
            Some((_, count)) => *count += n,
            None => self.status.push((code, n)),
        }
    }

    /// Counts one failure.
    #[inline]
    pub fn error(&mut self, kind: ErrorKind) {
        self.errors[kind as usize] += 1;
    }

    /// Counts failures of [`ErrorKind::Local`], by their cause.
    pub fn local_n(&mut self, cause: LocalCause, n: u64) {
        self.errors[ErrorKind::Local as usize] += n;
        self.local[cause as usize] += n;
    }

    /// The count of one kind of failure.
    #[must_use]
    pub fn errors_of(&self, kind: ErrorKind) -> u64 {
        self.errors[kind as usize]
    }

    /// The count of several kinds of failure together.
    #[must_use]
    pub fn errors_of_all(&self, kinds: &[ErrorKind]) -> u64 {
        kinds.iter().map(|&kind| self.errors_of(kind)).sum()
    }

    /// Adds every count of `other`.
    pub fn add(&mut self, other: &Self) {
        self.offered += other.offered;
        self.sent += other.sent;
        self.completed += other.completed;
        self.succeeded += other.succeeded;
        for (mine, theirs) in self.errors.iter_mut().zip(other.errors) {
            *mine += theirs;
        }
        for (mine, theirs) in self.local.iter_mut().zip(other.local) {
            *mine += theirs;
        }
        for &(code, n) in &other.status {
            self.status_n(code, n);
        }
        self.redirects += other.redirects;
        self.bytes_in += other.bytes_in;
        self.bytes_out += other.bytes_out;
    }

    /// Sets everything to zero, keeping the allocation.
    pub fn clear(&mut self) {
        let mut status = std::mem::take(&mut self.status);
        status.clear();
        *self = Self { status, ..Self::default() };
    }
}

/// Requests of one phase, as far as they came in one stretch of time.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct PhaseSlice {
    /// Counted by the phase in which the request was due.
    pub counters: Counters,
    /// One histogram a [`Tag`], in nanoseconds, indexed by `Tag as usize`.
    pub histograms: [Histogram; Tag::ALL.len()],
    /// Histograms under tags of the run's own. Those who have none pay nothing for them.
    pub named: Named,
    /// The causes of failures that `counters` counts.
    pub reasons: Reasons,
}

impl PhaseSlice {
    /// One of its histograms.
    #[must_use]
    pub fn histogram(&self, tag: Tag) -> &Histogram {
        &self.histograms[tag as usize]
    }

    /// Adds all of `other`.
    pub fn add(&mut self, other: &Self) {
        self.counters.add(&other.counters);
        for (mine, theirs) in self.histograms.iter_mut().zip(&other.histograms) {
            mine.add(theirs);
        }
        self.named.add(&other.named);
        self.reasons.add(&other.reasons);
    }

    /// Forgets everything, keeping allocations.
    pub fn clear(&mut self) {
        self.counters.clear();
        self.reasons.clear();
        self.histograms.iter_mut().for_each(Histogram::clear);
        self.named.clear();
    }
}

/// One stretch of a run: 250 ms where a session is steered by slices, one second where it is
/// stored.
///
/// Offsets are nanoseconds since the run's first due time (warm-up included).
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Interval {
    /// Start of the stretch.
    pub start_ns: u64,
    /// Its length; the last one of a run may be shorter.
    pub len_ns: u64,
    /// By event: counted when it happened, whatever the phase.
    pub events: Counters,
    /// By due phase, indexed by `Phase as usize`.
    pub phases: [PhaseSlice; Phase::ALL.len()],
    /// Requests sent and unanswered at the end of the stretch.
    pub in_flight: u64,
    /// Requests due and not yet sent at its end.
    pub waiting: u64,
    /// At its end, how long the longest unanswered request (sent or waiting) had been due.
    pub oldest_outstanding_ns: u64,
    /// The greatest number of connections that were open at once in it, over all threads.
    pub connections: u64,
    /// Connections opened in it.
    pub opened: u64,
    /// Requests that crossed the close of a reused connection, and went again.
    pub stale: u64,
    /// TLS handshakes that were completed in it; not stored.
    pub tls: TlsHandshakes,
    /// Connections given up in it on which requests ran out of time and none was ever answered; not
    /// stored.
    pub silent: u64,
    /// Attempts to connect that failed in it, whether or not a request failed with them.
    pub connect_failed: u64,
    /// The causes of these.
    pub refusals: Reasons,
    /// Round trip of the network: mean over the handshakes in the stretch, else the least that the
    /// kernel remembers of sampled connections; 0 where neither is known.
    pub rtt_ns: u64,
    /// Round trips of single handshakes in it, without those of the connections that were there
    /// before the first due time; not stored with the run's seconds.
    pub handshakes: Handshakes,
    /// Time between two polls of a worker thread, over all threads.
    pub turn: Histogram,
    /// Thread time spent on events rather than waiting or spinning, summed over threads.
    pub busy_ns: u64,
    /// Thread time of the stretch, summed over threads: the denominator of the busy share.
    pub thread_ns: u64,
    /// CPU time of the worker threads in the stretch, spinning included.
    pub cpu_ns: u64,
    /// Thread time in which a thread wanted to run and was not let (another process, a CPU quota),
    /// summed over threads; 0 where the kernel does not tell.
    pub denied_ns: u64,
    /// When in it answers came to requests that were due in the measured phase.
    pub answered: Answered,
    /// Whether at its end a request was due and had waited for more than a millisecond.
    pub behind: bool,
    /// The slowest requests of the measured phase that ended in it and that servers were asked to
    /// record; not stored with the run's seconds.
    pub slowest: Slowest,
    /// Requests of the measured phase that ended in it, where requests have names; not stored with
    /// the run's seconds.
    pub named: Vec<NamedEvent>,
    /// What came of users by their labels, where they have some; not stored with the run's seconds.
    pub labelled: Labelled,
    /// Users that arrived and ended in it, and how many there were; not stored with the run's
    /// seconds.
    pub users: UserCounts,
    /// What came of WebSockets in it; not stored with the run's seconds.
    pub websocket: WebSocketCounts,
}

impl Interval {
    /// Adds a later stretch of the same threads: counts add, states at the end are replaced.
    pub fn append(&mut self, later: &Self) {
        self.len_ns += later.len_ns;
        self.in_flight = later.in_flight;
        self.waiting = later.waiting;
        self.oldest_outstanding_ns = later.oldest_outstanding_ns;
        self.connections = self.connections.max(later.connections);
        if later.rtt_ns > 0 {
            self.rtt_ns = later.rtt_ns;
        }
        self.behind = later.behind;
        self.answered.add(&later.answered, later.start_ns.saturating_sub(self.start_ns));
        self.add_counts(later);
    }

    /// Adds the same stretch as another thread saw it.
    pub fn merge(&mut self, other: &Self) {
        self.in_flight += other.in_flight;
        self.waiting += other.waiting;
        self.oldest_outstanding_ns = self.oldest_outstanding_ns.max(other.oldest_outstanding_ns);
        self.connections = self.connections.max(other.connections);
        self.rtt_ns = match (self.rtt_ns, other.rtt_ns) {
            (0, rtt) | (rtt, 0) => rtt,
            (mine, theirs) => mine.midpoint(theirs),
        };
        self.behind |= other.behind;
        self.answered.add(&other.answered, 0);
        self.add_counts(other);
    }

    /// Adds the same stretch as another process saw it, whose connections are others.
    pub fn join(&mut self, other: &Self) {
        let connections = self.connections + other.connections;
        self.merge(other);
        self.connections = connections;
    }

    fn add_counts(&mut self, other: &Self) {
        self.events.add(&other.events);
        for (mine, theirs) in self.phases.iter_mut().zip(&other.phases) {
            mine.add(theirs);
        }
        self.opened += other.opened;
        self.stale += other.stale;
        self.silent += other.silent;
        self.tls.add(&other.tls);
        self.connect_failed += other.connect_failed;
        self.refusals.add(&other.refusals);
        self.handshakes.add(&other.handshakes);
        self.turn.add(&other.turn);
        self.busy_ns += other.busy_ns;
        self.thread_ns += other.thread_ns;
        self.cpu_ns += other.cpu_ns;
        self.denied_ns += other.denied_ns;
        self.slowest.add(&other.slowest);
        self.named.extend_from_slice(&other.named);
        self.labelled.add(&other.labelled);
        self.users.add(&other.users);
        self.websocket.add(&other.websocket);
    }

    /// Makes it an empty stretch that starts at `start_ns`, keeping allocations.
    pub fn reset(&mut self, start_ns: u64) {
        self.events.clear();
        self.phases.iter_mut().for_each(PhaseSlice::clear);
        self.turn.clear();
        self.start_ns = start_ns;
        self.len_ns = 0;
        self.in_flight = 0;
        self.waiting = 0;
        self.oldest_outstanding_ns = 0;
        self.connections = 0;
        self.opened = 0;
        self.stale = 0;
        self.silent = 0;
        self.tls = TlsHandshakes::default();
        self.connect_failed = 0;
        self.refusals.clear();
        self.rtt_ns = 0;
        self.handshakes.clear();
        self.busy_ns = 0;
        self.thread_ns = 0;
        self.cpu_ns = 0;
        self.denied_ns = 0;
        self.answered.clear();
        self.behind = false;
        self.slowest.clear();
        self.named.clear();
        self.labelled.clear();
        self.users = UserCounts::default();
        self.websocket = WebSocketCounts::default();
    }

    /// Answers completed (or given up) in the stretch, over all phases, by one tag.
    #[must_use]
    pub fn all_phases(&self, tag: Tag) -> Histogram {
        let mut sum = Histogram::new();
        for phase in &self.phases {
            sum.add(phase.histogram(tag));
        }
        sum
    }
}

/// One request, as `--samples` keeps it. Offsets are nanoseconds since the run's first due time;
/// 0 in `sent_ns`, `first_byte_ns` or `done_ns` where it never came to that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "SampleFields", from = "SampleFields")]
pub struct Sample {
    /// When it was due.
    pub due_ns: u64,
    /// When its first byte was given to the kernel.
    pub sent_ns: u64,
    /// When the first byte of its answer was read.
    pub first_byte_ns: u64,
    /// When the last byte was read, or it was given up.
    pub done_ns: u64,
    /// Bytes of the answer.
    pub bytes: u64,
    /// What was asked: its index in the list of requests.
    pub request: u32,
    /// The number of its name, [`NO_NAME`](crate::names::NO_NAME) where it has none.
    pub name: u16,
    /// The connection it used, unique in the run.
    pub connection: u32,
    /// The answer's code, 0 without one.
    pub status: u16,
    /// The phase it was due in.
    pub phase: Phase,
    /// Why it failed; `None` where it succeeded.
    pub error: Option<ErrorKind>,
    /// Its trace, where servers were asked to record it.
    pub trace: Option<TraceId>,
}

/// A [`Sample`] as others are told of it: its fields in their order, as there are very many.
type SampleFields =
    (u64, u64, u64, u64, u64, u32, u16, u32, u16, Phase, Option<ErrorKind>, Option<TraceId>);

impl From<Sample> for SampleFields {
    fn from(of: Sample) -> Self {
        let Sample { due_ns, sent_ns, first_byte_ns, done_ns, bytes, request, name, .. } = of;
        let Sample { connection, status, phase, error, trace, .. } = of;
        (
            due_ns,
            sent_ns,
            first_byte_ns,
            done_ns,
            bytes,
            request,
            name,
            connection,
            status,
            phase,
            error,
            trace,
        )
    }
}

impl From<SampleFields> for Sample {
    fn from(of: SampleFields) -> Self {
        let (due_ns, sent_ns, first_byte_ns, done_ns, bytes, request, ..) = of;
        let (.., name, connection, status, phase, error, trace) = of;
        Self {
            due_ns,
            sent_ns,
            first_byte_ns,
            done_ns,
            bytes,
            request,
            name,
            connection,
            status,
            phase,
            error,
            trace,
        }
    }
}
