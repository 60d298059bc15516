//! Elastic pools: how many servers, when, and what that costs in money, lost requests and slow
//! answers.
//!
//! A [`policy`] decides from an [`observation`]; a pool of instances ([`pool`]) follows, and is
//! charged for ([`billing`]), and books are kept of it ([`books`]) that say what it came to
//! ([`outcome`]). The [`controller`] brings both together, whatever world the pool is
//! in. The [`simulated`] one is here, request by request.

pub mod billing;
pub mod books;
pub mod controller;
pub mod course;
pub mod demand;
mod figures;
mod objective;
pub mod observation;
pub mod outcome;
pub mod policy;
pub mod pool;
pub mod result;
pub mod simulated;

pub use objective::holds;
