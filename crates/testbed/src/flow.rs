//! A graph of steps, in parallel where it allows: what a step did is undone when a later one fails,
//! and at the end.

use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use plimsoll_units::secret::hidden;

use crate::error::TestbedError;
use crate::time::{Deadline, Time};

/// What kind of step it is, for those who read events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Namespaces, links, cgroups, folders.
    Infrastructure,
    /// A server under test.
    Service,
    /// What puts a load on it.
    Load,
    /// What belongs to the experiment itself.
    Management,
}

impl Class {
    /// Its name in events.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Infrastructure => "infrastructure",
            Self::Service => "service",
            Self::Load => "load",
            Self::Management => "management",
        }
    }
}

/// What a step does, or what undoes it. Returns what was said. It has to end soon after its
/// deadline is over.
pub type Deed<'a> = Box<dyn Fn(&Deadline) -> Result<String, TestbedError> + Send + Sync + 'a>;

/// A step.
pub struct Step<'a> {
    /// What it does, as a verb and its object: `start nginx`.
    pub name: String,
    /// The instance that it is of; empty for what all share.
    pub instance: String,
    /// What kind of step it is.
    pub class: Class,
    /// The steps before it, by their places.
    pub after: Vec<usize>,
    /// How long it may take.
    pub limit: Duration,
    /// How often it is tried again where it fails.
    pub retries: u32,
    /// What it does.
    pub act: Deed<'a>,
    /// What undoes it, whole or half done; `None` where nothing is to be undone.
    pub undo: Option<Deed<'a>>,
}

/// Something that was done, undone, or not.
#[derive(Debug, Clone, PartialEq)]
pub struct Action {
    /// What was done: the step's name, or what undoes it.
    pub name: String,
    /// The instance.
    pub instance: String,
    /// The kind of step.
    pub class: Class,
    /// How long it took.
    pub took: Duration,
    /// What was said; of what failed, why.
    pub output: String,
    /// Whether it failed.
    pub is_failed: bool,
}

/// Is told of every action, from any thread.
pub type ActionListener<'a> = &'a (dyn Fn(&Action) + Sync);

/// Takes the name of an instance, and what it said.
pub type Outputs<'a> = &'a (dyn Fn(&str, &str) + Sync);

/// A graph of steps.
pub struct Flow<'a> {
    steps: Vec<Step<'a>>,
    told: ActionListener<'a>,
    /// Whether the user has ended it.
    is_ended: &'a (dyn Fn() -> bool + Sync),
    /// What the limits of its steps are counted by.
    time: Time,
}

/// How far the steps are.
#[derive(Default)]
struct Progress {
    begun: BTreeSet<usize>,
    /// In the order in which they ended.
    done: Vec<usize>,
    running: usize,
    failed: Option<TestbedError>,
}

impl<'a> Flow<'a> {
    /// A flow without a step. `is_ended` tells whether the user has ended it.
    #[must_use]
    pub fn new(told: ActionListener<'a>, is_ended: &'a (dyn Fn() -> bool + Sync)) -> Self {
        Self { steps: Vec::new(), told, is_ended, time: Time::HOST }
    }

    /// The same flow, whose limits are counted by another clock.
    #[must_use]
    pub fn timed(self, time: Time) -> Self {
        Self { time, ..self }
    }

    /// Adds a step; returns its place. Those that it follows stand before it.
    pub fn add(&mut self, step: Step<'a>) -> usize {
        let place = self.steps.len();
        debug_assert!(step.after.iter().all(|before| *before < place), "{}", step.name);
        self.steps.push(step);
        place
    }

    /// The steps, in their order.
    #[must_use]
    pub fn steps(&self) -> &[Step<'a>] {
        &self.steps
    }

