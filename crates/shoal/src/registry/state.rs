//! Whether a cache may be served.

/// What is known of a cache's health, or was decided about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum State {
    /// Not yet asked for the verification object.
    Unverified = 0,
    /// Answered with it.
    Verified = 1,
    /// Did not.
    Failing = 2,
    /// Takes no new clients, by an operator's word; kept over restarts.
    Drained = 3,
    /// Not to be served, by an operator's word; kept over restarts.
    Banned = 4,
}

impl State {
    /// All, in the order of their discriminants.
    pub const ALL: [Self; 5] =
        [Self::Unverified, Self::Verified, Self::Failing, Self::Drained, Self::Banned];

    /// As it stands in answers.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Unverified => "unverified",
            Self::Verified => "verified",
            Self::Failing => "failing",
            Self::Drained => "drained",
            Self::Banned => "banned",
        }
    }

    /// Whether only an operator sets and withdraws it.
    #[must_use]
    pub fn is_operators(self) -> bool {
        matches!(self, Self::Drained | Self::Banned)
    }

    pub(super) fn from_u8(value: u8) -> Self {
        match value {
            1 => Self::Verified,
            2 => Self::Failing,
            3 => Self::Drained,
            4 => Self::Banned,
            _ => Self::Unverified,
        }
    }
}
