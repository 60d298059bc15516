//! Which members are near a point: a tree over their places whose nodes are ranges of one array.

use std::sync::Arc;

use crate::registry::Cache;

/// Members by place, one tree for each [`crate::order::Menu`] entry.
#[derive(Debug, Default)]
pub struct Index {}

impl Index {
    /// Of members; positions in it are positions in `caches`.
    #[must_use]
    pub fn new(caches: &[Arc<Cache>]) -> Self {
        let _ = caches;
        Self {}
    }
}
