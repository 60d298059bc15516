//! Executes plans. A plan becomes [`Ready`](ready::Ready): its cells, and the world that they are
//! executed in. The [`engine`] executes them under one [`Control`](control::Control), and a
//! [`Record`](record::Record) keeps what comes of each.

pub mod caches;
pub mod check;
pub mod cold;
pub mod combinations;
pub mod control;
pub mod design;
pub mod engine;
pub mod error;
pub mod execute;
pub mod fill;
pub mod infer;
mod inputs;
pub mod locks;
pub mod mix;
pub mod prepare;
pub mod ready;
pub mod record;
pub mod restart;
pub mod resume;
pub mod search;
pub mod series;
pub mod simulate;
mod vocabulary;
pub mod world;

pub use check::Check;
pub use error::ExperimentError;
pub use fill::{Filled, fill};
pub use prepare::{Prepared, prepare};
pub use vocabulary::VOCABULARY;
