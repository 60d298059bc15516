//! How objects change at the origin, and how long a copy is taken to be fresh.
//!
//! Every object changes at a period of its own, drawn from its number, and at a phase of its own;
//! so its version at any second is known without a list of changes, by every client alike.

use crate::mix::{hash, unit};

/// Changes and freshness, in seconds of the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Life {
    /// A copy is fresh for so long after it came or was confirmed.
    pub fresh_s: u32,
    /// The shortest period at which an object changes, above zero.
    pub changes_least_s: u32,
    /// The longest; periods are spread evenly over their logarithm.
    pub changes_most_s: u32,
    /// Where periods and phases come from.
    pub seed: u64,
}

/// What the origin has of an object: the number of its changes.
pub(super) type Version = u32;

impl Life {
    /// The version of an object at a second.
    pub(super) fn version(&self, object: u32, second: u32) -> Version {
        let drawn = hash(self.seed ^ hash(u64::from(object) + 1));
        let (least, most) = (f64::from(self.changes_least_s), f64::from(self.changes_most_s));
        let share = unit(drawn);
        let period = least.max(1.0) * libm::pow((most / least.max(1.0)).max(1.0), share);
        let phase = unit(hash(drawn)) * period;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "floored")]
        let version = ((f64::from(second) + phase) / period) as Version;
        version
    }

    /// Whether a copy that came or was confirmed at `from` is fresh at `second`.
    pub(super) fn is_fresh(&self, from: u32, second: u32) -> bool {
        second.saturating_sub(from) < self.fresh_s
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_changes_at_its_period() {
        let life = Life { fresh_s: 60, changes_least_s: 100, changes_most_s: 100, seed: 1 };
        for object in 0..50 {
            let versions: Vec<_> = (0..1_000).map(|at| life.version(object, at)).collect();
            assert!(versions.is_sorted());
            // In 999 s nine or ten periods begin, as the phase falls.
            assert!((9..=10).contains(&(versions[999] - versions[0])), "{object}");
        }
    }

    #[test]
    fn periods_lie_between_their_ends() {
        let life = Life { fresh_s: 60, changes_least_s: 10, changes_most_s: 1_000, seed: 1 };
        let changes = |object| life.version(object, 100_000) - life.version(object, 0);
        let all: Vec<_> = (0..2_000).map(changes).collect();
        assert!(all.iter().all(|&changes| (99..=10_001).contains(&changes)));
        // Even over the logarithm: the median period is 100 s.
        let fewer = all.iter().filter(|&&changes| changes < 1_000).count();
        assert!((900..1_100).contains(&fewer), "{fewer}");
    }

    #[test]
    fn copies_are_fresh_for_their_time() {
        let life = Life { fresh_s: 60, changes_least_s: 1, changes_most_s: 1, seed: 1 };
        assert!(life.is_fresh(100, 159) && !life.is_fresh(100, 160));
    }
}
