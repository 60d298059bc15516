//! Simulates a plan of a pool: all its policies on the same requests, replicated.
//!
//! [`model`] makes of a plan what is simulated, [`conduct`] runs it, [`tune`] looks for better
//! parameters of a policy.

pub mod conduct;
mod model;
mod notes;
mod parts;
pub mod tune;
pub mod wish;
mod words;

pub use conduct::{Scale, simulate};
pub use model::{Model, Named, check, model};
