//! Durations, rates, sizes, shares and counts: one grammar for reading them, one way of writing.
//!
//! Every number a user types goes through here, so a wrong unit gets the same answer everywhere:
//! what was wanted, what was found, where, and a hint (see [`ParseError`]). A number without a unit
//! is an error wherever a unit could be meant in more than one way (durations, rates).
//!
//! Pure: no clock, no locale, no environment. Reading is bounded: a number has at most
//! [`MAX_DIGITS`] digits, and no allocation grows with the text beyond a short excerpt.
//!
//! ```
//! use std::time::Duration;
//! assert_eq!(plimsoll_units::duration("1h30m")?, Duration::from_secs(5400));
//! assert_eq!(plimsoll_units::rate("30/m")?, 0.5);
//! assert_eq!(plimsoll_units::rate("500").unwrap_err().to_string(),
//!            "expected a rate such as 500/s, 30/m or 36/h, found `500`");
//! # Ok::<(), plimsoll_units::ParseError>(())
//! ```

pub mod civil;
mod duration;
pub mod erase;
mod error;
pub mod failure;
pub mod hash;
mod nearest;
mod number;
pub mod own;
pub mod parameter;
mod quantity;
mod rate;
pub mod secret;
mod show;
mod truncate;
mod words;

pub use duration::{duration, show_duration, show_duration_exact};
pub use error::ParseError;
pub use nearest::nearest;
pub use number::MAX_DIGITS;
pub use quantity::{count, price, share, size};
pub use rate::{rate, show_rate, show_rate_exact};
pub use show::{show_count, show_share, show_share_exact, show_size};
pub use truncate::truncate;
pub use words::Words;
