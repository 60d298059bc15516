//! Why a fleet could not begin a load.

use plimsoll_units::failure::{Failure, Kind};
use std::io;

/// Why workers could not begin a load: nothing was sent then.
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
    #[error("begin the load with {worker}: {cause}")]
    Lost {
        /// Which one.
        worker: String,
        /// How it was lost, as far as that is known.
        cause: String,
    },
    /// A worker cannot do what it was asked to.
    #[error("begin the load with {worker}: {why}")]
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
    #[error(
        "begin the load: the hosts {one} and {two} are one, whose processors would count twice"
    )]
    Same {
        /// One of them.
        one: String,
        /// The other.
        two: String,
    },
    /// Not all workers were ready in time.
    #[error(
        "begin the load: of {of} workers {ready} were ready, and for {within_s} s nothing came of \
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
    /// The user has ended it.
    #[error("begin the load: interrupted")]
    Interrupted,
}

impl Failure for FleetError {
    fn kind(&self) -> Kind {
        match self {
            Self::Refused { is_usage: true, .. } | Self::Same { .. } => Kind::Usage,
            _ => Kind::Incomplete,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Start { source, .. } => source.hint(),
            Self::Refused { hint, .. } => hint.clone(),
            Self::Same { two, .. } => Some(format!("leave {two} out")),
            Self::Interrupted => Some("nothing was sent".to_owned()),
            _ => None,
        }
    }
}
