//! One question before a load: does the store let us in, and is a record of the data set there?
//! Before a data set is written, a database is also told to make the table for it.
//!
//! Blocking, on a connection of its own, with the store's own bytes; the engine has no part in it.

use super::converse;
use crate::config::Config;
use crate::store::{Before, Store};
use crate::way::Endpoint;
use plimsoll_units::failure::{Failure, Kind};
use std::io;
use std::time::Duration;

/// Why a store could not be asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckError {
    /// It is not there, or does not answer.
    #[error("connect to {endpoint}")]
    Unreachable {
        /// Where to.
        endpoint: Endpoint,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It has ended the connection before it had said a word; TLS is not spoken.
    #[error("read a record from {endpoint}: it says nothing")]
    Unheard {
        /// Where.
        endpoint: Endpoint,
        /// How it has ended it.
        #[source]
        source: io::Error,
        /// The scheme of its URLs over TLS.
        secure: &'static str,
    },
    /// It speaks TLS, and the URL does not ask for that.
    #[error("read a record from {endpoint}: it speaks TLS")]
    WantsTls {
        /// Where.
        endpoint: Endpoint,
        /// The scheme of its URLs over TLS.
        secure: &'static str,
    },
    /// TLS could not be agreed on with it.
    #[error("agree on TLS with {endpoint}")]
    Tls {
        /// Where.
        endpoint: Endpoint,
        /// Why.
        #[source]
        source: io::Error,
        /// What to do.
        hint: String,
    },
    /// It answers by an error.
    #[error("read a record from {endpoint}: it answers `{said}`")]
    Refused {
        /// Where.
        endpoint: Endpoint,
        /// What it says, cut and escaped.
        said: String,
        /// What to do.
        hint: &'static str,
    },
    /// It would let us in by a way that we do not go.
    #[error("log in to {endpoint}: {why}")]
    Login {
        /// Where.
        endpoint: Endpoint,
        /// What it wants, and what to do.
        why: String,
    },
    /// What it answers is no answer of such a store.
    #[error("read a record from {endpoint}: it does not speak {protocol}")]
    Protocol {
        /// Where.
        endpoint: Endpoint,
        /// What it should speak.
        protocol: &'static str,
    },
    /// Its driver was left out of the program.
    #[error("drive {endpoint}: this program was built without its driver")]
    LeftOut {
        /// Where.
        endpoint: Endpoint,
        /// The feature.
        feature: &'static str,
    },
}

/// Asks for the last record of the data set; whether it is there.
///
/// # Errors
/// [`CheckError`]; nothing answers within `patience`, or not as such a store does.
pub fn check(
    config: &Config,
    store: &Store,
    before: Before,
    patience: Duration,
) -> Result<bool, CheckError> {
    let record = store.operations.records().saturating_sub(1);
    converse(config, store, before, patience, |talk| Ok(talk.read(record)?.is_some()))
}

impl Failure for CheckError {
    fn kind(&self) -> Kind {
        Kind::Incomplete
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Unreachable { source, .. } => return source.hint(),
            Self::Unheard { secure, .. } => {
                return Some(format!(
                    "check the URL's port; where it speaks TLS, write {secure}://"
                ));
            }
            Self::WantsTls { secure, .. } => return Some(format!("write {secure}://")),
            Self::Tls { hint, .. } => return Some(hint.clone()),
            Self::Refused { hint, .. } => hint,
            Self::Login { .. } => return None,
            Self::Protocol { .. } => "check the URL's port",
            Self::LeftOut { feature, .. } => {
                return Some(format!("build it with the feature `{feature}`"));
            }
        };
        Some(hint.to_owned())
    }
}
