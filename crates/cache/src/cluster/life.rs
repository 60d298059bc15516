//! How objects change at the origin, and how long a copy is taken to be fresh.
//!
//! Every object changes by a clock of its own; so its version at any second is known without a list
//! of changes, by every client alike. Of a recorded trace nothing is known but what a user says of
//! all objects: each changes at a period and a phase drawn from its number. Of a synthetic workload
//! it is known of each object, as its origin knows it.

use std::sync::Arc;

use plimsoll_workload::objects::Object;

use super::ClusterError;
use crate::mix::{hash, unit};
use crate::trace::Trace;

const NS_PER_S: u64 = 1_000_000_000;

/// Changes and freshness, in seconds of the trace.
#[derive(Debug, Clone, PartialEq)]
pub enum Life {
    /// Of all objects alike: periods and phases are drawn from their numbers.
    Drawn {
        /// How long a copy is fresh after it came or was confirmed.
        fresh_s: u32,
        /// What the periods lie between.
        periods: Periods,
        /// Where periods and phases come from.
        seed: u64,
    },
    /// Of each object of the trace, in the order of their numbers; the trace begins at second 0.
    Known(Arc<[Object]>),
}

/// What periods lie between, spread evenly over their logarithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Periods {
    /// The shortest, above zero.
    pub least_s: u32,
    /// The longest, no shorter than that.
    pub most_s: u32,
}

/// What the origin has of an object: the number of its changes.
pub(super) type Version = u32;

impl Life {
    /// Whether it says what it has to of every object of a trace.
    pub(super) fn check(&self, trace: &Trace) -> Result<(), ClusterError> {
        match self {
            Self::Drawn { periods: Periods { least_s, most_s }, .. } => {
                if *least_s > 0 && least_s <= most_s {
                    return Ok(());
                }
                let wanted = "periods of change above zero, the shortest first";
                Err(ClusterError::Life(format!("{wanted}, found {least_s} s to {most_s} s")))
            }
            Self::Known(objects) => {
                let (wanted, found) = (trace.distinct(), objects.len());
                if wanted as usize == found {
                    return Ok(());
                }
                Err(ClusterError::Life(format!("lives of {wanted} objects, found {found}")))
            }
        }
    }

    /// The version of an object at a second.
    pub(super) fn version(&self, object: u32, second: u32) -> Version {
        match self {
            Self::Drawn { periods, seed, .. } => periods.version(*seed, object, second),
            // Objects change at most once a second; seconds are below 2^32.
            Self::Known(objects) => {
                let version = objects[object as usize].version(u64::from(second) * NS_PER_S);
                Version::try_from(version).unwrap_or(Version::MAX)
            }
        }
    }

    /// Whether a copy that came or was confirmed at `from` is fresh at `second`.
    pub(super) fn is_fresh(&self, object: u32, from: u32, second: u32) -> bool {
        let age_s = second.saturating_sub(from);
        match self {
            Self::Drawn { fresh_s, .. } => age_s < *fresh_s,
            Self::Known(objects) => {
                let fresh_ns = objects[object as usize].fresh_ns(u64::from(from) * NS_PER_S);
                u64::from(age_s) * NS_PER_S < fresh_ns
            }
        }
    }
}

impl Periods {
    fn version(self, seed: u64, object: u32, second: u32) -> Version {
        let drawn = hash(seed ^ hash(u64::from(object) + 1));
        let (least, most) = (f64::from(self.least_s), f64::from(self.most_s));
        let period = least * libm::pow(most / least, unit(drawn));
        let phase = unit(hash(drawn)) * period;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "floored")]
        let version = ((f64::from(second) + phase) / period) as Version;
        version
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_workload::distribution::Distribution;
    use plimsoll_workload::objects::{Catalogue, Class, Fresh, Workload};

    use super::*;
    use crate::made;

    fn drawn(least_s: u32, most_s: u32) -> Life {
        Life::Drawn { fresh_s: 60, periods: Periods { least_s, most_s }, seed: 1 }
    }

    #[test]
    fn an_object_changes_at_its_period() {
        let life = drawn(100, 100);
        for object in 0..50 {
            let versions: Vec<_> = (0..1_000).map(|at| life.version(object, at)).collect();
            assert!(versions.is_sorted());
            // In 999 s nine or ten periods begin, as the phase falls.
            assert!((9..=10).contains(&(versions[999] - versions[0])), "{object}");
        }
    }

    #[test]
    fn periods_lie_between_their_ends() {
        let life = drawn(10, 1_000);
        let changes = |object| life.version(object, 100_000) - life.version(object, 0);
        let all: Vec<_> = (0..2_000).map(changes).collect();
        assert!(all.iter().all(|&changes| (99..=10_001).contains(&changes)));
        // Even over the logarithm: the median period is 100 s.
        let fewer = all.iter().filter(|&&changes| changes < 1_000).count();
        assert!((900..1_100).contains(&fewer), "{fewer}");
    }

    #[test]
    fn copies_are_fresh_for_their_time() {
        let life = drawn(1, 1);
        assert!(life.is_fresh(0, 100, 159) && !life.is_fresh(0, 100, 160));
    }

    /// The first objects of a workload that changes every 100 s.
    fn known(fresh: Fresh) -> Life {
        let changes = Distribution::Constant { ns: 100 * NS_PER_S };
        let class = Class { changes, variance: 0.5, fresh, ..Class::default() };
        let workload = Workload { classes: vec![class], ..Workload::default() };
        let catalogue = Catalogue::new(&workload, 5).unwrap();
        Life::Known((0..50).map(|number| catalogue.object(number)).collect())
    }

    #[test]
    fn what_is_known_of_objects_holds() {
        let life = known(Fresh::For { ns: 30 * NS_PER_S });
        for object in 0..50 {
            let versions: Vec<_> = (0..10_001).map(|at| life.version(object, at)).collect();
            assert!(versions.is_sorted());
            assert!((99..=101).contains(&(versions[10_000] - versions[0])), "{object}");
            assert!(life.is_fresh(object, 7, 36) && !life.is_fresh(object, 7, 37));
        }
    }

    #[test]
    fn a_copy_is_fresh_until_its_object_changes() {
        let life = known(Fresh::UntilChange);
        for (object, from) in (0..50).zip((0..).step_by(13)) {
            let version = life.version(object, from);
            for at in from..from + 300 {
                let is_fresh = life.is_fresh(object, from, at);
                assert_eq!(is_fresh, life.version(object, at) == version, "{object} {at}");
            }
        }
    }

    #[test]
    fn what_says_too_little_is_refused() {
        let trace = made::trace(&[0, 1, 0]);
        assert_eq!(drawn(1, 9).check(&trace), Ok(()));
        let refused = |life: Life, wanted: &str| {
            assert_eq!(life.check(&trace), Err(ClusterError::Life(wanted.to_owned())));
        };
        let wanted = "periods of change above zero, the shortest first";
        refused(drawn(9, 1), &format!("{wanted}, found 9 s to 1 s"));
        refused(drawn(0, 1), &format!("{wanted}, found 0 s to 1 s"));
        refused(known(Fresh::UntilChange), "lives of 2 objects, found 50");
    }
}
