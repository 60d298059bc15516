//! From untrusted bytes to a [`Heartbeat`].

use super::{Heartbeat, Refusal};

/// Reads a heartbeat.
///
/// # Errors
///
/// A [`Refusal`] that says which field is at fault and how.
pub fn parse(body: &[u8]) -> Result<Heartbeat, Refusal> {
    let _ = body;
    todo!()
}
