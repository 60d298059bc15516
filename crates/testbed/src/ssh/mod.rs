//! `ssh`: servers on other hosts, reached by the system's `ssh`, so that a user's configuration,
//! agent and jump hosts hold.
//!
//! One connection a host (`client`) is shared by all that is done there (`ControlMaster`). This
//! program is copied to a new folder of the host, its digest is compared, and it is started there
//! ([`far`](crate::far)): it does the steps of the host's instances by the same code that does them
//! here. What it is about to make it tells first, and waits until that stands in the ledger of this
//! host (`session`, `wire`). So whoever holds the ledger can undo all of it, by a new connection
//! (`undo`), and what a host has that is away is kept in the ledger until then.
//!
//! Nothing that is secret is in an argument: the words of commands are folders, addresses and the
//! digest of this program; all else goes by standard input.

pub(crate) mod client;
mod guest;
pub(crate) mod hosts;
pub mod provider;
pub(crate) mod session;
pub(crate) mod undo;
pub(crate) mod watch;
pub(crate) mod wire;

pub use crate::route::Route;
pub use client::{Client, Lost, VARIABLES};
pub use guest::Guest;
pub use provider::{Dealt, Ssh};
pub use watch::Watch;
