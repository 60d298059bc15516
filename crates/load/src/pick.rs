//! Which request of the list comes next: as its order has it, or as a log has it.

use crate::config::Config;
use plimsoll_workload::arrivals::Share;
use plimsoll_workload::request::{Picker, RequestError};
use std::sync::Arc;

/// One share's choice of requests.
pub(crate) enum Pick {
    /// By the order of the list.
    Order(Picker),
    /// By a sequence of indices, once.
    Sequence {
        /// The whole sequence.
        sequence: Arc<[u32]>,
        /// Where this share goes on.
        next: usize,
        /// How many shares there are.
        step: usize,
    },
}

impl Pick {
    /// The choice of one share.
    ///
    /// # Errors
    /// A list without requests, or weights that do not fit it.
    pub(crate) fn new(config: &Config, share: Share) -> Result<Self, RequestError> {
        Ok(match &config.sequence {
            None => Self::Order(Picker::new(&config.requests, config.seed, share)?),
            Some(sequence) => Self::Sequence {
                sequence: sequence.clone(),
                next: share.index as usize,
                step: share.of.max(1) as usize,
            },
        })
    }

    /// The index of the next request; `None` when all have been asked for.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<u32> {
        match self {
            Self::Order(picker) => picker.next(),
            Self::Sequence { sequence, next, step } => {
                let index = sequence.get(*next).copied()?;
                *next += *step;
                Some(index)
            }
        }
    }
}
