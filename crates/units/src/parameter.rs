//! Parameters of what a plan names, such as a policy: what each takes, with its bounds, and what
//! holds without it.

use crate::{ParseError, duration, nearest};

/// A parameter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// What it takes.
    pub takes: Takes,
    /// What holds where it is not given; `–` where nothing does.
    pub default: &'static str,
    /// What it means, in a sentence.
    pub about: &'static str,
    /// Values that a search for better ones tries; none where it is left alone.
    pub usual: &'static [&'static str],
}

/// What a parameter takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Takes {
    /// A number, from the one to the other.
    Number(f64, f64),
    /// A whole number, from the one to the other.
    Count(u64, u64),
    /// A length of time, from so many seconds to so many.
    Duration(f64, f64),
    /// `true` or `false`.
    Switch,
    /// One of a few words.
    Word(&'static [&'static str]),
    /// One of a few words, or a name behind what it begins with; the word of the manual for that
    /// name.
    WordOr(&'static [&'static str], &'static str, &'static str),
    /// A text with a grammar of its own; the words of the manual for it.
    Text(&'static str),
}

/// Any length of time.
pub const ANY_DURATION: Takes = Takes::Duration(0.0, f64::INFINITY);

impl Parameter {
    /// One that no search for better ones tries.
    #[must_use]
    pub const fn new(
        name: &'static str,
        takes: Takes,
        default: &'static str,
        about: &'static str,
    ) -> Self {
        Self { name, takes, default, about, usual: &[] }
    }

    /// The same with the values that a search for better ones tries.
    #[must_use]
    pub const fn tried(self, usual: &'static [&'static str]) -> Self {
        Self { usual, ..self }
    }
}

impl Takes {
    /// In the words of the manual.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Number(..) => "number".to_owned(),
            Self::Count(..) => "count".to_owned(),
            Self::Duration(..) => "duration".to_owned(),
            Self::Switch => "switch".to_owned(),
            Self::Word([before @ .., last]) if !before.is_empty() => {
                format!("{} or {last}", before.join(", "))
            }
            Self::Word(words) => words.join(""),
            Self::WordOr(words, begins, name) => format!("{} or {begins}{name}", words.join(", ")),
            Self::Text(words) => (*words).to_owned(),
        }
    }

    /// Whether a text is such a value. One with a grammar of its own is looked at by its reader.
    ///
    /// # Errors
    /// What was wanted, and found.
    pub fn check(&self, text: &str) -> Result<(), ParseError> {
        let wrong = |wanted: String| ParseError::new(wanted, text, 0, text.len());
        let within = |is_within: bool, wanted: String| {
            if is_within { Ok(()) } else { Err(wrong(wanted)) }
        };
        match *self {
            Self::Number(least, most) => {
                let number: f64 = text.parse().unwrap_or(f64::NAN);
                let wanted = format!("a number from {least} to {most}");
                within((least..=most).contains(&number), wanted)
            }
            Self::Count(least, most) => {
                let number = text.parse::<u64>().ok();
                let is_within = number.is_some_and(|number| (least..=most).contains(&number));
                within(is_within, format!("a whole number from {least} to {most}"))
            }
            Self::Duration(least, most) => {
                let seconds = duration(text)?.as_secs_f64();
                let wanted = format!("a duration from {least}s to {most}s");
                within((least..=most).contains(&seconds), wanted)
            }
            Self::Switch => Self::Word(&["true", "false"]).check(text),
            Self::Word(words) => {
                if words.contains(&text) {
                    return Ok(());
                }
                let error = wrong(format!("one of {}", words.join(", ")));
                Err(match nearest(text, words.iter().copied()) {
                    Some(near) => error.hint(format!("did you mean {near}?")),
                    None => error,
                })
            }
            Self::WordOr(words, begins, name) => match text.strip_prefix(begins) {
                Some(named) => within(is_name(named), format!("{begins}{name}")),
                None => Self::Word(words).check(text),
            },
            Self::Text(_) => Ok(()),
        }
    }
}

/// Whether a text is a name of letters, digits, `_`, `-` and dots.
fn is_name(text: &str) -> bool {
    let is_of_it = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    !text.is_empty() && text.len() <= 120 && text.chars().all(is_of_it)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_checked_by_their_bounds() {
        for (takes, right, wrong) in [
            (Takes::Number(0.0, 2.5), "2.5", "2.6"),
            (Takes::Count(1, 9), "9", "0"),
            (Takes::Duration(1.0, 60.0), "1m", "999ms"),
            (ANY_DURATION, "0s", "1"),
            (Takes::Switch, "true", "yes"),
            (Takes::Word(&["a", "bc"]), "bc", "b"),
            (Takes::WordOr(&["a"], "watch:", "NAME"), "watch:b.c", "watch:"),
            (Takes::WordOr(&["a"], "watch:", "NAME"), "a", "watch:b c"),
        ] {
            assert_eq!(takes.check(right), Ok(()), "{takes:?}");
            assert!(takes.check(wrong).is_err() && takes.check("").is_err(), "{takes:?}");
        }
        assert_eq!(Takes::Word(&["a", "b", "c"]).words(), "a, b or c");
    }
}
