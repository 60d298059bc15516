//! `ec2`: instances that are rented from a cloud with the EC2 Query API, as Amazon's, Eucalyptus
//! and others have it.
//!
//! | module | what |
//! | --- | --- |
//! | [`client`](Cloud) | signs, sends and repeats the few calls that there are |
//! | `sign` | Signature V4 |
//! | `xml`, [`answer`](Rented) | what is answered, bounded and checked |
//! | `credentials` | from the environment, a profile, the role of the own instance |
//! | `user_data` | what an instance executes first: the timer that ends it |
//! | `purse` | what was spent, and how many there are |
//! | [`provider`](Ec2) | the instances of a bed |
//! | [`remove`] | their end, in this process or another |
//!
//! Nothing is rented that is not on disk before, with a token by which a repeated order is the same
//! one, and by which it is found again.

mod answer;
mod client;
mod credentials;
mod error;
mod provider;
mod purse;
mod remove;
mod sign;
mod user_data;
mod xml;

use std::path::PathBuf;

pub use answer::{Filter, Rented, is_plain};
pub use client::{API_VERSION, Cloud, Order, Surroundings, Where};
pub use error::CloudError;
pub use provider::{Ec2, Wants};
pub(crate) use provider::{RENT, unreached};
pub use purse::Terms;
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
    let of = |name: &str| environment(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let state = of("XDG_STATE_HOME").or_else(|| Some(of("HOME")?.join(".local/state")));
    state.unwrap_or_else(|| PathBuf::from("/var/lib")).join("plimsoll")
}
