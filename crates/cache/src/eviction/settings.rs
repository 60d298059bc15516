//! What users set of a policy: `lru-k:k=3`, `gdsf:cost=size`.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

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
    pub fn only(&self, names: &[&'static str]) -> Result<(), SettingError> {
        match self.0.keys().find(|name| !names.contains(&name.as_str())) {
            None => Ok(()),
            Some(found) => Err(SettingError::Unknown {
                wanted: if names.is_empty() { "no setting".into() } else { names.join(", ") },
                found: found.clone(),
            }),
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
    pub fn number(
        &self,
        name: &'static str,
        without: u64,
        range: RangeInclusive<u64>,
    ) -> Result<u64, SettingError> {
        let Some(found) = self.0.get(name) else { return Ok(without) };
        let number = found.parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| SettingError::Value {
            name,
            wanted: format!("a number from {} to {}", range.start(), range.end()),
            found: found.clone(),
        })
    }

    /// The place in `values` of what was chosen; the first without a choice.
    ///
    /// *Errors*: none of them.
    pub fn choice(&self, name: &'static str, values: &[&str]) -> Result<usize, SettingError> {
        let Some(found) = self.0.get(name) else { return Ok(0) };
        values.iter().position(|value| value == found).ok_or_else(|| SettingError::Value {
            name,
            wanted: values.join(", "),
            found: found.clone(),
        })
    }
}
