//! The two ends of a connection, which mask differently.

/// Which end of a connection this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It opened the connection: it masks what it sends, and what it receives must not be masked.
    Client,
    /// It accepted the connection: what it receives must be masked.
    Server,
}
