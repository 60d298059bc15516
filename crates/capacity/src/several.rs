//! A ladder from several first rates, one after the other: where they begin decides which rates
//! they can find at all, and how far apart what they find lies says how much that matters.
//!
//! The estimate is the median of what they found. All windows stand together, so that latency over
//! rate is known at more rates than one ladder has.

use crate::ladder::{Ladder, Settings};
use crate::search::{Search, SearchEstimate, Step};
use crate::window::{Verdict, Window};

/// The state machine.
#[derive(Debug, Clone)]
pub struct Several {
    /// Those to come after `now`, the last one first.
    later: Vec<(f64, Ladder)>,
    now: (f64, Ladder),
    found: Vec<(f64, SearchEstimate)>,
}

impl Several {
    /// Ladders from each of some rates; from `settings`' own where there are none.
    #[must_use]
    pub fn new(settings: Settings, first_per_s: &[f64]) -> Self {
        let from = |&rate: &f64| (rate, Ladder::new(Settings { start_per_s: rate, ..settings }));
        let mut later: Vec<(f64, Ladder)> = first_per_s.iter().rev().map(from).collect();
        let now = later.pop().unwrap_or_else(|| from(&settings.start_per_s));
        Self { later, now, found: Vec::new() }
    }

    fn whole(&self, last: SearchEstimate) -> SearchEstimate {
        if self.found.is_empty() && self.later.is_empty() {
            return last;
        }
        let all =
            || self.found.iter().map(|(rate, found)| (*rate, found)).chain([(self.now.0, &last)]);
        let estimates = all().filter_map(|(_, found)| found.estimate_per_s).collect();
        let lower = all().filter_map(|(_, found)| found.lower_bound_per_s).collect();
        let mut notes = Vec::new();
        for (rate, found) in all() {
            let said = found.estimate_per_s.map_or_else(
                || "nothing was found".to_owned(),
                |estimate| format!("{estimate:.1}/s was found"),
            );
            notes.push(format!("from {rate}/s {said}"));
            notes.extend(found.notes.iter().map(|note| format!("from {rate}/s: {note}")));
        }
        let held_per_s = all().filter_map(|(_, found)| found.held_per_s).reduce(f64::max);
        let broken = all().filter_map(|(_, found)| found.broken_per_s);
        let broken = broken.filter(|rate| held_per_s.is_none_or(|held| *rate > held));
        SearchEstimate {
            held_per_s,
            broken_per_s: broken.reduce(f64::min),
            holds: all().flat_map(|(_, found)| found.holds.clone()).collect(),
            estimate_per_s: median(estimates),
            lower_bound_per_s: median(lower),
            is_bound: all().all(|(_, found)| found.is_bound),
            notes,
            ..SearchEstimate::default()
        }
    }
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    let lower = values[(values.len() - 1) / 2];
    Some(f64::midpoint(lower, upper))
}

impl Search for Several {
    fn next(&mut self, result: Option<&Window>) -> Step {
        let found = match self.now.1.next(result) {
            Step::Done(found) => found,
            offer @ Step::Offer(_) => return offer,
        };
        let Some(next) = self.later.pop() else { return Step::Done(self.whole(found)) };
        let before = std::mem::replace(&mut self.now, next);
        self.found.push((before.0, found));
        // The verdict on the last window of the ladder before is asked for after this.
        self.now.1.begin_with(before.1.verdict());
        self.now.1.next(None)
    }

    fn verdict(&self) -> Verdict {
        self.now.1.verdict()
    }

    fn so_far(&self) -> SearchEstimate {
        self.whole(self.now.1.so_far())
    }
}
