//! What is kept of what was done for the servers of a cell, and of what became of them.

use std::sync::{Mutex, PoisonError};

use plimsoll_runs::Event;
use plimsoll_runs::event::Class;
use plimsoll_runs::experiment::SERVER_ENDED;
use plimsoll_testbed::Action;
use plimsoll_testbed::bed::Hears;
use plimsoll_testbed::gone::Gone;

use crate::control::{Control, News};

/// What is kept of what was done for the servers of a cell.
#[derive(Default)]
pub(crate) struct Kept {
    actions: Mutex<Vec<Event>>,
    outputs: Mutex<Vec<(String, String)>>,
    /// The servers that ended by themselves, and how many of them the cell's run has by now.
    gone: Mutex<(Vec<Gone>, usize)>,
}

impl Kept {
    /// Has a bed made while this keeps what is done, and `control` and `happens` are told of it.
    pub(crate) fn hearing<T>(
        &self,
        control: &dyn Control,
        happens: &(dyn Fn(&Event) + Sync),
        make: impl FnOnce(Hears<'_>) -> T,
    ) -> T {
        let told = |action: &Action| {
            control.tell(News::Says(&said(action)));
            let event = event(action);
            happens(&event);
            self.actions.lock().unwrap_or_else(PoisonError::into_inner).push(event);
        };
        let outputs = |instance: &str, text: &str| {
            if !text.is_empty() {
                let one = (instance.to_owned(), text.to_owned());
                self.outputs.lock().unwrap_or_else(PoisonError::into_inner).push(one);
            }
        };
        let is_ended = || !control.goes_on();
        let gone = |of: &Gone| {
            control.tell(News::Warns(&of.to_string()));
            happens(&ended_event(of, 0));
            self.gone.lock().unwrap_or_else(PoisonError::into_inner).0.push(of.clone());
        };
        make(Hears { told: &told, outputs: &outputs, gone: &gone, is_ended: &is_ended })
    }

    /// The servers that have ended by themselves and are not in the run yet, as events at this
    /// moment of it.
    pub(crate) fn gone_since(&self, at_ns: u64) -> Vec<Event> {
        let mut gone = self.gone.lock().unwrap_or_else(PoisonError::into_inner);
        let (all, told) = &mut *gone;
        let events = all[*told..].iter().map(|of| ended_event(of, at_ns)).collect();
        *told = all.len();
        events
    }

    /// The first server that has ended by itself.
    pub(crate) fn first_gone(&self) -> Option<Gone> {
        self.gone.lock().unwrap_or_else(PoisonError::into_inner).0.first().cloned()
    }

    /// What was done so far.
    pub(crate) fn actions(&self) -> Vec<Event> {
        self.actions.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What was done, and what each instance said.
    pub(crate) fn all(self) -> (Vec<Event>, Vec<(String, String)>) {
        let actions = self.actions.into_inner().unwrap_or_else(PoisonError::into_inner);
        (actions, self.outputs.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A server that ended by itself, as a run and a journal keep it.
pub(crate) fn ended_event(of: &Gone, at_ns: u64) -> Event {
    let kind = SERVER_ENDED.to_owned();
    Event { at_ns, class: Class::Failure, kind, text: of.to_string() }
}

/// An action of a test-bed, for the screen.
fn said(action: &Action) -> String {
    let of =
        if action.instance.is_empty() { String::new() } else { format!("{}: ", action.instance) };
    let failed = if action.is_failed { ": failed" } else { "" };
    format!("{of}{}{failed}", action.name)
}

/// An action of a test-bed, as the run keeps it: before the load all are at its beginning.
fn event(action: &Action) -> Event {
    let class = if action.is_failed { Class::Failure } else { Class::Action };
    let took_ms = action.took.as_millis();
    let output = action.output.trim();
    let output = if output.is_empty() { String::new() } else { format!(": {output}") };
    let text = format!("{} ({}, {took_ms} ms){output}", said(action), action.class.name());
    Event { at_ns: 0, class, kind: "testbed".to_owned(), text }
}
