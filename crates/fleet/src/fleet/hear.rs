//! What workers say, and what becomes of those that say nothing.

use super::{Fleet, LOOK};
use crate::child::{self, Said};
use crate::clock::Offset;
use crate::error::FleetError;
use crate::memory;
use crate::message::{Answer, Greeting, Order};
use plimsoll_load::clock::monotonic_ns;
use plimsoll_load::run::Lost;
use plimsoll_load::{SLICE_NS, Slice};
use plimsoll_runs::names::OTHER;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

/// How often workers hear that somebody is there.
const PING_NS: u64 = 1_000_000_000;
/// Who has closed its end, or exited, may have so long for the rest of it.
const REST_NS: u64 = 500_000_000;
/// Clocks may be wrong by so much.
const AHEAD_NS: u64 = 1_000_000_000;
/// So much is heard at once before it is asked who is silent.
const MOST_AT_ONCE: usize = 4096;

impl Fleet<'_> {
    pub(super) fn ask_time(&mut self) {
        self.pinged_ns = monotonic_ns();
        for worker in self.workers.iter_mut().filter(|of| of.is_greeted && !of.has_ended) {
            worker.tell(&Order::Ping { sent_ns: monotonic_ns() });
        }
    }

    pub(super) fn tell_all(&mut self, order: impl Fn() -> Order) {
        self.workers.iter_mut().filter(|of| !of.has_ended).for_each(|of| of.tell(&order()));
    }

    /// Hears what is said, waiting for something up to `patience`. Returns whether there was
    /// anything.
    pub(super) fn listen(&mut self, patience: Duration) -> bool {
        let is_heard = match self.said.recv_timeout(patience.min(LOOK)) {
            Ok((worker, said)) => {
                self.hear(worker, said);
                true
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => false,
        };
        let now_ns = monotonic_ns();
        if now_ns.saturating_sub(self.looked_ns) < u64::try_from(LOOK.as_nanos()).unwrap_or(0) {
            return is_heard;
        }
        // All that was said comes before it is asked who is silent.
        for _ in 0..MOST_AT_ONCE {
            let Ok((worker, said)) = self.said.try_recv() else { break };
            self.hear(worker, said);
        }
        self.look(now_ns);
        is_heard
    }

    fn look(&mut self, now_ns: u64) {
        self.looked_ns = now_ns;
        if now_ns.saturating_sub(self.pinged_ns) >= PING_NS {
            self.ask_time();
        }
        for number in 0..self.workers.len() {
            if let Some(cause) = self.cause_of_loss(number, now_ns) {
                self.lose(number, cause);
            }
        }
    }

    /// Why a worker is lost, where it is.
    fn cause_of_loss(&mut self, number: usize, now_ns: u64) -> Option<String> {
        let is_short_of_memory = || memory::killed(self.terms.system) > self.short_of_memory;
        let (lost_after_ns, hangs_after_ns) = (self.terms.lost_after_ns, self.terms.hangs_after_ns);
        let worker = self.workers.get_mut(number).filter(|of| !of.has_ended)?;
        let child = worker.child.as_ref()?;
        let silent_ns = worker.silence.look(now_ns);
        let untold_ns = if self.has_begun { worker.told.look(now_ns) } else { 0 };
        match (worker.exited, worker.is_closed) {
            (Some(status), is_closed) if is_closed || silent_ns > REST_NS => {
                let (status, words) = ((status, worker.start.at), child.last_words());
                Some(child::ended(status, &words, is_short_of_memory()))
            }
            (None, true) if silent_ns > REST_NS => Some("it closed the connection".to_owned()),
            // What it takes to make ready is limited by itself.
            _ if worker.host.is_some() && silent_ns > lost_after_ns => {
                Some(format!("silent for {:.1} s", silent_ns as f64 / 1e9))
            }
            _ if untold_ns > hangs_after_ns => Some(format!(
                "it hangs: for {:.1} s it has told nothing of its load, though it answers",
                untold_ns as f64 / 1e9
            )),
            _ => None,
        }
    }

    /// Somebody is lost: nobody else can do what it was to do, so all end.
    fn lose(&mut self, number: usize, cause: String) {
        self.gather.end(number);
        let Some(worker) = self.workers.get_mut(number) else { return };
        worker.has_ended = true;
        if let Some(child) = &mut worker.child {
            child.let_go();
            // One that is only silent goes on with its load.
            child.kill();
        }
        let (worker, after_ns) = (worker.start.name.clone(), self.clock.now());
        self.lost.get_or_insert(Lost { worker, cause, after_ns });
        self.tell_all(|| Order::Abort);
    }

    fn hear(&mut self, number: usize, said: Said) {
        let Some(worker) = self.workers.get_mut(number) else { return };
        worker.silence.end();
        match said {
            Said::Greeting(greeting) => match Greeting::of(self.terms.version).refusal(&greeting) {
                Some(why) => self.refuse(number, (why, None, false)),
                None => self.greet(number),
            },
            Said::Exited(status) => worker.exited = Some(status),
            Said::Closed(None) => worker.is_closed = true,
            Said::Closed(Some(error)) => {
                worker.is_closed = true;
                if !worker.has_ended {
                    self.lose(number, error.to_string());
                }
            }
            Said::Answer(answer, at_ns) => self.take(number, answer, at_ns),
        }
    }

    fn take(&mut self, number: usize, answer: Answer, at_ns: u64) {
        let Some(worker) = self.workers.get_mut(number) else { return };
        match answer {
            Answer::Pong { sent_ns, received_ns, answered_ns } => {
                worker.exchanges += 1;
                let told = Offset::of([sent_ns, received_ns, answered_ns, at_ns]);
                match told {
                    // How it differed at the start is settled.
                    Some(told) if self.has_begun => worker.moved.take(told, at_ns),
                    Some(told) => worker.offset = Some(told.better(worker.offset)),
                    None => {}
                }
            }
            Answer::Ready { host } => worker.host = Some(host),
            Answer::Refused { why, hint, is_usage } => self.refuse(number, (why, hint, is_usage)),
            Answer::Begun { late_ns } => worker.late_ns = Some(late_ns),
            Answer::Slice(slice) => self.take_slice(number, slice),
            Answer::Ended { cpu_ns, max_rss_bytes } if !worker.has_ended => {
                worker.has_ended = true;
                self.gather.end(number);
                self.used.cpu_ns = self.used.cpu_ns.saturating_add(cpu_ns);
                let most = max_rss_bytes.unwrap_or_default();
                self.used.max_rss_bytes = self.used.max_rss_bytes.saturating_add(most);
            }
            Answer::Ended { .. } => {}
        }
    }

    fn take_slice(&mut self, number: usize, slice: Box<Slice>) {
        let Some(worker) = self.workers.get_mut(number).filter(|of| !of.has_ended) else { return };
        worker.told.end();
        let begins_ns = slice.number.saturating_mul(SLICE_NS);
        let has_been = self.has_begun && begins_ns <= self.clock.now().saturating_add(AHEAD_NS);
        let names = self.terms.names;
        if slice.interval.named.iter().any(|of| of.name >= names && of.name != OTHER) {
            self.lose(number, "it told of a name that the load does not have".to_owned());
        } else if !has_been {
            self.lose(number, "it told of seconds that have not been".to_owned());
        } else {
            let second = worker.health.add(&slice.interval, self.terms.measured_from_ns);
            let name = &worker.start.name;
            self.seconds.extend(second.map(|second| (name.clone(), second)));
            if !self.gather.add(number, slice) {
                self.lose(number, "it told seconds out of their order".to_owned());
            }
        }
    }

    fn refuse(&mut self, number: usize, (why, hint, is_usage): (String, Option<String>, bool)) {
        let Some(worker) = self.workers.get_mut(number) else { return };
        worker.has_ended = true;
        let worker = worker.start.name.clone();
        self.refused.get_or_insert(FleetError::Refused { worker, why, hint, is_usage });
    }
}
