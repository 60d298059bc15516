//! Why a cloud does not do what it is asked for.

use std::time::Duration;

use plimsoll_units::failure::{Failure, Kind};

use super::account::Account;

/// Why a cloud does not do what it is asked for. Reads as "failed to …".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CloudError {
    /// Credentials that cannot be had.
    #[error("{0}")]
    Credentials(String),
    /// An endpoint or a value that cannot be used.
    #[error("{0}")]
    Wrong(String),
    /// It cannot be reached, or not understood.
    #[error("ask {endpoint} for {action}: {why}")]
    Silent {
        /// The host.
        endpoint: String,
        /// What it was asked for.
        action: String,
        /// What happened.
        why: String,
    },
    /// It refuses.
    #[error("{action}: the cloud refuses: {code}: {message}")]
    Refused {
        /// What it was asked for.
        action: String,
        /// Its own word for why: `AuthFailure`.
        code: String,
        /// What it says.
        message: String,
        /// By how much its clock is before ours, seconds, where that is told.
        skew_s: Option<i64>,
    },
    /// The budget has no room for an instance.
    #[error("{0}")]
    Budget(String),
    /// It does not say what an answer must have.
    #[error("read the answer to {action}: {why}")]
    Answer {
        /// What it was asked for.
        action: String,
        /// What is missing.
        why: String,
    },
    /// An instance of another account than that of the credentials at hand.
    #[error("end {what}: it is of {of}, and the credentials at hand are of {here}")]
    OtherAccount {
        /// Its id, or its token.
        what: String,
        /// Whose it is.
        of: Account,
        /// Whose the credentials are.
        here: Account,
    },
    /// An instance that the cloud does not know, and that may run all the same.
    #[error("end {what}: {at} does not know it, asked by {here}{}", whose(.of.as_ref(), .here))]
    NotKnown {
        /// Its id, or its token.
        what: String,
        /// The region, and the endpoint.
        at: String,
        /// Whose it is, where the ledger has that.
        of: Option<Account>,
        /// Whose the credentials are.
        here: Account,
    },
    /// It was asked too long.
    #[error("{what}: it had not ended after {} s", .limit.as_secs())]
    TooLong {
        /// What was waited for.
        what: String,
        /// How long.
        limit: Duration,
    },
    /// The instance is not there any more.
    #[error("wait for {instance}: it is {state}{}", because(.reason))]
    Gone {
        /// Its id.
        instance: String,
        /// Its state.
        state: String,
        /// What the cloud says of why.
        reason: String,
    },
    /// There is no Auto Scaling group of that name.
    #[error("follow the Auto Scaling group `{name}`: there is none in {region}")]
    NoGroup {
        /// The name.
        name: String,
        /// Where it was looked for.
        region: String,
        /// The names of some groups that are there, where they were asked for.
        others: Vec<String>,
    },
    /// What is rented would be more, or cost more, than the plan allows.
    #[error("{0}")]
    Money(String),
    /// The user ended it.
    #[error("wait for the cloud: it was interrupted")]
    Interrupted,
}

fn whose(of: Option<&Account>, here: &Account) -> String {
    match of {
        Some(of) if of == here => String::new(),
        Some(of) => format!("; it was rented by {of}"),
        None => "; whose it is was not written down".to_owned(),
    }
}

fn because(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!(" ({reason})") }
}

impl CloudError {
    /// The cloud's own word, where it has refused.
    #[must_use]
    pub fn code(&self) -> &str {
        match self {
            Self::Refused { code, .. } => code,
            _ => "",
        }
    }

    /// Whether the same request may come to something a moment later.
    #[must_use]
    pub(crate) fn passes(&self) -> bool {
        const PASSING: [&str; 9] = [
            "RequestLimitExceeded",
            "Throttling",
            "ThrottlingException",
            "InternalError",
            "InternalFailure",
            "Unavailable",
            "ServiceUnavailable",
            "RequestTimeout",
            "HTTP",
        ];
        match self {
            Self::Silent { .. } => true,
            Self::Refused { code, .. } => PASSING.contains(&code.as_str()),
            _ => false,
        }
    }

    /// Whether the cloud does not know the instance.
    #[must_use]
    pub(crate) fn is_unknown(&self) -> bool {
        self.code() == "InvalidInstanceID.NotFound"
    }

    /// Whether it may have been done although it was not said.
    pub(crate) fn is_open(&self) -> bool {
        match self {
            Self::Silent { .. } | Self::Answer { .. } => true,
            Self::Refused { code, .. } => {
                ["InternalError", "InternalFailure", "HTTP"].contains(&code.as_str())
            }
            _ => false,
        }
    }

    /// Whether the credentials are what is wrong, and in which way.
    #[must_use]
    pub fn of_credentials(&self) -> Option<&'static str> {
        match self.code() {
            "ExpiredToken"
            | "RequestExpired"
            | "ExpiredTokenException"
            | "TokenRefreshRequired" => Some("they have expired"),
            "AuthFailure"
            | "InvalidClientTokenId"
            | "SignatureDoesNotMatch"
            | "UnrecognizedClientException"
            | "InvalidAccessKeyId" => Some("it does not know them"),
            "UnauthorizedOperation" | "AccessDenied" => Some("they have no right to it"),
            _ => None,
        }
    }
}

impl Failure for CloudError {
    fn kind(&self) -> Kind {
        match self {
            Self::Credentials(_)
            | Self::Wrong(_)
            | Self::Money(_)
            | Self::Budget(_)
            | Self::NoGroup { .. } => Kind::Usage,
            _ => Kind::Incomplete,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Credentials(_) => Some(
                "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name a profile of \
                 ~/.aws/credentials by `profile` in [testbed]"
                    .to_owned(),
            ),
            Self::OtherAccount { of, .. } => Some(format!(
                "say it again with the credentials of {of}, as by AWS_PROFILE; until then it stays \
                 in the ledger"
            )),
            Self::NotKnown { of, here, .. } if of.as_ref() == Some(here) => Some(
                "it stays in the ledger: say it again in some minutes, as a cloud may take that \
                 long to know what it has started; where its console shows nothing, remove the \
                 ledger's folder, which `plimsoll testbed status` names"
                    .to_owned(),
            ),
            Self::NotKnown { .. } => Some(
                "it stays in the ledger: say it again with the credentials that rented it, as by \
                 AWS_PROFILE; where their console shows nothing, remove the ledger's folder, which \
                 `plimsoll testbed status` names"
                    .to_owned(),
            ),
            Self::NoGroup { others, .. } => Some(match others.as_slice() {
                [] => "look at `region` in [testbed], and at whose credentials are used: no group \
                       was found there"
                    .to_owned(),
                some => format!("the groups there are {}", some.join(", ")),
            }),
            Self::Refused { skew_s: Some(skew_s), .. } => Some(format!(
                "the clock of this host is {} s {} the cloud's: set it, as by chrony or ntpd",
                skew_s.unsigned_abs(),
                if *skew_s > 0 { "behind" } else { "before" }
            )),
            Self::Refused { .. } => match self.of_credentials()? {
                "they have expired" => Some(
                    "renew the credentials: nothing is started until then, and what runs is left \
                     alone; it ends by its own timer"
                        .to_owned(),
                ),
                "they have no right to it" => {
                    Some("the manual, docs/ec2.md, has the rights that are needed".to_owned())
                }
                _ => Some("look at the credentials, and at `region`".to_owned()),
            },
            _ => None,
        }
    }
}
