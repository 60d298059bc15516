//! Formulas: how a figure is made of series, in the words that the manual has.
//!
//! ```text
//! sum    = product (("+" | "-") product)*
//! product = term (("*" | "/") term)*
//! term   = NUMBER | "(" sum ")" | "rate(" series ")" | series
//! series = NAME [ "{" LABEL "=\"" TEXT "\"" ("," …)* "}" ]
//! ```
//!
//! A series stands for the sum of its values over all of its labels, `rate` for the sum of what it
//! rose by a second since its last sample. A formula has no value where one of its series has
//! none, or where something is divided by zero.

use std::fmt;

/// A formula that was read.
#[derive(Debug, Clone, PartialEq)]
pub enum Formula {
    /// A number.
    Number(f64),
    /// The values of a series.
    Value(Selector),
    /// What a counter rises by a second.
    Rate(Selector),
    /// Two formulas, joined by `+`, `-`, `*` or `/`.
    Joined(Box<Self>, char, Box<Self>),
}

/// Series by their name and some of their labels.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Selector {
    /// The name.
    pub name: String,
    /// Texts of labels that the series must have.
    pub labels: Vec<(String, String)>,
}

impl Formula {
    /// Reads a formula.
    ///
    /// # Errors
    /// What stands where something else was expected.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut reader = Reader { rest: text };
        let formula = reader.sum()?;
        if reader.rest.trim().is_empty() { Ok(formula) } else { Err(reader.unexpected("its end")) }
    }

    /// The value, with the values that the selectors have; `rate` where the flag says so.
    pub fn value(&self, of: &impl Fn(&Selector, bool) -> Option<f64>) -> Option<f64> {
        let value = match self {
            Self::Number(number) => *number,
            Self::Value(series) => of(series, false)?,
            Self::Rate(series) => of(series, true)?,
            Self::Joined(left, by, right) => {
                let (left, right) = (left.value(of)?, right.value(of)?);
                match by {
                    '+' => left + right,
                    '-' => left - right,
                    '*' => left * right,
                    _ => left / right,
                }
            }
        };
        value.is_finite().then_some(value)
    }

    /// The series that it is made of, in their order.
    #[must_use]
    pub fn selectors(&self) -> Vec<&Selector> {
        match self {
            Self::Number(_) => Vec::new(),
            Self::Value(series) | Self::Rate(series) => vec![series],
            Self::Joined(left, _, right) => [left.selectors(), right.selectors()].concat(),
        }
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if self.labels.is_empty() {
            return Ok(());
        }
        let labels: Vec<String> =
            self.labels.iter().map(|(name, text)| format!("{name}=\"{text}\"")).collect();
        write!(f, "{{{}}}", labels.join(","))
    }
}

/// What is left of a text.
struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn unexpected(&self, wanted: &str) -> String {
        format!("expected {wanted}, found `{}`", self.rest.trim())
    }

    /// Whether a sign follows, which is taken then.
    fn takes(&mut self, sign: char) -> bool {
        let rest = self.rest.trim_start();
        let taken = rest.strip_prefix(sign);
        self.rest = taken.unwrap_or(rest);
        taken.is_some()
    }

    fn expect(&mut self, sign: char) -> Result<(), String> {
        if self.takes(sign) { Ok(()) } else { Err(self.unexpected(&format!("`{sign}`"))) }
    }

    /// The letters that follow and are of a word; may be none.
    fn word(&mut self) -> &'a str {
        let rest = self.rest.trim_start();
        let is_end = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | ':' | '.'));
        let (word, rest) = rest.split_at(rest.find(is_end).unwrap_or(rest.len()));
        self.rest = rest;
        word
    }

    fn sum(&mut self) -> Result<Formula, String> {
        self.joined(['+', '-'], Self::product)
    }

    fn product(&mut self) -> Result<Formula, String> {
        self.joined(['*', '/'], Self::term)
    }

    fn joined(
        &mut self,
        signs: [char; 2],
        part: fn(&mut Self) -> Result<Formula, String>,
    ) -> Result<Formula, String> {
        let mut formula = part(self)?;
        while let Some(sign) = signs.into_iter().find(|sign| self.takes(*sign)) {
            formula = Formula::Joined(Box::new(formula), sign, Box::new(part(self)?));
        }
        Ok(formula)
    }

    fn term(&mut self) -> Result<Formula, String> {
        if self.takes('(') {
            let formula = self.sum()?;
            return self.expect(')').map(|()| formula);
        }
        let word = self.word();
        if let Ok(number) = word.parse() {
            return Ok(Formula::Number(number));
        }
        if word == "rate" && self.takes('(') {
            let name = self.word();
            let series = self.selector(name)?;
            return self.expect(')').map(|()| Formula::Rate(series));
        }
        self.selector(word).map(Formula::Value)
    }

    fn selector(&mut self, name: &str) -> Result<Selector, String> {
        if name.is_empty() {
            return Err(self.unexpected("a series"));
        }
        let mut labels = Vec::new();
        if self.takes('{') {
            loop {
                let label = self.word().to_owned();
                self.expect('=')?;
                self.expect('"')?;
                let (text, rest) =
                    self.rest.split_once('"').ok_or_else(|| self.unexpected("a closing `\"`"))?;
                labels.push((label, text.to_owned()));
                self.rest = rest;
                if !self.takes(',') {
                    break;
                }
            }
            self.expect('}')?;
        }
        Ok(Selector { name: name.to_owned(), labels })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Option<f64> {
        Formula::parse(text).unwrap().value(&|of, is_rate| match (of.name.as_str(), is_rate) {
            ("a", false) => Some(6.0),
            ("a", true) => Some(0.5),
            ("b", false) if of.labels.is_empty() => Some(2.0),
            ("b", false) => Some(3.0),
            ("zero", _) => Some(0.0),
            _ => None,
        })
    }

    #[test]
    fn formulas_are_computed_with_the_usual_precedence() {
        for (text, wanted) in [
            ("a", Some(6.0)),
            ("1 - rate(a)", Some(0.5)),
            ("a - b - 1", Some(3.0)),
            ("a / b / 2", Some(1.5)),
            ("a + b * 2", Some(10.0)),
            ("(a + b) * 2", Some(16.0)),
            ("b{mode=\"idle\",cpu=\"0\"} / a", Some(0.5)),
            ("a / zero", None),
            ("a + none", None),
        ] {
            assert_eq!(value(text), wanted, "{text}");
        }
    }

    #[test]
    fn what_is_no_formula_is_refused_with_its_place() {
        for (text, part) in [
            ("", "a series"),
            ("a +", "a series"),
            ("a b", "its end"),
            ("rate(a", "`)`"),
            ("a{b}", "`=`"),
            ("a{b=\"c", "closing"),
        ] {
            let error = Formula::parse(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
