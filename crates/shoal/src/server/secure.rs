//! Encrypted connections to the server: the certificate that is in force, and handshakes within
//! bounds.
//!
//! Without the feature `tls` there is a [`Certificate`] that cannot be had.

#[cfg(not(feature = "tls"))]
mod left_out;
#[cfg(feature = "tls")]
mod there;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

#[cfg(not(feature = "tls"))]
pub use left_out::Certificate;
#[cfg(not(feature = "tls"))]
pub(super) use left_out::shake_hands;
#[cfg(feature = "tls")]
pub use there::Certificate;
#[cfg(feature = "tls")]
pub(super) use there::shake_hands;

/// Why there is no certificate to serve with.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CertificateError {
    /// A file is not there, is not PEM, or does not belong to the other one.
    #[cfg(feature = "tls")]
    #[error(transparent)]
    Tls(#[from] plimsoll_net::tls::TlsError),
    /// This program was built without.
    #[error("left out of this program; build it with the feature `tls`")]
    LeftOut,
}

/// What came of handshakes, by name.
const OUTCOMES: [&str; 5] = ["done", "failed", "late", "plain", "too_many"];

/// What came of a handshake.
#[cfg_attr(not(feature = "tls"), expect(dead_code, reason = "there are none then"))]
#[derive(Debug, Clone, Copy)]
enum Outcome {
    Done,
    Failed,
    Late,
    /// Somebody spoke plain HTTP.
    Plain,
    TooMany,
}

/// Handshakes and certificates, counted.
#[derive(Debug, Default)]
pub(super) struct Counts {
    outcomes: [AtomicU64; OUTCOMES.len()],
    loads: AtomicU64,
    failures: AtomicU64,
}

impl Counts {
    #[cfg_attr(not(feature = "tls"), expect(dead_code, reason = "nothing to count then"))]
    fn count(&self, outcome: Outcome) {
        self.outcomes[outcome as usize].fetch_add(1, Relaxed);
    }

    /// Whether the certificate was read again, or could not be.
    pub(super) fn refreshed(&self, refreshed: &Result<bool, CertificateError>) {
        match refreshed {
            Ok(true) => self.loads.fetch_add(1, Relaxed),
            Ok(false) => 0,
            Err(_) => self.failures.fetch_add(1, Relaxed),
        };
    }

    /// Handshakes, by what came of them.
    pub(super) fn outcomes(&self) -> impl Iterator<Item = (&'static str, u64)> {
        OUTCOMES.into_iter().zip(self.outcomes.iter().map(|count| count.load(Relaxed)))
    }

    /// Certificates read again, and those that could not be.
    pub(super) fn certificates(&self) -> [u64; 2] {
        [self.loads.load(Relaxed), self.failures.load(Relaxed)]
    }
}
