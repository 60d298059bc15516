//! Simulates a plan of clusters of caches: every combination of the levels of its clusters, on the
//! same requests.
//!
//! [`check`] says what is wrong with a cluster of a plan, [`cells`] makes of a plan what is
//! simulated, [`simulate`] runs it.

mod cells;
mod conduct;
mod levels;

pub use cells::{Cell, cells};
pub use conduct::{Simulated, simulate};
pub use levels::check;
