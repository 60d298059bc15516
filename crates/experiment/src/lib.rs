//! Executes plans. A plan becomes [`Ready`](ready::Ready): its cells, and the world that they are
//! executed in. [`run_plan`](conduct::run_plan) executes them under one
//! [`Control`](control::Control), and a [`Record`](record::Record) keeps what comes of each.

mod adaptive;
mod again;
pub mod bench;
pub mod between;
pub mod bounds;
pub mod broker;
pub mod check;
mod clock;
pub mod conduct;
pub mod control;
mod engine;
pub mod error;
pub mod estimate;
pub mod factors;
pub mod fleet;
mod folders;
mod gone;
mod hosts;
pub mod image_folder;
pub mod images;
pub mod infer;
mod inputs;
mod kept;
pub mod leased;
pub mod locks;
pub mod mix;
pub mod money;
mod outputs;
pub mod plans;
pub mod prepare;
pub mod ready;
pub mod record;
pub mod replay;
pub mod resume;
mod rounds;
pub mod scale;
pub mod series;
pub mod servers;
pub mod speed;
pub mod starter;
mod starts;
pub mod status;
pub mod steps;
#[cfg(test)]
mod tests;
pub mod touches;
pub mod until;
mod vocabulary;
pub mod walk;
pub mod wants;
pub mod world;
pub mod wsbench;

pub use again::again;
pub use check::Check;
pub use error::ExperimentError;
pub use prepare::{Prepared, outlined, prepare};
pub use steps::clean::{Cleaned, clean};
pub use steps::fill::{Filled, fill};
pub use vocabulary::VOCABULARY;
