//! The membership at one moment: what the serving threads read, without locks.

use std::sync::Arc;

use super::Cache;
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
}

impl Snapshot {
    /// Every living member, in the order in which they joined.
    pub fn caches(&self) -> impl Iterator<Item = &Arc<Cache>> {
        self.base.caches.iter().chain(&self.joined).filter(|cache| cache.alive())
    }
}
