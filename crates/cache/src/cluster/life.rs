//! How objects change at the origin, and how long a copy is taken to be fresh.
//!
//! Every object changes at a period of its own and at a phase of its own; so its version at any
//! second is known without a list of changes, by every client alike. Both are drawn from the
//! number of the object, or given for each: by a workload whose origin knows them by the name.

use crate::mix::{hash, unit};
use crate::trace::Trace;

use super::ClusterError;

/// Changes and freshness, in seconds of the trace, by class of object: pages, images, downloads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Life {
    /// For each class, how long a copy is fresh after it came or was confirmed. One class at
    /// least, and 256 at most.
    pub fresh_s: Vec<u32>,
    /// The class of each object of the trace, as its place in `fresh_s`; without it, all objects
    /// are of the first.
    pub of: Option<Vec<u8>>,
    /// When objects change.
    pub changes: Changes,
}

/// When objects change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Changes {
    /// Periods and phases are drawn from the numbers of objects.
    Drawn {
        /// What the periods of each class lie between, as many as there are classes.
        periods: Vec<Periods>,
        /// Where periods and phases come from.
        seed: u64,
    },
    /// They are known, one for each object of the trace.
    Given(Vec<Rhythm>),
}

/// What the periods of a class lie between, spread evenly over their logarithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Periods {
    /// The shortest, above zero.
    pub least_s: u32,
    /// The longest, no shorter than that.
    pub most_s: u32,
}

/// When one object changes: whenever second and phase together are a whole number of periods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rhythm {
    /// From one change to the next, above zero.
    pub period_s: u32,
    /// How far the first period has come at second 0.
    pub phase_s: u32,
}

/// What the origin has of an object: the number of its changes.
pub(super) type Version = u32;

impl Life {
    /// All objects of one class, fresh for so long, with periods drawn between two.
    #[must_use]
    pub fn alike(fresh_s: u32, periods: Periods, seed: u64) -> Self {
        let changes = Changes::Drawn { periods: vec![periods], seed };
        Self { fresh_s: vec![fresh_s], of: None, changes }
    }

    /// Whether it says what it has to of every object of a trace.
    pub(super) fn check(&self, trace: &Trace) -> Result<(), ClusterError> {
        let (classes, objects) = (self.fresh_s.len(), trace.distinct() as usize);
        let wrong = |what: String| Err(ClusterError::Life(what));
        if !(1..=256).contains(&classes) {
            return wrong(format!("1 to 256 classes, found {classes}"));
        }
        if let Some(of) = &self.of {
            if of.len() != objects {
                return wrong(format!("classes of {objects} objects, found {}", of.len()));
            }
            if let Some(class) = of.iter().find(|&&class| usize::from(class) >= classes) {
                return wrong(format!("objects of {classes} classes, found class {class} from 0"));
            }
        }
        match &self.changes {
            Changes::Drawn { periods, .. } => {
                if periods.len() != classes {
                    return wrong(format!("periods of {classes} classes, found {}", periods.len()));
                }
                let no_range = |one: &&Periods| one.least_s == 0 || one.most_s < one.least_s;
                if let Some(Periods { least_s, most_s }) = periods.iter().find(no_range) {
                    let wanted = "periods above zero, the shortest first";
                    return wrong(format!("{wanted}, found {least_s} s to {most_s} s"));
                }
            }
            Changes::Given(rhythms) => {
                if rhythms.len() != objects {
                    return wrong(format!("periods of {objects} objects, found {}", rhythms.len()));
                }
                if let Some(object) = rhythms.iter().position(|rhythm| rhythm.period_s == 0) {
                    return wrong(format!("periods above zero, found 0 s of object {object}"));
                }
            }
        }
        Ok(())
    }

    fn class(&self, object: u32) -> usize {
        self.of.as_ref().map_or(0, |of| usize::from(of[object as usize]))
    }

    /// The version of an object at a second.
    pub(super) fn version(&self, object: u32, second: u32) -> Version {
        match &self.changes {
            Changes::Given(rhythms) => rhythms[object as usize].version(second),
            Changes::Drawn { periods, seed } => {
                periods[self.class(object)].version(*seed, object, second)
            }
        }
    }

