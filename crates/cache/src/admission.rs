//! Admission filters: which missed objects a cache takes at all. A factor of its own, offered alike
//! to every policy, as what a policy refuses by itself can matter more than what it evicts.

use std::str::FromStr;

use plimsoll_units::ParseError;

use crate::mix::unit;
use crate::trace::Trace;
use plimsoll_units::hash::{GOLDEN, mix};

/// A filter as users write it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Admission {
    /// `max:1MB`: objects of at most so many bytes, in caches counted in objects too. The trace
    /// must have sizes, see [`Admission::check`].
    Largest(u64),
    /// `second`: objects that were asked for before, so that what is asked for once never comes in.
    Second,
    /// `random:10%`: each time with this probability, drawn from the object and the request.
    Random(f64),
}

/// A filter by size for a trace that has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected a trace with sizes for the admission filter max:SIZE, found one without: \
     leave the filter out, or give a trace whose sizes are known"
)]
pub struct NoSizes;

impl Admission {
    /// Whether the filter can judge the objects of this trace.
    ///
    /// *Errors*: a filter by size where the trace has no sizes.
    pub fn check(&self, trace: &Trace) -> Result<(), NoSizes> {
        match self {
            Self::Largest(_) if trace.sizes().is_none() => Err(NoSizes),
            _ => Ok(()),
        }
    }
}

const WANTED: &str = "an admission filter: max:SIZE, second or random:SHARE";

impl FromStr for Admission {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let (name, value) = text.split_once(':').unwrap_or((text, ""));
        let shifted = |error: ParseError| error.shifted(name.len() + 1);
        match name {
            "max" => plimsoll_units::size(value).map(Self::Largest).map_err(shifted),
            "random" => plimsoll_units::share(value).map(Self::Random).map_err(shifted),
            "second" if value.is_empty() => Ok(Self::Second),
            _ => Err(ParseError::new(WANTED, text, 0, text.len())),
        }
    }
}

/// A filter at work in one replay. Compiled into its loop, so that none costs nothing.
pub(crate) trait Filter {
    /// Whether the missed object of request `at` is taken.
    fn admits(&mut self, object: u32, size: u64, at: usize) -> bool;
}

/// Takes everything.
pub(crate) struct All;

impl Filter for All {
    #[inline(always)]
    fn admits(&mut self, _object: u32, _size: u64, _at: usize) -> bool {
        true
    }
}

/// An [`Admission`] with its state.
pub(crate) struct Working {
    admission: Admission,
    /// A bit an object: whether it was asked for; empty where the filter does not ask.
    seen: Vec<u64>,
}

impl Working {
    pub(crate) fn new(admission: Admission, objects: usize) -> Self {
        let words = if admission == Admission::Second { objects.div_ceil(64) } else { 0 };
        Self { admission, seen: vec![0; words] }
    }
}

impl Filter for Working {
    fn admits(&mut self, object: u32, size: u64, at: usize) -> bool {
        match self.admission {
            Admission::Largest(most) => size <= most,
            Admission::Second => {
                let (word, bit) = (object as usize / 64, 1 << (object % 64));
                let before = self.seen[word] & bit != 0;
                self.seen[word] |= bit;
                before
            }
            Admission::Random(share) => draw(object, at) < share,
        }
    }
}

/// From 0 to 1, the same for the same request of the same trace.
fn draw(object: u32, at: usize) -> f64 {
    unit(mix(((at as u64) << 32 ^ u64::from(object)).wrapping_add(GOLDEN)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admits(text: &str, asked: &[(u32, u64)]) -> Vec<bool> {
        let mut filter = Working::new(text.parse().unwrap(), 100);
        let one = |(at, &(object, size)): (usize, &(u32, u64))| filter.admits(object, size, at);
        asked.iter().enumerate().map(one).collect()
    }

    #[test]
    fn each_filter_does_what_it_says() {
        let asked = [(3, 10), (99, 11), (3, 10), (99, 1)];
        assert_eq!(admits("max:10B", &asked), [true, false, true, true]);
        assert_eq!(admits("second", &asked), [false, false, true, true]);
        assert_eq!(admits("random:100%", &asked), [true; 4]);
        assert_eq!(admits("random:0", &asked), [false; 4]);
        let many = vec![(7, 1); 10_000];
        let taken = admits("random:30%", &many).into_iter().filter(|&taken| taken).count();
        // Four standard deviations: 4 * sqrt(10,000 * 0.3 * 0.7) = 183.
        assert!((2_817..=3_183).contains(&taken), "{taken}");
    }

    #[test]
    fn what_is_none_is_said_with_its_place() {
        for wrong in ["", "max", "max:", "second:2", "random:2", "first"] {
            assert!(wrong.parse::<Admission>().is_err(), "{wrong}");
        }
        assert_eq!("max:1XB".parse::<Admission>().unwrap_err().at, 4);
    }
}
