//! What was recommended within the last while: a window holds a change back until all of it agrees.

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The fewest and the most instances that were recommended within two windows. Kept are only those
/// that can still become the fewest or the most: a later recommendation outlives an earlier one,
/// so each is looked at once however long the windows are.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Recommended {
    has_begun: bool,
    /// When, and how many instances: ascending numbers, the oldest first.
    fewest: VecDeque<(f64, u32)>,
    /// Descending numbers, the oldest first.
    most: VecDeque<(f64, u32)>,
}

impl Recommended {
    /// Whether there has been none.
    pub(super) fn is_empty(&self) -> bool {
        !self.has_begun
    }

    /// Takes one in, and forgets those that are older than their window: `up_s` for the fewest,
    /// `down_s` for the most.
    pub(super) fn add(&mut self, now_s: f64, instances: u32, up_s: f64, down_s: f64) {
        self.has_begun = true;
        keep(&mut self.fewest, (now_s, instances), up_s, |before| before >= instances);
        keep(&mut self.most, (now_s, instances), down_s, |before| before <= instances);
    }

    /// The fewest within their window, the present one among them.
    pub(super) fn fewest(&self, present: u32) -> u32 {
        self.fewest.front().map_or(present, |(_, instances)| present.min(*instances))
    }

    /// The most within their window, the present one among them.
    pub(super) fn most(&self, present: u32) -> u32 {
        self.most.front().map_or(present, |(_, instances)| present.max(*instances))
    }
}

/// Adds one at the end in the place of those that it outlives.
fn keep(
    past: &mut VecDeque<(f64, u32)>,
    (now_s, instances): (f64, u32),
    window_s: f64,
    is_outlived: impl Fn(u32) -> bool,
) {
    while past.back().is_some_and(|(_, before)| is_outlived(*before)) {
        past.pop_back();
    }
    past.push_back((now_s, instances));
    // What is exactly as old as the window is no longer within it.
    while past.front().is_some_and(|(at_s, _)| *at_s <= now_s - window_s + 1e-6) {
        past.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_window_tells_its_fewest_and_its_most(
            all in prop::collection::vec((0u32..5, 0u32..20), 1..100),
            up_s in 0u32..8,
            down_s in 0u32..8,
        ) {
            let (mut recommended, mut past, mut now_s) = (Recommended::default(), Vec::new(), 0);
            let [up, down] = [up_s, down_s].map(f64::from);
            for (gap, instances) in all {
                now_s += gap;
                recommended.add(f64::from(now_s), instances, up, down);
                past.push((now_s, instances));
                let within = |window: u32| {
                    let is_within = move |(at, _): &&(u32, u32)| at + window > now_s;
                    past.iter().filter(is_within).map(|of| of.1).chain([instances])
                };
                prop_assert_eq!(Some(recommended.fewest(instances)), within(up_s).min());
                prop_assert_eq!(Some(recommended.most(instances)), within(down_s).max());
            }
        }
    }
}