    /// Does all steps.
    ///
    /// # Errors
    /// The first step that failed, after all that was done is undone.
    pub fn up(&self) -> Result<(), TestbedError> {
        let (progress, changed) = (Mutex::new(Progress::default()), Condvar::new());
        std::thread::scope(|scope| {
            let mut at = progress.lock().unwrap_or_else(PoisonError::into_inner);
            loop {
                if at.failed.is_none() && (self.is_ended)() {
                    at.failed = Some(TestbedError::Interrupted);
                }
                let is_over = at.failed.is_some() || at.done.len() == self.steps.len();
                if is_over && at.running == 0 {
                    return;
                }
                if !is_over {
                    for place in self.ready(&at) {
                        at.begun.insert(place);
                        at.running += 1;
                        let (progress, changed) = (&progress, &changed);
                        scope.spawn(move || {
                            let result = self.act(place);
                            let mut at = progress.lock().unwrap_or_else(PoisonError::into_inner);
                            at.running -= 1;
                            // Half of what failed may be there: it is undone like the rest.
                            at.done.push(place);
                            if let Err(error) = result {
                                at.failed.get_or_insert(error);
                            }
                            changed.notify_all();
                        });
                    }
                }
                // An interrupt changes nothing here: it is looked for.
                let wait = changed.wait_timeout(at, Duration::from_millis(50));
                at = wait.unwrap_or_else(PoisonError::into_inner).0;
            }
        });
        let progress = progress.into_inner().unwrap_or_else(PoisonError::into_inner);
        let Some(error) = progress.failed else { return Ok(()) };
        self.undo(&progress.done);
        Err(error)
    }

    /// Undoes all steps, the last first. What cannot be undone is told, and the rest is undone all
    /// the same; the errors of what was not come back.
    pub fn down(&self) -> Vec<TestbedError> {
        self.undo(&(0..self.steps.len()).collect::<Vec<_>>())
    }

    fn ready(&self, at: &Progress) -> Vec<usize> {
        let is_ready = |place: &usize| {
            let step = &self.steps[*place];
            !at.begun.contains(place) && step.after.iter().all(|before| at.done.contains(before))
        };
        (0..self.steps.len()).filter(is_ready).collect()
    }

    fn act(&self, place: usize) -> Result<(), TestbedError> {
        let step = &self.steps[place];
        let mut tried = 0;
        loop {
            let (result, action) = self.once(step, &step.act, step.name.clone());
            (self.told)(&action);
            match result {
                Err(_) if tried < step.retries && !(self.is_ended)() => tried += 1,
                result => return result,
            }
        }
    }

    fn undo(&self, done: &[usize]) -> Vec<TestbedError> {
        let mut errors = Vec::new();
        // An order that undoes nothing before what stands on it: a step ends after those before it.
        for place in done.iter().rev() {
            let step = &self.steps[*place];
            let Some(undo) = &step.undo else { continue };
            let (result, action) = self.once(step, undo, undone(&step.name));
            (self.told)(&action);
            errors.extend(result.err());
        }
        errors
    }

    fn once(
        &self,
        step: &Step<'_>,
        deed: &Deed<'_>,
        name: String,
    ) -> (Result<(), TestbedError>, Action) {
        let deadline = self.time.within(step.limit);
        let result = deed(&deadline);
        let output = match &result {
            Ok(output) => output.clone(),
            Err(error) => plimsoll_units::failure::told(error),
        };
        let action = Action {
            name,
            instance: step.instance.clone(),
            class: step.class,
            took: deadline.passed(),
            output: hidden(&output).into_owned(),
            is_failed: result.is_err(),
        };
        (result.map(drop), action)
    }
}

