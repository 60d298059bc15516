//! How fast a number of instances may change: so many, or so large a share, within a period, as
//! the scaling policies by which Kubernetes scales pods horizontally (Kubernetes documentation,
//! *Horizontal Pod Autoscaling*, "Configurable scaling behavior", and `horizontal.go` of its
//! controller). A share is of the number that there was when the period began.

use plimsoll_units::{ParseError, duration};
use serde::{Deserialize, Serialize};

/// The longest period of a limit, seconds.
const LONGEST_S: f64 = 3600.0;
/// The most instances, or hundredths, of a limit.
const MOST: u32 = 1_000_000;

/// How many instances within a period.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Limit {
    amount: Amount,
    period_s: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Amount {
    Instances(f64),
    /// A share of those at the beginning of the period.
    Share(f64),
}

/// Which of several limits counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Select {
    /// The one that allows the greatest change.
    Max,
    /// The one that allows the least.
    Min,
    /// Nothing is changed in this direction.
    Off,
}

/// The words for it.
pub(super) const SELECT: [(&str, Select); 3] =
    [("max", Select::Max), ("min", Select::Min), ("off", Select::Off)];

/// The limits of one direction; none of them where the list is empty.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Limits {
    limits: Vec<Limit>,
    select: Select,
}

/// Changes of the number of instances: when, and by how many.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Changes {
    past: Vec<(f64, i64)>,
}

impl Changes {
    /// Takes one in, and forgets those that no limit looks at any more.
    pub(super) fn add(&mut self, now_s: f64, from: u32, to: u32) {
        if from != to {
            self.past.retain(|(at_s, _)| *at_s > now_s - LONGEST_S);
            self.past.push((now_s, i64::from(to) - i64::from(from)));
        }
    }

    /// By how many it has changed within a period; what is exactly as old is not within it.
    fn within(&self, now_s: f64, period_s: f64) -> i64 {
        let past = self.past.iter().filter(|(at_s, _)| *at_s > now_s - period_s + 1e-6);
        past.map(|(_, by)| by).sum()
    }
}

impl Limits {
    /// Reads `4/15s,100%/15s`.
    pub(super) fn read(text: &str, select: Select) -> Result<Self, ParseError> {
        let (mut at, mut limits) = (0, Vec::new());
        for part in text.split(',').filter(|_| !text.trim().is_empty()) {
            let wanted = "a count or a share in a period, as 4/15s or 100%/15s";
            let wrong = || ParseError::new(wanted, part, at, part.len());
            limits.push(limit(part.trim()).ok_or_else(wrong)?);
            at += part.len() + 1;
        }
        Ok(Self { limits, select })
    }

    /// The shortest period of a limit; `None` without one.
    pub(super) fn shortest_s(&self) -> Option<f64> {
        self.limits.iter().map(|of| of.period_s).min_by(f64::total_cmp)
    }

    /// No limit but what is selected.
    pub(super) fn none(select: Select) -> Self {
        Self { limits: Vec::new(), select }
    }

    /// The most instances that there may be now, where more are wanted than there are.
    pub(super) fn most(&self, now_s: f64, present: u32, changes: &Changes) -> f64 {
        let allowed = self.allowed(now_s, present, changes, 1.0, f64::ceil);
        allowed.max(f64::from(present))
    }

    /// The fewest, where fewer are wanted.
    pub(super) fn fewest(&self, now_s: f64, present: u32, changes: &Changes) -> f64 {
        let allowed = self.allowed(now_s, present, changes, -1.0, f64::trunc);
        allowed.min(f64::from(present)).max(0.0)
    }

    fn allowed(
        &self,
        now_s: f64,
        present: u32,
        changes: &Changes,
        sign: f64,
        whole: fn(f64) -> f64,
    ) -> f64 {
        if self.select == Select::Off {
            return f64::from(present);
        }
        let allowed = self.limits.iter().map(|limit| {
            let before = f64::from(present) - changes.within(now_s, limit.period_s) as f64;
            match limit.amount {
                Amount::Instances(count) => before + sign * count,
                // Rounded only where it is more than the last bit off.
                Amount::Share(share) => whole(before * (1.0 + sign * share) - sign * 1e-9),
            }
        });
        // The greatest change is the greatest number on the way up, the least on the way down.
        let by_change = allowed.map(|allowed| sign * allowed);
        let chosen = match self.select {
            Select::Min => by_change.reduce(f64::min),
            Select::Max | Select::Off => by_change.reduce(f64::max),
        };
        sign * chosen.unwrap_or(f64::INFINITY)
    }
}

fn limit(text: &str) -> Option<Limit> {
    let (amount, period) = text.split_once('/')?;
    let period_s = duration(period.trim()).ok()?.as_secs_f64();
    let (digits, is_share) = match amount.trim().strip_suffix('%') {
        Some(digits) => (digits, true),
        None => (amount.trim(), false),
    };
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let number = digits.parse::<u32>().ok().filter(|number| is_number && *number <= MOST)?;
    let number = f64::from(number);
    let amount = if is_share { Amount::Share(number / 100.0) } else { Amount::Instances(number) };
    (0.001..=LONGEST_S).contains(&period_s).then_some(Limit { amount, period_s })
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "whole numbers")]
mod tests {
    use super::*;

    fn limits(text: &str, select: Select) -> Limits {
        Limits::read(text, select).unwrap()
    }

    #[test]
    fn the_greater_of_a_count_and_a_share_is_allowed() {
        let (both, mut changes) = (limits("4/15s,100%/15s", Select::Max), Changes::default());
        assert_eq!([1, 5, 20].map(|n| both.most(0.0, n, &changes)), [5.0, 10.0, 40.0]);
        let least = limits("4/15s,100%/15s", Select::Min);
        assert_eq!([1, 5, 20].map(|n| least.most(0.0, n, &changes)), [2.0, 9.0, 24.0]);
        // What was added within the period counts against it: 5 of 1, then none but by the share.
        changes.add(10.0, 1, 5);
        assert_eq!(both.most(20.0, 5, &changes), 5.0);
        assert_eq!(both.most(25.0, 5, &changes), 10.0, "as old as the period");
        assert_eq!(limits("", Select::Max).most(0.0, 1, &changes), f64::INFINITY);
        assert_eq!(Limits::none(Select::Off).most(99.0, 7, &changes), 7.0);
    }

    #[test]
    fn on_the_way_down_shares_are_cut() {
        let (changes, all) = (Changes::default(), limits("100%/15s", Select::Max));
        assert_eq!(all.fewest(0.0, 7, &changes), 0.0);
        let some = limits("10%/1m,2/1m", Select::Max);
        assert_eq!([7, 50].map(|n| some.fewest(0.0, n, &changes)), [5.0, 45.0]);
        let least = limits("10%/1m,2/1m", Select::Min);
        assert_eq!([7, 50].map(|n| least.fewest(0.0, n, &changes)), [6.0, 48.0]);
        assert_eq!(limits("", Select::Max).fewest(0.0, 7, &changes), 0.0);
        let mut changes = changes;
        changes.add(0.0, 50, 47);
        assert_eq!(some.fewest(30.0, 47, &changes), 45.0);
    }

    #[test]
    fn limits_are_read_with_their_places() {
        for (text, at, len) in
            [("4", 0, 1), ("4/15s,x/1m", 6, 4), ("4/15s, 5%", 6, 3), ("4/2h", 0, 4)]
        {
            let error = Limits::read(text, Select::Max).unwrap_err();
            assert_eq!((error.at, error.len), (at, len), "{text}");
        }
    }
}
