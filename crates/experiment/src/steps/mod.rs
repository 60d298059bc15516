//! What is done to a target between cells, or before them.

pub mod clean;
pub mod cold;
pub mod fill;
pub mod restart;
pub(crate) mod warm;
