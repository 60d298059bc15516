//! All objects of a workload, none of them stored: each follows from the seed and its number.
//!
//! An object's class is the first whose share, added to those before it, exceeds a number that is
//! uniform in 0..1. Class, size and life are drawn from streams of their own, each numbered by the
//! object.

use super::class::Class;
use super::error::WorkloadError;
use super::name::number_of;
use super::object::{Life, Object};
use super::population::Population;
use super::workload::Workload;
use crate::random::Stream;

/// The shortest period of change, nanoseconds: HTTP tells times to the second.
const MIN_PERIOD_NS: u64 = 1_000_000_000;
/// The longest, nanoseconds: a hundred years of 365 days.
const MAX_PERIOD_NS: u64 = 100 * 365 * 86_400 * 1_000_000_000;

/// Gives the objects of a workload.
///
/// *Determinism*: a function of the workload's classes and population, and the seed; not of its
/// popularity or clients.
///
/// # Example
/// ```
/// use plimsoll_workload::objects::{Catalogue, Workload};
/// let catalogue = Catalogue::new(&Workload::default(), 7)?;
/// let object = catalogue.find(b"/o/17").expect("a name of the workload");
/// assert_eq!(object, catalogue.object(17));
/// let mut bytes = vec![0; 100];
/// let written = object.fill(object.version(0), 10, &mut bytes);
/// assert_eq!(written as u64, object.size.saturating_sub(10).min(100));
/// assert!(catalogue.find(b"/o/017").is_none());
/// # Ok::<(), plimsoll_workload::objects::WorkloadError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Catalogue {
    classes: Vec<Class>,
    /// The share of each class and of those before it, of the sum of all.
    up_to: Vec<f64>,
    /// The number after the last; `None` where there is no last.
    end: Option<u64>,
    keys: Keys,
}

/// Where what is drawn of an object comes from.
#[derive(Debug, Clone, Copy)]
struct Keys {
    class: u64,
    size: u64,
    life: u64,
    bytes: u64,
}

impl Catalogue {
    /// The objects of a workload.
    ///
    /// # Errors
    /// What [`Workload::check`] finds.
    pub fn new(workload: &Workload, seed: u64) -> Result<Self, WorkloadError> {
        workload.check()?;
        let classes = workload.classes.clone();
        let all: f64 = classes.iter().map(|class| class.share).sum();
        let mut sum = 0.0;
        let up_to = classes.iter().map(|class| {
            sum += class.share;
            sum / all
        });
        let up_to = up_to.collect();
        let end = match workload.population {
            Population::Closed { objects, .. } => Some(u64::from(objects)),
            Population::Open { .. } => None,
        };
        let key = |name| Stream::named(seed, name).next_u64();
        let keys = Keys {
            class: key("objects.class"),
            size: key("objects.size"),
            life: key("objects.life"),
            bytes: key("objects.bytes"),
        };
        Ok(Self { classes, up_to, end, keys })
    }

    /// The classes, in the order of their numbers.
    #[must_use]
    pub fn classes(&self) -> &[Class] {
        &self.classes
    }

    /// The object of that path; `None` where no object has it. Any bytes may be asked for.
    #[must_use]
    pub fn find(&self, path: &[u8]) -> Option<Object> {
        let number = number_of(path)?;
        self.end.is_none_or(|end| number < end).then(|| self.object(number))
    }

    /// The object of that number. A number that the workload does not have gives the object that
    /// would have it.
    ///
    /// *Cost*: about 50 ns; nothing is allocated.
    #[must_use]
    pub fn object(&self, number: u64) -> Object {
        let mut draws = Stream::numbered(self.keys.class, number);
        let (place, kept) = (draws.uniform(), draws.uniform());
        let last = self.classes.len() - 1;
        let index = self.up_to[..last].partition_point(|&up_to| up_to <= place);
        let class = &self.classes[index];
        #[expect(clippy::cast_possible_truncation, reason = "there are at most 1000 classes")]
        let class_number = index as u16;
        Object {
            number,
            class: class_number,
            size: class.sizes.draw(&mut Stream::numbered(self.keys.size, number)),
            is_cachable: kept < class.cachable,
            fresh: class.fresh,
            life: self.life(class, number),
            key: Stream::numbered(self.keys.bytes, number).next_u64(),
        }
    }

    fn life(&self, class: &Class, number: u64) -> Life {
        if class.never_changes() {
            return Life { period_ns: 0, age_ns: 0, variance: 0.0, key: 0 };
        }
        let mut draws = Stream::numbered(self.keys.life, number);
        let key = draws.next_u64();
        let age = draws.next_u64();
        let period_ns = class.changes.sample_ns(&mut draws).clamp(MIN_PERIOD_NS, MAX_PERIOD_NS);
        // The upper half of the product: uniform below the period.
        let age_ns = ((u128::from(age) * u128::from(period_ns)) >> 64) as u64;
        Life { period_ns, age_ns, variance: class.variance, key }
    }
}
