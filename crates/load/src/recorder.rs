//! What one worker thread observes: no locks and no allocation while requests run.
//!
//! The thread fills an [`Interval`] of [`SLICE_NS`]; when everything of it has come, it hands the
//! box to the session and goes on with an empty one that the session has given back. An event
//! belongs to the slice of its own time stamp: what has already happened after a slice's end waits
//! in the ones that follow.

use crate::in_flight::Sent;
use plimsoll_runs::labels::NO_LABEL;
use plimsoll_runs::names::NO_NAME;
use plimsoll_runs::{
    ErrorKind, Interval, LocalCause, NamedEvent, NamedPart, Phase, Sample, Secrets, SlowTrace, Tag,
    TraceId,
};
use plimsoll_workload::scenario::GroupEnd;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

/// The length of a slice.
pub const SLICE_NS: u64 = 250_000_000;

/// One thread's slice, and the samples that ended in it.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Slice {
    /// Whose it is.
    pub thread: u32,
    /// Which slice: its start is `number * SLICE_NS`.
    pub number: u64,
    /// What was observed.
    pub interval: Interval,
    /// Requests that ended, where samples are kept.
    pub samples: Vec<Sample>,
    /// Whether it is this thread's last one.
    pub last: bool,
    /// Set with the last one: why the thread could not go on.
    pub fault: Option<String>,
}

/// How a request ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ended {
    /// When.
    pub(crate) at: u64,
    /// The answer's code, where there was a whole answer.
    pub(crate) code: Option<u16>,
    /// Bytes of the answer.
    pub(crate) bytes: u64,
    /// Why it did not succeed.
    pub(crate) error: Option<ErrorKind>,
}

/// Under what a request has figures of its own.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Under {
    /// The number of its name.
    pub(crate) name: u16,
    /// The number of its user's label.
    pub(crate) label: u16,
}

impl From<u16> for Under {
    fn from(name: u16) -> Self {
        Self { name, label: NO_LABEL }
    }
}

impl From<&Sent> for Under {
    fn from(sent: &Sent) -> Self {
        Self { name: sent.name, label: sent.label }
    }
}

impl Under {
    /// Notes what came of a request of a phase, whose name and label are still to be filled in.
    #[inline]
    pub(crate) fn note(self, interval: &mut Interval, phase: Phase, event: NamedEvent) {
        if phase != Phase::Measured {
            return;
        }
        if self.name != NO_NAME {
            interval.named.push(NamedEvent { name: self.name, ..event });
        }
        if self.label != NO_LABEL {
            interval.labelled.events.push((self.label, NamedEvent { name: self.name, ..event }));
        }
    }
}

/// Why a request was never sent.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Unsent {
    /// Any kind of failure but [`ErrorKind::Local`].
    Kind(ErrorKind),
    /// This host let no connection be opened.
    Local(LocalCause),
}

impl Unsent {
    /// The kind of failure that it counts as.
    pub(crate) fn kind(self) -> ErrorKind {
        match self {
            Self::Kind(kind) => kind,
            Self::Local(_) => ErrorKind::Local,
        }
    }
}

impl From<ErrorKind> for Unsent {
    fn from(kind: ErrorKind) -> Self {
        Self::Kind(kind)
    }
}

/// A request is noticeably late where that is more than this part of its response time.
const NOTICEABLE: u64 = 128;

/// What has changed since the end of the slice that is being filled.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Since {
    /// By how many the requests that wait are more.
    pub(crate) waiting: i64,
    /// By how many those on their way are more.
    pub(crate) in_flight: i64,
}

/// Fills slices.
pub(crate) struct Recorder {
    slice: Box<Slice>,
    /// The slices after it in which something has happened already, in order.
    later: VecDeque<Box<Slice>>,
    /// The end of `slice`; endless before the load begins.
    end_ns: u64,
    thread: u32,
    keep_samples: bool,
    /// What no cause of a failure may show.
    secrets: Arc<Secrets>,
    filled: Sender<Box<Slice>>,
    empty: Receiver<Box<Slice>>,
}

