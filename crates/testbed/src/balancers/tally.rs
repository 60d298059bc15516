//! What a balancer has written about requests that ended: how, at which instance, in which time.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use plimsoll_stats::Histogram;

use super::BalancerCounts;
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
    Drained,
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
            Self::Drained => &mut lost.drained,
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
    /// Those whose time was over as they left: what they had is cut; and how many requests they
    /// had of which nothing is told so far.
    cut: BTreeSet<String>,
    cut_had: u64,
    /// Response times since they were taken, nanoseconds.
    times: Histogram,
}

impl Tally {
    /// What an instance has is cut from now on, as it leaves, and its time is over: so many
    /// requests, where that is known.
    pub(super) fn cuts(&mut self, instance: &str, had: u64) {
        self.cut.insert(instance.to_owned());
        self.cut_had += had;
    }

    /// So many requests are over, and the balancer will never say how: it has closed their
    /// connections without an answer, as their instances did.
    pub(super) fn ended_silently(&mut self, count: u64) {
        let drained = count.min(self.cut_had);
        self.cut_had -= drained;
        self.lost.drained += drained;
        self.lost.instance_failed += count - drained;
        self.lost_in_all += count;
    }

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
                let is_cut = instance.is_some_and(|of| self.cut.contains(of));
                let cause = match cause {
                    Cause::InstanceFailed | Cause::Timeout if is_cut => {
                        self.cut_had = self.cut_had.saturating_sub(1);
                        Cause::Drained
                    }
                    other => other,
                };
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

    /// Puts what is known into a look at the balancer, which says how many requests there were, and
    /// of which so many are under way.
    pub(super) fn tell(&self, seen: BalancerCounts, under_way: u64) -> BalancerCounts {
        let over = seen.requests.saturating_sub(under_way);
        BalancerCounts {
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
        let seen =
            tally.tell(BalancerCounts { requests: 9, active: 2, ..BalancerCounts::default() }, 3);
        assert_eq!((seen.answered, seen.lost.no_slot, seen.untold), (1, 1, 4));
        assert_eq!((seen.response_us, tally.of("web-1").answered), (20_000, 1));
        assert_eq!(tally.of("web-1").failed, 1);
        let taken = tally.take_times();
        assert_eq!(taken.iter().map(|(_, count)| count).sum::<u64>(), 1);
        assert!(tally.take_times().is_empty());
    }

    #[test]
    fn what_is_cut_as_its_instance_leaves_is_drained_and_nobodys_failure() {
        let mut tally = Tally::default();
        tally.ended(Some("web-1"), How::Lost(Cause::InstanceFailed));
        tally.cuts("web-1", 0);
        for cause in [Cause::InstanceFailed, Cause::Timeout, Cause::ClientGone, Cause::NoSlot] {
            tally.ended(Some("web-1"), How::Lost(cause));
            tally.ended(Some("web-2"), How::Lost(cause));
        }
        let Lost { instance_failed, timeout, client_gone, no_slot, drained, .. } =
            tally.tell(BalancerCounts::default(), 0).lost;
        assert_eq!((instance_failed, timeout, drained), (2, 1, 2));
        assert_eq!((client_gone, no_slot), (2, 2));
    }

    #[test]
    fn what_ends_without_a_word_is_lost_by_its_instance_or_cut_as_that_left() {
        let mut tally = Tally::default();
        tally.ended_silently(2);
        // Of three that it had, one is told.
        tally.cuts("web-1", 3);
        tally.ended(Some("web-1"), How::Lost(Cause::InstanceFailed));
        tally.ended_silently(5);
        let seen = tally.tell(BalancerCounts { requests: 9, ..BalancerCounts::default() }, 1);
        assert_eq!((seen.lost.instance_failed, seen.lost.drained, seen.untold), (5, 3, 0));
    }
}
