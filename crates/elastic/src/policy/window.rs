//! What was recommended within the last while: a window holds a change back until all of it agrees.

use serde::{Deserialize, Serialize};

/// Recommendations: when, and how many instances.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Recommended {
    past: Vec<(f64, u32)>,
}

impl Recommended {
    /// Whether there has been none.
    pub(super) fn is_empty(&self) -> bool {
        self.past.is_empty()
    }

    /// Takes one in, and forgets those that no window of `keep_s` reaches any more.
    pub(super) fn add(&mut self, now_s: f64, instances: u32, keep_s: f64) {
        self.past.retain(|(at_s, _)| is_within(*at_s, now_s, keep_s));
        self.past.push((now_s, instances));
    }

    /// The fewest within a window, the present one among them.
    pub(super) fn fewest(&self, now_s: f64, window_s: f64, present: u32) -> u32 {
        self.within(now_s, window_s).fold(present, u32::min)
    }

    /// The most within a window, the present one among them.
    pub(super) fn most(&self, now_s: f64, window_s: f64, present: u32) -> u32 {
        self.within(now_s, window_s).fold(present, u32::max)
    }

    fn within(&self, now_s: f64, window_s: f64) -> impl Iterator<Item = u32> {
        let past = self.past.iter().filter(move |(at_s, _)| is_within(*at_s, now_s, window_s));
        past.map(|(_, instances)| *instances)
    }
}

/// Whether it is less than a window ago: what is exactly as old is not.
fn is_within(at_s: f64, now_s: f64, window_s: f64) -> bool {
    at_s > now_s - window_s + 1e-6
}
