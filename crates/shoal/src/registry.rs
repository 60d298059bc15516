//! The living caches.

mod cache;
mod snapshot;
mod state;

pub use cache::{Cache, DEFAULT_MAX_LOAD, Identity};
pub use snapshot::{Base, Snapshot};
pub use state::State;
