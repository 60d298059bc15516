//! Clauses on figures of what is watched: over the measured phase, or sample by sample.
//!
//! A clause whose name has `*` in it means each figure that fits; the worst of them speaks for all.
//! Without `for` it is the mean over the measured phase that must hold. With `for D` it is every
//! sample of the last D: at least two, none older than two periods, and none missing of a figure
//! that was there before.

use std::collections::{BTreeMap, BTreeSet};

use super::lasting::Course;
use super::{Clause, Comparison, Metric, NOT_RESOLVABLE, Slo, Verdict};
use crate::figure::{Means, Round, fits};

/// What was found of a clause.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ClauseValue {
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
    lasting: Vec<(Course, Members)>,
    /// What is counted over the whole run.
    counted: BTreeMap<String, f64>,
}

impl Watched {
    /// Nothing yet of what an SLO looks at.
    #[must_use]
    pub fn new(slo: Option<&Slo>) -> Self {
        let clauses = slo.map_or(&[][..], Slo::clauses).iter();
        let is_watched = |clause: &&Clause| matches!(clause.metric, Metric::Watched(_));
        let lasting = clauses.filter(is_watched).filter(|clause| clause.lasting.is_some());
        let course = |clause: &Clause| (Course::of(clause, None), Members::default());
        Self { lasting: lasting.map(course).collect(), ..Self::default() }
    }

    /// Takes a round of the measured phase.
    pub fn add(&mut self, round: &Round) {
        self.means.add(round);
        for (course, members) in &mut self.lasting {
            let (worst, is_whole) = members.look(&course.clause, round);
            course.take(round.at_ns, worst, is_whole);
        }
    }

    /// Takes what was counted over the whole run: of users, of WebSockets.
    pub fn count(&mut self, figures: impl IntoIterator<Item = (String, f64)>) {
        self.counted.extend(figures);
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
        let course = watched.lasting.iter().find(|(course, _)| course.clause == *self);
        let (holds, found, short) = match course {
            Some((course, _)) => {
                let end = course.at_its_end(2);
                (end.holds, end.worst, end.short)
            }
            None => {
                let found = match self.metric {
                    Metric::Counted(_) => self.worst(&watched.counted),
                    _ => self.worst(&watched.means()),
                };
                (self.holds_of(found.as_ref()), found, None)
            }
        };
        let note = match &found {
            Some(_) if short.is_some() => short,
            None => Some(format!("{NOT_RESOLVABLE}: there is no value of {}", self.word())),
            Some(found) if found.of > 1 => {
                Some(format!("{} is the worst of {}", found.figure, found.of))
            }
            Some(_) => None,
        };
        let pass = holds && found.is_some();
        Verdict { expr: self.expr.clone(), value: found.map(|found| found.value), pass, note }
    }

    pub(super) fn holds_of(&self, found: Option<&ClauseValue>) -> bool {
        found.is_some_and(|found| self.comparison.holds(found.value, self.bound.value()))
    }

    /// Of some figures with their values, the one that fits and is farthest from holding.
    fn worst(&self, figures: &BTreeMap<String, f64>) -> Option<ClauseValue> {
        let word = match self.metric {
            Metric::Counted(figure) => figure.name,
            _ => self.word(),
        };
        let fit = figures.iter().filter(|(name, _)| fits(word, name));
        let (mut worst, mut of) = (None::<(&String, f64)>, 0);
        for (name, value) in fit {
            of += 1;
            if worst.is_none_or(|(_, other)| self.is_worse(*value, other)) {
                worst = Some((name, *value));
            }
        }
        worst.map(|(figure, value)| ClauseValue { figure: figure.clone(), value, of })
    }

    pub(super) fn is_worse(&self, value: f64, than: f64) -> bool {
        match self.comparison {
            Comparison::Below | Comparison::AtMost => value > than,
            Comparison::Above | Comparison::AtLeast => value < than,
        }
    }
}

/// The figures that a clause has seen.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Members(BTreeSet<String>);

impl Members {
    /// The worst of a round, and whether none that was seen before is missing in it.
    pub(super) fn look(&mut self, clause: &Clause, round: &Round) -> (Option<ClauseValue>, bool) {
        let here = round.figures.keys().filter(|name| fits(clause.word(), name));
        self.0.extend(here.cloned());
        let is_whole = self.0.iter().all(|name| round.figures.contains_key(name));
        (clause.worst(&round.figures), is_whole)
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
}
