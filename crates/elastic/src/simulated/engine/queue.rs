//! The queue at the balancer: requests that find no instance with a place wait there, first come
//! first served, so many at most and for so long at most.

use super::Rules;
use super::tally::Tally;
use crate::outcome::Loss;
use std::collections::VecDeque;

/// A request that no instance has yet: when it was due, and its service time at speed 1.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request {
    pub(super) due: u64,
    pub(super) service: u64,
}

/// Requests that wait at the balancer.
pub(super) struct Queue {
    waiting: VecDeque<Request>,
    room: usize,
    /// How long a request waits at most since it was due, and what it is lost to then.
    patience: u64,
    ends_as: Loss,
}

impl Queue {
    pub(super) fn new(rules: &Rules) -> Self {
        let (patience, ends_as) = if rules.queue_timeout <= rules.client_timeout {
            (rules.queue_timeout, Loss::QueueTimeout)
        } else {
            (rules.client_timeout, Loss::ClientTimeout)
        };
        Self { waiting: VecDeque::new(), room: rules.queue_room, patience, ends_as }
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// When those that wait were due.
    pub(super) fn dues(&self) -> impl Iterator<Item = u64> + '_ {
        self.waiting.iter().map(|request| request.due)
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Takes a request in, or loses it.
    #[inline]
    pub(super) fn push(&mut self, request: Request, tally: &mut Tally) {
        if self.waiting.len() < self.room {
            self.waiting.push_back(request);
        } else {
            let why = if self.room == 0 { Loss::NoSlot } else { Loss::QueueFull };
            tally.lose(why, 1);
        }
    }

    /// The request that has waited longest.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Request> {
        self.waiting.pop_front()
    }

    /// Loses what has waited for too long.
    #[inline]
    pub(super) fn expire(&mut self, now: u64, tally: &mut Tally) {
        while self.waiting.front().is_some_and(|first| now - first.due >= self.patience) {
            self.waiting.pop_front();
            tally.lose(self.ends_as, 1);
        }
    }
}
