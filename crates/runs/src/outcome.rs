//! How a request fares: the phase that it is due in, why it does not succeed, and who is
//! answerable for that.

/// A part of a run with a summary of its own. A request belongs to the phase it was due in.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[repr(u8)]
pub enum Phase {
    /// Before measurement: kept, never part of the summary's figures.
    WarmUp = 0,
    /// What the summary is about.
    Measured = 1,
}

impl Phase {
    /// Every phase, in the order of a run.
    pub const ALL: [Self; 2] = [Self::WarmUp, Self::Measured];

    /// The name in files: `warm-up`, `measured`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::WarmUp => "warm-up",
            Self::Measured => "measured",
        }
    }
}

/// Who is answerable for a failure. Only `Target` counts against the system under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Blame {
    /// The system under test.
    Target,
    /// This program, or the core it runs on.
    Generator,
    /// Neither: the host, the network between.
    Environment,
    /// What was asked cannot be done.
    Plan,
}

/// Why a request did not succeed.
///
/// Seven kinds were never sent:
/// `offered = sent + connect + local + dns + tls + client_saturated + cut + variable`.
/// Four were sent and not answered:
/// `sent = completed + timeout + reset + protocol + in_flight_at_end`.
/// `status`, `check`, `redirect` and `take` were answered: kinds within `completed`.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[repr(u8)]
pub enum ErrorKind {
    /// No connection could be made: refused, unreachable, not made within the timeout.
    Connect = 0,
    /// The target's name was not found.
    Dns = 1,
    /// The TLS handshake failed.
    Tls = 2,
    /// More than `max_waiting` requests were waiting for a connection.
    ClientSaturated = 3,
    /// Never sent: the run ended, or its waiting requests were discarded.
    Cut = 4,
    /// No whole answer within the timeout, counted from sent.
    Timeout = 5,
    /// The connection ended before the whole answer.
    Reset = 6,
    /// The answer broke the protocol's rules, or a bound of ours.
    Protocol = 7,
    /// Still unanswered when the run ended; or when its user closed the WebSocket that it was to
    /// open again.
    InFlightAtEnd = 8,
    /// Answered, with a status that is not an expected one.
    Status = 9,
    /// Answered, and a check on the answer failed.
    Check = 10,
    /// This host let no connection be opened, for a [`LocalCause`](crate::LocalCause): nothing of
    /// the target's.
    Local = 11,
    /// Answered by a redirect that is not followed: to another server, by a location that cannot be
    /// read, or behind as many as are followed.
    Redirect = 12,
    /// Answered, and nothing was found where a user was to take something from the answer.
    Take = 13,
    /// Never sent: a variable of its user was empty, or could not be sent.
    Variable = 14,
    /// Sent, and a message that was expected did not come in its time.
    Unanswered = 15,
    /// Sent, and the WebSocket was closed on which a message was expected.
    Closed = 16,
    /// Never sent: the WebSocket on which it was to go was closed, or never open, or was lost and
    /// not open again in its time.
    Offline = 17,
}

impl ErrorKind {
    /// Every kind, in the order of its discriminant.
    pub const ALL: [Self; 18] = [
        Self::Connect,
        Self::Dns,
        Self::Tls,
        Self::ClientSaturated,
        Self::Cut,
        Self::Timeout,
        Self::Reset,
        Self::Protocol,
        Self::InFlightAtEnd,
        Self::Status,
        Self::Check,
        Self::Local,
        Self::Redirect,
        Self::Take,
        Self::Variable,
        Self::Unanswered,
        Self::Closed,
        Self::Offline,
    ];

    /// The kinds that were never sent.
    pub const NEVER_SENT: [Self; 8] = [
        Self::Connect,
        Self::Local,
        Self::Dns,
        Self::Tls,
        Self::ClientSaturated,
        Self::Cut,
        Self::Variable,
        Self::Offline,
    ];

    /// The kinds that were sent and never completely answered.
    pub const UNANSWERED: [Self; 6] = [
        Self::Timeout,
        Self::Reset,
        Self::Protocol,
        Self::InFlightAtEnd,
        Self::Unanswered,
        Self::Closed,
    ];

    /// The name in files and JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Dns => "dns",
            Self::Tls => "tls",
            Self::ClientSaturated => "client_saturated",
            Self::Cut => "cut",
            Self::Timeout => "timeout",
            Self::Reset => "reset",
            Self::Protocol => "protocol",
            Self::InFlightAtEnd => "in_flight_at_end",
            Self::Status => "status",
            Self::Check => "check",
            Self::Local => "local",
            Self::Redirect => "redirect",
            Self::Take => "take",
            Self::Variable => "variable",
            Self::Unanswered => "unanswered",
            Self::Closed => "closed",
            Self::Offline => "offline",
        }
    }
}
