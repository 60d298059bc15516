//! The watch over what is rented while a cell goes on: what it has cost, and whether it is there.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use plimsoll_load::clock::Clock;
use plimsoll_runs::event::Class;
use plimsoll_runs::experiment::Cell;
use plimsoll_testbed::TestbedError;
use plimsoll_testbed::rents::Rents;
use plimsoll_units::failure::chain;

use crate::control::News;
use crate::engine::Execution;

/// How often the clouds are asked what has become of instances.
const LOOK: Duration = Duration::from_secs(10);
/// How often what was spent is summed up.
const SUM: Duration = Duration::from_secs(1);
/// How often the end of a cell is looked for.
const STEP: Duration = Duration::from_millis(50);

/// Does something while the instances of a provider are watched: one that ends although nobody here
/// has ended it is told, and where the budget is reached, the experiment ends.
pub(crate) fn watched<T>(
    rents: Option<&dyn Rents>,
    (cell, to): (&Cell, &Execution<'_>),
    act: impl FnOnce() -> T,
) -> T {
    let Some(rents) = rents else { return act() };
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watch = scope.spawn(|| watch(rents, (cell, to), &is_over));
        let _ends = Ends(&is_over);
        let done = act();
        is_over.store(true, Ordering::Relaxed);
        drop(watch);
        done
    })
}

/// Ends the watch, also where what is done panics.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// When the clouds are looked at and what was spent is summed up, by how long a cell goes on.
#[derive(Debug, Default)]
struct Turns {
    summed: Option<Duration>,
    looked: Option<Duration>,
}

impl Turns {
    /// Whether what was spent is to be summed up: at once, as other cells may have spent it, and
    /// every second.
    fn sums(&mut self, passed: Duration) -> bool {
        is_due(&mut self.summed, SUM, passed)
    }

    /// Whether the clouds are to be asked what has become of instances.
    fn looks(&mut self, passed: Duration) -> bool {
        is_due(&mut self.looked, LOOK, passed)
    }
}

/// Whether a turn is due by now. However long a host stood still, it is one.
fn is_due(last: &mut Option<Duration>, every: Duration, passed: Duration) -> bool {
    let is_due = last.is_none_or(|last| passed >= last.saturating_add(every));
    if is_due {
        *last = Some(passed);
    }
    is_due
}

#[expect(clippy::disallowed_methods, reason = "looks at clouds now and then")]
fn watch(rents: &dyn Rents, (cell, to): (&Cell, &Execution<'_>), is_over: &AtomicBool) {
    let (clock, mut watching) = (Clock::start(), Watching::default());
    let mut happened = |class, text: &str| {
        to.control.tell(News::Warns(text));
        // Where the journal cannot be written, the cell's end tells it.
        let _ = to.record.happened(Some(cell), class, ("cloud", text));
    };
    let of: Tells<'_> = (&|| rents.is_spent(), &|| rents.gone());
    while !is_over.load(Ordering::Relaxed) {
        let spent = watching.look(of, Duration::from_nanos(clock.now()), &mut happened);
        if let Some(why) = spent.filter(|_| to.record.is_spent().is_none()) {
            happened(Class::Failure, &why);
            to.record.end_spent(why);
        }
        std::thread::sleep(STEP);
    }
}

/// What tells why nothing more may be spent, and which instances are gone and why.
type Tells<'a> = (
    &'a dyn Fn() -> Result<Option<String>, TestbedError>,
    &'a dyn Fn() -> Result<Vec<(String, String)>, TestbedError>,
);

/// What the watch over a cell's instances knows.
#[derive(Debug, Default)]
struct Watching {
    turns: Turns,
    /// Whether it was told that the clouds cannot be asked.
    is_told: bool,
}

