//! What is rented from clouds: the purse, which knows what was spent and how many instances there
//! are, and their end, in this process or another.
//!
//! Nothing is rented that is not on disk before, with a token by which a repeated order is the same
//! one, and by which it is found again.

mod purse;
mod remove;

use std::path::PathBuf;

pub(crate) use purse::Purse;
pub use purse::Terms;
pub(crate) use remove::end;
pub use remove::{Stray, strays, take_down};

/// The tag of every instance, with the id of its bed.
pub const BED_TAG: &str = "plimsoll:bed";
/// The tag with the name of the instance in its bed.
pub const NAME_TAG: &str = "plimsoll:instance";
/// What all tokens begin with.
pub const TOKEN: &str = "plimsoll-";

/// The folder of what has to outlive this host's running: the ledgers of rented instances, and what
/// they cost. `environment` tells the value of a variable.
#[must_use]
pub fn lasting(environment: fn(&str) -> Option<String>) -> PathBuf {
    let of = |name: &str| environment(name).map(PathBuf::from).filter(|of| of.is_absolute());
    // tidy: allow(shared-folder, `Ledger` and `List` open it)
    let state = of("XDG_STATE_HOME").or_else(|| Some(of("HOME")?.join(".local/state")));
    state.unwrap_or_else(|| PathBuf::from("/var/lib")).join("plimsoll")
}
