//! Figures: the named results of runs, and the one registry that says what each of them is.
//!
//! A table, a page, a comparison, an objective or a row of a run's own table takes a figure's
//! label, its unit, which way it is better and how it is shown from here. What stays with the type
//! that a figure comes from is the function that takes the value from it. So a new figure is one
//! line of the registry, and that function.
//!
//! Names are the keys under which `--json` has the value; a point stands between an object and its
//! field (`response_us.p50`). `docs/figures.md` has all of them.
//!
//! Figures of what is watched are made of series by formulas ([`FAMILIES`]); [`Rounds`] makes them.

mod counted;
mod families;
pub mod formula;
mod members;
mod registry;
mod rounds;
mod subjects;
mod unit;

pub use counted::{counted, counts};
pub(crate) use families::candidates;
pub use families::{FAMILIES, Family, Member, SeriesOwner, family, fits};
pub use registry::*;
pub use rounds::{Means, Round, Rounds, is_of_collectors};
pub use subjects::{of_subject, subject_of};
pub use unit::Unit;

use serde::{Deserialize, Serialize};

/// A named result of a run.
#[derive(Debug, PartialEq, Eq)]
pub struct Figure {
    /// Its key in `--json`, in plans and in a run's tables.
    pub name: &'static str,
    /// What tables and pages call it: at most 24 characters.
    pub label: &'static str,
    /// What its value counts, and so how it is shown.
    pub unit: Unit,
    /// Which way it is better.
    pub better: Better,
    /// What it is, as a clause that a sentence may end with.
    pub about: &'static str,
    /// The commands that print it.
    pub commands: &'static str,
}

/// Which way a figure is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    /// Times, errors, costs.
    Lower,
    /// Rates, availability.
    Higher,
    /// What was asked for, and what only describes: none of two values is the worse.
    Neither,
}

impl Better {
    /// The word of the manual's table.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Lower => "lower",
            Self::Higher => "higher",
            Self::Neither => "–",
        }
    }
}

/// The figure of that name, which may be a member of a family, or be of a subject; `None` where the
/// registry has none.
#[must_use]
pub fn named(name: &str) -> Option<&'static Figure> {
    let known = ALL.iter().find(|figure| figure.name == name).copied();
    known.or_else(|| families::member(name)).or_else(|| subjects::member(name))
}

/// The figure that a word of a plan means, among those that there are: its name, its label, or a
/// part of them: `p99` is a quantile of the response time, `rate` the first figure of that name,
/// `checkout: p99` that quantile of the requests of a name.
pub fn called(word: &str, has: impl Fn(&Figure) -> bool) -> Option<&'static Figure> {
    by_word(word, &has).or_else(|| subjects::called(word).filter(|of| has(of)))
}

/// The figure of the whole run, or of what is watched, that a word means.
fn by_word(word: &str, has: &impl Fn(&Figure) -> bool) -> Option<&'static Figure> {
    let known: Vec<&'static Figure> = ALL.iter().filter(|of| has(of)).copied().collect();
    let by = |is: &dyn Fn(&Figure) -> bool| known.iter().find(|figure| is(figure)).copied();
    by(&|of| of.name == word)
        .or_else(|| families::member(word).filter(|of| has(of)))
        .or_else(|| by(&|of| of.name == format!("response_us.{word}")))
        .or_else(|| by(&|of| of.label == word))
        .or_else(|| by(&|of| of.name.split('.').next() == Some(word)))
        .or_else(|| counted(word).filter(|of| has(of)))
}

/// Those figures that a source has a value of, in the order of the registry.
pub fn valued(
    value: impl Fn(&'static Figure) -> Option<f64>,
) -> impl Iterator<Item = (&'static Figure, f64)> {
    ALL.iter().filter_map(move |figure| Some((*figure, value(figure)?)))
}

/// The name of a figure that is nearest to a mistyped one, for a hint; `None` where none is near.
#[must_use]
pub fn nearest(name: &str) -> Option<String> {
    let members = candidates(name);
    let all = ALL.iter().map(|figure| figure.name).chain(members.iter().map(String::as_str));
    plimsoll_units::nearest(name, all).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_are_json_keys() {
        let names: BTreeSet<&str> = ALL.iter().map(|figure| figure.name).collect();
        assert_eq!(names.len(), ALL.len());
        for name in names {
            let is_key = |part: &str| {
                part == "NAME"
                    || !part.is_empty()
                        && part.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'))
            };
            assert!(name.split('.').all(is_key), "{name}");
        }
    }

    #[test]
    fn labels_fit_a_column_and_sentences_are_whole() {
        for Figure { name, label, about, commands, .. } in ALL {
            let length = label.chars().count();
            assert!((1..=24).contains(&length), "{name}: `{label}` has {length} characters");
            assert!(!about.is_empty() && !about.ends_with('.'), "{name}: {about}");
            assert!(!about.contains('|') && !commands.is_empty(), "{name}");
        }
    }

    #[test]
    fn a_name_says_the_unit_that_its_figure_has() {
        let ends = [
            ("_us", Unit::Micros),
            ("_ms", Unit::Millis),
            ("_s", Unit::Seconds),
            ("_per_s", Unit::PerSecond),
            ("_hours", Unit::Hours),
            ("_share", Unit::Share),
            ("_ratio", Unit::Share),
        ];
        for figure in ALL {
            let (object, field) = figure.name.split_once('.').unwrap_or(("", figure.name));
            // The longer ending is the one that says it: `_per_s` is no time.
            let fits = |name: &str| {
                let known = ends.iter().filter(|(end, _)| name.ends_with(end));
                known.max_by_key(|(end, _)| end.len()).map(|(_, unit)| *unit)
            };
            if let Some(unit) = fits(field).or_else(|| fits(object)) {
                assert_eq!(figure.unit, unit, "{}", figure.name);
            }
        }
    }

    #[test]
    fn a_figure_is_found_by_its_name_and_a_mistyped_one_by_the_nearest() {
        assert_eq!(named("response_us.p99"), Some(RESPONSE_US_P99));
        assert_eq!(named("response_us.p98.5"), None);
        assert_eq!(nearest("mis_ratio").as_deref(), Some("miss_ratio"));
        assert_eq!(nearest("cots").as_deref(), Some("cost"));
        assert_eq!(nearest("weather"), None);
        assert_eq!(called("p99", |_| true), Some(RESPONSE_US_P99));
        assert_eq!(called("p99", |of| of.name == "response_p99_us"), Some(RESPONSE_P99_US));
        assert_eq!(called("mean response", |_| true), Some(RESPONSE_MEAN_US));
    }
}
