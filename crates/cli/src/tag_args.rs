//! What runs are tagged with.

use crate::terminal::error::{Result, UsageError};
use clap::Args;
use std::collections::BTreeMap;

/// The longest tag, bytes.
const LONGEST: usize = 200;

/// Tags of runs.
#[derive(Args, Default, Clone)]
pub(crate) struct Tags {
    /// Tag the run, such as commit=5ac1358; `runs list --tag` finds it by that
    #[arg(long = "tag", value_name = "KEY=VALUE")]
    tags: Vec<String>,
}

impl Tags {
    /// Refuses tags where they go with a flag that is not there.
    pub(crate) fn refuse(&self, without: &str) -> Result<()> {
        match self.tags.is_empty() {
            true => Ok(()),
            false => Err(UsageError(format!("tag what keeps no run: say {without}")).into()),
        }
    }

    /// The tags by their keys.
    pub(crate) fn read(&self) -> Result<BTreeMap<String, String>> {
        let mut all = BTreeMap::new();
        for text in &self.tags {
            let (key, value) = tag(text)?;
            if all.insert(key.clone(), value).is_some() {
                return Err(UsageError(format!("read --tag: {key} is given twice")).into());
            }
        }
        Ok(all)
    }
}

/// A tag of `KEY=VALUE`.
pub(crate) fn tag(text: &str) -> Result<(String, String)> {
    let is_of_key = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let split = text
        .split_once('=')
        .filter(|(key, value)| !key.is_empty() && key.chars().all(is_of_key) && !value.is_empty());
    let is_plain = text.len() <= LONGEST && !text.chars().any(char::is_control);
    let Some((key, value)) = split.filter(|_| is_plain) else {
        let text = format!(
            "read --tag: expected KEY=VALUE of at most {LONGEST} bytes, the key of letters, \
             digits, -, _ and ., found {text:?}"
        );
        return Err(UsageError(text).into());
    };
    Ok((key.to_owned(), value.to_owned()))
}
