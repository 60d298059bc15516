//! How it stands with the files that are read again when they change.

use std::collections::BTreeMap;
use std::sync::Mutex;

use super::shared::lock;
use plimsoll_units::failure::chain;

/// What became of each file that was read again, by the option that names it.
#[derive(Debug, Default)]
pub(super) struct Files {
    troubles: Mutex<BTreeMap<&'static str, Option<String>>>,
}

impl Files {
    /// Takes note of a look at a file: that it was read, is unchanged, or cannot be read. Returns
    /// what is to be said where that is another state than before.
    pub(super) fn note<E: std::error::Error>(
        &self,
        option: &'static str,
        looked: &Result<bool, E>,
    ) -> Option<String> {
        let mut troubles = lock(&self.troubles);
        let before = troubles.entry(option).or_default();
        let now = match looked {
            Ok(false) => return None,
            Ok(true) => None,
            Err(error) => Some(chain(error)),
        };
        if *before == now {
            return None;
        }
        let said = match &now {
            Some(why) => format!("--{option}: what was read before stays in force: {why}"),
            None => format!("--{option}: read again, and in force"),
        };
        *before = now;
        Some(said)
    }

    /// Each file that is looked at, and whether what is in force is what it holds.
    pub(super) fn list(&self) -> Vec<(&'static str, bool)> {
        let troubles = lock(&self.troubles);
        troubles.iter().map(|(option, trouble)| (*option, trouble.is_none())).collect()
    }
}
