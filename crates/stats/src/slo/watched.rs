//! Clauses on figures of what is watched: over the measured phase, or sample by sample.
//!
//! A clause whose name has `*` in it means each figure that fits; the worst of them speaks for all.
//! Without `for` it is the mean over the measured phase that must hold. With `for D` it is every
//! sample of the last D: at least two, none older than two periods, and none missing of a figure
//! that was there before.

use std::collections::{BTreeMap, BTreeSet};

use super::{Clause, Comparison, NOT_RESOLVABLE, Slo, Verdict};
use crate::figure::{Means, Round, fits};

/// What was found of a clause.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Found {
    /// The figure that speaks for all that fit: the one farthest from holding.
    pub(super) figure: String,
    /// Its value, in its unit.
    pub(super) value: f64,
    /// How many figures fit.
    pub(super) of: usize,
}

/// What was watched in a run's measured phase: the means of all figures, and what clauses with a
/// `for` look at.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Watched {
    means: Means,
    lasting: Vec<Course>,
}

/// What a clause with a `for` saw.
#[derive(Debug, Clone, PartialEq)]
struct Course {
    clause: Clause,
    members: Members,
    rounds: Vec<Looked>,
}

/// What a clause saw in a round: when, the worst of the figures that fit, and whether none of them
/// was missing.
#[derive(Debug, Clone, PartialEq)]
struct Looked {
    at_ns: u64,
    worst: Option<Found>,
    is_whole: bool,
}

impl Watched {
    /// Nothing yet of what an SLO looks at.
    #[must_use]
    pub fn new(slo: Option<&Slo>) -> Self {
        let clauses = slo.map_or(&[][..], Slo::clauses).iter();
        let lasting = clauses.filter(|clause| clause.lasting.is_some());
        let course = |clause: &Clause| Course {
            clause: clause.clone(),
            members: Members::default(),
            rounds: Vec::new(),
        };
        Self { means: Means::default(), lasting: lasting.map(course).collect() }
    }

    /// Takes a round of the measured phase.
    pub fn add(&mut self, round: &Round) {
        self.means.add(round);
        for Course { clause, members, rounds } in &mut self.lasting {
            let (worst, is_whole) = members.look(clause, round);
            rounds.push(Looked { at_ns: round.at_ns, worst, is_whole });
        }
    }

    /// The mean of each figure over the rounds in which it had a value.
    #[must_use]
    pub fn means(&self) -> BTreeMap<String, f64> {
        self.means.means()
    }
}

impl Clause {
    /// The verdict on a clause that looks at what was watched.
    pub(super) fn on_watched(&self, watched: &Watched) -> Verdict {
        let course = watched.lasting.iter().find(|course| course.clause == *self);
        let (holds, found) = match course {
            Some(course) => course.at_its_end(),
            None => {
                let found = self.worst(&watched.means());
                (self.holds_of(found.as_ref()), found)
            }
        };
        let note = match &found {
            None => Some(format!("{NOT_RESOLVABLE}: there is no value of {}", self.word())),
            Some(found) if found.of > 1 => {
                Some(format!("{} is the worst of {}", found.figure, found.of))
            }
            Some(_) => None,
        };
        let pass = holds && found.is_some();
        Verdict { expr: self.expr.clone(), value: found.map(|found| found.value), pass, note }
    }

    pub(super) fn holds_of(&self, found: Option<&Found>) -> bool {
        found.is_some_and(|found| self.comparison.holds(found.value, self.bound.value()))
    }

    /// Of some figures with their values, the one that fits and is farthest from holding.
    fn worst(&self, figures: &BTreeMap<String, f64>) -> Option<Found> {
        let fit = figures.iter().filter(|(name, _)| fits(self.word(), name));
        let (mut worst, mut of) = (None::<(&String, f64)>, 0);
        for (name, value) in fit {
            of += 1;
            if worst.is_none_or(|(_, other)| self.is_worse(*value, other)) {
                worst = Some((name, *value));
            }
        }
        worst.map(|(figure, value)| Found { figure: figure.clone(), value, of })
    }

