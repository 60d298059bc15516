//! What a store is asked before a load, and behind a data set.

mod check;
pub(crate) mod hint;
mod read_back;

pub use check::{CheckError, check};
pub use read_back::{ReadBack, read_back};
