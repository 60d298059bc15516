//! Simulates a plan of a pool: all its policies on the same requests, replicated.
//!
//! [`model`] makes of a plan what is simulated, [`conduct`] runs it, [`live`] runs it on real
//! servers; [`contents`] writes a replication into its run, [`tuning`] looks for better parameters
//! of a policy.

mod begins;
pub mod conduct;
pub mod contents;
pub mod live;
mod model;
mod notes;
pub(crate) mod parts;
pub mod shadow;
pub mod tune;
pub mod tuning;
pub mod wish;
mod words;

pub use begins::Day;
pub use conduct::{Grid, Keep, Pool, cells, simulation, subject, subject_of, together};
pub(crate) use conduct::{hand_over, simulate};
pub use model::{Model, Named, model};
pub(crate) use model::{check, simulates};
