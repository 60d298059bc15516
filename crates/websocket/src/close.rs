//! Why a connection is closed, as a number.
//!
//! Source: RFC 6455, section 7.4, and IANA's registry of close codes.

/// A number that says why a connection is closed, one that may stand in a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CloseCode(u16);

impl CloseCode {
    /// What the connection was for is done.
    pub const NORMAL: Self = Self(1000);
    /// The server goes down, or the user goes elsewhere.
    pub const AWAY: Self = Self(1001);
    /// The peer broke the protocol.
    pub const PROTOCOL: Self = Self(1002);
    /// The peer sent what is not taken here, such as binary messages.
    pub const UNSUPPORTED: Self = Self(1003);
    /// What the peer sent is not what it says: text that is no UTF-8.
    pub const INVALID_DATA: Self = Self(1007);
    /// The peer did what is not allowed here.
    pub const POLICY: Self = Self(1008);
    /// A message was longer than is taken.
    pub const TOO_BIG: Self = Self(1009);
    /// The server failed.
    pub const INTERNAL: Self = Self(1011);

    /// A number that may stand in a frame: 1000 to 1003, 1007 to 1014 and 3000 to 4999. The others
    /// are unknown, or only for a program's own use, such as 1005 (no code) and 1006 (no close).
    #[must_use]
    pub fn new(code: u16) -> Option<Self> {
        matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999).then_some(Self(code))
    }

    /// The number.
    #[must_use]
    pub fn get(self) -> u16 {
        self.0
    }
}

impl std::fmt::Display for CloseCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}
