//! The simulated world: a pool under a policy for the length of a schedule, request by request.
//!
//! Between two moments at which anything about the pool changes, an [`engine`] takes all requests
//! of that time at once. At such a moment instances become ready, fail, or have finished what they
//! had; at each tick metrics are collected and the policy decides.

pub mod engine;
mod requests;
mod setup;
mod variates;
mod world;

pub use requests::Requests;
pub use setup::{Boot, Failures, Load, Setup, SlowStart};
pub use world::{run, schedule};
