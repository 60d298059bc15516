//! Why a fleet could not begin a load, or go on with cells.

use plimsoll_units::failure::{Failure, Kind};
use std::io;

/// Why workers could not begin a load: nothing was sent then. Or why they could not go on with
/// cells: what was done before is kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FleetError {
    /// A worker could not be started.
    #[error("start {worker}")]
    Start {
        /// Which one.
        worker: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A worker was lost before the load began.
    #[error("begin with {worker}: {cause}")]
    Lost {
        /// Which one.
        worker: String,
        /// How it was lost, as far as that is known.
        cause: String,
    },
    /// A worker cannot do what it was asked to.
    #[error("begin with {worker}: {why}")]
    Refused {
        /// Which one.
        worker: String,
        /// Why, in its own words.
        why: String,
        /// What it says could be done about it.
        hint: Option<String>,
        /// Whether what was asked for is wrong, rather than not to be had.
        is_usage: bool,
    },
    /// Two hosts are one.
    #[error("begin: the hosts {one} and {two} are one, whose processors would count twice")]
    Same {
        /// One of them.
        one: String,
        /// The other.
        two: String,
    },
    /// Not all workers were ready in time.
    #[error(
        "begin: of {of} workers {ready} were ready, and for {within_s} s nothing came of \
         {missing}"
    )]
    Late {
        /// How many there are to be.
        of: usize,
        /// How many were ready.
        ready: usize,
        /// How long was waited, seconds.
        within_s: u64,
        /// Those that were not.
        missing: String,
    },
    /// Not as many workers were there on a bus as are wanted.
    #[cfg(feature = "amqp")]
    #[error(
        "begin: of {of} workers {there} answered the call, and for {within_s} s no other one \
         did{}{}",
        told(": ", .names), told("; not taken: ", .others)
    )]
    TooFew {
        /// How many are wanted.
        of: usize,
        /// How many were there.
        there: usize,
        /// How long was waited, seconds.
        within_s: u64,
        /// Those that were there.
        names: String,
        /// Those that answered and were not taken, each with why.
        others: String,
    },
    /// The bus does not serve.
    #[cfg(feature = "amqp")]
    #[error("begin: {0}")]
    Bus(#[from] crate::bus::BusError),
    /// Of workers that execute cells none is left.
    #[error("go on with the cells that are left: no worker is there any more: {causes}")]
    NoneLeft {
        /// How each was lost.
        causes: String,
    },
    /// A worker came upon what is wrong, anywhere.
    #[error("execute cells at {worker}: {why}")]
    Fault {
        /// Which one.
        worker: String,
        /// What is wrong, in its own words.
        why: String,
        /// What it says could be done about it.
        hint: Option<String>,
        /// Whether what was asked for is wrong, rather than not to be had.
        is_usage: bool,
    },
    /// A cell has ended several workers.
    #[error("execute cell {cell}: {times} workers ended at it, the last one so: {cause}")]
    CellEnds {
        /// The cell's number.
        cell: u32,
        /// How many workers.
        times: u32,
        /// How the last one was lost.
        cause: String,
    },
    /// The user has ended it.
    #[error("begin: interrupted")]
    Interrupted,
}

#[cfg(feature = "amqp")]
fn told(before: &str, list: &str) -> String {
    if list.is_empty() { String::new() } else { format!("{before}{list}") }
}

impl Failure for FleetError {
    fn kind(&self) -> Kind {
        match self {
            #[cfg(feature = "amqp")]
            Self::Bus(error) => error.kind(),
            Self::Refused { is_usage: true, .. }
            | Self::Fault { is_usage: true, .. }
            | Self::Same { .. } => Kind::Usage,
            _ => Kind::Incomplete,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Start { source, .. } => source.hint(),
            #[cfg(feature = "amqp")]
            Self::Bus(error) => error.hint(),
            #[cfg(feature = "amqp")]
            Self::TooFew { .. } => Some(
                "is `plimsoll worker --bus …` there, with a key that `known` lists, and does it \
                 trust this one?"
                    .to_owned(),
            ),
            Self::Refused { hint, .. } | Self::Fault { hint, .. } => hint.clone(),
            Self::Same { two, .. } => Some(format!("leave {two} out")),
            Self::Interrupted => Some("nothing was sent".to_owned()),
            _ => None,
        }
    }
}