impl Recorder {
    /// A recorder that hands slices to `filled` and takes empty ones from `empty`.
    #[must_use]
    pub(crate) fn new(
        thread: u32,
        keep_samples: bool,
        secrets: Arc<Secrets>,
        filled: Sender<Box<Slice>>,
        empty: Receiver<Box<Slice>>,
    ) -> Self {
        Self {
            slice: Box::default(),
            later: VecDeque::new(),
            end_ns: u64::MAX,
            thread,
            keep_samples,
            secrets,
            filled,
            empty,
        }
    }

    /// The load begins: what was recorded before belongs to the first slice, but for the round
    /// trips of handshakes, as connections that were opened before any load say nothing of one.
    pub(crate) fn begin(&mut self) {
        self.slice.interval.handshakes.clear();
        self.end_ns = SLICE_NS;
    }

    /// The end of the slice that is being filled.
    #[inline]
    pub(crate) fn end_ns(&self) -> u64 {
        self.end_ns
    }

    /// The slice that is being filled.
    #[inline]
    pub(crate) fn interval(&mut self) -> &mut Interval {
        &mut self.slice.interval
    }

    /// What is observed of a moment.
    #[inline]
    pub(crate) fn at(&mut self, at: u64) -> &mut Interval {
        &mut self.slice_at(at).interval
    }

    /// The slice of a moment; the one that is being filled, where its own has been handed over.
    #[inline]
    fn slice_at(&mut self, at: u64) -> &mut Slice {
        if at < self.end_ns { &mut self.slice } else { self.later_slice(at) }
    }

    /// A slice after the one that is being filled.
    fn later_slice(&mut self, at: u64) -> &mut Slice {
        let index = usize::try_from((at - self.end_ns) / SLICE_NS).unwrap_or(usize::MAX);
        while self.later.len() <= index {
            let number = self.slice.number + 1 + self.later.len() as u64;
            let slice = self.empty(number);
            self.later.push_back(slice);
        }
        &mut self.later[index]
    }

    fn empty(&self, number: u64) -> Box<Slice> {
        let mut slice = self.empty.try_recv().unwrap_or_default();
        slice.number = number;
        slice.samples.clear();
        slice.last = false;
        slice.fault = None;
        slice.interval.reset(number * SLICE_NS);
        slice
    }

    /// What has changed since the end of the slice that is being filled, as far as is recorded.
    pub(crate) fn since_end(&self) -> Since {
        let mut since = Since::default();
        let signed = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        for slice in &self.later {
            let events = &slice.interval.events;
            let never_sent = signed(events.errors_of_all(&ErrorKind::NEVER_SENT));
            let unanswered = signed(events.errors_of_all(&ErrorKind::UNANSWERED));
            let [offered, sent, completed] =
                [events.offered, events.sent, events.completed].map(signed);
            since.waiting += offered - sent - never_sent;
            since.in_flight += sent - completed - unanswered;
        }
        since
    }

    /// Hands over the slice, which ends at `end`, and begins the next. `false`: nobody takes them
    /// any more.
    pub(crate) fn rotate(&mut self, end: u64, last: Option<Option<String>>) -> bool {
        let number = self.slice.number + 1;
        let next = self.later.pop_front().unwrap_or_else(|| self.empty(number));
        let mut full = std::mem::replace(&mut self.slice, next);
        full.thread = self.thread;
        full.interval.len_ns = end.saturating_sub(full.interval.start_ns);
        if let Some(fault) = last {
            full.last = true;
            full.fault = fault;
        }
        self.end_ns += SLICE_NS;
        self.filled.send(full).is_ok()
    }

    /// A request became due.
    #[inline]
    pub(crate) fn offered(&mut self, due: u64, phase: Phase) {
        let interval = self.at(due);
        interval.events.offered += 1;
        interval.phases[phase as usize].counters.offered += 1;
    }

