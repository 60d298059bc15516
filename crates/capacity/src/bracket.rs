//! Which rates held and which broke, of all windows of a search, whatever it made of them.
//!
//! Windows at nearly one rate are taken together. A rate *held* where the share of requests beyond
//! the SLO, of enough requests, is below the allowed one by more than one standard error, and
//! *broke* where it is above by more than one, or the server was clearly overloaded. What a hold
//! says of its rate counts before what is said of the windows near it.

use crate::goal::{Clause, Goal};
use crate::hold::{Hold, batches, standard_error};
use crate::search::Check;
use crate::window::{Phase, Window};
use std::collections::BTreeMap;

/// Rates that differ by less than this share are taken together.
const SAME: f64 = 0.02;
/// So many seconds are no glance.
const LONG_S: f64 = 5.0;
/// So many requests say whether a rate held.
const ENOUGH: u64 = 50;
/// So many do at a glance.
const FEW: u64 = 10;

/// The highest rate that held, and the lowest above it that broke.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Bracket {
    /// `None` where none held.
    pub held_per_s: Option<f64>,
    /// `None` where none above it broke.
    pub broken_per_s: Option<f64>,
}

/// Windows at nearly one rate.
#[derive(Default)]
struct Level<'a> {
    windows: Vec<&'a Window>,
}

/// What was seen of a rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateCheck {
    /// The rate, per second.
    pub rate_per_s: f64,
    /// Whether the SLO held there.
    pub check: Check,
    /// By what that was seen.
    pub by: By,
}

/// What a rate was seen by, from what says least to what says most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum By {
    /// Windows that were short: they may have fallen between two pauses.
    Glances,
    /// Windows of several seconds together.
    Windows,
    /// A hold.
    Hold,
}

impl Bracket {
    /// What windows and holds show under a goal.
    #[must_use]
    pub fn of<'a>(
        windows: impl IntoIterator<Item = &'a Window>,
        holds: &[Hold],
        goal: &Goal,
    ) -> Self {
        let mut levels: BTreeMap<i64, Level> = BTreeMap::new();
        let asked = |window: &&Window| {
            !matches!(window.phase, Phase::Recover | Phase::Hold) && window.rate_per_s > 0.0
        };
        for window in windows.into_iter().filter(asked) {
            #[expect(clippy::cast_possible_truncation, reason = "some thousands at most")]
            let number = (window.rate_per_s.ln() / SAME).floor() as i64;
            levels.entry(number).or_default().windows.push(window);
        }
        let of_level = |level: &Level| {
            let is_long = level.counted_s() >= LONG_S && level.counted() >= ENOUGH;
            let by = if is_long { By::Windows } else { By::Glances };
            Some(RateCheck { rate_per_s: level.rate(), check: level.check(goal)?, by })
        };
        let of_hold = |hold: &Hold| RateCheck {
            rate_per_s: hold.rate_per_s,
            check: hold.check,
            by: By::Hold,
        };
        let seen = levels.values().filter_map(of_level).chain(holds.iter().map(of_hold));
        Self::between(&seen.collect::<Vec<_>>())
    }

    /// The bracket of what was seen. The highest hold that held counts, whatever windows say; of
    /// windows those that nothing as good contradicts: no such rate at or below theirs broke. Short
    /// ones count where nothing else held.
    #[must_use]
    pub fn between(seen: &[RateCheck]) -> Self {
        let lowest = |least: By, above: f64| {
            let broke = |of: &&RateCheck| of.check == Check::Broken && of.by >= least;
            let rates = seen.iter().filter(broke).map(|of| of.rate_per_s);
            rates.filter(|rate| *rate > above).reduce(f64::min)
        };
        let highest = |by: By| {
            let below = if by == By::Hold { None } else { lowest(by, 0.0) };
            let held = |of: &&RateCheck| of.check == Check::Held && of.by == by;
            let rates = seen.iter().filter(held).map(|of| of.rate_per_s);
            rates.filter(|rate| below.is_none_or(|broken| *rate < broken)).reduce(f64::max)
        };
        let long = [highest(By::Hold), highest(By::Windows)].into_iter().flatten();
        let held_per_s = long.reduce(f64::max).or_else(|| highest(By::Glances));
        let above = held_per_s.unwrap_or(0.0);
        let broken_per_s = lowest(By::Windows, above).or_else(|| lowest(By::Glances, above));
        Self { held_per_s, broken_per_s }
    }
}