    fn is_worse(&self, value: f64, than: f64) -> bool {
        match self.comparison {
            Comparison::Below | Comparison::AtMost => value > than,
            Comparison::Above | Comparison::AtLeast => value < than,
        }
    }
}

impl Course {
    /// Whether the clause held at the end for as long as it asks, and the worst of what it asks
    /// for.
    fn at_its_end(&self) -> (bool, Option<Found>) {
        let clause = &self.clause;
        let Some(end_ns) = self.rounds.last().map(|last| last.at_ns) else { return (false, None) };
        let lasting_ns = clause.lasting.map_or(0, |of| u64::try_from(of.as_nanos()).unwrap_or(0));
        let mut streak = Streak::of(self.period_ns());
        let mut worst: Option<&Found> = None;
        for Looked { at_ns, worst: found, is_whole } in &self.rounds {
            streak.observe(*at_ns, *is_whole && clause.holds_of(found.as_ref()));
            if let Some(found) = found.as_ref().filter(|_| at_ns + lasting_ns > end_ns)
                && worst.is_none_or(|other| clause.is_worse(found.value, other.value))
            {
                worst = Some(found);
            }
        }
        (streak.lasts(end_ns, lasting_ns, 2), worst.cloned())
    }

    /// The time between two rounds: the median, as some may be missing.
    fn period_ns(&self) -> u64 {
        let gap = |of: &[Looked]| of[1].at_ns.saturating_sub(of[0].at_ns);
        let mut gaps: Vec<u64> = self.rounds.windows(2).map(gap).collect();
        gaps.sort_unstable();
        gaps.get(gaps.len() / 2).copied().unwrap_or(0)
    }
}

/// The figures that a clause has seen.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Members(BTreeSet<String>);

impl Members {
    /// The worst of a round, and whether none that was seen before is missing in it.
    pub(super) fn look(&mut self, clause: &Clause, round: &Round) -> (Option<Found>, bool) {
        let here = round.figures.keys().filter(|name| fits(clause.word(), name));
        self.0.extend(here.cloned());
        let is_whole = self.0.iter().all(|name| round.figures.contains_key(name));
        (clause.worst(&round.figures), is_whole)
    }
}

/// What a sample may take to be handed on, and looked at.
const HANDED_ON_NS: u64 = 500_000_000;

/// For how long something has held, sample by sample.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Streak {
    period_ns: u64,
    /// The first and the last sample of those that hold, and how many they are.
    held: Option<(u64, u64, u32)>,
    /// How often it ceased to hold, and the longest that it held.
    pub(super) broken: u32,
    pub(super) longest_ns: u64,
}

impl Streak {
    pub(super) fn of(period_ns: u64) -> Self {
        Self { period_ns, ..Self::default() }
    }

    /// Takes a sample: whether it holds.
    pub(super) fn observe(&mut self, at_ns: u64, holds: bool) {
        let longest_gap = self.period_ns.saturating_mul(2);
        self.held = match self.held {
            _ if !holds => None,
            Some((since, last, count)) if at_ns.saturating_sub(last) <= longest_gap => {
                Some((since, at_ns, count.saturating_add(1)))
            }
            _ => Some((at_ns, at_ns, 1)),
        }
        .or_else(|| {
            self.broken += u32::from(self.held.is_some());
            None
        });
        if let Some((since, last, _)) = self.held {
            self.longest_ns = self.longest_ns.max(last.saturating_sub(since) + self.period_ns);
        }
    }

