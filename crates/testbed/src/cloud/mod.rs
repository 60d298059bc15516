//! A cloud with the EC2 Query API, as Amazon's, Eucalyptus and others have it: what it is asked
//! for, and what it tells.
//!
//! | module | what |
//! | --- | --- |
//! | [`client`](Cloud) | signs, sends and repeats the few calls that there are |
//! | `images` | images of instances: made, waited for, removed |
//! | `groups` | which instances an Auto Scaling group has in service |
//! | [`members`](Members) | the instances of a group, or with a tag: looked at, never changed |
//! | `sign` | Signature V4 |
//! | `xml`, [`answer`](Rented) | what is answered, bounded and checked |
//! | `credentials` | from the environment, a profile, the role of the own instance |
//! | `user_data` | what an instance executes first: the timer that ends it |

mod account;
mod answer;
#[cfg(test)]
pub(crate) mod by_hand;
mod client;
mod credentials;
mod error;
mod groups;
mod images;
mod members;
mod sign;
mod user_data;
mod xml;

pub use account::Account;
pub use answer::{Filter, Rented, is_plain};
pub use client::{API_VERSION, Cloud, Order, Surroundings, Where};
pub use error::CloudError;
pub use members::{Members, Whose};
pub(crate) use user_data::user_data;
