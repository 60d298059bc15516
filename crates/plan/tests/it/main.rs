//! The plan language from outside: what it says of wrong plans, what it reads back of its own
//! text, what it survives, and that the manual knows every key.

#![expect(clippy::unwrap_used, reason = "what the tests share is test code too")]

mod caches;
mod documented;
mod flags;
mod golden;
mod mutation;
mod round_trip;
mod secrets;
