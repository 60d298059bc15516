//! What a simulated user does, step by step, and what he keeps meanwhile.
//!
//! [`cookies`] is his jar, [`take`] finds in an answer what a later request needs, [`unpack`]
//! unpacks answers within bounds.
//! [`har`] and [`from_log`] make scenarios of what a browser or a server recorded.

pub mod cookies;
pub mod from_log;
pub mod har;
pub mod take;
pub mod unpack;

mod written;
