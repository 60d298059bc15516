//! Why a heartbeat is not believed.

/// Why a heartbeat or a goodbye was refused; every refusal is counted by [`Refusal::reason`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// Not a JSON object of at most four levels with each key once.
    #[error("not a heartbeat: {0}")]
    Malformed(String),
    /// More bytes than a heartbeat may have.
    #[error("{0} bytes, more than 8192")]
    TooLong(usize),
    /// A field that every heartbeat has is absent.
    #[error("`{0}` is missing")]
    Missing(&'static str),
    /// A field is of another type.
    #[error("`{0}` is of another type than {1}")]
    Type(&'static str, &'static str),
    /// A field is outside its bounds.
    #[error("`{0}` is not {1}")]
    Range(&'static str, &'static str),
    /// A field's text holds what may not stand in it.
    #[error("`{0}` holds {1:?}, which may not stand in it")]
    Character(&'static str, char),
    /// Said before what is known already, or older than a cache may live.
    #[error("said {0} s ago, or before what is known")]
    Stale(i64),
    /// Said by a clock that is too far ahead of ours.
    #[error(
        "said {0} s ahead of this registry's clock; at most 120 are taken: set the host's clock"
    )]
    Ahead(i64),
    /// The announced address is not that of who announces.
    #[error("announced from another address than the cache's")]
    AddressMismatch,
    /// It came through a proxy, and nothing that can be believed says from whom.
    #[error("it came through a proxy, and who sent it cannot be told: see --trusted-proxy")]
    SenderUnknown,
    /// The entry belongs to another source or key.
    #[error("the entry belongs to another source")]
    OtherSource,
    /// A signature is wrong, too old, seen before or missing.
    #[error("signature: {0}")]
    Signature(&'static str),
    /// The key may not speak for this cloud or network, or not decide.
    #[error("the key is not for {0}")]
    KeyScope(&'static str),
    /// This source has as many entries as it may have.
    #[error("this source has {0} entries already; only who is trusted may have more")]
    SourceFull(usize),
    /// The registry has as many entries as it may have.
    #[error("the registry is full")]
    Full,
    /// This source announces too often.
    #[error("too many announcements")]
    TooOften,
    /// A goodbye for what is not known.
    #[error("no such cache")]
    Unknown,
}

impl Refusal {
    /// All words that [`Refusal::reason`] has.
    pub const REASONS: [&str; 16] = [
        "malformed",
        "too_long",
        "missing",
        "type",
        "range",
        "stale",
        "ahead",
        "address_mismatch",
        "sender_unknown",
        "other_source",
        "signature",
        "key_scope",
        "source_full",
        "full",
        "too_often",
        "unknown",
    ];

    /// The word by which it is counted and answered.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Malformed(_) => "malformed",
            Self::TooLong(_) => "too_long",
            Self::Missing(_) => "missing",
            Self::Type(..) => "type",
            Self::Range(..) | Self::Character(..) => "range",
            Self::Stale(_) => "stale",
            Self::Ahead(_) => "ahead",
            Self::AddressMismatch => "address_mismatch",
            Self::SenderUnknown => "sender_unknown",
            Self::OtherSource => "other_source",
            Self::Signature(_) => "signature",
            Self::KeyScope(_) => "key_scope",
            Self::SourceFull(_) => "source_full",
            Self::Full => "full",
            Self::TooOften => "too_often",
            Self::Unknown => "unknown",
        }
    }
}