    /// A request was given to the kernel for the first time.
    #[inline]
    pub(crate) fn sent(&mut self, at: u64, phase: Phase, wait_ns: u64, lateness_ns: u64) {
        let interval = self.at(at);
        interval.events.sent += 1;
        let phase = &mut interval.phases[phase as usize];
        phase.counters.sent += 1;
        phase.histograms[Tag::ConnectionWait as usize].record(wait_ns);
        phase.histograms[Tag::Lateness as usize].record(lateness_ns);
    }

    /// Bytes were received that are no answer's.
    pub(crate) fn bytes_in(&mut self, at: u64, phase: Phase, n: u64) {
        if n > 0 {
            let interval = self.at(at);
            interval.events.bytes_in += n;
            interval.phases[phase as usize].counters.bytes_in += n;
        }
    }

    /// Bytes were given to a connection.
    #[inline]
    pub(crate) fn bytes_out(&mut self, at: u64, phase: Phase, n: u64) {
        let interval = self.at(at);
        interval.events.bytes_out += n;
        interval.phases[phase as usize].counters.bytes_out += n;
    }

    /// An answer has led its request elsewhere.
    pub(crate) fn redirected(&mut self, at: u64, phase: Phase, under: Under, bytes: u64) {
        let interval = self.at(at);
        let event = NamedEvent {
            part: NamedPart::Hop,
            name: NO_NAME,
            code: None,
            error: None,
            is_sent: true,
            response_ns: 0,
            service_ns: 0,
            late_ns: 0,
            bytes,
        };
        under.note(interval, phase, event);
        for counters in [&mut interval.events, &mut interval.phases[phase as usize].counters] {
            counters.redirects += 1;
            counters.bytes_in += bytes;
        }
    }

    /// A request ended that was never sent, and was due then.
    pub(crate) fn never_sent(
        &mut self,
        (due, under): (u64, impl Into<Under>),
        at: u64,
        phase: Phase,
        why: impl Into<Unsent>,
    ) {
        let (under, why, keep_samples) = (under.into(), why.into(), self.keep_samples);
        let slice = self.slice_at(at);
        let interval = &mut slice.interval;
        for counters in [&mut interval.events, &mut interval.phases[phase as usize].counters] {
            match why {
                Unsent::Kind(kind) => counters.error(kind),
                Unsent::Local(cause) => counters.local_n(cause, 1),
            }
        }
        let kind = why.kind();
        let event = NamedEvent {
            part: NamedPart::Whole,
            name: NO_NAME,
            code: None,
            error: Some(kind),
            is_sent: false,
            response_ns: 0,
            service_ns: 0,
            late_ns: 0,
            bytes: 0,
        };
        under.note(interval, phase, event);
        if keep_samples {
            slice.samples.push(Sample {
                due_ns: due,
                sent_ns: 0,
                first_byte_ns: 0,
                done_ns: at,
                bytes: 0,
                request: 0,
                name: under.name,
                connection: 0,
                status: 0,
                phase,
                error: Some(kind),
                trace: None,
            });
        }
    }

    /// Notes why requests that were due in a phase have failed: one of them, whose answer had a
    /// code if there was one. It is counted elsewhere.
    #[cold]
    pub(crate) fn reason(
        &mut self,
        phase: Phase,
        kind: ErrorKind,
        code: Option<u16>,
        at: u64,
        words: &[u8],
    ) {
        let secrets = Arc::clone(&self.secrets);
        let reasons = &mut self.at(at).phases[phase as usize].reasons;
        reasons.note(kind, code, at, words, &secrets);
    }

    /// An attempt to connect has failed, for this reason.
    #[cold]
    pub(crate) fn refused(&mut self, kind: ErrorKind, at: u64, words: &[u8]) {
        let secrets = Arc::clone(&self.secrets);
        let interval = self.at(at);
        interval.connect_failed += 1;
        interval.refusals.note(kind, None, at, words, &secrets);
    }

    /// A request that was sent has ended; servers were asked to record it as this trace.
    #[inline]
    pub(crate) fn ended(&mut self, sent: &Sent, ended: &Ended, trace: Option<TraceId>) {
        self.end(sent, ended, ended.bytes, trace);
    }

    /// The same, where its answer was messages, whose bytes were counted as they were received.
    pub(crate) fn ended_by_messages(&mut self, sent: &Sent, ended: &Ended) {
        self.end(sent, ended, 0, None);
    }

