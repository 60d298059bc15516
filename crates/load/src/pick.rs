//! Which request comes next: of the list as its order has it, or as a log has it; of a store by its
//! number.

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
    /// The number of the request in the whole load, from which a store's operation follows. After
    /// 2³² of them they begin anew.
    Number {
        /// The next of this share.
        next: u32,
        /// How many shares there are.
        step: u32,
    },
}

impl Pick {
    /// The choice of one share.
    ///
    /// # Errors
    /// A list without requests, or weights that do not fit it.
    pub(crate) fn new(config: &Config, share: Share) -> Result<Self, RequestError> {
        if config.store.is_some() && config.sequence.is_none() {
            return Ok(Self::Number { next: share.index, step: share.of.max(1) });
        }
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
            Self::Number { next, step } => {
                let number = *next;
                *next = number.wrapping_add(*step);
                Some(number)
            }
        }
    }
}
