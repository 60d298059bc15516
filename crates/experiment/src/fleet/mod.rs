//! What a worker makes of what it is told: a part of a load, or cells.

mod cells;
mod folder;
mod worker;

pub use worker::Worker;
