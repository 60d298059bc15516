//! A policy as an entry of the list: its name, and its replay compiled for it.

use crate::replay::{Counts, Job, run};

use super::{Eviction, Needs, SettingError};

/// One policy of [`super::KINDS`].
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// What users write.
    pub name: &'static str,
    /// One line for users.
    pub about: &'static str,
    /// What a replay must be given.
    pub needs: Needs,
    pub(crate) run: fn(&Job<'_>) -> Result<Counts, SettingError>,
}

impl Kind {
    /// The entry of a policy.
    #[must_use]
    pub(super) const fn of<P: Eviction>() -> Self {
        Self { name: P::NAME, about: P::ABOUT, needs: P::NEEDS, run: run::<P> }
    }

    /// The policy of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        super::KINDS.iter().find(|kind| kind.name == name)
    }
}