    /// Whether a copy that came or was confirmed at `from` is fresh at `second`.
    pub(super) fn is_fresh(&self, object: u32, from: u32, second: u32) -> bool {
        second.saturating_sub(from) < self.fresh_s[self.class(object)]
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

impl Rhythm {
    fn version(self, second: u32) -> Version {
        let passed = u64::from(second) + u64::from(self.phase_s);
        // A phase of more than a period, beside a period of a second, may be more than 32 bits.
        Version::try_from(passed / u64::from(self.period_s)).unwrap_or(Version::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made;

    fn periods(least_s: u32, most_s: u32) -> Periods {
        Periods { least_s, most_s }
    }

    #[test]
    fn an_object_changes_at_its_period() {
        let life = Life::alike(60, periods(100, 100), 1);
        for object in 0..50 {
            let versions: Vec<_> = (0..1_000).map(|at| life.version(object, at)).collect();
            assert!(versions.is_sorted());
            // In 999 s nine or ten periods begin, as the phase falls.
            assert!((9..=10).contains(&(versions[999] - versions[0])), "{object}");
        }
    }

    #[test]
    fn periods_lie_between_their_ends() {
        let life = Life::alike(60, periods(10, 1_000), 1);
        let changes = |object| life.version(object, 100_000) - life.version(object, 0);
        let all: Vec<_> = (0..2_000).map(changes).collect();
        assert!(all.iter().all(|&changes| (99..=10_001).contains(&changes)));
        // Even over the logarithm: the median period is 100 s.
        let fewer = all.iter().filter(|&&changes| changes < 1_000).count();
        assert!((900..1_100).contains(&fewer), "{fewer}");
    }

    #[test]
    fn copies_are_fresh_for_their_time() {
        let life = Life::alike(60, periods(1, 1), 1);
        assert!(life.is_fresh(0, 100, 159) && !life.is_fresh(0, 100, 160));
    }

    #[test]
    fn each_class_has_its_own_life() {
        let changes = Changes::Drawn { periods: vec![periods(10, 10), periods(500, 500)], seed: 1 };
        let life = Life { fresh_s: vec![5, 50], of: Some(vec![0, 1, 0]), changes };
        let changed = |object| life.version(object, 1_000) - life.version(object, 0);
        assert_eq!([0, 1, 2].map(changed), [100, 2, 100]);
        assert_eq!([0, 1, 2].map(|object| life.is_fresh(object, 100, 130)), [false, true, false]);
    }

    #[test]
    fn given_changes_come_when_they_are_said_to() {
        let rhythm = |period_s, phase_s| Rhythm { period_s, phase_s };
        let changes = Changes::Given(vec![rhythm(10, 0), rhythm(10, 3), rhythm(1, u32::MAX)]);
        let life = Life { fresh_s: vec![60], of: None, changes };
        let first = |object| (0..40).filter(|&at| life.version(object, at) == 0).count();
        assert_eq!([0, 1, 2].map(first), [10, 7, 0]);
        let changed: Vec<u32> =
            (1..40).filter(|&at| life.version(1, at) > life.version(1, at - 1)).collect();
        assert_eq!(changed, [7, 17, 27, 37]);
        assert_eq!(life.version(2, u32::MAX), u32::MAX);
    }

    #[test]
    fn what_says_too_little_is_refused() {
        let trace = made::trace(&[0, 1, 0]);
        let alike = Life::alike(60, periods(1, 9), 1);
        assert_eq!(alike.check(&trace), Ok(()));
        let changes = |periods: &[Periods]| Changes::Drawn { periods: periods.to_vec(), seed: 1 };
        let rhythm = |period_s| Rhythm { period_s, phase_s: 0 };
        let (of, one) = (|of: &[u8]| Some(of.to_vec()), periods(1, 9));
        for (wrong, wanted) in [
            (Life { fresh_s: vec![], ..alike.clone() }, "1 to 256 classes, found 0"),
            (Life { of: of(&[0]), ..alike.clone() }, "classes of 2 objects, found 1"),
            (
                Life { of: of(&[0, 1]), ..alike.clone() },
                "objects of 1 classes, found class 1 from 0",
            ),
            (Life { fresh_s: vec![1, 2], ..alike.clone() }, "periods of 2 classes, found 1"),
            (
                Life { changes: changes(&[periods(9, 1)]), ..alike.clone() },
                "periods above zero, the shortest first, found 9 s to 1 s",
            ),
            (
                Life { changes: changes(&[one, one]), ..alike.clone() },
                "periods of 1 classes, found 2",
            ),
            (
                Life { changes: Changes::Given(vec![rhythm(5)]), ..alike.clone() },
                "periods of 2 objects, found 1",
            ),
            (
                Life { changes: Changes::Given(vec![rhythm(5), rhythm(0)]), ..alike.clone() },
                "periods above zero, found 0 s of object 1",
            ),
        ] {
            assert_eq!(wrong.check(&trace), Err(ClusterError::Life(wanted.to_owned())));
        }
    }
}
