//! What workers say of their load, and what becomes of those that say nothing of it.

use super::Fleet;
use crate::clock::Offset;
use crate::crew::News;
use crate::message::{Answer, Order};
use plimsoll_load::clock::monotonic_ns;
use plimsoll_load::run::Lost;
use plimsoll_load::{SLICE_NS, Slice};
use plimsoll_runs::names::OTHER;
use plimsoll_units::failure::chain;
use std::time::Duration;

/// Clocks may be wrong by so much.
const AHEAD_NS: u64 = 1_000_000_000;

impl Fleet {
    /// Hears what is said, waiting for something up to `patience`.
    pub(super) fn listen(&mut self, patience: Duration) {
        let (news, has_looked) = self.crew.listen(patience);
        for news in news {
            match news {
                News::Answer(number, answer, at_ns) => self.take(number, answer, at_ns),
                News::Lost(number, cause) => self.lose(number, cause),
                News::Refused(number, error) => self.lose(number, chain(&error)),
            }
        }
        if has_looked {
            self.look(monotonic_ns());
        }
    }

    /// Looks who answers, but tells nothing of its load.
    fn look(&mut self, now_ns: u64) {
        for number in 0..self.loads.len() {
            let untold_ns = self.loads[number].told.look(now_ns);
            if untold_ns > self.hangs_after_ns && !self.crew.has_ended(number) {
                let cause = format!(
                    "it hangs: for {:.1} s it has told nothing of its load, though it answers",
                    untold_ns as f64 / 1e9
                );
                self.lose(number, cause);
            }
        }
    }

    /// Somebody is lost: nobody else can do what it was to do, so all end.
    fn lose(&mut self, number: usize, cause: String) {
        self.gather.end(number);
        self.crew.lose(number);
        let (worker, after_ns) = (self.crew.name(number).to_owned(), self.clock.now());
        self.lost.get_or_insert(Lost { worker, cause, after_ns });
        self.crew.tell_all(|| Order::Abort);
    }

    fn take(&mut self, number: usize, answer: Answer, at_ns: u64) {
        let Some(load) = self.loads.get_mut(number) else { return };
        match answer {
            Answer::Pong { sent_ns, received_ns, answered_ns } => {
                // How it differed at the start is settled.
                let told = Offset::of([sent_ns, received_ns, answered_ns, at_ns]);
                told.into_iter().for_each(|told| load.moved.take(told, at_ns));
            }
            Answer::Begun { late_ns } => load.late_ns = Some(late_ns),
            Answer::Slice(slice) => self.take_slice(number, slice),
            Answer::Ended { cpu_ns, max_rss_bytes } if !self.crew.has_ended(number) => {
                self.crew.end(number);
                self.gather.end(number);
                self.used.cpu_ns = self.used.cpu_ns.saturating_add(cpu_ns);
                let most = max_rss_bytes.unwrap_or_default();
                self.used.max_rss_bytes = self.used.max_rss_bytes.saturating_add(most);
            }
            // What it says before it is told to, or of what it was not given, is not heard.
            _ => {}
        }
    }

    fn take_slice(&mut self, number: usize, slice: Box<Slice>) {
        if self.crew.has_ended(number) {
            return;
        }
        let Some(load) = self.loads.get_mut(number) else { return };
        load.told.end();
        let begins_ns = slice.number.saturating_mul(SLICE_NS);
        let has_been = begins_ns <= self.clock.now().saturating_add(AHEAD_NS);
        let names = self.names;
        if slice.interval.named.iter().any(|of| of.name >= names && of.name != OTHER) {
            self.lose(number, "it told of a name that the load does not have".to_owned());
        } else if !has_been {
            self.lose(number, "it told of seconds that have not been".to_owned());
        } else {
            let second = load.health.add(&slice.interval, self.measured_from_ns);
            let name = self.crew.name(number);
            self.seconds.extend(second.map(|second| (name.to_owned(), second)));
            if !self.gather.add(number, slice) {
                self.lose(number, "it told seconds out of their order".to_owned());
            }
        }
    }
}
