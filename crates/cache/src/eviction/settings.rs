//! What users set of a policy: `lru-k:k=3`, `gdsf:cost=size`.

use std::collections::BTreeMap;

use plimsoll_units::parameter::{Parameter, Takes};

/// Settings of one policy by their names, as the user wrote them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings(BTreeMap<String, String>);

/// A setting that a policy cannot take.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    /// Not `name=value`.
    #[error("expected name=value, found {0:?}")]
    Form(String),
    /// The policy has no such setting.
    #[error("expected {wanted}, found {found:?}")]
    Unknown {
        /// The names that there are.
        wanted: String,
        /// What was written.
        found: String,
    },
    /// The value is not one that it may have.
    #[error("expected {wanted} as {name}, found {found:?}")]
    Value {
        /// The name of the setting.
        name: &'static str,
        /// What it may be.
        wanted: String,
        /// What was written.
        found: String,
    },
}

impl Settings {
    /// Reads `name=value` once or more, divided by `:`; the empty text has none.
    ///
    /// *Errors*: a part that is not of this form, or a name twice.
    pub fn parse(text: &str) -> Result<Self, SettingError> {
        let mut settings = BTreeMap::new();
        for part in text.split(':').filter(|part| !part.is_empty()) {
            let form = || SettingError::Form(part.to_owned());
            let (name, value) = part.split_once('=').ok_or_else(form)?;
            if settings.insert(name.to_owned(), value.to_owned()).is_some() {
                return Err(form());
            }
        }
        Ok(Self(settings))
    }

    /// Every setting must be one of these.
    ///
    /// *Errors*: one that is not.
    pub fn only(&self, known: &[Parameter]) -> Result<(), SettingError> {
        let is_unknown = |name: &&String| known.iter().all(|of| of.name != *name);
        match self.0.keys().find(is_unknown) {
            None => Ok(()),
            Some(found) => {
                let names: Vec<&str> = known.iter().map(|of| of.name).collect();
                let none = names.is_empty();
                let wanted = if none { "no setting".into() } else { names.join(", ") };
                Err(SettingError::Unknown { wanted, found: found.clone() })
            }
        }
    }

    /// A setting as it was written, where it was.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// A whole number, or what holds without it.
    ///
    /// *Errors*: no such number, or one out of range.
    pub fn number(&self, of: &Parameter) -> Result<u64, SettingError> {
        let text = self.value(of)?;
        text.parse().map_err(|_| SettingError::of(of, "a number".to_owned(), text))
    }

    /// The place of the word that was chosen; the first without a choice.
    ///
    /// *Errors*: none of them.
    pub fn choice(&self, of: &Parameter) -> Result<usize, SettingError> {
        let text = self.value(of)?;
        let Takes::Word(words) = of.takes else { return Ok(0) };
        Ok(words.iter().position(|word| *word == text).unwrap_or(0))
    }

    /// The text of a parameter, within its bounds.
    fn value(&self, of: &Parameter) -> Result<&str, SettingError> {
        let text = self.get(of.name).unwrap_or(of.default);
        if of.takes.check(text).is_ok() {
            return Ok(text);
        }
        Err(SettingError::of(
            of,
            match of.takes {
                Takes::Count(least, most) => format!("a number from {least} to {most}"),
                Takes::Word(words) => words.join(", "),
                other => other.words(),
            },
            text,
        ))
    }
}

impl SettingError {
    fn of(of: &Parameter, wanted: String, found: &str) -> Self {
        Self::Value { name: of.name, wanted, found: found.to_owned() }
    }
}
