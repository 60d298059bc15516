//! How whoever executes something tells how far it is, and is told when to end: one way for loads,
//! searches, simulations and all else that takes long.

use plimsoll_capacity::conduct::Judged;
use plimsoll_capacity::infer::result::StretchResult;
use plimsoll_runs::experiment::Cell;
use plimsoll_runs::{Event, Interval, Names, Run};
use plimsoll_stats::figure::Round;
use plimsoll_testbed::TestbedError;
use std::path::Path;

pub use plimsoll_load::run::Wish;

/// What is told while something goes on.
#[derive(Clone, Copy)]
pub enum News<'a> {
    /// A cell begins that takes a while.
    Begins(&'a Cell),
    /// How long the load of the cell is that begins, nanoseconds, and the warm-up within it.
    Length(u64, u64),
    /// What the requests of the cell that begins are called.
    Names(&'a Names),
    /// The run of the cell that begins is written to this folder, second by second.
    Writes(&'a Path),
    /// What is done besides, such as a restart: one short sentence.
    Says(&'a str),
    /// What a user has to know at once, however quiet it is to be: one short sentence.
    Warns(&'a str),
    /// The present second of a load, several times a second; and whether it is whole.
    Second(&'a Interval, bool),
    /// The figures of what is watched, once a period.
    Watched(&'a Round),
    /// How a pool stands, at each of its ticks.
    Pool(&'a PoolNow<'a>),
    /// A window of a search was judged.
    Window(&'a Judged),
    /// What is told of the load of others in a stretch.
    Inferred(&'a StretchResult),
    /// A cell is done; with its run where that was written as the cell went on.
    Done(&'a Cell, Option<&'a Run>),
    /// So many steps are done, of so many.
    Steps(u64, u64),
}

/// How a pool stands at the end of a tick, beside what was predicted for that time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PoolNow<'a> {
    /// What its cell is called.
    pub label: &'a str,
    /// Instances that took requests, in the mean.
    pub ready: f64,
    /// Those that were predicted.
    pub predicted_ready: Option<f64>,
    /// Requests due per second.
    pub rate: f64,
    /// Requests lost per second.
    pub lost: f64,
    /// Those that were predicted.
    pub predicted_lost: Option<f64>,
}

/// Watches what is executed, from any thread; what it wishes is done.
pub trait Control: Sync {
    /// Takes what is told.
    fn tell(&self, news: News<'_>);

    /// What the user wishes. It is asked several times a second.
    fn wish(&self) -> Wish;

    /// Why what is executed came to nothing, where something is gone that it stands on: a host. It
    /// has failed then, and is ended at once.
    fn broken(&self) -> Option<TestbedError> {
        None
    }

    /// What has happened to the servers that the load is put on and its run does not have yet, as
    /// events at this moment of the run.
    fn happened(&self, _at_ns: u64) -> Vec<Event> {
        Vec::new()
    }

    /// Why it is to end although the user wishes to go on: what it may cost is spent.
    fn is_spent(&self) -> Option<String> {
        None
    }

    /// Whether somebody has asked the experiment to end with the cells that go on: one that goes on
    /// for ever ends then.
    fn is_asked_to_end(&self) -> bool {
        false
    }

    /// Hears that nothing is executed any more.
    fn executed(&self) {}

    /// Whether the user wishes to go on.
    fn goes_on(&self) -> bool {
        self.wish() == Wish::Continue
    }
}
