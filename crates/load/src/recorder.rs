//! What one worker thread observes: no locks and no allocation while requests run.
//!
//! The thread fills an [`Interval`] of [`SLICE_NS`]; at its end it hands the box to the session and
//! goes on with an empty one that the session has given back.

use crate::in_flight::Sent;
use plimsoll_runs::{ErrorKind, Interval, LocalCause, Phase, Sample, Secrets, Tag};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

/// The length of a slice.
pub const SLICE_NS: u64 = 250_000_000;

/// One thread's slice, and the samples that ended in it.
#[derive(Debug, Default)]
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

/// Fills slices.
pub(crate) struct Recorder {
    slice: Box<Slice>,
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
        let slice = Box::default();
        Self { slice, end_ns: SLICE_NS, thread, keep_samples, secrets, filled, empty }
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

    /// Hands over the slice, which ends at `end`, and begins the next. `false`: nobody takes them
    /// any more.
    pub(crate) fn rotate(&mut self, end: u64, last: Option<Option<String>>) -> bool {
        let mut next = self.empty.try_recv().unwrap_or_default();
        next.number = self.slice.number + 1;
        next.samples.clear();
        next.last = false;
        next.fault = None;
        next.interval.reset(next.number * SLICE_NS);
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
    pub(crate) fn offered(&mut self, phase: Phase, n: u64) {
        let interval = &mut self.slice.interval;
        interval.events.offered += n;
        interval.phases[phase as usize].counters.offered += n;
    }

    /// A request was given to the kernel for the first time.
    #[inline]
    pub(crate) fn sent(&mut self, phase: Phase, wait_ns: u64, lateness_ns: u64) {
        let interval = &mut self.slice.interval;
        interval.events.sent += 1;
        let phase = &mut interval.phases[phase as usize];
        phase.counters.sent += 1;
        phase.histograms[Tag::ConnectionWait as usize].record(wait_ns);
        phase.histograms[Tag::Lateness as usize].record(lateness_ns);
    }

    /// Bytes left or came.
    #[inline]
    pub(crate) fn bytes_out(&mut self, phase: Phase, n: u64) {
        self.slice.interval.events.bytes_out += n;
        self.slice.interval.phases[phase as usize].counters.bytes_out += n;
    }

    /// A request ended that was never sent.
    pub(crate) fn never_sent(&mut self, due: u64, at: u64, phase: Phase, why: impl Into<Unsent>) {
        let why = why.into();
        let interval = &mut self.slice.interval;
        for counters in [&mut interval.events, &mut interval.phases[phase as usize].counters] {
            match why {
                Unsent::Kind(kind) => counters.error(kind),
                Unsent::Local(cause) => counters.local_n(cause, 1),
            }
        }
        let kind = why.kind();
        if self.keep_samples {
            self.slice.samples.push(Sample {
                due_ns: due,
                sent_ns: 0,
                first_byte_ns: 0,
                done_ns: at,
                bytes: 0,
                request: 0,
                connection: 0,
                status: 0,
                phase,
                error: Some(kind),
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
        let reasons = &mut self.slice.interval.phases[phase as usize].reasons;
        reasons.note(kind, code, at, words, &self.secrets);
    }

    /// An attempt to connect has failed, for this reason.
    #[cold]
    pub(crate) fn refused(&mut self, kind: ErrorKind, at: u64, words: &[u8]) {
        let interval = &mut self.slice.interval;
        interval.connect_failed += 1;
        interval.refusals.note(kind, None, at, words, &self.secrets);
    }

    /// A request that was sent has ended.
    #[inline]
    pub(crate) fn ended(&mut self, sent: &Sent, ended: &Ended) {
        let interval = &mut self.slice.interval;
        let phase = &mut interval.phases[sent.phase as usize];
        let response = ended.at.saturating_sub(sent.due);
        let service = ended.at.saturating_sub(sent.sent);
        if let Some(code) = ended.code {
            let first = if sent.first_byte == 0 { ended.at } else { sent.first_byte };
            phase.histograms[Tag::Ttfb as usize].record(first.saturating_sub(sent.sent));
            for counters in [&mut phase.counters, &mut interval.events] {
                counters.completed += 1;
                counters.status(code);
                counters.bytes_in += ended.bytes;
            }
        }
        if ended.code.is_some() || ended.error == Some(ErrorKind::Timeout) {
            phase.histograms[Tag::Response as usize].record(response);
            phase.histograms[Tag::Service as usize].record(service);
            if ended.error.is_some() {
                phase.histograms[Tag::FailedResponse as usize].record(response);
                phase.histograms[Tag::FailedService as usize].record(service);
            }
        }
        for counters in [&mut phase.counters, &mut interval.events] {
            match ended.error {
                None => counters.succeeded += 1,
                Some(kind) => counters.error(kind),
            }
        }
        if self.keep_samples {
            self.slice.samples.push(sample(sent, ended));
        }
    }
}

fn sample(sent: &Sent, ended: &Ended) -> Sample {
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
        connection: sent.connection,
        status: ended.code.unwrap_or(0),
        phase: sent.phase,
        error: ended.error,
    }
}
