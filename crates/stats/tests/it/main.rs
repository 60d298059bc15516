//! Oracles, properties and hostile input: one binary for all of them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod codec;
mod design;
mod documented;
mod drift;
mod effects;
mod elasticity;
mod histogram;
mod hostile;
mod interval;
mod queueing;
mod random;
mod reference;
mod screening;
mod sequential;
mod series;
