//! Reading the parameters of a policy: names and texts, each with what was wanted and found.

use super::Kind;
use crate::observation::Metric;
use plimsoll_units::{ParseError, duration, nearest};
use std::collections::BTreeSet;
use std::str::FromStr;

/// What is wrong with a policy or one of its parameters.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Fault {
    /// The parameter; `None` where it is the policy itself.
    pub parameter: Option<String>,
    /// What was wanted, and found.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

/// The parameters given to a policy.
pub struct Parameters<'a> {
    kind: &'a Kind,
    given: &'a [(String, String)],
    faults: Vec<Fault>,
}

impl<'a> Parameters<'a> {
    /// Notes those that the kind does not have, and those given twice.
    pub(super) fn new(kind: &'a Kind, given: &'a [(String, String)]) -> Self {
        let mut all = Self { kind, given, faults: Vec::new() };
        let mut seen = BTreeSet::new();
        for (name, _) in given {
            if !kind.has(name) {
                let names = kind.parameters.iter().map(|known| known.name);
                let near = nearest(name, names);
                let hint = near.map(|near| format!("did you mean {near}?"));
                all.fault(name, format!("`{}` has no parameter `{name}`", kind.name), hint);
            } else if !seen.insert(name) {
                all.fault(name, format!("`{name}` is given twice"), None);
            }
        }
        all
    }

    pub(super) fn finish(self) -> Vec<Fault> {
        self.faults
    }

    /// Whether something is wrong with one of these already: then what depends on it is not looked
    /// at.
    pub(super) fn is_faulty(&self, names: &[&str]) -> bool {
        let is = |fault: &Fault| fault.parameter.as_deref().is_some_and(|of| names.contains(&of));
        self.faults.iter().any(is)
    }

    /// Whether a parameter is given.
    pub(super) fn has(&self, name: &str) -> bool {
        self.text(name).is_some()
    }

    /// Notes what is wrong with a parameter.
    pub(super) fn fault(&mut self, name: &str, message: String, hint: Option<String>) {
        self.faults.push(Fault { parameter: Some(name.to_owned()), message, hint });
    }

    /// The text of a parameter.
    pub(super) fn text(&self, name: &str) -> Option<&'a str> {
        debug_assert!(self.kind.parameters.iter().any(|known| known.name == name), "{name}");
        self.given.iter().find(|(of, _)| of == name).map(|(_, text)| text.as_str())
    }

    /// A parameter read by a parser.
    pub(super) fn parsed<T>(
        &mut self,
        name: &str,
        parse: impl Fn(&str) -> Result<T, ParseError>,
    ) -> Option<T> {
        match parse(self.text(name)?) {
            Ok(value) => Some(value),
            Err(error) => {
                self.fault(name, format!("`{name}`: {error}"), error.hint.clone());
                None
            }
        }
    }

    /// A value within the bounds of its parameter.
    fn within<T>(
        &mut self,
        name: &str,
        parse: impl Fn(&str) -> Result<T, ParseError>,
    ) -> Option<T> {
        let takes = self.kind.parameters.iter().find(|known| known.name == name)?.takes;
        self.parsed(name, |text| {
            takes.check(text)?;
            parse(text)
        })
    }

    /// A number.
    pub(super) fn number(&mut self, name: &str) -> Option<f64> {
        self.within(name, parse)
    }

    /// A whole number.
    pub(super) fn whole(&mut self, name: &str) -> Option<u32> {
        self.within(name, parse)
    }

    /// A length of time in seconds.
    pub(super) fn seconds(&mut self, name: &str) -> Option<f64> {
        self.within(name, duration).map(|duration| duration.as_secs_f64())
    }

    /// The `metric`; `usual` where none is given. With another one than that, the
    /// parameters that are in its unit have no defaults.
    pub(super) fn metric(&mut self, usual: Metric, in_unit: &[&str]) -> Metric {
        let named = |text: &str| match text.starts_with(super::WATCHED) {
            true => Some(Metric::Watched),
            false => Metric::ALL.into_iter().find(|metric| metric.name() == text),
        };
        let wrong = |text: &str| ParseError::new("a metric", text, 0, text.len());
        let metric = self.within("metric", |text| named(text).ok_or_else(|| wrong(text)));
        let metric = metric.unwrap_or(usual);
        for name in in_unit.iter().filter(|_| metric != usual) {
            if !self.has(name) {
                let message = format!("`{name}` is needed with `metric={}`", metric.name());
                self.fault(name, message, None);
            }
        }
        metric
    }

    /// Yes or no.
    pub(super) fn switch(&mut self, name: &str) -> Option<bool> {
        self.within(name, parse)
    }

    /// One of the words that its parameter has.
    pub(super) fn word<T: Copy>(&mut self, name: &str, words: &[(&str, T)]) -> Option<T> {
        let value = |text: &str| words.iter().find(|(word, _)| *word == text).map(|(_, of)| *of);
        let wrong = |text: &str| ParseError::new("one of the words", text, 0, text.len());
        self.within(name, |text| value(text).ok_or_else(|| wrong(text)))
    }
}

/// A value that was found to be one.
fn parse<T: FromStr>(text: &str) -> Result<T, ParseError> {
    text.parse().map_err(|_| ParseError::new("a value", text, 0, text.len()))
}