impl Watching {
    /// Looks at what is due, so long after the cell began, and tells what has happened. Returns why
    /// nothing more may be spent, where that is so.
    fn look(
        &mut self,
        (is_spent, gone): Tells<'_>,
        passed: Duration,
        happened: &mut dyn FnMut(Class, &str),
    ) -> Option<String> {
        let spent = self.turns.sums(passed).then(|| is_spent().ok().flatten());
        if self.turns.looks(passed) {
            match gone() {
                Ok(gone) => {
                    for (name, why) in gone {
                        let text = format!("{name} is gone, and nobody here has ended it: {why}");
                        happened(Class::Infrastructure, &text);
                    }
                    self.is_told = false;
                }
                Err(error) if !self.is_told => {
                    // What runs is left alone.
                    self.is_told = true;
                    let text = format!("cannot look at instances: {}", chain(&error));
                    happened(Class::Failure, &text);
                }
                Err(_) => {}
            }
        }
        spent.flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_units::hash::mix;
    use std::cell::{Cell, RefCell};

    /// Turns of a watch that is delayed, and at times stands still for minutes: what was spent is
    /// summed up with the first one, and with each that begins a second or more after the last sum;
    /// what was missed meanwhile is not made up for.
    #[test]
    fn sums_are_made_at_once_and_each_second_whatever_delays_them() {
        for seed in 0..256_u64 {
            let (mut state, mut passed) = (seed, Duration::ZERO);
            let (mut turns, mut summed, mut looked) = (Turns::default(), None, None);
            for _ in 0..400 {
                let is_due =
                    |last: Option<Duration>, every| last.is_none_or(|at| passed >= at + every);
                assert_eq!(turns.sums(passed), is_due(summed, SUM), "{seed} at {passed:?}");
                assert_eq!(turns.looks(passed), is_due(looked, LOOK), "{seed} at {passed:?}");
                assert!(!turns.sums(passed) && !turns.looks(passed), "once a turn");
                if is_due(summed, SUM) {
                    summed = Some(passed);
                }
                if is_due(looked, LOOK) {
                    looked = Some(passed);
                }
                state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let drawn = mix(state);
                let still_s = if drawn.is_multiple_of(50) { drawn % 400 } else { 0 };
                passed += STEP + Duration::from_millis(drawn % 90) + Duration::from_secs(still_s);
            }
        }
    }

    /// A budget that is reached at any moment of a cell is told within a second of it and a turn,
    /// and one that was reached before the cell began, at once.
    #[test]
    fn a_budget_is_told_with_the_first_second_after_it_is_reached() {
        let gone = || Ok(Vec::new());
        for reached_ms in (0..10_000).step_by(7) {
            let reached = Duration::from_millis(reached_ms);
            let (mut watching, now) = (Watching::default(), Cell::new(Duration::ZERO));
            let is_spent = || Ok((now.get() >= reached).then(|| "spent".to_owned()));
            let told = (0..).find_map(|turn| {
                now.set(STEP * turn);
                let tells: Tells<'_> = (&is_spent, &gone);
                watching.look(tells, now.get(), &mut |_, _| ()).map(|_| now.get())
            });
            let late = told.unwrap().checked_sub(reached).unwrap();
            assert!(late < SUM, "{late:?} after {reached:?}");
            assert!(reached_ms > 0 || late.is_zero());
        }
    }

    /// Clouds that cannot be asked for a while: that is told once, and once more when it happens
    /// again; an instance that is gone is told within ten seconds.
    #[test]
    fn what_cannot_be_looked_at_is_told_once_until_it_can() {
        let (now, said) = (Cell::new(0_u64), RefCell::new(Vec::new()));
        let gone = || match now.get() {
            20..60 | 90..120 => Err(TestbedError::Wrong("ask the cloud".to_owned())),
            65..75 => Ok(vec![("web-1".to_owned(), "it ended".to_owned())]),
            _ => Ok(Vec::new()),
        };
        let mut watching = Watching::default();
        for second in 0..200 {
            now.set(second);
            let mut happened =
                |class: Class, text: &str| said.borrow_mut().push((second, class, text.to_owned()));
            let spent = || Ok(None);
            let looked = watching.look((&spent, &gone), Duration::from_secs(second), &mut happened);
            assert_eq!(looked, None);
        }
        let said: Vec<(u64, Class, String)> = said.into_inner();
        let cannot = "cannot look at instances: ask the cloud".to_owned();
        let ended = "web-1 is gone, and nobody here has ended it: it ended".to_owned();
        assert_eq!(
            said,
            [
                (20, Class::Failure, cannot.clone()),
                (70, Class::Infrastructure, ended),
                (90, Class::Failure, cannot),
            ]
        );
    }
}
