//! What ends an experiment before its last cell: a stop that somebody asked for through its folder,
//! a budget of time, a cell that failed where none may.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use plimsoll_runs::experiment::Stop;
use plimsoll_units::show_duration;

/// How often the folder is asked whether somebody wants the experiment to stop, nanoseconds.
const PERIOD_NS: u64 = 200_000_000;

/// How much time an experiment may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// All the time in which it is executed, over all its sessions.
    pub total: Duration,
    /// How long a cell takes as far as the plan says; zero where it does not.
    pub cell: Duration,
}

/// What ends an experiment early.
pub(crate) struct Bounds {
    budget: Option<Budget>,
    why: OnceLock<String>,
    /// Why no more money may be spent, where that is so.
    spent: OnceLock<String>,
    course: Mutex<Course>,
}

/// How far the experiment is, in nanoseconds since its start.
#[derive(Debug, Clone, Copy, Default)]
struct Course {
    /// When this session began.
    session_ns: u64,
    /// The time that earlier sessions took.
    before_ns: u64,
    /// When the last cell of this session ended; its start before that.
    last_ns: u64,
    /// The longest time from one cell's end to the next one's in this session.
    longest_ns: u64,
    /// When the folder was asked last, and what it said.
    asked_ns: Option<u64>,
    asked: Option<Stop>,
}

impl Bounds {
    /// No bounds, for a session that begins so long after the experiment's start, when earlier ones
    /// had taken so much time.
    pub(crate) fn new(session_ns: u64, before_ns: u64) -> Self {
        let course = Course { session_ns, before_ns, last_ns: session_ns, ..Course::default() };
        Self {
            budget: None,
            why: OnceLock::new(),
            spent: OnceLock::new(),
            course: Mutex::new(course),
        }
    }

    pub(crate) fn set_budget(&mut self, budget: Budget) {
        self.budget = Some(budget);
    }

    fn course(&self) -> MutexGuard<'_, Course> {
        self.course.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the experiment with the present cells. The first reason is the one that is told.
    pub(crate) fn end(&self, why: String) {
        // A second reason changes nothing.
        let _ = self.why.set(why);
    }

    /// Ends the experiment, and its present cells: what it may cost is spent.
    pub(crate) fn end_spent(&self, why: String) {
        let _ = self.spent.set(why.clone());
        self.end(why);
    }

    /// Why no more may be spent; `None` where it may.
    pub(crate) fn spent(&self) -> Option<&str> {
        self.spent.get().map(String::as_str)
    }

    /// Why it ends early; `None` where it does not.
    pub(crate) fn why(&self) -> Option<&str> {
        self.why.get().map(String::as_str)
    }

    /// What somebody has asked for. `ask` looks into the folder: not more often than every fifth of
    /// a second.
    pub(crate) fn asked(&self, now_ns: u64, ask: impl FnOnce() -> Option<Stop>) -> Option<Stop> {
        let is_due = |asked_ns: u64| now_ns >= asked_ns.saturating_add(PERIOD_NS);
        {
            let mut course = self.course();
            if !course.asked_ns.is_none_or(is_due) {
                return course.asked;
            }
            course.asked_ns = Some(now_ns);
        }
        let found = ask();
        let mut course = self.course();
        course.asked = course.asked.max(found);
        // One that is to end with the present cells ends early only where others are left.
        if course.asked == Some(Stop::Now) {
            self.end_asked();
        }
        course.asked
    }

    /// Ends the experiment early, as somebody has asked for it.
    pub(crate) fn end_asked(&self) {
        self.end("it was asked to stop".to_owned());
    }

    /// Notes that a cell has ended. Returns how much time was spent, over all sessions.
    pub(crate) fn cell_ended(&self, now_ns: u64) -> u64 {
        let mut course = self.course();
        course.longest_ns = course.longest_ns.max(now_ns.saturating_sub(course.last_ns));
        course.last_ns = now_ns;
        course.spent_ns(now_ns)
    }

