//! Executes plans. Today a plan has one cell: [`prepare()`] makes of it all that the engine needs,
//! and [`execute()`] runs it into a run folder.
//!
//! Factors, replications in order, start-up and halt flows and fleets find their place here.

pub mod caches;
pub mod check;
pub mod cold;
pub mod combinations;
pub mod error;
pub mod execute;
pub mod fill;
pub mod infer;
pub mod mix;
pub mod prepare;
pub mod record;
pub mod restart;
pub mod search;
pub mod series;
pub mod simulate;

pub use check::Check;
pub use error::ExperimentError;
pub use execute::{Outcome, Progress, Setting, execute};
pub use fill::{Filled, Filling, fill};
pub use prepare::{Prepared, prepare};
