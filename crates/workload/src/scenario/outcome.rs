//! What passes between a user and who drives him: moments, what he does next, what came of it.

use super::take::Headers;

/// A moment: of the run, and of the day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    /// Nanoseconds since the run began.
    pub ns: u64,
    /// Nanoseconds since 1970.
    pub unix_ns: u64,
}

impl Now {
    /// Seconds since 1970.
    pub(super) fn unix_s(self) -> i64 {
        i64::try_from(self.unix_ns / 1_000_000_000).unwrap_or(i64::MAX)
    }
}

/// What a user does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// He sends [`User::message`](super::User::message), and awaits the answer.
    Ask(Sending),
    /// He sends [`User::said`](super::User::said) over a WebSocket, awaits messages, or both.
    Say {
        /// The step.
        sending: Sending,
        /// The number of his connection.
        channel: u16,
        /// Whether he sends something.
        sends: bool,
        /// Whether he awaits something.
        awaits: bool,
    },
    /// He closes a WebSocket.
    Close {
        /// The number of his connection.
        channel: u16,
        /// The code that the server is told.
        code: u16,
    },
    /// He does nothing until then.
    Think {
        /// Nanoseconds since the run began.
        until_ns: u64,
    },
    /// A step of his has failed before it was sent; he is to be asked again.
    Unsent {
        /// What he would have sent.
        sending: Sending,
        /// Why he did not.
        failure: Failure,
    },
    /// He has ended.
    Done(End),
}

/// A request of a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sending {
    /// Since when it is due, nanoseconds since the run began.
    pub due_ns: u64,
    /// The number of the step.
    pub step: u32,
    /// The number of the step's name.
    pub name: u16,
    /// Whether it follows a redirect.
    pub is_redirect: bool,
    /// How much of the answer is to be kept, bytes; 0 where it is only counted.
    pub keep: u64,
}

/// How a user has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// He has done all steps.
    Finished,
    /// A step failed, and he ended with it.
    Failed,
    /// A step failed, and the run is to end.
    EndRun,
}

/// What came of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Came {
    /// The step goes on with another request.
    Redirected,
    /// The step is done.
    Passed,
    /// The step has failed.
    Failed(Failure),
}

/// Why a step has failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What kind of failure.
    pub kind: FailureKind,
    /// What was wanted and what was found.
    pub what: String,
}

/// What kind of failure a step of a scenario has of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// A check did not hold.
    Check,
    /// Nothing was found where something was to be taken.
    Take,
    /// A variable was empty, or its value could not be sent.
    Variable,
    /// A redirect led to a server that may not be asked, nowhere, or too far.
    Redirect,
    /// A message that was expected did not come in time.
    Unanswered,
    /// A connection was closed, or was never opened, on which something was to be sent or to come.
    Closed,
}

impl FailureKind {
    /// The word for it in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Check => "check",
            Self::Take => "take",
            Self::Variable => "variable",
            Self::Redirect => "redirect",
            Self::Unanswered => "unanswered",
            Self::Closed => "closed",
        }
    }
}

/// A group that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupEnd {
    /// The number of its name.
    pub name: u16,
    /// When its first step was due.
    pub first_due_ns: u64,
    /// When its last one was done.
    pub done_ns: u64,
    /// The sum of its steps' response times.
    pub response_ns: u64,
    /// Whether all of its steps went well.
    pub is_good: bool,
}

/// An answer as it was received.
#[derive(Debug, Clone, Copy)]
pub struct Received<'a> {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: Headers<'a>,
    /// What was kept of the body, packed as it was sent.
    pub body: &'a [u8],
    /// Whether that is all of it.
    pub is_whole: bool,
}
