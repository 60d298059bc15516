//! Worlds that cells are executed in.

mod live;
pub mod load;
pub mod search;
pub mod simulated;

pub use live::is_cold;
pub use load::Load;
pub use search::Search;
