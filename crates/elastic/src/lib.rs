//! Elastic pools: how many servers, when, and what that costs in money, lost requests and slow
//! answers.
//!
//! A [`policy`] decides from an [`observation`]; a pool of instances ([`pool`]) follows, and is
//! charged for ([`billing`]). The [`simulated`] world runs both, request by request.

pub mod billing;
pub mod course;
pub mod demand;
pub mod observation;
pub mod policy;
pub mod pool;
pub mod result;
pub mod simulated;