/// What it is called that a step is undone.
fn undone(name: &str) -> String {
    match name {
        "start it" => "stop it".to_owned(),
        _ => match name.strip_prefix("make ") {
            Some(what) => format!("remove {what}"),
            None => format!("undo: {name}"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::hand::Hand;
    use std::sync::atomic::{AtomicU32, Ordering};

    /// Steps a, b and c, where b and c follow a; `bad` fails. Tells what was done, in order.
    fn flow(bad: &str, retries: u32) -> (Result<(), TestbedError>, Vec<String>) {
        let log = Mutex::new(Vec::new());
        let told = |action: &Action| {
            let mark = if action.is_failed { "!" } else { "" };
            log.lock().unwrap().push(format!("{}{mark}", action.name));
        };
        let mut flow = Flow::new(&told, &|| false);
        for (name, after) in [("a", vec![]), ("b", vec![0]), ("c", vec![1])] {
            let act: Deed<'_> = Box::new(move |_| match name == bad {
                true => Err(TestbedError::Wrong(format!("{name} is bad"))),
                false => Ok(String::new()),
            });
            flow.add(Step {
                name: name.to_owned(),
                instance: String::new(),
                class: Class::Infrastructure,
                after,
                limit: Duration::from_secs(5),
                retries,
                act,
                undo: Some(Box::new(|_| Ok(String::new()))),
            });
        }
        let result = flow.up();
        if result.is_ok() {
            assert!(flow.down().is_empty());
        }
        drop(flow);
        (result, log.into_inner().unwrap())
    }

    #[test]
    fn all_is_done_in_order_and_undone_backwards() {
        let (result, log) = flow("", 0);
        assert!(result.is_ok());
        assert_eq!(log, ["a", "b", "c", "undo: c", "undo: b", "undo: a"]);
    }

    #[test]
    fn what_was_done_before_a_failure_is_undone_and_the_failed_step_too() {
        let (result, log) = flow("b", 1);
        assert_eq!(result.unwrap_err().to_string(), "b is bad");
        assert_eq!(log, ["a", "b!", "b!", "undo: b", "undo: a"]);
    }

    #[test]
    fn what_does_not_depend_on_each_other_goes_side_by_side() {
        let meet = std::sync::Barrier::new(2);
        let mut flow = Flow::new(&|_| (), &|| false);
        for name in ["a", "b"] {
            let meet = &meet;
            flow.add(Step {
                name: name.to_owned(),
                instance: String::new(),
                class: Class::Service,
                after: vec![],
                limit: Duration::from_secs(5),
                retries: 0,
                act: Box::new(move |_| {
                    meet.wait();
                    Ok(String::new())
                }),
                undo: None,
            });
        }
        assert!(flow.up().is_ok());
    }

    /// A step that waits until its limit is over: it has all of its limit each time it is tried, is
    /// tried as often as it may be, and no more once the user has ended it; what undoes it has all
    /// of its limit too.
    #[test]
    fn each_attempt_has_the_whole_limit_of_its_step() {
        for (retries, ended_after, attempts) in [(0, 9, 1), (2, 9, 3), (5, 2, 2), (5, 9, 6)] {
            let (hand, tried, log) = (Hand::new(), AtomicU32::new(0), Mutex::new(Vec::new()));
            let told = |action: &Action| {
                log.lock().unwrap().push((action.name.clone(), action.took, action.is_failed));
            };
            let is_ended = || tried.load(Ordering::Relaxed) >= ended_after;
            let limit = Duration::from_secs(600);
            let waits = |deadline: &Deadline| -> Result<String, TestbedError> {
                deadline.until_there(|| None::<()>);
                assert_eq!((deadline.passed(), deadline.left()), (limit, Duration::ZERO));
                Err(TestbedError::Wrong("it waited in vain".to_owned()))
            };
            let mut flow = Flow::new(&told, &is_ended).timed(hand.time());
            flow.add(Step {
                name: "a".to_owned(),
                instance: String::new(),
                class: Class::Service,
                after: vec![],
                limit,
                retries,
                act: Box::new(|deadline| {
                    tried.fetch_add(1, Ordering::Relaxed);
                    waits(deadline)
                }),
                undo: Some(Box::new(waits)),
            });
            assert!(flow.up().is_err());
            drop(flow);
            let log: Vec<(String, Duration, bool)> = log.into_inner().unwrap();
            let mut names = vec!["a"; attempts];
            names.push("undo: a");
            assert_eq!(log.iter().map(|of| of.0.as_str()).collect::<Vec<_>>(), names);
            assert!(log.iter().all(|of| of.1 == limit && of.2), "{log:?}");
        }
    }

    #[test]
    fn an_interrupt_begins_nothing_more() {
        let flow = Flow::new(&|_| (), &|| true);
        assert!(matches!(flow.up(), Err(TestbedError::Interrupted)));
    }
}
