//! A thread for one collector: it reads when it is told to, and says what came of it.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use super::{Clock, Event};
use crate::collector::{CollectError, Watched};
use crate::sample::Samples;
use crate::timer::now_ns;

/// A reading that has ended.
pub(super) struct Reading {
    /// The place of its collector in the list.
    pub(super) index: usize,
    /// When its samples were taken, on the run's clock: when it began, unless its source says.
    pub(super) at_ns: u64,
    pub(super) samples: Samples,
    /// How long it took.
    pub(super) took: Duration,
    /// Why there are no samples, where there are none.
    pub(super) error: Option<CollectError>,
}

/// The thread of a collector, as the sampler sees it.
pub(super) struct Worker {
    pub(super) name: &'static str,
    pub(super) instance: Option<String>,
    begin: Sender<()>,
    state: State,
    thread: JoinHandle<()>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Idle,
    /// It has been reading since this moment of the monotonic clock.
    Reading(u64),
    /// The same, and a turn was missed since.
    Overdue(u64),
}

/// The size of a thread's stack. Collectors keep their buffers on the heap.
const STACK_BYTES: usize = 256 * 1024;

impl Worker {
    pub(super) fn start(
        index: usize,
        watched: Watched,
        clock: &Clock,
        events: &Sender<Event>,
    ) -> io::Result<Self> {
        let (begin, told) = mpsc::channel();
        let (name, instance) = (watched.name, watched.instance.clone());
        let (clock, events) = (Arc::clone(clock), events.clone());
        let thread = std::thread::Builder::new()
            .name(format!("collect-{name}"))
            .stack_size(STACK_BYTES)
            .spawn(move || work(index, watched, &clock, &told, &events))?;
        Ok(Self { name, instance, begin, state: State::Idle, thread })
    }

    /// Begins a reading. Returns the reason where it cannot.
    pub(super) fn begin(&mut self) -> Option<String> {
        match self.state {
            _ if self.thread.is_finished() => {
                Some("its thread has ended by a fault of its own".to_owned())
            }
            State::Reading(since) | State::Overdue(since) => {
                self.state = State::Overdue(since);
                let ms = now_ns().saturating_sub(since) / 1_000_000;
                Some(format!("its last reading has not ended for {ms} ms"))
            }
            State::Idle => {
                // Sending fails where the thread has just ended, which the next turn finds.
                let _ = self.begin.send(());
                self.state = State::Reading(now_ns());
                None
            }
        }
    }

    /// Notes that the reading has ended. Returns false where it missed a turn.
    pub(super) fn end(&mut self) -> bool {
        let in_time = matches!(self.state, State::Reading(_));
        self.state = State::Idle;
        in_time
    }

    pub(super) fn is_reading(&self) -> bool {
        // A thread that has ended sends no reading any more.
        self.state != State::Idle && !self.thread.is_finished()
    }

    /// Ends the thread. One that is reading is not waited for, and ends after that.
    pub(super) fn finish(self) {
        let is_idle = self.state == State::Idle;
        drop(self.begin);
        if is_idle {
            // A thread that panicked has printed why.
            let _ = self.thread.join();
        }
    }
}

fn work(
    index: usize,
    mut watched: Watched,
    clock: &Clock,
    told: &Receiver<()>,
    events: &Sender<Event>,
) {
    while told.recv().is_ok() {
        let (at_ns, begun_ns) = (clock(), now_ns());
        let mut samples = Samples::of(watched.instance.as_deref());
        let error = watched.collector.collect(&mut samples).err();
        let took = Duration::from_nanos(now_ns().saturating_sub(begun_ns));
        let at_ns = samples.dated(at_ns, begun_ns);
        let reading = Reading { index, at_ns, samples, took, error };
        if events.send(Event::Done(Box::new(reading))).is_err() {
            return;
        }
    }
}
