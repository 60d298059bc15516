//! The membership at one moment: what the serving threads read, without locks.

use std::sync::Arc;

use super::{Cache, Glances};
use crate::index::Index;

/// The membership at one moment. Members that left since then say so by [`Cache::alive`].
#[derive(Debug, Default)]
pub struct Snapshot {
    /// Grows with each change of the membership.
    pub generation: u64,
    /// Members when the index was built, in the order in which they joined.
    pub base: Arc<Base>,
    /// Those that joined since, in that order.
    pub joined: Vec<Arc<Cache>>,
    /// Of `joined`.
    pub recent: Index,
    /// How they fare at a glance, those of them who have a seat there.
    pub glances: Arc<Glances>,
}

/// Members with their index, built off the serving threads and shared by many snapshots.
#[derive(Debug, Default)]
pub struct Base {
    /// In the order in which they joined.
    pub caches: Vec<Arc<Cache>>,
    /// Of `caches`, by place and kind.
    pub index: Index,
}

impl Base {
    /// Of living members, in the order in which they joined.
    #[must_use]
    pub fn new(caches: Vec<Arc<Cache>>) -> Self {
        let index = Index::new(&caches);
        Self { caches, index }
    }

    /// Frees it in parts of so many members, and calls between them.
    pub fn free(mut self, most: usize, mut between: impl FnMut()) {
        while self.index.let_go(most) {
            between();
        }
        while !self.caches.is_empty() {
            self.caches.truncate(self.caches.len().saturating_sub(most));
            between();
        }
    }
}

impl Snapshot {
    /// Of members and those that joined since, whose index is built here: 1,000 of them take about
    /// a tenth of a millisecond.
    #[must_use]
    pub fn new(
        generation: u64,
        base: Arc<Base>,
        joined: Vec<Arc<Cache>>,
        glances: Arc<Glances>,
    ) -> Self {
        let recent = Index::new(&joined);
        Self { generation, base, joined, recent, glances }
    }

    /// Members with the index of them: those of the base, and those that joined since.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (&[Arc<Cache>], &Index)> {
        let base = (&self.base.caches[..], &self.base.index);
        [base, (&self.joined[..], &self.recent)].into_iter()
    }

    /// Every living member, in the order in which they joined.
    pub fn caches(&self) -> impl Iterator<Item = &Arc<Cache>> {
        self.base.caches.iter().chain(&self.joined).filter(|cache| cache.alive())
    }
}