    #[inline]
    fn end(&mut self, sent: &Sent, ended: &Ended, bytes_in: u64, trace: Option<TraceId>) {
        let keep_samples = self.keep_samples;
        let slice = self.slice_at(ended.at);
        let interval = &mut slice.interval;
        let phase = &mut interval.phases[sent.phase as usize];
        let response = ended.at.saturating_sub(sent.due);
        let service = ended.at.saturating_sub(sent.sent);
        let is_late = ended.error.is_none() && sent.late.saturating_mul(NOTICEABLE) > response;
        if let Some(code) = ended.code {
            let first = if sent.first_byte == 0 { ended.at } else { sent.first_byte };
            phase.histograms[Tag::Ttfb as usize].record(first.saturating_sub(sent.sent));
            if sent.phase == Phase::Measured {
                interval.answered.note(ended.at.saturating_sub(interval.start_ns));
            }
            for counters in [&mut phase.counters, &mut interval.events] {
                counters.completed += 1;
                counters.status(code);
                counters.bytes_in += bytes_in;
            }
        }
        let has_run_out = matches!(ended.error, Some(ErrorKind::Timeout | ErrorKind::Unanswered));
        if ended.code.is_some() || has_run_out {
            phase.histograms[Tag::Response as usize].record(response);
            phase.histograms[Tag::Service as usize].record(service);
            if let Some(id) = trace.filter(|_| sent.phase == Phase::Measured) {
                interval.slowest.note(slow(id, response, sent, ended));
            }
            if ended.error.is_some() {
                phase.histograms[Tag::FailedResponse as usize].record(response);
                phase.histograms[Tag::FailedService as usize].record(service);
            } else if is_late {
                let punctual = response.saturating_sub(sent.late);
                phase.histograms[Tag::Late as usize].record(response);
                phase.histograms[Tag::Punctual as usize].record(punctual);
            }
        }
        for counters in [&mut phase.counters, &mut interval.events] {
            match ended.error {
                None => counters.succeeded += 1,
                Some(kind) => counters.error(kind),
            }
        }
        let event = NamedEvent {
            part: NamedPart::Whole,
            name: NO_NAME,
            code: ended.code,
            error: ended.error,
            is_sent: true,
            response_ns: response,
            service_ns: service,
            late_ns: if is_late { sent.late } else { 0 },
            bytes: ended.bytes,
        };
        Under::from(sent).note(interval, sent.phase, event);
        if keep_samples {
            slice.samples.push(sample(sent, ended, trace));
        }
    }
}

impl Recorder {
    /// A group of steps has ended, which was due in the measured phase.
    pub(crate) fn group(&mut self, name: u16, group: &GroupEnd) {
        self.at(group.done_ns).named.push(NamedEvent {
            part: NamedPart::Group,
            name,
            code: None,
            error: (!group.is_good).then_some(ErrorKind::Check),
            is_sent: true,
            response_ns: group.response_ns,
            service_ns: group.done_ns.saturating_sub(group.first_due_ns),
            late_ns: 0,
            bytes: 0,
        });
    }
}

#[cold]
fn slow(id: TraceId, response_ns: u64, sent: &Sent, ended: &Ended) -> SlowTrace {
    let (status, error) = (ended.code.unwrap_or(0), ended.error);
    SlowTrace { id, response_ns, due_ns: sent.due, status, error, name: sent.name }
}

fn sample(sent: &Sent, ended: &Ended, trace: Option<TraceId>) -> Sample {
    let first_byte_ns = match (sent.first_byte, ended.code) {
        (0, Some(_)) => ended.at,
        (first, _) => first,
    };
    Sample {
        due_ns: sent.due,
        sent_ns: sent.sent,
        first_byte_ns,
        done_ns: ended.at,
        bytes: ended.bytes,
        request: sent.request,
        name: sent.name,
        connection: sent.connection,
        status: ended.code.unwrap_or(0),
        phase: sent.phase,
        error: ended.error,
        trace,
    }
}
