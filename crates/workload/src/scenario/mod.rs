//! What a simulated user does, step by step, and what he keeps meanwhile.
//!
//! [`cookies`] is his jar, [`take`] finds in an answer what a later request needs, [`unpack`]
//! unpacks answers within bounds.

pub mod cookies;
pub mod take;
pub mod unpack;