    /// Whether it has held for so long now, in at least so many samples.
    pub(super) fn lasts(&self, now_ns: u64, lasting_ns: u64, least: u32) -> bool {
        let Some((since, last, count)) = self.held else { return false };
        // A sample stands for a period; samples are not taken to the nanosecond.
        let held_ns = last.saturating_sub(since) + self.period_ns + self.period_ns / 10;
        let oldest_ns = self.period_ns.saturating_mul(2).saturating_add(HANDED_ON_NS);
        let is_recent = now_ns.saturating_sub(last) <= oldest_ns;
        is_recent && count >= least && held_ns >= lasting_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    /// Rounds a second apart, of two instances' share of their limits.
    fn rounds(values: &[(Option<f64>, Option<f64>)]) -> Vec<Round> {
        let round = |(at, (one, two)): (usize, &(Option<f64>, Option<f64>))| {
            let named = [("instance.web-1.cpu", one), ("instance.web-2.cpu", two)];
            let figures = named.iter().filter_map(|(name, of)| Some(((*name).to_owned(), (**of)?)));
            Round { at_ns: at as u64 * S, figures: figures.collect() }
        };
        values.iter().enumerate().map(round).collect()
    }

    fn verdict(text: &str, rounds: &[Round]) -> (bool, Option<f64>, Option<String>) {
        let slo = Slo::parse(text).unwrap();
        let mut watched = Watched::new(Some(&slo));
        rounds.iter().for_each(|round| watched.add(round));
        let verdict = slo.clauses()[0].on_watched(&watched);
        (verdict.pass, verdict.value, verdict.note)
    }

    #[test]
    fn without_for_it_is_the_mean_and_the_worst_speaks() {
        let seen = rounds(&[(Some(0.1), Some(0.3)), (Some(0.3), Some(0.5))]);
        assert_eq!(verdict("instance.web-1.cpu<25%", &seen), (true, Some(0.2), None));
        assert_eq!(verdict("instance.web-1.cpu<20%", &seen), (false, Some(0.2), None));
        let worst = |of: &str| Some(format!("instance.{of}.cpu is the worst of 2"));
        assert_eq!(verdict("instance.*.cpu<45%", &seen), (true, Some(0.4), worst("web-2")));
        assert_eq!(verdict("instance.*.cpu<=0%", &seen), (false, Some(0.4), worst("web-2")));
        assert_eq!(verdict("instance.web*.cpu>15%", &seen), (true, Some(0.2), worst("web-1")));
    }

    #[test]
    fn what_has_no_value_is_not_resolvable_and_fails() {
        let seen = rounds(&[(Some(0.1), None), (None, None)]);
        for text in ["instance.db-1.cpu<25%", "host.cpu<50%", "host.cpu<50% for 2s"] {
            let (pass, value, note) = verdict(text, &seen);
            assert_eq!((pass, value), (false, None), "{text}");
            assert!(note.unwrap().starts_with(NOT_RESOLVABLE), "{text}");
        }
        assert!(!verdict("host.cpu<50% for 2s", &[]).0);
    }

    #[test]
    fn with_for_every_one_of_the_last_samples_holds() {
        let low = (Some(0.1), Some(0.1));
        let high = (Some(0.1), Some(0.5));
        let gone = (Some(0.1), None);
        let lasts = |values: &[_], text: &str| verdict(text, &rounds(values)).0;
        let three = "instance.web*.cpu<20% for 3s";
        assert!(lasts(&[high, low, low, low], three));
        assert!(!lasts(&[low, high, low, low], three));
        assert!(!lasts(&[low, low, gone, low, low], three), "missing is not held");
        assert!(!lasts(&[low, low], three), "it was not seen for so long");
        assert!(!lasts(&[low], "instance.web*.cpu<20% for 1s"), "one sample is no two");
        assert!(lasts(&[low, low], "instance.web*.cpu<20% for 1s"));
        let (_, value, _) = verdict(three, &rounds(&[high, low, (Some(0.15), Some(0.1)), low]));
        assert_eq!(value, Some(0.15), "the worst of the last three seconds");
    }

    #[test]
    fn a_streak_ends_with_a_gap_and_counts_how_often_it_was_broken() {
        let mut streak = Streak::of(S);
        for at in [1, 2, 3] {
            streak.observe(at * S, true);
        }
        assert!(streak.lasts(3 * S, 3 * S, 2) && streak.lasts(5 * S, 3 * S, 2));
        assert!(!streak.lasts(6 * S, 3 * S, 2), "the last sample is too old");
        streak.observe(6 * S, true);
        assert!(!streak.lasts(6 * S, 3 * S, 2), "samples were missing");
        streak.observe(7 * S, false);
        streak.observe(8 * S, true);
        streak.observe(9 * S, false);
        assert_eq!((streak.broken, streak.longest_ns), (2, 3 * S));
    }
}
