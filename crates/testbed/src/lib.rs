//! The test-bed: servers under test, made from recipes, and undone whatever happens.
//!
//! A [`Bed`] is what a plan wants to stand: *roles*, each a [recipe](recipe::Recipe) with
//! a number of *instances* and their limits. A [`provider`] gives an instance its place: a
//! port of this host, a network namespace with cgroups, or a port of a [host](ssh) that is reached
//! by `ssh`. What is done is a [`Flow`]
//! of steps, each with what undoes it; what is started stands in a [`Ledger`]
//! before it is started, with what proves it ours, so that it can be undone by another process too.
//! Instances of a [`Crew`](crew::Crew) come and go while the others stand; [`balancers`] give them
//! requests.
//!
//! Commands are lists of words that no shell reads. Nothing is installed, and nothing outside the
//! folder, the namespaces and the cgroups of the bed is changed.

mod agent;
pub mod balance;
pub mod balancers;
pub mod bed;
mod books;
mod cgroup;
pub mod cloud;
pub mod command;
pub mod crew;
pub mod down;
pub mod ec2;
pub mod error;
pub mod far;
pub mod flow;
mod folder;
pub mod gone;
pub mod image;
pub mod install;
pub mod launch;
pub mod ledger;
pub mod links;
mod making;
mod op;
pub mod outline;
mod output;
mod policy;
pub mod provider;
pub mod reach;
mod ready;
pub mod recipe;
pub mod rented;
pub mod rents;
pub mod role;
mod route;
pub mod self_test;
pub mod ssh;
pub mod standing;
mod texts;
pub mod thing;
mod time;
mod users;
#[cfg(test)]
mod waits;
mod work;

pub use agent::Agent;
pub use bed::{Bed, Standing};
pub use error::TestbedError;
pub use flow::{Action, Flow, Step};
pub use ledger::Ledger;
pub use making::recipe_of;
pub use op::Op;
pub use output::FILE as OUTPUT;
pub use ready::is_ready;
pub use role::{Instance, Role};