impl Level<'_> {
    fn rate(&self) -> f64 {
        self.windows.iter().map(|window| window.rate_per_s).sum::<f64>() / self.windows.len() as f64
    }

    fn counted(&self) -> u64 {
        self.windows.iter().map(|window| window.counted()).sum()
    }

    fn counted_s(&self) -> f64 {
        self.windows.iter().map(|window| window.counted_s).sum()
    }

    fn check(&self, goal: &Goal) -> Option<Check> {
        if self.windows.iter().any(|window| window.was_cut) {
            return Some(Check::Broken);
        }
        let counted = self.counted();
        if counted == 0 {
            return None;
        }
        let checks: Vec<Option<Check>> =
            goal.clauses().map(|clause| self.of_clause(clause, counted)).collect();
        if checks.contains(&Some(Check::Broken)) {
            return Some(Check::Broken);
        }
        let all_held = checks.iter().all(|check| *check == Some(Check::Held));
        (all_held && counted >= FEW).then_some(Check::Held)
    }

    fn of_clause(&self, clause: Clause, counted: u64) -> Option<Check> {
        let n = counted as f64;
        let hits: u64 = self.windows.iter().map(|window| clause.hits(window)).sum();
        let share = hits as f64 / n;
        let seconds: Vec<(f64, f64)> =
            self.windows.iter().flat_map(|window| batches(window, clause)).collect();
        // Of few seconds the scatter says little: at least that of independent requests.
        let independent = (clause.allowed * (1.0 - clause.allowed) / n).sqrt();
        let error = standard_error(&seconds, share).map_or(0.0, |of| of.0).max(independent);
        match share {
            share if share > clause.allowed + error => Some(Check::Broken),
            share if share <= clause.allowed - error => Some(Check::Held),
            _ if hits == 0 => Some(Check::Held),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Check::{Broken, Held};
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn of(seen: &[(f64, Check, By)]) -> (Option<f64>, Option<f64>) {
        let one = |&(rate_per_s, check, by): &(f64, Check, By)| RateCheck { rate_per_s, check, by };
        let bracket = Bracket::between(&seen.iter().map(one).collect::<Vec<_>>());
        (bracket.held_per_s, bracket.broken_per_s)
    }

    #[test]
    fn the_highest_that_held_and_the_lowest_above_it_that_broke() {
        use By::{Glances, Hold, Windows};
        assert_eq!(of(&[]), (None, None));
        assert_eq!(of(&[(1.0, Held, Windows), (2.0, Broken, Windows)]), (Some(1.0), Some(2.0)));
        assert_eq!(of(&[(1.0, Broken, Windows)]), (None, Some(1.0)));
        // A glance above what broke says nothing, where more was seen below it.
        let seen = [(1.0, Held, Windows), (2.0, Broken, Windows), (4.0, Held, Glances)];
        assert_eq!(of(&seen), (Some(1.0), Some(2.0)));
        // Windows that held above some that broke are contradicted, a hold is not.
        assert_eq!(of(&[(1.0, Broken, Windows), (2.0, Held, Windows)]), (None, Some(1.0)));
        assert_eq!(of(&[(1.0, Broken, Windows), (2.0, Held, Hold)]), (Some(2.0), None));
        // A ramp that was ended has glances alone.
        assert_eq!(of(&[(1.0, Held, Glances), (2.0, Broken, Glances)]), (Some(1.0), Some(2.0)));
    }

    proptest! {
        #[test]
        fn what_broke_lies_above_what_held(
            seen in vec((0.1..100.0_f64, any::<bool>(), 0..3_usize), 0..20)
        ) {
            let by = [By::Glances, By::Windows, By::Hold];
            let check = |held| if held { Held } else { Broken };
            let seen: Vec<_> =
                seen.into_iter().map(|(rate, held, k)| (rate, check(held), by[k])).collect();
            let (held, broken) = of(&seen);
            prop_assert!(broken.is_none_or(|broken| held.is_none_or(|held| held < broken)));
            let holds = seen.iter().filter(|(_, check, by)| *by == By::Hold && *check == Held);
            for (rate, _, _) in holds {
                prop_assert!(held.is_some_and(|held| held >= *rate));
            }
        }
    }
}
