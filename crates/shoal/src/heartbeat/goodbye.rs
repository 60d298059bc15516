//! What an agent says last.

use std::fmt;

/// An agent takes its cache away.
#[derive(Clone, PartialEq)]
pub struct Goodbye {
    /// Of the heartbeats before it.
    pub uuid: Box<str>,
    /// Of the agent's wall clock, seconds since 1970.
    pub timestamp: f64,
}

/// Without the uuid, which is a secret.
impl fmt::Debug for Goodbye {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Goodbye").field("timestamp", &self.timestamp).finish_non_exhaustive()
    }
}
