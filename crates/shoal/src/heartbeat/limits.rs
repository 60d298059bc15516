//! The bounds of what is believed.

/// The longest heartbeat that is read, in bytes.
pub const MAX_BYTES: usize = 8 * 1024;
