//! Each policy against sequences computed by hand: what it sees, tick by tick, and what it says.

mod fixed;
mod oracle;
mod panic;
mod parameters;
mod predictive;
mod properties;
mod revenue;
mod scene;
mod schedule;
mod slo;
mod step;
mod target;
mod threshold;
