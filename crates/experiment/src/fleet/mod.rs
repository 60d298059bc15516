//! What a worker makes of what it is told: a part of a load, or cells.

mod cells;
mod folder;
mod rules;
mod worker;

pub use folder::WorkerFolder;
pub use rules::{May, Rules};
pub use worker::Worker;
