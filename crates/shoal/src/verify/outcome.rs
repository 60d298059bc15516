//! What came of a question, and whom it speaks against.

use super::{ANSWER_BYTES, Object};
use plimsoll_net::http::client::decode;

/// What came of a question to a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// The object.
    Good,
    /// Nobody listens there.
    Refused,
    /// It ended the connection before the answer's end.
    Closed,
    /// Not HTTP.
    Malformed,
    /// It points to elsewhere, where nobody goes.
    Redirect,
    /// It says no.
    Status,
    /// Something else than the object.
    Body,
    /// More than is read.
    Long,
    /// It began to answer and did not end in time.
    Slow,
    /// It could not get the object: 502, 503 or 504.
    Gateway,
    /// Not a byte in time.
    Silent,
    /// There is no way to it.
    Unreachable,
}

/// Whom an outcome speaks against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// Nobody.
    Good,
    /// The cache.
    Bad,
    /// The cache, or else the object: what caches of several networks answer alike, while nobody
    /// delivers, speaks against the object.
    Either,
    /// The cache, or else the object's origin or the way there: it tells only where others deliver.
    Doubtful,
}

impl Outcome {
    /// All, in the order of their discriminants.
    pub const ALL: [Self; 12] = [
        Self::Good,
        Self::Refused,
        Self::Closed,
        Self::Malformed,
        Self::Redirect,
        Self::Status,
        Self::Body,
        Self::Long,
        Self::Slow,
        Self::Gateway,
        Self::Silent,
        Self::Unreachable,
    ];

    /// As it stands in metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Refused => "refused",
            Self::Closed => "closed",
            Self::Malformed => "malformed",
            Self::Redirect => "redirect",
            Self::Status => "status",
            Self::Body => "body",
            Self::Long => "long",
            Self::Slow => "slow",
            Self::Gateway => "gateway",
            Self::Silent => "silent",
            Self::Unreachable => "unreachable",
        }
    }

    /// Whom it speaks against.
    #[must_use]
    pub fn weight(self) -> Weight {
        match self {
            Self::Good => Weight::Good,
            Self::Gateway | Self::Silent | Self::Unreachable => Weight::Doubtful,
            Self::Refused | Self::Malformed => Weight::Bad,
            Self::Closed | Self::Redirect | Self::Status | Self::Body | Self::Long | Self::Slow => {
                Weight::Either
            }
        }
    }
}

/// What the bytes read so far amount to; `None` while more is to come. `ended` says that nothing
/// more will.
#[must_use]
pub fn judge(read: &[u8], ended: bool, object: &Object) -> Option<Outcome> {
    match decode(read, ended) {
        Ok(None) if read.len() >= ANSWER_BYTES => Some(Outcome::Long),
        Ok(None) => None,
        // What more bytes could have mended was cut off; what not, is no HTTP.
        Err(_) if ended && decode(read, false).is_ok() => Some(Outcome::Closed),
        Err(_) => Some(Outcome::Malformed),
        Ok(Some(answer)) => Some(match answer.status {
            200 if object.is(&answer.body) => Outcome::Good,
            200 => Outcome::Body,
            300..=399 => Outcome::Redirect,
            502..=504 => Outcome::Gateway,
            _ => Outcome::Status,
        }),
    }
}
