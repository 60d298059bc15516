//! What a balancer has written about requests that ended: how, at which instance, in which time.

use std::collections::BTreeMap;
use std::time::Duration;

use plimsoll_stats::Histogram;

use super::Seen;
use crate::balance::Lost;

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    /// An instance answered it to the last byte, in this time.
    Answered(Duration),
    /// It is lost, for this cause.
    Lost(Cause),
    /// The balancer has written something that is not understood.
    Unknown,
}

/// Why a request is lost: a field of [`Lost`] each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    NoSlot,
    QueueFull,
    QueueTimeout,
    ClientGone,
    InstanceFailed,
    Timeout,
}

impl Cause {
    fn of(self, lost: &mut Lost) -> &mut u64 {
        match self {
            Self::NoSlot => &mut lost.no_slot,
            Self::QueueFull => &mut lost.queue_full,
            Self::QueueTimeout => &mut lost.queue_timeout,
            Self::ClientGone => &mut lost.client_gone,
            Self::InstanceFailed => &mut lost.instance_failed,
            Self::Timeout => &mut lost.timeout,
        }
    }
}

/// What one instance did.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Did {
    pub(super) answered: u64,
    pub(super) failed: u64,
}

/// What is known of all requests that ended.
#[derive(Debug, Default)]
pub(super) struct Tally {
    answered: u64,
    /// Their times together, microseconds.
    response_us: u64,
    lost: Lost,
    lost_in_all: u64,
    /// By the instance.
    did: BTreeMap<String, Did>,
    /// Response times since they were taken, nanoseconds.
    times: Histogram,
}

impl Tally {
    /// An instance failed a request, which may have been answered by another.
    pub(super) fn failed(&mut self, instance: &str) {
        self.did.entry(instance.to_owned()).or_default().failed += 1;
    }

    /// A request ended; at this instance, where it was given to one.
    pub(super) fn ended(&mut self, instance: Option<&str>, how: How) {
        match how {
            How::Answered(took) => {
                self.answered += 1;
                self.response_us += u64::try_from(took.as_micros()).unwrap_or(0);
                self.times.record(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
                if let Some(instance) = instance {
                    self.did.entry(instance.to_owned()).or_default().answered += 1;
                }
            }
            How::Lost(cause) => {
                *cause.of(&mut self.lost) += 1;
                self.lost_in_all += 1;
            }
            How::Unknown => {}
        }
    }

    /// What one instance did.
    pub(super) fn of(&self, instance: &str) -> Did {
        self.did.get(instance).copied().unwrap_or_default()
    }

    /// Puts what is known into a look at the balancer, which says how many requests there were and
    /// how many are under way.
    pub(super) fn tell(&self, seen: Seen) -> Seen {
        let over = seen.requests.saturating_sub(seen.active + seen.waiting);
        Seen {
            answered: self.answered,
            response_us: self.response_us,
            lost: self.lost,
            untold: over.saturating_sub(self.answered + self.lost_in_all),
            ..seen
        }
    }

    /// The response times since they were taken the last time: nanoseconds, and how many.
    pub(super) fn take_times(&mut self) -> Vec<(u64, u64)> {
        let times = std::mem::take(&mut self.times);
        times.buckets().map(|of| (of.middle(), of.count)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_over_and_not_told_is_counted() {
        let mut tally = Tally::default();
        tally.ended(Some("web-1"), How::Answered(Duration::from_millis(20)));
        tally.ended(None, How::Lost(Cause::NoSlot));
        tally.ended(None, How::Unknown);
        tally.failed("web-1");
        let seen = tally.tell(Seen { requests: 9, active: 2, waiting: 1, ..Seen::default() });
        assert_eq!((seen.answered, seen.lost.no_slot, seen.untold), (1, 1, 4));
        assert_eq!((seen.response_us, tally.of("web-1").answered), (20_000, 1));
        assert_eq!(tally.of("web-1").failed, 1);
        let taken = tally.take_times();
        assert_eq!(taken.iter().map(|(_, count)| count).sum::<u64>(), 1);
        assert!(tally.take_times().is_empty());
    }
}
