//! Worlds that cells are executed in.

pub mod caches;
pub(crate) mod live;
pub mod load;
pub mod pool;
pub mod search;
pub mod simulated;
mod steer;
pub(crate) mod watch;
mod webhook;

pub use live::is_cold;
pub use load::Load;
pub use search::Search;
pub use watch::sources;