    /// Whether the budget has room for another cell: one that takes as long as the longest so far,
    /// or as the plan says.
    pub(crate) fn has_room(&self, now_ns: u64) -> bool {
        let Some(Budget { total, cell }) = self.budget else { return true };
        let (course, total_ns) = (*self.course(), nanoseconds(total));
        let (spent_ns, next_ns) =
            (course.spent_ns(now_ns), course.longest_ns.max(nanoseconds(cell)));
        let has_room = spent_ns.saturating_add(next_ns) <= total_ns && spent_ns < total_ns;
        if !has_room {
            self.end(format!(
                "the next cell would exceed its budget of {}: {} are spent, and a cell takes {}",
                show_duration(total_ns),
                show_duration(spent_ns),
                show_duration(next_ns)
            ));
        }
        has_room
    }
}

impl Course {
    fn spent_ns(self, now_ns: u64) -> u64 {
        self.before_ns + now_ns.saturating_sub(self.session_ns)
    }
}

fn nanoseconds(of: Duration) -> u64 {
    u64::try_from(of.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cell::Cell;

    const S: u64 = 1_000_000_000;

    #[test]
    fn a_budget_counts_the_time_of_all_sessions() {
        let mut bounds = Bounds::new(1000 * S, 50 * S);
        let budget = Budget { total: Duration::from_secs(100), cell: Duration::from_secs(20) };
        bounds.set_budget(budget);
        assert!(bounds.has_room(1000 * S) && bounds.why().is_none());
        assert_eq!(bounds.cell_ended(1026 * S), 76 * S);
        // The cell took 26 s and not the 20 s of the plan: another one would end at 102 s.
        assert!(!bounds.has_room(1026 * S));
        assert!(bounds.why().unwrap().contains("budget of 1 m 40 s"), "{:?}", bounds.why());
    }

    #[test]
    fn the_folder_is_asked_now_and_then_and_what_it_says_stays() {
        let bounds = Bounds::new(0, 0);
        let times = Cell::new(0);
        let ask = |of: Option<Stop>| {
            times.set(times.get() + 1);
            of
        };
        assert_eq!(bounds.asked(5, || ask(None)), None);
        assert_eq!(bounds.asked(6, || ask(Some(Stop::Now))), None);
        assert_eq!(
            bounds.asked(5 + PERIOD_NS, || ask(Some(Stop::AfterCell))),
            Some(Stop::AfterCell)
        );
        assert_eq!(bounds.asked(5 + 3 * PERIOD_NS, || ask(Some(Stop::Now))), Some(Stop::Now));
        assert_eq!(bounds.asked(5 + 9 * PERIOD_NS, || ask(None)), Some(Stop::Now));
        assert_eq!((times.get(), bounds.why()), (4, Some("it was asked to stop")));
    }

    proptest! {
        /// Cells that take no longer than the plan says, or than those before them, never exceed
        /// the budget, however many sessions there are; and none is held back that has room.
        #[test]
        fn no_cell_exceeds_the_budget(
            total in 0_u64..1000,
            sessions in prop::collection::vec(prop::collection::vec(0_u64..50, 0..20), 1..4),
        ) {
            let (mut spent, mut now, cell) = (0, 0, 50);
            for lengths in sessions {
                // Time between sessions is no time of the experiment.
                now += 10_000;
                let mut bounds = Bounds::new(now * S, spent * S);
                let cell = Duration::from_secs(cell);
                bounds.set_budget(Budget { total: Duration::from_secs(total), cell });
                for length in lengths {
                    let has_room = bounds.has_room(now * S);
                    prop_assert_eq!(has_room, spent + 50 <= total);
                    if !has_room {
                        break;
                    }
                    now += length;
                    spent += length;
                    prop_assert_eq!(bounds.cell_ended(now * S), spent * S);
                    prop_assert!(spent <= total);
                }
            }
        }
    }
}
